/* Springs, dampers, gravity compensation and actuators. */

#include "base/extreme.h"
#include "dynamics/tree/data.h"
#include "spatial/spatial.h"

/* Spring deflection of the dofs of a link, in the coordinates of its velocities: the gradient of k/2 |x|² is
   k x, for rotations x = log(q_spring⁻¹ q) because log is its own gradient direction. */
static void deflection(double* x, const kn_link* l, const double* q, const double* q_spring) {
  const double *a = q_spring + l->q, *b = q + l->q;
  double rel[4], c[4];
  if (l->nq == 1) {
    x[0] = b[0] - a[0];
    return;
  }
  if (l->type == KN_LINK_FREE) {
    kn_sub3(x, b, a);
    a += 3, b += 3, x += 3;
  }
  kn_quat_normalize(rel, a), kn_quat_conj(rel, rel);
  kn_quat_normalize(c, b);
  kn_quat_mul(rel, rel, c);
  kn_quat_log(x, rel);
}

static bool has_spring(const kn_model* m, const kn_link* l) {
  for (int k = 0; k < l->nv; k++)
    if (m->stiffness[l->v + k] != 0.0) return true;
  return false;
}

/* Force -gravcomp m g at the centres of mass, summed towards the root. */
static void compensate_gravity(double* tau, kn_data* d, const kn_model* m) {
  const kn_layout* y = d->layout;
  const kn_v4 up = v4_scale(v4_load3(m->gravity), -1.0);
  for (int i = 0; i < m->nlink; i++) {
    d->dyn[i].f = v4_scale(up, y->grav_mass[i]);
    d->dyn[i].n = v4_cross(v4_mul33(d->kin.link[i].R, y->grav_h[i]), up);
  }
  for (int i = m->nlink - 1; i >= 0; i--) {
    const kn_link* l = &m->link[i];
    for (int j = l->v; j < l->v + l->nv; j++)
      tau[j] += v4_dot2(d->kin.dof[j].sa, d->dyn[i].n, d->kin.dof[j].sl, d->dyn[i].f);
    if (l->parent < 0) continue;
    d->dyn[l->parent].n = v4_add3(d->dyn[l->parent].n, d->dyn[i].n, v4_cross(d->kin.link[i].r, d->dyn[i].f));
    d->dyn[l->parent].f = v4_add(d->dyn[l->parent].f, d->dyn[i].f);
  }
}

void kn_dyn_passive(double* tau, kn_data* data, const kn_model* model, const double* q, const double* v) {
  for (int j = 0; j < model->nv; j++) tau[j] -= model->damping[j] * v[j];
  kn_dyn_springs(tau, data, model, q);
}

void kn_dyn_springs(double* tau, kn_data* data, const kn_model* model, const double* q) {
  for (int i = 0; i < model->nlink && data->layout->has_springs; i++) {
    const kn_link* l = &model->link[i];
    if (!has_spring(model, l)) continue;
    double x[6];
    deflection(x, l, q, model->q_spring);
    for (int k = 0; k < l->nv; k++) tau[l->v + k] -= model->stiffness[l->v + k] * x[k];
  }
  if (data->layout->has_gravcomp) compensate_gravity(tau, data, model);
}

double kn_spring_energy(const kn_model* model, const double* q) {
  double sum = 0.0;
  for (int i = 0; i < model->nlink; i++) {
    const kn_link* l = &model->link[i];
    if (!has_spring(model, l)) continue;
    double x[6];
    deflection(x, l, q, model->q_spring);
    for (int k = 0; k < l->nv; k++) sum += 0.5 * model->stiffness[l->v + k] * x[k] * x[k];
  }
  return sum;
}

/* The coordinate a dof moves: of a ball joint the component of the rotation vector, log q, along the dof, of
   a free joint none (0), as MuJoCo has it. */
static double coordinate(const kn_model* m, const kn_actuator_place* t, int k, const double* q) {
  if (t->q[k] >= 0) return q[t->q[k]];
  const kn_link* l = &m->link[m->dof_link[t->v[k]]];
  if (l->type != KN_LINK_BALL) return 0.0;
  double w[3];
  kn_quat_log(w, q + l->q);
  return w[t->v[k] - l->v];
}

void kn_dyn_transmission(double* length, double* rate, const kn_model* m, int actuator, const double* q,
                         const double* v) {
  const kn_actuator_place* t = &m->transmission[actuator];
  *length = t->count ? 0.0 : kn_site_length(m, actuator, q);
  *rate = t->count ? 0.0 : kn_site_transmit(NULL, m, actuator, q, v, 0.0);
  for (int k = 0; k < t->count; k++) {
    *length += t->gear[k] * coordinate(m, t, k, q);
    *rate += t->gear[k] * v[t->v[k]];
  }
}

double kn_dyn_actuator(bool* inside, const kn_model* m, int actuator, const double* q, const double* v,
                       double ctrl) {
  const kn_actuator_def* a = &m->actuator[actuator];
  double length = 0.0, rate = 0.0;
  if (a->joints || a->bias[1] != 0.0 || a->bias[2] != 0.0)
    kn_dyn_transmission(&length, &rate, m, actuator, q, v);
  if (a->ctrl_limited) ctrl = kn_clamp(ctrl, a->ctrl_range[0], a->ctrl_range[1]);
  double f = a->gain * ctrl + a->bias[0] + a->bias[1] * length + a->bias[2] * rate;
  *inside = !a->force_limited || (f > a->force_range[0] && f < a->force_range[1]);
  return a->force_limited ? kn_clamp(f, a->force_range[0], a->force_range[1]) : f;
}

void kn_dyn_actuate(double* tau, const kn_model* model, const double* q, const double* v,
                    const double* ctrl) {
  for (int i = 0; i < model->nu; i++) {
    const kn_actuator_place* t = &model->transmission[i];
    bool inside;
    double force = kn_dyn_actuator(&inside, model, i, q, v, ctrl ? ctrl[i] : 0.0);
    for (int k = 0; k < t->count; k++) tau[t->v[k]] += t->gear[k] * force;
    if (!t->count) kn_site_transmit(tau, model, i, q, NULL, force);
  }
}
