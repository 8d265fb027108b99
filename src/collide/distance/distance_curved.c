/* Cylinders and ellipsoids against anything convex.

   GJK and EPA are used only coarsely, to find out which side of touching the pair is on and roughly where;
   then the normal is polished on the pieces of the surfaces that can hold the contact there
   (distance_piece.c) until the witnesses fit the gap, which proves the distance when apart (primal = dual)
   and a local optimum when overlapping. Overlapping, several local optima may exist: every face of the EPA
   polytope that could still hide a smaller depth (its distance is a lower bound) is a start, until one proves
   itself (round_enough). A pair in motion starts from the pieces of its last answer, which the cache names. */
#include "collide/distance/distance_piece.h"

#define FIT  1e-11 /* of the size: witnesses that fit this well end the search */
#define NEAR 1e-9  /* and this well are acceptable: nearly parallel faces and the like */

enum { NO_PIECE = -1 };

static void name_pieces(kn_core_gap* g, const kn_piece* a, const kn_piece* b) {
  g->fa = (int)a->kind, g->fb = (int)b->kind;
  g->piece[0][0] = (int32_t)a->kind, g->piece[0][1] = a->id[0], g->piece[0][2] = a->id[1];
  g->piece[1][0] = (int32_t)b->kind, g->piece[1][1] = b->id[0], g->piece[1][2] = b->id[1];
}

/* Of witnesses that fit. Apart they prove the distance. Overlapping, the balls that touch the two pieces there
   from within have their centres gap + r_A + r_B apart along n; while that is positive they overlap by -gap,
   no translation shorter than that parts the balls, and none parts the cores around them. */
static bool round_enough(const kn_core_gap* g, const kn_piece* a, const kn_piece* b) {
  double r = 0.999 * kn_piece_ball(kn_core_curved(a->core) ? a : b, kn_core_curved(a->core) ? g->a : g->b);
  if (-g->gap < r) return true;
  return -g->gap <
         r + 0.999 * kn_piece_ball(kn_core_curved(a->core) ? b : a, kn_core_curved(a->core) ? g->b : g->a);
}

/* Is this the distance, and not only the best around here? */
static bool proven(const kn_core_gap* g, double misfit, const kn_core* A, const kn_core* B, double size) {
  kn_piece a, b;
  if (!(misfit <= FIT * size)) return false;
  if (g->gap > -NEAR * size) return true; /* no more than that wrong */
  return kn_piece_named(&a, A, g->piece[0]) && kn_piece_named(&b, B, g->piece[1]) && round_enough(g, &a, &b);
}

/* Tries the pieces around n near the points w.a and w.b of A and B. An answer that separates less than n
   itself already does is a different optimum and not wanted. Returns the misfit of the best: the first that
   fits, else the largest separation. */
static double try_near(kn_core_gap* best, const kn_core* A, const kn_core* B, v3 n, double size,
                       kn_gjk_point w) {
  kn_piece pa[KN_PIECES], pb[KN_PIECES];
  int na = kn_pieces_of(pa, A, v3_neg(n), w.b), nb = kn_pieces_of(pb, B, n, w.a);
  double misfit = INFINITY, floor = v3_dot(n, w.w);
  *best = (kn_core_gap){.gap = floor, .n = n, .a = w.a, .b = w.b, .piece = {{NO_PIECE}}};
  floor -= 1e-10 * size; /* nearly parallel lines and faces fit a normal that is worse by this little */
  for (int sum = 0; sum < na + nb - 1; sum++)
    for (int i = 0; i <= sum && i < na; i++) {
      int j = sum - i;
      if (j >= nb) continue;
      kn_core_gap g;
      double m = kn_piece_solve(&g, &pa[i], &pb[j], A, B, n, size, floor);
      if (!(g.gap >= floor)) continue;
      bool close = m <= NEAR * size, had = misfit <= NEAR * size;
      bool equal = fabs(g.gap - best->gap) <= FIT * size;
      if (close != had ? close : close && equal ? m < misfit : g.gap > best->gap)
        misfit = m, *best = g, name_pieces(best, &pa[i], &pb[j]);
      /* a fit proves the distance of shapes apart; overlapping, two caps nearly face to face are two optima */
      bool all = g.gap < 0 && na * nb <= 20 && !round_enough(&g, &pa[i], &pb[j]);
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
  v3 n = v3_mul(g.v, 1 / g.dist);
  *out =
      (kn_core_gap){.gap = g.dist, .n = n, .a = blend(&g, true), .b = blend(&g, false), .fa = 15, .fb = 15};
  out->piece[0][0] = NO_PIECE;
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
    if (proven(out, fit, A, B, size)) break;
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
  *out = (kn_core_gap){.gap = -INFINITY, .piece = {{NO_PIECE}}};
  for (int it = 0; it < 3 && fit > NEAR * size; it++) {
    kn_epa_state s = kn_epa_run(&e, &coarse, &lower, &upper, A, B, g, -rel[it]);
    if (s == KN_EPA_FLAT) {
      *out = coarse;
      return;
    }
    fit = from_faces(out, fit, &e, A, B, size);
    if (proven(out, fit, A, B, size)) return;
    if (it == 0) fit = from_directions(out, fit, A, B, g, size);
  }
  if (fit > NEAR * size && (A->type == KN_CORE_CYLINDER || B->type == KN_CORE_CYLINDER)) {
    double m = try_sides(&coarse, A, B, out->n, size);
    if (m <= NEAR * size) *out = coarse, fit = m;
  }
  if (fit > NEAR * size && fit < INFINITY) search_around(out, fit, A, B, size);
}

/* The pieces that held the contact the last time, or others around its normal, if they prove themselves, or are trusted to hold
   the distance still (simplex[3][0]; who asks so looks again without). */
static bool still_there(kn_core_gap* out, const kn_core* A, const kn_core* B, double size,
                        const kn_pair_cache* cache) {
  kn_piece a, b;
  v3 n = v3_of(cache->normal);
  int32_t code[2][3];
  if (cache->simplex_count != 3 || !(v3_unit(&n) > 0)) return false;
  for (int i = 0; i < 3; i++) code[0][i] = cache->simplex[i][0], code[1][i] = cache->simplex[i][1];
  if (!kn_piece_named(&a, A, code[0]) || !kn_piece_named(&b, B, code[1])) return false;
  double m = kn_piece_solve(out, &a, &b, A, B, n, size, -INFINITY);
  name_pieces(out, &a, &b);
  if (proven(out, m, A, B, size) || (cache->simplex[3][0] && m <= FIT * size)) return true;
  m = polish(out, A, B, n, size);
  return proven(out, m, A, B, size);
}

static void remember(kn_pair_cache* cache, const kn_core_gap* g) {
  cache->simplex_count = g->piece[0][0] == NO_PIECE ? 0 : 3, cache->simplex[3][0] = 0;
  for (int i = 0; i < 3; i++) cache->simplex[i][0] = g->piece[0][i], cache->simplex[i][1] = g->piece[1][i];
}

bool kn_curved_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                        kn_pair_cache* cache) {
  kn_gjk g;
  double size = A->extent + B->extent;
  if (kn_face_ellipsoid(out, A, B)) {
    cache->simplex_count = cache->simplex[3][0] = 0;
    return out->gap <= limit;
  }
  if (still_there(out, A, B, size, cache)) {
    remember(cache, out);
    return true;
  }
  kn_gjk_state s = kn_gjk_run(&g, A, B, limit, 1e-2, cache);
  cache->simplex_count = cache->simplex[3][0] = 0;
  if (s == KN_GJK_BEYOND) {
    v3_to(cache->normal, g.v);
    return false;
  }
  if (s != KN_GJK_APART || !apart(out, A, B, &g, size)) {
    /* overlapping: start the search over the optima from scratch, so that the cache has no say in which is
     * found */
    if (s == KN_GJK_OVERLAP) kn_gjk_run(&g, A, B, INFINITY, 1e-2, NULL);
    if (s == KN_GJK_APART) kn_gjk_run(&g, A, B, INFINITY, 1e-14, NULL);
    overlap(out, A, B, &g, size);
  }
  remember(cache, out);
  return true;
}
