/* Dense kernels.

   Same bits for every KN_W: element-wise updates touch each element in the same order of k whatever the
   width, and sums run in eight interleaved lanes that are added in a fixed tree. */
#include "base/isa.h"

#include <math.h>
#include <string.h>

#include "math/dense_table.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef double kn_vec2 __attribute__((vector_size(16), aligned(8), may_alias));

enum { KN_LANES = 8 / KN_W, KN_PANEL = 8 };

static inline double kn_lane_sum(const double* s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* x^T y over n, n a multiple of 8. */
static inline double dot_blocks(int n, const double* x, const double* y) {
  kn_vec acc[KN_LANES];
  double s[8];
  for (int l = 0; l < KN_LANES; l++) acc[l] = (kn_vec){0};
  for (int j = 0; j < n; j += 8)
    for (int l = 0; l < KN_LANES; l++)
      acc[l] += *(const kn_vec*)(x + j + l * KN_W) * *(const kn_vec*)(y + j + l * KN_W);
  memcpy(s, acc, sizeof s);
  return kn_lane_sum(s);
}

static inline double dot_any(int n, const double* x, const double* y) {
  int full = n & ~7;
  double s = full ? dot_blocks(full, x, y) : 0.0;
  for (int j = full; j < n; j++) s += x[j] * y[j];
  return s;
}

static double KN_NAME(dot)(int n, const double* x, const double* y) { return dot_any(n, x, y); }

static void KN_NAME(gemv)(int rows, int cols, double* y, const double* A, int ld, const double* x) {
  for (int i = 0; i < rows; i++) y[i] = dot_any(cols, A + (size_t)i * (size_t)ld, x);
}

static void KN_NAME(axpy)(int n, double* y, double a, const double* x) {
  int j = 0;
  for (; j + KN_W <= n; j += KN_W) *(kn_vec*)(y + j) += a * *(const kn_vec*)(x + j);
  for (; j < n; j++) y[j] += a * x[j];
}

/* A[i][j] -= sum_k L[i][k] U[k][j], k ascending, for ROWS rows i and the columns of one vector. */
#define KN_TILE(V, ROWS)                                                                                     \
  do {                                                                                                       \
    V acc[ROWS];                                                                                             \
    for (int t = 0; t < ROWS; t++) acc[t] = *(const V*)(a + (size_t)t * (size_t)ld + j);                     \
    for (int k = 0; k < nk; k++) {                                                                           \
      V uk = *(const V*)(u + (size_t)k * (size_t)ld + j);                                                    \
      for (int t = 0; t < ROWS; t++) acc[t] -= l[(size_t)t * (size_t)ld + k] * uk;                           \
    }                                                                                                        \
    for (int t = 0; t < ROWS; t++) *(V*)(a + (size_t)t * (size_t)ld + j) = acc[t];                           \
  } while (0)

static inline void update_rows4(int nk, int cols, double* a, const double* l, const double* u, int ld) {
  int j = 0;
  for (; j + KN_W <= cols; j += KN_W) KN_TILE(kn_vec, 4);
#if KN_W > 2
  for (; j + 2 <= cols; j += 2) KN_TILE(kn_vec2, 4);
#endif
  for (; j < cols; j++) KN_TILE(double, 4);
}

static inline void update_row(int nk, int cols, double* a, const double* l, const double* u, int ld) {
  int j = 0;
  for (; j + KN_W <= cols; j += KN_W) KN_TILE(kn_vec, 1);
  for (; j < cols; j++) KN_TILE(double, 1);
}

static inline void swap_rows(int n, double* a, double* b) {
  for (int j = 0; j < n; j++) {
    double t = a[j];
    a[j] = b[j];
    b[j] = t;
  }
}

static int pivot_row(int n, int k, const double* A, size_t ld) {
  int best = k;
  double most = fabs(A[(size_t)k * ld + (size_t)k]);
  for (int i = k + 1; i < n; i++) {
    double v = fabs(A[(size_t)i * ld + (size_t)k]);
    if (v > most) {
      most = v;
      best = i;
    }
  }
  return best;
}

/* Columns k0 … k1-1 of all rows from k0 on; swaps whole rows. Returns k1 or the failing column. */
static int lu_panel(int n, int k0, int k1, double* A, size_t ld, int* perm) {
  for (int k = k0; k < k1; k++) {
    int p = pivot_row(n, k, A, ld);
    double* rk = A + (size_t)k * ld;
    if (p != k) {
      int t = perm[k];
      perm[k] = perm[p];
      perm[p] = t;
      swap_rows(n, rk, A + (size_t)p * ld);
    }
    if (rk[k] == 0.0 || !isfinite(rk[k])) return k;
    double inv = 1.0 / rk[k];
    for (int i = k + 1; i < n; i++) {
      double* ri = A + (size_t)i * ld;
      double l = ri[k] * inv;
      ri[k] = l;
      for (int j = k + 1; j < k1; j++) ri[j] -= l * rk[j];
    }
  }
  return k1;
}

static int KN_NAME(lu_factor)(int n, double* A, int ld_, int* perm) {
  size_t ld = (size_t)ld_;
  for (int i = 0; i < n; i++) perm[i] = i;
  for (int k0 = 0; k0 < n; k0 += KN_PANEL) {
    int k1 = k0 + KN_PANEL < n ? k0 + KN_PANEL : n, i;
    int done = lu_panel(n, k0, k1, A, ld, perm);
    if (done < k1) return done;
    double* u = A + (size_t)k0 * ld + k1;
    for (i = k0 + 1; i < k1; i++)
      update_row(i - k0, n - k1, A + (size_t)i * ld + k1, A + (size_t)i * ld + k0, u, ld_);
    for (i = k1; i + 4 <= n; i += 4)
      update_rows4(k1 - k0, n - k1, A + (size_t)i * ld + k1, A + (size_t)i * ld + k0, u, ld_);
    for (; i < n; i++) update_row(k1 - k0, n - k1, A + (size_t)i * ld + k1, A + (size_t)i * ld + k0, u, ld_);
  }
  return n;
}

/* Forward then back substitution in blocks of eight rows: vector dots outside the block, scalars inside. */
static void KN_NAME(lu_solve)(int n, double* x, const double* LU, int ld_, const int* perm, const double* b) {
  size_t ld = (size_t)ld_;
  int full = n & ~7;
  for (int i0 = 0; i0 < n; i0 += 8)
    for (int i = i0; i < i0 + 8 && i < n; i++) {
      const double* row = LU + (size_t)i * ld;
      double s = b[perm[i]] - (i0 ? dot_blocks(i0, row, x) : 0.0);
      for (int j = i0; j < i; j++) s -= row[j] * x[j];
      x[i] = s;
    }
  for (int i0 = (n - 1) & ~7; n > 0 && i0 >= 0; i0 -= 8) {
    int i1 = i0 + 8 < n ? i0 + 8 : n;
    for (int i = i1 - 1; i >= i0; i--) {
      const double* row = LU + (size_t)i * ld;
      double s = x[i];
      if (i1 < full) s -= dot_blocks(full - i1, row + i1, x + i1);
      for (int j = i1 < full ? full : i1; j < n; j++) s -= row[j] * x[j];
      for (int j = i + 1; j < i1; j++) s -= row[j] * x[j];
      x[i] = s / row[i];
    }
  }
}

static int KN_NAME(cholesky_factor)(int n, double* A, int ld_, double tol) {
  size_t ld = (size_t)ld_;
  for (int k = 0; k < n; k++) {
    double* rk = A + (size_t)k * ld;
    double a = rk[k];
    /* up-looking in k: all earlier rows were already subtracted from row k */
    for (int m = 0; m < k; m++) a -= A[(size_t)m * ld + (size_t)k] * A[(size_t)m * ld + (size_t)k];
    if (!(a > tol * rk[k]) || !isfinite(a)) return k;
    double root = sqrt(a), inv = 1.0 / root;
    int j = k + 1;
    for (; j + KN_W <= n; j += KN_W) {
      kn_vec s = *(const kn_vec*)(rk + j);
      for (int m = 0; m < k; m++)
        s -= A[(size_t)m * ld + (size_t)k] * *(const kn_vec*)(A + (size_t)m * ld + j);
      *(kn_vec*)(rk + j) = s * inv;
    }
    for (; j < n; j++) {
      double s = rk[j];
      for (int m = 0; m < k; m++) s -= A[(size_t)m * ld + (size_t)k] * A[(size_t)m * ld + (size_t)j];
      rk[j] = s * inv;
    }
    rk[k] = root;
  }
  return n;
}

/* U^T y = b by columns of U^T (rows of U, contiguous), then U x = y by dots. */
static void KN_NAME(cholesky_solve)(int n, double* x, const double* U, int ld_, const double* b) {
  size_t ld = (size_t)ld_;
  if (x != b && n > 0) memcpy(x, b, (size_t)n * sizeof *x);
  for (int k = 0; k < n; k++) {
    const double* row = U + (size_t)k * ld;
    x[k] /= row[k];
    KN_NAME(axpy)(n - k - 1, x + k + 1, -x[k], row + k + 1);
  }
  for (int k = n - 1; k >= 0; k--) {
    const double* row = U + (size_t)k * ld;
    x[k] = (x[k] - dot_any(n - k - 1, row + k + 1, x + k + 1)) / row[k];
  }
}

/* Exchange rows and columns k < p of a symmetric matrix held in its upper triangle. */
static void swap_symmetric(int n, int k, int p, double* A, size_t ld) {
  double* rk = A + (size_t)k * ld;
  double* rp = A + (size_t)p * ld;
  double t = rk[k];
  rk[k] = rp[p];
  rp[p] = t;
  for (int m = 0; m < k; m++) {
    double* rm = A + (size_t)m * ld;
    t = rm[k];
    rm[k] = rm[p];
    rm[p] = t;
  }
  for (int m = k + 1; m < p; m++) {
    double* rm = A + (size_t)m * ld;
    t = rk[m];
    rk[m] = rm[p];
    rm[p] = t;
  }
  swap_rows(n - p - 1, rk + p + 1, rp + p + 1);
}

static int KN_NAME(cholesky_pivoted)(int n, double* A, int ld_, int* perm, double tol) {
  size_t ld = (size_t)ld_;
  double limit = 0.0;
  for (int i = 0; i < n; i++) {
    perm[i] = i;
    limit = fmax(limit, A[(size_t)i * ld + (size_t)i]);
  }
  limit *= tol;
  for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (A[(size_t)i * ld + (size_t)i] > A[(size_t)p * ld + (size_t)p]) p = i;
    if (!(A[(size_t)p * ld + (size_t)p] > limit)) return k;
    if (p != k) {
      int t = perm[k];
      perm[k] = perm[p];
      perm[p] = t;
      swap_symmetric(n, k, p, A, ld);
    }
    double* rk = A + (size_t)k * ld;
    double root = sqrt(rk[k]), inv = 1.0 / root;
    rk[k] = root;
    for (int j = k + 1; j < n; j++) rk[j] *= inv;
    for (int i = k + 1; i < n; i++) KN_NAME(axpy)(n - i, A + (size_t)i * ld + i, -rk[i], rk + i);
  }
  return n;
}

/* Rows k … k+3 by each other, then out of the rows below. */
static inline bool eliminate_four(int k, int rows, int cols, double* A, size_t ld) {
  double* r[4];
  for (int i = 0; i < 4; i++) {
    r[i] = A + (size_t)(k + i) * ld;
    for (int l = 0; l < i; l++)
      KN_NAME(axpy)(cols - k - i, r[i] + k + i, -r[l][k + i] / r[l][k + l], r[l] + k + i);
    if (!(r[i][k + i] > 0.0)) return false;
  }
  double d[4] = {1.0 / r[0][k], 1.0 / r[1][k + 1], 1.0 / r[2][k + 2], 1.0 / r[3][k + 3]};
  for (int i = k + 4; i < rows; i++) {
    double *out = A + (size_t)i * ld, t0 = r[0][i] * d[0], t1 = r[1][i] * d[1], t2 = r[2][i] * d[2],
           t3 = r[3][i] * d[3];
    int j = i;
    for (; j + KN_W <= cols; j += KN_W)
      *(kn_vec*)(out + j) =
          (((*(const kn_vec*)(out + j) - t0 * *(const kn_vec*)(r[0] + j)) - t1 * *(const kn_vec*)(r[1] + j)) -
           t2 * *(const kn_vec*)(r[2] + j)) -
          t3 * *(const kn_vec*)(r[3] + j);
    for (; j < cols; j++) out[j] = (((out[j] - t0 * r[0][j]) - t1 * r[1][j]) - t2 * r[2][j]) - t3 * r[3][j];
  }
  return true;
}

static bool KN_NAME(eliminate)(int e, int rows, int cols, double* A, int ld_) {
  size_t ld = (size_t)ld_;
  int k = 0;
  for (; k + 4 <= e; k += 4)
    if (!eliminate_four(k, rows, cols, A, ld)) return false;
  for (; k < e; k++) {
    const double* row = A + (size_t)k * ld;
    if (!(row[k] > 0.0)) return false;
    for (int i = k + 1; i < rows; i++)
      KN_NAME(axpy)(cols - i, A + (size_t)i * ld + i, -row[i] / row[k], row + i);
  }
  return true;
}

const kn_dense_table KN_NAME(kn_dense) = {
    KN_NAME(lu_factor),
    KN_NAME(lu_solve),
    KN_NAME(cholesky_factor),
    KN_NAME(cholesky_solve),
    KN_NAME(cholesky_pivoted),
    KN_NAME(eliminate),
    KN_NAME(gemv),
    KN_NAME(axpy),
    KN_NAME(dot),
};
