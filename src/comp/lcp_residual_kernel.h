/* The judge of LCPs; included by lcp_residual_{base,avx2,avx512}.c with KN_W and KN_NAME. Shares nothing with
   the solvers. Rows are summed in eight interleaved lanes, so every instruction set gives the same bits. */
#include <math.h>
#include <string.h>

#include "comp/lcp_residual.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

static double row_times(int n, const double* row, const double* z) {
  kn_vec acc[8 / KN_W];
  double s[8], tail = 0.0;
  int j = 0;
  for (int l = 0; l < 8 / KN_W; l++) acc[l] = (kn_vec){0};
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8 / KN_W; l++)
      acc[l] += *(const kn_vec*)(row + j + l * KN_W) * *(const kn_vec*)(z + j + l * KN_W);
  for (; j < n; j++) tail += row[j] * z[j];
  memcpy(s, acc, sizeof s);
  return (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + tail;
}

/* |z - mid(lo, hi, z - w)|, infinite when not a number. */
static inline double natural(double z, double w, double lo, double hi) {
  double p = z - w, m = p < lo ? lo : p > hi ? hi : p, r = fabs(z - m);
  /* z - (z - w) loses w when |z| is much larger: inside the bounds the residual is |w| itself */
  if (p > lo && p < hi) r = fabs(w);
  return r <= INFINITY ? r : INFINITY;
}

/* Scale of a row whose diagonal is zero: its largest entry of S M S becomes one. */
static double zero_row_scale(const kn_lcp* lcp, int i, double tiny) {
  size_t n = (size_t)lcp->n;
  double most = 0.0;
  for (size_t j = 0; j < n; j++) {
    double d = fabs(lcp->M[j * n + j]), s = d > tiny ? 1.0 / sqrt(d) : 1.0;
    most = fmax(most, s * fmax(fabs(lcp->M[(size_t)i * n + j]), fabs(lcp->M[j * n + (size_t)i])));
  }
  return most > 0.0 && most < INFINITY ? 1.0 / most : 1.0;
}

void KN_NAME(kn_lcp_residuals)(double* original, double* scaled, const kn_lcp* lcp, const double* z) {
  int n = lcp->n;
  double most = 0.0, r0 = 0.0, r1 = 0.0, qs = 0.0, zs = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]));
  double tiny = 1e-14 * most;
  for (int i = 0; i < n; i++) {
    const double* row = lcp->M + (size_t)i * (size_t)n;
    double w = row_times(n, row, z) + lcp->q[i], d = fabs(row[i]);
    double s = d > tiny ? 1.0 / sqrt(d) : zero_row_scale(lcp, i, tiny);
    double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
    r0 = fmax(r0, natural(z[i], w, lo, hi));
    r1 = fmax(r1, natural(z[i] / s, w * s, lo / s, hi / s));
    qs = fmax(qs, fabs(lcp->q[i]) * s);
    zs = fmax(zs, fabs(z[i]) / s);
    if (!(fabs(z[i]) < INFINITY) || !(fabs(w) < INFINITY)) r0 = r1 = INFINITY;
  }
  *original = r0;
  double unit = qs + 1e-4 * zs;
  *scaled = unit > 0.0 && unit < INFINITY ? r1 / unit : r1;
}
