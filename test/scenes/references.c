/* Scenes against published values: first-hit times by smooth integration (no contact code involved), closed
   chains by the time stepper with its observed order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "scene.h"
#include "test.h"

/* ---- first hits ---- */

typedef double (*gap_fn)(const kn_model* m, const kn_data* d);

static double lowest_ball(const kn_model* m, const kn_data* d) { /* above the floor at z = 0.1 */
  double gap = INFINITY;
  for (int g = 0; g < kn_model_geoms(m); g++) {
    kn_geom_def def;
    kn_pose X;
    kn_model_geom(&def, m, g);
    if (def.shape.type != KN_SHAPE_SPHERE) continue;
    kn_geom_pose(&X, m, d, g);
    gap = fmin(gap, X.p[2] - def.shape.size[0] - 0.1);
  }
  return gap;
}

static double slider_clearance(const kn_model* m,
                               const kn_data* d) { /* corners below z = 0.026 and above -0.026 */
  kn_geom g;
  kn_pose X;
  kn_model_find_geom(&g, m, "slider");
  kn_geom_pose(&X, m, d, g);
  double reach = 0.05 * fabs(X.R[6]) + 0.025 * fabs(X.R[8]);
  return 0.026 - fabs(X.p[2]) - reach;
}

static double floor_of_ball(const kn_model* m, const kn_data* d) {
  kn_geom g;
  kn_pose X;
  kn_model_find_geom(&g, m, "ball");
  kn_geom_pose(&X, m, d, g);
  return X.p[2] - 0.1;
}

/* RK4 until the gap is negative, then bisection of the last step. */
static double first_hit(const char* scene, const char* setting, gap_fn gap, double dt) {
  kn_scene_opened* o;
  kn_state *s, *before;
  kn_data* d;
  if (!CHECK_OK(kn_scene_open(&o, scene, &setting, setting ? 1 : 0))) return NAN;
  kn_integrate_settings rk4 = kn_integrate_default();
  rk4.method = KN_INTEGRATE_RK4;
  kn_state_create(&s, o->model);
  kn_state_create(&before, o->model);
  kn_data_create(&d, o->model);
  kn_scene_start(o, s);
  double lo = 0.0, hi = dt;
  for (int i = 0; i < 100000; i++) {
    kn_state_copy(before, s);
    CHECK_OK(kn_integrate_smooth(s, o->model, d, dt, &rk4, NULL, NULL));
    kn_kinematics(o->model, s, d);
    if (gap(o->model, d) < 0.0) break;
  }
  for (int i = 0; i < 40; i++) {
    double mid = (lo + hi) / 2;
    kn_state_copy(s, before);
    kn_integrate_smooth(s, o->model, d, mid, &rk4, NULL, NULL);
    kn_kinematics(o->model, s, d);
    if (gap(o->model, d) < 0.0)
      hi = mid;
    else
      lo = mid;
  }
  double t = kn_state_time(before) + lo;
  kn_data_destroy(d);
  kn_state_destroy(s);
  kn_state_destroy(before);
  kn_scene_close(o);
  return t;
}

/* RK4 at 1e-4 s is exact far beyond the digits of the table. */
TEST(first_hits_of_the_pendulums) {
  CHECK_NEAR(first_hit("pendulum-2014", "links=3", lowest_ball, 1e-4), 0.120670, 1e-6);
  CHECK_NEAR(first_hit("pendulum-2014", "links=6", lowest_ball, 1e-4), 0.150577, 1e-6);
  CHECK_NEAR(first_hit("pendulum-2014", "links=12", lowest_ball, 1e-4), 0.164029, 1e-6);
  CHECK_NEAR(first_hit("pendulum-2012", "links=3", lowest_ball, 1e-4), 0.677464, 1e-6);
  CHECK_NEAR(first_hit("pendulum-2012", "links=6", lowest_ball, 1e-4), 0.712344, 1e-6);
  CHECK_NEAR(first_hit("pendulum-2012", "links=12", lowest_ball, 1e-4), 0.728324, 1e-6);
}

TEST(first_impact_of_the_slider_crank) {
  CHECK_NEAR(first_hit("slider-crank", NULL, slider_clearance, 1e-6), 2.692502752e-3, 1e-11);
}

TEST(first_impact_of_the_ball) {
  CHECK_NEAR(first_hit("bouncing-ball", NULL, floor_of_ball, 1e-3), 0.4515236410, 1e-10);
}

/* ---- closed chains ---- */

/* Runs n steps of t/n and copies the coordinates. */
static bool run(double* q, double* v, const char* scene, double t, int n) {
  kn_scene_opened* o;
  kn_state* s;
  kn_sim* sim;
  if (!CHECK_OK(kn_scene_open(&o, scene, NULL, 0))) return false;
  kn_sim_settings settings = kn_scene_settings(o->scene);
  settings.dt = t / n;
  CHECK_OK(kn_state_create(&s, o->model));
  CHECK_OK(kn_scene_start(o, s));
  bool ok = CHECK_OK(kn_sim_create(&sim, o->model, &settings));
  if (ok) {
    if (o->controller.fn) CHECK_OK(kn_sim_set_controller(sim, &o->controller));
    CHECK_OK(kn_sim_prepare(sim, s));
    for (int i = 0; i < n; i++) CHECK_OK(kn_step(sim, s));
    memcpy(q, kn_state_q(s), (size_t)kn_model_nq(o->model) * sizeof *q);
    memcpy(v, kn_state_v(s), (size_t)kn_model_nv(o->model) * sizeof *v);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(s);
  kn_scene_close(o);
  return ok;
}

static double distance(const double* a, const double* b, int n) {
  double e = 0.0;
  for (int i = 0; i < n; i++) e = fmax(e, fabs(a[i] - b[i]));
  return e;
}

/* The stepper is of second order in smooth motion: halving the step divides the error by about four. */
static void check_order(double coarse, double fine, double limit) {
  CHECK_NEAR(fine, 0.0, limit);
  CHECK(coarse / fine > 3.0 && coarse / fine < 5.0);
}

/* One dof at 1 ms: measured 1e-11; the table has twelve digits. */
TEST(a01_pendulum) {
  double q[1], v[1], want[2] = {-.275087462576, -.961419205099};
  if (!run(q, v, "a01", 10.0, 10000)) return;
  double at[2] = {-cos(q[0]), -sin(q[0])};
  CHECK_NEAR(distance(at, want, 2), 0.0, 1e-9);
}

TEST(a02_four_bars) {
  double e[2], q[8], v[8], want[2] = {.117616102376, .993059138451};
  for (int k = 0; k < 2; k++) {
    if (!run(q, v, "a02", 4.0, 2000 << k)) return;
    double at[2] = {-sin(q[0]), cos(q[0])};
    e[k] = distance(at, want, 2);
  }
  check_order(e[0], e[1], 2e-5);
}

TEST(a03_squeezing_mechanism) {
  /* beta, theta, gamma, delta, phi, epsilon, omega: our order of coordinates */
  double e[2], q[8], v[8],
      want[7] = {15.81077119629904,  -15.75637105984298, .04082224013073101, .5244099658805304,
                 -.5347301163226948, 1.048080741042263,  .5347301163226948};
  for (int k = 0; k < 2; k++) {
    if (!run(q, v, "a03", 0.03, 1500 << k)) return;
    e[k] = distance(q, want, 7);
  }
  check_order(e[0], e[1], 1e-4);
}

/* From 1.25 ms: in steps of 2.5 ms and more the energy, which may not rise by 1e-6 (keep_energy.c), is what counts, and
   the error falls faster than by four. */
TEST(a04_bricard_is_at_rest_after_half_a_period) {
  double e[2], q[8], v[8], rest[5] = {0};
  for (int k = 0; k < 2; k++) {
    if (!run(q, v, "bricard", 2.495855757, 2000 << k)) return;
    e[k] = distance(v, rest, 5);
  }
  check_order(e[0], e[1], 1e-6);
}

/* ---- standing robots ---- */

static void stands(const char* scene, double lowest) {
  double q[64], v[64], rest[64] = {0};
  if (!run(q, v, scene, 3.0, 3000)) return;
  CHECK(q[2] > lowest);
  CHECK_NEAR(distance(v, rest, 18), 0.0, 0.01); /* the servos have nearly settled */
}

TEST(the_quadruped_stands) { stands("quadruped", 0.25); }
TEST(the_humanoid_stands) { stands("humanoid", 0.9); }
