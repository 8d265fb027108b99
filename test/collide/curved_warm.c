/* Cylinders and ellipsoids against anything convex, in motion: from the pieces that held the contact the last
   time the distance is the one found from nothing, apart and overlapping, whatever the cache holds. Both are
   judged by duality besides: the separation along the normal, and where the witnesses are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"
#include "test.h"

typedef struct worst {
  double gap, dual, witness, better;
  int overlaps, touching;
} worst;

static void note(worst* w, const kn_test_pair* s, const kn_distance_result* r, double cold, kn_rng* rng) {
  double fit = 0, size = s->size, dual = kn_test_separation(&s->a, &s->A, &s->b, &s->B, r->normal) - r->gap;
  for (int i = 0; i < 3; i++) fit = fmax(fit, fabs(r->on_a[i] - r->on_b[i] - r->gap * r->normal[i]));
  fit = fmax(
      fit, fmax(kn_test_surface_error(&s->a, &s->A, r->on_a), kn_test_surface_error(&s->b, &s->B, r->on_b)));
  w->gap = fmax(w->gap, fabs(r->gap - cold) / size);
  w->dual = fmax(w->dual, fabs(dual) / size);
  w->witness = fmax(w->witness, fit / size);
  w->overlaps += r->gap < 0;
  w->touching += fabs(r->gap) < 1e-6 * size;
  for (int k = 0; k < 8 && r->gap < 0; k++) {
    double n[3];
    kn_test_direction(n, rng);
    w->better = fmax(w->better, (kn_test_separation(&s->a, &s->A, &s->b, &s->B, n) - r->gap) / size);
  }
}

/* A walk: closer, a little to and fro around touching, deeper, away. */
static void walk(worst* w, kn_test_pair* s, kn_rng* rng) {
  kn_pair_cache cache = {.simplex_count = 0};
  kn_distance_result r, cold;
  for (int k = 0; k < 24; k++) {
    if (!CHECK_OK(kn_distance(&cold, &s->a, &s->A, &s->b, &s->B, NULL)) ||
        !CHECK_OK(kn_distance(&r, &s->a, &s->A, &s->b, &s->B, &cache)))
      return;
    note(w, s, &r, cold.gap, rng);
    double want = k < 6    ? 0.5 * cold.gap
                  : k < 14 ? 1e-9 * s->size * kn_rng_range(rng, -2, 2)
                  : k < 20 ? cold.gap - 0.01 * s->size
                           : cold.gap + 0.02 * s->size;
    for (int i = 0; i < 3; i++) s->B.p[i] -= (want - cold.gap) * cold.normal[i];
    kn_test_small_rotation(s->B.R, rng, k % 3 ? 1e-3 : 1e-9);
    if (k % 8 == 7) { /* what a cache holds may be anything */
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
          cache.simplex[i][j] = kn_rng_int(rng, 3) ? kn_rng_int(rng, 9) : (int)1e9 - i;
      cache.simplex_count = 3;
      if (k % 16 == 15) kn_test_direction(cache.normal, rng);
    }
  }
}

/* 1e-9 of the size is what test/collide/pairs.c asks of any distance. */
TEST(curved_pairs_in_motion_keep_the_distance_found_from_nothing) {
  kn_rng rng = kn_rng_seed(31);
  worst w = {0};
  int pairs = 0;
  for (int i = 0; i < 400 * kn_test_effort(); i++) {
    kn_shape_type curved = i % 2 ? KN_SHAPE_CYLINDER : KN_SHAPE_ELLIPSOID,
                  other = (kn_shape_type)(KN_SHAPE_SPHERE + i / 2 % 6);
    kn_shape_type a = curved < other ? curved : other, b = curved < other ? other : curved;
    kn_test_pair s = kn_test_pair_make(&rng, a, b, (kn_test_class)kn_rng_int(&rng, KN_TEST_CLASSES));
    walk(&w, &s, &rng), pairs++;
  }
  printf("  %d walks, %d overlapping, %d touching; worst: gap %.1e, separation %.1e, witness %.1e, better "
         "%.1e\n",
         pairs, w.overlaps, w.touching, w.gap, w.dual, w.witness, w.better);
  CHECK(w.overlaps > 4 * pairs && w.touching > 4 * pairs);
  CHECK(w.gap <= 1e-9 && w.dual <= 1e-9 && w.witness <= 1e-9 && w.better <= 1e-9);
}
