/* Kernels of stick.c and of small corrections (contact/formulation/least_norm.c): four rows at a time, and what waits for each other stays in registers. Every element sees the same
   operations in the order of k on every instruction set; entries of U left of the diagonal are never used. */
#include "base/isa.h"

#include <math.h>
#include <string.h>

#include "comp/cone/stick.h"

enum { FOUR = 4 };
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

#define AT(p, i)     (*(four*)((p) + (i)))
#define CAT(p, i)    (*(const four*)((p) + (i)))
#define SPREAD(x, t) __builtin_shufflevector(x, x, t, t, t, t)
#define ALWAYS       static inline __attribute__((always_inline))

/* Row i of W in whole vectors; behind the last row comes the last row. */
static inline const double* row_of(const kn_stick_system* s, int i) {
  return i + 1 < s->n ? s->W + i * s->n : s->last;
}

static inline void load(kn_stick_system* s) {
  int n = s->n;
  AT(s->last, n & ~(FOUR - 1)) = (four){0}; /* what lies behind the row does not count, but is read */
  for (int j = 0; j < n; j++) s->last[j] = s->W[(n - 1) * n + j];
}

/* What may stand on the diagonal at least: eps of this is added. */
static inline double least_diagonal(const kn_stick_system* s) {
  double most = 0.0;
  for (int i = 0; i < s->n; i++) {
    double w = s->W[i * (s->n + 1)];
    most = w > most ? w : most;
  }
  return 1e-6 * most;
}

/* The four rows of W, columns of `width` vectors from `at` on, less all rows above these four. */
ALWAYS void above(four row[][FOUR], const kn_stick_system* s, const double* const w[FOUR], int first, int at,
                  const int width) {
  for (int v = 0; v < width; v++)
    for (int t = 0; t < FOUR; t++) row[v][t] = CAT(w[t], at + FOUR * v);
  const double *l = s->L[first], *u = s->U[0] + at;
  for (const double* end = l + first; l < end; l += 2, u += 2 * KN_STICK_ROWS)
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++)
      for (int v = 0; v < width; v++)
        for (int t = 0; t < FOUR; t++)
          row[v][t] -= l[t * KN_STICK_ROWS + k] * CAT(u + k * KN_STICK_ROWS, FOUR * v);
}

/* The four rows on their diagonal, number by number and two at a time: with 1 / a and a / (a c - b²) for the block [a b; b c] the
   divisions do not wait for each other. */
ALWAYS bool pivots(kn_stick_system* s, const four row[FOUR], const double* const of[FOUR], int first,
                   double eps, double share, double least) {
  double a[FOUR][FOUR], w[FOUR];
  bool good = true;
#pragma GCC unroll 4
  for (int t = 0; t < FOUR; t++) {
    w[t] = of[t][first + t];
    AT(a[t], 0) = row[t];
    a[t][t] += eps * (w[t] > least ? w[t] : least);
    AT(s->U[first + t], first) = AT(s->L[first + t], first) = (four){0};
  }
#pragma GCC unroll 2
  for (int t = 0; t < FOUR; t += 2) {
    double *u = a[t], *v = a[t + 1], det = u[t] * v[t + 1] - u[t + 1] * u[t + 1];
    double D[2] = {1.0 / u[t], u[t] / det}, l = u[t + 1] * D[0];
    good &= first + t >= s->n || u[t] > share * w[t];
    good &= first + t + 1 >= s->n || det > share * w[t + 1] * u[t];
    s->inverse[first + t] = D[0], s->inverse[first + t + 1] = D[1];
    s->U[first + t][first + t + 1] = u[t + 1], s->L[first + t + 1][first + t] = l;
#pragma GCC unroll 2
    for (int b = t + 2; b < FOUR; b++) {
      v[b] -= l * u[b];
      double lu = s->L[first + b][first + t] = u[b] * D[0], lv = s->L[first + b][first + t + 1] = v[b] * D[1];
      s->U[first + t][first + b] = u[b], s->U[first + t + 1][first + b] = v[b];
#pragma GCC unroll 2
      for (int c = t + 2; c <= b; c++) a[c][b] = (a[c][b] - lu * u[c]) - lv * v[c];
    }
  }
  return good;
}

/* Columns of four rows of U over their diagonals: rows of L, four numbers from `first` on. */
ALWAYS void multipliers(kn_stick_system* s, const four u[FOUR], int first, int at) {
  const double* d = s->inverse + first;
  four a = u[0] * d[0], b = u[1] * d[1], c = u[2] * d[2], e = u[3] * d[3];
  four x = __builtin_shufflevector(a, b, 0, 4, 2, 6), y = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  four z = __builtin_shufflevector(c, e, 0, 4, 2, 6), w = __builtin_shufflevector(c, e, 1, 5, 3, 7);
  AT(s->L[at], first) = __builtin_shufflevector(x, z, 0, 1, 4, 5);
  AT(s->L[at + 1], first) = __builtin_shufflevector(y, w, 0, 1, 4, 5);
  AT(s->L[at + 2], first) = __builtin_shufflevector(x, z, 2, 3, 6, 7);
  AT(s->L[at + 3], first) = __builtin_shufflevector(y, w, 2, 3, 6, 7);
}

/* The four rows right of their diagonal, in `width` vectors from `at` on. */
ALWAYS void beside(kn_stick_system* s, const double* const w[FOUR], int first, int at, const int width) {
  four row[2][FOUR];
  above(row, s, w, first, at, width);
  for (int v = 0; v < width; v++) {
#pragma GCC unroll 4
    for (int t = 0; t < FOUR; t++) {
      for (int k = 0; k < t; k++) row[v][t] -= s->L[first + t][first + k] * row[v][k];
      AT(s->U[first + t], at + FOUR * v) = row[v][t];
    }
    multipliers(s, row[v], first, at + FOUR * v);
  }
}

bool KN_NAME(kn_stick_factor)(kn_stick_system* s, double eps, double share) {
  double least = least_diagonal(s);
  load(s);
  for (int first = 0; first < s->n; first += FOUR) {
    four row[1][FOUR];
    const double* w[FOUR];
    for (int t = 0; t < FOUR; t++) w[t] = row_of(s, first + t);
    above(row, s, w, first, first, 1);
    if (!pivots(s, row[0], w, first, eps, share, least)) return false;
    int at = first + FOUR;
    for (; at + FOUR < s->n; at += 2 * FOUR) beside(s, w, first, at, 2);
    if (at < s->n) beside(s, w, first, at, 1);
  }
  return true;
}

/* x -= U_k x_k / U_kk */
#define DOWN(t)                                                                                              \
  if (b + 1 < width || FOUR * b + t < s->n) {                                                                \
    four a = SPREAD(x[b], t) * s->inverse[FOUR * b + t];                                                     \
    for (int v = b; v < width; v++) x[v] -= a * CAT(s->U[FOUR * b + t], FOUR * v);                           \
  }
/* x -= L_k x_k */
#define UP(t)                                                                                                \
  if (b + 1 < width || FOUR * b + t < s->n) {                                                                \
    four a = SPREAD(x[b], t);                                                                                \
    for (int v = 0; v <= b; v++) x[v] -= a * CAT(s->L[FOUR * b + t], FOUR * v);                              \
  }

/* r <- r + x, U^T D^-1 U x = -(q + W r), in `width` vectors. */
ALWAYS void step(const kn_stick_system* s, double* r, const int width) {
  four x[KN_STICK_ROWS / FOUR];
  double y[KN_STICK_ROWS];
  for (int v = 0; v < width; v++) AT(y, FOUR * v) = (four){0};
  for (int i = 0; i < s->n; i++) y[i] = s->q[i];
  for (int v = 0; v < width; v++) x[v] = -CAT(y, FOUR * v);
  const double* w = s->W;
  for (int i = 0; i < s->n && !s->fresh; i++, w += s->n) {
    if (i + 1 == s->n) w = s->last;
    for (int v = 0; v < width; v++) x[v] -= r[i] * CAT(w, FOUR * v);
  }
#pragma GCC unroll 8
  for (int b = 0; b < width; b++) { DOWN(0) DOWN(1) DOWN(2) DOWN(3) x[b] *= CAT(s->inverse, FOUR * b); }
#pragma GCC unroll 8
  for (int b = width - 1; b >= 0; b--) { UP(3) UP(2) UP(1) UP(0) }
  for (int v = 0; v < width; v++) AT(y, FOUR * v) = x[v];
  for (int i = 0; i < s->n; i++) r[i] += y[i];
}

void KN_NAME(kn_stick_step)(const kn_stick_system* s, double* r) {
  switch ((s->n + FOUR - 1) / FOUR) { /* a known width stays in registers */
  case 1: step(s, r, 1); break;
  case 2: step(s, r, 2); break;
  case 3: step(s, r, 3); break;
  case 4: step(s, r, 4); break;
  case 5: step(s, r, 5); break;
  case 6: step(s, r, 6); break;
  case 7: step(s, r, 7); break;
  default: step(s, r, 8);
  }
}
