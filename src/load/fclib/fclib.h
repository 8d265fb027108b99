/* Between the parts of the FCLIB reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "knuckle/fclib.h"
#include "knuckle/status.h"

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

/* A cursor over text that knows its line and column: what the LCP readers need of JSON and number tables. */
typedef struct kn_scan {
  const char* name;  /* of the file */
  const char* start; /* of the text */
  const char* at;
  const char* end;
} kn_scan;

/* KN_BAD_FILE "name:line:column: …" at the cursor. */
kn_status kn_scan_fail(const kn_scan* t, const char* format, ...) __attribute__((format(printf, 2, 3)));

void kn_scan_blanks(kn_scan* t);
bool kn_scan_skip(kn_scan* t, char c);        /* blanks, then c if it is there */
kn_status kn_scan_expect(kn_scan* t, char c); /* blanks, then c */
bool kn_scan_word(kn_scan* t, const char* word);
kn_status kn_scan_number(double* out, kn_scan* t, const char* what); /* blanks, then a finite number */
/* JSON string; cut to fit; escapes other than \uXXXX are translated, those become '?'. */
kn_status kn_scan_string(char* out, size_t size, kn_scan* t);
kn_status kn_scan_value(kn_scan* t, int depth); /* any JSON value, skipped */
