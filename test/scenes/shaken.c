/* Robots that stand, with a little noise in the velocities they start with, as worlds of a pool have. A robot on flat
   feet once changed the corners that carry it in every step (each corner asked for a travel of its own, hold.c), and one
   whose feet resist rolling came to rest in problems that no method solved. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "scene.h"
#include "test.h"

enum { WORLDS = 6, STEPS = 200 };

typedef struct tally {
  int steps, left;
  double residual;
} tally;

/* Six worlds; velocities moved by up to 0.05 m/s or rad/s. */
static tally shake(const kn_model* m, const kn_state* start, const kn_sim_settings* settings) {
  tally t = {0};
  kn_rng rng = kn_rng_seed(1);
  for (int world = 0; world < WORLDS; world++) {
    kn_sim* sim;
    kn_state* x;
    CHECK(kn_state_create(&x, m) == KN_OK && kn_state_copy(x, start) == KN_OK);
    for (int i = 0; i < kn_model_nv(m); i++) kn_state_v(x)[i] += kn_rng_range(&rng, -0.05, 0.05);
    CHECK(kn_sim_create(&sim, m, settings) == KN_OK && kn_sim_prepare(sim, x) == KN_OK);
    for (int k = 0; k < STEPS; k++) {
      CHECK(kn_step(sim, x) == KN_OK);
      const kn_report* r = kn_sim_report(sim);
      t.steps++, t.left += r->left_warm > 0;
      t.residual = fmax(t.residual, r->residual);
    }
    kn_sim_destroy(sim);
    kn_state_destroy(x);
  }
  printf("  %d of %d steps left the warm start, residual %.1e\n", t.left, t.steps, t.residual);
  return t;
}

/* A step that leaves the warm start costs some fifty others: at most one in a hundred does, where all did. */
TEST(a_shaken_humanoid_keeps_its_warm_start) {
  kn_scene_opened* scene;
  kn_state* start;
  CHECK(kn_scene_open(&scene, "humanoid", NULL, 0) == KN_OK);
  kn_sim_settings settings = kn_scene_settings_of(scene);
  CHECK(kn_state_create(&start, scene->model) == KN_OK && kn_scene_start(scene, start) == KN_OK);
  tally t = shake(scene->model, start, &settings);
  CHECK(t.left <= t.steps / 100);
  CHECK(t.residual <= settings.tolerance);
  kn_state_destroy(start);
  kn_scene_close(scene);
}

/* condim 6 and dry joints: between rolling and rest slips are 1e-9 m/s, and contacts are redundant. */
TEST(feet_that_resist_rolling_come_to_rest_solved) {
  const char* path = KN_SHARED_DATA "/models/mjcf/anybotics_anymal_c/scene.xml";
  if (access(path, R_OK) != 0) SKIP("no shared data");
  kn_spec* spec;
  kn_load_report* report;
  kn_load_settings load = kn_load_default();
  kn_model* m;
  kn_state* start;
  CHECK(kn_load(&spec, &report, path, &load) == KN_OK && kn_compile(&m, spec) == KN_OK);
  kn_sim_settings settings = kn_sim_default();
  settings.dt = kn_load_timestep(report);
  CHECK(kn_state_create(&start, m) == KN_OK);
  tally t = shake(m, start, &settings);
  CHECK(t.residual <= settings.tolerance);
  kn_state_destroy(start);
  kn_model_destroy(m);
  kn_load_report_free(report);
  kn_spec_destroy(spec);
}
