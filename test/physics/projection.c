/* Mechanisms with the projection formulation: through a singular position, with redundant loops, for a
   minute; and no allocation per step. */
#include <math.h>
#include <string.h>

#include "ledger.h"
#include "scene.h"
#include "test.h"

typedef struct mechanism {
  kn_scene_opened* scene;
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
  double closure, integration, first, last, balance, condition;
  long trouble;
} mechanism;

static bool start(mechanism* m, const kn_sim_settings* base, double dt) {
  kn_sim_settings s = *base;
  s.dt = dt;
  s.formulation = "projection";
  return CHECK_OK(kn_sim_create(&m->sim, m->model, &s)) && CHECK_OK(kn_sim_prepare(m->sim, m->state));
}

static bool open_scene(mechanism* m, const char* name, double dt) {
  memset(m, 0, sizeof *m);
  if (!CHECK_OK(kn_scene_open(&m->scene, name, NULL, 0))) return false;
  m->model = m->scene->model;
  kn_sim_settings s = kn_scene_settings(m->scene->scene);
  return CHECK_OK(kn_state_create(&m->state, m->model)) && CHECK_OK(kn_scene_start(m->scene, m->state)) &&
         start(m, &s, dt);
}

/* A plate on three equal vertical cranks, each tied to it by a hinge's worth of rows: a platform that
   translates on a circle. Each leg beyond the first adds five rows of which four are redundant. */
static bool open_platform(mechanism* m, double dt) {
  static const double at[3][2] = {{-0.5, -0.3}, {0.5, -0.3}, {0.0, 0.6}};
  kn_spec* spec;
  kn_body leg[3], plate = KN_WORLD;
  kn_joint joint;
  kn_loop loop;
  memset(m, 0, sizeof *m);
  kn_spec_create(&spec);
  for (int i = 0; i < 4; i++) { /* first leg, plate, second and third leg: the order of q */
    kn_body_def b = kn_body_default();
    kn_body* body = i == 1 ? &plate : &leg[i ? i - 1 : 0];
    if (i == 1) {
      b.parent = leg[0];
      b.pos[2] = 0.5;
      b.mass = 3;
      b.com[0] = 0.5, b.com[1] = 0.3;
      b.inertia[0] = b.inertia[1] = 0.3, b.inertia[2] = 0.6;
    } else {
      b.pos[0] = at[i ? i - 1 : 0][0], b.pos[1] = at[i ? i - 1 : 0][1];
      b.mass = 1;
      b.com[2] = 0.25;
      b.inertia[0] = b.inertia[1] = 0.02, b.inertia[2] = 0.001;
    }
    CHECK_OK(kn_spec_add_body(body, spec, &b));
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    j.body = *body;
    j.axis[0] = 0, j.axis[1] = 1, j.axis[2] = 0;
    CHECK_OK(kn_spec_add_joint(&joint, spec, &j));
  }
  for (int i = 1; i < 3; i++)
    for (int k = 0; k < 2; k++) { /* two points on the hinge's axis: six rows, five of a hinge */
      kn_loop_def l = kn_loop_default(KN_LOOP_CONNECT);
      l.a = plate;
      l.b = leg[i];
      l.pos_a[0] = at[i][0] - at[0][0], l.pos_a[1] = at[i][1] - at[0][1] + 0.2 * k;
      l.pos_b[1] = 0.2 * k, l.pos_b[2] = 0.5;
      CHECK_OK(kn_spec_add_loop(&loop, spec, &l));
    }
  bool ok = CHECK_OK(kn_compile(&m->model, spec));
  kn_spec_destroy(spec);
  kn_sim_settings s = kn_sim_default();
  s.determinate = true;
  if (!ok || !CHECK_OK(kn_state_create(&m->state, m->model)) || !start(m, &s, dt)) return false;
  double *q = kn_state_q(m->state), *v = kn_state_v(m->state);
  for (int i = 0; i < 4; i++)
    q[i] = i == 1 ? -0.4 : 0.4, v[i] = i == 1 ? -1.0 : 1.0; /* the plate stays level */
  return true;
}

static bool advance(mechanism* m, long steps) {
  for (long i = 0; i < steps; i++) {
    if (!CHECK_OK(kn_step(m->sim, m->state))) return false;
    const kn_report* r = kn_sim_report(m->sim);
    m->closure = fmax(m->closure, r->closure);
    m->condition = fmax(m->condition, r->condition);
    m->trouble += r->status != KN_OK;
    m->last = r->energy.kinetic + r->energy.potential;
    if (m->first == 0.0) m->first = m->last;
    m->integration += fabs(r->ledger.integration + r->ledger.correction + r->ledger.loop);
    m->balance = fmax(m->balance, fabs(kn_ledger_left(&r->ledger)));
  }
  return true;
}

static void close_mechanism(mechanism* m) {
  kn_sim_destroy(m->sim);
  kn_state_destroy(m->state);
  if (m->scene)
    kn_scene_close(m->scene);
  else
    kn_model_destroy(m->model);
}

/* A02: the published value at t = 4 s after two passes of the singular position; second order. */
TEST(a02_at_four_seconds) {
  double error[2], integration[2];
  for (int k = 0; k < 2; k++) {
    mechanism m;
    double dt = k ? 1e-3 : 2e-3;
    if (!open_scene(&m, "a02", dt) || !advance(&m, lround(4 / dt))) return;
    kn_pose pose;
    kn_body upright;
    CHECK_OK(kn_kinematics(m.model, m.state, kn_sim_data(m.sim)));
    CHECK_OK(kn_model_find_body(&upright, m.model, "upright0"));
    CHECK_OK(kn_body_pose(&pose, m.model, kn_sim_data(m.sim), upright));
    error[k] = hypot(pose.R[2] - 0.117616102376, pose.R[8] - 0.993059138451);
    integration[k] = m.integration;
    CHECK_NEAR(m.closure, 0, 1e-9);
    CHECK_INT(m.trouble, 0);
    CHECK_NEAR(m.last, 35.835, 1e-4);
    CHECK_BELOW(m.balance, 1e-11); /* energies of 40 J */
    if (k) printf("  a02: closure %.2g, cond(Mc) up to %.3g\n", m.closure, m.condition);
    close_mechanism(&m);
  }
  printf(
      "  a02: error %.2g m at 2 ms, %.2g m at 1 ms: order %.2f; sum |integration| %.3g, %.3g J: order %.2f\n",
      error[0], error[1], log2(error[0] / error[1]), integration[0], integration[1],
      log2(integration[0] / integration[1]));
  CHECK_BELOW(error[1], 2e-7);
  CHECK(log2(error[0] / error[1]) > 1.7);
  CHECK(log2(integration[0] / integration[1]) > 1.7);
}

/* A minute (10 s in the short run) with both step sizes: closed, balanced, second order. */
static void long_run(const char* name, bool (*open)(mechanism*, double), double limit) {
  double seconds = kn_test_effort() > 1 ? 60 : 6, drift[2], integration[2];
  for (int k = 0; k < 2; k++) {
    mechanism m;
    double dt = k ? 1e-3 : 2e-3;
    if (!open(&m, dt) || !advance(&m, lround(seconds / dt))) return;
    drift[k] = fabs(m.last - m.first);
    integration[k] = m.integration;
    CHECK_BELOW(m.closure, 1e-9);
    CHECK_INT(m.trouble, 0);
    CHECK_BELOW(m.balance, 1e-11);
    if (k)
      printf("  %s, %g s: closure %.2g, energy drift %.2g J, cond(Mc) up to %.3g\n", name, seconds, m.closure,
             drift[1], m.condition);
    close_mechanism(&m);
  }
  double order = log2(integration[0] / integration[1]);
  printf("  %s: sum |integration| %.3g J at 2 ms, %.3g J at 1 ms: order %.2f\n", name, integration[0],
         integration[1], order);
  CHECK(order > 1.7 && order < 2.5);
  CHECK_BELOW(drift[1], limit);
}

static bool open_bricard(mechanism* m, double dt) { return open_scene(m, "bricard", dt); }
static bool open_a02(mechanism* m, double dt) { return open_scene(m, "a02", dt); }

TEST(bricard_for_a_minute) { long_run("bricard", open_bricard, 1e-3); }
TEST(platform_for_a_minute) { long_run("platform", open_platform, 1e-3); }
TEST(a02_for_a_minute) { long_run("a02", open_a02, 1e-3); }

/* The redundant platform: loop impulses are flagged, the same motion as os. */
TEST(platform_flags_its_redundant_rows) {
  mechanism m;
  if (!open_platform(&m, 1e-3) || !advance(&m, 200)) return;
  const kn_report* r = kn_sim_report(m.sim);
  int flagged = 0;
  if (!CHECK(r->loop_determinate != NULL)) return;
  for (int i = 0; i < r->loops; i++) flagged += !r->loop_determinate[i];
  printf("  %d of %d loop rows are not determined by the motion\n", flagged, r->loops);
  CHECK_INT(r->loops, 12);
  CHECK(flagged >= 9);
  CHECK_BELOW(r->momentum_error, 1e-10);
  kn_sim* os;
  kn_state* x;
  kn_sim_settings s = kn_sim_default();
  CHECK_OK(kn_state_create(&x, m.model));
  double *q = kn_state_q(x), *v = kn_state_v(x);
  for (int i = 0; i < 4; i++) q[i] = i == 1 ? -0.4 : 0.4, v[i] = i == 1 ? -1.0 : 1.0;
  CHECK_OK(kn_sim_create(&os, m.model, &s));
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(os, x));
  CHECK_ARRAY(kn_state_q(m.state), kn_state_q(x), 4, 1e-9);
  CHECK_ARRAY(kn_state_v(m.state), kn_state_v(x), 4, 1e-9);
  kn_sim_destroy(os);
  kn_state_destroy(x);
  close_mechanism(&m);
}

/* Formulation and law together, contacts and impacts included: nothing is allocated. */
TEST(no_allocation_per_step) {
  static const char* const names[] = {"a02",           "bricard",    "pendulum-2014",
                                      "newton-cradle", "woodpecker", "slider-crank"};
  if (!kn_test_counts_allocations()) SKIP("allocations are not counted here");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mechanism m;
    memset(&m, 0, sizeof m);
    if (!CHECK_OK(kn_scene_open(&m.scene, names[i], NULL, 0))) return;
    m.model = m.scene->model;
    kn_sim_settings s = kn_scene_settings(m.scene->scene);
    s.law = "projection";
    s.determinate = true;
    CHECK_OK(kn_state_create(&m.state, m.model));
    CHECK_OK(kn_scene_start(m.scene, m.state));
    if (!start(&m, &s, s.dt)) return;
    if (m.scene->controller.fn) CHECK_OK(kn_sim_set_controller(m.sim, &m.scene->controller));
    CHECK_OK(kn_sim_prepare(m.sim, m.state));
    int impacts = 0, closed = 0;
    size_t before = kn_test_allocations();
    for (int k = 0; k < 800; k++) {
      if (kn_step(m.sim, m.state) != KN_OK) break;
      impacts += kn_sim_report(m.sim)->impact.islands, closed += kn_sim_report(m.sim)->impact.closed;
    }
    size_t count = kn_test_allocations() - before;
    printf("  %s: %zu allocations, %d impacts, %d by the closed form\n", names[i], count, impacts, closed);
    CHECK_INT(count, 0);
    close_mechanism(&m);
  }
}
