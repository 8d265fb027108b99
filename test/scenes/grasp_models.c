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

/* Normal forces on link1 of the last 50 ms of the rigid run, N: `now` at 0.9985 s, the largest, and the largest change from
   one step to the next; `before`: the largest of the whole run until then. */
typedef struct ending {
  double now, most, jump, before;
} ending;

static bool end_of(ending* e, double lmin) {
  char setting[32];
  const char* set[] = {setting};
  kn_scene_opened* o;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  snprintf(setting, sizeof setting, "lmin=%.17g", lmin);
  *e = (ending){0};
  if (!CHECK_OK(kn_scene_open(&o, "grasp-1", set, 1))) return false;
  kn_sim_settings s = kn_scene_settings_of(o);
  s.dt = 5e-4;
  bool ok = CHECK_OK(kn_state_create(&x, o->model)) && CHECK_OK(kn_scene_start(o, x)) &&
            CHECK_OK(kn_sim_create(&sim, o->model, &s)) &&
            CHECK_OK(kn_sim_set_controller(sim, &o->controller)) && CHECK_OK(kn_sim_prepare(sim, x));
  double last = 0;
  for (int k = 1; k <= 2000 && ok; k++) {
    ok = CHECK_OK(kn_step(sim, x));
    const kn_report* r = kn_sim_report(sim);
    double force = 0;
    for (int i = 0; i < r->contacts; i++)
      if (r->contact[i].geom_b == 1)
        force = r->contact[i].impulse[0] / r->dt; /* geoms: object, link1 … link4 */
    if (k > 1900) e->most = fmax(e->most, force), e->jump = fmax(e->jump, fabs(force - last));
    if (k <= 1900) e->before = fmax(e->before, force);
    if (k == 1997) e->now = force;
    last = force;
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}

/* Figure 7's forces of 4 N at t = 1 are the hand's squeeze and no fault of the contacts: the controller asks for
   λ = G⁺F + α z with G z = 0 and α = (lmin - λ_2)/z_2, where z_2 is small in the last pose. So they are linear in lmin, grow from
   0.9855 s on without a jump (0.155 N a step is 0.31 N/ms times half a millisecond), and are not there for small lmin. */
TEST(forces_at_the_end_are_the_squeeze_that_was_asked_for) {
  static const double lmin[4] = {0.2, 0.1, 0.05, 0.02};
  ending e[4];
  for (int k = 0; k < 4; k++)
    if (!end_of(&e[k], lmin[k])) return;
  printf("  at 0.9985 s: %.4f, %.4f, %.4f, %.4f N\n", e[0].now, e[1].now, e[2].now, e[3].now);
  CHECK_NEAR((e[0].now - e[1].now) / (e[1].now - e[2].now), 2.0, 1e-3); /* feedback of the sampled state */
  CHECK_NEAR((e[2].now - e[3].now) / (e[1].now - e[2].now), 0.6, 1e-3);
  CHECK(e[1].most > 4.0);
  CHECK_BELOW(e[1].jump, 0.16);
  CHECK_BELOW(e[3].most, 0.5 * e[3].before);
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
