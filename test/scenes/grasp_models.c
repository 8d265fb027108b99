/* Song and Kumar's example 1 with rigid and with compliant contact, and the compliant stepper against the
   closed-form integrator that shares nothing with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grasp_reference.h"
#include "scene.h"
#include "test.h"

static const double DEGREE = 0.017453292519943295;
enum { MOST = 4000 };

typedef struct track {
  int n;
  double t[MOST], q[MOST][KN_GRASP_N];
} track;

static bool run(track* r, const char* scene, const char* stepper, double eps, double dt) {
  char setting[32];
  const char* set[] = {setting};
  kn_scene_opened* o;
  kn_state* x;
  kn_sim* sim;
  snprintf(setting, sizeof setting, "eps=%.17g", eps);
  r->n = 0;
  if (!CHECK_OK(kn_scene_open(&o, scene, set, 1))) return false;
  kn_sim_settings s = kn_scene_settings_of(o);
  s.stepper = stepper, s.dt = dt;
  CHECK_OK(kn_state_create(&x, o->model));
  CHECK_OK(kn_scene_start(o, x));
  bool ok = CHECK_OK(kn_sim_create(&sim, o->model, &s));
  ok = ok && CHECK_OK(kn_sim_set_controller(sim, &o->controller)) && CHECK_OK(kn_sim_prepare(sim, x));
  for (int k = 0, n = (int)lround(1 / dt); k < n && ok; k++, r->n++) {
    ok = CHECK_OK(kn_step(sim, x));
    r->t[k] = kn_state_time(x);
    memcpy(r->q[k], kn_state_q(x), sizeof r->q[k]);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}

static double apart(const track* a, const track* b, int i) {
  double worst = 0;
  for (int k = 0; k < a->n && k < b->n; k++) worst = fmax(worst, fabs(a->q[k][i] - b->q[k][i]));
  return worst;
}

/* Example 1: the models agree within 0.6 mm (the paper: 1 mm) at ε = 1e-3, first order in ε. */
TEST(compliant_contact_tends_to_rigid_contact) {
  static track rigid, compliant;
  static const double eps[4] = {1e-3, 5e-4, 2.5e-4, 1.25e-4};
  double dx[4];
  if (!run(&rigid, "grasp-1", "time", 1e-3, 5e-4)) return;
  CHECK_NEAR(rigid.q[rigid.n - 1][2] / DEGREE, 110.0, 0.01);
  for (int k = 0; k < 4; k++) {
    if (!run(&compliant, "grasp-1", "compliant", eps[k], 5e-4)) return;
    dx[k] = apart(&rigid, &compliant, 0);
  }
  printf("  %.4f, %.4f, %.4f, %.4f mm\n", 1e3 * dx[0], 1e3 * dx[1], 1e3 * dx[2], 1e3 * dx[3]);
  CHECK_BELOW(dx[0], 0.6e-3);
  for (int k = 1; k < 4; k++) {
    CHECK(dx[k - 1] / dx[k] > 1.7);
    CHECK_BELOW(dx[k - 1] / dx[k], 2.4);
  }
}

/* The event stepper integrates the rigid problem on the acceleration level: the plan is its exact solution.
 */
TEST(the_event_stepper_stays_on_the_plan) {
  static track r;
  static const char* const name[2] = {"grasp-1", "grasp-2"};
  for (int e = 0; e < 2; e++) {
    kn_grasp g = kn_grasp_task(e + 1);
    double worst = 0;
    if (!run(&r, name[e], "event", 1e-3, 1e-3)) return;
    for (int k = 0; k < r.n; k++) {
      double x[3], xd[3], xdd[3], direction[3];
      kn_grasp_desired(x, xd, xdd, direction, &g, r.t[k]);
      for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(r.q[k][i] - x[i]));
    }
    printf("  %s: %.2g m or rad\n", name[e], worst);
    CHECK_BELOW(worst, 1e-7); /* its rtol is 1e-9 per sub-step; feedback keeps errors from adding up */
  }
}

/* 0.2 s of the rotation by every formulation: one that leaves no factored rows behind crashed in the quick
   position repair. */
TEST(every_formulation_turns_the_object) {
  double reference[KN_GRASP_N];
  for (const kn_choice* f = kn_formulations(); f->name; f++) {
    kn_scene_opened* o;
    kn_state* x;
    kn_sim* sim;
    if (!CHECK_OK(kn_scene_open(&o, "grasp-1", NULL, 0))) return;
    kn_sim_settings s = kn_scene_settings_of(o);
    s.formulation = f->name;
    CHECK_OK(kn_state_create(&x, o->model));
    CHECK_OK(kn_scene_start(o, x));
    CHECK_OK(kn_sim_create(&sim, o->model, &s));
    CHECK_OK(kn_sim_set_controller(sim, &o->controller));
    CHECK_OK(kn_sim_prepare(sim, x));
    for (int k = 0; k < 400; k++)
      if (!CHECK_OK(kn_step(sim, x))) break;
    if (f == kn_formulations()) memcpy(reference, kn_state_q(x), sizeof reference);
    /* each solves to 1e-10 scaled; the repair stops at 1e-13 m */
    if (!CHECK_ARRAY(kn_state_q(x), reference, KN_GRASP_N, 1e-7)) printf("  %s\n", f->name);
    kn_sim_destroy(sim);
    kn_state_destroy(x);
    kn_scene_close(o);
  }
}

/* Largest distance of the object from the reference's, m. */
static double from_reference(const track* r, int example, double eps, double dt) {
  kn_grasp g = kn_grasp_task(example);
  kn_grasp_state x = kn_grasp_start(&g, eps);
  int per = (int)lround(dt / 1e-4);
  double worst = 0;
  for (int k = 0; k < r->n; k++) {
    for (int i = 0; i < per; i++) kn_grasp_step(&x, &g, dt / per);
    worst = fmax(worst, hypot(x.q[0] - r->q[k][0], x.q[1] - r->q[k][1]));
  }
  return worst;
}

TEST(the_compliant_stepper_is_that_of_the_closed_form) {
  static track r;
  double error[2];
  for (int k = 0; k < 2; k++) {
    double dt = k ? 5e-4 : 1e-3;
    if (!run(&r, "grasp-1", "compliant", 1e-3, dt)) return;
    error[k] = from_reference(&r, 1, 1e-3, dt);
  }
  printf("  %.3g m at 1 ms, %.3g m at 0.5 ms\n", error[0], error[1]);
  CHECK_BELOW(error[1], 1e-5);            /* 5 % of what the model itself moves away from the rigid one */
  CHECK_BELOW(error[1], 0.65 * error[0]); /* at least first order: the controller is sampled once per step */
}
