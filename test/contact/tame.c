/* Impulses that cancel each other are made small; large ones that are the only answer stay. */
#include "contact/formulation/formulation.h"

#include <math.h>
#include <string.h>

#include "knuckle/comp.h"
#include "test.h"

/* Two bodies squeezed from both sides: r = (1 + x, x) for every x >= 0. */
TEST(impulses_without_effect_are_made_small) {
  double W[] = {1.0, -1.0, -1.0, 1.0}, q[] = {-1.0, 1.0}, r[] = {1e8 + 1.0, 1e8}, scratch[8];
  kn_block block[] = {{.set = KN_SET_POSITIVE, .row = 0}, {.set = KN_SET_POSITIVE, .row = 1}};
  kn_problem p = {.rows = 2, .blocks = 2, .block = block, .W = W, .q = q};
  kn_solve_settings s = kn_solve_default();
  kn_solve_info info = {.status = KN_OK};
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, 2, 2, 0));
  CHECK(kn_impulses_excess(&p, r) > 1e2);
  kn_impulses_tame(r, &info, &p, W, &s, work, scratch);
  CHECK_OK(info.status);
  CHECK_BELOW(fabs(r[0] - r[1] - 1.0), 1e-9); /* ten times the tolerance of the residual */
  CHECK_BELOW(fabs(r[1]), 1.0);
  kn_solver_work_destroy(work);
}

/* A contact of the 30-link pendulum that sticks: |r_T| W_TT is 260 times the velocity, and nothing is
   singular. Six rounds of the remedy came near the answer from below, to a residual of 1.3e-9, and what is
   smaller was taken: the step was reported as not converged. */
TEST(large_impulses_of_a_regular_matrix_stay_exact) {
  double W[] = {
      0.00065387119798530251, 0.049703433844943745, 0, 0.049703433844943745, 4.3909802890698879, 0, 0, 0, 0};
  double q[] = {-5.0564877726033686e-05, 0.00010857558264198985, 0}, r[3] = {0}, before[3], scratch[12];
  kn_block block = {.set = KN_SET_CONE3, .row = 0, .mu = 0.5};
  kn_problem p = {.rows = 3, .blocks = 1, .block = &block, .W = W, .q = q};
  kn_solve_settings s = kn_solve_default();
  kn_solve_info info;
  kn_solver_work* work = NULL;
  s.enough = 1e-8; /* as a step has it */
  CHECK_OK(kn_solver_work_create(&work, 3, 1, 0));
  CHECK_OK(kn_problem_solve(r, &info, &p, &s, work));
  CHECK(kn_impulses_excess(&p, r) > 1e2);
  memcpy(before, r, sizeof r);
  kn_impulses_tame(r, &info, &p, W, &s, work, scratch);
  CHECK_OK(info.status);
  CHECK_BELOW(kn_problem_error_scaled(&p, r), s.tol);
  for (int i = 0; i < 3; i++) CHECK_BELOW(fabs(r[i] - before[i]), 1e-8);
  kn_solver_work_destroy(work);
}
