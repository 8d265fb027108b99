/* What the solvers of kn_problem share with its judge: the judge's call and nothing else; checks. */
#pragma once

#include "knuckle/comp.h"

/* Both errors in one pass over W: kn_problem_error and kn_problem_error_scaled. */
typedef struct kn_judgement {
  double error, scaled;
} kn_judgement;

kn_judgement kn_problem_judge(const kn_problem* problem, const double* r);

/* Whether some cone has more than three rows (friction with spin or rolling). */
bool kn_problem_tall(const kn_problem* problem);

/* kn_problem_check without the entries of W. */
kn_status kn_problem_check_blocks(const kn_problem* problem);

/* Place of the first number that is none or infinite, n if there is none: 0 x is 0 for finite numbers only. Three at a time,
   as contacts have them. */
static inline int kn_first_not_finite(const double* x, int n) {
  int i = 0;
  while (i + 3 <= n && (0.0 * x[i] + 0.0 * x[i + 1]) + 0.0 * x[i + 2] == 0.0) i += 3;
  while (i < n && 0.0 * x[i] == 0.0) i++;
  return i;
}

/* W in full, rows x rows, whether the problem has it dense or by blocks. */
void kn_problem_write_out(double* W, const kn_problem* problem);
