/* Least M-norm correction: d = M⁻¹ Jᵀ λ with J d = b on equality rows and J d >= b on one-sided rows (b > 0
   there).

   Rows may depend on each other: after scaling to unit diagonal, W = J M⁻¹ Jᵀ is factored by pivoted Cholesky
   and rows whose pivot falls below 1e-10 are dropped (they follow from the others, or contradict them; then
   the others win). One-sided rows with λ < 0 would pull: they are released and the rest is solved again. */
#pragma once

#include "base/isa.h"
#include "contact/formulation/formulation.h"

enum { KN_FEW = 24 }; /* rows that are solved in arrays of fixed size */
/* Takes row k off the rows below it, up to row m: upper triangles, inverse = 1 / A_kk. */
KN_KERNEL(void, kn_few_eliminate, (double (*A)[KN_FEW], int k, int m, double inverse));

/* λ (n) for W (n x n), b (n); one_sided may be NULL. scratch: n² + 2 n doubles, 2 n ints. Returns the rank
 * used. */
int kn_least_norm(double* lambda, int n, const double* W, const double* b, const bool* one_sided,
                  double* scratch, int* pivot);

/* The same, approximately, with W by blocks: row 0 of a block is one-sided, rows 1, 2 are equalities; b =
   -infinity: not held (rows 1 and 2 together). row: first row of each block. g gets W λ. Stops when no block
   moves its rows by more than tol; returns the largest motion of the last sweep. scratch: 9 blocks. */
double kn_least_norm_blocks(double* lambda, double* g, const kn_lambda_blocks* W, int blocks, const int* row,
                            const double* b, int sweeps, double tol, double* scratch);

/* The same with row 0 of each block only. scratch: 3 blocks and as many doubles as W has entries. */
double kn_least_norm_normals(double* lambda, double* g, const kn_lambda_blocks* W, int blocks, const int* row,
                             const double* b, int sweeps, double tol, double* scratch);

/* Which of n rows follow from the others: keep[i] = false for those whose pivot in W (n x n, scaled to unit
   diagonal) falls below `tol`. scratch: n² doubles; pivot: n ints. */
void kn_independent_rows(bool* keep, int n, const double* W, double tol, double* scratch, int* pivot);
