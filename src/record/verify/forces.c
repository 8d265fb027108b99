/* Forces of a step, from the model and the inputs: springs, dampers, actuators, weight that is carried, what
   the caller and his controller added, and what the implicit midpoint rule adds to the diagonal of M,

     tau = -K x(q_m) - D v + g f_a + carried weight + inputs,   extra = dt (D + d)/2 + dt² (K + k)/4

   with k, d of an actuator inside its force range (src/step/time/forces.c says why); `theta` has θ for 1/2, everything at q, and
   takes θ dt (K + k) v from the forces. The forces that the step used
   must be these. Called by verify.c; leaves v->tau and its parts for energy.c. */
#include <string.h>

#include "record/verify/verify.h"

static double within(double x, const double range[2]) {
  return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

/* First dof and coordinate of dof k of a joint; q is -1 where the joint has no scalar coordinate. */
static int address(int* q, const kn_model* m, kn_joint joint, int dof) {
  int aq, nq, av, nv;
  if (kn_model_joint_address(&aq, &nq, &av, &nv, m, joint) != KN_OK || dof >= nv) return -1;
  *q = nq == nv ? aq + dof : m->joint[joint].type == KN_JOINT_FREE && dof < 3 ? aq + dof : -1;
  return av + dof;
}

/* A ball joint's component of rotation, rad; turns of free bodies have no length. */
static double turn_of(const kn_model* m, kn_joint joint, int dof, const double* q) {
  int aq, nq, av, nv;
  if (m->joint[joint].type != KN_JOINT_BALL || kn_model_joint_address(&aq, &nq, &av, &nv, m, joint) != KN_OK)
    return 0.0;
  const double* p = q + aq;
  double s = sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]), angle = 2.0 * atan2(s, fabs(p[0]));
  return s > 0.0 ? (p[0] < 0.0 ? -angle : angle) * p[1 + dof] / s : 0.0;
}

/* ---- through a site ---- */

typedef struct site { /* in the world */
  kn_body body;
  kn_pose at;
} site;

static site place_site(const kn_plain* P, kn_frame frame) {
  const kn_frame_def* f = &P->model->frame[frame];
  site s = {.body = f->body};
  kn_plain_frame(&s.at, P, f->body, f->pos, f->quat);
  return s;
}

static bool moves(const kn_plain* P, int dof, kn_body body) {
  if (body == KN_WORLD) return false;
  for (int k = P->plan->chain_at[body]; k < P->plan->chain_at[body + 1]; k++)
    if (P->plan->chain[k] == dof) return true;
  return false;
}

/* row += sign × what force f at the site and torque n do along the dofs that move it but not `other`. */
static void add_moment(double* row, const kn_plain* P, const site* at, kn_body other, const double f[3],
                       const double n[3], double sign) {
  if (at->body == KN_WORLD) return;
  for (int k = P->plan->chain_at[at->body]; k < P->plan->chain_at[at->body + 1]; k++) {
    int d = P->plan->chain[k];
    double c[3];
    if (moves(P, d, other)) continue;
    kn_plain_column(c, P, at->at.p, d);
    for (int i = 0; i < 3; i++)
      row[d] += sign * (f[i] * c[i] + (P->dof[d].linear ? 0.0 : n[i] * P->dof[d].u[i]));
  }
}

/* Rotation vector of a rotation by its columns seen from another: R_refᵀ R. */
static void turned(double out[3], const double R[9], const double ref[9]) {
  double T[9], axis[3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[3 * i + j] = ref[i] * R[j] + ref[3 + i] * R[3 + j] + ref[6 + i] * R[6 + j];
  axis[0] = 0.5 * (T[7] - T[5]), axis[1] = 0.5 * (T[2] - T[6]), axis[2] = 0.5 * (T[3] - T[1]);
  double s = kn_plain_length(axis), angle = atan2(s, 0.5 * (T[0] + T[4] + T[8] - 1.0));
  for (int i = 0; i < 3; i++) out[i] = s > 0.0 ? axis[i] * angle / s : 0.0;
}

/* Moment of the actuator about every dof (row), and its length. */
static double through_site(double* row, const kn_plain* P, const kn_actuator_def* d) {
  bool ref = d->refsite >= 0;
  site at = place_site(P, d->site), from = place_site(P, ref ? d->refsite : d->site);
  double f[3] = {0, 0, 0}, n[3] = {0, 0, 0}, turn[3], length = 0.0;
  memset(row, 0, (size_t)P->model->nv * sizeof *row);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      f[i] += from.at.R[3 * i + k] * d->site_gear[k];
      n[i] += from.at.R[3 * i + k] * d->site_gear[3 + k];
    }
  add_moment(row, P, &at, ref ? from.body : KN_WORLD, f, n, 1.0);
  if (!ref) return 0.0;
  add_moment(row, P, &from, at.body, f, n, -1.0);
  turned(turn, at.at.R, from.at.R);
  for (int i = 0; i < 3; i++) length += f[i] * (at.at.p[i] - from.at.p[i]) + d->site_gear[3 + i] * turn[i];
  return length;
}

/* ---- all actuators ---- */

static void actuate(kn_verifier* v, const kn_recorded* s, const kn_plain* P, const double* at,
                    const double* rates, int a) {
  const kn_actuator_def* d = &v->model->actuator[a];
  double length = 0.0, rate = 0.0, u = d->ctrl_limited ? within(s->ctrl[a], d->ctrl_range) : s->ctrl[a];
  for (int k = 0; k < d->joints; k++) {
    int q = -1, i = address(&q, v->model, d->joint[k], d->dof[k]);
    if (i < 0) continue;
    length += d->gear[k] * (q >= 0 ? at[q] : turn_of(v->model, d->joint[k], d->dof[k], at));
    rate += d->gear[k] * rates[i];
  }
  if (!d->joints) {
    length = through_site(v->left, P, d);
    for (int i = 0; i < v->model->nv; i++) rate += v->left[i] * rates[i];
  }
  double f = d->gain * u + d->bias[0] + d->bias[1] * length + d->bias[2] * rate;
  bool inside = !d->force_limited || (f > d->force_range[0] && f < d->force_range[1]);
  if (d->force_limited) f = within(f, d->force_range);
  for (int i = 0; i < v->model->nv && !d->joints; i++) v->force.actuator[i] += v->left[i] * f;
  for (int k = 0; k < d->joints; k++) {
    int q = -1, i = address(&q, v->model, d->joint[k], d->dof[k]);
    if (i < 0) continue;
    v->force.actuator[i] += d->gear[k] * f;
    if (!inside || d->joints != 1) continue;
    if (q >= 0 || v->model->joint[d->joint[k]].type == KN_JOINT_BALL)
      v->force.drive_k[i] += fmax(0.0, -d->bias[1]) * d->gear[k] * d->gear[k];
    v->force.drive_d[i] += fmax(0.0, -d->bias[2]) * d->gear[k] * d->gear[k];
  }
}

double kn_verify_forces_at(kn_verifier* v, const kn_recorded* s, const kn_plain* P, const double* q,
                           const double* rates) {
  const kn_model* m = v->model;
  size_t bytes = (size_t)m->nv * sizeof(double);
  double *x = v->scratch, size = 1e-12;
  memset(v->force.actuator, 0, bytes), memset(v->force.drive_k, 0, bytes), memset(v->force.drive_d, 0, bytes);
  for (int a = 0; a < m->nu; a++) actuate(v, s, P, q, rates, a);
  kn_plain_way(x, m, m->q_spring, q);
  double theta = v->asked.moreau ? v->asked.theta : 0.5, ahead = v->asked.moreau ? theta * s->dt : 0.0;
  for (int i = 0; i < m->nv; i++) {
    v->force.actuator[i] -= ahead * v->force.drive_k[i] * rates[i];
    double spring = -m->stiffness[i] * (x[i] + ahead * rates[i]), damp = -m->damping[i] * rates[i];
    v->force.input[i] = s->force[i] + (s->control ? s->control[i] : 0.0);
    v->force.tau[i] = spring + damp + P->carry[i] + v->force.actuator[i] + v->force.input[i];
    v->force.extra[i] = s->dt * (theta * (m->damping[i] + v->force.drive_d[i]) +
                                 theta * theta * s->dt * (m->stiffness[i] + v->force.drive_k[i]));
    size = fmax(size, fmax(fmax(fabs(spring), fabs(damp)),
                           fmax(fabs(v->force.actuator[i]), fabs(v->force.input[i]))));
    size = fmax(size, fabs(P->carry[i]));
  }
  return size;
}

void kn_verify_forces(kn_verifier* v, const kn_recorded* s, const double* mid) {
  double off = 0.0, thick = 0.0, most = 1e-12, size = kn_verify_forces_at(v, s, &v->mid, mid, s->v_before);
  for (int i = 0; i < v->model->nv; i++) {
    off = fmax(off, fabs(v->force.tau[i] - s->tau[i]));
    thick = fmax(thick, fabs(v->force.extra[i] - s->extra[i]));
    most = fmax(most, v->force.extra[i]);
  }
  /* sums of a dozen terms: rounding, and the sines of two libraries */
  kn_verifier_report(v, s->step, KN_CHECK_FORCES, off / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_FORCES, thick / most, 1e-9);
}
