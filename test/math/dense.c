/* Dense kernels against reconstruction, and bit for bit across instruction sets. */
#include "math/dense.h"

#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "test.h"

enum { MAX = 101, LD = 104 };

static double A[MAX * LD], F[MAX * LD], G[MAX * LD], G2[MAX * LD];

static void fill(kn_rng* rng, int n, double* M) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) M[i * LD + j] = kn_rng_range(rng, -1, 1);
}

/* M = B B^T with B n x rank */
static void fill_gram(kn_rng* rng, int n, int rank, double* M) {
  static double B[MAX * LD];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < rank; j++) B[i * LD + j] = kn_rng_range(rng, -1, 1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < rank; k++) s += B[i * LD + k] * B[j * LD + k];
      M[i * LD + j] = s;
    }
}

TEST(lu_reconstructs_the_permuted_matrix) {
  kn_rng rng = kn_rng_seed(1);
  int perm[MAX];
  for (int n = 1; n <= MAX; n++) {
    fill(&rng, n, A);
    memcpy(F, A, sizeof A);
    if (!CHECK_INT(kn_lu_factor(n, F, LD, perm), n)) return;
    double worst = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double s = 0;
        for (int k = 0; k <= i && k <= j; k++) s += (k == i ? 1.0 : F[i * LD + k]) * F[k * LD + j];
        worst = fmax(worst, fabs(s - A[perm[i] * LD + j]));
        if (j < i) CHECK(fabs(F[i * LD + j]) <= 1.0 + 1e-15); /* partial pivoting; 1/pivot rounds once */
      }
    CHECK(worst <= 1e-15 * n * 8); /* n eps times a growth factor of a few */
  }
}

TEST(lu_solves_and_refines) {
  kn_rng rng = kn_rng_seed(2);
  int perm[MAX];
  double x[MAX], b[MAX], y[MAX], scratch[2 * MAX];
  for (int n = 0; n <= MAX; n++) {
    fill(&rng, n, A);
    memcpy(F, A, sizeof A);
    for (int i = 0; i < n; i++) x[i] = kn_rng_range(&rng, -1, 1);
    kn_gemv(n, n, b, A, LD, x);
    if (!CHECK_INT(kn_lu_factor(n, F, LD, perm), n)) return;
    kn_lu_solve(n, y, F, LD, perm, b);
    kn_lu_refine(n, y, A, LD, F, LD, perm, b, scratch);
    double r = kn_lu_refine(n, y, A, LD, F, LD, perm, b, scratch);
    CHECK(r <= 4e-16 * (1 + n)); /* backward stable: eps |A||x|, entries below 1 */
  }
}

TEST(lu_reports_a_zero_column) {
  kn_rng rng = kn_rng_seed(3);
  int perm[MAX];
  for (int n = 1; n <= 20; n++) {
    fill(&rng, n, A);
    int c = kn_rng_int(&rng, n);
    for (int i = 0; i < n; i++) A[i * LD + c] = 0.0;
    CHECK_INT(kn_lu_factor(n, A, LD, perm), c);
  }
  A[0] = NAN;
  CHECK_INT(kn_lu_factor(1, A, LD, perm), 0);
}

TEST(cholesky_solves_definite_and_refuses_indefinite) {
  kn_rng rng = kn_rng_seed(4);
  double x[MAX], b[MAX], y[MAX];
  for (int n = 0; n <= MAX; n++) {
    fill_gram(&rng, n, n, A);
    for (int i = 0; i < n; i++) A[i * LD + i] += 1.0; /* condition number below 1 + n^2 */
    memcpy(F, A, sizeof A);
    for (int i = 0; i < n; i++) x[i] = kn_rng_range(&rng, -1, 1);
    kn_gemv(n, n, b, A, LD, x);
    if (!CHECK_INT(kn_cholesky_factor(n, F, LD, 1e-14), n)) return;
    kn_cholesky_solve(n, y, F, LD, b);
    CHECK_ARRAY(y, x, (size_t)n, 1e-12);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) CHECK(F[i * LD + j] == A[i * LD + j]);
    if (n < 2) continue;
    memcpy(F, A, sizeof A);
    F[(n - 1) * LD + n - 1] = -0.5;
    CHECK_INT(kn_cholesky_factor(n, F, LD, 1e-14), n - 1);
  }
}

TEST(pivoted_cholesky_finds_the_rank) {
  kn_rng rng = kn_rng_seed(5);
  int perm[MAX];
  for (int n = 1; n <= 60; n++) {
    int rank = kn_rng_int(&rng, n + 1);
    fill_gram(&rng, n, rank, A);
    memcpy(F, A, sizeof A);
    if (!CHECK_INT(kn_cholesky_pivoted(n, F, LD, perm, 1e-11), rank)) continue;
    double worst = 0;
    for (int i = 0; i < n; i++)
      for (int j = i; j < n; j++) {
        double s = 0;
        for (int k = 0; k <= i && k < rank; k++) s += F[k * LD + i] * F[k * LD + j];
        worst = fmax(worst, fabs(s - A[perm[i] * LD + perm[j]]));
      }
    CHECK(worst <= 1e-13 * (1 + n)); /* entries up to n; the stopped remainder is below 1e-11 of that */
  }
}

/* The Schur complement and the offsets behind it, against solves with the whole leading block. */
TEST(eliminated_rows_leave_the_schur_complement) {
  kn_rng rng = kn_rng_seed(7);
  int perm[MAX];
  double b[MAX], x[MAX];
  for (int n = 1; n <= 40; n++) {
    int e = kn_rng_int(&rng, n + 1);
    fill_gram(&rng, n, n, A);
    for (int i = 0; i < n; i++) A[i * LD + i] += 1.0, A[i * LD + n] = b[i] = kn_rng_normal(&rng);
    memcpy(F, A, sizeof A);
    CHECK(kn_symmetric_eliminate(e, n, n + 1, F, LD));
    memcpy(G, A, sizeof A);
    CHECK_INT(kn_lu_factor(e, G, LD, perm), e);
    for (int j = e; j <= n; j++) { /* column j of (W_EE⁻¹ W_EL, W_EE⁻¹ b_E) */
      double column[MAX];
      for (int k = 0; k < e; k++) column[k] = A[k * LD + j];
      kn_lu_solve(e, x, G, LD, perm, column);
      for (int i = e; i < n && i <= j; i++) {
        double s = A[i * LD + j];
        for (int k = 0; k < e; k++) s -= A[k * LD + i] * x[k];
        CHECK_NEAR(F[i * LD + j], s, 1e-12 * n);
      }
    }
    if (e == 0) continue;
    memcpy(F, A, sizeof A);
    F[(e - 1) * LD + e - 1] = -0.5;
    CHECK(!kn_symmetric_eliminate(e, n, n + 1, F, LD));
  }
}

TEST(every_instruction_set_gives_the_same_bits) {
  kn_rng rng = kn_rng_seed(6);
  int perm[MAX];
  double b[MAX], x[MAX], ref[3][MAX];
  static double refF[3][MAX * LD];
  for (int n = 1; n <= MAX; n += 1 + n / 20) {
    fill(&rng, n, A);
    fill_gram(&rng, n, n, G);
    for (int i = 0; i < n; i++) b[i] = kn_rng_range(&rng, -1, 1);
    for (int isa = 0; isa <= KN_CPU_AVX512; isa++) {
      if (kn_cpu_limit(isa) != isa) continue;
      memcpy(F, A, sizeof A);
      kn_lu_factor(n, F, LD, perm);
      kn_lu_solve(n, x, F, LD, perm, b);
      if (isa == 0) memcpy(refF[0], F, sizeof F), memcpy(ref[0], x, sizeof x);
      CHECK(memcmp(refF[0], F, sizeof F) == 0);
      CHECK(memcmp(ref[0], x, sizeof(double) * (size_t)n) == 0);
      memcpy(F, G, sizeof G);
      kn_cholesky_factor(n, F, LD, 0);
      kn_cholesky_solve(n, x, F, LD, b);
      if (isa == 0) memcpy(refF[1], F, sizeof F), memcpy(ref[1], x, sizeof x);
      CHECK(memcmp(refF[1], F, sizeof F) == 0);
      CHECK(memcmp(ref[1], x, sizeof(double) * (size_t)n) == 0);
      memcpy(F, G, sizeof G);
      kn_cholesky_pivoted(n, F, LD, perm, 1e-12);
      kn_gemv(n, n, x, F, LD, b);
      memcpy(G2, G, sizeof G);
      kn_symmetric_eliminate(n / 2, n, n, G2, LD);
      for (size_t i = 0; i < sizeof G / sizeof *G; i++) F[i] += G2[i];
      if (isa == 0) memcpy(refF[2], F, sizeof F), memcpy(ref[2], x, sizeof x);
      CHECK(memcmp(refF[2], F, sizeof F) == 0);
      CHECK(memcmp(ref[2], x, sizeof(double) * (size_t)n) == 0);
    }
  }
  kn_cpu_limit(KN_CPU_AVX512);
}
