#ifndef KN_DYNAMICS_FORCES_H
#define KN_DYNAMICS_FORCES_H

#include "model/model.h"

/* Force of actuator i at control u, before its gear. */
double kn_dyn_actuator(const kn_model* model, int i, const double* q, const double* v, double u);
double kn_spring_energy(const kn_model* model, const double* q); /* sum of k/2 |deflection|² */

#endif
