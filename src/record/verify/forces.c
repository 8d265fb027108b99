/* Forces of a step, from the model and the inputs: springs, dampers, actuators, weight that is carried, what
   the caller and his controller added, and what the implicit midpoint rule adds to the diagonal of M,

     tau = -K x(q_m) - D v + g f_a + carried weight + inputs,   extra = dt (D + d)/2 + dt² (K + k)/4

   with k, d of an actuator inside its force range (src/step/time/forces.c says why). The forces that the step used
   must be these. Called by verify.c; leaves v->tau and its parts for energy.c. */
#include <math.h>
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

static void actuate(kn_verifier* v, const kn_recorded* s, const double* mid, int a) {
  const kn_actuator_def* d = &v->model->actuator[a];
  double length = 0.0, rate = 0.0, u = d->ctrl_limited ? within(s->ctrl[a], d->ctrl_range) : s->ctrl[a];
  for (int k = 0; k < d->joints; k++) {
    int q = -1, i = address(&q, v->model, d->joint[k], d->dof[k]);
    if (i < 0) continue;
    length += d->gear[k] * (q >= 0 ? mid[q] : turn_of(v->model, d->joint[k], d->dof[k], mid));
    rate += d->gear[k] * s->v_before[i];
  }
  double f = d->gain * u + d->bias[0] + d->bias[1] * length + d->bias[2] * rate;
  bool inside = !d->force_limited || (f > d->force_range[0] && f < d->force_range[1]);
  if (d->force_limited) f = within(f, d->force_range);
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

void kn_verify_forces(kn_verifier* v, const kn_recorded* s, const double* mid) {
  const kn_model* m = v->model;
  size_t bytes = (size_t)m->nv * sizeof(double);
  double *x = v->scratch, off = 0.0, thick = 0.0, size = 1e-12, most = 1e-12;
  memset(v->force.actuator, 0, bytes), memset(v->force.drive_k, 0, bytes), memset(v->force.drive_d, 0, bytes);
  for (int a = 0; a < m->nu; a++) actuate(v, s, mid, a);
  kn_plain_deflection(x, m, mid);
  for (int i = 0; i < m->nv; i++) {
    double spring = -m->stiffness[i] * x[i], damp = -m->damping[i] * s->v_before[i];
    v->force.input[i] = s->force[i] + (s->control ? s->control[i] : 0.0);
    v->force.tau[i] = spring + damp + v->mid.carry[i] + v->force.actuator[i] + v->force.input[i];
    v->force.extra[i] = s->dt * (0.5 * (m->damping[i] + v->force.drive_d[i]) +
                                 0.25 * s->dt * (m->stiffness[i] + v->force.drive_k[i]));
    size = fmax(size, fmax(fmax(fabs(spring), fabs(damp)),
                           fmax(fabs(v->force.actuator[i]), fabs(v->force.input[i]))));
    size = fmax(size, fabs(v->mid.carry[i]));
    off = fmax(off, fabs(v->force.tau[i] - s->tau[i]));
    thick = fmax(thick, fabs(v->force.extra[i] - s->extra[i]));
    most = fmax(most, v->force.extra[i]);
  }
  /* sums of a dozen terms: rounding, and the sines of two libraries */
  kn_verifier_report(v, s->step, KN_CHECK_FORCES, off / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_FORCES, thick / most, 1e-9);
}
