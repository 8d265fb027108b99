/* The P test against all minors in quadruple precision, on random matrices of several kinds. */
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "base/timer.h"
#include "knuckle/comp.h"
#include "test.h"

enum { MAX = 26 };

/* Determinant of the rows in set of the matrix scaled to unit diagonal, in 113-bit arithmetic with partial
 * pivoting. */
static double exact_minor(int n, const double* A, unsigned set) {
  __float128 T[10][10], det = 1;
  int rows[10], m = 0;
  for (int i = 0; i < n; i++)
    if (set >> i & 1) rows[m++] = i;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) T[i][j] = (__float128)A[rows[i] * n + rows[j]] / A[rows[i] * n + rows[i]];
  for (int k = 0; k < m; k++) {
    int p = k;
    for (int i = k + 1; i < m; i++)
      if ((T[i][k] < 0 ? -T[i][k] : T[i][k]) > (T[p][k] < 0 ? -T[p][k] : T[p][k])) p = i;
    if (T[p][k] == 0) return 0;
    if (p != k) {
      for (int j = 0; j < m; j++) {
        __float128 t = T[k][j];
        T[k][j] = T[p][j];
        T[p][j] = t;
      }
      det = -det;
    }
    det *= T[k][k];
    for (int i = k + 1; i < m; i++)
      for (int j = k + 1; j < m; j++) T[i][j] -= T[i][k] / T[k][k] * T[k][j];
  }
  return (double)det;
}

static void generate(kn_rng* rng, int kind, int n, double* A) {
  double B[100];
  for (int i = 0; i < n * n; i++) B[i] = kn_rng_range(rng, -1, 1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double gram = 0;
      for (int k = 0; k < n; k++) gram += B[i * n + k] * B[j * n + k];
      switch (kind % 6) {
      case 0: A[i * n + j] = i == j ? kn_rng_range(rng, 0.2, 1) : B[i * n + j]; break; /* mostly not P */
      case 1: A[i * n + j] = gram + 2 * (B[i * n + j] - B[j * n + i]); break;          /* definite + skew */
      case 2: A[i * n + j] = i == j ? 1 : (j < i ? 3 : 0.4 / n) * B[i * n + j]; break; /* near triangular */
      case 3: A[i * n + j] = i == j ? 1 : B[i * n + j] / (n > 4 ? 2 : 1); break;       /* borderline */
      case 4: A[i * n + j] = i == j ? 1 : i / 3 == j / 3 || i > j ? B[i * n + j] : 0; break; /* blocks */
      default:
        A[i * n + j] = gram * (i < n / 2 ? 1e-3 : 1) * (j < n / 2 ? 1e-3 : 1);
        break; /* badly scaled */
      }
    }
  if (kind % 7 == 6 && n > 1) /* an exact copy: singular minors */
    for (int j = 0; j < n; j++) A[(n - 1) * n + j] = A[j];
  if (kind % 7 == 6 && n > 1)
    for (int i = 0; i < n; i++) A[i * n + n - 1] = A[i * n];
}

TEST(agrees_with_all_minors_in_quadruple_precision) {
  kn_rng rng = kn_rng_seed(1);
  int counts[3] = {0}, trials = 1500 * kn_test_effort();
  for (int k = 0; k < trials; k++) {
    int n = 1 + kn_rng_int(&rng, 10);
    double A[100], least = INFINITY, closest = INFINITY;
    unsigned worst = 0;
    generate(&rng, k, n, A);
    for (unsigned set = 1; set < 1u << n; set++) {
      double v = exact_minor(n, A, set);
      if (v < least) least = v, worst = set;
      closest = fmin(closest, fabs(v));
    }
    kn_pmatrix p;
    CHECK_OK(kn_pmatrix_test(&p, n, A, n));
    counts[p.is_p]++;
    /* clearly decided ones must be decided, and rightly; a factor of two around 1e-12 is left to rounding */
    if (closest > 2e-12) CHECK_INT(p.is_p, least > 0 ? KN_ANSWER_YES : KN_ANSWER_NO);
    if (p.is_p == KN_ANSWER_YES) CHECK(least > 0);
    if (p.is_p == KN_ANSWER_NO) {
      CHECK(least < 0 && p.failing != 0);
      double v = exact_minor(n, A, (unsigned)p.failing);
      CHECK(v < 0);
      CHECK_REL(p.value / v, 1.0, 1e-3); /* both unit diagonal; entries up to 1e-12/1e-15 relative error */
    }
    if (least > -0.5e-12 && closest < 1e-14) CHECK_INT(p.is_p, KN_ANSWER_UNDECIDED);
    (void)worst;
  }
  printf("  %d undecided, %d P, %d not P\n", counts[0], counts[1], counts[2]);
  CHECK(counts[0] > trials / 50 && counts[1] > trials / 20 && counts[2] > trials / 20);
}

/* Lower triangular with a thread of tiny entries above: P, strongly connected, not definite, not an H-matrix.
 */
static void hard_p(kn_rng* rng, int n, double* A) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[i * n + j] = i == j ? 1 : j < i ? kn_rng_range(rng, -3, 3) : j == i + 1 ? 1e-40 : 0;
}

/* Determinant of a matrix of 24 rows by elimination without pivots, the least of 200 times: how fast this machine is now. */
static double machine_seconds(void) {
  enum { N = 24 };
  static double A[N][N];
  double best = INFINITY;
  for (int rep = 0; rep < 200; rep++) {
    volatile double sum = 0.0;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) A[i][j] = i == j ? 30.0 : 1.0 / (1.0 + i + 2.0 * j);
    double t = kn_cpu_seconds();
    for (int k = 0; k < N; k++)
      for (int i = k + 1; i < N; i++) {
        double f = A[i][k] / A[k][k];
        for (int j = k; j < N; j++) A[i][j] -= f * A[k][j];
      }
    for (int k = 0; k < N; k++) sum += A[k][k];
    best = fmin(best, kn_cpu_seconds() - t);
  }
  return best;
}

/* On a slow machine, or one whose cores others share, as many times the elimination above as the limits are where it takes 2 us. */
TEST(decides_24_rows_in_20_ms_and_12_in_10_us) {
  static const int sizes[2] = {12, 24};
  static const double limits[2] = {10e-6, 20e-3};
  kn_rng rng = kn_rng_seed(2);
  double A[MAX * MAX];
  for (int k = 0; k < 2; k++) {
    kn_pmatrix p;
    double best = INFINITY;
    hard_p(&rng, sizes[k], A);
    for (int rep = 0; rep < (k ? 5 : 200); rep++) {
      double t = kn_cpu_seconds();
      kn_pmatrix_test(&p, sizes[k], A, sizes[k]);
      best = fmin(best, kn_cpu_seconds() - t);
    }
    CHECK_INT(p.is_p, KN_ANSWER_YES);
    double slower = fmax(1.0, machine_seconds() / 2e-6);
    printf("  n = %d: %.1f us; %.2f times as slow a machine as thought of\n", sizes[k], 1e6 * best, slower);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (kn_cpu_level() >= KN_CPU_AVX2) CHECK(best <= slower * limits[k]);
#endif
  }
}

TEST(a_single_bad_minor_of_all_rows_is_found) {
  kn_rng rng = kn_rng_seed(3);
  double A[MAX * MAX];
  for (int n = 3; n <= 14; n++) {
    /* the cycle 0 -> 1 -> ... -> n-1 -> 0 is the only way its entries meet: minor = 1 + (-1)^(n+1) * product
     */
    memset(A, 0, sizeof A);
    for (int i = 0; i < n; i++) A[i * n + i] = 1, A[i * n + (i + 1) % n] = i ? 1 : (n % 2 ? -2 : 2);
    kn_pmatrix p;
    CHECK_OK(kn_pmatrix_test(&p, n, A, n));
    CHECK_INT(p.is_p, KN_ANSWER_NO);
    CHECK_INT((long long)p.failing, (1ll << n) - 1);
    CHECK_NEAR(p.value, -1.0, 1e-12);
  }
  (void)rng;
}

TEST(every_instruction_set_agrees) {
  kn_rng rng = kn_rng_seed(4);
  double A[100];
  for (int k = 0; k < 200; k++) {
    kn_pmatrix p[3];
    generate(&rng, k, 10, A);
    for (int isa = 0; isa < 3; isa++) kn_cpu_limit(isa), kn_pmatrix_test(&p[isa], 10, A, 10);
    for (int isa = 1; isa < 3; isa++)
      CHECK(p[isa].is_p == p[0].is_p && p[isa].failing == p[0].failing && p[isa].value == p[0].value);
  }
  kn_cpu_limit(KN_CPU_AVX512);
}

TEST(edges) {
  kn_pmatrix p;
  CHECK_OK(kn_pmatrix_test(&p, 0, NULL, 0));
  CHECK_INT(p.is_p, KN_ANSWER_YES);
  CHECK_OK(kn_pmatrix_test(&p, 1, (double[]){0}, 1));
  CHECK_INT(p.is_p, KN_ANSWER_UNDECIDED);
  CHECK_OK(kn_pmatrix_test(&p, 2, (double[]){1, 0, 0, -1}, 2));
  CHECK_INT(p.is_p, KN_ANSWER_NO);
  CHECK_INT((long long)p.failing, 2);
  CHECK_STATUS(kn_pmatrix_test(&p, 1, (double[]){NAN}, 1), KN_NOT_FINITE);
  double A[40 * 40] = {0};
  for (int i = 0; i < 40; i++) A[i * 41] = 1;
  CHECK_OK(kn_pmatrix_test(&p, 40, A, 40));
  CHECK_INT(p.is_p, KN_ANSWER_YES);
}
