/* Symmetric scaling of an LCP (notes of physics.md 2.6: without it Lemke returns wrong answers on contact
   problems with small mobilities).

   M' = S M S, q' = S q / m, z = S z' m with S > 0 and m > 0 keeps complementarity: z' >= 0, w' = M' z' + q' =
   S w / m. S_i = 1 / sqrt|M_ii|; rows with zero diagonal (the cone rows of friction) take the scale that
   makes their largest entry one; m = max |S q|. */
#include <math.h>
#include <string.h>

#include "comp/lcp.h"

static void choose_scales(double* s, const kn_lcp* lcp) {
  int n = lcp->n, zeros = 0;
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]));
  for (int i = 0; i < n; i++) {
    double d = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]);
    s[i] = d > 1e-14 * most ? 1.0 / sqrt(d) : 0.0;
    zeros += s[i] == 0.0;
  }
  for (int i = 0; zeros && i < n; i++) {
    double big = 0.0;
    if (s[i] != 0.0) continue;
    for (int j = 0; j < n; j++) {
      double t = s[j] > 0.0 ? s[j] : 1.0;
      big = fmax(big, t * fmax(fabs(lcp->M[(size_t)i * (size_t)n + (size_t)j]),
                               fabs(lcp->M[(size_t)j * (size_t)n + (size_t)i])));
    }
    s[i] = big > 0.0 && big < INFINITY ? -1.0 / big
                                       : -1.0; /* negative: set, but not yet seen by other zero rows */
  }
  for (int i = 0; i < n; i++) s[i] = fabs(s[i]);
}

/* Eight columns at a time: rows are read along, columns written along. */
static void scale_transposed(kn_lcp_scaled* out, const double* M) {
  int n = out->n, ld = out->ld;
  const double* s = out->s;
  for (int j0 = 0; j0 < n; j0 += 8) {
    int j1 = j0 + 8 < n ? j0 + 8 : n;
    double* to = out->M + (size_t)j0 * (size_t)ld;
    for (int i = 0; i < n; i++) {
      const double* row = M + (size_t)i * (size_t)n;
      double si = s[i];
      for (int j = j0; j < j1; j++) to[(size_t)(j - j0) * (size_t)ld + (size_t)i] = row[j] * (si * s[j]);
    }
    for (int j = j0; j < j1; j++)
      for (int i = n; i < ld; i++) to[(size_t)(j - j0) * (size_t)ld + (size_t)i] = 0.0;
  }
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
    m = fmax(m, fabs(out->q[i]));
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
