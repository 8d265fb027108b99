/* Moving obstacles: a body whose joint follows a prescribed motion is an obstacle whose gap depends on time,
   and its contacts share one problem with the rows J v = U(t). */
#include <math.h>
#include <string.h>

#include "knuckle/step.h"
#include "scene.h"
#include "test.h"

typedef struct table {
  kn_model* model;
  kn_state* x;
  kn_sim* sim;
} table;

/* A plate on a slide along `axis` (0: x, 2: z) that moves as c0 + c1 sin(c2 t + c3), and a box of 1 kg on it.
 */
static bool open_table(table* t, int axis, const double c[4], double mu, const char* formulation) {
  kn_spec* spec;
  kn_body plate, box;
  kn_joint slide, free;
  kn_geom geom;
  kn_loop loop;
  memset(t, 0, sizeof *t);
  kn_spec_create(&spec);
  kn_body_def b = kn_body_default();
  b.mass = 3.0;
  b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.1;
  CHECK_OK(kn_spec_add_body(&plate, spec, &b));
  b.mass = 1.0;
  b.pos[2] = 0.15;
  b.inertia[0] = b.inertia[1] = b.inertia[2] = 1.0 / 600.0;
  CHECK_OK(kn_spec_add_body(&box, spec, &b));
  kn_joint_def j = kn_joint_default(KN_JOINT_SLIDE);
  j.body = plate;
  for (int k = 0; k < 3; k++) j.axis[k] = k == axis;
  CHECK_OK(kn_spec_add_joint(&slide, spec, &j));
  j = kn_joint_default(KN_JOINT_FREE);
  j.body = box;
  CHECK_OK(kn_spec_add_joint(&free, spec, &j));
  kn_geom_def g = kn_geom_default(KN_SHAPE_BOX);
  g.body = plate;
  g.shape.size[0] = g.shape.size[1] = 1.0, g.shape.size[2] = 0.1;
  g.material.mu = mu;
  g.material.e = 0.0;
  CHECK_OK(kn_spec_add_geom(&geom, spec, &g));
  g.body = box;
  for (int k = 0; k < 3; k++) g.shape.size[k] = 0.05;
  CHECK_OK(kn_spec_add_geom(&geom, spec, &g));
  kn_loop_def l = kn_loop_default(KN_LOOP_COUPLING);
  l.joint1 = slide;
  l.joint2 = -1;
  memset(l.coef, 0, sizeof l.coef);
  l.motion = (kn_motion){.kind = KN_MOTION_SINE, .c = {c[0], c[1], c[2], c[3], 0.0}};
  CHECK_OK(kn_spec_add_loop(&loop, spec, &l));
  kn_sim_settings s = kn_sim_default();
  s.formulation = formulation;
  s.max_contacts = 16;
  bool ok = CHECK_OK(kn_compile(&t->model, spec)) && CHECK_OK(kn_state_create(&t->x, t->model)) &&
            CHECK_OK(kn_sim_create(&t->sim, t->model, &s));
  kn_spec_destroy(spec);
  if (!ok) return false;
  double start = c[0] + c[1] * sin(c[3]), speed = c[1] * c[2] * cos(c[3]);
  kn_state_q(t->x)[0] = start;
  kn_state_v(t->x)[0] = speed;
  kn_state_q(t->x)[1 + axis] += start; /* the box rides along from the beginning */
  kn_state_v(t->x)[1 + axis] = speed;
  return true;
}

static void close_table(table* t) {
  kn_sim_destroy(t->sim);
  kn_state_destroy(t->x);
  kn_model_destroy(t->model);
}

/* A table that shakes upwards with less than g carries the box exactly; with more than g the box leaves it
   when the table's acceleration falls below -g, at sin(w t) = g/(A w²), with the table's velocity. */
TEST(shaking_table_carries_and_throws) {
  static const char* const list[] = {"os", "mc", "nmc-sparse"};
  for (int f = 0; f < 3; f++) { /* 4e-7: A w³ dt³ */
    table t;
    double gentle[4] = {0, 0.01, 20.0, 0}, rough[4] = {0, 0.05, 20.0, 0}, worst = 0; /* 4 and 20 m/s² */
    if (!open_table(&t, 2, gentle, 0.5, list[f])) return;
    for (int k = 0; k < 1000; k++) {
      CHECK_OK(kn_step(t.sim, t.x));
      worst = fmax(worst, fabs(kn_state_q(t.x)[3] - 0.15 - 0.01 * sin(20.0 * kn_state_time(t.x))));
      CHECK_BELOW(kn_sim_report(t.sim)->gain_rel, 1e-9);
    }
    CHECK_BELOW(worst, 8e-8); /* A w³ dt³: by as much a step may open the gap, which nothing pulls shut */
    close_table(&t);
    if (!open_table(&t, 2, rough, 0.5, list[f])) return;
    double left = NAN;
    for (int k = 0; k < 100 && isnan(left); k++) {
      CHECK_OK(kn_step(t.sim, t.x));
      if (kn_state_q(t.x)[3] - kn_state_q(t.x)[0] > 0.15 + 4e-7) left = kn_state_time(t.x);
    }
    CHECK_NEAR(left, asin(9.81 / 20.0) / 20.0, 2.5e-3);           /* seen one or two steps of 1 ms late */
    CHECK_NEAR(kn_state_v(t.x)[3], 1.0 * cos(20.0 * left), 0.03); /* 2.5 ms of 10 m/s² */
    close_table(&t);
  }
}

/* A table that moves sideways drags the box by friction: mu g while it slips, with it when it sticks. */
TEST(sliding_table_drags_by_friction) {
  double c[4] = {0, 0.05, 10.0, -1.5707963267948966}; /* x = -0.05 cos(10 t): 5 m/s² at the start */
  table t;
  if (!open_table(&t, 0, c, 0.3, "os")) return;
  for (int k = 0; k < 50; k++) CHECK_OK(kn_step(t.sim, t.x));
  /* until 50 ms the table's 5 cos(10 t) stays above mu g = 2.943: the box slips and lags */
  double time = kn_state_time(t.x);
  CHECK_NEAR(kn_state_v(t.x)[1], 0.3 * 9.81 * time, 2e-3); /* one step of slack where slipping begins */
  close_table(&t);
  if (!open_table(&t, 0, c, 0.8, "os")) return;
  for (int k = 0; k < 500; k++) CHECK_OK(kn_step(t.sim, t.x));
  CHECK_NEAR(kn_state_q(t.x)[1], -0.05 * cos(10.0 * kn_state_time(t.x)),
             5e-8); /* sticks all the way; A w³ dt³ */
  close_table(&t);
}
