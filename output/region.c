#include "region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nodes are numbered (i, j), 0 … m with m = cells; a ring of nodes outside (i or j = -1, m + 1) says no, so
   that every loop closes. Edges: horizontal from (i, j) to (i + 1, j), vertical from (i, j) to (i, j + 1). */
typedef struct grid {
  kn_region_fn inside;
  void* context;
  double x0, y0, dx, dy;
  int m, w;    /* w: nodes per row with the ring, m + 3 */
  bool* yes;   /* w x w */
  double* cut; /* 2 w w: place of the boundary along each edge, 0 … 1; NaN: none */
  int* link;   /* 2 w w x 2: neighbours along the boundary, -1: none */
} grid;

static int node(const grid* g, int i, int j) { return (j + 1) * g->w + i + 1; }
static double node_x(const grid* g, int i) { return g->x0 + g->dx * (i < 0 ? 0 : i > g->m ? g->m : i); }
static double node_y(const grid* g, int j) { return g->y0 + g->dy * (j < 0 ? 0 : j > g->m ? g->m : j); }
static int edge(const grid* g, int i, int j, bool up) { return 2 * node(g, i, j) + up; }

static double bisect(const grid* g, double x, double y, double ex, double ey, bool first) {
  double lo = 0, hi = 1;
  for (int k = 0; k < 14; k++) {
    double mid = 0.5 * (lo + hi);
    if (g->inside(x + mid * ex, y + mid * ey, g->context) == first)
      lo = mid;
    else
      hi = mid;
  }
  return 0.5 * (lo + hi);
}

static void ask(grid* g) {
  for (int j = 0; j <= g->m; j++)
    for (int i = 0; i <= g->m; i++) g->yes[node(g, i, j)] = g->inside(node_x(g, i), node_y(g, j), g->context);
  for (int j = -1; j <= g->m + 1; j++)
    for (int i = -1; i <= g->m + 1; i++)
      for (int up = 0; up < 2; up++) {
        int e = edge(g, i, j, up), a = node(g, i, j), k = up ? i : i + 1, l = up ? j + 1 : j;
        g->cut[e] = NAN;
        g->link[2 * e] = g->link[2 * e + 1] = -1;
        if (k > g->m + 1 || l > g->m + 1 || g->yes[a] == g->yes[node(g, k, l)]) continue;
        double ex = node_x(g, k) - node_x(g, i), ey = node_y(g, l) - node_y(g, j);
        bool ring = ex == 0 && ey == 0; /* the boundary of the picture itself */
        g->cut[e] = ring ? 0 : bisect(g, node_x(g, i), node_y(g, j), ex, ey, g->yes[a]);
      }
}

static void join(grid* g, int a, int b) {
  g->link[2 * a + (g->link[2 * a] >= 0)] = b;
  g->link[2 * b + (g->link[2 * b] >= 0)] = a;
}

/* Boundary within a cell: one piece, or two where the corners alternate (the middle decides). */
static void connect_cell(grid* g, int i, int j) {
  int side[4] = {edge(g, i, j, false), edge(g, i + 1, j, true), edge(g, i, j + 1, false),
                 edge(g, i, j, true)};
  int cut[4], n = 0;
  for (int k = 0; k < 4; k++)
    if (!isnan(g->cut[side[k]])) cut[n++] = side[k];
  if (n == 2) join(g, cut[0], cut[1]);
  if (n < 4) return;
  bool middle =
      g->inside(0.5 * (node_x(g, i) + node_x(g, i + 1)), 0.5 * (node_y(g, j) + node_y(g, j + 1)), g->context);
  bool same = g->yes[node(g, i, j)] == middle; /* the corner (i, j) is joined to the opposite one */
  join(g, side[0], same ? side[1] : side[3]);
  join(g, side[2], same ? side[3] : side[1]);
}

static void point_of(const grid* g, int e, double* x, double* y) {
  int at = e / 2, i = at % g->w - 1, j = at / g->w - 1;
  bool up = e % 2;
  double t = g->cut[e];
  *x = node_x(g, i) + (up ? 0 : t * (node_x(g, i + 1) - node_x(g, i)));
  *y = node_y(g, j) + (up ? t * (node_y(g, j + 1) - node_y(g, j)) : 0);
}

static void follow(kn_region* out, grid* g, int start) {
  int e = start, from = -1;
  size_t first = out->n;
  do {
    point_of(g, e, &out->x[out->n], &out->y[out->n]);
    out->n++;
    int next = g->link[2 * e] != from ? g->link[2 * e] : g->link[2 * e + 1];
    if (from < 0) next = g->link[2 * e];
    g->cut[e] = NAN;
    from = e;
    e = next;
  } while (e >= 0 && e != start);
  out->x[out->n] = out->x[first], out->y[out->n++] = out->y[first];
  out->x[out->n] = out->y[out->n] = NAN;
  out->n++;
}

bool kn_region_trace(kn_region* out, kn_region_fn inside, void* context, const double x_range[2],
                     const double y_range[2], int cells) {
  memset(out, 0, sizeof *out);
  grid g = {.inside = inside, .context = context, .m = cells, .w = cells + 4};
  size_t nodes = (size_t)g.w * (size_t)g.w;
  g.x0 = x_range[0], g.y0 = y_range[0];
  g.dx = (x_range[1] - x_range[0]) / cells, g.dy = (y_range[1] - y_range[0]) / cells;
  g.yes = calloc(nodes, sizeof *g.yes);
  g.cut = calloc(2 * nodes, sizeof *g.cut);
  g.link = calloc(4 * nodes, sizeof *g.link);
  out->x = calloc(6 * nodes, sizeof *out->x); /* each edge once, two more per loop */
  out->y = calloc(6 * nodes, sizeof *out->y);
  bool ok = g.yes && g.cut && g.link && out->x && out->y;
  if (ok) {
    for (size_t e = 0; e < 2 * nodes; e++) g.cut[e] = NAN, g.link[2 * e] = g.link[2 * e + 1] = -1;
    ask(&g);
    for (int j = -1; j <= cells; j++)
      for (int i = -1; i <= cells; i++) connect_cell(&g, i, j);
    for (size_t e = 0; e < 2 * nodes; e++)
      if (!isnan(g.cut[e])) follow(out, &g, (int)e);
  }
  free(g.yes);
  free(g.cut);
  free(g.link);
  if (!ok) kn_region_free(out);
  return ok;
}

void kn_region_free(kn_region* region) {
  free(region->x);
  free(region->y);
  *region = (kn_region){0};
}
