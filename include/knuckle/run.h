/* Many steps in one call, what a step did beside its report, and a second simulator like the first. */
#ifndef KNUCKLE_RUN_H
#define KNUCKLE_RUN_H

#include "knuckle/step.h"

KN_BEGIN_DECLS

/* How steps went. Starts as {0}; every call adds its steps. */
typedef struct kn_run {
  int64_t steps;            /* done */
  double residual;          /* worst of all steps, scaled */
  double penetration;       /* largest of all steps, m */
  kn_trouble_tally trouble; /* kind by kind */
} kn_run;

/* n steps of settings.dt. Stops at the first step that fails (a controller that stops, a state that is not
   finite) and returns its status; run tells how far it came. run may be NULL. */
KN_API kn_status kn_step_many(kn_run* run, kn_sim* sim, kn_state* state, int64_t n);

/* Inputs of a run and what is kept of it. Arrays are row-major, one row per step or per kept step. */
typedef struct kn_rollout {
  int64_t steps;
  int64_t every;       /* the state after every n-th step is kept: steps / every rows; 1: all */
  const double* ctrl;  /* steps x nu, or NULL: the state's */
  const double* force; /* steps x nv, or NULL: the state's */
  double *q, *v, *t;   /* kept x nq, x nv, x 1; NULL: not wanted */
} kn_rollout;

/* Runs it. The inputs of the last step stay in the state. Inputs that are not finite: KN_NOT_FINITE before
   the first step. */
KN_API kn_status kn_rollout_run(kn_run* run, kn_sim* sim, kn_state* state, const kn_rollout* rollout);

/* Generalised forces (nv) of the last step of sim, which led to `state`; any pointer may be NULL. They
   balance: M acceleration + bias = actuator + passive + applied + constraint at the middle of the step. */
typedef struct kn_step_forces {
  double* acceleration; /* change of v over the step by dt: impacts too */
  double* actuator;     /* mean over the step, with what the implicit rule takes back */
  double* passive;      /* springs and dampers of joints, gravity compensation */
  double* applied;      /* the state's force and the controller's */
  double* bias;         /* C v + gravity */
  double* constraint;   /* contacts, limits, loops, dry friction */
} kn_step_forces;

/* scratch: a kn_data of the same model that nobody needs (not the simulator's own). KN_UNSUPPORTED unless the
   stepper is time or theta: the others evaluate many times within a step. */
KN_API kn_status kn_sim_forces(const kn_step_forces* out, const kn_sim* sim, const kn_state* state,
                               kn_data* scratch);

/* A simulator of the same model with the same settings, controller and totals: a copy of `state` goes on with
   either to the same bits. */
KN_API kn_status kn_sim_clone(kn_sim** clone, const kn_sim* sim);

KN_END_DECLS
#endif
