/* Signed distance of two convex cores: GJK apart, EPA overlapping, axis search where neither certifies
   itself.

   Apart is accepted only if |v| - lower <= 1e-11 size: with less certainty the distance is right but the
   normal is rounding noise (touching, identical shapes), and EPA, which works on faces, finds it. */
#include "collide/distance/gjk_hull.h"

static uint32_t mix(uint32_t x) {
  x ^= x >> 16, x *= 0x7feb352du;
  x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/* A code for the set of distinct vertices of one side of a simplex, independent of their order. */
static int feature_code(const kn_gjk_point* const* p, int n, bool side_a) {
  uint32_t h = 0;
  for (int i = 0; i < n; i++) {
    int id = side_a ? p[i]->ia : p[i]->ib;
    bool seen = false;
    for (int k = 0; k < i; k++) seen |= (side_a ? p[k]->ia : p[k]->ib) == id;
    if (!seen) h += mix((uint32_t)id + 1);
  }
  return (int)(h & 0x3fffffff);
}

static void codes(kn_core_gap* out, const kn_gjk_point* p0, const kn_gjk_point* p1, const kn_gjk_point* p2,
                  int n) {
  const kn_gjk_point* p[3] = {p0, p1, p2};
  out->fa = feature_code(p, n, true);
  out->fb = feature_code(p, n, false);
}

static void from_gjk(kn_core_gap* out, const kn_gjk* g) {
  out->gap = g->dist;
  out->n = v3_mul(g->v, 1 / g->dist);
  v3 a = v3_mul(g->p[0].a, g->weight[0]), b = v3_mul(g->p[0].b, g->weight[0]);
  for (int i = 1; i < g->count; i++)
    a = v3_axpy(a, g->weight[i], g->p[i].a), b = v3_axpy(b, g->weight[i], g->p[i].b);
  out->a = a, out->b = b;
  codes(out, &g->p[0], &g->p[1], &g->p[2], g->count);
}

/* Remembers the final face and the vertex farthest behind it: next frame this tetrahedron most likely still
   holds the origin and its first face is the answer. */
static void save_epa(kn_pair_cache* cache, const kn_epa* e, const kn_core_gap* out, const kn_epa_face* f) {
  int back = 0;
  double low = INFINITY;
  for (int i = 0; i < e->vertices; i++) {
    double s = -v3_dot(out->n, e->p[i].w);
    if (s < low) low = s, back = i;
  }
  int id[4] = {f->v[0], f->v[1], f->v[2], back};
  cache->simplex_count = 4;
  for (int i = 0; i < 4; i++) cache->simplex[i][0] = e->p[id[i]].ia, cache->simplex[i][1] = e->p[id[i]].ib;
}

static const kn_epa_face* final_face(const kn_epa* e) {
  int best = 0;
  for (int i = 1; i < e->faces; i++)
    if (e->key[i] < e->key[best]) best = i;
  return &e->face[best];
}

/* |a - b - gap n|: witnesses that fit the gap. */
static double misfit(const kn_core_gap* g) {
  return v3_norm(v3_sub(v3_sub(g->a, g->b), v3_mul(g->n, g->gap)));
}

/* A point of the touching features for a known normal: B is moved along it until the shapes are clearly apart
   by delta; the nearest points are then the touching ones, and GJK finds them without degeneracy. */
static double witness_apart(kn_core_gap* out, double fit, const kn_core* A, const kn_core* B, double size,
                            double delta) {
  kn_core moved = *B;
  v3 shift = v3_mul(out->n, out->gap - delta);
  moved.centre = v3_add(moved.centre, shift);
  for (int i = 0; i < 3; i++) moved.v[i] = v3_add(moved.v[i], shift);
  v3_to(moved.pose.p, v3_add(v3_of(moved.pose.p), shift));
  kn_gjk g;
  kn_core_gap w, fitted = *out;
  if (kn_gjk_run(&g, A, &moved, INFINITY, 1e-14, NULL) != KN_GJK_APART) return fit;
  from_gjk(&w, &g);
  fitted.a = w.a, fitted.b = v3_sub(w.b, shift);
  double m = misfit(&fitted);
  if (!(fabs(w.gap - delta) <= 1e-10 * size && m < fit)) return fit;
  *out = fitted;
  return m;
}

/* Sideways the error is sqrt(delta eps), that of the normal eps / delta: where one distance does not serve
   another does. fit: misfit of the witnesses there are, INFINITY for none. */
static void find_witness(kn_core_gap* out, double fit, const kn_core* A, const kn_core* B, double size) {
  static const double delta[] = {1e-6, 1e-4, 1e-8, 1e-2};
  for (int i = 0; i < 4 && fit > 1e-11 * size; i++)
    fit = witness_apart(out, fit, A, B, size, delta[i] * size);
}

static void overlap(kn_core_gap* out, const kn_core* A, const kn_core* B, const kn_gjk* g,
                    kn_pair_cache* cache) {
  kn_epa e;
  double lower, upper;
  kn_epa_state s = kn_epa_run(&e, out, &lower, &upper, A, B, g, 1e-12 * g->size);
  if (s == KN_EPA_DONE) {
    const kn_epa_face* f = final_face(&e);
    codes(out, &e.p[f->v[0]], &e.p[f->v[1]], &e.p[f->v[2]], 3);
    save_epa(cache, &e, out, f);
  } else if (s != KN_EPA_FLAT) {
    kn_sat_run(out, A, B);
    cache->simplex_count = 0;
  }
  find_witness(out, s == KN_EPA_DONE ? misfit(out) : INFINITY, A, B, g->size);
}

static bool hulls(const kn_core* A, const kn_core* B) {
  return A->type == KN_CORE_HULL && B->type == KN_CORE_HULL && !A->moved && B->moved;
}

/* Hulls the short way first; after an overlap the last simplex goes to gjk.c. */
static kn_gjk_state find_apart(kn_gjk* g, const kn_core* A, const kn_core* B, double limit,
                               const kn_pair_cache* cache) {
  if (hulls(A, B) && cache->simplex_count < 4) {
    kn_hull_state s = kn_hull_apart(g, A->hull, B->hull, &B->pose, limit, cache);
    if (s == KN_HULL_APART) return KN_GJK_APART;
    if (s == KN_HULL_BEYOND) return KN_GJK_BEYOND;
    if (s == KN_HULL_OVERLAP) return KN_GJK_OVERLAP;
  }
  return kn_gjk_run(g, A, B, limit, 1e-12, cache);
}

/* The points of M with these vertex numbers; false when there are none. */
static bool corners(kn_gjk_point* p, const kn_core* A, const kn_core* B, const int32_t (*id)[2], int n) {
  for (int i = 0; i < n; i++) {
    p[i].ia = id[i][0], p[i].ib = id[i][1];
    if (!kn_core_has(A, p[i].ia) || !kn_core_has(B, p[i].ib)) return false;
    p[i].a = kn_core_vertex(A, p[i].ia), p[i].b = kn_core_vertex(B, p[i].ib);
    p[i].w = v3_sub(p[i].a, p[i].b);
  }
  return true;
}

bool kn_on_surface(kn_core_gap* out, const kn_gjk_point* p, const kn_core* A, const kn_core* B, v3 near,
                   double least) {
  double size = A->extent + B->extent;
  v3 w = p[0].w, e = v3_sub(p[1].w, w), f = v3_sub(p[2].w, w), m = v3_cross(e, f), n = m;
  double mm = v3_norm2(m), j = -v3_dot(m, v3_cross(w, f)) / mm, k = -v3_dot(m, v3_cross(e, w)) / mm;
  if (!(mm > 1e-20 * v3_norm2(e) * v3_norm2(f)) || !(j >= 0 && k >= 0 && j + k <= 1)) return false;
  v3_unit(&n);
  if (v3_dot(n, near) < 0) n = v3_neg(n);
  double gap = v3_dot(n, w);
  if (!(gap >= least)) return false;
  if (!(gap - v3_dot(n, kn_minkowski_near(A, B, v3_neg(n), &p[0]).w) <= 1e-12 * size)) return false;
  *out = (kn_core_gap){.gap = gap, .n = n};
  out->a = v3_axpy(v3_axpy(v3_mul(p[0].a, 1 - j - k), j, p[1].a), k, p[2].a);
  out->b = v3_axpy(v3_axpy(v3_mul(p[0].b, 1 - j - k), j, p[1].b), k, p[2].b);
  codes(out, &p[0], &p[1], &p[2], 3);
  return true;
}

/* Is the triangle that held the answer the last time still the nearest part of the surface? Overlapping the depth is
   wrong by itself at most: good enough for bodies that rest on each other. */
static bool still_touching(kn_core_gap* out, const kn_core* A, const kn_core* B, const kn_pair_cache* cache) {
  kn_gjk_point p[3];
  return cache->simplex_count >= 3 && corners(p, A, B, cache->simplex, 3) &&
         kn_on_surface(out, p, A, B, v3_of(cache->normal), -1e-9 * (A->extent + B->extent));
}

bool kn_core_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                      kn_pair_cache* cache) {
  if (kn_core_curved(A) || kn_core_curved(B)) return kn_curved_distance(out, A, B, limit, cache);
  if (still_touching(out, A, B, cache)) return true;
  if (hulls(A, B) && kn_hulls_shallow(out, A, B, cache)) return true;
  kn_gjk g;
  kn_gjk_state s = find_apart(&g, A, B, limit, cache);
  if (s == KN_GJK_BEYOND) {
    kn_gjk_save(cache, &g);
    return false;
  }
  kn_core_gap apart;
  if (s == KN_GJK_APART) {
    from_gjk(&apart, &g);
    if (g.dist - g.along <= 1e-11 * g.size) {
      *out = apart;
      kn_gjk_save(cache, &g);
      return true;
    }
  }
  overlap(out, A, B, &g, cache);
  /* not certified apart, yet its normal separates more than any face does: a vertex or edge contact, nearly
   * touching */
  if (s == KN_GJK_APART && g.along > out->gap) *out = apart;
  return true;
}
