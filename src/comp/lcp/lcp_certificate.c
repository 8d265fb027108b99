/* Checking "no solution" certificates on the original data, independent of who found them.

   Farkas: y with y_i >= 0 where z_i has only a lower bound … in general the problem is feasible iff some z in
   the box has w_i >= 0 where z_i may sit at lo only, w_i <= 0 where at hi only, any sign for two-sided rows,
   w_i = 0 for free rows. y (y_i >= 0 for lower-only rows, <= 0 for upper-only, 0 for two-sided, any for free)
   gives y^T (M z + q) = sum_j c_j z_j + y^T q >= 0 with c = M^T y, for every feasible z. If the largest value
   of that sum over the box is negative, nothing is feasible.

   A certificate has a margin: it must hold for every q whose entries, scaled as by the judge, are within 1e-10
   of the largest. A point with such a residual is called a solution, and an offset of -2e-15 beside offsets of
   10 is rounding. */
#include <math.h>

#include "comp/lcp/lcp.h"

/* Largest c z over lo <= z <= hi, where |c| <= tiny counts as zero on an unbounded side. */
static double largest(double c, double tiny, double lo, double hi) {
  double bound = c > 0.0 ? hi : lo;
  if (fabs(bound) < INFINITY) return c * bound;
  return fabs(c) <= tiny ? 0.0 : INFINITY;
}

static bool sign_ok(double y, double lo, double hi) {
  if (lo == -INFINITY && hi == INFINITY) return true;
  if (lo > -INFINITY && hi < INFINITY) return y == 0.0;
  return lo > -INFINITY ? y >= 0.0 : y <= 0.0;
}

/* 1e-10 of the largest scaled offset in every row: how far y.q moves. Rows with a zero diagonal take the unit of
   the largest one. */
static double margin(const kn_lcp* lcp, const double* y) {
  size_t n = (size_t)lcp->n;
  double most = 0.0, unit = 0.0, sum = 0.0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(lcp->M[i * (n + 1)]));
  for (size_t i = 0; i < n; i++) {
    double d = fabs(lcp->M[i * (n + 1)]), up = sqrt(d > 1e-14 * most ? d : most > 0.0 ? most : 1.0);
    unit = fmax(unit, fabs(lcp->q[i]) / up);
    sum += fabs(y[i]) * up;
  }
  return 1e-10 * unit * sum;
}

bool kn_lcp_is_farkas(const kn_lcp* lcp, double* y, bool* close) {
  int n = lcp->n;
  double total = 0.0, size = 0.0;
  for (int i = 0; i < n; i++) {
    double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
    if (!isfinite(y[i])) return false;
    if (!sign_ok(y[i], lo, hi)) y[i] = 0.0; /* rounding, or not a certificate: the sum below decides */
    total += y[i] * lcp->q[i];
    size += fabs(y[i] * lcp->q[i]);
  }
  for (int j = 0; j < n; j++) {
    double c = 0.0, most = 0.0;
    double lo = lcp->lo ? lcp->lo[j] : 0.0, hi = lcp->hi ? lcp->hi[j] : INFINITY;
    for (int i = 0; i < n; i++) {
      double t = lcp->M[(size_t)i * (size_t)n + (size_t)j] * y[i];
      c += t;
      most += fabs(t);
    }
    if (!(most < INFINITY)) return false; /* overflow proves nothing */
    double gain = largest(c, 1e-13 * most, lo, hi);
    if (!(gain < INFINITY)) return false;
    total += gain;
    size += fabs(gain);
  }
  if (!(size > 0.0 && total < -1e-9 * size)) return false;
  if (total < -margin(lcp, y)) return true;
  *close = true;
  return false;
}

kn_certificate kn_lcp_certificate(const double** vector, const kn_lcp_work* work) {
  if (vector) *vector = NULL;
  if (!work) return KN_CERTIFICATE_NONE;
  if (vector) *vector = work->certificate_kind == KN_CERTIFICATE_FARKAS ? work->certificate : NULL;
  return work->certificate_kind;
}
