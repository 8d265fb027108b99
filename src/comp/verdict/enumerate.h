#pragma once

#include <stdbool.h>

#include "base/arena.h"

enum { KN_ENUMERATE_MAX = 20 }; /* rows of the standard problem */

typedef struct kn_enumerate_work {
  double* tableau; /* one (max x (max + 1)) table per depth */
  double* scratch; /* for NNLS at singular leaves */
  int* passive;
} kn_enumerate_work;

void kn_enumerate_take(kn_enumerate_work* w, kn_arena* arena);

/* Which multipliers are determined by the motion? See determinate.c. */
/* Orthonormal basis N (k x dim, column-major, ld = k) of the null space of A (m x k, column-major, ld = m;
   destroyed) by QR with column pivoting; entries below tol times the largest column count as zero. Returns
   dim. perm: k ints, scratch: 2 k doubles. */
int kn_null_space(double* N, int m, int k, double* A, double tol, int* perm, double* scratch);
