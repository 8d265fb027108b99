/* The event-driven stepper: closed forms, restitution, the end of bouncing, repeatability. g = 9.81 along -z.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"
#include "knuckle/load.h"
#include "ledger.h"
#include "test.h"

static const double g = 9.81;

static bool open_world(kn_floor* w, kn_spec* spec, const kn_sim_settings* settings) {
  kn_sim_settings chosen = settings ? *settings : kn_sim_default();
  chosen.stepper = "event";
  return kn_floor_open(w, spec, &chosen);
}

/* First impact at sqrt(2 h/g); rest at t1 + 2 v1 e/(g (1 - e)), the sum of the flights. */
TEST(bouncing_ball_rests_at_the_closed_form_zeno_time) {
  static const double list[] = {0.3, 0.6, 0.9};
  for (int k = 0; k < 3; k++) {
    kn_floor w;
    double e = list[k], t1 = sqrt(2 / g), rest = -1, first = -1;
    kn_spec* spec = kn_floor_spec(0, e, 0);
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 1.1}, 0, e);
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
    kn_floor_close(&w);
  }
}

/* v⁺ = -e v⁻ of the single contact, for e = 0 … 1, ball and box falling flat on a corner-free side. */
TEST(rebound_ratio_is_e) {
  for (int k = 0; k <= 10; k++) {
    kn_floor w;
    double e = 0.1 * k, before = 0, after = 0;
    kn_spec* spec = kn_floor_spec(0, e, 0);
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.5}, 0, e);
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
    kn_floor_close(&w);
  }
}

/* A contact that approaches from below the width that counts as closed was held and lost its approach without an
   impact: 2 J gone as integration error. A limit the same (a slider that runs against its stop). */
TEST(every_starting_gap_bounces_with_e) {
  static const double gaps[] = {-1e-9, -1e-10, -1e-12, 0,    1e-13, 1e-12, 1e-11, 5e-11,
                                1e-10, 5e-10,  1e-9,   2e-9, 1e-8,  1e-6,  1e-4,  1e-3};
  static const double speeds[] = {2, 0.05}; /* m/s: a gap of 1e-3 takes 0.02 s at the slower one */
  for (size_t k = 0; k < 2 * sizeof gaps / sizeof *gaps; k++) {
    kn_floor w;
    double gap = gaps[k / 2], u = speeds[k % 2], e = 0.8;
    kn_spec* spec = kn_floor_spec(0, e, 0);
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.1 + gap}, 0, e);
    if (!open_world(&w, spec, NULL)) return;
    kn_state_v(w.state)[2] = -u;
    int impacts = 0;
    double before = 0, t = 0;
    for (int i = 0; i < 25 && !impacts; i++) {
      CHECK_OK(kn_step(w.sim, w.state));
      const kn_report* r = kn_sim_report(w.sim);
      CHECK(fabs(r->ledger.integration) <= 1e-12 && r->penetration <= 1e-9);
      for (int j = 0; j < r->events; j++)
        if (r->event[j].kind == KN_EVENT_IMPACT) impacts++, before = r->event[j].value, t = r->event[j].t;
    }
    CHECK_INT(impacts, 1);
    /* v² = u² + 2 g gap at the touch; the gap is known to the rounding of 0.1, 1e-17 */
    CHECK_NEAR(before, sqrt(u * u + 2 * g * fmax(gap, 0)), 1e-9);
    CHECK_NEAR(kn_state_v(w.state)[2] + g * (kn_state_time(w.state) - t), e * before, 1e-9);
    kn_floor_close(&w);
  }
}

/* e = 1: energy and time of the n-th bounce. */
TEST(elastic_ball_keeps_its_energy) {
  kn_floor w;
  int bounces = 0, wanted = kn_test_effort() > 1 ? 1000 : 100;
  kn_spec* spec = kn_floor_spec(0, 1, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.2}, 0, 1); /* 0.1 m high */
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
  kn_floor_close(&w);
}

/* Stops at v²/(2 mu g), at v/(mu g), without lifting. */
TEST(sliding_cube_stops_where_and_when_it_should) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1}, 0.5, 0);
  if (!open_world(&w, spec, NULL)) return;
  kn_state_v(w.state)[0] = 6;
  double stop = -1;
  for (int i = 0; i < 1500; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    if (!CHECK(r->status == KN_OK && r->penetration <= 1e-9 && r->lift <= 1e-12)) break;
    if (!CHECK_NEAR(kn_ledger_left(&r->ledger), 0, 1e-12)) break; /* energies of 20 J in double */
    if (!CHECK_NEAR(r->ledger.integration, 0, 1e-12)) break;      /* constant forces are integrated exactly */
    for (int j = 0; j < r->events; j++)
      if (r->event[j].kind == KN_EVENT_STICK) stop = r->event[j].t;
  }
  CHECK_NEAR(kn_state_q(w.state)[0], 36 / (2 * 0.5 * g), 1e-9);
  CHECK_NEAR(stop, 6 / (0.5 * g), 1e-9);
  CHECK_NEAR(kn_state_v(w.state)[0], 0, 1e-13);
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-12);
  kn_floor_close(&w);
}

/* Slides until t* = 2 v0/(7 mu g), then rolls at 5/7 v0. */
TEST(sphere_slides_then_rolls) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.2, 0, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.1}, 0.2, 0);
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
  kn_floor_close(&w);
}

/* Saved in the middle and continued elsewhere: the same bits; and no memory is taken after the first step. */
TEST(save_restore_continues_bit_by_bit_without_allocating) {
  kn_floor a, b;
  for (int k = 0; k < 2; k++) {
    kn_spec* spec = kn_floor_spec(0.6, 0.5, 0);
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.2, 0.15, 1, (double[]){0, 0, 0.6}, 0.6, 0.5);
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0.05, 0, 1.1}, 0.6, 0.5);
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
  kn_floor_close(&a);
  kn_floor_close(&b);
}

/* Forces that overflow where only the event stepper looks (not in the middle of a step). */
static kn_status wild(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                      void* context) {
  double dt = *(const double*)context, part = t / dt - floor(t / dt);
  (void)ctrl, (void)q, (void)v, (void)memory;
  tau[2] = fabs(part - 0.5) < 0.01 ? 1.0 : INFINITY;
  return KN_OK;
}

TEST(accelerations_that_overflow_leave_the_step_to_time) {
  kn_floor w[2];
  double dt = 1e-3;
  kn_controller c = {.fn = wild, .context = &dt};
  for (int k = 0; k < 2; k++) {
    kn_sim_settings set = kn_sim_default();
    set.stepper = k ? "event" : "time", set.dt = dt;
    kn_spec* spec = kn_floor_spec(0.5, 0.5, 0.0);
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1.0, (double[3]){0, 0, 0.3}, 0.5, 0.5);
    if (!kn_floor_open(&w[k], spec, &set)) return;
    CHECK_OK(kn_sim_set_controller(w[k].sim, &c));
  }
  bool told = false;
  for (int i = 0; i < 5; i++) {
    CHECK_OK(kn_step(w[0].sim, w[0].state));
    CHECK_OK(kn_step(w[1].sim, w[1].state));
    const kn_report* r = kn_sim_report(w[1].sim);
    for (int e = 0; e < r->events; e++) told |= r->event[e].kind == KN_EVENT_TROUBLE;
    CHECK_BITS(kn_state_q(w[1].state), kn_state_q(w[0].state), 7);
    CHECK_BITS(kn_state_v(w[1].state), kn_state_v(w[0].state), 6);
  }
  CHECK(told);
  for (int k = 0; k < 2; k++) kn_floor_close(&w[k]);
}

/* A stiff damper between light links, 50 ms: the first sub-step that is tried ends where no joint moves any inertia (poses of
   1e16 m). The step failed with that sentence; it takes shorter sub-steps. The damper takes energy, nothing gives any. */
TEST(sub_steps_that_end_nowhere_are_made_shorter) {
  static const char chain[] =
      "<mujoco><compiler angle='degree'/><option timestep='0.05' gravity='3 0 -9.81'/><worldbody>"
      "<body pos='0.306 0.000 0.332' euler='74.0 0 -5.5'><joint type='hinge' axis='0.8715 -1.5559 "
      "-1.1222'/><geom type='box' size='.05 .05 .05' mass='0.00572523'/>"
      "<body pos='0.262 0.022 0.048'><joint type='hinge' axis='-0.1181 0.6889 -0.3370' limited='true' "
      "range='-11.79 37.42'/><geom type='ellipsoid' size='0.0353 0.0409 0.0435' mass='0.539156'/>"
      "<body pos='0.264 0.022 0.025'><joint type='slide' axis='-0.9675 0.9549 -0.4298'/><geom "
      "type='capsule' size='0.0221 0.0419' mass='0.920442'/>"
      "<body pos='0.298 -0.032 0.030'><joint type='ball' limited='true' range='0 70.3'/><geom "
      "type='sphere' size='0.0575' mass='0.0486211'/>"
      "<body pos='0.273 -0.008 0.039'><joint type='ball'/><geom type='sphere' size='0.0411' "
      "mass='0.00860748'/>"
      "<body pos='0.240 0.013 0.005'><joint type='hinge' axis='0.9117 -0.5331 -0.5762' limited='true' "
      "range='-31.28 44.83' stiffness='0.1426' damping='1' frictionloss='0.01'/><geom type='cylinder' "
      "size='0.0300 0.0127' mass='1.03569'/>"
      "<body pos='0.275 0.032 0.009'><joint type='slide' axis='-1.6575 -0.9020 -0.2465'/><geom "
      "type='box' size='0.0361 0.0252 0.0252' mass='0.380562'/>"
      "<body pos='0.263 -0.006 0.019'><joint type='hinge' axis='0.9179 2.4140 0.4914' limited='true' "
      "range='-38.26 18.11'/><geom type='box' size='.05 .05 .05' "
      "mass='5.24253'/></body></body></body></body></body></body></body></body>"
      "</worldbody>"
      "<keyframe><key name='k' qvel='0.9948 -0.06433 0.1124 0.01213 -0.7102 -1.293 -1.885 -1.191 "
      "-1.282 4.213 0.0449 3.745'/></keyframe></mujoco>";
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  kn_sim_settings set = kn_sim_default();
  set.stepper = "event", set.dt = 0.05;
  if (CHECK_OK(kn_load_text(&spec, NULL, "chain.xml", chain, strlen(chain), NULL)) &&
      CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&x, model)) &&
      CHECK_OK(kn_state_keyframe(x, 0)) && CHECK_OK(kn_sim_create(&sim, model, &set))) {
    double last = INFINITY;
    for (int k = 0; k < 3 && CHECK_OK(kn_step(sim, x)); k++) {
      kn_energy e;
      CHECK_OK(kn_energy_of(&e, model, x, kn_sim_data(sim)));
      double now = e.kinetic + e.potential + e.spring;
      CHECK(now <= last + 1e-9 * fabs(last)); /* the integrator's rtol */
      last = now;
    }
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}

/* A ball placed h = 1 mm into the floor and at rest: nothing does work but the lift, m g h, which no velocity may hold afterwards:
   z = r and v = 0. Between events such a contact was held while it overlapped, and the repair at the end of the sub-step moved what
   had been integrated (the woodpecker's start: a rise of 1.6e-3 of its energy). The step is left to `time`, which says so. */
TEST(a_start_that_overlaps_is_left_to_time) {
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0, 0.5, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1, (double[]){0, 0, 0.099}, 0, 0.5);
  if (!open_world(&w, spec, NULL)) return;
  for (int i = 0; i < 3; i++) {
    int handed = 0;
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    for (int k = 0; k < r->events; k++)
      handed += r->event[k].kind == KN_EVENT_HANDED && r->event[k].value == 6.0;
    CHECK_INT(handed, i == 0); /* the first step only */
    CHECK(r->penetration <= 1e-9);
  }
  CHECK_NEAR(kn_state_q(w.state)[2], 0.1, 1e-9); /* what the projection of `time` leaves */
  CHECK_NEAR(kn_state_v(w.state)[2], 0, 1e-9);
  kn_floor_close(&w);
}

/* An arm on a hinge, q = 0 and v = 0, that begins 1 mm within the floor: the first step is left to `time`, which begins it once more, and
   found its state to be where no step had ended, with no energy: a rise of all that the arm weighs (the dual arm: 94 J). E = m g z. */
TEST(a_first_step_that_is_left_to_time_knows_its_energy) {
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .049'><joint axis='0 1 0'/>"
      "<geom type='capsule' size='.05' fromto='0 0 0 .4 0 0' mass='1'/></body></worldbody></mujoco>";
  kn_spec* spec = NULL;
  kn_floor w;
  if (!CHECK_OK(kn_load_text(&spec, NULL, "arm.xml", text, strlen(text), NULL)) ||
      !open_world(&w, spec, NULL))
    return;
  CHECK_OK(kn_step(w.sim, w.state));
  const kn_report* r = kn_sim_report(w.sim);
  CHECK_NEAR(r->rise.initial, g * 0.049, 1e-12);
  CHECK(r->rise.rise_rel < 1e-3);
  kn_floor_close(&w);
}
