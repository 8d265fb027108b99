/* Contact problems with closed forms or published values (../shared/data/README.md, "Closed forms and
   published values"), one test per row. Tolerance 1e-6 where the scheme is exact, otherwise its order: the
   time stepper's bounces are late by up to a step, so times of impacts are of first order; the event-driven
   stepper's are exact to 1e-6. The smooth rows (IFToMM A01-A04) are in test/scenes/references.c, Siconos'
   trajectories in siconos_references.c. */
#include <math.h>
#include <string.h>

#include "test.h"
#include "world.h"

static bool is_event(const char* stepper) { return strcmp(stepper, "event") == 0; }

/* Time of the first event of a kind; NaN when there is none until end. */
static double first_event(kn_world* w, kn_event_kind kind, kn_event_kind other, double end) {
  while (kn_state_time(w->state) < end && kn_world_step(w))
    for (int i = 0; i < w->report->events; i++)
      if (w->report->event[i].kind == kind || w->report->event[i].kind == other) return w->report->event[i].t;
  return NAN;
}

/* An impact found by a stepper: exact with events; else in the step that contains it, whose begin is
 * reported. */
static void check_time(kn_world* w, double got, double exact) {
  if (is_event(w->settings.stepper))
    CHECK_NEAR(got, exact, 1e-6);
  else
    CHECK_NEAR(got, exact, w->settings.dt * (1 + 1e-9));
}

/* ---- bouncing ball: h 1, e .9, g 9.81 ---- */

/* Rest after a Zeno sequence at 8.578949179 s. The time stepper makes each of the 40 bounces late by up to dt
   and stops at v_rest = 2 g dt, up to 4 dt/(1 - e) early: first order, |error| <= 40 dt. */
TEST(bouncing_ball) {
  for (const char* const* s = kn_world_steppers(); *s; s++)
    for (int k = 0; k < (is_event(*s) ? 1 : 2); k++) {
      kn_world w;
      double dt = k ? 2e-4 : 1e-3, rest = 0.0;
      if (kn_world_open(&w, "bouncing-ball", *s, dt, NULL)) {
        check_time(&w, first_event(&w, KN_EVENT_IMPACT, KN_EVENT_IMPACT, 1.0), .4515236410);
        while (kn_state_time(w.state) < 9.0 && kn_world_step(&w))
          if (fabs(w.v[2]) > 1e-9) rest = kn_state_time(w.state);
        printf("  %-5s dt %g: at rest after %.9g s\n", *s, dt, rest);
        CHECK_NEAR(rest, 8.578949179, is_event(*s) ? dt : 40.0 * dt);
        CHECK_NEAR(w.q[2], 0.1, 1e-9);
      }
      kn_world_close(&w);
    }
}

/* ---- Newton's cradle, e 1, three balls ---- */

/* Pendulums of 1 m at the bottom: gravity does no work in first order, 5e-6 in the first step. */
static void narrow(kn_sim_settings* s) { s->gtol = 1e-7; } /* closer balls count as touching */

static void cradle(const char* scene, const char* stepper, double until, const double want[3], double tol) {
  kn_world w;
  if (kn_world_open(&w, scene, stepper, 1e-5, narrow) && kn_world_until(&w, until))
    for (int i = 0; i < 3; i++) CHECK_NEAR(w.v[i], want[i], tol);
  kn_world_close(&w);
}

TEST(newton_cradle_touching_all_at_once) {
  for (const char* const* s = kn_world_steppers(); *s; s++)
    cradle("newton-cradle balls=3 gap=0", *s, 2e-5, (double[]){-1.0 / 3, 2.0 / 3, 2.0 / 3}, 1e-6);
}

/* With gaps of 10 um the balls collide one after the other: (0, 0, 1); 1e-5 m/s of weight by then. */
TEST(newton_cradle_with_gaps) {
  for (const char* const* s = kn_world_steppers(); *s; s++)
    cradle("newton-cradle balls=3 gap=1e-5", *s, 2e-4, (double[]){0, 0, 1}, 1e-6);
}

/* ---- rocking block ---- */

/* The law itself: a block that turns about its right edge comes down flat; one step of a nanosecond. */
TEST(rocking_block_at_the_instant_of_impact) {
  static const double size[][2] = {{0.1, 0.4}, {0.1, 0.2}, {0.05, 0.4}};
  for (size_t k = 0; k < sizeof size / sizeof *size; k++)
    for (const char* const* s = kn_world_steppers(); *s; s++) {
      kn_world w;
      char scene[96];
      double b = size[k][0], h = size[k][1];
      snprintf(scene, sizeof scene, "rocking-block lean=0 width=%g height=%g", b, h);
      if (kn_world_open(&w, scene, *s, 1e-9, NULL)) {
        w.v[4] = -1.0; /* about y, back towards the left edge: velocity of the centre = omega x (-b, 0, h) */
        w.v[0] = -h, w.v[2] = -b;
        for (int i = 0; i < 3; i++) kn_world_step(&w);
        CHECK_NEAR(w.v[4], -(1.0 - 1.5 * b * b / (b * b + h * h)), 1e-6);
      }
      kn_world_close(&w);
    }
}

/* The scene: ratio of the rates at impact from the energies before and after it, of first order in dt for the
   time stepper (the edge lands within a step). */
TEST(rocking_block_loses_what_housner_says) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    const double b = 0.1, h = 0.4, dt = 2e-4, weight = 9.81;
    if (kn_world_open(&w, "rocking-block width=0.1 height=0.4 lean=0.1", *s, dt, NULL)) {
      double before = kn_world_energy(&w), after = before, lean = 1.0;
      while (lean > 0.0 && kn_state_time(w.state) < 2.0 && kn_world_step(&w)) lean = w.q[5]; /* qy */
      for (int i = 0; i < 50; i++) kn_world_step(&w);
      after = kn_world_energy(&w);
      double ratio = sqrt((after - weight * h) / (before - weight * h)),
             want = 1.0 - 1.5 * b * b / (b * b + h * h);
      printf("  %-5s rocking block: ratio %.9g, Housner %.9g\n", *s, ratio, want);
      CHECK_NEAR(ratio, want, is_event(*s) ? 1e-6 : 10.0 * dt);
    }
    kn_world_close(&w);
  }
}

/* ---- Painlevé's rod ---- */

static kn_verdict_kind verdict(const char* scene) {
  kn_world w;
  kn_diagnosis d = {.verdict.kind = KN_VERDICT_UNDECIDED};
  if (kn_world_open(&w, scene, "time", 0.0, NULL)) CHECK_OK(kn_sim_diagnose(&d, w.sim, w.state));
  kn_world_close(&w);
  return d.verdict.kind;
}

static kn_verdict_kind rod(double phi, double mu, double speed, double rate) {
  char scene[160];
  snprintf(scene, sizeof scene, "painleve-rod phi=%.15g mu=%.15g speed=%g rate=%g", phi, mu, speed, rate);
  return verdict(scene);
}

/* The friction at which the verdict stops being "unique", by bisection, is (1 + 3 cos²φ)/(3 sin φ cos φ). */
TEST(painleve_rod_critical_friction) {
  static const double angle[] = {30, 45, 63.4349488229, 75};
  for (size_t k = 0; k < sizeof angle / sizeof *angle; k++) {
    double phi = angle[k] * 3.14159265358979323846 / 180.0, s = sin(phi), c = cos(phi);
    double want = (1.0 + 3.0 * c * c) / (3.0 * s * c), low = 0.5 * want, high = 2.0 * want;
    double tip = s / (s + 2e-6); /* the scene's tip is a sphere of 1 um on a half length of 0.5 m */
    CHECK(rod(angle[k], low, -2, 0) == KN_VERDICT_UNIQUE);
    CHECK(rod(angle[k], high, -2, 0) == KN_VERDICT_NONE);
    for (int i = 0; i < 24; i++) {
      double mu = 0.5 * (low + high);
      if (rod(angle[k], mu, -2, 0) == KN_VERDICT_UNIQUE)
        low = mu;
      else
        high = mu;
    }
    CHECK_NEAR(0.5 * (low + high), want * tip, 1e-6);
    if (k == 2) CHECK_NEAR(want, 4.0 / 3.0, 1e-12);
  }
}

/* Above it: none while the tip is pressed, several when it turns so fast that it would rise by itself;
   dragged instead of pushed, always unique. The step returns a valid state in each case and creates no
   energy. */
TEST(painleve_rod_verdicts_and_steps) {
  CHECK(rod(63.4349488229, 1.6, -2, 0) == KN_VERDICT_NONE);
  CHECK(rod(63.4349488229, 1.6, -2, 6.5) == KN_VERDICT_SEVERAL);
  CHECK(rod(63.4349488229, 1.6, 2, 0) == KN_VERDICT_UNIQUE);
  CHECK(rod(63.4349488229, 1.2, -2, 0) == KN_VERDICT_UNIQUE);
  static const char* const scene[] = {"painleve-rod mu=1.6", "painleve-rod mu=1.6 rate=6.5",
                                      "painleve-rod mu=3"};
  for (size_t k = 0; k < 3; k++)
    for (const char* const* s = kn_world_steppers(); *s; s++) {
      kn_world w;
      if (!kn_world_open(&w, scene[k], *s, 0.0, NULL)) return;
      double E = kn_world_energy(&w);
      for (int i = 0; i < 2000 && kn_world_step(&w); i++)
        if (!CHECK(isfinite(w.q[0] + w.q[1] + w.q[2]) && w.report->penetration <= 1e-9)) break;
      CHECK_BELOW(kn_world_energy(&w), E * (1 + 1e-6)); /* integration of the flight, second order */
      kn_world_close(&w);
    }
}

/* ---- sphere slides, then rolls: v0 1, mu .2 ---- */

TEST(sliding_sphere_starts_to_roll) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    const double t1 = .145623999, way = .124820570;
    double rolls = 0.0;
    if (kn_world_open(&w, "rolling-sphere speed=1 mu=0.2", *s, 0.0, NULL)) {
      while (kn_state_time(w.state) < 1.0 - 1e-4 && kn_world_step(&w))
        if (rolls == 0.0 && fabs(w.v[0] - 0.1 * w.v[4]) < 1e-9) rolls = kn_state_time(w.state);
      CHECK(rolls >= t1 && rolls <= t1 + w.settings.dt);
      CHECK_NEAR(w.v[0], 5.0 / 7.0, 1e-9);
      CHECK_NEAR(w.q[0], way + 5.0 / 7.0 * (1.0 - t1), 1e-6); /* second order in the step where it changes */
    }
    kn_world_close(&w);
  }
}

/* ---- slider-crank with clearance, pendulums: first hits ---- */

TEST(slider_crank_first_impact) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    if (kn_world_open(&w, "slider-crank", *s, 0.0, NULL))
      check_time(&w, first_event(&w, KN_EVENT_IMPACT, KN_EVENT_IMPACT, 0.01), 2.692502752e-3);
    kn_world_close(&w);
  }
}

TEST(first_hits_of_both_pendulums) {
  static const struct {
    const char* scene;
    double t;
  } hit[] = {{"pendulum-2014 links=3", 0.120670},  {"pendulum-2014 links=6", 0.150577},
             {"pendulum-2014 links=12", 0.164029}, {"pendulum-2012 links=3", 0.677464},
             {"pendulum-2012 links=6", 0.712344},  {"pendulum-2012 links=12", 0.728324}};
  for (size_t k = 0; k < sizeof hit / sizeof *hit; k++)
    for (const char* const* s = kn_world_steppers(); *s; s++) {
      kn_world w;
      if (kn_world_open(&w, hit[k].scene, *s, is_event(*s) ? 0.0 : 1e-4, NULL)) {
        double t = first_event(&w, KN_EVENT_IMPACT, KN_EVENT_CONTACT, 1.0);
        check_time(&w, t, hit[k].t);
      }
      kn_world_close(&w);
    }
}

/* ---- tippe top ---- */

/* On its sphere Jellett's integral, angular momentum times the vector from the contact to the centre of mass,
   R1 (I1 (w_x n_x + w_y n_y) + I3 w_z n_z) - a1 I3 w_z in body axes (n: the vertical), is constant whatever
   the friction. */
typedef struct tippe {
  double off, rise, up, spent; /* of the integral and the energy, relative; cosine of the axis */
} tippe;

static bool on_stem(const kn_world* w) {
  for (int i = 0; i < w->report->contacts; i++) {
    kn_geom_def g;
    CHECK_OK(kn_model_geom(&g, w->model, w->report->contact[i].geom_a));
    if (g.shape.size[0] < 0.015 && w->report->contact[i].impulse[0] > 0.0) return true;
  }
  return false;
}

/* Gyroscopic forces at the mean velocity: with one evaluation the integral drifts in first order. */
static void spinning(kn_sim_settings* s) { s->bias_iterations = 2; }

static tippe run_tippe(double dt, double end) {
  kn_world w;
  tippe r = {0};
  const double I1 = 8e-7, I3 = 7e-7, R1 = 0.015, a1 = 0.003;
  double first = 0.0;
  bool sphere = true;
  if (!kn_world_open(&w, "tippe-top", "time", dt, spinning)) return r;
  double E = kn_world_energy(&w), E0 = E;
  while (kn_state_time(w.state) < end && kn_world_step(&w)) {
    const double *p = w.q + 3, *o = w.v + 3;
    double n[3] = {2 * (p[1] * p[3] - p[0] * p[2]), 2 * (p[2] * p[3] + p[0] * p[1]),
                   1 - 2 * (p[1] * p[1] + p[2] * p[2])};
    double J = I1 * (o[0] * n[0] + o[1] * n[1]) * R1 + I3 * o[2] * (n[2] * R1 - a1),
           now = kn_world_energy(&w);
    if (first == 0.0) first = J;
    sphere = sphere && !on_stem(&w);
    if (sphere) r.off = fmax(r.off, fabs(J / first - 1.0));
    r.rise = fmax(r.rise, (now - E) / E0);
    E = now;
    r.up = n[2];
  }
  r.spent = 1.0 - E / E0;
  printf("  tippe top, dt %g: Jellett's integral off by %.2g, energy up by %.2g in a step, axis at cos %.3f, "
         "%.0f %% of "
         "the energy spent\n",
         dt, r.off, r.rise, r.up, 100.0 * r.spent);
  kn_world_close(&w);
  return r;
}

/* The axis passes the horizontal and goes on to 136 degrees, where slip ends and the top rolls; with friction
   of a point (no drilling friction) nothing lifts it farther. */
TEST(tippe_top_turns_over) {
  tippe coarse = run_tippe(1e-4, 0.6), fine = run_tippe(5e-5, 0.6), whole = run_tippe(1e-4, 2.0);
  CHECK(coarse.off / fine.off > 3.0 && coarse.off / fine.off < 5.0); /* second order */
  CHECK_BELOW(fine.off, 1e-6);
  CHECK_BELOW(whole.rise, 1e-9);
  CHECK_BELOW(whole.up, -0.7);
  CHECK(whole.spent > 0.3);
}

/* ---- impacting bar ---- */

enum { PIECES = 200 };

/* An elastic bar, 1 m, as a chain of PIECES masses on slides with the springs E S n/L between them, hits a
   wall with v = 0.1 m/s: it stays for 2 L/c = 3.85450e-4 s and presses with S sqrt(E rho) v = 1270.83 N.
   Chain and lumped end mass disperse the wave front: first order in 1/n. */
TEST(impacting_bar_stays_for_the_wave_to_come_back) {
  const double E = 210e9, rho = 7800, S = 3.14e-4, v = 0.1, c = sqrt(E / rho), h = 1.0 / PIECES;
  kn_spec* spec;
  kn_model* model = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  kn_geom geom;
  kn_spec_create(&spec);
  kn_spec_set_gravity(spec, (double[]){0, 0, 0});
  kn_geom_def wall = kn_geom_default(KN_SHAPE_PLANE);
  wall.body = KN_WORLD, wall.material.e = 0.0;
  CHECK_OK(kn_spec_add_geom(&geom, spec, &wall));
  kn_body last = KN_WORLD;
  for (int i = 0; i < PIECES; i++) {
    kn_body_def b = kn_body_default();
    kn_joint joint;
    b.parent = last, b.mass = rho * S * h;
    b.pos[2] = i ? h : 1e-3;
    b.inertia[0] = b.inertia[1] = b.inertia[2] = 1e-9;
    CHECK_OK(kn_spec_add_body(&last, spec, &b));
    kn_joint_def j = kn_joint_default(KN_JOINT_SLIDE);
    j.body = last, j.axis[0] = j.axis[1] = 0.0, j.axis[2] = 1.0;
    j.stiffness = i ? E * S / h : 0.0;
    CHECK_OK(kn_spec_add_joint(&joint, spec, &j));
    if (i) continue;
    kn_geom_def tip = kn_geom_default(KN_SHAPE_SPHERE);
    tip.body = last, tip.shape.size[0] = 1e-3, tip.material.e = 0.0, tip.contype = tip.conaffinity = 1;
    CHECK_OK(kn_spec_add_geom(&geom, spec, &tip));
  }
  kn_sim_settings s = kn_sim_default();
  s.dt = 0.25 * h / c;
  bool ok = CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&x, model)) &&
            CHECK_OK(kn_sim_create(&sim, model, &s));
  kn_spec_destroy(spec);
  double first = -1.0, end = 0.0, impulse = 0.0;
  if (ok) kn_state_v(x)[0] = -v;
  while (ok && kn_state_time(x) < 6e-4 && CHECK_OK(kn_step(sim, x))) {
    const kn_report* r = kn_sim_report(sim);
    double p = r->contacts ? r->contact[0].impulse[0] : 0.0;
    impulse += p;
    if (p > 0.0 && first < 0.0) first = kn_state_time(x) - s.dt;
    if (p > 0.0) end = kn_state_time(x);
  }
  printf("  impacting bar: contact %.6g s, mean force %.6g N, impulse %.6g N s\n", end - first,
         impulse / (end - first), impulse);
  CHECK_NEAR(end - first, 3.85450e-4, 0.03 * 3.85450e-4);
  CHECK_NEAR(impulse / (end - first), 1270.83, 0.03 * 1270.83);
  CHECK_NEAR(impulse, 2.0 * rho * S * v, 0.01 * 2.0 * rho * S * v); /* the bar turns round */
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
}
