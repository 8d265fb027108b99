/* Symmetric eigenproblems of small matrices without allocation, the same bits on every machine. */
#pragma once

/* A = V diag(w) Vᵀ by cyclic Jacobi rotations. A (n x n row-major, both triangles) is overwritten; column k
   of V (row-major, V[i n + k]) belongs to w[k]; w ascends. V may be NULL. Returns the sweeps used. */
int kn_eigen_symmetric(int n, double* A, double* w, double* V);
