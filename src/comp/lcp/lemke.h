/* Lemke's method on a scaled standard LCP, with the basis inverse as a product of eta vectors. See lemke.c.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/isa.h"

typedef enum kn_lemke_end { KN_LEMKE_SOLVED, KN_LEMKE_RAY, KN_LEMKE_LIMIT, KN_LEMKE_BREAKDOWN } kn_lemke_end;

typedef struct kn_lemke {
  /* problem: w - M z - d z0 = q; column j of M at M + j ld; padded rows are zero */
  int n, ld;
  const double* M;
  const double* q;
  double* d;
  const unsigned char* free_row; /* rows with z free and w = 0, or NULL */
  /* rules */
  bool lexicographic;
  int max_pivots, refactor_every;
  /* basis: variables 0 … n-1 are w, n … 2n-1 are z, 2n is z0 */
  int* basic;    /* variable of each row */
  int* left_row; /* per variable: row and eta where it last left the basis, */
  int* left_eta; /* or -1: column of the original data */
  double* x;     /* values of the basic variables */
  double* y;     /* entering column */
  double* ratio;
  double* v;
  /* etas: k-th pivot on row erow[k], column with its pivot entry removed, inverse pivot */
  double* eta;
  double* ipivot;
  int* erow;
  int etas, capacity;
  int pivots;
  int entering; /* on RAY: the variable that could grow without limit, direction in y */
} kn_lemke;

void kn_lemke_take(kn_lemke* l, kn_arena* arena, int max_n);

kn_lemke_end kn_lemke_run(kn_lemke* l);
/* x = B^-1 v in place with the current etas (v in row space). */
void kn_lemke_ftran(kn_lemke* l, double* v);

KN_KERNEL(kn_lemke_end, kn_lemke_run, (kn_lemke * l));
KN_KERNEL(void, kn_lemke_ftran, (kn_lemke * l, double* v));
