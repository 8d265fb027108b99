/* Saved at any moment and loaded into a new simulator, every scene goes on to the same bits: nothing that a step needs is
   kept anywhere but in the state. A pile of some dozen contacts once remembered the order in which its last problem
   had been eliminated (`dominoes` at 0.5 s: another last digit in the next step). */
#include <stdlib.h>

#include "scene.h"
#include "test.h"

static kn_sim* begin(kn_scene_opened* scene, kn_state** x) {
  kn_sim* sim = NULL;
  kn_sim_settings settings = kn_scene_settings_of(scene);
  CHECK_OK(kn_sim_create(&sim, scene->model, &settings));
  if (scene->controller.fn) CHECK_OK(kn_sim_set_controller(sim, &scene->controller));
  CHECK_OK(kn_state_create(x, scene->model));
  CHECK_OK(kn_scene_start(scene, *x));
  CHECK_OK(kn_sim_prepare(sim, *x));
  return sim;
}

/* From the present state of one simulator in a new one, a few steps side by side. */
static void branch(kn_scene_opened* scene, kn_sim* sim, kn_state* x, int steps) {
  kn_state* y;
  kn_sim* other = begin(scene, &y);
  size_t size = kn_state_size(x);
  void* bytes = malloc(size);
  CHECK_OK(kn_state_save(bytes, size, x));
  CHECK_OK(kn_state_load(y, bytes, size));
  bool same = kn_state_hash(x) == kn_state_hash(y);
  for (int k = 0; k < steps && same; k++) {
    kn_step(sim, x), kn_step(other, y);
    same = kn_state_hash(x) == kn_state_hash(y);
  }
  if (!CHECK(same)) printf("  %s at %g s\n", scene->scene->name, kn_state_time(x));
  free(bytes);
  kn_sim_destroy(other);
  kn_state_destroy(y);
}

TEST(every_scene_goes_on_from_a_saved_state) {
  static const int moments[] = {7, 120, 300, 520};
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    kn_scene_opened* scene;
    kn_state* x;
    if (!CHECK(kn_scene_open(&scene, (*s)->name, NULL, 0) == KN_OK)) continue;
    kn_sim* sim = begin(scene, &x);
    for (size_t m = 0, at = 0; m < sizeof moments / sizeof *moments; m++) {
      for (; (int)at < moments[m]; at++) kn_step(sim, x);
      branch(scene, sim, x, 10), at += 10;
    }
    kn_sim_destroy(sim);
    kn_state_destroy(x);
    kn_scene_close(scene);
  }
}
