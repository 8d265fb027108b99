/* Symmetric eigenproblems of small matrices without allocation, the same bits on every machine. */
#pragma once

#include <stdbool.h>

/* A = V diag(w) Vᵀ by cyclic Jacobi rotations. A (n x n row-major, both triangles) is overwritten; column k
   of V (row-major, V[i n + k]) belongs to w[k]; w ascends. V may be NULL. Returns the sweeps used. */
int kn_eigen_symmetric(int n, double* A, double* w, double* V);

/* Eigenvalues of a small real matrix, without allocation. */
/* re, im: the n eigenvalues of A (n x n row-major), in no particular order; scratch: 2 n² numbers. Upper
   Hessenberg form by elimination, then QR steps with Wilkinson's shift in complex arithmetic. False when one
   does not converge (re, im are then those found so far, the rest 0). */
bool kn_eigenvalues(int n, double* re, double* im, const double* A, double* scratch);
