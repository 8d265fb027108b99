/* Wedged contacts, and contacts against loops, leave directions of r that move nothing: W d = 0 with d inside
   the friction cones. A solution plus any multiple of d is a solution, and a Newton step on the singular
   matrix may return one with |r| = 1e15. The residual is relative to |r|, so it looks perfect while the
   velocity W r + q is all rounding.

   Remedy: the proximal point method from r = 0 (R. T. Rockafellar 1976),

     r_k+1 solves  u = (W + ε D) r + q - ε D r_k,   D = diag(W) by blocks,  ε = 1e-6,

   whose matrix is regular; it ends at a solution near the smallest. An error in a direction of compliance w
   shrinks by ε/(w + ε) a round. */
#include "base/extreme.h"
#include "contact/formulation/formulation.h"

#include <math.h>
#include <string.h>

static const double epsilon = 1e-6;
enum { ROUNDS = 6 };

double kn_impulses_excess(const kn_problem* p, const double* r) {
  double velocity = 0.0, response = 0.0;
  for (int i = 0; i < p->rows; i++) {
    velocity = kn_max(velocity, fabs(p->q[i]));
    response = kn_max(response, fabs(r[i]) * p->W[(size_t)i * p->rows + i]);
  }
  return response > 0.0 ? response / velocity : 0.0;
}

/* ε D: the largest entry of each block, so that friction stays isotropic; immobile rows take the mean. */
static void damping(double* d, const kn_problem* p) {
  double mean = 0.0;
  for (int i = 0; i < p->rows; i++) mean += p->W[(size_t)i * p->rows + i] / p->rows;
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, rows = kn_set_rows(p->block[b].set);
    double most = 0.0;
    for (int k = row; k < row + rows; k++) most = kn_max(most, p->W[(size_t)k * p->rows + k]);
    for (int k = row; k < row + rows; k++) d[k] = epsilon * (most > epsilon * mean ? most : mean);
  }
}

static double largest(const double* r, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = kn_max(most, fabs(r[i]));
  return most;
}

/* Takes the tamed answer if it is smaller than a part of r. */
static void take(double* r, kn_solve_info* info, const double* next, kn_solve_info found, kn_status status,
                 int n, double part) {
  if (!(largest(next, n) < part * largest(r, n))) return;
  memcpy(r, next, (size_t)n * sizeof(double));
  found.status = status;
  found.iterations += info->iterations;
  *info = found;
}

void kn_impulses_tame(double* r, kn_solve_info* info, kn_problem* p, double* W, const kn_solve_settings* s,
                      kn_solver_work* work, double* scratch) {
  int n = p->rows;
  double *d = scratch, *next = scratch + n, *shifted = scratch + 2 * n, *kept = scratch + 3 * n;
  kn_solve_settings settings = *s;
  settings.warm_start = true, settings.again = false;
  kn_solve_info found = {0};
  kn_problem damped = *p;
  damped.q = shifted;
  damping(d, p);
  memcpy(next, r, (size_t)n * sizeof(double)); /* where the first round's solver begins */
  for (int k = 0; k < ROUNDS; k++) {
    for (int i = 0; i < n; i++) {
      shifted[i] = p->q[i] - (k ? d[i] * next[i] : 0.0);
      kept[i] = W[(size_t)i * n + i];
      W[(size_t)i * n + i] += d[i];
    }
    kn_status status = kn_problem_solve(next, &found, &damped, &settings, work);
    bool close = status == KN_OK || found.residual_scaled <= s->enough;
    for (int i = 0; i < n; i++) W[(size_t)i * n + i] = kept[i];
    found.residual = kn_problem_error(p, next);
    found.residual_scaled = kn_problem_error_scaled(p, next);
    bool solved = found.residual <= s->tol && found.residual_scaled <= s->tol;
    if (solved) {
      take(r, info, next, found, KN_OK, n, 1.0);
      return;
    }
    if (!close) break; /* its matrix is regular: who spent all his work on it would do so in every round */
  }
  /* rather not quite solved than with a velocity that is all rounding; but large impulses of a regular matrix
     are as they must be, and the rounds come near them from below */
  if (found.residual <= s->enough && found.residual_scaled <= s->enough)
    take(r, info, next, found, KN_NOT_CONVERGED, n, 0.5);
}
