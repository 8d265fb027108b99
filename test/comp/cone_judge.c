/* The judge: closed-form solutions have error 0, anything else has not; every set, mu 0 and infinity. */
#include <float.h>
#include <string.h>

#include "base/isa.h"
#include "comp/judge/judge.h"
#include "cone_problems.h"
#include "test.h"

static kn_problem one(kn_set set, double mu, double lo, double hi, const double* W, const double* q,
                      kn_block* block) {
  *block = (kn_block){set, 0, mu, lo, hi};
  return (kn_problem){kn_set_rows(set), 1, block, W, NULL, q, NULL};
}

static void expect(const kn_problem* p, const double* r, double error) {
  CHECK_NEAR(kn_problem_error(p, r), error, 1e-15);
  if (error == 0.0) CHECK_NEAR(kn_problem_error_scaled(p, r), 0.0, 1e-15);
}

TEST(lines) {
  kn_block b;
  const double W[1] = {4}, q[1] = {-2}, solution[1] = {0.5}, zero[1] = {0}, quarter[1] = {0.25};
  kn_problem p = one(KN_SET_POSITIVE, 0, 0, 0, W, q, &b);
  expect(&p, solution, 0.0);
  expect(&p, zero, 1.0); /* |min(0, -2)| / |q| = 1 */
  p = one(KN_SET_FREE, 0, 0, 0, W, q, &b);
  expect(&p, solution, 0.0);
  p = one(KN_SET_BOX, 0, 0, 0.25, W, q, &b); /* at the upper bound with u < 0 */
  expect(&p, quarter, 0.0);
  p = one(KN_SET_BOX, 0, -0.1, 0.1, W, q, &b);
  CHECK(kn_problem_error(&p, quarter) > 0.05); /* outside the box */
}

/* Unit W: slip r_N = 1, |r_T| = mu, u_T = q_T + r_T; stick if |q_T| <= mu. */
TEST(one_contact_in_closed_form) {
  kn_block b;
  double W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 3, 4}, r[3];
  kn_problem p = one(KN_SET_CONE3, 0.5, 0, 0, W, q, &b);
  r[0] = 1, r[1] = -0.3, r[2] = -0.4;
  expect(&p, r, 0.0);
  r[1] = 0.3;
  CHECK(kn_problem_error(&p, r) > 0.01);
  p = one(KN_SET_CONE3, 6.0, 0, 0, W, q, &b);
  r[0] = 1, r[1] = -3, r[2] = -4;
  expect(&p, r, 0.0);
  p = one(KN_SET_CONE3, INFINITY, 0, 0, W, q, &b);
  expect(&p, r, 0.0);
  p = one(KN_SET_CONE3, 0.0, 0, 0, W, q, &b);
  r[1] = r[2] = 0;
  expect(&p, r, 0.0);
  q[0] = 1; /* separating */
  r[0] = 0;
  for (int i = 0; i < 3; i++) {
    p = one(KN_SET_CONE3, i == 0 ? 0.0 : i == 1 ? 0.7 : INFINITY, 0, 0, W, q, &b);
    expect(&p, r, 0.0);
  }
  r[0] = 0.1;
  CHECK(kn_problem_error(&p, r) > 0.01);
}

TEST(plane_contact_in_closed_form) {
  kn_block b;
  const double W[4] = {1, 0, 0, 2}, q[2] = {-1, 3}, slip[2] = {1, -0.5}, stick[2] = {1, -1.5};
  kn_problem p = one(KN_SET_CONE2, 0.5, 0, 0, W, q, &b);
  expect(&p, slip, 0.0);
  CHECK(kn_problem_error(&p, stick) > 0.01);
  p = one(KN_SET_CONE2, 2.0, 0, 0, W, q, &b);
  expect(&p, stick, 0.0);
}

/* FCLIB's error of a hand-made point: r = 0, u = q = (-1, 0, 0): residual |P_C((1, 0, 0))| = 1, over max(|q|,
 * 0, |u|) = 1. */
TEST(error_of_zero) {
  kn_block b;
  const double W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 0, 0}, r[3] = {0, 0, 0};
  kn_problem p = one(KN_SET_CONE3, 0.5, 0, 0, W, q, &b);
  expect(&p, r, 1.0);
  /* u_T enters the normal row: q = (-1, 1, 0), x = (1 - mu, -1, 0) is outside the cone */
  const double q2[3] = {-1, 1, 0};
  p.q = q2;
  double x = 0.5, t = 1.0, s = (x + 0.5 * t) / 1.25;
  CHECK_NEAR(kn_problem_error(&p, r), sqrt(s * s + 0.25 * s * s) / sqrt(2.0), 1e-15);
}

TEST(not_finite_is_infinite) {
  kn_block b;
  const double W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 0, 0};
  double r[3] = {NAN, 0, 0}, huge[3] = {1e200, 1e200, 0};
  kn_problem p = one(KN_SET_CONE3, 0.5, 0, 0, W, q, &b);
  CHECK(kn_problem_error(&p, r) == INFINITY && kn_problem_error_scaled(&p, r) == INFINITY);
  CHECK(kn_problem_error(&p, huge) == INFINITY); /* squares overflow: no claim is made */
}

/* Multiplying r, or the units of mass or velocity, changes neither error of the scaled kind. */
TEST(scaled_error_does_not_depend_on_units) {
  kn_rng rng = kn_rng_seed(3);
  kn_generated g = kn_generate(&rng, KN_FAMILY_FREE, 4, 10.0);
  int n = g.problem.rows;
  double r[12], W[144], q[12];
  for (int i = 0; i < n; i++) r[i] = kn_rng_normal(&rng);
  double before = kn_problem_error_scaled(&g.problem, r);
  for (int i = 0; i < n * n; i++) W[i] = g.problem.W[i] * 1e-3; /* masses x 1000 */
  for (int i = 0; i < n; i++) q[i] = g.problem.q[i] * 7.0, r[i] *= 7e3;
  kn_problem p = g.problem;
  p.W = W, p.q = q;
  CHECK_REL(kn_problem_error_scaled(&p, r) / before, 1.0, 1e-12);
  kn_generated_free(&g);
}

/* A further row that nothing touches changes nothing: in a plane, in space, far from an answer and near the
   cones. */
TEST(a_few_contacts_are_judged_as_many_are) {
  kn_rng g = kn_rng_seed(77);
  for (int trial = 0; trial < 3000; trial++) {
    int count = 2 + trial % 2, n = 3 * count, m = n + 1;
    double A[9][9], W[81], q[9], r[9], W_more[100] = {0}, q_more[10] = {0}, r_more[10] = {0};
    kn_block b[4] = {{0}};
    bool planar = trial % 3 == 0;
    for (int i = 0; i < n; i++) {
      double unit = pow(10.0, kn_rng_range(&g, -4.0, 1.0));
      for (int j = 0; j < n; j++) A[i][j] = unit * kn_rng_range(&g, -1.0, 1.0);
      q[i] = kn_rng_range(&g, -1.0, 1.0), r[i] = kn_rng_range(&g, -0.5, 2.0) / (unit * unit);
      if (!planar || i % 3 != 2) continue;
      for (int j = 0; j < n; j++) A[i][j] = 0.0;
      q[i] = r[i] = 0.0;
    }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += A[i][k] * A[j][k];
        W[i * n + j] = W_more[i * m + j] = sum;
      }
    W_more[m * m - 1] = W[0];
    for (int c = 0; c < count; c++) {
      b[c] = (kn_block){KN_SET_CONE3, 3 * c, kn_rng_range(&g, 0.0, 2.0), 0, 0};
      if (trial % 5 == 0) r[3 * c + 1] = b[c].mu * r[3 * c], r[3 * c + 2] = 0.0; /* on the cone */
      if (trial % 7 == 0) r[3 * c] = r[3 * c + 1] = r[3 * c + 2] = 0.0;
    }
    b[count] = (kn_block){KN_SET_POSITIVE, n, 0, 0, 0};
    memcpy(q_more, q, (size_t)n * sizeof *q);
    memcpy(r_more, r, (size_t)n * sizeof *r);
    kn_problem few = {n, count, b, W, NULL, q, NULL}, more = {m, count + 1, b, W_more, NULL, q_more, NULL};
    double error = kn_problem_error(&more, r_more), scaled = kn_problem_error_scaled(&more, r_more);
    CHECK_NEAR(kn_problem_error(&few, r), error, 1e-12 * (1.0 + error)); /* rounding, other orders of sums */
    CHECK_NEAR(kn_problem_error_scaled(&few, r), scaled, 1e-12 * (1.0 + scaled));
    for (int level = KN_CPU_BASE, top = kn_cpu_level(); level <= top; level++) {
      double first = kn_problem_error(&few, r), first_scaled = kn_problem_error_scaled(&few, r);
      kn_cpu_limit(level);
      CHECK(kn_problem_error(&few, r) == first && kn_problem_error_scaled(&few, r) == first_scaled);
      kn_cpu_limit(top);
    }
    int at = trial % n;
    const double bad[3] = {NAN, INFINITY, -INFINITY};
    r[at] = bad[trial % 3];
    CHECK(isinf(kn_problem_error(&few, r)) && isinf(kn_problem_error_scaled(&few, r)));
    r[at] = 0.0, q[at] = INFINITY;
    CHECK(isinf(kn_problem_error(&few, r)) && isinf(kn_problem_error_scaled(&few, r)));
  }
}

TEST(empty_problem) {
  kn_problem p = {0};
  kn_solver_work* work = NULL;
  kn_solve_info info;
  CHECK_OK(kn_solver_work_for(&work, &p));
  CHECK_NEAR(kn_problem_error(&p, NULL), 0.0, 0.0);
  CHECK_OK(kn_problem_solve(NULL, &info, &p, NULL, work));
  kn_solver_work_destroy(work);
}

TEST(bad_input_names_the_entry) {
  kn_block block[2] = {{KN_SET_CONE3, 0, 0.5, 0, 0}, {KN_SET_POSITIVE, 3, 0, 0, 0}};
  double W[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, q[4] = {-1, 0, 0, -1}, r[4] = {7, 7, 7, 7};
  kn_problem p = {4, 2, block, W, NULL, q, NULL};
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, 4, 2, 0));
  CHECK_OK(kn_problem_solve(r, NULL, &p, NULL, work));
  memset(r, 0, sizeof r);
  W[6] = NAN;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "W(1,2)");
  W[6] = 0, q[3] = INFINITY;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "q(3)");
  q[3] = -1, block[0].mu = -0.1;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "block 0");
  block[0].mu = NAN;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_BAD_ARGUMENT);
  block[0].mu = 0.5, block[1].row = 2;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "block 1");
  block[1].row = 3, p.rows = 5;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_BAD_ARGUMENT);
  p.rows = 4;
  block[1] = (kn_block){KN_SET_BOX, 3, 0, 1.0, -1.0};
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_BAD_ARGUMENT);
  block[1] = (kn_block){KN_SET_POSITIVE, 3, 0, 0, 0};
  kn_solve_settings s = kn_solve_default();
  s.solver = "nonsense";
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, &s, work), KN_NOT_FOUND);
  s = kn_solve_default(), s.warm_start = true, r[1] = NAN;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, &s, work), KN_NOT_FINITE);
  CHECK_STATUS(kn_problem_solve(r, NULL, NULL, NULL, work), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, NULL), KN_BAD_ARGUMENT);
  kn_solver_work_destroy(work);
  CHECK_OK(kn_solver_work_create(&work, 3, 1, 0));
  r[1] = 0;
  CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_NO_ROOM);
  kn_solver_work_destroy(work);
}

/* Found by fuzzing: every iterate overflowed, zero came back as unsolved although it is the solution. */
TEST(overflow_falls_back_to_a_judged_zero) {
  const kn_block block[3] = {
      {KN_SET_POSITIVE, 0, 0, 0, 0}, {KN_SET_CONE2, 1, 0.3125, 0, 0}, {KN_SET_POSITIVE, 3, 0, 0, 0}};
  const double W[16] = {-5.6, 5e238, -2,   -2.7, 5e238, -3.1, 2.2,  -2.9,
                        -2,   2.2,   -3.7, -3.9, -2.7,  -2.9, -3.9, -5.5};
  const double q[4] = {5.4, 9.1, 1.9, 0.2};
  kn_problem p = {4, 3, block, W, NULL, q, NULL};
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, 4, 3, 0));
  for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++) {
    double r[4] = {1, 1, 1, 1};
    kn_solve_settings settings = kn_solve_default();
    kn_solve_info info;
    settings.solver = s->name;
    kn_status status = kn_problem_solve(r, &info, &p, &settings, work);
    bool good = kn_problem_error(&p, r) <= 1e-10 && kn_problem_error_scaled(&p, r) <= 1e-10;
    CHECK((status == KN_OK) == good);
    CHECK(info.residual == kn_problem_error(&p, r));
  }
  kn_solver_work_destroy(work);
}

/* A contact on a body that can move in one direction only: W = w wᵀ with w = (1, -1/2, 0). Along (1, 2, 0) r
   moves nothing (mu = 3 lets it), so r = 1e26 (1, 2, 0) + any solution has u of rounding times 1e26, which is
   small beside r and huge beside q. It was taken for a solution. */
TEST(an_answer_that_ran_away_along_a_null_direction_is_refused) {
  double W[9] = {1.0, -0.5, 0.0, -0.5, 0.25, 0.0, 0.0, 0.0, 0.0}, q[3] = {-1e-2, 5e-3, 0.0};
  kn_block block = {.set = KN_SET_CONE3, .mu = 3.0};
  kn_problem p = {.rows = 3, .blocks = 1, .block = &block, .W = W, .q = q};
  double good[3] = {1e-2 + 1e-3, 2e-3, 0.0}, away[3] = {1.00000000000001e26, 2e26, 0.0};
  CHECK_BELOW(kn_problem_error_scaled(&p, good), 1e-15);
  CHECK(kn_problem_error_scaled(&p, away) > 1.0);
}
