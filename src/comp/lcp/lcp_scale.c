/* Symmetric scaling of an LCP (docs/solvers.md, "Lemke's traps": without it Lemke returns wrong answers on
   contact problems with small mobilities).

     M' = S M S,   q' = S q / m,   z = S z' m,   S > 0, m > 0,

   keeps complementarity: z' >= 0, w' = M' z' + q' = S w / m. S_i = 1 / sqrt|M_ii|; rows with zero
   diagonal (the cone rows of friction) take the scale that makes their largest entry one; m = max |S q|. */
#include <math.h>

#include "comp/lcp/lcp.h"

static double zero_row_scale(const double* s, const kn_lcp* lcp, int i) {
  size_t n = (size_t)lcp->n;
  double big = 0.0;
  for (size_t j = 0; j < n; j++) {
    double t = s[j] > 0.0 ? s[j] : 1.0;
    big = kn_max(t * kn_max(fabs(lcp->M[j * n + (size_t)i]), fabs(lcp->M[(size_t)i * n + j])), big);
  }
  return big > 0.0 && big < INFINITY ? 1.0 / big : 1.0;
}

static void choose_scales(double* s, const kn_lcp* lcp) {
  int n = lcp->n, zeros = 0;
  double most = 0.0;
  for (int i = 0; i < n; i++) {
    s[i] = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]);
    most = kn_max(s[i], most);
  }
  double tiny = 1e-14 * most;
  for (int i = 0; i < n; i++) {
    double root = 1.0 / sqrt(s[i]);
    s[i] = s[i] > tiny ? root : 0.0;
  }
  for (int i = 0; i < n; i++) zeros += s[i] == 0.0;
  for (int i = 0; zeros && i < n; i++)
    if (s[i] == 0.0) s[i] = -zero_row_scale(s, lcp, i); /* negative: not yet seen by other zero rows */
  for (int i = 0; i < n; i++) s[i] = fabs(s[i]);
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* Two rows by two columns at a time, eight columns per pass over the rows. */
static void scale_transposed(kn_lcp_scaled* out, const double* M) {
  int n = out->n, ld = out->ld;
  const double* s = out->s;
  for (int j0 = 0; j0 < n; j0 += 8) {
    int j1 = j0 + 8 < n ? j0 + 8 : n, i = 0;
    for (; i + 2 <= n; i += 2) {
      const double *upper = M + (size_t)i * (size_t)n, *lower = upper + n;
      int j = j0;
      for (; j + 2 <= j1; j += 2) {
        pair sj = *(const pair*)(s + j), a = *(const pair*)(upper + j) * (s[i] * sj);
        pair b = *(const pair*)(lower + j) * (s[i + 1] * sj);
        double* to = out->M + (size_t)j * (size_t)ld + i;
        *(pair*)to = (pair){a[0], b[0]};
        *(pair*)(to + ld) = (pair){a[1], b[1]};
      }
      if (j < j1) {
        out->M[(size_t)j * (size_t)ld + (size_t)i] = upper[j] * (s[i] * s[j]);
        out->M[(size_t)j * (size_t)ld + (size_t)i + 1] = lower[j] * (s[i + 1] * s[j]);
      }
    }
    if (i < n)
      for (int j = j0; j < j1; j++)
        out->M[(size_t)j * (size_t)ld + (size_t)i] = M[(size_t)i * (size_t)n + (size_t)j] * (s[i] * s[j]);
  }
  for (int j = 0; j < n && n < ld; j++)
    for (int i = n; i < ld; i++) out->M[(size_t)j * (size_t)ld + (size_t)i] = 0.0;
}

void kn_lcp_scale(kn_lcp_scaled* out, const kn_lcp* lcp) {
  int n = lcp->n;
  out->n = n;
  out->ld = kn_pad8(n);
  choose_scales(out->s, lcp);
  scale_transposed(out, lcp->M);
  double m = 0.0;
  for (int i = 0; i < n; i++) {
    out->q[i] = lcp->q[i] * out->s[i];
    m = kn_max(fabs(out->q[i]), m);
  }
  out->qscale = m > 0.0 ? m : 1.0;
  for (int i = 0; i < n; i++) out->q[i] /= out->qscale;
  for (int i = n; i < out->ld; i++) out->q[i] = 0.0;
}

void kn_lcp_unscale(double* z, const kn_lcp_scaled* p, const double* zs) {
  for (int i = 0; i < p->n; i++) z[i] = zs[i] * p->s[i] * p->qscale;
}

void kn_lcp_guess(double* zs, const kn_lcp_scaled* p, const double* z) {
  for (int i = 0; i < p->n; i++) zs[i] = z[i] / (p->s[i] * p->qscale);
  for (int i = p->n; i < p->ld; i++) zs[i] = 0.0;
}
