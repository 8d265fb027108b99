/* The vector variants give the same answers as the portable ones, bit for bit, ties included. */
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "collide/distance/support.h"
#include "shapes.h"
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

typedef struct answer {
  kn_distance_result distance, again;
  kn_contact_point contact[KN_MANIFOLD_MAX];
  int contacts;
} answer;

/* Cold, then a little moved with what was remembered; then the contacts. */
static void ask(answer* a, const kn_test_pair* s, const kn_pose* moved) {
  kn_pair_cache cache = {0};
  memset(a, 0, sizeof *a);
  CHECK_OK(kn_distance(&a->distance, &s->a, &s->A, &s->b, &s->B, &cache));
  CHECK_OK(kn_distance(&a->again, &s->a, &s->A, &s->b, moved, &cache));
  memset(&cache, 0, sizeof cache);
  CHECK_OK(kn_manifold_query(a->contact, &a->contacts, KN_MANIFOLD_MAX, &s->a, &s->A, &s->b, moved,
                             0.01 * s->size, &cache));
}

TEST(every_instruction_set_gives_the_same_distances_and_contacts) {
  static const kn_shape_type types[][2] = {{KN_SHAPE_BOX, KN_SHAPE_BOX},
                                           {KN_SHAPE_HULL, KN_SHAPE_HULL},
                                           {KN_SHAPE_BOX, KN_SHAPE_HULL},
                                           {KN_SHAPE_CYLINDER, KN_SHAPE_HULL},
                                           {KN_SHAPE_CAPSULE, KN_SHAPE_HULL}};
  int best = kn_cpu_level();
  if (best == KN_CPU_BASE) SKIP("one instruction set only");
  kn_rng rng = kn_rng_seed(8);
  for (int i = 0; i < 3000 * kn_test_effort(); i++) {
    const kn_shape_type* t = types[i % 5 > 2 && i % 3 ? 1 : i % 5];
    kn_test_pair s = kn_test_pair_make(&rng, t[0], t[1], (kn_test_class)kn_rng_int(&rng, KN_TEST_CLASSES));
    kn_pose moved = s.B;
    kn_test_small_rotation(moved.R, &rng, 0.01);
    for (int k = 0; k < 3; k++) moved.p[k] += 0.002 * s.size * kn_rng_range(&rng, -1, 1);
    answer portable, other;
    kn_cpu_limit(KN_CPU_BASE);
    ask(&portable, &s, &moved);
    bool same = true;
    for (int level = KN_CPU_AVX2; level <= best && same; level++) {
      kn_cpu_limit(level);
      ask(&other, &s, &moved);
      same = CHECK(memcmp(&portable, &other, sizeof other) == 0);
      if (!same) printf("pair %d: types %d %d class %d level %d\n", i, t[0], t[1], s.kind, level);
    }
    if (!same) break;
  }
  kn_cpu_limit(best);
}
