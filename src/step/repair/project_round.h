/* Repair of heaps of spheres (project_round.c): its rows, and the sweep of each instruction set. */
#ifndef KN_STEP_PROJECT_ROUND_H
#define KN_STEP_PROJECT_ROUND_H

#include <stdint.h>

#include "base/isa.h"
#include "spatial/v4.h"

typedef struct kn_round_row { /* a contact of s->touch.after */
  kn_v4 n;
  double gap, push, inverse, wa, wb; /* multiplier; 1/(wa + wb), 1/m of the two */
  int32_t a, b;                      /* links, nlink: the world */
  int32_t contact;
} kn_round_row;
typedef struct kn_round {
  kn_round_row* row; /* max_contacts; NULL: this is no such heap */
  kn_v4* shift;      /* nlink + 1 */
  double* weight;    /* nlink + 1: 1/m */
} kn_round;

/* One sweep over the rows; returns the largest overlap it met, m. */
KN_KERNEL(double, kn_round_sweep, (kn_round * r, int rows));

#endif
