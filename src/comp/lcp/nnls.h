#pragma once

/* min |A x - b|, x >= 0, A m x n row-major (ld = n). Returns the residual norm; r (m) = b - A x satisfies A^T
   r <= 0 up to rounding, and r^T b > 0 unless it is zero: a Farkas vector for "b not in the cone of A's
   columns". scratch: 3 n + 2 m + m * n doubles; passive: n ints. Returns -1 when it does not settle within
   its limit. */
double kn_nnls(double* x, double* r, int m, int n, const double* A, const double* b, double* scratch,
               int* passive);
