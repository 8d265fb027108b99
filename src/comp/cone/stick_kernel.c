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

/* P = U = W, with padding where its rows are no whole vectors: then P is W itself. */
static inline void load(kn_stick_system* s) {
  int n = s->n, ld = s->ld;
  s->P = n < ld ? s->padded : s->W;
  if (n == ld) {
    memcpy(s->U, s->W, (size_t)(n * n) * sizeof *s->U);
    return;
  }
  memset(s->padded, 0, (size_t)(n * ld) * sizeof *s->padded);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s->padded[i * ld + j] = s->W[i * n + j];
  memcpy(s->U, s->padded, (size_t)(n * ld) * sizeof *s->U);
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

/* Row i less its multiple of row k. */
static inline void reduce(kn_stick_system* s, int i, int k) {
  const double* row = s->U + k * s->ld;
  double l = s->L[i * s->ld + k] = row[i] * s->inverse[k];
  subtract(s->U + i * s->ld, l, row, i, s->ld);
}

/* Up to four contacts: a row stays in registers until all rows above it are taken off. */
enum { FEW_ROWS = 12, FEW = FEW_ROWS / KN_W };

static inline bool factor_few(kn_stick_system* s, double eps, double least) {
  for (int i = 0; i < s->n; i++) {
    double *u = s->U + i * FEW_ROWS, *l = s->L + i * FEW_ROWS;
    const double* w = s->P + i * FEW_ROWS;
    kn_vec row[FEW];
    for (int v = 0; v < FEW; v++) row[v] = CAT(w, v * KN_W);
    for (int k = 0; k < i; k++) {
      const double* above = s->U + k * FEW_ROWS;
      l[k] = above[i] * s->inverse[k];
      for (int v = 0; v < FEW; v++) row[v] -= l[k] * CAT(above, v * KN_W);
    }
    for (int v = 0; v < FEW; v++) AT(u, v * KN_W) = row[v];
    if (!pivot(s, i, eps, least)) return false;
  }
  return true;
}

/* Pivots two and two: rows below are read and written once for both. */
bool KN_NAME(kn_stick_factor)(kn_stick_system* s, double eps) {
  int n = s->n, ld = s->ld;
  double least = least_diagonal(s);
  s->P = s->W;
  for (int i = 0; i < n; i++) AT(s->L + i * ld, i & ~(KN_W - 1)) = (kn_vec){0}; /* read as far as that */
  if (n < ld || ld != FEW_ROWS) load(s);
  if (ld == FEW_ROWS) return factor_few(s, eps, least);
  for (int k = 0; k < n; k += 2) {
    if (!pivot(s, k, eps, least)) return false;
    if (k + 1 == n) break;
    reduce(s, k + 1, k);
    if (!pivot(s, k + 1, eps, least)) return false;
    const double *one = s->U + k * ld, *two = one + ld;
    for (int i = k + 2; i < n; i++) {
      double l1 = one[i] * s->inverse[k], l2 = two[i] * s->inverse[k + 1], *u = s->U + i * ld;
      s->L[i * ld + k] = l1, s->L[i * ld + k + 1] = l2;
      for (int j = i & ~(KN_W - 1); j < ld; j += KN_W)
        AT(u, j) = (CAT(u, j) - l1 * CAT(one, j)) - l2 * CAT(two, j);
    }
  }
  return true;
}

/* x = -(q + P r) */
static inline void residual(double* x, const kn_stick_system* s, const double* r) {
  int n = s->n, ld = s->ld;
  for (int i = 0; i < n; i++) x[i] = -s->q[i];
  for (int j = 0; j < ld; j += KN_W) {
    kn_vec sum = CAT(x, j);
    for (int i = 0; i < n; i++) sum -= r[i] * CAT(s->P + i * ld, j);
    AT(x, j) = sum;
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
