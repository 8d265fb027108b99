/* Chooses the variant of this machine: distances of hulls, expanding polytope. */
#include "collide/distance/gjk_hull.h"

#include "base/isa.h"
#include "collide/distance/epa.h"

kn_hull_state kn_hull_apart(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel, double limit,
                            const kn_pair_cache* warm) {
  return KN_BEST(kn_hull_apart)(g, A, B, rel, limit, warm);
}

bool kn_hulls_distance(kn_distance_result* out, const kn_pair* q) {
  return KN_BEST(kn_hull_distance)(out, q);
}

kn_epa_state kn_epa_run(kn_epa* e, kn_core_gap* out, double* lower, double* upper, const kn_core* A,
                        const kn_core* B, const kn_gjk* g, double tol) {
  return KN_BEST(kn_epa_expand)(e, out, lower, upper, A, B, g, tol);
}
