/* Operations on triangle soups: copy, scale, move, merge vertices, inspect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/mesh.h"

void kn_mesh_data_free(kn_mesh_data* mesh) {
  if (!mesh) return;
  free(mesh->vertices);
  free(mesh->triangles);
  memset(mesh, 0, sizeof *mesh);
}

static kn_status check_arrays(const double* vertices, int32_t nvertex, const int32_t* triangles,
                              int32_t ntriangle) {
  for (size_t i = 0; i < 3 * (size_t)nvertex; i++)
    if (!isfinite(vertices[i])) return kn_fail(KN_NOT_FINITE, "mesh: vertex %zu is not finite", i / 3);
  for (size_t i = 0; i < 3 * (size_t)ntriangle; i++)
    if (triangles[i] < 0 || triangles[i] >= nvertex)
      return kn_fail(KN_BAD_ARGUMENT, "mesh: triangle %zu names vertex %d of %d", i / 3, triangles[i],
                     nvertex);
  return KN_OK;
}

kn_status kn_mesh_data_create(kn_mesh_data* out, const double* vertices, int32_t nvertex,
                              const int32_t* triangles, int32_t ntriangle) {
  KN_REQUIRE(out && vertices && nvertex > 0 && ntriangle >= 0 && (triangles || !ntriangle));
  memset(out, 0, sizeof *out);
  KN_TRY(check_arrays(vertices, nvertex, triangles, ntriangle));
  size_t nv = 3 * sizeof(double) * (size_t)nvertex, nt = 3 * sizeof(int32_t) * (size_t)ntriangle;
  kn_mesh_data m = {nvertex, ntriangle, malloc(nv), malloc(nt + 1)};
  if (!m.vertices || !m.triangles) {
    kn_mesh_data_free(&m);
    return kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory for %d vertices and %d triangles", nvertex, ntriangle);
  }
  memcpy(m.vertices, vertices, nv);
  if (nt) memcpy(m.triangles, triangles, nt);
  *out = m;
  return KN_OK;
}

kn_status kn_mesh_data_scale(kn_mesh_data* mesh, const double s[3]) {
  KN_REQUIRE(mesh && s && isfinite(s[0]) && isfinite(s[1]) && isfinite(s[2]));
  for (int32_t i = 0; i < mesh->nvertex; i++)
    for (int k = 0; k < 3; k++) mesh->vertices[3 * i + k] *= s[k];
  if ((s[0] < 0) ^ (s[1] < 0) ^ (s[2] < 0))
    for (int32_t i = 0; i < mesh->ntriangle; i++) {
      int32_t* t = mesh->triangles + 3 * (size_t)i;
      int32_t swap = t[1];
      t[1] = t[2], t[2] = swap;
    }
  return check_arrays(mesh->vertices, mesh->nvertex, NULL, 0);
}

kn_status kn_mesh_data_transform(kn_mesh_data* mesh, const kn_pose* pose) {
  KN_REQUIRE(mesh && pose);
  const double* R = pose->R;
  for (int32_t i = 0; i < mesh->nvertex; i++) {
    double* x = mesh->vertices + 3 * (size_t)i;
    double y[3];
    for (int k = 0; k < 3; k++)
      y[k] = R[3 * k] * x[0] + R[3 * k + 1] * x[1] + R[3 * k + 2] * x[2] + pose->p[k];
    memcpy(x, y, sizeof y);
  }
  return check_arrays(mesh->vertices, mesh->nvertex, NULL, 0);
}

/* Vertices are hashed by cell; with a tolerance the 27 cells around are searched, cells being as wide as it
 * is. */
typedef struct grid {
  int32_t* head; /* first vertex of a bucket, -1 */
  int32_t* next; /* chain */
  uint64_t mask;
  double inv_cell; /* 0: exact coordinates are the cell */
} grid;

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static uint64_t cell_hash(const double c[3]) {
  uint64_t h = 0;
  for (int k = 0; k < 3; k++) {
    double x = c[k] + 0.0; /* -0 and 0 are one */
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    h = mix(h, u);
  }
  return h ^ (h >> 32);
}

static void cell_of(double c[3], const grid* g, const double x[3]) {
  for (int k = 0; k < 3; k++) c[k] = g->inv_cell ? floor(x[k] * g->inv_cell) : x[k];
}

static int close_to(const double* a, const double* b, double tolerance) {
  double dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
  return dx * dx + dy * dy + dz * dz <= tolerance * tolerance;
}

static int32_t find_in_cell(const grid* g, const double* vertices, const double c[3], const double* x,
                            double tolerance) {
  int32_t best = -1;
  for (int32_t i = g->head[cell_hash(c) & g->mask]; i >= 0; i = g->next[i])
    if ((best < 0 || i < best) && close_to(vertices + 3 * (size_t)i, x, tolerance)) best = i;
  return best;
}

static int32_t find_near(const grid* g, const double* vertices, const double* x, double tolerance) {
  double c[3];
  cell_of(c, g, x);
  if (!g->inv_cell) return find_in_cell(g, vertices, c, x, 0);
  int32_t best = -1;
  for (int k = 0; k < 27; k++) {
    double d[3] = {c[0] + k % 3 - 1, c[1] + k / 3 % 3 - 1, c[2] + k / 9 - 1};
    int32_t i = find_in_cell(g, vertices, d, x, tolerance);
    if (i >= 0 && (best < 0 || i < best)) best = i;
  }
  return best;
}

/* map[i] = the kept vertex that i becomes (itself when new). */
static void merge(int32_t* map, grid* g, const kn_mesh_data* mesh, double tolerance) {
  memset(g->head, -1, (size_t)(g->mask + 1) * sizeof *g->head);
  for (int32_t i = 0; i < mesh->nvertex; i++) {
    const double* x = mesh->vertices + 3 * (size_t)i;
    int32_t found = find_near(g, mesh->vertices, x, tolerance);
    map[i] = found >= 0 ? found : i;
    if (found >= 0) continue;
    double c[3];
    cell_of(c, g, x);
    int32_t* head = &g->head[cell_hash(c) & g->mask];
    g->next[i] = *head;
    *head = i;
  }
}

static void renumber_triangles(kn_mesh_data* mesh, const int32_t* map) {
  int32_t kept = 0;
  for (int32_t i = 0; i < mesh->ntriangle; i++) {
    const int32_t* t = mesh->triangles + 3 * (size_t)i;
    int32_t a = map[t[0]], b = map[t[1]], c = map[t[2]];
    if (a == b || b == c || c == a) continue;
    int32_t* to = mesh->triangles + 3 * (size_t)kept++;
    to[0] = a, to[1] = b, to[2] = c;
  }
  mesh->ntriangle = kept;
}

/* Keeps the vertices with used[i] != 0; used becomes the new index. */
static void pack_vertices(kn_mesh_data* mesh, int32_t* used) {
  int32_t kept = 0;
  for (int32_t i = 0; i < mesh->nvertex; i++) {
    if (!used[i]) continue;
    memmove(mesh->vertices + 3 * (size_t)kept, mesh->vertices + 3 * (size_t)i, 3 * sizeof(double));
    used[i] = kept++;
  }
  for (size_t i = 0; i < 3 * (size_t)mesh->ntriangle; i++) mesh->triangles[i] = used[mesh->triangles[i]];
  mesh->nvertex = kept;
}

static void weld(kn_mesh_data* mesh, double tolerance, grid* g, int32_t* map) {
  int had_triangles = mesh->ntriangle > 0;
  merge(map, g, mesh, tolerance);
  renumber_triangles(mesh, map);
  int32_t* used = g->next; /* free now */
  for (int32_t i = 0; i < mesh->nvertex; i++) used[i] = !had_triangles && map[i] == i;
  for (size_t i = 0; i < 3 * (size_t)mesh->ntriangle; i++) used[mesh->triangles[i]] = 1;
  pack_vertices(mesh, used);
}

kn_status kn_mesh_data_weld(kn_mesh_data* mesh, double tolerance) {
  KN_REQUIRE(mesh && tolerance >= 0 && isfinite(tolerance));
  size_t n = (size_t)mesh->nvertex, buckets = 16;
  if (!n) return KN_OK;
  while (buckets < 2 * n) buckets *= 2;
  grid g = {malloc(buckets * sizeof(int32_t)), malloc(n * sizeof(int32_t)), buckets - 1,
            tolerance > 0 ? 1 / tolerance : 0};
  int32_t* map = malloc(n * sizeof *map);
  kn_status status = KN_OK;
  if (!g.head || !g.next || !map)
    status = kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory to merge %d vertices", mesh->nvertex);
  else
    weld(mesh, tolerance, &g, map);
  free(g.head);
  free(g.next);
  free(map);
  return status;
}

typedef struct edge {
  int32_t low, high, up; /* up: runs from low to high */
} edge;

static int by_ends(const void* a, const void* b) {
  const edge *x = a, *y = b;
  if (x->low != y->low) return x->low < y->low ? -1 : 1;
  return x->high < y->high ? -1 : x->high > y->high;
}

static void count_edges(kn_mesh_info* out, edge* edges, const kn_mesh_data* mesh) {
  size_t n = 3 * (size_t)mesh->ntriangle;
  for (size_t i = 0; i < n; i++) {
    int32_t a = mesh->triangles[i], b = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
    edges[i] = a < b ? (edge){a, b, 1} : (edge){b, a, 0};
  }
  qsort(edges, n, sizeof *edges, by_ends);
  for (size_t i = 0, j; i < n; i = j) {
    int up = 0;
    for (j = i; j < n && !by_ends(&edges[i], &edges[j]); j++) up += edges[j].up;
    if (j - i == 1) out->open_edges++;
    if (j - i > 2) out->nonmanifold_edges++;
    if (j - i == 2 && up != 1) out->flipped_edges++;
  }
}

static void measure(kn_mesh_info* out, const kn_mesh_data* mesh) {
  for (int k = 0; k < 3; k++) out->low[k] = out->high[k] = mesh->vertices[k];
  for (int32_t i = 0; i < mesh->nvertex; i++)
    for (int k = 0; k < 3; k++) {
      double x = mesh->vertices[3 * (size_t)i + k];
      out->low[k] = fmin(out->low[k], x);
      out->high[k] = fmax(out->high[k], x);
    }
  for (int32_t i = 0; i < mesh->ntriangle; i++) {
    const int32_t* t = mesh->triangles + 3 * (size_t)i;
    const double *o = mesh->vertices, *a = o + 3 * (size_t)t[0], *b = o + 3 * (size_t)t[1],
                 *c = o + 3 * (size_t)t[2];
    double e[3], f[3], longest = 0;
    for (int k = 0; k < 3; k++) {
      e[k] = b[k] - a[k], f[k] = c[k] - a[k];
      longest = fmax(longest, fmax(fabs(e[k]), fabs(f[k])));
    }
    double n[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
    double twice = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (twice <= 1e-14 * longest * longest) out->degenerate++;
    out->area += 0.5 * twice;
    for (int k = 0; k < 3; k++)
      out->volume += (a[k] - o[k]) * n[k] / 6; /* about the first vertex: less cancellation */
  }
}

kn_status kn_mesh_data_inspect(kn_mesh_info* out, const kn_mesh_data* mesh) {
  KN_REQUIRE(out && mesh && mesh->nvertex > 0);
  memset(out, 0, sizeof *out);
  KN_TRY(check_arrays(mesh->vertices, mesh->nvertex, mesh->triangles, mesh->ntriangle));
  edge* edges = malloc(3 * (size_t)mesh->ntriangle * sizeof *edges + 1);
  if (!edges)
    return kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory for the edges of %d triangles", mesh->ntriangle);
  measure(out, mesh);
  count_edges(out, edges, mesh);
  free(edges);
  out->closed = !out->open_edges && !out->nonmanifold_edges && !out->flipped_edges && mesh->ntriangle >= 4;
  return KN_OK;
}
