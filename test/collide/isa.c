/* The vector variants of the support search give the same vertex as the portable one, ties included. */
#include "base/cpu.h"
#include "base/rng.h"
#include "collide/support.h"
#include "test.h"

TEST(every_instruction_set_finds_the_same_vertex) {
#if !defined(__x86_64__)
  SKIP("no vector variants on this machine");
#else
  static double x[512] __attribute__((aligned(64))), y[512] __attribute__((aligned(64))),
      z[512] __attribute__((aligned(64)));
  kn_rng rng = kn_rng_seed(3);
  int level = kn_cpu_level();
  if (level < KN_CPU_AVX2) SKIP("no AVX2");
  for (int t = 0; t < 20000; t++) {
    int n = 8 * (1 + kn_rng_int(&rng, 64));
    double grid = t % 2 ? 4 : 1e6; /* coarse coordinates make ties */
    for (int i = 0; i < n; i++) {
      x[i] = floor(kn_rng_range(&rng, -grid, grid)), y[i] = floor(kn_rng_range(&rng, -grid, grid));
      z[i] = floor(kn_rng_range(&rng, -grid, grid));
    }
    double d[3] = {kn_rng_int(&rng, 3) - 1, kn_rng_normal(&rng), t % 3 ? 0 : kn_rng_normal(&rng)};
    if (t % 5 == 0) d[1] = 0;
    int base = kn_support_cloud_base(x, y, z, n, d[0], d[1], d[2]);
    if (!CHECK_INT(kn_support_cloud_avx2(x, y, z, n, d[0], d[1], d[2]), base)) return;
    if (level >= KN_CPU_AVX512 && !CHECK_INT(kn_support_cloud_avx512(x, y, z, n, d[0], d[1], d[2]), base))
      return;
  }
#endif
}
