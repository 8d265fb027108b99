/* Impulses that cancel each other without moving anything: found, and made small. */
#pragma once

#include "knuckle/comp.h"

/* The largest own response |r_i| W_ii of an impulse over the largest velocity in q. Above 1e4 impulses are wild. */
double kn_impulses_excess(const kn_problem* p, const double* r);

/* Whether a smaller solution is looked for: impulses are large, and larger than the guess they came from. Those of a guess
   have been looked at when they grew: a robot at rest between its limits has them in every step. */
static inline bool kn_impulses_large(double excess) { return excess > 1e2; }
static inline bool kn_impulses_grew(double excess, double guessed) {
  return kn_impulses_large(excess) && (excess > 1e4 || excess > 1.1 * guessed);
}

/* Replaces r by a solution of moderate size if one is found. W is changed meanwhile and given back as it was.
   scratch: 4 rows of p. */
void kn_impulses_tame(double* r, kn_solve_info* info, kn_problem* p, double* W, const kn_solve_settings* s,
                      kn_solver_work* work, double* scratch);
