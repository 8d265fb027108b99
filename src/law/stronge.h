/* Impact at one contact with energetic restitution: a map of numbers, no bodies. */
#pragma once

#include <stdbool.h>

typedef struct kn_stronge {
  double p[3];        /* impulse: normal, two tangential */
  double compression; /* normal impulse when the approach first ends */
  double work_in;     /* work done against the normal impulse while approaching, J, >= 0 */
  double work_out;    /* and returned: e² work_in, less when the contact locks */
  bool locked;        /* sticking with no normal motion left: nothing more can be returned */
  int steps;
} kn_stronge;

/* L: 3 x 3 compliance, row-major, symmetric, positive semidefinite; u: velocity before (normal < 0:
   approaching); mu >= 0, INFINITY sticks; 0 <= e <= 1. */
void kn_stronge_impact(kn_stronge* out, const double L[9], const double u[3], double mu, double e);
