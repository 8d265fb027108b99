/* The time stepper: closed forms, sticking, restitution, the ledger, repeatability. g = 9.81 along -z. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"
#include "ledger.h"
#include "test.h"

static const double g = 9.81;

/* z = z0 - g t²/2 exactly (Moreau's scheme is exact for a constant force). */
TEST(free_fall_is_exact) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0, 0, 0);
  kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 10}, 0, 0);
  if (!kn_floor_open(&w, spec, NULL)) return;
  for (int i = 0; i < 1000; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK_NEAR(kn_state_q(w.state)[2], 10 - 0.5 * g, 1e-12); /* 1000 roundings of 1e-15 */
  CHECK_NEAR(kn_state_v(w.state)[2], -g, 1e-12);
  kn_floor_close(&w);
}

/* A cube sliding at 6 m/s with mu = 0.5 stops after v²/(2 mu g) and never lifts. */
TEST(sliding_cube_stops_where_it_should) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "cube", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1}, 0.5, 0);
  if (!kn_floor_open(&w, spec, NULL)) return;
  kn_state_v(w.state)[0] = 6;
  double lift = 0;
  for (int i = 0; i < 2000; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    CHECK(r->status == KN_OK && r->penetration <= 1e-9 && r->audit <= 1e-12);
    CHECK_NEAR(r->momentum_error, 0, 1e-12); /* 10 N s in double */
    lift = fmax(lift, r->lift);
    if (!CHECK_NEAR(kn_ledger_left(&r->ledger), 0, 1e-12)) break; /* energies of 20 J in double */
  }
  CHECK_NEAR(lift, 0, 1e-12);
  CHECK_NEAR(kn_state_q(w.state)[0], 36 / (2 * 0.5 * g), 1e-5); /* second order in dt */
  CHECK_NEAR(kn_state_v(w.state)[0], 0, 1e-12);
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
  kn_floor_close(&w);
}

/* mu = 1.01 tan θ sticks for good; mu = 0.99 tan θ slides with a = g (sin θ - mu cos θ). */
TEST(incline_sticks_above_and_slides_below_the_cone) {
  double tilt = 30 * 3.141592653589793 / 180;
  for (int sticks = 0; sticks < 2; sticks++) {
    kn_floor w;
    double mu = (sticks ? 1.01 : 0.99) * tan(tilt);
    kn_spec* spec = kn_floor_spec(mu, 0, tilt);
    double h = 0.1, pos[3] = {h * sin(tilt), 0, h * cos(tilt)};
    kn_body body = kn_floor_add(spec, "block", KN_SHAPE_BOX, 0.1, 0.1, h, 1, pos, mu, 0);
    (void)body;
    if (!kn_floor_open(&w, spec, NULL)) return;
    double* q = kn_state_q(w.state);
    q[3] = cos(tilt / 2), q[4] = 0, q[5] = sin(tilt / 2), q[6] = 0;
    double start[3] = {0};
    for (int i = 0; i < 2000; i++) {
      if (i == 1000) memcpy(start, q, sizeof start);
      CHECK_OK(kn_step(w.sim, w.state));
    }
    double moved = hypot(q[0] - start[0], q[2] - start[2]);
    double a = g * (sin(tilt) - mu * cos(tilt));
    if (sticks)
      CHECK_NEAR(moved, 0, 1e-12);
    else
      CHECK_NEAR(moved, 0.5 * a * (4 - 1), 1e-6);
    kn_floor_close(&w);
  }
}

/* A ball with e keeps e² of its height; with e = 1 it keeps its energy. */
TEST(bouncing_ball_keeps_e_squared_of_its_height) {
  static const double es[] = {0, 0.5, 0.9, 1};
  for (int k = 0; k < 4; k++) {
    kn_floor w;
    kn_spec* spec = kn_floor_spec(0, es[k], 0);
    kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 1.1}, 0, es[k]);
    if (!kn_floor_open(&w, spec, NULL)) return;
    double top = 0, last = kn_state_v(w.state)[2];
    int bounces = 0;
    for (int i = 0; i < 1000 && bounces < 2; i++) {
      CHECK_OK(kn_step(w.sim, w.state));
      const kn_report* r = kn_sim_report(w.sim);
      double v = kn_state_v(w.state)[2];
      if (v > 0 && last <= 0) bounces++;
      last = v;
      if (bounces == 1) top = fmax(top, kn_state_q(w.state)[2] - 0.1);
      CHECK(r->penetration <= 1e-9);
      CHECK_NEAR(kn_ledger_left(&r->ledger), 0, 1e-12);
    }
    CHECK_NEAR(top, es[k] * es[k], 2e-5); /* apex sampled at 1 ms: g dt²/8 = 1.2e-6, bounce late by a step */
    kn_floor_close(&w);
  }
}

/* Newton's cradle touching: all at once with Newton's law gives (-1/3, 2/3, 2/3); one after the other (0, 0,
 * 1). */
TEST(cradle_simultaneous_and_sequential) {
  for (int sequential = 0; sequential < 2; sequential++) {
    kn_floor w;
    kn_spec* spec = kn_floor_spec(0, 1, 0);
    for (int i = 0; i < 3; i++) {
      kn_body_def b = kn_body_default();
      kn_body body;
      kn_joint joint;
      kn_geom geom;
      b.pos[0] = 0.2 * i, b.pos[2] = 1;
      b.mass = 1;
      b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.004;
      kn_spec_add_body(&body, spec, &b);
      kn_joint_def j = kn_joint_default(KN_JOINT_SLIDE);
      j.body = body;
      j.axis[0] = 1, j.axis[1] = j.axis[2] = 0;
      kn_spec_add_joint(&joint, spec, &j);
      kn_geom_def d = kn_geom_default(KN_SHAPE_SPHERE);
      d.body = body;
      d.shape.size[0] = 0.1;
      d.material.mu = 0, d.material.e = 1;
      kn_spec_add_geom(&geom, spec, &d);
    }
    kn_sim_settings s = kn_sim_default();
    s.law = "newton";
    s.sequential = sequential;
    if (!kn_floor_open(&w, spec, &s)) return;
    double* v = kn_state_v(w.state);
    v[0] = 1;
    CHECK_OK(kn_step(w.sim, w.state));
    double want[2][3] = {{-1.0 / 3, 2.0 / 3, 2.0 / 3}, {0, 0, 1}};
    for (int i = 0; i < 3; i++) CHECK_NEAR(v[i], want[sequential][i], 1e-9);
    kn_floor_close(&w);
  }
}

/* A stack of ten boxes with friction stands; residual, penetration and energy as promised. */
TEST(stack_stands) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.6, 0, 0);
  for (int i = 0; i < 10; i++)
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.05, 1, (double[]){0, 0, 0.05 + 0.1 * i}, 0.6, 0);
  if (!kn_floor_open(&w, spec, NULL)) return;
  for (int i = 0; i < 500; i++) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    const kn_report* r = kn_sim_report(w.sim);
    if (!CHECK(r->status == KN_OK && r->residual <= 1e-9 && r->penetration <= 1e-9)) break;
  }
  for (int i = 0; i < 10; i++) {
    CHECK_NEAR(kn_state_q(w.state)[7 * i + 2], 0.05 + 0.1 * i, 1e-9);
    CHECK_NEAR(kn_state_q(w.state)[7 * i], 0, 1e-9);
  }
  kn_floor_close(&w);
}

/* Two runs, and a run saved and restored in the middle, agree bit for bit; steps allocate nothing. */
TEST(runs_repeat_bit_for_bit_and_allocate_nothing) {
  uint64_t hash[3];
  for (int run = 0; run < 3; run++) {
    kn_floor w;
    kn_spec* spec = kn_floor_spec(0.5, 0.4, 0);
    kn_floor_add(spec, "box", KN_SHAPE_BOX, 0.1, 0.15, 0.05, 1, (double[]){0, 0, 0.4}, 0.5, 0.4);
    if (!kn_floor_open(&w, spec, NULL)) return;
    kn_state_v(w.state)[3] = 3, kn_state_v(w.state)[4] = 1, kn_state_v(w.state)[0] = 1;
    for (int i = 0; i < 300; i++) CHECK_OK(kn_step(w.sim, w.state));
    if (run == 2) {
      size_t size = kn_state_size(w.state);
      void* bytes = malloc(size);
      CHECK_OK(kn_state_save(bytes, size, w.state));
      kn_sim_destroy(w.sim);
      kn_state_destroy(w.state);
      CHECK_OK(kn_state_create(&w.state, w.model));
      CHECK_OK(kn_sim_create(&w.sim, w.model, NULL));
      CHECK_OK(kn_sim_prepare(w.sim, w.state));
      CHECK_OK(kn_state_load(w.state, bytes, size));
      free(bytes);
    }
    size_t before = kn_test_allocations();
    for (int i = 0; i < 300; i++) CHECK_OK(kn_step(w.sim, w.state));
    CHECK_INT(kn_test_allocations() - before, 0);
    hash[run] = kn_state_hash(w.state);
    kn_floor_close(&w);
  }
  CHECK(hash[0] == hash[1]);
  CHECK(hash[0] == hash[2]);
}

static kn_status press(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                       void* context) {
  (void)ctrl, (void)t, (void)q, (void)v, (void)memory, (void)context;
  tau[2] -= 4000;
  return KN_OK;
}

/* A ball at rest 1 mm above the floor is thrown at it: dt v_free / 2 = -2 mm. The contact has to be seen in this step:
   v_n⁺ = -2 gap / dt, so that the ball arrives at the floor, and no repair lifts it out of it. */
TEST(a_kick_within_the_step_is_seen_by_the_search) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.101}, 0.5, 0);
  if (!kn_floor_open(&w, spec, NULL)) return;
  kn_controller thrower = {.fn = press};
  CHECK_OK(kn_sim_set_controller(w.sim, &thrower));
  CHECK_OK(kn_step(w.sim, w.state));
  const kn_report* r = kn_sim_report(w.sim);
  CHECK_INT(r->contacts, 1);
  CHECK_NEAR(r->correction, 0, 1e-12); /* m √kg, roundings of .1 m */
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
  kn_floor_close(&w);
}
