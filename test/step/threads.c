/* One large world on several threads: the same bits for any number of them. */
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "knuckle/step.h"
#include "scene.h"
#include "test.h"

static uint64_t run(const char* name, const char* const* set, int sets, int threads, int steps,
                    double tolerance, double* seconds) {
  kn_scene_opened* scene;
  kn_sim* sim;
  kn_state* x;
  if (!CHECK_OK(kn_scene_open(&scene, name, set, sets))) return 0;
  kn_sim_settings settings = kn_scene_settings_of(scene);
  settings.threads = threads;
  if (tolerance > 0.0) settings.tolerance = tolerance;
  if (!CHECK_OK(kn_sim_create(&sim, scene->model, &settings))) return 0;
  CHECK_OK(kn_state_create(&x, scene->model));
  CHECK_OK(kn_scene_start(scene, x));
  CHECK_OK(kn_step(sim, x));
  double begin = kn_wall_seconds();
  size_t allocations = kn_test_allocations();
  for (int i = 1; i < steps; i++) CHECK_OK(kn_step(sim, x));
  *seconds = kn_wall_seconds() - begin;
  if (kn_test_counts_allocations()) CHECK_INT(kn_test_allocations() - allocations, 0);
  uint64_t hash = kn_state_hash(x);
  kn_state_destroy(x);
  kn_sim_destroy(sim);
  kn_scene_close(scene);
  return hash;
}

static void compare(const char* name, const char* const* set, int sets, int steps, double tolerance) {
  static const int threads[] = {1, 2, 3, 8};
  double one, many;
  uint64_t hash = run(name, set, sets, 1, steps, tolerance, &one);
  for (int k = 1; k < 4; k++) {
    CHECK(run(name, set, sets, threads[k], steps, tolerance, &many) == hash);
    printf("%s, %d threads: %.2f of the time of one\n", name, threads[k], many / one);
  }
}

/* Large enough that fronts are shared (comp/heap/sparse_kernel.h). */
TEST(wall_for_any_threads) {
  bool large = kn_test_effort() >= 10;
  const char* set[] = {large ? "wide=25" : "wide=16", large ? "high=40" : "high=20"};
  compare("wall", set, 2, large ? 12 : 4, 0.0);
}

/* A heap that settles: Newton's systems with many small fronts, other ones in every step. */
TEST(pile_for_any_threads) {
  bool large = kn_test_effort() >= 10;
  const char* set[] = {large ? "balls=5000" : "balls=500"};
  compare("sphere-pile", set, 1, large ? 110 : 100, 1e-6);
}

TEST(wrong_numbers_of_threads_are_refused) {
  kn_model* model;
  kn_sim* sim;
  if (!CHECK_OK(kn_scene_model(&model, "stack", NULL, 0))) return;
  kn_sim_settings settings = kn_sim_default();
  settings.threads = -1;
  CHECK_STATUS(kn_sim_create(&sim, model, &settings), KN_BAD_ARGUMENT);
  CHECK(sim == NULL);
  settings.threads = 0;
  CHECK_OK(kn_sim_create(&sim, model, &settings));
  kn_sim_destroy(sim);
  kn_model_destroy(model);
}
