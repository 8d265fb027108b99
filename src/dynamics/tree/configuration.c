/* Moving along the configuration manifold: scalars add, quaternions by the exponential of a rotation vector
   in child axes: q (+) v dt = q exp(dt w). */
#include <math.h>

#include "base/error.h"
#include "dynamics/tree/dynamics.h"
#include "math/elementary.h"
#include "spatial/spatial.h"

/* A product that is a unit but for rounding becomes one by the series of 1/√n²: the next term is 4e-17. */
static void turn(double* out, const double* quat, const double* w, double dt) {
  double step[3], e[4], q[4];
  kn_scale3(step, w, dt);
  kn_quat_exp(e, step);
  kn_quat_mul(q, quat, e);
  double n2 = q[0] * q[0] + q[1] * q[1] + (q[2] * q[2] + q[3] * q[3]), scale = 1.5 - 0.5 * n2;
  if (fabs(n2 - 1.0) < 1e-8) {
    for (int i = 0; i < 4; i++) out[i] = q[i] * scale;
    return;
  }
  kn_quat_normalize(q, quat);
  kn_quat_mul(q, q, e);
  kn_quat_normalize(out, q);
}

static void turned(double* w, const double* quat0, const double* quat1) {
  double a[4], b[4];
  kn_quat_normalize(a, quat0), kn_quat_normalize(b, quat1);
  kn_quat_conj(a, a);
  kn_quat_mul(a, a, b);
  kn_quat_log(w, a);
}

static void go(double* q_out, const double* q, const double* v, double dt, int n) {
  for (int i = 0; i < n; i++) q_out[i] = q[i] + dt * v[i];
}

void kn_dyn_integrate(double* q_out, const kn_model* model, const double* q, const double* v, double dt) {
  int quats = model->nq - model->nv, at_q = 0, at_v = 0;
  for (const kn_link* l = model->link; quats > 0; l++) {
    if (l->type != KN_LINK_BALL && l->type != KN_LINK_FREE) continue;
    int turns = l->q + l->nq - 4; /* what comes before its quaternion has one coordinate per dof */
    go(q_out + at_q, q + at_q, v + at_v, dt, turns - at_q);
    at_v += turns - at_q, at_q = turns;
    turn(q_out + at_q, q + at_q, v + at_v, dt);
    at_q += 4, at_v += 3, quats--;
  }
  go(q_out + at_q, q + at_q, v + at_v, dt, model->nv - at_v);
}

void kn_dyn_difference(double* v, const kn_model* model, const double* q0, const double* q1) {
  for (int i = 0; i < model->nlink; i++) {
    const kn_link* l = &model->link[i];
    switch (l->type) {
    case KN_LINK_BALL: turned(v + l->v, q0 + l->q, q1 + l->q); break;
    case KN_LINK_FREE:
      for (int k = 0; k < 3; k++) v[l->v + k] = q1[l->q + k] - q0[l->q + k];
      turned(v + l->v + 3, q0 + l->q + 3, q1 + l->q + 3);
      break;
    default: v[l->v] = q1[l->q] - q0[l->q];
    }
  }
}

kn_status kn_integrate(double* q_out, const kn_model* model, const double* q, const double* v, double dt) {
  KN_REQUIRE(model != NULL);
  KN_REQUIRE(model->nq == 0 || (q_out && q && v));
  KN_REQUIRE(isfinite(dt));
  kn_dyn_integrate(q_out, model, q, v, dt);
  return KN_OK;
}

kn_status kn_difference(double* v, const kn_model* model, const double* q0, const double* q1) {
  KN_REQUIRE(model != NULL);
  KN_REQUIRE(model->nq == 0 || (v && q0 && q1));
  kn_dyn_difference(v, model, q0, q1);
  return KN_OK;
}

void kn_dyn_increment_rate(double* du, const kn_model* m, const double* u, const double* v) {
  memcpy(du, v, sizeof(double) * (size_t)m->nv);
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    if (l->type != KN_LINK_BALL && l->type != KN_LINK_FREE) continue;
    int j = l->type == KN_LINK_BALL ? l->v : l->v + 3;
    double x[3], xx[3], a2 = kn_dot3(u + j, u + j), k = 1.0 / 12.0 + a2 / 720.0;
    if (a2 > 1e-4) {
      double sn, cs, t = 0.5 * sqrt(a2);
      kn_sincos(&sn, &cs, t);
      k = (1.0 - t * cs / sn) / a2;
    }
    kn_cross3(x, u + j, v + j);
    kn_cross3(xx, u + j, x);
    for (int n = 0; n < 3; n++) du[j + n] = v[j + n] + 0.5 * x[n] + k * xx[n];
  }
}
