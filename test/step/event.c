/* The event-driven stepper: closed forms, restitution, the end of bouncing, repeatability. g = 9.81 along -z.
 */
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

static kn_spec* new_spec(double mu, double e, double tilt) {
  kn_spec* spec;
  kn_spec_create(&spec);
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.name = "floor";
  floor.body = KN_WORLD;
  floor.material.mu = mu;
  floor.material.e = e;
  floor.quat[0] = cos(tilt / 2);
  floor.quat[2] = sin(tilt / 2); /* about y: downhill is +x */
  kn_geom id;
  kn_spec_add_geom(&id, spec, &floor);
  return spec;
}

static kn_body add_free(kn_spec* spec, kn_shape_type type, double sx, double sy, double sz,
                        const double pos[3], double mu, double e) {
  kn_body_def b = kn_body_default();
  kn_body body;
  kn_joint joint;
  kn_geom geom;
  memcpy(b.pos, pos, sizeof b.pos);
  b.inertia_from_geoms = true;
  kn_spec_add_body(&body, spec, &b);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.body = body;
  kn_spec_add_joint(&joint, spec, &j);
  kn_geom_def d = kn_geom_default(type);
  d.body = body;
  d.shape.size[0] = sx, d.shape.size[1] = sy, d.shape.size[2] = sz;
  d.mass = 1;
  d.material.mu = mu;
  d.material.e = e;
  kn_spec_add_geom(&geom, spec, &d);
  return body;
}

static bool open_world(world* w, kn_spec* spec, const kn_sim_settings* settings) {
  memset(w, 0, sizeof *w);
  kn_sim_settings chosen = settings ? *settings : kn_sim_default();
  chosen.stepper = "event";
  bool ok = CHECK_OK(kn_compile(&w->model, spec)) && CHECK_OK(kn_state_create(&w->state, w->model)) &&
            CHECK_OK(kn_sim_create(&w->sim, w->model, &chosen)) && CHECK_OK(kn_sim_prepare(w->sim, w->state));
  kn_spec_destroy(spec);
  return ok;
}

static void close_world(world* w) {
  kn_sim_destroy(w->sim);
  kn_state_destroy(w->state);
  kn_model_destroy(w->model);
}

static double ledger_sum(const kn_ledger* l) {
  double sum = -2.0 * (l->kinetic + l->potential + l->spring);
#define X(name) sum += l->name;
  KN_LEDGER_LIST(X)
#undef X
  return sum;
}

/* First impact at sqrt(2 h/g); rest at t1 + 2 v1 e/(g (1 - e)), the sum of the flights. */
TEST(bouncing_ball_rests_at_the_closed_form_zeno_time) {
  static const double list[] = {0.3, 0.6, 0.9};
  for (int k = 0; k < 3; k++) {
    world w;
    double e = list[k], t1 = sqrt(2 / g), rest = -1, first = -1;
    kn_spec* spec = new_spec(0, e, 0);
    add_free(spec, KN_SHAPE_SPHERE, 0.1, 0, 0, (double[]){0, 0, 1.1}, 0, e);
    if (!open_world(&w, spec, NULL)) return;
    while (kn_state_time(w.state) < 10 && rest < 0) {
      if (!CHECK_OK(kn_step(w.sim, w.state))) break;
      const kn_report* r = kn_sim_report(w.sim);
      CHECK(r->status == KN_OK && r->penetration <= 1e-9);
      for (int i = 0; i < r->events; i++) {
        if (r->event[i].kind == KN_EVENT_IMPACT && first < 0) first = r->event[i].t;
        if (r->event[i].kind == KN_EVENT_CONTACT) rest = r->event[i].t;
        CHECK(r->event[i].kind != KN_EVENT_TROUBLE);
      }
    }
    CHECK_NEAR(first, t1, 1e-11);                                /* located to 1e-12 m */
    CHECK_NEAR(rest, t1 + 2 * g * t1 * e / (g * (1 - e)), 2e-7); /* the bound of the Zeno rule is 1e-7 s */
    CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
    CHECK_NEAR(kn_state_v(w.state)[2], 0, 1e-12);
    close_world(&w);
  }
}

/* v⁺ = -e v⁻ of the single contact, for e = 0 … 1, ball and box falling flat on a corner-free side. */
TEST(rebound_ratio_is_e) {
  for (int k = 0; k <= 10; k++) {
    world w;
    double e = 0.1 * k, before = 0, after = 0;
    kn_spec* spec = new_spec(0, e, 0);
    add_free(spec, KN_SHAPE_SPHERE, 0.1, 0, 0, (double[]){0, 0, 0.5}, 0, e);
    if (!open_world(&w, spec, NULL)) return;
    for (int i = 0; i < 400 && after == 0; i++) {
      CHECK_OK(kn_step(w.sim, w.state));
      const kn_report* r = kn_sim_report(w.sim);
      for (int j = 0; j < r->events; j++)
        if (r->event[j].kind == KN_EVENT_IMPACT) {
          before = r->event[j].value;
          after = k ? kn_state_v(w.state)[2] + g * (r->t - r->event[j].t) : 1e-300;
          if (k == 0) CHECK_NEAR(kn_state_v(w.state)[2], 0, 1e-12);
        }
    }
    CHECK_NEAR(before, sqrt(2 * g * 0.4), 1e-10);
    CHECK_NEAR(after / before, e, 1e-9);
    close_world(&w);
  }
}

/* e = 1: energy and time of the n-th bounce. */
TEST(elastic_ball_keeps_its_energy) {
  world w;
  int bounces = 0, wanted = kn_test_effort() > 1 ? 1000 : 100;
  kn_spec* spec = new_spec(0, 1, 0);
  add_free(spec, KN_SHAPE_SPHERE, 0.1, 0, 0, (double[]){0, 0, 0.2}, 0, 1); /* 0.1 m high */
  if (!open_world(&w, spec, NULL)) return;
  double E = 0, worst = 0, last = 0, t1 = sqrt(2 * 0.1 / g);
  while (bounces < wanted) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    const kn_report* r = kn_sim_report(w.sim);
    double now = r->energy.kinetic + r->energy.potential - g * 0.1;
    if (E == 0) E = g * 0.1;
    worst = fmax(worst, fabs(now - E) / E);
    for (int i = 0; i < r->events; i++)
      if (r->event[i].kind == KN_EVENT_IMPACT) bounces++, last = r->event[i].t;
  }
  CHECK_BELOW(worst, 1e-12);
  CHECK_NEAR(last, (2 * bounces - 1) * t1, 1e-8); /* 1e-12 m of 1.4 m/s, a thousand times */
  close_world(&w);
}

/* Stops at v²/(2 mu g), at v/(mu g), without lifting. */
TEST(sliding_cube_stops_where_and_when_it_should) {
  world w;
  kn_spec* spec = new_spec(0.5, 0, 0);
  add_free(spec, KN_SHAPE_BOX, 0.1, 0.1, 0.1, (double[]){0, 0, 0.1}, 0.5, 0);
  if (!open_world(&w, spec, NULL)) return;
  kn_state_v(w.state)[0] = 6;
  double stop = -1;
  for (int i = 0; i < 1500; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    if (!CHECK(r->status == KN_OK && r->penetration <= 1e-9 && r->lift <= 1e-12)) break;
    if (!CHECK_NEAR(ledger_sum(&r->ledger), 0, 1e-12)) break; /* energies of 20 J in double */
    if (!CHECK_NEAR(r->ledger.integration, 0, 1e-12)) break;  /* constant forces are integrated exactly */
    for (int j = 0; j < r->events; j++)
      if (r->event[j].kind == KN_EVENT_STICK) stop = r->event[j].t;
  }
  CHECK_NEAR(kn_state_q(w.state)[0], 36 / (2 * 0.5 * g), 1e-9);
  CHECK_NEAR(stop, 6 / (0.5 * g), 1e-9);
  CHECK_NEAR(kn_state_v(w.state)[0], 0, 1e-13);
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
  close_world(&w);
}

/* Slides until t* = 2 v0/(7 mu g), then rolls at 5/7 v0. */
TEST(sphere_slides_then_rolls) {
  world w;
  kn_spec* spec = new_spec(0.2, 0, 0);
  add_free(spec, KN_SHAPE_SPHERE, 0.1, 0, 0, (double[]){0, 0, 0.1}, 0.2, 0);
  if (!open_world(&w, spec, NULL)) return;
  kn_state_v(w.state)[0] = 1;
  double stop = -1, *v = kn_state_v(w.state);
  for (int i = 0; i < 1000; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    for (int j = 0; j < r->events; j++)
      if (r->event[j].kind == KN_EVENT_STICK) stop = r->event[j].t;
  }
  CHECK_NEAR(stop, 0.145623999, 1e-9);
  CHECK_NEAR(v[0], 5.0 / 7, 1e-9);
  CHECK_NEAR(kn_state_q(w.state)[0], 0.124820570 + 5.0 / 7 * (1 - 0.145623999), 1e-9);
  close_world(&w);
}

/* Saved in the middle and continued elsewhere: the same bits; and no memory is taken after the first step. */
TEST(save_restore_continues_bit_by_bit_without_allocating) {
  world a, b;
  for (int k = 0; k < 2; k++) {
    kn_spec* spec = new_spec(0.6, 0.5, 0);
    add_free(spec, KN_SHAPE_BOX, 0.1, 0.2, 0.15, (double[]){0, 0, 0.6}, 0.6, 0.5);
    add_free(spec, KN_SHAPE_SPHERE, 0.1, 0, 0, (double[]){0.05, 0, 1.1}, 0.6, 0.5);
    if (!open_world(k ? &b : &a, spec, NULL)) return;
  }
  kn_state_v(a.state)[3] = 2, kn_state_v(a.state)[4] = 1;
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(a.sim, a.state));
  size_t size = kn_state_size(a.state), count = kn_test_allocations();
  char* bytes = malloc(size);
  CHECK_OK(kn_state_save(bytes, size, a.state));
  CHECK_OK(kn_state_load(b.state, bytes, size));
  free(bytes);
  count = kn_test_allocations();
  for (int i = 0; i < 600; i++) CHECK_OK(kn_step(a.sim, a.state));
  if (kn_test_counts_allocations()) CHECK_INT(kn_test_allocations() - count, 0);
  for (int i = 0; i < 600; i++) CHECK_OK(kn_step(b.sim, b.state));
  CHECK(kn_state_hash(a.state) == kn_state_hash(b.state));
  close_world(&a);
  close_world(&b);
}
