/* Between the parts of the FCLIB reader. */
#pragma once

#include "knuckle/fclib.h"

/* Scalar entries (row, column, value) of a sparse matrix. */
typedef struct kn_entries {
  int m, n;
  size_t count;
  int *row, *col;
  double* x;
} kn_entries;

/* A file's content before condensation. */
typedef struct kn_fclib_raw {
  bool global;
  int dimension;
  kn_entries W, V, R;     /* local: W, V, R; global: H, G in W, V and M in R */
  double *mu, *q, *s, *f; /* local: q, s; global: w, b, f */
  size_t contacts, rows, equalities, dofs;
  char title[128];
} kn_fclib_raw;

/* Limits against nonsense sizes. */
enum { KN_FCLIB_MOST_ROWS = 3000000, KN_FCLIB_MOST_ENTRIES = 200000000 };

/* Local or global content -> block-sparse problem. */
kn_status kn_fclib_build(kn_fclib* out, kn_fclib_raw* raw, const char* path);

/* Memory and pointers of a problem of known size: stored values follow from start and col. */
kn_status kn_fclib_layout(kn_fclib* out, int contacts, int dimension, int equalities, const int* start,
                          const int* col);
