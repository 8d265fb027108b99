/* P test internals: eight matrices of the same size side by side, entry (i, j) of lane l at A[(i * ld + j) *
 * 8 + l]. */
#pragma once

#include "base/isa.h"
#include "knuckle/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  KN_PMATRIX_MAX = 26, /* rows of a block decided by the recursion */
  KN_PMATRIX_ROWS = 64 /* rows of a matrix that is split into blocks */
};

/* Minors, or choices of an enumeration, that a verdict within a step looks at: a millisecond. */
enum { KN_BRIEF_MINORS = 8000 };
/* From now on verdicts with this work stay undecided beyond that. */
struct kn_lcp_work;
void kn_lcp_work_brief(struct kn_lcp_work* work);

/* kn_pmatrix_test that looks at no more than so many minors (0: all) and then stays undecided. */
struct kn_pmatrix;
kn_status kn_pmatrix_test_within(long most, struct kn_pmatrix* out, int n, const double* A, int ld);

/* A pivot or minor this close to zero (unit diagonal) is not called. */
#define KN_PMATRIX_TOL 1e-12

typedef struct kn_pmatrix_lanes {
  int m;               /* size, 3 <= m <= KN_PMATRIX_MAX - 3 */
  const double* A;     /* m x m x 8, 64-byte aligned */
  const double* minor; /* 8: minor of the rows already pivoted */
  double* buffer;      /* room for sizes m-1 … 3: sum of k^2 * 8 doubles */
  unsigned failing;    /* out: rows of the failing principal minor, relative to A */
  int lane;            /* out */
} kn_pmatrix_lanes;

/* True when every principal minor of all eight exceeds the tolerance. */
KN_KERNEL(bool, kn_pmatrix_lanes, (kn_pmatrix_lanes * p));
