/* Random LCPs of every sort, small ones by the million: whatever a solver calls solved is checked here again,
   in extended precision and with other code; whatever is called unsolvable is searched for solutions by brute
   force. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/timer.h"
#include "knuckle/comp.h"
#include "test.h"

enum { MAX = 12 };

typedef struct problem {
  int n;
  double M[MAX * MAX], q[MAX], lo[MAX], hi[MAX];
  kn_lcp lcp;
} problem;

/* Kinds of entries: real, small integers (many ties and singular blocks), powers of ten. */
static double entry(kn_rng* rng, int kind) {
  switch (kind) {
  case 0: return kn_rng_range(rng, -1, 1);
  case 1: return kn_rng_int(rng, 5) - 2;
  case 2: return kn_rng_int(rng, 3) ? 0.0 : kn_rng_range(rng, -1, 1);
  default: return (kn_rng_int(rng, 2) ? 1 : -1) * pow(10, kn_rng_int(rng, 13) - 6);
  }
}

static void semidefinite(problem* p, kn_rng* rng, int kind, int rank) {
  double B[MAX * MAX];
  for (int i = 0; i < p->n * rank; i++) B[i] = entry(rng, kind);
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++) {
      double s = 0;
      for (int k = 0; k < rank; k++) s += B[i * rank + k] * B[j * rank + k];
      p->M[i * p->n + j] = s;
    }
}

static void bounds(problem* p, kn_rng* rng) {
  static const double los[5] = {0, -INFINITY, -1, -INFINITY, 2}, his[5] = {INFINITY, INFINITY, 1, 0.5, 2};
  for (int i = 0; i < p->n; i++) {
    int k = kn_rng_int(rng, 5);
    p->lo[i] = los[k], p->hi[i] = his[k];
  }
  p->lcp.lo = p->lo, p->lcp.hi = p->hi;
}

static void make(problem* p, kn_rng* rng) {
  int kind = kn_rng_int(rng, 4), shape = kn_rng_int(rng, 6),
      n = kn_rng_int(rng, 4) ? kn_rng_int(rng, 6) : kn_rng_int(rng, MAX + 1);
  p->n = n;
  p->lcp = (kn_lcp){n, p->M, p->q, NULL, NULL};
  for (int i = 0; i < n * n; i++) p->M[i] = entry(rng, kind);
  if (shape == 1) semidefinite(p, rng, kind, n);
  if (shape == 2) semidefinite(p, rng, kind, n ? 1 + kn_rng_int(rng, n) : 0);
  if (shape == 3) /* semidefinite plus skew */
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++) p->M[j * n + i] = i == j ? fabs(p->M[i * n + i]) : -p->M[i * n + j];
  if (shape == 4 && n > 1) { /* copies of rows and columns */
    int a = kn_rng_int(rng, n), b = kn_rng_int(rng, n);
    for (int j = 0; j < n; j++) p->M[b * n + j] = p->M[a * n + j];
    for (int i = 0; i < n; i++) p->M[i * n + b] = p->M[i * n + a];
  }
  if (shape == 5) /* badly scaled */
    for (int i = 0; i < n; i++) {
      double s = pow(10, kn_rng_int(rng, 9) - 4);
      for (int j = 0; j < n; j++) p->M[i * n + j] *= s, p->M[j * n + i] *= s;
    }
  for (int i = 0; i < n; i++) p->q[i] = entry(rng, kind);
  if (kn_rng_int(rng, 8) == 0 && n) { /* a zero row and column */
    int a = kn_rng_int(rng, n);
    for (int i = 0; i < n; i++) p->M[a * n + i] = p->M[i * n + a] = 0;
  }
  if (kn_rng_int(rng, 64) == 0 && n) p->M[kn_rng_int(rng, n * n)] = kn_rng_int(rng, 2) ? 1e200 : 1e-200;
  if (kn_rng_int(rng, 4) == 0) bounds(p, rng);
}

/* The natural map in extended precision, scaled as documented in comp.h, written from the documentation. */
static double judge(const problem* p, const double* z) {
  int n = p->n;
  long double most = 0, s[MAX], worst = 0, qs = 0, zs = 0;
  for (int i = 0; i < n; i++) most = fmaxl(most, fabsl((long double)p->M[i * n + i]));
  for (int i = 0; i < n; i++) {
    long double d = fabsl((long double)p->M[i * n + i]);
    s[i] = (double)d > 1e-14 * (double)most ? 1 / sqrtl(d) : 0; /* the documented limit, in double */
  }
  for (int i = 0; i < n; i++) {
    long double w = p->q[i], big = 0, row = most > 0 ? sqrtl(most) : 1, scale = s[i], scale_w = s[i];
    for (int j = 0; j < n; j++) w += (long double)p->M[i * n + j] * z[j];
    for (int j = 0; j < n; j++) {
      long double unit = s[j] > 0 ? s[j] : 1, across = unit * fabsl((long double)p->M[i * n + j]);
      row = fmaxl(row, across);
      big = fmaxl(big, fmaxl(across, unit * fabsl((long double)p->M[j * n + i])));
    }
    if (scale == 0) scale = big > 0 ? 1 / big : 1, scale_w = fmaxl(scale, 1 / row);
    long double lo = p->lcp.lo ? p->lo[i] : 0, hi = p->lcp.hi ? p->hi[i] : INFINITY;
    long double x = z[i] / scale, t = x - w * scale_w,
                m = t < lo / scale   ? lo / scale
                    : t > hi / scale ? hi / scale
                                     : t;
    worst = fmaxl(worst, fabsl(x - m));
    qs = fmaxl(qs, fabsl(p->q[i]) * scale_w);
    zs = fmaxl(zs, fabsl(x));
    if (!isfinite(z[i])) return INFINITY;
  }
  long double unit = qs + 1e-4L * zs;
  return (double)(unit > 0 ? worst / unit : worst);
}

/* M' = S M S and q' = S q as documented. */
static void scaled(const problem* p, long double* A, long double* b) {
  int n = p->n;
  long double most = 0, d[MAX], s[MAX];
  for (int i = 0; i < n; i++) most = fmaxl(most, fabsl((long double)p->M[i * n + i]));
  for (int i = 0; i < n; i++) {
    long double a = fabsl((long double)p->M[i * n + i]);
    d[i] = (double)a > 1e-14 * (double)most ? 1 / sqrtl(a) : 0;
  }
  for (int i = 0; i < n; i++) {
    long double big = 0;
    for (int j = 0; j < n; j++)
      big = fmaxl(big, (d[j] > 0 ? d[j] : 1) *
                           fmaxl(fabsl((long double)p->M[i * n + j]), fabsl((long double)p->M[j * n + i])));
    s[i] = d[i] > 0 ? d[i] : big > 0 ? 1 / big : 1;
  }
  for (int i = 0; i < n; i++) {
    b[i] = s[i] * p->q[i];
    for (int j = 0; j < n; j++) A[i * n + j] = s[i] * p->M[i * n + j] * s[j];
  }
}

/* One complementary cone: a solution whose M_SS is far from singular (pivots above 1e-9 of the matrix) and
   which is not astronomically large; others may vanish when M changes in its last digits. */
static bool clear_solution(int n, const long double* A, const long double* b, unsigned set) {
  long double T[MAX][MAX + 1], z[MAX] = {0}, most = 0, unit = 0;
  int rows[MAX], m = 0;
  for (int i = 0; i < n; i++) {
    unit = fmaxl(unit, fabsl(b[i]));
    if (set >> i & 1) rows[m++] = i;
  }
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) T[i][j] = A[rows[i] * n + rows[j]], most = fmaxl(most, fabsl(T[i][j]));
    T[i][m] = -b[rows[i]];
  }
  for (int k = 0; k < m; k++) {
    int best = k;
    for (int i = k + 1; i < m; i++)
      if (fabsl(T[i][k]) > fabsl(T[best][k])) best = i;
    if (!(fabsl(T[best][k]) > 1e-9L * most)) return false;
    for (int j = 0; j <= m; j++) {
      long double t = T[k][j];
      T[k][j] = T[best][j];
      T[best][j] = t;
    }
    for (int i = 0; i < m; i++)
      for (int j = m; i != k && j >= k; j--) T[i][j] -= T[i][k] / T[k][k] * T[k][j];
  }
  for (int i = 0; i < m; i++) {
    z[rows[i]] = T[i][m] / T[i][i];
    if (z[rows[i]] < 0 || z[rows[i]] > 1e8L * unit) return false;
  }
  for (int i = 0; i < n; i++) {
    long double w = b[i];
    for (int j = 0; j < n; j++) w += A[i * n + j] * z[j];
    if (!(set >> i & 1) && w < 0) return false;
  }
  return true;
}

static bool brute_force(const problem* p) {
  long double A[MAX * MAX], b[MAX];
  scaled(p, A, b);
  for (unsigned set = 0; set < 1u << p->n; set++)
    if (clear_solution(p->n, A, b, set)) return true;
  return false;
}

static long wrong, counts[4], none_checked, number; /* number: of the problem, to find it again */

static void check(const problem* p, const kn_lcp_solver* solver, const kn_lcp_settings* settings,
                  kn_lcp_work* work) {
  double z[MAX] = {0};
  kn_solve_info info;
  kn_status status = solver->solve(z, &info, &p->lcp, settings, work);
  for (int i = 0; i < p->n && status != KN_UNSUPPORTED; i++) wrong += !CHECK(isfinite(z[i]));
  if (status == KN_OK) {
    counts[0]++;
    /* the library's sum is in double: a rounding of the terms themselves is allowed on top */
    double r = judge(p, z);
    if (!(r <= 4 * settings->tol)) {
      wrong++;
      printf("  problem %ld, %s: called solved with %.3g, judged %.3g (n = %d)\n", number, solver->name,
             info.residual_scaled, r, p->n);
      CHECK(r <= 4 * settings->tol);
    }
  } else if (status == KN_NO_SOLUTION) {
    counts[1]++;
    const double* y;
    wrong += !CHECK(kn_lcp_certificate(&y, work) != KN_CERTIFICATE_NONE);
    if (!p->lcp.lo && p->n <= 6) {
      none_checked++;
      if (brute_force(p)) {
        wrong++;
        printf("  problem %ld, %s: called unsolvable, but a solution exists (n = %d)\n", number, solver->name,
               p->n);
        CHECK(!"a solution exists");
      }
    }
  } else if (status == KN_NOT_CONVERGED)
    counts[2]++;
  else if (status == KN_UNSUPPORTED)
    counts[3]++;
  else
    wrong += !CHECK(!"unexpected status");
}

TEST(nothing_wrong_is_called_solved) {
  int solvers;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&solvers);
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  if (!CHECK_OK(kn_lcp_work_create(&work, 2 * MAX))) return;
  long trials = 40000L * kn_test_effort();
  double start = kn_cpu_seconds(), slowest = 0;
  for (long k = 0; k < trials && wrong < 20; k++) {
    problem p;
    kn_rng rng = kn_rng_seed((uint64_t)k * 2654435761u + 17);
    number = k;
    make(&p, &rng);
    double t = kn_cpu_seconds();
    settings.warm = false;
    settings.max_iterations = k % 16 ? 0 : 300;
    check(&p, list[k % 4 ? 0 : (size_t)(k / 4) % (size_t)solvers], &settings, work);
    slowest = fmax(slowest, kn_cpu_seconds() - t);
  }
  printf("  %ld problems: %ld solved, %ld without solution (%ld of them searched), %ld open, %ld refused; "
         "%.1f us each, slowest %.2f ms\n",
         trials, counts[0], counts[1], none_checked, counts[2], counts[3],
         1e6 * (kn_cpu_seconds() - start) / (double)trials, 1e3 * slowest);
  CHECK(wrong == 0);
  CHECK(counts[0] > trials / 3);
  CHECK(slowest <
        2.0); /* no hang: enumeration of twelve rows with boxes is the slowest thing that can happen */
  kn_lcp_work_destroy(work);
}
