/* A few symmetric rows factored without exchanges: warm starts in which all stick (stick.c), corrections of positions
   (contact/formulation/least_norm.c). */
#pragma once

#include "base/isa.h"

#include <stdbool.h>

enum { KN_STICK_ROWS = 32 }; /* a multiple of the vectors' width */

typedef struct kn_stick_system {
  int n;               /* rows */
  bool fresh;          /* the guess is zero: only the upper triangle of W is read */
  const double *W, *q; /* of the problem, n x n row-major and symmetric */
  double last[KN_STICK_ROWS +
              4]; /* the last row of W, with room behind it: vectors of the others end in the next one */
  /* U right of its diagonal, with its rows as they are; the multipliers l_ik = U_ki / U_kk, zero from the diagonal on */
  double U[KN_STICK_ROWS][KN_STICK_ROWS], L[KN_STICK_ROWS][KN_STICK_ROWS];
  double inverse[KN_STICK_ROWS]; /* 1 / U_kk */
} kn_stick_system;

/* U, L of W + eps D; false: a pivot is below share of its diagonal. step: r <- r - (W + eps D)^-1 (W r + q). The same bits
   from all. */
KN_KERNEL(bool, kn_stick_factor, (kn_stick_system * s, double eps, double share));
KN_KERNEL(void, kn_stick_step, (const kn_stick_system* s, double* r));
