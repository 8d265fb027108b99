/* The dense kernels of one instruction set. */
#pragma once

#include <stdbool.h>

#include "base/isa.h"

typedef struct kn_dense_table {
  int (*lu_factor)(int n, double* A, int ld, int* perm);
  void (*lu_solve)(int n, double* x, const double* LU, int ld, const int* perm, const double* b);
  int (*cholesky_factor)(int n, double* A, int ld, double tol);
  void (*cholesky_solve)(int n, double* x, const double* U, int ld, const double* b);
  int (*cholesky_pivoted)(int n, double* A, int ld, int* perm, double tol);
  bool (*eliminate)(int e, int rows, int cols, double* A, int ld);
  void (*gemv)(int rows, int cols, double* y, const double* A, int ld, const double* x);
  void (*axpy)(int n, double* y, double a, const double* x);
  double (*dot)(int n, const double* x, const double* y);
} kn_dense_table;

KN_KERNEL_TABLE(kn_dense_table, kn_dense);
