/* One run of a grasp scene with a chosen stepper, and the quantities of the planned motion. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grasp_bench.h"
#include "scene.h"

grasp_options grasp_default(int example) {
  return (grasp_options){.example = example,
                         .stepper = "time",
                         .path = example == 1 ? KN_GRASP_QUINTIC : KN_GRASP_CUBIC,
                         .eps = example == 1 ? 1e-3 : 5e-4,
                         .dt = 5e-4,
                         .lmin = 0.1};
}

kn_grasp grasp_plan_of(const grasp_options* o) {
  kn_grasp g = kn_grasp_task(o->example);
  g.path = o->path, g.law = o->law, g.lmin = o->lmin;
  if (o->y0 > 0) g.from[1] = o->y0;
  if (o->y0 > 0 && o->example == 1) g.to[1] = o->y0;
  return g;
}

/* ---- running ---- */

enum { SERIES = 1 + 2 * KN_GRASP_N + 4 + 3 * KN_GRASP_C + 1 };

static bool allocate(grasp_run* r, int n) {
  memset(r, 0, sizeof *r);
  r->memory = calloc((size_t)SERIES * (size_t)n, sizeof *r->memory);
  double* at = r->memory;
  if (!at) return false;
  double** place[] = {&r->t, &r->compliant};
  for (size_t i = 0; i < 2; i++) *place[i] = at, at += n;
  for (int i = 0; i < KN_GRASP_N; i++) r->q[i] = at, at += n;
  for (int i = 0; i < KN_GRASP_N; i++) r->v[i] = at, at += n;
  for (int i = 0; i < 4; i++) r->torque[i] = at, at += n;
  for (int i = 0; i < KN_GRASP_C; i++) {
    r->force[i][0] = at, at += n;
    r->force[i][1] = at, at += n;
    r->slip[i] = at, at += n;
  }
  return true;
}

void grasp_run_free(grasp_run* r) {
  free(r->memory);
  r->memory = NULL;
}

/* Forces and slip from the report, slip of open contacts from the closed form. */
static void take(grasp_run* r, int k, const kn_report* p, kn_state* x, const kn_grasp* g) {
  const double *q = kn_state_q(x), *v = kn_state_v(x);
  double torque[4], lambda[KN_GRASP_C];
  kn_grasp_contacts c;
  r->t[k] = kn_state_time(x);
  for (int i = 0; i < KN_GRASP_N; i++) r->q[i][k] = q[i], r->v[i][k] = v[i];
  kn_grasp_control(torque, lambda, g, r->t[k], q, v);
  kn_grasp_contacts_at(&c, q, v);
  for (int i = 0; i < 4; i++) r->torque[i][k] = torque[i];
  for (int i = 0; i < KN_GRASP_C; i++)
    for (int d = 0; d < KN_GRASP_N; d++) r->slip[i][k] += c.WT[i][d] * v[d];
  for (int i = 0; i < p->contacts; i++) {
    const kn_contact* e = &p->contact[i];
    int link = e->geom_b - 1; /* geoms: object, link1 … link4, palm */
    if (link < 0 || link >= KN_GRASP_C) continue;
    double t[2] = {e->frame[1], -e->frame[0]};
    r->force[link][0][k] = e->impulse[0] / p->dt;
    for (int a = 1; a < 3; a++)
      r->force[link][1][k] += e->impulse[a] / p->dt * (e->frame[3 * a] * t[0] + e->frame[3 * a + 1] * t[1]);
    r->compliant[k] += e->compliant;
  }
  double want[3], xd[3], xdd[3], direction[3];
  kn_grasp_desired(want, xd, xdd, direction, g, r->t[k]);
  r->error_y = fmax(r->error_y, fabs(q[1] - want[1]));
}

static void take_switches(grasp_run* r, const kn_report* p) {
  for (int i = 0; i < p->events; i++) {
    const kn_event* e = &p->event[i];
    if (e->kind != KN_EVENT_SWITCH) continue;
    int to = e->value > 0 ? 1 : -1;
    r->events++;
    if (r->switches && r->change[r->switches - 1].to == to && r->change[r->switches - 1].t == e->t) continue;
    if (r->switches == GRASP_SWITCHES) continue;
    grasp_switch* s = &r->change[r->switches++];
    *s = (grasp_switch){.t = e->t, .to = to, .sample = r->n - 1};
    snprintf(s->cause, sizeof s->cause, "%s", e->text);
  }
}

/* Jumps at each switch: forces of its step against those of the step before; velocities beyond what the step
   before changed. */
static void jumps(grasp_run* r) {
  for (int s = 0; s < r->switches; s++) {
    int k = r->change[s].sample;
    double largest = 0;
    if (k < 2) continue;
    for (int i = 0; i < KN_GRASP_C; i++) largest = fmax(largest, fabs(r->force[i][0][k - 1]));
    for (int i = 0; i < KN_GRASP_C; i++) {
      double d = fabs(r->force[i][0][k] - r->force[i][0][k - 1]);
      r->change[s].force_jump = fmax(r->change[s].force_jump, d / largest);
    }
    for (int i = 3; i < KN_GRASP_N; i++) {
      double d = (r->v[i][k] - r->v[i][k - 1]) - (r->v[i][k - 1] - r->v[i][k - 2]);
      r->change[s].velocity_jump = fmax(r->change[s].velocity_jump, fabs(d));
    }
  }
}

static kn_status open_scene(kn_scene_opened** o, const grasp_options* options) {
  char lmin[32], y0[32], name[16], eps[32];
  const char* set[5] = {options->path == KN_GRASP_CUBIC ? "path=cubic" : "path=quintic",
                        options->law == KN_GRASP_FEEDBACK ? "law=feedback" : "law=ff", lmin, eps, y0};
  snprintf(name, sizeof name, "grasp-%d", options->example);
  snprintf(lmin, sizeof lmin, "lmin=%.17g", options->lmin);
  snprintf(eps, sizeof eps, "eps=%.17g", options->eps);
  snprintf(y0, sizeof y0, "y0=%.17g", options->y0);
  return kn_scene_open(o, name, set, options->y0 > 0 ? 5 : 4);
}

bool grasp_simulate(grasp_run* r, const grasp_options* options, char reason[200]) {
  kn_scene_opened* o = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  kn_grasp g = grasp_plan_of(options);
  int n = (int)lround(1.0 / options->dt);
  if (!allocate(r, n)) return snprintf(reason, 200, "out of memory"), false;
  kn_status status = open_scene(&o, options);
  if (status != KN_OK) return snprintf(reason, 200, "%s", kn_scene_error()), false;
  kn_sim_settings s = kn_scene_settings_of(o);
  s.stepper = options->stepper;
  s.dt = options->dt;
  status = kn_state_create(&x, o->model);
  if (status == KN_OK) status = kn_scene_start(o, x);
  if (status == KN_OK) status = kn_sim_create(&sim, o->model, &s);
  if (status == KN_OK) status = kn_sim_set_controller(sim, &o->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, x);
  for (int k = 0; k < n && status == KN_OK; k++) {
    status = kn_step(sim, x);
    if (status != KN_OK) break;
    take(r, r->n, kn_sim_report(sim), x, &g);
    r->n++;
    take_switches(r, kn_sim_report(sim));
  }
  jumps(r);
  if (status != KN_OK) snprintf(reason, 200, "%s", kn_last_error());
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return status == KN_OK;
}

double grasp_difference(const grasp_run* a, const grasp_run* b, int i) {
  double worst = 0;
  for (int k = 0; k < a->n && k < b->n; k++) worst = fmax(worst, fabs(a->q[i][k] - b->q[i][k]));
  return worst;
}

double grasp_force_difference(const grasp_run* a, const grasp_run* b, double from, double to) {
  double worst = 0;
  for (int k = 0; k < a->n && k < b->n; k++)
    for (int i = 0; i < KN_GRASP_C && a->t[k] > from && a->t[k] < to; i++)
      worst = fmax(worst, fabs(a->force[i][0][k] - b->force[i][0][k]));
  return worst;
}

/* ---- the planned motion ---- */

static void matrix_at(double A[16], const kn_grasp* g, double t) {
  kn_grasp_plan p;
  double M[KN_GRASP_N * KN_GRASP_N], h[KN_GRASP_N];
  kn_grasp_plan_at(&p, g, t);
  kn_grasp_dynamics(M, h, p.q, p.v);
  kn_grasp_matrix(A, &p.contact, M, g->mu, p.slip);
}

bool grasp_is_p(const kn_grasp* g, double t) {
  double A[16];
  kn_pmatrix answer;
  matrix_at(A, g, t);
  return kn_pmatrix_test(&answer, 4, A, 4) == KN_OK && answer.is_p == KN_ANSWER_YES;
}

double grasp_p_change(const kn_grasp* g, double lo, double hi, bool to) {
  double step = 1e-3, at = lo;
  while (at < hi && grasp_is_p(g, at) != to) at += step;
  if (at >= hi) return NAN;
  double a = at - step, b = at;
  for (int k = 0; k < 50; k++) {
    double mid = 0.5 * (a + b);
    if (grasp_is_p(g, mid) == to)
      b = mid;
    else
      a = mid;
  }
  return b;
}

int grasp_solution_count(const kn_grasp* g, double t) {
  kn_grasp_plan p;
  double M[KN_GRASP_N * KN_GRASP_N], h[KN_GRASP_N], A[16], b[4], torque[4], lambda[4], z[64];
  kn_lcp_enumeration all;
  kn_lcp_work* work;
  if (!kn_grasp_plan_at(&p, g, t) || kn_lcp_work_create(&work, 4) != KN_OK) return -1;
  kn_grasp_dynamics(M, h, p.q, p.v);
  kn_grasp_matrix(A, &p.contact, M, g->mu, p.slip);
  kn_grasp_control(torque, lambda, g, t, p.q, p.v);
  kn_grasp_offset(b, &p.contact, M, h, torque);
  kn_lcp lcp = {.n = 4, .M = A, .q = b};
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_status status = kn_lcp_enumerate(z, 16, &all, &lcp, &settings, work);
  kn_lcp_work_destroy(work);
  return status == KN_OK && all.complete ? all.count : -1;
}
