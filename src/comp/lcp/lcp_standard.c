/* A boxed or mixed LCP as a standard one.

     lo finite       z = lo + x
     only hi finite  z = -(x - hi): sign -1 and shift -hi
     both finite     the multiplier y of the upper bound adds 0 <= y ⊥ (hi - lo) - x >= 0, and
                     w = M z + q + y >= 0 ⊥ x
     free            z = x, w = 0; flagged

   With Σ = diag(sign), c = shift:

     M' = [Σ M Σ  I; -I  0],   q' = [Σ (q + M Σ c); hi - lo]. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/lcp/lcp.h"

static void choose_row(kn_lcp_standard* out, const kn_lcp* lcp, int i) {
  double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
  out->sign[i] = lo == -INFINITY && hi < INFINITY ? -1.0 : 1.0;
  out->shift[i] = lo > -INFINITY ? lo : hi < INFINITY ? -hi : 0.0;
  out->free_row[i] = lo == -INFINITY && hi == INFINITY;
  out->has_free |= out->free_row[i];
  if (lo > -INFINITY && hi < INFINITY) out->upper[out->n++] = i;
}

static void fill_row(kn_lcp_standard* out, const kn_lcp* lcp, int i) {
  int n = lcp->n;
  size_t m = (size_t)out->n;
  const double* from = lcp->M + (size_t)i * (size_t)n;
  double* to = out->M + (size_t)i * m;
  double q = lcp->q[i], s = out->sign[i];
  for (int j = 0; j < n; j++) {
    to[j] = s * from[j] * out->sign[j];
    q += from[j] * out->sign[j] * out->shift[j];
  }
  for (size_t j = (size_t)n; j < m; j++) to[j] = out->upper[j] == i ? 1.0 : 0.0;
  out->q[i] = s * q;
}

kn_status kn_lcp_standardise(kn_lcp_standard* out, const kn_lcp* lcp, int max_n) {
  int n = lcp->n, boxes = kn_lcp_rows(lcp) - n;
  if (n + boxes > max_n)
    return kn_fail(KN_NO_ROOM, "%d rows and %d upper bounds, workspace made for %d", n, boxes, max_n);
  out->n = n;
  out->has_free = false;
  for (int i = 0; i < n; i++) choose_row(out, lcp, i);
  for (int i = 0; i < n; i++) fill_row(out, lcp, i);
  for (int k = n; k < out->n; k++) {
    int i = out->upper[k];
    double* row = out->M + (size_t)k * (size_t)out->n;
    memset(row, 0, (size_t)out->n * sizeof *row);
    row[i] = -1.0;
    out->q[k] = lcp->hi[i] - (lcp->lo ? lcp->lo[i] : 0.0);
    out->free_row[k] = 0;
  }
  return KN_OK;
}

void kn_lcp_from_standard(double* z, const kn_lcp_standard* p, const kn_lcp* lcp, const double* x) {
  for (int i = 0; i < lcp->n; i++) z[i] = kn_lcp_clamp(lcp, i, p->sign[i] * (x[i] + p->shift[i]));
}
