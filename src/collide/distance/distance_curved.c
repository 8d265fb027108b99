/* Cylinders and ellipsoids against anything convex.

   GJK and EPA are used only coarsely, to find out which side of touching the pair is on and roughly where;
   then the normal is polished on the pieces of the surfaces that can hold the contact there
   (distance_piece.c) until the witnesses fit the gap, which proves the distance when apart (primal = dual)
   and a local optimum when overlapping. Overlapping, several local optima may exist: every face of the EPA
   polytope that could still hide a smaller depth (its distance is a lower bound) is a start. */
#include "collide/distance/distance_piece.h"

#define FIT  1e-11 /* of the size: witnesses that fit this well end the search */
#define NEAR 1e-9  /* and this well are acceptable: nearly parallel faces and the like */

static int pieces_cylinder(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  v3 u = c->moved ? m3_col(c->pose.R, 2) : (v3){0, 0, 1};
  double r = c->size[0], l = c->size[1], k = v3_dot(u, d);
  v3 e = v3_axpy(d, -k, u), top = v3_axpy(c->centre, l, u), bottom = v3_axpy(c->centre, -l, u);
  v3 out_of = v3_sub(near, c->centre), q = v3_axpy(out_of, -v3_dot(out_of, u), u);
  if (v3_unit(&q) == 0) q = v3_perp(u);
  double s = v3_norm(e);
  v3 cap = k > 0 ? top : bottom, far = k > 0 ? bottom : top, up = k > 0 ? u : v3_neg(u);
  kn_piece rim = {KN_PIECE_RIM, cap, q, u, r, c}, other = {KN_PIECE_RIM, far, q, u, r, c};
  kn_piece side = {KN_PIECE_LINE, bottom, top, u, r, c}, disc = {KN_PIECE_DISC, cap, cap, up, r, c};
  int n = 0;
  bool flat = s < 1e-3, edge = fabs(k) < 1e-3;
  if (flat) out[n++] = disc;
  if (edge) out[n++] = side;
  out[n++] = rim;
  if (!edge) out[n++] = side;
  if (!flat) out[n++] = disc;
  out[n++] = other;
  return n;
}

typedef struct edge_list {
  kn_piece piece[KN_PIECES];
  double key[KN_PIECES];
  int n;
} edge_list;

/* Keeps the best edges: square to d and close to the other core's support point. */
static void add_edge(edge_list* l, const kn_core* c, v3 p, v3 q, v3 d, v3 near) {
  kn_piece s = {KN_PIECE_LINE, p, q, v3_sub(q, p), 0, c};
  double len = v3_unit(&s.u), t = v3_dot(v3_sub(near, p), s.u);
  v3 off = v3_sub(near, v3_axpy(p, t < 0 ? 0 : t > len ? len : t, s.u));
  off = v3_axpy(off, -v3_dot(off, d), d);
  double key = fabs(v3_dot(s.u, d)) + v3_norm(off) / (c->extent + 1e-300);
  const int room = KN_PIECES - 6;
  for (int i = 0; i < l->n; i++) /* an edge of both the vertex and the face comes twice */
    if (fabs(l->key[i] - key) <= 1e-12 && v3_norm2(v3_cross(l->piece[i].u, s.u)) < 1e-20) return;
  int at = l->n < room ? l->n++ : room - 1;
  if (at == room - 1 && l->n == room && l->key[at] <= key && l->n > at + 0 && l->piece[at].core) return;
  while (at > 0 && l->key[at - 1] > key) l->piece[at] = l->piece[at - 1], l->key[at] = l->key[at - 1], at--;
  l->piece[at] = s, l->key[at] = key;
}

static void edges_of(edge_list* l, const kn_core* c, int id, v3 p, const kn_patch* f, v3 d, v3 near) {
  for (int i = 0; i < KN_PIECES; i++) l->piece[i].core = NULL;
  l->n = 0;
  if (c->type == KN_CORE_BOX) {
    for (int k = 0; k < 3; k++) add_edge(l, c, p, kn_core_vertex(c, id ^ 1 << k), d, near);
  } else if (c->type == KN_CORE_HULL) {
    for (int k = c->hull->adj_start[id]; k < c->hull->adj_start[id + 1]; k++)
      add_edge(l, c, p, kn_core_vertex(c, c->hull->adj[k]), d, near);
  } else {
    for (int k = 0; k < c->count; k++)
      if (k != id) add_edge(l, c, p, c->v[k], d, near);
  }
  if (f->n >= 3 && f->align > 0.9)
    for (int k = 0; k < f->n; k++) add_edge(l, c, f->p[k], f->p[k + 1 == f->n ? 0 : k + 1], d, near);
}

static int pieces_polytope(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  int id, n = 0;
  v3 p = kn_core_support(c, d, &id);
  kn_patch f;
  f.n = 0, f.align = 0, f.normal = d;
  if (c->type != KN_CORE_POINTS || c->count == 3) kn_patch_of(&f, c, d, 0);
  kn_piece vertex = {KN_PIECE_POINT, p, p, d, 0, c}, face = {KN_PIECE_FACE, p, p, f.normal, 0, c};
  if (c->type == KN_CORE_POINTS && c->count == 1) return out[0] = vertex, 1;
  edge_list l;
  edges_of(&l, c, id, p, &f, d, near);
  bool flat = f.n >= 3 && f.align > 1 - 1e-6, edge_on = l.n > 0 && fabs(v3_dot(l.piece[0].u, d)) < 1e-3;
  if (flat) out[n++] = face;
  if (!edge_on) out[n++] = vertex;
  for (int i = 0; i < l.n; i++) out[n++] = l.piece[i];
  if (edge_on) out[n++] = vertex;
  for (int i = 0; i < l.n && i < 3; i++) { /* far ends of the likeliest edges */
    v3 a = l.piece[i].p, b = l.piece[i].q, e = v3_norm2(v3_sub(a, p)) > v3_norm2(v3_sub(b, p)) ? a : b;
    out[n++] = (kn_piece){KN_PIECE_POINT, e, e, d, 0, c};
  }
  if (!flat && f.n >= 3) out[n++] = face;
  return n;
}

int kn_pieces_of(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  if (c->type == KN_CORE_CYLINDER) return pieces_cylinder(out, c, d, near);
  if (c->type == KN_CORE_ELLIPSOID) {
    out[0] = (kn_piece){KN_PIECE_ELLIPSOID, c->centre, c->centre, d, 0, c};
    return 1;
  }
  return pieces_polytope(out, c, d, near);
}

/* Tries the pieces around n near the points w.a and w.b of A and B. An answer that separates less than n
   itself already does is a different optimum and not wanted. Returns the misfit of the best: the first that
   fits, else the largest separation. */
static double try_near(kn_core_gap* best, const kn_core* A, const kn_core* B, v3 n, double size,
                       kn_gjk_point w) {
  kn_piece pa[KN_PIECES], pb[KN_PIECES];
  int na = kn_pieces_of(pa, A, v3_neg(n), w.b), nb = kn_pieces_of(pb, B, n, w.a);
  double misfit = INFINITY, floor = v3_dot(n, w.w);
  *best = (kn_core_gap){.gap = floor, .n = n, .a = w.a, .b = w.b};
  floor -= 1e-10 * size; /* nearly parallel lines and faces fit a normal that is worse by this little */
  for (int sum = 0; sum < na + nb - 1; sum++)
    for (int i = 0; i <= sum && i < na; i++) {
      int j = sum - i;
      if (j >= nb) continue;
      kn_core_gap g;
      double m = kn_piece_solve(&g, &pa[i], &pb[j], A, B, n, size);
      if (!(g.gap >= floor)) continue;
      bool close = m <= NEAR * size, had = misfit <= NEAR * size;
      bool equal = fabs(g.gap - best->gap) <= FIT * size;
      if (close != had ? close : close && equal ? m < misfit : g.gap > best->gap)
        misfit = m, *best = g, best->fa = (int)pa[i].kind, best->fb = (int)pb[j].kind;
      /* a fit proves the distance of shapes apart; overlapping, two caps nearly face to face are two optima
       */
      bool all = g.gap < 0 && na * nb <= 20;
      if (m <= FIT * size && !all && v3_norm2(v3_sub(g.n, n)) < 0.01)
        return m; /* here, not somewhere far away */
    }
  return misfit;
}

static double try_pieces(kn_core_gap* best, const kn_core* A, const kn_core* B, v3 n, double size) {
  return try_near(best, A, B, n, size, kn_minkowski(A, B, v3_neg(n)));
}

/* The point of a cylinder's side nearest to y, of all that are as far along d as x. */
static v3 along_side(const kn_core* c, v3 x, v3 d, v3 y) {
  if (c->type != KN_CORE_CYLINDER) return x;
  v3 u = c->moved ? m3_col(c->pose.R, 2) : (v3){0, 0, 1};
  if (fabs(v3_dot(u, d)) > 1e-3) return x;
  double l = c->size[1], t = v3_dot(v3_sub(y, c->centre), u);
  t = t < -l ? -l : t > l ? l : t;
  return v3_axpy(x, t - v3_dot(v3_sub(x, c->centre), u), u);
}

/* A line of a cylinder's side is the farthest along n: the edges of a hull with many of them must be looked
   for where they cross it, not at the end that the support function happens to name. */
static double try_sides(kn_core_gap* best, const kn_core* A, const kn_core* B, v3 n, double size) {
  kn_gjk_point w = kn_minkowski(A, B, v3_neg(n));
  v3 a = along_side(A, w.a, n, w.b);
  w.b = along_side(B, w.b, n, w.a), w.a = a;
  return try_near(best, A, B, n, size, w);
}

/* Follows a normal uphill until the pieces fit. */
static double polish(kn_core_gap* best, const kn_core* A, const kn_core* B, v3 n, double size) {
  double misfit = try_pieces(best, A, B, n, size);
  for (int it = 0; it < 8 && misfit > FIT * size; it++) {
    kn_core_gap g;
    double m = try_pieces(&g, A, B, best->n, size);
    if (!(m <= FIT * size) && !(g.gap > best->gap)) break;
    misfit = m, *best = g;
  }
  return misfit;
}

static v3 blend(const kn_gjk* g, bool of_a) {
  v3 x = v3_mul(of_a ? g->p[0].a : g->p[0].b, g->weight[0]);
  for (int i = 1; i < g->count; i++) x = v3_axpy(x, g->weight[i], of_a ? g->p[i].a : g->p[i].b);
  return x;
}

static bool apart(kn_core_gap* out, const kn_core* A, const kn_core* B, const kn_gjk* rough, double size) {
  static const double rel[3] = {0, 1e-6, 1e-11};
  kn_gjk g = *rough;
  for (int it = 0; it < 3; it++) {
    if (it > 0 && kn_gjk_run(&g, A, B, INFINITY, rel[it], NULL) != KN_GJK_APART) return false;
    /* a fit well below zero is another optimum of nearly touching shapes, reached from a noisy normal */
    if (polish(out, A, B, v3_mul(g.v, 1 / g.dist), size) <= FIT * size && out->gap > -NEAR * size)
      return true;
  }
  kn_core_gap raw = {g.dist, v3_mul(g.v, 1 / g.dist), blend(&g, true), blend(&g, false), 15, 15};
  *out = raw;
  return g.dist - g.along <= 1e-9 * size;
}

#define STARTS   32
#define PATIENCE 5 /* round shapes: starts in a row that find nothing better, a whole ring is as good */

typedef struct starts {
  v3 n[STARTS];
  double g[STARTS]; /* separation there, best first */
  int count;
} starts;

static void add_start(starts* s, const kn_core* A, const kn_core* B, v3 n) {
  if (!(v3_unit(&n) > 0)) return;
  double g = v3_dot(n, kn_minkowski(A, B, v3_neg(n)).w);
  if (s->count == STARTS && s->g[STARTS - 1] >= g) return;
  int at = s->count < STARTS ? s->count++ : STARTS - 1;
  while (at > 0 && s->g[at - 1] < g) s->n[at] = s->n[at - 1], s->g[at] = s->g[at - 1], at--;
  s->n[at] = n, s->g[at] = g;
}

/* Directions special to a core: axes of a cylinder or ellipsoid, faces of a polytope. */
static void add_own(starts* s, const kn_core* A, const kn_core* B, const kn_core* c) {
  if (kn_core_curved(c)) {
    for (int i = 0; i < 3; i++) {
      v3 u = c->moved ? m3_col(c->pose.R, i) : v3_axis(i, 1);
      add_start(s, A, B, u);
      add_start(s, A, B, v3_neg(u));
    }
  }
  const kn_core* other = c == A ? B : A;
  bool rod = other->type == KN_CORE_CYLINDER;
  v3 u = rod && other->moved ? m3_col(other->pose.R, 2) : (v3){0, 0, 1};
  for (int i = 0; !kn_core_curved(c) && i < kn_core_face_count(c); i++) {
    v3 n = kn_core_face_normal(c, i);
    if (c == A) n = v3_neg(n);
    double k = v3_dot(n, u);
    add_start(s, A, B, n);
    if (rod && fabs(k) < 0.1) add_start(s, A, B, v3_axpy(n, -k, u)); /* its side along that face */
    if (rod && fabs(k) > 0.98) add_start(s, A, B, v3_axpy(n, k > 0 ? 1 : -1, u)); /* between cap and face */
  }
}

/* A cylinder's side along an edge of the polytope c: the normal is square to both. */
static void add_across(starts* s, const kn_core* A, const kn_core* B, v3 u, v3 p, v3 q) {
  v3 n = v3_cross(u, v3_sub(q, p));
  add_start(s, A, B, n);
  add_start(s, A, B, v3_neg(n));
}

static void add_edges_of(starts* s, const kn_core* A, const kn_core* B, const kn_core* c) {
  const kn_core* rod = c == A ? B : A;
  if (rod->type != KN_CORE_CYLINDER) return;
  v3 u = rod->moved ? m3_col(rod->pose.R, 2) : (v3){0, 0, 1};
  if (c->type == KN_CORE_BOX)
    for (int k = 0; k < 3; k++) add_across(s, A, B, u, kn_core_vertex(c, 0), kn_core_vertex(c, 1 << k));
  if (c->type != KN_CORE_HULL) return;
  for (int i = 0; i < c->hull->nv; i++)
    for (int k = c->hull->adj_start[i]; k < c->hull->adj_start[i + 1]; k++)
      if (c->hull->adj[k] > i)
        add_across(s, A, B, u, kn_core_vertex(c, i), kn_core_vertex(c, c->hull->adj[k]));
}

static void better_of(kn_core_gap* out, double* fit, const kn_core_gap* c, double m, double size) {
  bool equal = fabs(c->gap - out->gap) <= FIT * size;
  if (equal ? m < *fit : c->gap > out->gap) *out = *c, *fit = m;
}

/* Starts from the faces of the EPA polytope: all those that could hide a smaller depth. */
static double from_faces(kn_core_gap* out, double fit, kn_epa* e, const kn_core* A, const kn_core* B,
                         double size) {
  v3 seen[STARTS];
  int patience = kn_core_face_count(A) + kn_core_face_count(B) > 0 ? STARTS : PATIENCE;
  for (int k = 0, idle = 0; k < STARTS && idle < patience; k++) {
    int id = -1;
    for (int i = 0; i < e->faces; i++)
      if (e->key[i] < INFINITY && e->key[i] > -INFINITY && (id < 0 || e->key[i] < e->key[id])) id = i;
    if (id < 0 || (fit <= NEAR * size && e->key[id] > -out->gap)) break;
    v3 n = v3_neg(e->face[id].n);
    e->key[id] = INFINITY;
    bool known = false;
    for (int i = 0; i < k; i++) known |= v3_norm2(v3_sub(seen[i], n)) < 1e-4;
    seen[k] = n;
    if (known) continue;
    kn_core_gap c;
    double m = polish(&c, A, B, n, size), before = out->gap;
    better_of(out, &fit, &c, m, size);
    idle = out->gap > before + FIT * size || fit > NEAR * size ? 0 : idle + 1;
  }
  return fit;
}

/* Directions that may hold an optimum of their own: the axes and faces of both, the line of centres, GJK's
   last normal, and the opposite of the best so far, which is nearly as good when the centres nearly coincide.
   The best few are followed, unless they are so much worse that following cannot help. */
static double from_directions(kn_core_gap* out, double fit, const kn_core* A, const kn_core* B,
                              const kn_gjk* g, double size) {
  starts s = {.count = 0};
  add_start(&s, A, B, g->v);
  add_start(&s, A, B, v3_sub(A->centre, B->centre));
  add_own(&s, A, B, A);
  add_own(&s, A, B, B);
  add_edges_of(&s, A, B, A);
  add_edges_of(&s, A, B, B);
  if (fit < INFINITY) add_start(&s, A, B, v3_neg(out->n));
  for (int i = 0; i < s.count && s.g[i] > out->gap - 0.03 * size; i++) {
    if (v3_norm2(v3_sub(s.n[i], out->n)) < 1e-20) continue;
    kn_core_gap c;
    double m = polish(&c, A, B, s.n[i], size);
    better_of(out, &fit, &c, m, size);
  }
  return fit;
}

static double separation(const kn_core* A, const kn_core* B, v3 n) {
  return v3_dot(n, kn_minkowski(A, B, v3_neg(n)).w);
}

/* No pieces fit: two nearly parallel caps, whose optimum lies between their axes. Plain search around the
   best normal, then the pieces once more. */
static void search_around(kn_core_gap* out, double fit, const kn_core* A, const kn_core* B, double size) {
  v3 n = out->n;
  double g = separation(A, B, n);
  v3 t = v3_perp(n), u = v3_cross(n, t);
  for (double h = 1e-3; h > 1e-13; h *= 0.5)
    for (int turn = 0; turn < 4; turn++) { /* by 37 degrees: the way up from a rim's axis can be narrow */
      v3 e = v3_axpy(v3_mul(t, 0.8), 0.6, u);
      u = v3_axpy(v3_mul(u, 0.8), -0.6, t), t = e;
      for (int k = 0; k < 8; k++) {
        static const double cs[8] = {1, 0.7071, 0, -0.7071, -1, -0.7071, 0, 0.7071};
        v3 m = v3_axpy(v3_axpy(n, h * cs[k], t), h * cs[(k + 6) % 8], u);
        v3_unit(&m);
        double gm = separation(A, B, m);
        if (gm > g) n = m, g = gm;
      }
    }
  kn_core_gap c;
  double m = polish(&c, A, B, n, size);
  better_of(out, &fit, &c, m, size);
  if (fit <= NEAR * size) return;
  m = kn_caps_cross(&c, A, B, n, size);
  if (m < fit && c.gap >= out->gap - 1e-10 * size) *out = c;
}

static void overlap(kn_core_gap* out, const kn_core* A, const kn_core* B, const kn_gjk* g, double size) {
  static const double rel[3] = {2e-2, 2e-4,
                                2e-6}; /* finer where the rough normal lies between the wrong pieces */
  kn_epa e;
  kn_core_gap coarse;
  double lower, upper, fit = INFINITY;
  *out = (kn_core_gap){.gap = -INFINITY};
  for (int it = 0; it < 3 && fit > NEAR * size; it++) {
    kn_epa_state s = kn_epa_run(&e, &coarse, &lower, &upper, A, B, g, -rel[it]);
    if (s == KN_EPA_FLAT) {
      *out = coarse;
      return;
    }
    fit = from_faces(out, fit, &e, A, B, size);
    if (it == 0) fit = from_directions(out, fit, A, B, g, size);
  }
  if (fit > NEAR * size && (A->type == KN_CORE_CYLINDER || B->type == KN_CORE_CYLINDER)) {
    double m = try_sides(&coarse, A, B, out->n, size);
    if (m <= NEAR * size) *out = coarse, fit = m;
  }
  if (fit > NEAR * size && fit < INFINITY) search_around(out, fit, A, B, size);
}

bool kn_curved_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                        kn_pair_cache* cache) {
  kn_gjk g;
  double size = A->extent + B->extent;
  if (kn_face_ellipsoid(out, A, B)) {
    cache->simplex_count = 0;
    return out->gap <= limit;
  }
  kn_gjk_state s = kn_gjk_run(&g, A, B, limit, 1e-2, cache);
  cache->simplex_count = 0;
  if (s == KN_GJK_BEYOND) {
    v3_to(cache->normal, g.v);
    return false;
  }
  if (s == KN_GJK_APART && apart(out, A, B, &g, size)) return true;
  /* overlapping: start the search over the optima from scratch, so that the cache has no say in which is
   * found */
  if (s == KN_GJK_OVERLAP) kn_gjk_run(&g, A, B, INFINITY, 1e-2, NULL);
  if (s == KN_GJK_APART) kn_gjk_run(&g, A, B, INFINITY, 1e-14, NULL);
  overlap(out, A, B, &g, size);
  return true;
}
