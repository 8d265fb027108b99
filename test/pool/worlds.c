/* What a pool does with inputs, outputs, failures, delays, resets and room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "knuckle/pool.h"
#include "model/state.h"
#include "scene.h"
#include "test.h"

enum { WORLDS = 6 };

typedef struct setup {
  kn_scene_opened* scene;
  kn_sim_settings settings;
  kn_pool* pool;
  kn_state* first; /* where the scene begins */
  double* state;   /* rows */
  size_t width, nq, nv, nu;
} setup;

static bool begin(setup* s, const char* name, int threads) {
  *s = (setup){0};
  if (!CHECK_OK(kn_scene_open(&s->scene, name, NULL, 0))) return false;
  const kn_model* m = s->scene->model;
  s->settings = kn_scene_settings_of(s->scene);
  s->nq = (size_t)m->nq, s->nv = (size_t)m->nv, s->nu = (size_t)m->nu;
  if (!CHECK_OK(kn_pool_create(&s->pool, m, &s->settings, WORLDS, threads))) return false;
  s->width = (size_t)kn_pool_width(s->pool);
  s->state = calloc(WORLDS * s->width, sizeof *s->state);
  CHECK_OK(kn_state_create(&s->first, m));
  CHECK_OK(kn_scene_start(s->scene, s->first));
  for (int i = 0; i < WORLDS; i++) CHECK_OK(kn_pool_put(s->state, s->pool, i, s->first));
  return true;
}

static void end(setup* s) {
  kn_pool_destroy(s->pool);
  kn_state_destroy(s->first);
  free(s->state);
  kn_scene_close(s->scene);
}

/* Controls of world, step and actuator. */
static double wave(int world, int64_t step, size_t i) {
  return 0.1 * sin(0.05 * (double)step * (double)(i + 1) + world);
}

static void fill(double* ctrl, const setup* s, int world, int64_t step) {
  for (size_t i = 0; i < s->nu; i++) ctrl[i] = kn_state_ctrl(s->first)[i] + wave(world, step, i);
}

static kn_status control(double* ctrl, double* force, const kn_pool_at* at, kn_state* state, void* context) {
  (void)force, (void)state;
  fill(ctrl, context, at->world, at->step);
  return KN_OK;
}

/* A run of its own: hash after the steps; outputs of every third step. */
static uint64_t alone(const setup* s, int world, int steps, double* q, int* contacts) {
  kn_sim* sim;
  kn_state* x;
  CHECK_OK(kn_sim_create(&sim, s->scene->model, &s->settings));
  CHECK_OK(kn_state_create(&x, s->scene->model));
  CHECK_OK(kn_state_copy(x, s->first));
  for (int i = 0; i < steps; i++) {
    fill(kn_state_ctrl(x), s, world, i);
    CHECK_OK(kn_step(sim, x));
    if ((i + 1) % 3 == 0) {
      memcpy(q + (size_t)(i / 3) * s->nq, kn_state_q(x), s->nq * sizeof *q);
      contacts[i / 3] = kn_sim_report(sim)->contacts;
    }
  }
  uint64_t hash = kn_state_hash(x);
  kn_state_destroy(x);
  kn_sim_destroy(sim);
  return hash;
}

static kn_status observe(double* value, bool* done, const kn_pool_at* at, kn_sim* sim, kn_state* state,
                         void* context) {
  (void)context, (void)done;
  value[0] = at->world, value[1] = (double)at->step, value[2] = kn_state_time(state);
  value[3] = kn_sim_report(sim)->energy.kinetic;
  return KN_OK;
}

/* Controls in an array and by a callback, outputs every third step. */
TEST(inputs_and_outputs_are_those_of_single_runs) {
  enum { STEPS = 30, KEPT = 10 };
  for (int callback = 0; callback < 2; callback++) {
    setup s;
    if (!begin(&s, "quadruped", 2)) return;
    double* ctrl = calloc(WORLDS * STEPS * s.nu, sizeof *ctrl);
    for (int w = 0; w < WORLDS; w++)
      for (int i = 0; i < STEPS; i++) fill(ctrl + ((size_t)w * STEPS + (size_t)i) * s.nu, &s, w, i);
    double* q = calloc(WORLDS * KEPT * s.nq, sizeof *q);
    double t[WORLDS][KEPT], value[WORLDS][KEPT][4];
    int32_t contacts[WORLDS][KEPT];
    int64_t taken[WORLDS];
    kn_contact* contact = calloc(WORLDS * KEPT * 2, sizeof *contact);
    kn_pool_run run = {.steps = STEPS,
                       .state = s.state,
                       .ctrl = callback ? NULL : ctrl,
                       .hold = 1,
                       .control = callback ? control : NULL,
                       .every = 3,
                       .q = q,
                       .t = t[0],
                       .contacts = contacts[0],
                       .contact = contact,
                       .contact_room = 2,
                       .observe = observe,
                       .value = value[0][0],
                       .values = 4,
                       .taken = taken,
                       .context = &s};
    kn_pool_summary sum;
    CHECK_OK(kn_pool_step(&sum, s.pool, &run));
    CHECK_INT(sum.steps, WORLDS * STEPS);
    CHECK(sum.contacts > 0 && sum.residual < 1e-8);
    for (int w = 0; w < WORLDS; w++) {
      double* own = calloc(KEPT * s.nq, sizeof *own);
      int count[KEPT];
      uint64_t hash = alone(&s, w, STEPS, own, count);
      CHECK(kn_state_hash(kn_pool_state(s.pool, w)) == hash);
      CHECK_BITS(q + (size_t)w * KEPT * s.nq, own, KEPT * s.nq);
      CHECK_INT(taken[w], STEPS);
      for (int k = 0; k < KEPT; k++) {
        CHECK_INT(contacts[w][k], count[k]);
        CHECK_NEAR(t[w][k], (3 * k + 3) * s.settings.dt, 1e-12); /* sums of dt */
        CHECK_NEAR(value[w][k][0], w, 0.0);
        CHECK_NEAR(value[w][k][1], 3 * k + 2, 0.0);
        CHECK_NEAR(value[w][k][2], t[w][k], 0.0);
        if (count[k]) CHECK(contact[((size_t)w * KEPT + (size_t)k) * 2].key != 0);
      }
      free(own);
    }
    free(ctrl), free(q), free(contact);
    end(&s);
  }
}

/* A row of controls holds for several steps. */
TEST(rows_of_controls_hold) {
  enum { STEPS = 24 };
  setup s, one;
  if (!begin(&s, "quadruped", 3) || !begin(&one, "quadruped", 1)) return;
  double* few = calloc(WORLDS * 3 * s.nu, sizeof *few);
  double* all = calloc(WORLDS * STEPS * s.nu, sizeof *all);
  for (int w = 0; w < WORLDS; w++)
    for (int i = 0; i < STEPS; i++) {
      fill(few + ((size_t)w * 3 + (size_t)(i / 10)) * s.nu, &s, w, i / 10);
      fill(all + ((size_t)w * STEPS + (size_t)i) * s.nu, &s, w, i / 10);
    }
  kn_pool_run a = {.steps = STEPS, .state = s.state, .ctrl = few, .hold = 10};
  kn_pool_run b = {.steps = STEPS, .state = one.state, .ctrl = all, .hold = 1};
  CHECK_OK(kn_pool_step(NULL, s.pool, &a));
  CHECK_OK(kn_pool_step(NULL, one.pool, &b));
  CHECK_BITS(s.state, one.state, WORLDS * s.width);
  CHECK(memcmp(s.state, s.state + s.width, s.width * sizeof(double)) != 0);
  free(few), free(all);
  end(&s), end(&one);
}

/* Controls act late by as many steps as the world's delay says; a saved world has those that wait. */
TEST(delayed_controls_are_those_of_some_steps_before) {
  enum { STEPS = 20 };
  setup s;
  if (!begin(&s, "quadruped", 2)) return;
  CHECK_OK(kn_state_reset(s.first)); /* as the pool's reset: controls are 0 */
  double* ctrl = calloc(WORLDS * STEPS * s.nu, sizeof *ctrl);
  for (int w = 0; w < WORLDS; w++)
    for (int i = 0; i < STEPS; i++) fill(ctrl + ((size_t)w * STEPS + (size_t)i) * s.nu, &s, w, i);
  int delay[WORLDS] = {0, 1, 2, 3, 4, 25};
  kn_pool_reset reset = {.state = s.state, .keyframe = -1, .delay = delay};
  CHECK_OK(kn_pool_begin(s.pool, &reset));
  kn_pool_run run = {.steps = STEPS, .state = s.state, .ctrl = ctrl, .hold = 1};
  CHECK_OK(kn_pool_step(NULL, s.pool, &run));
  kn_sim* sim;
  kn_state* y;
  CHECK_OK(kn_sim_create(&sim, s.scene->model, &s.settings));
  CHECK_OK(kn_state_create(&y, s.scene->model));
  for (int w = 0; w < WORLDS; w++) {
    double* row = s.state + (size_t)w * s.width;
    CHECK_OK(kn_state_reset(y));
    for (int i = 0; i < STEPS; i++) {
      if (i >= delay[w]) fill(kn_state_ctrl(y), &s, w, i - delay[w]);
      CHECK_OK(kn_step(sim, y));
    }
    CHECK_BITS(row + 1, kn_state_q(y), s.nq);
    CHECK_BITS(row + 1 + s.nq, kn_state_v(y), s.nv);
    kn_state_block* waiting = kn_state_find_block(kn_pool_state(s.pool, w), "delay");
    CHECK_INT(waiting ? waiting->used : 0, (size_t)delay[w] * s.nu * sizeof(double));
  }
  kn_state_destroy(y);
  kn_sim_destroy(sim);
  free(ctrl);
  end(&s);
}

/* One world gets a NaN, one a controller that gives up; they are reported, the others end as ever, and a reset
   brings the two back. */
static kn_status gives_up(double* ctrl, double* force, const kn_pool_at* at, kn_state* state, void* context) {
  (void)force, (void)state, (void)context;
  if (at->world == 2 && at->step == 5) return KN_INTERRUPTED;
  if (at->world == 4 && at->step == 3) ctrl[1] = NAN;
  return KN_OK;
}

TEST(a_world_that_fails_is_reported_and_the_others_go_on) {
  for (int threads = 1; threads <= 3; threads++) {
    setup s;
    if (!begin(&s, "quadruped", threads)) return;
    s.state[1] = NAN; /* world 0 */
    uint8_t done[WORLDS] = {0};
    kn_status status[WORLDS];
    int64_t taken[WORLDS];
    kn_pool_summary sum;
    kn_pool_run run = {
        .steps = 10, .state = s.state, .control = gives_up, .done = done, .status = status, .taken = taken};
    CHECK_OK(kn_pool_step(&sum, s.pool, &run));
    CHECK_INT(sum.failed, 3);
    CHECK_INT(status[0], KN_NOT_FINITE);
    CHECK_INT(status[2], KN_INTERRUPTED);
    CHECK_INT(status[4], KN_NOT_FINITE);
    CHECK_INT(taken[2], 5);
    CHECK_INT(taken[4], 3);
    CHECK_TEXT(kn_pool_failure(s.pool, 4), "world 4");
    CHECK_TEXT(kn_pool_failure(s.pool, 2), "controller");
    CHECK_TEXT(kn_pool_failure(s.pool, 1), "");
    kn_sim* sim;
    CHECK_OK(kn_sim_create(&sim, s.scene->model, &s.settings));
    for (int i = 0; i < 10; i++) CHECK_OK(kn_step(sim, s.first));
    for (int w = 1; w < WORLDS; w += 2) {
      CHECK_INT(done[w], 0);
      CHECK_BITS(s.state + (size_t)w * s.width + 1, kn_state_q(s.first), s.nq);
    }
    kn_sim_destroy(sim);
    run.control = NULL;
    CHECK_OK(kn_pool_step(&sum, s.pool, &run)); /* they rest */
    CHECK_INT(sum.failed, 3);
    CHECK_INT(sum.steps, 30);
    uint8_t mask[WORLDS] = {1, 0, 1, 0, 1, 0};
    double before = s.state[s.width + 1];
    kn_pool_reset reset = {.state = s.state, .mask = mask, .keyframe = -1, .done = done};
    CHECK_OK(kn_pool_begin(s.pool, &reset));
    CHECK_NEAR(s.state[0], 0.0, 0.0);
    CHECK_NEAR(s.state[s.width + 1], before, 0.0); /* the others are left alone */
    CHECK_OK(kn_pool_step(&sum, s.pool, &run));
    CHECK_INT(sum.failed, 0);
    CHECK_INT(sum.steps, 60);
    end(&s);
  }
}

static kn_status stop_at(double* value, bool* done, const kn_pool_at* at, kn_sim* sim, kn_state* state,
                         void* context) {
  (void)value, (void)sim, (void)state, (void)context;
  *done = at->step + 1 == 4 * (at->world + 1);
  return KN_OK;
}

TEST(observers_end_runs) {
  setup s;
  if (!begin(&s, "stack", 2)) return;
  uint8_t done[WORLDS] = {0};
  int64_t taken[WORLDS];
  kn_pool_run run = {
      .steps = 18, .state = s.state, .every = 2, .observe = stop_at, .done = done, .taken = taken};
  done[3] = 1;
  CHECK_OK(kn_pool_step(NULL, s.pool, &run));
  for (int w = 0; w < WORLDS; w++) {
    int steps = w == 3 ? 0 : 4 * (w + 1) < 18 ? 4 * (w + 1) : 18;
    CHECK_INT(taken[w], steps);
    CHECK_INT(done[w], w <= 3);
    CHECK_NEAR(s.state[(size_t)w * s.width], steps * s.settings.dt, 1e-12); /* sums of dt */
  }
  end(&s);
}

/* Once every world has been stepped there is room for all. */
TEST(steps_do_not_allocate) {
  setup s;
  if (!kn_test_counts_allocations()) SKIP("allocations are not counted here");
  if (!begin(&s, "quadruped", 3)) return;
  kn_pool_run run = {.steps = 40, .state = s.state, .control = control, .context = &s};
  for (int i = 0; i < 3; i++) CHECK_OK(kn_pool_step(NULL, s.pool, &run));
  size_t before = kn_test_allocations();
  for (int i = 0; i < 3; i++) CHECK_OK(kn_pool_step(NULL, s.pool, &run));
  CHECK_INT(kn_test_allocations() - before, 0);
  end(&s);
}

/* A pool that starts with room for one contact gives the bits of one with room for all. */
TEST(room_grows_without_changing_a_bit) {
  setup s;
  if (!begin(&s, "stack", 2)) return;
  kn_pool* tight;
  kn_sim_settings settings = s.settings;
  settings.contact_room = 1, settings.max_contacts = 0;
  if (!CHECK_OK(kn_pool_create(&tight, s.scene->model, &settings, WORLDS, 2))) return;
  double* state = calloc(WORLDS * s.width, sizeof *state);
  for (int i = 0; i < WORLDS; i++) CHECK_OK(kn_pool_put(state, tight, i, s.first));
  kn_pool_run a = {.steps = 20, .state = s.state}, b = {.steps = 20, .state = state};
  CHECK_OK(kn_pool_step(NULL, s.pool, &a));
  CHECK_OK(kn_pool_step(NULL, tight, &b));
  CHECK_BITS(state, s.state, WORLDS * s.width);
  for (int i = 0; i < WORLDS; i++)
    CHECK(kn_state_hash(kn_pool_state(tight, i)) == kn_state_hash(kn_pool_state(s.pool, i)));
  free(state);
  kn_pool_destroy(tight);
  end(&s);
}

/* What is drawn depends on seed, world and number of resets; it covers its range and nothing beyond. */
TEST(draws_depend_on_seed_world_and_reset_only) {
  setup s, t;
  if (!begin(&s, "stack", 1) || !begin(&t, "stack", 3)) return;
  kn_pool_ranges ranges = {.seed = 3, .mass = {0.5, 2.0}, .friction = {0.25, 0.75}};
  kn_pool_reset a = {.state = s.state, .keyframe = -1, .ranges = &ranges}, b = a;
  b.state = t.state;
  uint64_t last[WORLDS] = {0};
  for (int round = 0; round < 3; round++) {
    CHECK_OK(kn_pool_begin(s.pool, &a));
    CHECK_OK(kn_pool_begin(t.pool, &b));
    for (int w = 0; w < WORLDS; w++) {
      uint64_t hash = kn_model_hash(kn_pool_model(s.pool, w));
      double factor = kn_model_mass(kn_pool_model(s.pool, w)) / kn_model_mass(s.scene->model);
      CHECK(hash == kn_model_hash(kn_pool_model(t.pool, w)));
      CHECK(hash != last[w] && (w == 0 || hash != last[w - 1]));
      CHECK(factor >= 0.5 && factor <= 2.0);
      last[w] = hash;
    }
  }
  a.recount = true; /* as in the first round */
  uint64_t again[WORLDS];
  for (int round = 0; round < 2; round++) {
    CHECK_OK(kn_pool_begin(s.pool, &a));
    for (int w = 0; w < WORLDS; w++) {
      uint64_t hash = kn_model_hash(kn_pool_model(s.pool, w));
      CHECK(round == 0 || hash == again[w]);
      again[w] = hash;
    }
  }
  a.ranges = NULL; /* back to the pool's own model */
  CHECK_OK(kn_pool_begin(s.pool, &a));
  CHECK(kn_pool_model(s.pool, 2) == s.scene->model);
  end(&s), end(&t);
}

TEST(wrong_arguments_are_refused_by_name) {
  setup s;
  kn_pool* none;
  if (!begin(&s, "stack", 1)) return;
  CHECK_STATUS(kn_pool_create(&none, s.scene->model, NULL, 0, 1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_pool_create(&none, s.scene->model, NULL, 1, -1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_pool_create(&none, NULL, NULL, 1, 1), KN_BAD_ARGUMENT);
  CHECK(none == NULL);
  double t[WORLDS];
  kn_pool_run run = {.steps = 1, .state = s.state, .t = t};
  CHECK_STATUS(kn_pool_step(NULL, s.pool, &run), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "every");
  kn_pool_ranges ranges = {.size = {2.0, 1.0}};
  kn_pool_reset reset = {.keyframe = -1, .ranges = &ranges};
  CHECK_STATUS(kn_pool_begin(s.pool, &reset), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "size");
  ranges = (kn_pool_ranges){.mass = {-1.0, -1.0}};
  CHECK_STATUS(kn_pool_begin(s.pool, &reset), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "world 0");
  reset.keyframe = 7, reset.ranges = NULL;
  CHECK_STATUS(kn_pool_begin(s.pool, &reset), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_pool_put(NULL, s.pool, WORLDS, s.first), KN_BAD_ARGUMENT);
  CHECK(kn_pool_state(s.pool, -1) == NULL);
  end(&s);
}

/* Sensors are those of single simulators, in worlds with models of their own too. */
TEST(sensors_are_those_of_single_runs) {
  static const char text[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 "
                             "0.3'><freejoint/><geom type='box' size='.1 .1 .1'/>"
                             "<site name='s'/></body></worldbody><sensor><accelerometer site='s'/><gyro "
                             "site='s'/></sensor></mujoco>";
  kn_spec* spec;
  kn_load_report* report;
  kn_model* model;
  kn_load_settings load = kn_load_default();
  if (!CHECK_OK(kn_load_text(&spec, &report, "box.xml", text, sizeof text - 1, &load))) return;
  CHECK_OK(kn_compile(&model, spec));
  CHECK_INT(kn_model_sensor_numbers(model), 6);
  kn_pool* pool;
  kn_sim_settings settings = kn_sim_default();
  CHECK_OK(kn_pool_create(&pool, model, &settings, 3, 2));
  double state[3][14], sensor[3][5][6];
  kn_pool_ranges ranges = {
      .seed = 2, .mass = {0.5, 2.0}, .gravity = {{0, 0}, {0, 0}, {-3.0, 3.0}}, .v = {-1.0, 1.0}};
  kn_pool_reset reset = {.state = state[0], .keyframe = -1, .ranges = &ranges};
  CHECK_OK(kn_pool_begin(pool, &reset));
  double from[3][14];
  memcpy(from, state, sizeof from);
  kn_pool_run run = {.steps = 100, .state = state[0], .every = 20, .sensor = sensor[0][0]};
  CHECK_OK(kn_pool_step(NULL, pool, &run));
  for (int w = 0; w < 3; w++) {
    kn_sim* sim;
    kn_state* x;
    CHECK_OK(kn_sim_create(&sim, kn_pool_model(pool, w), &settings));
    CHECK_OK(kn_state_create(&x, kn_pool_model(pool, w)));
    memcpy(kn_state_q(x), from[w] + 1, 7 * sizeof(double));
    memcpy(kn_state_v(x), from[w] + 8, 6 * sizeof(double));
    for (int k = 0; k < 5; k++) {
      double own[6];
      for (int i = 0; i < 20; i++) CHECK_OK(kn_step(sim, x));
      CHECK_OK(kn_sim_sensors(own, sim, x));
      CHECK_BITS(sensor[w][k], own, 6);
    }
    CHECK(w == 0 || sensor[w][4][3] != sensor[w - 1][4][3]);
    kn_state_destroy(x);
    kn_sim_destroy(sim);
  }
  kn_pool_destroy(pool);
  kn_model_destroy(model);
  kn_load_report_free(report);
  kn_spec_destroy(spec);
}
