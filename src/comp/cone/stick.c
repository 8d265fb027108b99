/* Warm starts in which every contact sticks, as under a standing robot: the shortest way.

   All rows are unknown, u = W r + q = 0, and W is symmetric: two proximal steps from the guess,

     r <- r - (W + eps D)^-1 (W r + q),   D = diag W,

   with one factor L U, U = diag L^T, without exchanges or roots; one step and no eps where no row depends on others. What leaves its cone is left to warm_modes.c,
   which changes modes; the judge has the last word. */
#include <math.h>
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/driver.h"
#include "comp/cone/stick.h"

static const double eps = 1e-8;

/* Every contact is loaded and inside its cone; rows with intervals are between their ends. */
static bool sticks(const kn_problem* p, const double* r) {
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    const double* x = r + k->row;
    int rows = kn_set_rows(k->set);
    if (k->set == KN_SET_FREE) continue;
    if (k->set == KN_SET_BOX ? !(x[0] > k->lo && x[0] < k->hi) : !(x[0] > 0.0)) return false;
    if (rows == 1) continue;
    double most = k->mu * x[0], t2 = x[1] * x[1];
    for (int i = 2; i < rows; i++) t2 += x[i] * x[i];
    if (!(t2 < most * most)) return false;
  }
  return true;
}

/* Impulses of contacts that hold something have responses like the velocities they take away. Larger ones, or
   large ones on rows that hardly move, mostly cancel each other: those are for warm_modes.c. */
static bool ordinary(const kn_problem* p, const double* r) {
  double velocity = 0.0, impulse = 0.0, mobility = 0.0;
  size_t step = (size_t)p->rows + 1;
  for (int i = 0; i < p->rows; i++) {
    velocity = kn_max(velocity, fabs(p->q[i]));
    impulse = kn_max(impulse, fabs(r[i]));
    mobility = kn_max(mobility, p->W[(size_t)i * step]);
  }
  return impulse * mobility <= 1e3 * velocity;
}

/* A few rows that do not depend on each other are solved by one step without eps; more are mostly those of flat feet, which do. Returns
   the steps, 0: a pivot is lost. */
static int factor(kn_stick_system* s) {
  enum { FEW = 12 };
  if (s->n <= FEW && KN_BEST(kn_stick_factor)(s, 0.0, 1e-2)) return 1;
  return KN_BEST(kn_stick_factor)(s, eps, 1e-13) ? 2 : 0;
}

static void step(const kn_stick_system* s, double* r) { KN_BEST(kn_stick_step)(s, r); }

bool kn_stick_answer(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings) {
  kn_stick_system s; /* not set to zero: most of it is never used */
  double answer[KN_STICK_ROWS];
  size_t bytes = (size_t)p->rows * sizeof *r;
  if (!p->W || p->rows > KN_STICK_ROWS || !sticks(p, r)) return false;
  s.n = p->rows, s.fresh = false, s.W = p->W, s.q = p->q;
  int steps = factor(&s);
  if (!steps) return false;
  memcpy(answer, r, bytes);
  for (int k = 0; k < steps; k++) step(&s, answer);
  if (!sticks(p, answer) || !ordinary(p, answer)) return false;
  kn_judgement j = kn_problem_judge(p, answer);
  *info = (kn_solve_info){KN_OK, "stick", steps, j.error, j.scaled, 0.0, false};
  if (!(j.error <= settings->tol && j.scaled <= settings->tol)) return false;
  memcpy(r, answer, bytes);
  return true;
}
