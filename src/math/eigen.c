/* Cyclic Jacobi (Golub and Van Loan, section 8.5): rotations that zero one off-diagonal entry at a time.
   Small eigenvalues of graded positive matrices keep their relative accuracy, which the rank decisions of
   the certificates need. */
#include "math/eigen.h"

#include <math.h>
#include <stddef.h>

static void rotate_rows(int n, double* A, double* V, int p, int q, double c, double s) {
  for (int i = 0; i < n; i++) {
    double a = A[(size_t)i * n + p], b = A[(size_t)i * n + q];
    A[(size_t)i * n + p] = c * a - s * b;
    A[(size_t)i * n + q] = s * a + c * b;
  }
  for (int i = 0; i < n; i++) {
    double a = A[(size_t)p * n + i], b = A[(size_t)q * n + i];
    A[(size_t)p * n + i] = c * a - s * b;
    A[(size_t)q * n + i] = s * a + c * b;
  }
  A[(size_t)p * n + q] = A[(size_t)q * n + p] = 0.0;
  for (int i = 0; V && i < n; i++) {
    double a = V[(size_t)i * n + p], b = V[(size_t)i * n + q];
    V[(size_t)i * n + p] = c * a - s * b;
    V[(size_t)i * n + q] = s * a + c * b;
  }
}

static int sweep(int n, double* A, double* V) {
  int turned = 0;
  for (int p = 0; p < n - 1; p++)
    for (int q = p + 1; q < n; q++) {
      double a = A[(size_t)p * n + q], d = A[(size_t)p * n + p], e = A[(size_t)q * n + q];
      if (!(fabs(a) > 1e-17 * sqrt(fabs(d) * fabs(e))) || fabs(a) < 1e-300) continue;
      double theta = (e - d) / (2.0 * a);
      double t = fabs(theta) > 1e150 ? 0.5 / theta
                                     : copysign(1.0, theta) / (fabs(theta) + sqrt(1.0 + theta * theta));
      double c = 1.0 / sqrt(1.0 + t * t);
      rotate_rows(n, A, V, p, q, c, t * c);
      turned++;
    }
  return turned;
}

int kn_eigen_symmetric(int n, double* A, double* w, double* V) {
  int sweeps = 0;
  for (int i = 0; V && i < n; i++)
    for (int k = 0; k < n; k++) V[(size_t)i * n + k] = i == k;
  while (sweeps < 60 && sweep(n, A, V)) sweeps++; /* quadratic: some 6 to 10 in practice */
  for (int i = 0; i < n; i++) w[i] = A[(size_t)i * n + i];
  for (int i = 0; i < n; i++) { /* selection sort */
    int least = i;
    for (int k = i + 1; k < n; k++)
      if (w[k] < w[least]) least = k;
    if (least == i) continue;
    double swap = w[i];
    w[i] = w[least], w[least] = swap;
    for (int k = 0; V && k < n; k++) {
      swap = V[(size_t)k * n + i];
      V[(size_t)k * n + i] = V[(size_t)k * n + least], V[(size_t)k * n + least] = swap;
    }
  }
  return sweeps;
}
