/* Kernels of stick.c. Every element sees the same operations in the order of k, whatever KN_W; entries of U left of the diagonal are never read. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include <math.h>
#include <string.h>

#include "comp/cone/stick.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p, i)  (*(kn_vec*)((p) + (i)))
#define CAT(p, i) (*(const kn_vec*)((p) + (i)))

/* y -= a x from the vector of `from` on */
static inline void subtract(double* y, double a, const double* x, int from, int to) {
  for (int i = from & ~(KN_W - 1); i < to; i += KN_W) AT(y, i) -= a * CAT(x, i);
}

/* Row i of W in whole vectors. */
static inline const double* row_of(const kn_stick_system* s, int i) {
  return i + 1 < s->n ? s->W + i * s->n : s->last;
}

static inline void load(kn_stick_system* s) {
  int n = s->n;
  AT(s->last, n & ~(KN_W - 1)) = (kn_vec){0}; /* what lies behind the row does not count, but is read */
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

static inline bool pivot(kn_stick_system* s, int k, double eps, double least) {
  double *diagonal = s->U + k * (s->ld + 1), w = s->W[k * (s->n + 1)];
  *diagonal += eps * (w > least ? w : least);
  s->inverse[k] = 1.0 / *diagonal;
  return *diagonal > 1e-13 * w;
}

/* Rows from `first` on, KN_W of them, and `width` vectors from their diagonal to the end: a row stays in registers
   until all rows above it are taken off. */
static inline __attribute__((always_inline)) bool factor_rows(kn_stick_system* s, int first, const int width,
                                                              double eps, double least) {
  int ld = s->ld, last = first + KN_W < s->n ? first + KN_W : s->n;
  for (int i = first; i < last; i++) {
    double *u = s->U + i * ld + first, *l = s->L + i * ld;
    const double *w = row_of(s, i) + first, *above = s->U;
    kn_vec row[KN_STICK_ROWS / KN_W];
    for (int v = 0; v < width; v++) row[v] = CAT(w, v * KN_W);
    for (int k = 0; k < i; k++, above += ld) {
      l[k] = above[i] * s->inverse[k];
      for (int v = 0; v < width; v++) row[v] -= l[k] * CAT(above + first, v * KN_W);
    }
    for (int v = 0; v < width; v++) AT(u, v * KN_W) = row[v];
    if (!pivot(s, i, eps, least)) return false;
  }
  return true;
}

bool KN_NAME(kn_stick_factor)(kn_stick_system* s, double eps) {
  double least = least_diagonal(s);
  for (int i = 0; i < s->n; i++)
    AT(s->L + i * s->ld, i & ~(KN_W - 1)) = (kn_vec){0}; /* read as far as that */
  load(s);
  for (int i = 0; i < s->n; i += KN_W) {
    bool good;
    switch ((s->ld - i) / KN_W) { /* a known width stays in registers */
    case 1: good = factor_rows(s, i, 1, eps, least); break;
    case 2: good = factor_rows(s, i, 2, eps, least); break;
    case 3: good = factor_rows(s, i, 3, eps, least); break;
    case 4: good = factor_rows(s, i, 4, eps, least); break;
    case 5: good = factor_rows(s, i, 5, eps, least); break;
    case 6: good = factor_rows(s, i, 6, eps, least); break;
    default: good = factor_rows(s, i, (s->ld - i) / KN_W, eps, least);
    }
    if (!good) return false;
  }
  return true;
}

/* x = -(q + W r) */
static inline void residual(double* x, const kn_stick_system* s, const double* r) {
  int n = s->n, ld = s->ld;
  for (int i = 0; i < n; i++) x[i] = -s->q[i];
  for (int j = 0; j < ld; j += KN_W) {
    kn_vec sum = CAT(x, j);
    const double* w = s->W + j;
    for (int i = 0; i + 1 < n; i++, w += n) sum -= r[i] * CAT(w, 0);
    AT(x, j) = sum - r[n - 1] * CAT(s->last, j);
  }
}

/* Vectors reach left or right of where they should: what is done is kept elsewhere (z, out). */
void KN_NAME(kn_stick_step)(const kn_stick_system* s, double* r) {
  int n = s->n, ld = s->ld;
  double x[KN_STICK_ROWS] = {0}, z[KN_STICK_ROWS] = {0}, out[KN_STICK_ROWS];
  residual(x, s, r);
  for (int k = 0; k < n; k++) {
    z[k] = x[k] * s->inverse[k];
    subtract(x, z[k], s->U + k * ld, k + 1, ld);
  }
  for (int k = n - 1; k >= 0; k--) {
    out[k] = z[k];
    subtract(z, out[k], s->L + k * ld, 0, k);
  }
  for (int i = 0; i < n; i++) r[i] += out[i];
}
