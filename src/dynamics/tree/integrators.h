/* Shared by the smooth integrators. */
#pragma once

#include "dynamics/tree/data.h"
#include "model/state.h"

typedef struct kn_integrand { /* one step's surroundings */
  kn_state* state;
  const kn_model* model;
  kn_data* data;
  kn_force_fn force;
  void* context;
} kn_integrand;

/* a = acceleration of the model at (t, q, v) with springs, dampers, actuators, applied and controller forces.
 */
kn_status kn_smooth_acceleration(double* a, const kn_integrand* s, double t, const double* q,
                                 const double* v);
kn_status kn_adaptive_step(const kn_integrand* s, double dt, const kn_integrate_settings* settings);
void kn_adaptive_destroy(kn_data* data);
