/* The blocks that matter beside a point near the answer (comp/cone/fewer.c), on problems like those of robots: a dry joint for
   every dof, most of them sliding or holding clearly, and some contacts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "comp/cone/driver.h"
#include "test.h"

enum { DOFS = 40, CONTACTS = 8, ROWS = DOFS + 3 * CONTACTS };

typedef struct robot {
  double J[ROWS][DOFS], v[DOFS], W[ROWS * ROWS], q[ROWS], r[ROWS];
  kn_block block[DOFS + CONTACTS];
  kn_problem p;
} robot;

static void offset(robot* x) {
  for (int i = 0; i < ROWS; i++) {
    x->q[i] = 0.0;
    for (int k = 0; k < DOFS; k++) x->q[i] += x->J[i][k] * x->v[k];
  }
}

/* M = identity: W = J Jᵀ. */
static void build(robot* x, kn_rng* rng) {
  memset(x, 0, sizeof *x);
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < DOFS; k++) x->J[i][k] = i < DOFS ? i == k : kn_rng_normal(rng) / sqrt(DOFS);
  for (int b = 0; b < DOFS; b++) {
    double most = kn_rng_range(rng, 0.01, 0.3);
    x->block[b] = (kn_block){.set = KN_SET_BOX, .row = b, .lo = -most, .hi = most};
  }
  for (int b = 0; b < CONTACTS; b++)
    x->block[DOFS + b] = (kn_block){.set = KN_SET_CONE3, .row = DOFS + 3 * b, .mu = 0.7};
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++)
      for (int k = 0; k < DOFS; k++) x->W[i * ROWS + j] += x->J[i][k] * x->J[j][k];
  for (int k = 0; k < DOFS; k++) x->v[k] = 0.3 * kn_rng_normal(rng);
  offset(x);
  x->p = (kn_problem){.rows = ROWS, .blocks = DOFS + CONTACTS, .block = x->block, .W = x->W, .q = x->q};
}

static bool smoothed(kn_drive* s) { return kn_drive_smooth(s, 1e-2, 40); }

static bool found; /* what the method under test said */

static void fewer(kn_drive* s) {
  kn_drive_accept(s, "guess");
  found = kn_drive_fewer(s, smoothed);
}

TEST(what_it_finds_is_an_answer_of_the_whole_problem) {
  static robot x;
  kn_rng rng = kn_rng_seed(71);
  kn_solver_work* work = NULL;
  kn_solve_settings warm = kn_solve_default();
  warm.warm_start = true;
  int answered = 0, rows = 0, problems = 40 * kn_test_effort();
  CHECK_OK(kn_solver_work_create(&work, ROWS, DOFS + CONTACTS, 0));
  for (int k = 0; k < problems; k++) {
    kn_solve_info info;
    build(&x, &rng);
    CHECK_OK(kn_problem_solve(x.r, NULL, &x.p, NULL, work));
    for (int i = 0; i < DOFS; i++) x.v[i] += 0.03 * kn_rng_normal(&rng);
    offset(&x);
    size_t before = kn_test_allocations();
    kn_status status = kn_drive_run(x.r, &info, &x.p, &warm, work, fewer);
    CHECK_INT(kn_test_allocations() - before, 0);
    CHECK_INT(status == KN_OK, found);
    if (!found) continue;
    CHECK_BELOW(kn_problem_error(&x.p, x.r), 1e-10);
    CHECK_BELOW(kn_problem_error_scaled(&x.p, x.r), 1e-10);
    answered++, rows += work->fewer.problem.rows;
  }
  printf("%d of %d answered, of %d rows %.1f were live\n", answered, problems, ROWS, (double)rows / answered);
  CHECK(answered * 10 >= problems * 8);
  CHECK(rows <= answered * ROWS / 2);
  kn_solver_work_destroy(work);
}

/* An indefinite W is not for it: it says so, and the best point is what it was. */
TEST(it_leaves_the_best_point_where_it_fails) {
  static robot x;
  kn_rng rng = kn_rng_seed(72);
  kn_solver_work* work = NULL;
  kn_solve_settings warm = kn_solve_default();
  kn_solve_info info;
  double guess[ROWS];
  warm.warm_start = true;
  build(&x, &rng);
  CHECK_OK(kn_solver_work_create(&work, ROWS, DOFS + CONTACTS, 0));
  for (int b = 0; b < DOFS; b++) x.r[b] = 0.1 * x.block[b].hi;
  memcpy(guess, x.r, sizeof guess);
  for (int i = 0; i < DOFS; i++) x.W[i * (ROWS + 1)] = 0.3;
  for (int i = 0; i + 1 < DOFS; i++) x.W[i * ROWS + i + 1] = x.W[(i + 1) * ROWS + i] = 0.5;
  memset(x.q, 0, sizeof x.q);
  kn_problem_velocity(x.q, &x.p, x.r);
  for (int i = 0; i < ROWS; i++) x.q[i] = (i >= DOFS) - x.q[i] + 1e-5; /* u is nearly 0, contacts part */
  kn_drive_run(x.r, &info, &x.p, &warm, work, fewer);
  CHECK(!found);
  for (int i = 0; i < ROWS; i++) CHECK_NEAR(x.r[i], guess[i], 1e-15);
  kn_solver_work_destroy(work);
}
