/* Smooth integrators on the configuration manifold (no contact). Right-hand side: q' = v, v' = a(t, q, v).

   Euler     v1 = v + h a(q, v), q1 = q (+) h v1.
   RK4       classical; stage positions q (+) h c k, exact to order 4 for vector coordinates; rotations use
             the combined increment with the commutator correction of Munthe-Kaas 1999:
             q1 = q (+) (h/6 (k1 + 2 k2 + 2 k3 + k4) …), built from stage values as below.
   Midpoint  v̄ = v + h/2 a(t + h/2, q (+) h/2 v̄, v̄),  v1 = 2 v̄ - v,  q1 = q (+) h v̄:
             time-symmetric, solved by fixed-point iteration. */
#include "dynamics/tree/data.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"

kn_status kn_smooth_acceleration(double* a, const kn_integrand* s, double t, const double* q,
                                 const double* v) {
  const kn_model* m = s->model;
  double *tau = s->data->tmp, *outside = s->data->outside;
  kn_dyn_position(s->data, m, q);
  for (int j = 0; j < m->nv; j++) outside[j] = s->state->force[j];
  kn_dyn_actuate(outside, m, q, v, s->state->ctrl);
  if (s->force) s->force(outside, t, q, v, s->context);
  for (int j = 0; j < m->nv; j++) tau[j] = outside[j];
  kn_dyn_passive(tau, s->data, m, q, v);
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  kn_dyn_accelerate(a, s->data, m, v, tau);
  for (int j = 0; j < m->nv; j++)
    if (!isfinite(a[j])) return kn_fail(KN_NOT_FINITE, "acceleration of dof %d at t = %g is %g", j, t, a[j]);
  return KN_OK;
}

static kn_status euler(const kn_integrand* s, double h) {
  int nv = s->model->nv;
  double *a = s->data->rk, *v = s->state->v;
  KN_TRY(kn_smooth_acceleration(a, s, s->state->time, s->state->q, v));
  for (int j = 0; j < nv; j++) v[j] += h * a[j];
  kn_dyn_integrate(s->state->q, s->model, s->state->q, v, h);
  return KN_OK;
}

/* w -> dexp⁻¹ of the rotation increments u of all rotating links: w + 1/2 u x w + 1/12 u x (u x w) in child
   axes (right trivialisation of q exp(u)). */
static void dexp_inverse(double* out, const kn_model* m, const double* u, const double* v) {
  memcpy(out, v, sizeof(double) * (size_t)m->nv);
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    if (l->type != KN_LINK_BALL && l->type != KN_LINK_FREE) continue;
    int j = l->type == KN_LINK_BALL ? l->v : l->v + 3;
    double c[3], cc[3];
    kn_cross3(c, u + j, v + j);
    kn_cross3(cc, u + j, c);
    for (int k = 0; k < 3; k++) out[j + k] = v[j + k] + 0.5 * c[k] + cc[k] / 12.0;
  }
}

/* Runge-Kutta-Munthe-Kaas of order 4: the unknown is the increment u with q = q0 (+) u, u' = dexp⁻¹_u v. */
static kn_status rk4(const kn_integrand* s, double h) {
  const kn_model* m = s->model;
  size_t nv = (size_t)m->nv;
  double *u = s->data->rk, *ku = u + nv, *kv = ku + nv, *su = kv + nv, *sv = su + nv, *vs = sv + nv;
  double *q0 = s->state->q, *v0 = s->state->v, *qs = s->data->rkq;
  static const double c[4] = {0.0, 0.5, 0.5, 1.0}, b[4] = {1.0, 2.0, 2.0, 1.0};
  for (size_t j = 0; j < nv; j++) su[j] = sv[j] = ku[j] = kv[j] = 0.0;
  for (int i = 0; i < 4; i++) {
    for (size_t j = 0; j < nv; j++) u[j] = c[i] * h * ku[j], vs[j] = v0[j] + c[i] * h * kv[j];
    kn_dyn_integrate(qs, m, q0, u, 1.0);
    KN_TRY(kn_smooth_acceleration(kv, s, s->state->time + c[i] * h, qs, vs));
    dexp_inverse(ku, m, u, vs);
    for (size_t j = 0; j < nv; j++) su[j] += b[i] * ku[j], sv[j] += b[i] * kv[j];
  }
  kn_dyn_integrate(q0, m, q0, su, h / 6.0);
  for (size_t j = 0; j < nv; j++) v0[j] += h / 6.0 * sv[j];
  return KN_OK;
}

/* Work per unit time of everything that is not in the energy: applied, actuator and controller forces and
   dampers, at the forces of the last evaluation. */
static double outside_power(const kn_integrand* s, const double* v) {
  const kn_model* m = s->model;
  double sum = 0.0;
  for (int j = 0; j < m->nv; j++) sum += v[j] * (s->data->outside[j] - m->damping[j] * v[j]);
  return sum;
}

/* Energy after the step = energy before + outside work: v1 is scaled onto that surface (projection method,
   Hairer, Lubich and Wanner 2006, IV.4). The factor differs from 1 by O(h³); near rest, where the kinetic
   energy cannot carry the correction, it is bounded. */
static void keep_energy(const kn_integrand* s, const kn_energy* e0, double work) {
  const double most = 1e-3;
  double* v = s->state->v;
  kn_energy e;
  kn_dyn_energy(&e, s->data, s->model, s->state->q, v);
  double K = e0->kinetic + (e0->potential - e.potential) + (e0->spring - e.spring) + work;
  if (!(K > 0.0 && e.kinetic > 0.0)) return;
  double f = sqrt(K / e.kinetic);
  f = f > 1.0 + most ? 1.0 + most : f < 1.0 - most ? 1.0 - most : f;
  for (int j = 0; j < s->model->nv; j++) v[j] *= f;
}

static kn_status midpoint(const kn_integrand* s, double h, int iterations) {
  const kn_model* m = s->model;
  size_t nv = (size_t)m->nv;
  double *a = s->data->rk, *vm = a + nv;
  double *q0 = s->state->q, *v0 = s->state->v, *qm = s->data->rkq;
  kn_energy e0;
  kn_dyn_energy(&e0, s->data, m, q0, v0);
  memcpy(vm, v0, sizeof(double) * nv);
  for (int i = 0; i < iterations; i++) {
    kn_dyn_integrate(qm, m, q0, vm, 0.5 * h);
    KN_TRY(kn_smooth_acceleration(a, s, s->state->time + 0.5 * h, qm, vm));
    double change = 0.0, size = 0.0;
    for (size_t j = 0; j < nv; j++) {
      double next = v0[j] + 0.5 * h * a[j];
      change = fmax(change, fabs(next - vm[j])), size = fmax(size, fabs(next));
      vm[j] = next;
    }
    if (change <= 1e-15 * size) break;
  }
  double work = h * outside_power(s, vm);
  for (size_t j = 0; j < nv; j++) v0[j] = 2.0 * vm[j] - v0[j];
  kn_dyn_integrate(q0, m, q0, vm, h);
  keep_energy(s, &e0, work);
  return KN_OK;
}

kn_integrate_settings kn_integrate_default(void) {
  return (kn_integrate_settings){.method = KN_INTEGRATE_RK4, .rtol = 1e-9, .atol = 1e-12, .iterations = 3};
}

kn_status kn_integrate_smooth(kn_state* state, const kn_model* model, kn_data* data, double dt,
                              const kn_integrate_settings* settings, kn_force_fn force, void* context) {
  KN_REQUIRE(model != NULL);
  KN_REQUIRE(data != NULL && data->model == model);
  KN_REQUIRE(state != NULL && state->model == model);
  KN_REQUIRE(isfinite(dt) && dt >= 0.0);
  kn_integrate_settings set = settings ? *settings : kn_integrate_default();
  KN_REQUIRE((unsigned)set.method < KN_INTEGRATOR_COUNT);
  KN_REQUIRE(set.iterations >= 1 || set.method != KN_INTEGRATE_MIDPOINT);
  kn_integrand s = {state, model, data, force, context};
  switch (set.method) {
  case KN_INTEGRATE_EULER: KN_TRY(euler(&s, dt)); break;
  case KN_INTEGRATE_RK4: KN_TRY(rk4(&s, dt)); break;
  case KN_INTEGRATE_MIDPOINT: KN_TRY(midpoint(&s, dt, set.iterations)); break;
  default: KN_TRY(kn_adaptive_step(&s, dt, &set));
  }
  state->time += dt;
  return KN_OK;
}
