/* Kernels of stick.c, written once; included by stick_base.c and stick_avx2.c with KN_W = doubles per
   register and KN_NAME(f) = the variant's name of f. Every element sees the same operations in the order of
   k, whatever KN_W; entries of U left of the diagonal are never read. */
#include <math.h>
#include <string.h>

#include "comp/stick.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p, i)  (*(kn_vec*)((p) + (i)))
#define CAT(p, i) (*(const kn_vec*)((p) + (i)))

/* y -= a x from the vector of `from` on */
static inline void subtract(double* y, double a, const double* x, int from, int to) {
  for (int i = from & ~(KN_W - 1); i < to; i += KN_W) AT(y, i) -= a * CAT(x, i);
}

/* P = W with padding, U = W + eps D. */
static inline void load(kn_stick_system* s, double eps) {
  int n = s->n, ld = s->ld;
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, s->W[i * n + i]);
  for (int i = 0; i < n; i++) {
    const double* w = s->W + i * n;
    double *p = s->P + i * ld, *u = s->U + i * ld, *l = s->L + i * ld;
    int j = 0;
    for (int k = 0; k < ld; k += KN_W) AT(l, k) = (kn_vec){0};
    for (; j + KN_W <= n; j += KN_W) AT(p, j) = AT(u, j) = CAT(w, j);
    for (; j < n; j++) p[j] = u[j] = w[j];
    for (; j < ld; j++) p[j] = u[j] = 0.0;
    u[i] += eps * fmax(w[i], 1e-6 * most);
  }
}

bool KN_NAME(kn_stick_factor)(kn_stick_system* s, double eps) {
  int n = s->n, ld = s->ld;
  load(s, eps);
  for (int k = 0; k < n; k++) {
    const double* row = s->U + k * ld;
    if (!(row[k] > 1e-13 * s->W[k * n + k])) return false;
    double inverse = s->inverse[k] = 1.0 / row[k];
    for (int i = k + 1; i < n; i++) {
      double l = s->L[i * ld + k] = row[i] * inverse;
      subtract(s->U + i * ld, l, row, i, ld);
    }
  }
  return true;
}

/* Vectors reach left or right of where they should: what is done is kept elsewhere (z, out). */
void KN_NAME(kn_stick_step)(const kn_stick_system* s, double* r) {
  int n = s->n, ld = s->ld;
  double x[KN_STICK_ROWS] = {0}, z[KN_STICK_ROWS] = {0}, out[KN_STICK_ROWS];
  for (int i = 0; i < n; i++) x[i] = -s->q[i];
  for (int i = 0; i < n; i++) subtract(x, r[i], s->P + i * ld, 0, ld); /* -u */
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
