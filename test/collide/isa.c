/* The vector variants give the same answers as the portable ones, bit for bit, ties included. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "collide/distance/support.h"
#include "knuckle/mesh.h"
#include "shapes.h"
#include "test.h"

/* Points of a coarse grid, which make ties, or on a ball. */
static kn_hull* random_hull(kn_rng* rng, int n, bool ball) {
  double* p = malloc(3 * sizeof *p * (size_t)n);
  kn_hull* h = NULL;
  for (int i = 0; i < n; i++) {
    double l = 0;
    for (int k = 0; k < 3; k++) {
      double c = ball ? kn_rng_normal(rng) : kn_rng_int(rng, 9) - 4;
      p[3 * i + k] = c, l += c * c;
    }
    for (int k = 0; k < 3 && ball; k++) p[3 * i + k] /= sqrt(l);
  }
  CHECK_OK(kn_hull_create(&h, p, n, NULL));
  free(p);
  return h;
}

/* The rounding of three products and two sums of coordinates below 7. */
#define TIE 1e-14

TEST(every_instruction_set_finds_the_same_vertex_and_it_is_the_farthest) {
  kn_rng rng = kn_rng_seed(3);
  int level = kn_cpu_level();
  for (int t = 0; t < 200; t++) {
    kn_hull* h = random_hull(&rng, t % 20 ? 8 + kn_rng_int(&rng, 600) : 4500, t % 3 != 0);
    for (int k = 0; k < 200 && h; k++) {
      double d[3] = {kn_rng_int(&rng, 3) - 1, kn_rng_normal(&rng), k % 3 ? 0 : kn_rng_normal(&rng)};
      if (k % 5 == 0) d[1] = 0;
      int base = kn_hull_farthest_base(h, d[0], d[1], d[2]);
#if defined(__x86_64__)
      if (level >= KN_CPU_AVX2 && !CHECK_INT(kn_hull_farthest_avx2(h, d[0], d[1], d[2]), base)) break;
      if (level >= KN_CPU_AVX512 && !CHECK_INT(kn_hull_farthest_avx512(h, d[0], d[1], d[2]), base)) break;
#else
      (void)level;
#endif
      double top = h->x[base] * d[0] + h->y[base] * d[1] + h->z[base] * d[2], most = -INFINITY;
      for (int i = 0; i < h->nv; i++) most = fmax(most, h->x[i] * d[0] + h->y[i] * d[1] + h->z[i] * d[2]);
      if (!CHECK(top >= most - TIE * (1 + fabs(d[1]) + fabs(d[2])))) break;
    }
    kn_hull_destroy(h);
  }
}

TEST(a_direction_that_is_none_names_some_vertex) {
  kn_rng rng = kn_rng_seed(4);
  kn_hull* h = random_hull(&rng, 300, true);
  const double odd[] = {0.0, NAN, INFINITY, -INFINITY, 1e300, 5e-324, 1.0};
  for (int k = 0; k < 343 && h; k++) {
    int v = kn_hull_farthest_base(h, odd[k % 7], odd[k / 7 % 7], odd[k / 49]);
    CHECK(v >= 0 && v < h->nv);
  }
  kn_hull_destroy(h);
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
