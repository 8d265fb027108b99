/* Chooses the variant of this machine; hull-hull distances through it. */
#include "collide/gjk_hull.h"

#include "base/cpu.h"

kn_hull_state kn_hull_apart(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel, double limit,
                            const kn_pair_cache* warm) {
#if defined(__x86_64__)
  int level = kn_cpu_level();
  if (level >= KN_CPU_AVX512) return kn_hull_apart_avx512(g, A, B, rel, limit, warm);
  if (level >= KN_CPU_AVX2) return kn_hull_apart_avx2(g, A, B, rel, limit, warm);
#endif
  return kn_hull_apart_base(g, A, B, rel, limit, warm);
}

bool kn_hulls_distance(kn_distance_result* out, const kn_pair* q) {
#if defined(__x86_64__)
  int level = kn_cpu_level();
  if (level >= KN_CPU_AVX512) return kn_hull_distance_avx512(out, q);
  if (level >= KN_CPU_AVX2) return kn_hull_distance_avx2(out, q);
#endif
  return kn_hull_distance_base(out, q);
}
