/* Small dense linear algebra, row-major with leading dimension ld >= n, tuned for n <= 100 and right for any
   n. No allocation, no fused multiply-add; the same bits on every instruction set. Arrays need no alignment,
   but rows that start on 64 bytes (ld a multiple of 8) are faster. */
#pragma once

#include <stdbool.h>

/* P A = L U with partial pivoting, in place (unit lower L below the diagonal, U on and above).
   perm[i] = row of A that became row i. Returns n, or the index of the first column whose pivot is zero or
   not finite; then the factors are unusable. */
int kn_lu_factor(int n, double* A, int ld, int* perm);

/* x = A^-1 b; x and b may not overlap. */
void kn_lu_solve(int n, double* x, const double* LU, int ld, const int* perm, const double* b);

/* Smallest |U_ii| / largest |U_ii|: a cheap singularity indicator; 1 for n = 0. */
double kn_lu_pivot_ratio(int n, const double* LU, int ld);

/* A = U^T U of a symmetric positive definite A, in place in the upper triangle; the strict lower triangle is
   neither read nor written. Returns n, or the index of the first pivot <= tol * A_ii (A not shown definite).
 */
int kn_cholesky_factor(int n, double* A, int ld, double tol);

/* x = A^-1 b with the factor of kn_cholesky_factor; x may be b. */
void kn_cholesky_solve(int n, double* x, const double* U, int ld, const double* b);

/* P^T A P = U^T U with the largest remaining diagonal as pivot, symmetric positive semidefinite A, in place
   in the upper triangle (the lower one is not touched). Stops at the first pivot <= tol * (largest diagonal
   of A); returns the rank r found. perm[k] = row of A at position k. Rows >= r of the result hold the Schur
   complement, all of whose diagonal entries are <= the stopping pivot. */
int kn_cholesky_pivoted(int n, double* A, int ld, int* perm, double tol);

/* Eliminates the first e of the rows of a symmetric A, with cols - rows right-hand sides behind it (upper triangle; the
   lower one is not touched): A = L D Lᵀ without exchanges. Row k < e is then that of D Lᵀ, with L⁻¹ of the right-hand sides,
   and the rows from e on hold the Schur complement. False at a pivot that is not positive. */
bool kn_symmetric_eliminate(int e, int rows, int cols, double* A, int ld);

/* y = A x (rows x cols). */
void kn_gemv(int rows, int cols, double* y, const double* A, int ld, const double* x);

/* y += a x */
void kn_axpy(int n, double* y, double a, const double* x);

/* Sum of products in a fixed order: eight interleaved partial sums. */
double kn_dot(int n, const double* x, const double* y);

/* One step of iterative refinement of A x = b with the residual in twice the precision: x += A^-1 (b - A x).
   scratch: 2 n. Returns the largest |b - A x| before the step. */
double kn_lu_refine(int n, double* x, const double* A, int lda, const double* LU, int ldlu, const int* perm,
                    const double* b, double* scratch);
