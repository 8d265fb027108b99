/* Islands at rest sleep: reported as if awake, woken by touch, force, control and whoever moves them; the
   difference to a run in which all are awake is bounded by the speed below which they sleep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "knuckle/load.h"
#include "knuckle/run.h"
#include "linkages.h"
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

/* Two boxes sleep on a floor. Beside them goes on, part of the same model: an arm between limits with dry friction, driven by
   a motor and by a thruster at a site with a reference site, a four-bar linkage, two hinges that are coupled, a ball in a rule of its own with the
   floor, and bodies that are kept from touching. */
static const char parts[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='box1' pos='5 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/><site name='s1'/></body>"
    "<body name='box2' pos='6 0 .1'><freejoint/><geom name='g2' type='box' size='.1 .1 .1'/></body>"
    "<body name='arm' pos='0 0 2'><joint name='a' axis='0 1 0' range='-40 40' limited='true' "
    "frictionloss='.05'/>"
    "<geom type='capsule' fromto='0 0 0 .5 0 0' size='.04'/><site name='base'/>"
    "<body name='fore' pos='.5 0 0'><joint name='b' axis='0 1 0' range='-30 30' limited='true' "
    "frictionloss='.02'/>"
    "<geom type='capsule' fromto='0 0 0 .4 0 0' size='.03'/><site name='tip' pos='.4 0 "
    "0'/></body></body>" KN_LINKAGES_BODIES
    "<body name='ball' pos='0 3 1'><freejoint/><geom name='ball' size='.1'/></body></worldbody>"
    "<contact><pair geom1='ball' geom2='floor' friction='.3 .3 0 0 0'/><pair geom1='g2' geom2='floor' "
    "friction='.9 .9 0 0 0'/>" KN_LINKAGES_APART "<exclude body1='box1' body2='fore'/></contact>"
    "<equality>" KN_LINKAGES_LOOPS "</equality>"
    "<actuator><motor joint='b'/><general site='tip' refsite='base' gear='0 0 1 0 0 0'/><general site='s1' "
    "gear='0 0 1 0 0 0'/></actuator>"
    "</mujoco>";

static bool open_parts(world* w, double sleep) {
  kn_spec* spec = NULL;
  kn_sim_settings settings = kn_sim_default();
  settings.sleep = sleep, settings.sleep_time = 0.05;
  *w = (world){0};
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "parts.xml", parts, strlen(parts), NULL)) &&
            CHECK_OK(kn_compile(&w->model, spec)) && CHECK_OK(kn_sim_create(&w->sim, w->model, &settings)) &&
            CHECK_OK(kn_state_create(&w->state, w->model));
  kn_spec_destroy(spec);
  return ok;
}

TEST(everything_in_a_model_goes_on_beside_sleepers) {
  world awake, some;
  double off = 0.0;
  int most = 0, limits = 0;
  if (!open_parts(&awake, 0.0) || !open_parts(&some, 1e-3)) return;
  for (int i = 0; i < 3000; i++) {
    world* w[2] = {&awake, &some};
    for (int k = 0; k < 2; k++) {
      double t = i * kn_sim_settings_of(awake.sim)->dt, *ctrl = kn_state_ctrl(w[k]->state);
      ctrl[0] = 0.5 * sin(3.0 * t), ctrl[1] = 2.0 * cos(2.0 * t);
      if (!CHECK_OK(kn_step(w[k]->sim, w[k]->state))) return;
    }
    const kn_report *a = kn_sim_report(awake.sim), *b = kn_sim_report(some.sim);
    CHECK_INT(a->limits, b->limits);
    limits += b->limits;
    double force[2][2] = {
        {0.0}}; /* of a joint at its limit only the sum of dry friction and limit is determined */
    for (int j = 0; j < awake.model->nlimit; j++)
      for (int k = 0; k < 2; k++)
        force[k][awake.model->limit[j].v - 12] += awake.model->limit[j].side * (k ? b : a)->limit_impulse[j];
    for (int j = 0; j < 2; j++)
      CHECK_NEAR(force[0][j] + a->dry_impulse[12 + j], force[1][j] + b->dry_impulse[12 + j], 1e-5);
    most = sleepers(&some) > most ? sleepers(&some) : most;
    for (int j = 0; j < kn_model_nq(awake.model); j++)
      off = fmax(off, fabs(kn_state_q(awake.state)[j] - kn_state_q(some.state)[j]));
  }
  printf("%d asleep, %d limits touched, at most %.1e apart\n", most, limits, off);
  CHECK(most >= 2 && limits > 0);
  CHECK(off < 1e-6); /* what sleepers do not move */
  end(&awake);
  end(&some);
}

/* Of the accelerations of the last steps only the newest came back from the part that is awake, and the sum of the integrator's errors not at
   all: a state that was saved went on with other bits. */
TEST(what_is_saved_beside_sleepers_goes_on_with_the_same_bits) {
  world a, b;
  void* bytes = NULL;
  int slept = 0, other = 0;
  if (!open_parts(&a, 1e-3) || !open_parts(&b, 1e-3)) return;
  for (int i = 0; i < 1000; i++) {
    kn_state_ctrl(a.state)[0] = 0.5 * sin(3e-2 * i);
    size_t size = kn_state_size(a.state);
    bytes = realloc(bytes, size);
    bool saves = i % 3 == 1;
    if (saves) CHECK_OK(kn_state_save(bytes, size, a.state));
    CHECK_OK(kn_step(a.sim, a.state));
    slept += sleepers(&a) > 0;
    if (!saves) continue;
    CHECK_OK(kn_state_load(b.state, bytes, size));
    CHECK_OK(kn_step(b.sim, b.state));
    other += kn_state_hash(a.state) != kn_state_hash(b.state);
  }
  CHECK(slept > 100);
  CHECK_INT(other, 0);
  free(bytes);
  end(&a);
  end(&b);
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
