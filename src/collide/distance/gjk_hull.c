/* Chooses the variant of this machine; hull-hull distances through it. */
#include "collide/distance/gjk_hull.h"

#include "base/isa.h"

kn_hull_state kn_hull_apart(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel, double limit,
                            const kn_pair_cache* warm) {
  return KN_BEST(kn_hull_apart)(g, A, B, rel, limit, warm);
}

bool kn_hulls_distance(kn_distance_result* out, const kn_pair* q) {
  return KN_BEST(kn_hull_distance)(out, q);
}
