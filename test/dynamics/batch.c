/* Worlds in lanes give what single worlds give. */
#include "knuckle/batch.h"

#include <string.h>

#include "base/isa.h"
#include "model/model.h"
#include "scene.h"
#include "trees.h"

/* Worst difference of accelerations between lanes and single worlds, relative to the largest. Condition of M
   times round-off, in two orders of summation and two sets of axes. */
static double worst_difference(const kn_model* m, kn_state** s, int worlds, kn_rng* rng) {
  int nv = kn_model_nv(m);
  kn_batch* b;
  kn_data* d;
  double *tau = calloc((size_t)(worlds * nv) + 1, 8), *a = calloc((size_t)nv + 1, 8),
         *c = calloc((size_t)nv + 1, 8), worst = 0;
  CHECK_OK(kn_batch_create(&b, m, worlds)), CHECK_OK(kn_data_create(&d, m));
  CHECK_INT(kn_batch_worlds(b), worlds);
  for (int w = 0; w < worlds; w++) {
    for (int j = 0; j < nv; j++) tau[w * nv + j] = kn_rng_range(rng, -3, 3);
    CHECK_OK(kn_batch_set(b, w, kn_state_q(s[w]), kn_state_v(s[w]), tau + w * nv));
  }
  size_t before = kn_test_allocations();
  CHECK_OK(kn_batch_forward(b));
  CHECK_INT(kn_test_allocations() - before, 0);
  for (int w = 0; w < worlds; w++) {
    CHECK_OK(kn_forward_dynamics(a, m, s[w], d, tau + w * nv));
    CHECK_OK(kn_batch_get(NULL, NULL, c, b, w));
    worst = fmax(worst, max_diff(a, c, nv) / fmax(1.0, max_abs(a, nv)));
  }
  free(tau), free(a), free(c);
  kn_batch_destroy(b), kn_data_destroy(d);
  return worst;
}

TEST(lanes_equal_single_worlds) {
  kn_rng rng = kn_rng_seed(41);
  double worst = 0;
  for (int i = 0; i < 120 * kn_test_effort(); i++) {
    tree_options o = {.bodies = 1 + kn_rng_int(&rng, 20),
                      .branch = 0.4,
                      .forest = 0.1,
                      .floating = i % 2,
                      .hinges = i % 3 == 0,
                      .armature = i % 5 ? 0.1 : 0.0,
                      .gravity = true,
                      .square = i % 4 == 1};
    kn_model* m = random_tree(&rng, &o);
    kn_state* s[20];
    int worlds = 1 + kn_rng_int(&rng, 20);
    for (int w = 0; w < worlds; w++) {
      CHECK_OK(kn_state_create(&s[w], m));
      random_state(&rng, m, s[w], 2.0);
    }
    double e = worst_difference(m, s, worlds, &rng);
    worst = fmax(worst, e);
    CHECK(e <= 1e-10);
    for (int w = 0; w < worlds; w++) kn_state_destroy(s[w]);
    kn_model_destroy(m);
  }
  printf("  worst relative difference %.2e\n", worst);
}

/* Robots' joint frames only give axes new names and signs, and their offsets lie along axes: the shortcuts.
   One world has angles beyond the range of the fast sine. */
TEST(shortcuts_for_robots_equal_single_worlds) {
  static const char* const names[] = {"quadruped", "humanoid", "chain", "dual-arm", "four-bar"};
  kn_rng rng = kn_rng_seed(43);
  int top = kn_cpu_level();
  for (size_t k = 0; k < 2 * sizeof names / sizeof *names; k++) {
    kn_model* m;
    kn_state* s[8];
    CHECK_OK(kn_scene_model(&m, names[k / 2], NULL, 0));
    for (int j = 0; j < m->nv && k % 2; j++) m->armature[j] = 0.0;
    for (int w = 0; w < 8; w++) {
      CHECK_OK(kn_state_create(&s[w], m));
      kn_random_state(s[w], m, (uint64_t)w + 1, 1.0, 2.0);
    }
    kn_state_q(s[3])[m->nq - 1] = 3e7;
    for (int level = 0; level <= top; level++) {
      kn_cpu_limit(level);
      double e = worst_difference(m, s, 8, &rng);
      if (!CHECK(e <= 1e-10)) printf("  %s: %.2e\n", names[k / 2], e);
    }
    for (int w = 0; w < 8; w++) kn_state_destroy(s[w]);
    kn_model_destroy(m);
  }
}

TEST(steps_have_the_same_bits_on_every_instruction_set) {
  kn_rng rng = kn_rng_seed(42);
  tree_options o = {.bodies = 12, .branch = 0.4, .floating = true, .gravity = true};
  kn_model* m = random_tree(&rng, &o);
  int top = kn_cpu_level(), nq = kn_model_nq(m), nv = kn_model_nv(m);
  double* first = calloc((size_t)(3 * (nq + nv)), 8);
  for (int level = 0; level <= top; level++) {
    kn_cpu_limit(level);
    kn_batch* b;
    CHECK_OK(kn_batch_create(&b, m, 3));
    for (int w = 0; w < 3; w++) kn_batch_v(b)[kn_batch_index(nv, w, w)] = 1.0;
    for (int i = 0; i < 50; i++) CHECK_OK(kn_batch_step(b, 1e-3));
    double* x = calloc((size_t)(3 * (nq + nv)), 8);
    for (int w = 0; w < 3; w++) CHECK_OK(kn_batch_get(x + w * (nq + nv), x + w * (nq + nv) + nq, NULL, b, w));
    if (level == 0)
      memcpy(first, x, sizeof(double) * (size_t)(3 * (nq + nv)));
    else
      CHECK(memcmp(first, x, sizeof(double) * (size_t)(3 * (nq + nv))) == 0);
    free(x);
    kn_batch_destroy(b);
  }
  /* and one of them is the single-world integrator */
  kn_cpu_limit(top);
  kn_state* s;
  kn_data* d;
  CHECK_OK(kn_state_create(&s, m)), CHECK_OK(kn_data_create(&d, m));
  kn_state_v(s)[0] = 1.0;
  kn_integrate_settings set = kn_integrate_default();
  set.method = KN_INTEGRATE_EULER;
  for (int i = 0; i < 50; i++) CHECK_OK(kn_integrate_smooth(s, m, d, 1e-3, &set, NULL, NULL));
  CHECK_ARRAY(kn_state_q(s), first, (size_t)nq, 1e-10);
  free(first);
  kn_data_destroy(d), kn_state_destroy(s), kn_model_destroy(m);
}

TEST(bad_batches_are_refused) {
  kn_model* m = chain(3, false);
  kn_batch* b;
  double q[3] = {0, NAN, 0};
  CHECK_STATUS(kn_batch_create(&b, m, 0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_batch_create(&b, NULL, 1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_batch_forward(NULL), KN_BAD_ARGUMENT);
  CHECK_OK(kn_batch_create(&b, m, 2));
  CHECK_STATUS(kn_batch_set(b, 2, q, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_OK(kn_batch_set(b, 1, NULL, q, NULL));
  CHECK_STATUS(kn_batch_forward(b), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "world 1");
  kn_batch_destroy(b);
  kn_model_destroy(m);
}
