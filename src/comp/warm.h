/* Inside kn_warm_answer: the system of one warm start and the kernels that build, factor and solve it. */
#ifndef KN_COMP_WARM_H
#define KN_COMP_WARM_H

#include <stdbool.h>

enum { KN_WARM_ROWS = 96 };

/* A block that carries load. */
typedef struct kn_warm_block {
  int block;        /* in the problem */
  int row, rows;    /* there */
  int at, unknowns; /* rows: sticking or a line; 2: slip in space; 1: slip in the plane or without friction */
  bool slip;        /* with a direction */
  double mu;        /* 0: r_T = 0 */
  double d[2], t[2]; /* of r_T, and across */
  double a;          /* u_T = -a r_T */
} kn_warm_block;

typedef struct kn_warm_system {
  int n;            /* rows of the problem */
  const double* W;  /* n x n, row-major */
  const double* q;  /* n */
  int blocks, m;    /* with load; unknowns */
  int ld;           /* of A: m rounded up to 8, and 8 more */
  double* A;        /* m rows of ld, zero beyond m; then L and U with inverse pivots */
  double* combined; /* n: one row across a slip direction */
  kn_warm_block block[KN_WARM_ROWS];
} kn_warm_system;

/* The same bits from each set of kernels. */
typedef struct kn_warm_ops {
  /* A, without the proximal term. */
  void (*matrix)(kn_warm_system* s);
  /* LU without exchanges; false when a pivot is below 1e-13 of the diagonal entry it came from. */
  bool (*factor)(kn_warm_system* s);
  /* x <- A^-1 x, x of ld entries. */
  void (*solve)(const kn_warm_system* s, double* x);
  /* u = W r + q in the rows of blocks with load. */
  void (*velocity)(double* u, const kn_warm_system* s, const double* r);
  /* … in all rows. */
  void (*velocities)(double* u, const kn_warm_system* s, const double* r);
} kn_warm_ops;

extern const kn_warm_ops kn_warm_ops_base;
#if defined(__x86_64__)
extern const kn_warm_ops kn_warm_ops_avx2, kn_warm_ops_avx512;
#endif

#endif
