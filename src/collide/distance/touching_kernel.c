/* Polytopes that touch or nearly do, from the triangle of the last answer. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/distance/gjk_hull.h"
#include "collide/distance/support_hull.h"

LANES bool has_vertex(const kn_core* c, int id, bool hull) {
  return hull ? (unsigned)id < (unsigned)c->hull->nv : kn_core_has(c, id);
}

/* Is the triangle of M that held the answer the last time still the nearest part of its surface? n, its normal:
   the support of M must not lie beyond it, and the foot of the origin must be inside. Apart this proves the
   distance. Overlapping it proves that the depth is no larger, so that it is wrong by itself at most: good
   enough for bodies that rest on each other. */
LANES bool touching(kn_core_gap* out, const kn_core* A, const kn_core* B, const kn_pair_cache* cache,
                    bool hulls) {
  kn_gjk_point p[3];
  double size = A->extent + B->extent;
  UNROLL for (int i = 0; i < 3; i++) {
    p[i].ia = cache->simplex[i][0], p[i].ib = cache->simplex[i][1];
    if (!has_vertex(A, p[i].ia, hulls) || !has_vertex(B, p[i].ib, hulls)) return false;
    p[i].a = vertex_of(A, p[i].ia, hulls ? HULL_HERE : ANY_CORE),
    p[i].b = vertex_of(B, p[i].ib, hulls ? HULL_MOVED : ANY_CORE);
    p[i].w = v3_sub(p[i].a, p[i].b);
  }
  v3 w = p[0].w, e = v3_sub(p[1].w, w), f = v3_sub(p[2].w, w), m = v3_cross(e, f), n = m;
  double mm = v3_norm2(m), j = -v3_dot(m, v3_cross(w, f)) / mm, k = -v3_dot(m, v3_cross(e, w)) / mm;
  if (!(mm > 1e-20 * v3_norm2(e) * v3_norm2(f)) || !(j >= 0 && k >= 0 && j + k <= 1)) return false;
  v3_unit(&n);
  if (v3_dot(n, v3_of(cache->normal)) < 0) n = v3_neg(n);
  double gap = v3_dot(n, w);
  if (!(gap >= -1e-9 * size)) return false;
  kn_gjk_point far = support_of(A, B, v3_neg(n), &p[0], hulls);
  if (!(gap - v3_dot(n, far.w) <= 1e-12 * size)) return false;
  out->gap = gap, out->n = n;
  out->a = v3_axpy(v3_axpy(v3_mul(p[0].a, 1 - j - k), j, p[1].a), k, p[2].a);
  out->b = v3_axpy(v3_axpy(v3_mul(p[0].b, 1 - j - k), j, p[1].b), k, p[2].b);
  out->fa = kn_feature_code(p[0].ia, p[1].ia, p[2].ia);
  out->fb = kn_feature_code(p[0].ib, p[1].ib, p[2].ib);
  return true;
}

bool KN_NAME(kn_still_touching)(kn_core_gap* out, const kn_core* A, const kn_core* B,
                                const kn_pair_cache* cache) {
  return two_hulls(A, B) ? touching(out, A, B, cache, true) : touching(out, A, B, cache, false);
}
