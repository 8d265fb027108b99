/* The time stepper: closed forms, sticking, restitution, the ledger, repeatability. g = 9.81 along -z. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "test.h"

static const double g = 9.81;

typedef struct world {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
} world;

static kn_spec* new_spec(double floor_mu, double floor_e, double tilt) {
  kn_spec* spec;
  kn_spec_create(&spec);
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.name = "floor";
  floor.body = KN_WORLD;
  floor.material.mu = floor_mu;
  floor.material.e = floor_e;
  floor.quat[0] = cos(tilt / 2);
  floor.quat[2] = sin(tilt / 2); /* about y: downhill is +x */
  kn_geom id;
  kn_spec_add_geom(&id, spec, &floor);
  return spec;
}

static kn_body add_free(kn_spec* spec, const char* name, kn_shape_type type, double sx, double sy, double sz,
                        double mass, const double pos[3], double mu, double e) {
  kn_body_def b = kn_body_default();
  kn_body body;
  kn_joint joint;
  kn_geom geom;
  b.name = name;
  memcpy(b.pos, pos, sizeof b.pos);
  b.inertia_from_geoms = true;
  kn_spec_add_body(&body, spec, &b);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.body = body;
  kn_spec_add_joint(&joint, spec, &j);
  kn_geom_def d = kn_geom_default(type);
  d.body = body;
  d.shape.size[0] = sx, d.shape.size[1] = sy, d.shape.size[2] = sz;
  d.mass = mass;
  d.material.mu = mu;
  d.material.e = e;
  kn_spec_add_geom(&geom, spec, &d);
  return body;
}

static bool open_world(world* w, kn_spec* spec, const kn_sim_settings* settings) {
  memset(w, 0, sizeof *w);
  bool ok = CHECK_OK(kn_compile(&w->model, spec)) && CHECK_OK(kn_state_create(&w->state, w->model)) &&
            CHECK_OK(kn_sim_create(&w->sim, w->model, settings)) &&
            CHECK_OK(kn_sim_prepare(w->sim, w->state));
  kn_spec_destroy(spec);
  return ok;
}

static void close_world(world* w) {
  kn_sim_destroy(w->sim);
  kn_state_destroy(w->state);
  kn_model_destroy(w->model);
}

static double ledger_sum(const kn_ledger* l) {
  double sum = -(l->kinetic + l->potential + l->spring);
#define X(name) sum += l->name;
  KN_LEDGER_LIST(X)
#undef X
  return sum - (l->kinetic + l->potential + l->spring);
}

/* z = z0 - g t²/2 exactly (Moreau's scheme is exact for a constant force). */
TEST(free_fall_is_exact) {
  world w;
  kn_spec* spec = new_spec(0, 0, 0);
  add_free(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 10}, 0, 0);
  if (!open_world(&w, spec, NULL)) return;
  for (int i = 0; i < 1000; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK_NEAR(kn_state_q(w.state)[2], 10 - 0.5 * g, 1e-12); /* 1000 roundings of 1e-15 */
  CHECK_NEAR(kn_state_v(w.state)[2], -g, 1e-12);
  close_world(&w);
}

/* A cube sliding at 6 m/s with mu = 0.5 stops after v²/(2 mu g) and never lifts. */
TEST(sliding_cube_stops_where_it_should) {
  world w;
  kn_spec* spec = new_spec(0.5, 0, 0);
  add_free(spec, "cube", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1}, 0.5, 0);
  if (!open_world(&w, spec, NULL)) return;
  kn_state_v(w.state)[0] = 6;
  double lift = 0;
  for (int i = 0; i < 2000; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    CHECK(r->status == KN_OK && r->penetration <= 1e-9 && r->audit <= 1e-12);
    CHECK_NEAR(r->momentum_error, 0, 1e-12); /* 10 N s in double */
    lift = fmax(lift, r->lift);
    if (!CHECK_NEAR(ledger_sum(&r->ledger), 0, 1e-12)) break; /* energies of 20 J in double */
  }
  CHECK_NEAR(lift, 0, 1e-12);
  CHECK_NEAR(kn_state_q(w.state)[0], 36 / (2 * 0.5 * g), 1e-5); /* second order in dt */
  CHECK_NEAR(kn_state_v(w.state)[0], 0, 1e-12);
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
  close_world(&w);
}

/* mu = 1.01 tan θ sticks for good; mu = 0.99 tan θ slides with a = g (sin θ - mu cos θ). */
TEST(incline_sticks_above_and_slides_below_the_cone) {
  double tilt = 30 * 3.141592653589793 / 180;
  for (int sticks = 0; sticks < 2; sticks++) {
    world w;
    double mu = (sticks ? 1.01 : 0.99) * tan(tilt);
    kn_spec* spec = new_spec(mu, 0, tilt);
    double h = 0.1, pos[3] = {h * sin(tilt), 0, h * cos(tilt)};
    kn_body body = add_free(spec, "block", KN_SHAPE_BOX, 0.1, 0.1, h, 1, pos, mu, 0);
    (void)body;
    if (!open_world(&w, spec, NULL)) return;
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
    close_world(&w);
  }
}

/* A ball with e keeps e² of its height; with e = 1 it keeps its energy. */
TEST(bouncing_ball_keeps_e_squared_of_its_height) {
  static const double es[] = {0, 0.5, 0.9, 1};
  for (int k = 0; k < 4; k++) {
    world w;
    kn_spec* spec = new_spec(0, es[k], 0);
    add_free(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 1.1}, 0, es[k]);
    if (!open_world(&w, spec, NULL)) return;
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
      CHECK_NEAR(ledger_sum(&r->ledger), 0, 1e-12);
    }
    CHECK_NEAR(top, es[k] * es[k], 2e-5); /* apex sampled at 1 ms: g dt²/8 = 1.2e-6, bounce late by a step */
    close_world(&w);
  }
}

/* Newton's cradle touching: all at once with Newton's law gives (-1/3, 2/3, 2/3); one after the other (0, 0,
 * 1). */
TEST(cradle_simultaneous_and_sequential) {
  for (int sequential = 0; sequential < 2; sequential++) {
    world w;
    kn_spec* spec = new_spec(0, 1, 0);
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
    if (!open_world(&w, spec, &s)) return;
    double* v = kn_state_v(w.state);
    v[0] = 1;
    CHECK_OK(kn_step(w.sim, w.state));
    double want[2][3] = {{-1.0 / 3, 2.0 / 3, 2.0 / 3}, {0, 0, 1}};
    for (int i = 0; i < 3; i++) CHECK_NEAR(v[i], want[sequential][i], 1e-9);
    close_world(&w);
  }
}

/* A stack of ten boxes with friction stands; residual, penetration and energy as promised. */
TEST(stack_stands) {
  world w;
  kn_spec* spec = new_spec(0.6, 0, 0);
  for (int i = 0; i < 10; i++)
    add_free(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.05, 1, (double[]){0, 0, 0.05 + 0.1 * i}, 0.6, 0);
  if (!open_world(&w, spec, NULL)) return;
  for (int i = 0; i < 500; i++) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    const kn_report* r = kn_sim_report(w.sim);
    if (!CHECK(r->status == KN_OK && r->residual <= 1e-9 && r->penetration <= 1e-9)) break;
  }
  for (int i = 0; i < 10; i++) {
    CHECK_NEAR(kn_state_q(w.state)[7 * i + 2], 0.05 + 0.1 * i, 1e-9);
    CHECK_NEAR(kn_state_q(w.state)[7 * i], 0, 1e-9);
  }
  close_world(&w);
}

/* Two runs, and a run saved and restored in the middle, agree bit for bit; steps allocate nothing. */
TEST(runs_repeat_bit_for_bit_and_allocate_nothing) {
  uint64_t hash[3];
  for (int run = 0; run < 3; run++) {
    world w;
    kn_spec* spec = new_spec(0.5, 0.4, 0);
    add_free(spec, "box", KN_SHAPE_BOX, 0.1, 0.15, 0.05, 1, (double[]){0, 0, 0.4}, 0.5, 0.4);
    if (!open_world(&w, spec, NULL)) return;
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
    close_world(&w);
  }
  CHECK(hash[0] == hash[1]);
  CHECK(hash[0] == hash[2]);
}
