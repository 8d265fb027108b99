/* A pool gives the bits of single runs: for any number of threads, any order of the worlds, in one call or
   several, for every stepper, with differences of each world's own. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/pool.h"
#include "model/state.h"
#include "scene.h"
#include "test.h"

enum { WORLDS = 11, STEPS = 60 };

/* Starts that differ from world to world. */
static void start_at(kn_state* x, const kn_scene_opened* scene, int world) {
  kn_rng rng = kn_rng_seed(77 + (uint64_t)world);
  CHECK_OK(kn_scene_start(scene, x));
  for (int i = 0; i < kn_model_nv(scene->model); i++) kn_state_v(x)[i] += kn_rng_range(&rng, -0.2, 0.2);
}

/* A state's hash after steps in a simulator of its own. */
static uint64_t alone(const kn_scene_opened* scene, const kn_sim_settings* settings, int world, int steps,
                      double* row) {
  kn_sim* sim;
  kn_state* x;
  const kn_model* m = scene->model;
  CHECK_OK(kn_sim_create(&sim, m, settings));
  CHECK_OK(kn_state_create(&x, m));
  start_at(x, scene, world);
  for (int i = 0; i < steps; i++) CHECK_OK(kn_step(sim, x));
  row[0] = kn_state_time(x);
  memcpy(row + 1, kn_state_q(x), (size_t)m->nq * sizeof(double));
  memcpy(row + 1 + m->nq, kn_state_v(x), (size_t)m->nv * sizeof(double));
  uint64_t hash = kn_state_hash(x);
  kn_state_destroy(x);
  kn_sim_destroy(sim);
  return hash;
}

/* The same worlds in a pool, world i in place[i]; steps in calls of `part`. */
static void together(const kn_scene_opened* scene, const kn_sim_settings* settings, int threads,
                     const int* place, int steps, int part, const uint64_t* hash, const double* rows) {
  kn_pool* pool;
  kn_state* x;
  if (!CHECK_OK(kn_pool_create(&pool, scene->model, settings, WORLDS, threads))) return;
  CHECK_INT(kn_pool_threads(pool), threads);
  CHECK_OK(kn_state_create(&x, scene->model));
  size_t width = (size_t)kn_pool_width(pool);
  double* state = calloc(WORLDS * width, sizeof *state);
  for (int i = 0; i < WORLDS; i++) {
    start_at(x, scene, i);
    CHECK_OK(kn_pool_put(state, pool, place[i], x));
  }
  for (int done = 0; done < steps; done += part) {
    kn_pool_summary sum;
    kn_pool_run run = {.steps = part, .state = state};
    CHECK_OK(kn_pool_step(&sum, pool, &run));
    CHECK_INT(sum.steps, (long long)WORLDS * part);
    CHECK_INT(sum.failed, 0);
  }
  for (int i = 0; i < WORLDS; i++) {
    CHECK(kn_state_hash(kn_pool_state(pool, place[i])) == hash[i]);
    CHECK_BITS(state + (size_t)place[i] * width, rows + (size_t)i * width, width);
  }
  free(state);
  kn_state_destroy(x);
  kn_pool_destroy(pool);
}

static void compare(const char* name, const char* stepper, int steps) {
  kn_scene_opened* scene;
  if (!CHECK_OK(kn_scene_open(&scene, name, NULL, 0))) return;
  kn_sim_settings settings = kn_scene_settings_of(scene);
  if (stepper) settings.stepper = stepper;
  size_t width = 1 + (size_t)scene->model->nq + (size_t)scene->model->nv;
  uint64_t hash[WORLDS];
  double* rows = calloc(WORLDS * width, sizeof *rows);
  int place[WORLDS];
  for (int i = 0; i < WORLDS; i++) hash[i] = alone(scene, &settings, i, steps, rows + (size_t)i * width);
  static const int threads[] = {1, 2, 3, 8};
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < WORLDS; i++) place[i] = k % 2 ? (7 * i + 3) % WORLDS : i; /* shuffled */
    together(scene, &settings, threads[k], place, steps, k < 2 ? steps : 4, hash, rows);
  }
  free(rows);
  kn_scene_close(scene);
}

TEST(quadruped_for_any_threads_and_order) { compare("quadruped", NULL, STEPS); }
TEST(humanoid_for_any_threads_and_order) { compare("humanoid", NULL, STEPS); }
TEST(stack_for_any_threads_and_order) { compare("stack", NULL, STEPS); }
TEST(bounces_for_any_threads_and_order) { compare("newton-cradle", NULL, STEPS); }
TEST(planar_chain_for_any_threads_and_order) { compare("pendulum-2014", NULL, STEPS); }
TEST(loops_for_any_threads_and_order) { compare("four-bar", NULL, STEPS); }
TEST(theta_for_any_threads_and_order) { compare("quadruped", "theta", STEPS); }
TEST(compliant_for_any_threads_and_order) { compare("stack", "compliant", 12); }
TEST(hybrid_for_any_threads_and_order) { compare("stack", "hybrid", 12); }
TEST(event_for_any_threads_and_order) { compare("pendulum-2014", "event", 12); }

/* Every world has a model of its own, and the threads' simulators go from one to the next. */
TEST(worlds_with_differences_are_as_simulators_of_their_own) {
  kn_scene_opened* scene;
  if (!CHECK_OK(kn_scene_open(&scene, "quadruped", NULL, 0))) return;
  kn_sim_settings settings = kn_scene_settings_of(scene);
  const kn_model* m = scene->model;
  kn_state* x;
  CHECK_OK(kn_state_create(&x, m));
  CHECK_OK(kn_scene_start(scene, x));
  size_t width = 1 + (size_t)m->nq + (size_t)m->nv, nu = (size_t)m->nu;
  double *start = calloc(width, sizeof *start), *ctrl = calloc(WORLDS * nu, sizeof *ctrl);
  memcpy(start + 1, kn_state_q(x), (size_t)m->nq * sizeof(double));
  for (int i = 0; i < WORLDS; i++) memcpy(ctrl + (size_t)i * nu, kn_state_ctrl(x), nu * sizeof(double));
  kn_pool_ranges ranges = {.seed = 5,
                           .mass = {0.8, 1.2},
                           .body_mass = {0.9, 1.1},
                           .friction = {0.5, 1.5},
                           .restitution = {0.0, 0.3},
                           .size = {0.95, 1.05},
                           .gravity = {{-0.5, 0.5}, {0, 0}, {-0.2, 0.2}},
                           .q = {-0.01, 0.01},
                           .v = {-0.1, 0.1}};
  uint64_t first[WORLDS];
  for (int threads = 1; threads <= 3; threads++) {
    kn_pool* pool;
    if (!CHECK_OK(kn_pool_create(&pool, m, &settings, WORLDS, threads))) break;
    double* state = calloc(WORLDS * width, sizeof *state);
    kn_pool_reset reset = {.state = state, .keyframe = -1, .start = start, .ranges = &ranges};
    CHECK_OK(kn_pool_begin(pool, &reset));
    double* from = malloc(WORLDS * width * sizeof *from);
    memcpy(from, state, WORLDS * width * sizeof *from);
    for (int part = 0; part < 3; part++) {
      kn_pool_run run = {.steps = STEPS / 3, .state = state, .ctrl = ctrl};
      CHECK_OK(kn_pool_step(NULL, pool, &run));
    }
    for (int i = 0; i < WORLDS; i++) {
      uint64_t hash = kn_state_hash(kn_pool_state(pool, i));
      if (threads == 1) first[i] = hash;
      CHECK(hash == first[i]);
      CHECK(i == 0 || hash != first[i - 1]);
      kn_sim* sim;
      kn_state* y;
      const kn_model* own = kn_pool_model(pool, i);
      CHECK(own != m && kn_model_hash(own) != kn_model_hash(m));
      CHECK_OK(kn_sim_create(&sim, own, &settings));
      CHECK_OK(kn_state_create(&y, own));
      memcpy(kn_state_q(y), from + (size_t)i * width + 1, (size_t)m->nq * sizeof(double));
      memcpy(kn_state_v(y), from + (size_t)i * width + 1 + m->nq, (size_t)m->nv * sizeof(double));
      memcpy(kn_state_ctrl(y), ctrl, nu * sizeof(double));
      for (int k = 0; k < STEPS; k++) CHECK_OK(kn_step(sim, y));
      CHECK(kn_state_hash(y) == hash);
      kn_state_destroy(y);
      kn_sim_destroy(sim);
    }
    free(state), free(from);
    kn_pool_destroy(pool);
  }
  free(start), free(ctrl);
  kn_state_destroy(x);
  kn_scene_close(scene);
}

/* A controller that is asked within the steps and has memory in the state. */
TEST(controllers_with_memory_are_those_of_single_runs) {
  kn_scene_opened* scene;
  if (!CHECK_OK(kn_scene_open(&scene, "grasp-1", NULL, 0)) || !CHECK(scene->controller.fn != NULL)) return;
  kn_sim_settings settings = kn_scene_settings_of(scene);
  kn_pool* pool;
  kn_sim* sim;
  kn_state* x;
  if (!CHECK_OK(kn_pool_create(&pool, scene->model, &settings, 3, 2))) return;
  CHECK_OK(kn_pool_set_controller(pool, &scene->controller));
  CHECK_OK(kn_sim_create(&sim, scene->model, &settings));
  CHECK_OK(kn_sim_set_controller(sim, &scene->controller));
  CHECK_OK(kn_state_create(&x, scene->model));
  CHECK_OK(kn_scene_start(scene, x));
  CHECK_OK(kn_sim_prepare(sim, x));
  size_t width = (size_t)kn_pool_width(pool);
  double* state = calloc(3 * width, sizeof *state);
  for (int i = 0; i < 3; i++) CHECK_OK(kn_pool_put(state, pool, i, x));
  kn_pool_summary sum;
  kn_pool_run run = {.steps = 40, .state = state};
  CHECK_OK(kn_pool_step(&sum, pool, &run));
  CHECK_INT(sum.failed, 0);
  for (int i = 0; i < 40; i++) CHECK_OK(kn_step(sim, x));
  for (int i = 0; i < 3; i++) CHECK(kn_state_hash(kn_pool_state(pool, i)) == kn_state_hash(x));
  free(state);
  kn_state_destroy(x);
  kn_sim_destroy(sim);
  kn_pool_destroy(pool);
  kn_scene_close(scene);
}
