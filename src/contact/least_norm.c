#include "contact/least_norm.h"

#include <math.h>
#include <string.h>

#include "base/extreme.h"
#include "math/dense.h"

/* Dependent rows: rounding leaves 1e-15 of a pivot, loops and manifolds that are inconsistent by 1e-7 of
   their size leave 1e-14; independent rows of mechanisms are above 1e-8. */
static const double rank_tol = 1e-10;

/* Directions in which nothing can move have a compliance of rounding only: they count as dependent. */
static double floor_of(int n, const double* W) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = kn_max(most, W[(size_t)i * n + i]);
  return 1e-12 * most;
}

enum { SMALL = 24 };

/* Exchanges k and p > k of a symmetric matrix in its upper triangle. */
static void exchange(double* A, int m, int k, int p) {
#define SWAP(x, y)                                                                                           \
  do {                                                                                                       \
    double t = (x);                                                                                          \
    (x) = (y), (y) = t;                                                                                      \
  } while (0)
  for (int i = 0; i < k; i++) SWAP(A[i * m + k], A[i * m + p]);
  for (int i = k + 1; i < p; i++) SWAP(A[k * m + i], A[i * m + p]);
  for (int i = p + 1; i < m; i++) SWAP(A[k * m + i], A[p * m + i]);
  SWAP(A[k * m + k], A[p * m + p]);
#undef SWAP
}

/* Rows are exchanged only where a pivot has become small: unit diagonal, so a hundredth is far above the rank
   tolerance. Uᵀ D⁻¹ U with the rows U as they are; no roots to wait for. */
static int factor_small(double* A, double* inverse, int m, int* perm) {
  for (int i = 0; i < m; i++) perm[i] = i;
  for (int k = 0; k < m; k++) {
    if (!(A[k * m + k] > 0.01)) {
      int p = k;
      for (int i = k + 1; i < m; i++)
        if (A[i * m + i] > A[p * m + p]) p = i;
      if (!(A[p * m + p] > rank_tol)) return k;
      int t = perm[k];
      perm[k] = perm[p], perm[p] = t;
      if (p > k) exchange(A, m, k, p);
    }
    double* row = A + k * m;
    inverse[k] = 1.0 / row[k];
    for (int i = k + 1; i < m; i++) {
      double l = row[i] * inverse[k], *to = A + i * m;
      for (int j = i; j < m; j++) to[j] -= l * row[j];
    }
  }
  return m;
}

static int solve_small(double* lambda, const int* active, int m, int n, const double* b, double* A, double* y,
                       const double* scale, int* perm) {
  double inverse[SMALL];
  int rank = factor_small(A, inverse, m, perm);
  for (int i = 0; i < rank; i++) y[i] = b[active[perm[i]]] * scale[perm[i]];
  for (int k = 0; k < rank; k++) {
    double z = y[k] * inverse[k];
    for (int i = k + 1; i < rank; i++) y[i] -= A[k * m + i] * z;
  }
  for (int k = rank - 1; k >= 0; k--) {
    y[k] *= inverse[k];
    for (int i = 0; i < k; i++) y[i] -= A[i * m + k] * y[k];
  }
  memset(lambda, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < rank; i++) lambda[active[perm[i]]] = y[i] * scale[perm[i]];
  return rank;
}

/* (W λ)_i */
static double response(int n, const double* W, const double* lambda, int i) {
  return kn_dot(n, W + (size_t)i * n, lambda);
}

/* Whether one-sided rows that depend on others, and were left out, got what they ask for: 1e-10 may stand, as
   in the repair. */
static bool agrees(const double* lambda, const int* active, int m, int n, const double* W, const double* b,
                   const bool* one_sided, const int* perm, int rank) {
  double most = 0.0;
  for (int i = 0; i < m && rank < m; i++) most = kn_max(most, fabs(b[active[i]]));
  for (int k = rank; k < m; k++) {
    int i = active[perm[k]];
    if (one_sided && one_sided[i] && response(n, W, lambda, i) < b[i] - 1e-10 - 1e-6 * most) return false;
  }
  return true;
}

static void scaled_upper(double* A, const int* active, int m, int n, const double* W, const double* scale) {
  for (int i = 0; i < m; i++) {
    const double* w = W + (size_t)active[i] * n;
    for (int j = i; j < m; j++) A[(size_t)i * m + j] = w[active[j]] * scale[i] * scale[j];
  }
}

/* Which of several rows that contradict each other is kept is left to the largest pivots. */
static int solve_active(double* lambda, const int* active, int m, int n, const double* W, const double* b,
                        const bool* one_sided, double* A, double* y, int* perm) {
  double *scale = y + m, least = floor_of(n, W);
  for (int i = 0; i < m; i++) {
    double d = W[(size_t)active[i] * n + active[i]];
    scale[i] = d > least ? 1.0 / sqrt(d) : 0.0;
  }
  scaled_upper(A, active, m, n, W, scale);
  if (m <= SMALL) {
    int rank = solve_small(lambda, active, m, n, b, A, y, scale, perm);
    if (agrees(lambda, active, m, n, W, b, one_sided, perm, rank)) return rank;
    scaled_upper(A, active, m, n, W, scale);
  }
  int rank = kn_cholesky_pivoted(m, A, m, perm, rank_tol);
  for (int i = 0; i < rank; i++) { /* Uᵀ y = P b */
    y[i] = b[active[perm[i]]] * scale[perm[i]];
    for (int k = 0; k < i; k++) y[i] -= A[(size_t)k * m + i] * y[k];
    y[i] /= A[(size_t)i * m + i];
  }
  for (int i = rank - 1; i >= 0; i--) {
    for (int k = i + 1; k < rank; k++) y[i] -= A[(size_t)i * m + k] * y[k];
    y[i] /= A[(size_t)i * m + i];
  }
  memset(lambda, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < rank; i++) lambda[active[perm[i]]] = y[i] * scale[perm[i]];
  return rank;
}

enum { KN_LEAST_NORM_ROUNDS = 100 }; /* then the last answer stands; the caller measures what it left */

int kn_least_norm(double* lambda, int n, const double* W, const double* b, const bool* one_sided,
                  double* scratch, int* pivot) {
  int *active = pivot, *perm = pivot + n, m = 0, rank = 0;
  double *A = scratch, *y = scratch + (size_t)n * n;
  for (int i = 0; i < n; i++)
    if (!one_sided || !one_sided[i] || b[i] > 0.0) active[m++] = i;
  for (int round = 0; round < KN_LEAST_NORM_ROUNDS; round++) {
    rank = solve_active(lambda, active, m, n, W, b, one_sided, A, y, perm);
    if (!one_sided) return rank;
    int kept = 0;
    for (int i = 0; i < m; i++) /* release what pulls */
      if (!one_sided[active[i]] || lambda[active[i]] >= 0.0) active[kept++] = active[i];
    bool changed = kept < m;
    m = kept;
    for (int i = 0, k = 0; i < n && !changed;
         i++) { /* hold what the correction would close; active is ascending */
      while (k < m && active[k] < i) k++;
      if ((k < m && active[k] == i) || !one_sided[i] || response(n, W, lambda, i) >= b[i] - 1e-15) continue;
      memmove(active + k + 1, active + k, (size_t)(m - k) * sizeof(int));
      active[k] = i;
      m++;
      changed = true;
    }
    if (!changed) break;
  }
  return rank;
}

void kn_independent_rows(bool* keep, int n, const double* W, double tol, double* scratch, int* pivot) {
  double least = floor_of(n, W);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double di = W[(size_t)i * n + i], dj = W[(size_t)j * n + j];
      scratch[(size_t)i * n + j] = di > least && dj > least ? W[(size_t)i * n + j] / sqrt(di * dj) : 0.0;
    }
  int rank = kn_cholesky_pivoted(n, scratch, n, pivot, tol);
  for (int i = 0; i < n; i++) keep[pivot[i]] = i < rank;
}
