/* Runge-Kutta between events: Dormand and Prince 5(4) with its continuous extension (E. Hairer, S. P. Nørsett
   and G. Wanner, Solving Ordinary Differential Equations I, II.5-II.6). Unknowns (u, v) with q = q0 ⊕ u,
   u' = dexp⁻¹_u v, so that rotations stay rotations. The stages solve the held rows with fixed modes. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/event/event.h"

static const double c[KN_EVENT_STAGES] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
static const double a[KN_EVENT_STAGES][6] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double e[KN_EVENT_STAGES] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                          -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
static const double dense[KN_EVENT_STAGES] = {-12715105075.0 / 11282082432,  0.0,
                                              87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
                                              701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                                              69997945.0 / 29380423};

static void clear_sums(const kn_sim* s, kn_event_work* w) {
  memset(w->control.sum, 0, (size_t)s->model->nv * sizeof(double));
  memset(w->flow.power, 0, sizeof w->flow.power);
  for (int g = 0; g < w->closed.helds; g++) {
    memset(w->closed.held[g].impulse, 0, sizeof w->closed.held[g].impulse);
    memset(w->closed.held[g].slip, 0, sizeof w->closed.held[g].slip);
  }
}

/* Work, impulses and slip of a stage. */
static void gather(const kn_sim* s, kn_event_work* w, double weight) {
  if (weight == 0.0) return;
  for (int i = 0; i < s->model->nv; i++) w->control.sum[i] += weight * s->force.tau_applied[i];
  for (int k = 0; k < KN_POWERS; k++) w->flow.power[k] += weight * w->flow.stage_power[k];
  for (int g = 0; g < w->closed.helds; g++) {
    kn_held* h = &w->closed.held[g];
    if (h->kind != KN_ROW_CONTACT) {
      h->impulse[0] += weight * h->f[0];
      continue;
    }
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) {
        h->impulse[i] += weight * h->f[k] * h->c.frame[3 * k + i];
        if (k) h->slip[i] += weight * h->u[k] * h->c.frame[3 * k + i];
      }
  }
}

static double scaled_error(const kn_sim* s, const kn_event_work* w, double h) {
  double worst = 0.0, rtol = s->settings.rtol;
  for (int j = 0; j < s->model->nv; j++) {
    double eu = 0.0, ev = 0.0;
    for (int i = 0; i < KN_EVENT_STAGES; i++) eu += e[i] * w->flow.ku[i][j], ev += e[i] * w->flow.kv[i][j];
    double size = fmax(fabs(w->v[j]), fabs(w->v1[j]));
    worst = fmax(worst, fabs(h * eu) / (rtol * (1e-3 + fabs(w->flow.u1[j]))));
    worst = fmax(worst, fabs(h * ev) / (rtol * (1e-2 + size)));
  }
  return worst;
}

/* One step of size h from (w->q, w->v), whose acceleration is w->a with modes chosen, to (w->q1, w->v1); the
   last evaluation is at the end. error: relative to the tolerance. */
kn_status kn_event_flow(double* error, kn_sim* s, kn_event_work* w, kn_state* x, double h) {
  const kn_model* m = s->model;
  size_t nv = (size_t)m->nv;
  w->flow.h = h;
  clear_sums(s, w);
  for (int i = 0; i < KN_EVENT_STAGES; i++) {
    double *u = i == 6 ? w->flow.u1 : w->flow.us, *v = i == 6 ? w->v1 : w->flow.vs,
           *q = i == 6 ? w->q1 : w->flow.q_stage;
    for (size_t j = 0; j < nv; j++) {
      double du = 0.0, dv = 0.0;
      for (int k = 0; k < i; k++) du += a[i][k] * w->flow.ku[k][j], dv += a[i][k] * w->flow.kv[k][j];
      u[j] = h * du;
      v[j] = w->v[j] + h * dv;
    }
    kn_dyn_integrate(q, m, w->q, u, 1.0);
    kn_dyn_increment_rate(w->flow.ku[i], m, u, v);
    if (i == 0 && w->step.fresh) { /* the modes were chosen with this evaluation */
      memcpy(w->flow.kv[0], w->a, nv * sizeof(double));
      w->step.fresh = false;
    } else {
      KN_TRY(kn_event_rate(w->flow.kv[i], s, w, x, w->t + c[i] * h, q, v, false));
    }
    gather(s, w, i < 6 ? h * a[6][i] : 0.0);
  }
  *error = scaled_error(s, w, h);
  return KN_OK;
}

bool kn_event_slow_slip(const kn_event_work* w, double h) {
  for (int g = 0; g < w->closed.helds; g++) {
    const kn_held* k = &w->closed.held[g];
    if (k->kind != KN_ROW_CONTACT || k->mode != KN_MODE_SLIP || !(k->c.mu > 0.0) || kn_event_sticks(k))
      continue;
    double u = sqrt(k->u[1] * k->u[1] + k->u[2] * k->u[2]);
    double x = k->u[1] + h * k->a[1], y = k->u[2] + h * k->a[2];
    if (h * k->across > 4.0 * fmax(u, sqrt(x * x + y * y))) return true; /* stability ends at 3.3 */
  }
  return false;
}

/* Nothing moves and nothing will: the evaluation at the start holds for the whole sub-step to rounding. */
bool kn_event_still(const kn_sim* s, const kn_event_work* w, double h) {
  const kn_model* m = s->model;
  if (s->controller.fn && !w->control.held) return false;
  for (int i = 0; i < m->nloop; i++)
    if (m->loop[i].motion.kind != KN_MOTION_NONE) return false;
  for (int j = 0; j < m->nv; j++)
    if (fabs(w->v[j]) + h * fabs(w->a[j]) > 1e-12) return false; /* m/s: below the tolerance */
  return true;
}

void kn_event_stay(kn_sim* s, kn_event_work* w, double h) {
  w->flow.h = h;
  clear_sums(s, w);
  for (int j = 0; j < s->model->nv; j++) {
    w->flow.u1[j] = h * (w->v[j] + 0.5 * h * w->a[j]);
    w->v1[j] = w->v[j] + h * w->a[j];
  }
  kn_dyn_integrate(w->q1, s->model, w->q, w->flow.u1, 1.0);
  gather(s, w, h);
}

/* State at t + θ h of the last step. */
void kn_event_dense(double* q, double* v, kn_sim* s, kn_event_work* w, double theta) {
  double h = w->flow.h, rest = 1.0 - theta;
  for (int j = 0; j < s->model->nv; j++) {
    double fifth_u = 0.0, fifth_v = 0.0;
    for (int i = 0; i < KN_EVENT_STAGES; i++)
      fifth_u += dense[i] * w->flow.ku[i][j], fifth_v += dense[i] * w->flow.kv[i][j];
    double du = w->flow.u1[j], dv = w->v1[j] - w->v[j];
    double bu = h * w->flow.ku[0][j] - du, bv = h * w->flow.kv[0][j] - dv;
    double cu = du - h * w->flow.ku[6][j] - bu, cv = dv - h * w->flow.kv[6][j] - bv;
    w->flow.us[j] = theta * (du + rest * (bu + theta * (cu + rest * h * fifth_u)));
    v[j] = w->v[j] + theta * (dv + rest * (bv + theta * (cv + rest * h * fifth_v)));
  }
  kn_dyn_integrate(q, s->model, w->q, w->flow.us, 1.0);
}
