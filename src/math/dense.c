/* The dense functions of dense.h: choice of the kernels, and what needs no vectors (pivot ratio, iterative
   refinement with residuals in twice the precision by Dekker's products). */
#include "math/dense.h"

#include <math.h>
#include <stddef.h>

#include "math/dense_table.h"
#include "math/elementary.h"

static const kn_dense_table* table(void) { return KN_BEST(&kn_dense); }

int kn_lu_factor(int n, double* A, int ld, int* perm) { return table()->lu_factor(n, A, ld, perm); }

void kn_lu_solve(int n, double* x, const double* LU, int ld, const int* perm, const double* b) {
  table()->lu_solve(n, x, LU, ld, perm, b);
}

int kn_cholesky_factor(int n, double* A, int ld, double tol) {
  return table()->cholesky_factor(n, A, ld, tol);
}

void kn_cholesky_solve(int n, double* x, const double* U, int ld, const double* b) {
  table()->cholesky_solve(n, x, U, ld, b);
}

int kn_cholesky_pivoted(int n, double* A, int ld, int* perm, double tol) {
  return table()->cholesky_pivoted(n, A, ld, perm, tol);
}

bool kn_symmetric_eliminate(int e, int rows, int cols, double* A, int ld) {
  return table()->eliminate(e, rows, cols, A, ld);
}

void kn_gemv(int rows, int cols, double* y, const double* A, int ld, const double* x) {
  table()->gemv(rows, cols, y, A, ld, x);
}

void kn_axpy(int n, double* y, double a, const double* x) { table()->axpy(n, y, a, x); }

double kn_dot(int n, const double* x, const double* y) { return table()->dot(n, x, y); }

double kn_lu_pivot_ratio(int n, const double* LU, int ld) {
  double least = INFINITY, most = 0.0;
  for (int i = 0; i < n; i++) {
    double u = fabs(LU[(size_t)i * (size_t)ld + (size_t)i]);
    least = fmin(least, u);
    most = fmax(most, u);
  }
  return n == 0 ? 1.0 : most > 0.0 ? least / most : 0.0;
}

/* b - row x as if in twice the precision (Ogita, Rump, Oishi 2005, Dot2). */
static double residual2(int n, const double* row, const double* x, double b) {
  double s = b, c = 0.0;
  for (int j = 0; j < n; j++) {
    double p = -row[j] * x[j], e = kn_product_error(-row[j], x[j], p);
    double t = s + p, z = t - s;
    c += ((s - (t - z)) + (p - z)) + e;
    s = t;
  }
  return s + c;
}

double kn_lu_refine(int n, double* x, const double* A, int lda, const double* LU, int ldlu, const int* perm,
                    const double* b, double* scratch) {
  double* r = scratch;
  double* dx = scratch + n;
  double worst = 0.0;
  for (int i = 0; i < n; i++) {
    r[i] = residual2(n, A + (size_t)i * (size_t)lda, x, b[i]);
    worst = fmax(worst, fabs(r[i]));
  }
  kn_lu_solve(n, dx, LU, ldlu, perm, r);
  for (int i = 0; i < n; i++) x[i] += dx[i];
  return worst;
}
