/* Which multipliers are determined by the motion? See determinate.c. */
#pragma once

#include <stdbool.h>

/* Orthonormal basis N (k x dim, column-major, ld = k) of the null space of A (m x k, column-major, ld = m;
   destroyed) by QR with column pivoting; entries below tol times the largest column count as zero. Returns
   dim. perm: k ints, scratch: 2 k doubles. */
int kn_null_space(double* N, int m, int k, double* A, double tol, int* perm, double* scratch);
