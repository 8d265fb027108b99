/* Islands at rest sleep: reported as if awake, woken by touch, force, control and whoever moves them; the
   difference to a run in which all are awake is bounded by the speed below which they sleep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "knuckle/run.h"
#include "model/state.h"
#include "step/sim.h"
#include "step/sleep/sleep.h"
#include "test.h"

enum { MOST = 3100 };

typedef struct world {
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
  int boxes;
} world;

static int add_body(kn_spec* spec, kn_shape_type type, double size, const double pos[3]) {
  kn_body id;
  kn_body_def body = kn_body_default();
  memcpy(body.pos, pos, sizeof body.pos);
  body.inertia_from_geoms = true;
  CHECK_OK(kn_spec_add_body(&id, spec, &body));
  kn_joint_def joint = kn_joint_default(KN_JOINT_FREE);
  joint.body = id;
  CHECK_OK(kn_spec_add_joint(NULL, spec, &joint));
  kn_geom_def geom = kn_geom_default(type);
  geom.body = id, geom.material.mu = 0.6;
  for (int k = 0; k < 3; k++) geom.shape.size[k] = size;
  CHECK_OK(kn_spec_add_geom(NULL, spec, &geom));
  return id;
}

/* Boxes on a floor in a square, every `tall` of them a stack, then balls; the last ball comes from the side. A hinge
   with a motor stands apart. */
static bool build(world* w, int boxes, int tall, int balls, double sleep, double speed) {
  kn_spec* spec;
  *w = (world){.boxes = boxes};
  CHECK_OK(kn_spec_create(&spec));
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.material.mu = 0.6;
  CHECK_OK(kn_spec_add_geom(NULL, spec, &floor));
  int side = (int)ceil(sqrt((double)boxes / tall));
  for (int i = 0; i < boxes; i++) {
    int at = i / tall;
    double pos[3] = {0.5 * (at % side), 0.5 * (at / side), 0.1 + 0.2 * (i % tall)};
    add_body(spec, KN_SHAPE_BOX, 0.1, pos);
  }
  for (int i = 0; i < balls; i++) {
    double pos[3] = {-1.0 - 0.5 * (i % 10), 0.5 * (i / 10), i == balls - 1 ? 0.1 : 0.4};
    if (i == balls - 1) pos[0] = -0.6, pos[1] = 0.0;
    add_body(spec, KN_SHAPE_SPHERE, 0.1, pos);
  }
  kn_body arm;
  kn_body_def body = kn_body_default();
  body.pos[0] = -20.0, body.pos[2] = 2.0, body.mass = 1.0, body.com[2] = -0.2,
  body.inertia[0] = body.inertia[1] = 0.01, body.inertia[2] = 0.01;
  CHECK_OK(kn_spec_add_body(&arm, spec, &body));
  kn_joint_def hinge = kn_joint_default(KN_JOINT_HINGE);
  kn_joint joint;
  hinge.body = arm, hinge.damping = 1.0, hinge.axis[0] = 0.0, hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
  CHECK_OK(kn_spec_add_joint(&joint, spec, &hinge));
  kn_actuator_def motor = kn_actuator_default();
  motor.joint[0] = joint;
  CHECK_OK(kn_spec_add_actuator(NULL, spec, &motor));
  kn_status status = kn_compile(&w->model, spec);
  kn_spec_destroy(spec);
  if (!CHECK_OK(status)) return false;
  kn_sim_settings settings = kn_sim_default();
  settings.sleep = sleep, settings.sleep_time = 0.05;
  if (!CHECK_OK(kn_sim_create(&w->sim, w->model, &settings))) return false;
  CHECK_OK(kn_state_create(&w->state, w->model));
  if (balls) kn_state_v(w->state)[6 * (boxes + balls - 1)] = speed;
  return true;
}

static void end(world* w) {
  kn_state_destroy(w->state);
  kn_sim_destroy(w->sim);
  kn_model_destroy(w->model);
}

static int sleepers(const world* w) { return w->sim->sleep ? w->sim->sleep->sleepers : 0; }

/* Largest difference of the boxes' coordinates, m or of a quaternion. */
static double apart(const world* a, const world* b) {
  double most = 0.0;
  for (int i = 0; i < 7 * a->boxes; i++)
    most = fmax(most, fabs(kn_state_q(a->state)[i] - kn_state_q(b->state)[i]));
  return most;
}

/* Boxes in stacks of two and a ball that rolls into one: before, during and after waking. */
TEST(sleepers_are_reported_as_awake_and_wake_when_touched) {
  world a, b;
  if (!build(&a, 8, 2, 1, 0.0, 1.0) || !build(&b, 8, 2, 1, 1e-6, 1.0)) return;
  int most = 0, woke = 0, last = 0;
  for (int i = 0; i < 700; i++) {
    CHECK_OK(kn_step(a.sim, a.state));
    CHECK_OK(kn_step(b.sim, b.state));
    const kn_report *x = kn_sim_report(a.sim), *y = kn_sim_report(b.sim);
    int now = sleepers(&b);
    if (now < last) woke++;
    most = now > most ? now : most, last = now;
    if (i < 350) { /* before the touch: nothing differs but noise of the solver, 1e-10 */
      CHECK_INT(y->contacts, x->contacts);
      CHECK_NEAR(y->energy.potential, x->energy.potential, 1e-9);
      CHECK_NEAR(y->energy.kinetic, x->energy.kinetic, 1e-9);
      CHECK_NEAR(y->rise.rise, x->rise.rise, 1e-9);
      double load[2] = {0.0, 0.0};
      for (int k = 0; k < x->contacts; k++)
        load[0] += x->contact[k].impulse[0], load[1] += y->contact[k].impulse[0];
      CHECK_NEAR(load[1], load[0], 1e-7);
      CHECK_BELOW(apart(&a, &b),
                  1e-6 * a.sim->settings.dt * (i + 1) + 1e-12); /* the speed below which they sleep */
    }
  }
  CHECK(most >= 8);
  CHECK(woke >= 1);
  if (!CHECK(kn_state_q(b.state)[0] > 1e-3))
    printf("  %g\n", kn_state_q(b.state)[0]); /* the stack was pushed */
  /* 0.3 s after the touch: what differed by 1e-6 v t has passed an impact and sliding */
  CHECK_BELOW(apart(&a, &b), 1e-4);
  end(&a), end(&b);
}

TEST(forces_controls_and_hands_wake) {
  world w;
  if (!build(&w, 4, 1, 0, 1e-6, 0.0)) return;
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 5);            /* four boxes and the arm */
  kn_state_force(w.state)[6 * 1] = 60.0; /* box 1 along x: slides */
  CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 4);
  CHECK(kn_state_v(w.state)[6] > 1e-4);
  kn_state_ctrl(w.state)[0] = 1.0;
  CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 3);
  CHECK(fabs(kn_state_v(w.state)[24]) > 1e-4);
  kn_state_q(w.state)[2] += 0.5; /* box 0 is lifted, and falls */
  CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 2);
  CHECK(kn_state_v(w.state)[2] < -1e-3);
  kn_state_v(w.state)[6 * 3 + 2] = 1.0; /* box 3 is thrown up */
  CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 1);
  CHECK(kn_state_v(w.state)[6 * 3 + 2] > 0.9);
  end(&w);
}

/* A stack wakes as a whole when its top is pushed; its neighbour sleeps on. */
TEST(islands_wake_as_a_whole) {
  world w;
  if (!build(&w, 6, 3, 0, 1e-6, 0.0)) return;
  for (int i = 0; i < 250; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 7);
  CHECK_INT(w.sim->sleep->islands, 3);
  kn_state_force(w.state)[6 * 2] = 1.0;
  CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(sleepers(&w), 4);
  end(&w);
}

/* Who sleeps is part of the state: saved, loaded elsewhere, it goes on to the same bits; so does a clone. */
TEST(saved_sleepers_sleep_on) {
  world a, b;
  if (!build(&a, 6, 2, 2, 1e-6, 0.8) || !build(&b, 6, 2, 2, 1e-6, 0.8)) return;
  for (int i = 0; i < 150; i++) CHECK_OK(kn_step(a.sim, a.state));
  CHECK(sleepers(&a) >= 6);
  size_t size = kn_state_size(a.state);
  char* bytes = malloc(size);
  CHECK_OK(kn_state_save(bytes, size, a.state));
  CHECK_OK(kn_state_load(b.state, bytes, size));
  CHECK(kn_state_hash(a.state) == kn_state_hash(b.state));
  for (int i = 0; i < 400; i++) {
    CHECK_OK(kn_step(a.sim, a.state));
    CHECK_OK(kn_step(b.sim, b.state));
    if (!CHECK(kn_state_hash(a.state) == kn_state_hash(b.state))) break;
    CHECK_INT(sleepers(&b), sleepers(&a));
  }
  free(bytes);
  end(&a), end(&b);
}

/* A step that fails when it had noted who sleeps (the first), or had woken an island, leaves the state as it was; mended, it goes on to
   the bits of a twin that never failed. The first failed so in the fuzzer of scenes. */
TEST(a_step_that_fails_wakes_nobody) {
  world a, b;
  if (!build(&a, 6, 2, 2, 1e-6, 0.8) || !build(&b, 6, 2, 2, 1e-6, 0.8)) return;
  for (int i = 0; i < 200; i++) {
    if (i == 0 || i == 150) {
      double* v = kn_state_v(a.state);
      int before = sleepers(&a);
      double kept = v[2];
      v[2] = 1e200; /* its energy overflows */
      uint64_t hash = kn_state_hash(a.state);
      CHECK(kn_step(a.sim, a.state) != KN_OK);
      CHECK(kn_state_hash(a.state) == hash);
      v[2] = kept;
      if (i) CHECK(before >= 6);
    }
    CHECK_OK(kn_step(a.sim, a.state));
    CHECK_OK(kn_step(b.sim, b.state));
    if (!CHECK(kn_state_hash(a.state) == kn_state_hash(b.state))) break;
  }
  CHECK_INT(sleepers(&a), sleepers(&b));
  end(&a), end(&b);
}

/* The derived values of the whole are there while its part steps. */
TEST(data_is_of_the_whole) {
  world w;
  if (!build(&w, 4, 1, 1, 1e-6, 0.5)) return;
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK(sleepers(&w) >= 4);
  kn_pose box, ball;
  kn_data* data = kn_sim_data(w.sim);
  CHECK_OK(kn_body_pose(&box, w.model, data, 3));
  CHECK_OK(kn_body_pose(&ball, w.model, data, 4));
  CHECK_NEAR(box.p[0], kn_state_q(w.state)[21], 1e-15);
  CHECK_NEAR(ball.p[0], kn_state_q(w.state)[28], 1e-15);
  end(&w);
}

TEST(what_cannot_sleep_is_refused) {
  world w;
  if (!build(&w, 1, 1, 0, 0.0, 0.0)) return;
  kn_sim* none;
  kn_sim_settings settings = kn_sim_default();
  settings.sleep = 1e-6, settings.stepper = "event";
  CHECK_STATUS(kn_sim_create(&none, w.model, &settings), KN_UNSUPPORTED);
  settings.stepper = "time", settings.sleep = -1.0;
  CHECK_STATUS(kn_sim_create(&none, w.model, &settings), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "sleep");
  end(&w);
}

/* Many resting boxes and ten balls that roll: a step costs a small part of what it costs awake. 20 times on 3000 boxes
   by `KN_EFFORT=10`; fewer boxes and a margin for a busy machine here. */
TEST(sleepers_cost_next_to_nothing) {
  int boxes = kn_test_effort() >= 10 ? 3000 : 300;
  double seconds[2] = {0.0, 0.0};
  for (int k = 0; k < 2; k++) {
    world w;
    if (!build(&w, boxes, 1, 10, k ? 1e-6 : 0.0, -1.0)) return;
    for (int i = 0; i < 10; i++) kn_state_v(w.state)[6 * (boxes + i)] = -0.5;
    for (int i = 0; i < 96; i++) CHECK_OK(kn_step(w.sim, w.state));
    if (k) CHECK(sleepers(&w) >= boxes);
    double begin = kn_cpu_seconds();
    for (int i = 0; i < 30; i++) CHECK_OK(kn_step(w.sim, w.state));
    seconds[k] = (kn_cpu_seconds() - begin) / 30;
    if (k) CHECK(sleepers(&w) >= boxes && sleepers(&w) < boxes + 10);
    end(&w);
  }
  printf("%d boxes: %.0f us a step awake, %.0f asleep: %.1f times\n", boxes, 1e6 * seconds[0],
         1e6 * seconds[1], seconds[0] / seconds[1]);
  CHECK(seconds[0] > (boxes == 3000 ? 20.0 : 5.0) * seconds[1]);
}
