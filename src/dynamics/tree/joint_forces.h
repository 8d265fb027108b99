/* Forces of springs and actuators that need no poses. */
#pragma once

#include "model/model.h"

double kn_spring_energy(const kn_model* model, const double* q); /* sum of k/2 |deflection|² */

/* site_drive.c: of an actuator through a site. transmit adds force × its moment to tau and returns moment · v; tau
   and v may be NULL. */
double kn_site_transmit(double* tau, const kn_model* model, int actuator, const double* q, const double* v,
                        double force);
double kn_site_length(const kn_model* model, int actuator, const double* q);
