#include "collide/gjk.h"

bool kn_curved_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                        kn_pair_cache* cache) {
  kn_gjk g;
  kn_gjk_state s = kn_gjk_run(&g, A, B, limit, 1e-10, cache);
  cache->simplex_count = 0;
  if (s == KN_GJK_BEYOND) return false;
  if (s == KN_GJK_APART) {
    out->gap = g.dist, out->n = v3_mul(g.v, 1 / g.dist);
    v3 a = v3_mul(g.p[0].a, g.weight[0]), b = v3_mul(g.p[0].b, g.weight[0]);
    for (int i = 1; i < g.count; i++)
      a = v3_axpy(a, g.weight[i], g.p[i].a), b = v3_axpy(b, g.weight[i], g.p[i].b);
    out->a = a, out->b = b, out->fa = out->fb = 0;
    return true;
  }
  kn_epa e;
  double lower, upper;
  kn_epa_run(&e, out, &lower, &upper, A, B, &g, 1e-9 * g.size);
  return true;
}
