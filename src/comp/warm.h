/* Inside kn_warm_answer: the system of one warm start and the kernels that build, factor and solve it. */
#ifndef KN_COMP_WARM_H
#define KN_COMP_WARM_H

#include <stdbool.h>

enum { KN_WARM_ROWS = 96, KN_WARM_GROUP = 8 };

/* A block that carries load. */
typedef struct kn_warm_block {
  int block;        /* in the problem */
  int row, rows;    /* there */
  int own;          /* first row among the rows with load */
  int at, unknowns; /* rows: sticking or a line; 2: slip in space; 1: slip in the plane or without friction */
  bool slip;        /* with a direction */
  double mu;        /* 0: r_T = 0 */
  double d[2], t[2]; /* of r_T, and across */
  double a;          /* u_T = -a r_T */
} kn_warm_block;

/* Rows and unknowns of blocks with load only; what the others contribute is in q. Matrices of unknowns lie in
   groups of eight rows, column after column: entry (i, j) is [(i / 8 m + j) 8 + i % 8], rows beyond m are
   zero. */
typedef struct kn_warm_system {
  int n;              /* rows of the problem */
  const double* W_in; /* n x n, row-major */
  int blocks;         /* with load */
  int rows, m;        /* of them; unknowns */
  int ld;             /* of W: rows rounded up to 8, and 8 more */
  double* W;          /* rows x ld, zero beyond rows, and 8 zeros at the end */
  double* A;          /* m unknowns; then L below and U above the blocks of eight on the diagonal */
  double diagonal[KN_WARM_ROWS + KN_WARM_GROUP];              /* A_ii; then inverse pivots */
  double low[(KN_WARM_ROWS + KN_WARM_GROUP) * KN_WARM_GROUP]; /* L and U inside these blocks, columns of */
  double up[(KN_WARM_ROWS + KN_WARM_GROUP) * KN_WARM_GROUP];  /* eight; U's times the inverse pivot */
  double r[KN_WARM_ROWS + 16], u[KN_WARM_ROWS + 16], q[KN_WARM_ROWS + 16]; /* rows; r zero beyond */
  double x[KN_WARM_ROWS + 16];                                             /* unknowns */
  kn_warm_block block[KN_WARM_ROWS];
} kn_warm_system;

/* The same bits from each set of kernels. */
typedef struct kn_warm_ops {
  /* W of the rows with load. */
  void (*compress)(kn_warm_system* s);
  /* A and its diagonal. */
  void (*matrix)(kn_warm_system* s);
  /* LU of A + diag(extra) without exchanges; false when a pivot is below 1e-13 of the diagonal entry it came
     from. */
  bool (*factor)(kn_warm_system* s, const double* extra);
  /* x <- A^-1 x. */
  void (*solve)(kn_warm_system* s);
  /* u = W r + q. */
  void (*velocity)(kn_warm_system* s);
  /* u = W_in r + q in all n rows. */
  void (*velocities)(double* u, const kn_warm_system* s, const double* r, const double* q);
} kn_warm_ops;

extern const kn_warm_ops kn_warm_ops_base;
#if defined(__x86_64__)
extern const kn_warm_ops kn_warm_ops_avx2, kn_warm_ops_avx512;
#endif

#endif
