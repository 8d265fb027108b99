/* The point of a set of forces that is nearest to a given one (choose.c). Bodies do not appear here. */
#pragma once

#include <stdbool.h>

/* One force among those that may change: a sticking contact has three entries, n >= 0 and |t| <= mu n; any
   other has one, >= 0. */
typedef struct kn_near_block {
  int at, entries; /* 1 or 3 */
  double mu;
} kn_near_block;

typedef struct kn_near {
  int n, rank, blocks;
  const kn_near_block* block;
  const double* B;    /* n x rank by columns, orthonormal: what the motion sees is Bᵀ x */
  const double* from; /* n: a point of the set */
} kn_near;

/* Orthonormal basis of the rows of A (rows x n, row after row; destroyed) in B (n x rank by columns); rows
   below tol times the longest count as none. Returns the rank, at most n. B may be A. */
int kn_near_basis(double* B, int rows, int n, double* A, double tol);

/* Doubles of scratch that kn_near_point needs. */
int kn_near_room(int n, int rank);

/* x := the point of {Bᵀ x = Bᵀ from} within the cones nearest to p. False: not found; x is `from` then. */
bool kn_near_point(double* x, const kn_near* set, const double* p, double* scratch);
