/* Cholesky factor of a growing and shrinking principal block M_CC of a symmetric positive semidefinite
   matrix: L L^T in row-major, one row per index in C, updated in O(k^2). */
#pragma once

#include <stdbool.h>

typedef struct kn_factor {
  int count, ld;
  double* L;     /* lower triangle */
  int* index;    /* C in order of the rows of L */
  int* position; /* per matrix row: its place in C, or -1 */
} kn_factor;

void kn_factor_clear(kn_factor* f, int n);
/* Adds j with column M_•j (symmetric: row and column are the same). False, and nothing changes, when its
   Schur complement is <= tol * M_jj: the row depends on those in C. */
bool kn_factor_add(kn_factor* f, int j, const double* column, double tol);
void kn_factor_remove(kn_factor* f, int j);
/* x_C = M_CC^-1 b_C, both indexed by position in C. */
void kn_factor_solve(const kn_factor* f, double* x, const double* b);
