/* The forces of a step that has been made, by the balance of momentum over it:

     M dv/dt + c(q_m, v_bias) = τ_act + τ_passive + τ_applied + τ_constraint,

   q_m and v_bias as the stepper chose them. Springs, dampers and actuators are taken implicitly (forces.c):
   of the force at the beginning the rule takes E dv/dt back, E the part of the implicit diagonal that is
   theirs. The constraints' part is what inverse dynamics leaves. */
#include "base/error.h"
#include "dynamics/tree/data.h"
#include "dynamics/tree/kernel.h"
#include "knuckle/run.h"
#include "step/sim.h"

static kn_status usable(const kn_sim* s, const kn_state* x, const kn_data* scratch) {
  KN_REQUIRE(x->model == s->model && scratch->model == s->model && scratch != s->data);
  if (s->stepper != &kn_stepper_time && s->stepper != &kn_stepper_theta)
    return kn_fail(KN_UNSUPPORTED,
                   "forces of a step: stepper '%s' evaluates many times within one (time, theta)",
                   s->stepper->name);
  if (s->settings.split_impacts)
    return kn_fail(KN_UNSUPPORTED, "forces of a step: it may be split at impacts");
  if (!(s->report.dt > 0.0) || s->report.status == KN_NOT_FINITE)
    return kn_fail(KN_BAD_ARGUMENT, "forces of a step: no step was made yet");
  return KN_OK;
}

kn_status kn_sim_forces(const kn_step_forces* out, const kn_sim* s, const kn_state* x, kn_data* scratch) {
  KN_REQUIRE(out != NULL && s != NULL && x != NULL && scratch != NULL);
  KN_TRY(usable(s, x, scratch));
  const kn_model* m = s->model;
  double dt = s->report.dt, wd = s->force.implicit.d, wk = s->force.implicit.kdv;
  const double* after = s->frame.scaled ? s->frame.v_solved : x->v;
  kn_dyn_position(scratch, m, s->frame.q_mid);
  kn_dyn_velocity(scratch, m, s->frame.v_bias);
  if (out->bias) kn_dyn_bias(out->bias, scratch, m, s->frame.v_bias);
  double* total = out->constraint;
  double* qdd = scratch->tmp;
  for (int i = 0; i < m->nv; i++) qdd[i] = (after[i] - s->past.v_safe[i]) / dt;
  if (total) kn_dyn_kernels()->inverse(total, scratch, s->frame.v_bias, qdd, m->gravity);
  for (int i = 0; i < m->nv; i++) {
    double dv = after[i] - s->past.v_safe[i];
    double act = s->force.tau_act[i] - (wd * s->force.implicit_d[i] + wk * s->force.implicit_k[i]) * dv;
    double passive =
        s->force.tau_spring[i] + s->force.tau_damp[i] - (wd * m->damping[i] + wk * m->stiffness[i]) * dv;
    if (out->acceleration) out->acceleration[i] = dv / dt;
    if (out->actuator) out->actuator[i] = act;
    if (out->passive) out->passive[i] = passive;
    if (out->applied) out->applied[i] = s->force.tau_applied[i];
    if (total) total[i] += m->armature[i] * qdd[i] - act - passive - s->force.tau_applied[i];
  }
  return KN_OK;
}
