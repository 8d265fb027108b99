/* Lower bounds of distances (stages 2 and 4), for contact/detect: closed forms where there are some, otherwise the
   separating directions of GJK, which bound the distance long before they give it. */
#include "collide/distance/apart.h"

#include "collide/distance/gjk.h"

/* Closed forms: all that go neither through GJK nor over triangles. */
static bool closed_form(const kn_shape* a, const kn_shape* b) {
  kn_distance_of* fn = a->type <= b->type ? kn_pair_queries[a->type][b->type].distance : NULL;
  return fn && fn != kn_distance_convex && fn != kn_distance_box_box && b->type != KN_SHAPE_MESH;
}

/* One search; *axis: the direction of the bound it returns; *dist: no farther apart than this. */
static double look(v3* axis, double* dist, const kn_core* A, const kn_core* B, double limit, double rel) {
  kn_pair_cache warm = {.simplex_count = 0};
  kn_gjk g;
  v3_to(warm.normal, *axis);
  kn_gjk_state s = kn_gjk_run(&g, A, B, limit, rel, &warm);
  *dist = s == KN_GJK_OVERLAP ? 0 : g.dist;
  if (s == KN_GJK_OVERLAP) return -INFINITY;
  if (g.iterations > 0) *axis = g.v; /* otherwise the direction given was good enough */
  return g.lower;
}

double kn_apart_bound(double axis[3], const kn_shape* a, const kn_pose* A, const kn_shape* b,
                      const kn_pose* B, double need, double want) {
  if (a->type > b->type) { /* the order of the table */
    double turned[3];
    v3_to(turned, v3_neg(m3_tmul(B->R, m3_mul(A->R, v3_of(axis)))));
    double bound = kn_apart_bound(turned, b, B, a, A, need, want);
    v3_to(axis, v3_neg(m3_tmul(A->R, m3_mul(B->R, v3_of(turned)))));
    return bound;
  }
  if (closed_form(a, b)) {
    kn_pair_cache none = {.simplex_count = 0};
    kn_pair q = {a, b, A, B, INFINITY, &none};
    kn_distance_result at;
    kn_pair_queries[a->type][b->type].distance(&at, &q);
    return at.gap;
  }
  if (b->type == KN_SHAPE_MESH || a->type == KN_SHAPE_PLANE) return -INFINITY;
  kn_pose rel = kn_pose_between(A, B);
  kn_core ca, cb;
  kn_core_of(&ca, a, NULL);
  kn_core_of(&cb, b, &rel);
  double radii = ca.radius + cb.radius;
  v3 n = v3_of(axis);
  double dist, lower = look(&n, &dist, &ca, &cb, want + radii, 0.1);
  if (!(lower > need + radii) && dist > need + radii) lower = look(&n, &dist, &ca, &cb, need + radii, 1e-6);
  v3_to(axis, n);
  return lower - radii;
}
