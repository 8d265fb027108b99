/* Units of recorded quantities for the axes of plots: coordinates, velocities and torques by their joint. */
#ifndef KN_CLI_UNITS_H
#define KN_CLI_UNITS_H

#include "knuckle/model.h"
#include "quantity.h"

enum { KN_UNIT_TEXT = 24 };
/* "m", "rad/s", "N m", …; "1" for numbers without a unit. */
void kn_unit_of(char unit[KN_UNIT_TEXT], const kn_quantity* q, const kn_model* m);

#endif
