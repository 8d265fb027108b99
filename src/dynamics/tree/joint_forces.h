#ifndef KN_DYNAMICS_FORCES_H
#define KN_DYNAMICS_FORCES_H

#include "model/model.h"

double kn_spring_energy(const kn_model* model, const double* q); /* sum of k/2 |deflection|² */

#endif
