/* Eigenvalues of a small real matrix, without allocation. */
#pragma once

#include <stdbool.h>

/* re, im: the n eigenvalues of A (n x n row-major), in no particular order; scratch: 2 n² numbers. Upper
   Hessenberg form by elimination, then QR steps with Wilkinson's shift in complex arithmetic. False when one
   does not converge (re, im are then those found so far, the rest 0). */
bool kn_eigenvalues(int n, double* re, double* im, const double* A, double* scratch);
