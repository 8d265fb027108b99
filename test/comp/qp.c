/* Quadratic programs: optimality, a second formulation, infeasibility, bad input. */
#include <string.h>

#include "base/rng.h"
#include "contact_gen.h"
#include "knuckle/comp.h"
#include "test.h"

enum { N = 12, MROWS = 16 };

static void gram(kn_rng* rng, int n, int rank, double* H) {
  double B[N * N];
  for (int i = 0; i < n * rank; i++) B[i] = kn_rng_range(rng, -1, 1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      H[i * n + j] = 0;
      for (int k = 0; k < rank; k++) H[i * n + j] += B[i * rank + k] * B[j * rank + k];
    }
}

/* Rows are made feasible around a random point; every kind of bound occurs. H may be singular as long as g is
   in its range, so that a minimum exists. */
static void check_program(int k) {
  kn_rng rng = kn_rng_seed((uint64_t)k);
  int n = 1 + kn_rng_int(&rng, N), m = kn_rng_int(&rng, MROWS + 1), rank = k % 3 ? n : (n + 1) / 2;
  double H[N * N], g[N], A[MROWS * N], lo[MROWS], hi[MROWS], x[N], y[MROWS], inside[N], dual[N];
  gram(&rng, n, rank, H);
  for (int i = 0; i < n; i++) inside[i] = kn_rng_range(&rng, -1, 1), dual[i] = kn_rng_range(&rng, -3, 3);
  for (int i = 0; i < n; i++) {
    g[i] = 0;
    for (int j = 0; j < n; j++) g[i] -= H[i * n + j] * dual[j];
  }
  for (int i = 0; i < m; i++) {
    double s = 0;
    for (int j = 0; j < n; j++) A[i * n + j] = kn_rng_range(&rng, -1, 1), s += A[i * n + j] * inside[j];
    int kind = kn_rng_int(&rng, 4);
    lo[i] = kind == 1 ? -INFINITY : s - (kind == 3 && i < n / 3 ? 0 : kn_rng_unit(&rng));
    hi[i] = kind == 0 ? INFINITY : kind == 3 && i < n / 3 ? lo[i] : s + kn_rng_unit(&rng);
  }
  kn_qp qp = {n, m, H, g, A, lo, hi};
  kn_solve_info info;
  CHECK_OK(kn_qp_solve(x, y, &info, &qp, NULL, NULL));
  CHECK(kn_qp_residual(&qp, x, y) <= 1e-10);
  /* a wrong point is not called optimal */
  x[0] += 0.1;
  double before = kn_qp_residual(&qp, x, y);
  double curvature = 0;
  for (int i = 0; i < n; i++) curvature = fmax(curvature, fabs(H[i * n]));
  if (curvature > 1e-3) CHECK(before > 1e-6);
}

TEST(random_programs_reach_their_optimality_conditions) {
  for (int k = 0; k < 300 * kn_test_effort(); k++) check_program(k);
}

/* Rounding made a factor of a singular H, and the dual of that seemed to prove that no point satisfies the
   rows (the first four); flat directions that took more than 200 rounds with one eps; curvatures of 1e-9. */
TEST(singular_programs_are_not_called_infeasible) {
  const int seed[] = {420, 885, 1497, 2070, 1212, 1290, 2124, 2322, 1388, 2590};
  for (size_t k = 0; k < sizeof seed / sizeof *seed; k++) check_program(seed[k]);
}

/* Gauss' principle: min 1/2 a^T M a - a^T Q, J a >= 0, gives the same a as the force LCP (frictionless.h, F1 and F2). Two
   boxes with unit inertia touching in a few random contacts. */
TEST(least_constraint_agrees_with_the_force_lcp) {
  for (int k = 0; k < 100 * kn_test_effort(); k++) {
    kn_rng rng = kn_rng_seed((uint64_t)k + 77);
    enum { DOF = 12, NC = 6 };
    double M[DOF * DOF] = {0}, Q[DOF], J[NC * DOF], W[NC * NC], b[NC], lam[NC], a[DOF], y[NC], minus[DOF];
    for (int i = 0; i < DOF; i++)
      M[i * DOF + i] = kn_rng_range(&rng, 0.1, 10), Q[i] = kn_rng_range(&rng, -1, 1), minus[i] = -Q[i];
    for (int i = 0; i < NC * DOF; i++) J[i] = kn_rng_range(&rng, -1, 1);
    if (k % 2)
      memcpy(J + DOF, J, DOF * sizeof *J); /* a duplicate contact: forces not unique, accelerations are */
    for (int i = 0; i < NC; i++) {
      b[i] = 0;
      for (int d = 0; d < DOF; d++) b[i] += J[i * DOF + d] * Q[d] / M[d * DOF + d];
      for (int j = 0; j < NC; j++) {
        W[i * NC + j] = 0;
        for (int d = 0; d < DOF; d++) W[i * NC + j] += J[i * DOF + d] * J[j * DOF + d] / M[d * DOF + d];
      }
    }
    double zero[NC] = {0}, force[DOF];
    kn_qp qp = {DOF, NC, M, minus, J, zero, NULL};
    CHECK_OK(kn_qp_solve(a, y, NULL, &qp, NULL, NULL));
    kn_lcp lcp = {NC, W, b, NULL, NULL};
    const kn_lcp_solver* nnls = kn_lcp_solver_find("nnls");
    kn_lcp_settings settings = kn_lcp_settings_default();
    kn_solve_info info;
    kn_lcp_work* work;
    CHECK_OK(kn_lcp_work_create(&work, NC));
    CHECK_OK(nnls->solve(lam, &info, &lcp, &settings, work));
    for (int d = 0; d < DOF; d++) {
      force[d] = Q[d];
      for (int i = 0; i < NC; i++) force[d] += J[i * DOF + d] * lam[i];
      force[d] /= M[d * DOF + d];
    }
    CHECK_ARRAY(a, force, DOF, 1e-9);
    kn_lcp_work_destroy(work);
  }
}

TEST(contradicting_rows_are_infeasible) {
  double H[4] = {1, 0, 0, 1}, g[2] = {0, 0}, A[4] = {1, 1, 1, 1}, lo[2] = {1, -INFINITY},
         hi[2] = {INFINITY, -1}, x[2], y[2];
  kn_qp qp = {2, 2, H, g, A, lo, hi};
  CHECK_STATUS(kn_qp_solve(x, y, NULL, &qp, NULL, NULL), KN_INFEASIBLE);
  hi[1] = 0.5, lo[1] = 0.7;
  CHECK_STATUS(kn_qp_solve(x, y, NULL, &qp, NULL, NULL), KN_INFEASIBLE);
  CHECK_TEXT(kn_last_error(), "row 1");
}

TEST(bad_programs_are_named) {
  double H[4] = {1, 0, 2, 1}, g[2] = {0, 0}, x[2];
  kn_qp qp = {2, 0, H, g, NULL, NULL, NULL};
  CHECK_STATUS(kn_qp_solve(x, NULL, NULL, &qp, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "symmetric");
  H[2] = 0, H[3] = -1;
  CHECK_STATUS(kn_qp_solve(x, NULL, NULL, &qp, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "semidefinite");
  H[3] = NAN;
  CHECK_STATUS(kn_qp_solve(x, NULL, NULL, &qp, NULL, NULL), KN_NOT_FINITE);
  qp = (kn_qp){0, 0, NULL, NULL, NULL, NULL, NULL};
  CHECK_OK(kn_qp_solve(NULL, NULL, NULL, &qp, NULL, NULL));
}
