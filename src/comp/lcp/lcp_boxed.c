/* The scaled problem with bounds, as the active-set and relaxation methods use it: lo' <= z' <= hi'. */
#include <math.h>
#include <string.h>

#include "comp/lcp/lcp.h"
#include "math/dense.h"

void kn_lcp_boxed_begin(kn_lcp_boxed* p, const kn_lcp* lcp, kn_lcp_work* work, const double* z) {
  kn_lcp_scale(&work->scaled, lcp);
  p->s = &work->scaled;
  p->n = lcp->n;
  p->ld = p->s->ld;
  p->lo = work->v[0];
  p->hi = work->v[1];
  p->z = work->v[2];
  p->w = work->v[3];
  p->out = work->v[4];
  for (int i = 0; i < p->n; i++) {
    double unit = p->s->s[i] * p->s->qscale;
    p->lo[i] = lcp->lo ? lcp->lo[i] / unit : 0.0;
    p->hi[i] = lcp->hi ? lcp->hi[i] / unit : INFINITY;
  }
  kn_lcp_guess(p->z, p->s, z);
  kn_lcp_boxed_w(p);
}

void kn_lcp_boxed_w(kn_lcp_boxed* p) {
  memcpy(p->w, p->s->q, (size_t)p->ld * sizeof(double));
  for (int j = 0; j < p->n; j++)
    if (p->z[j] != 0.0) kn_axpy(p->ld, p->w, p->z[j], p->s->M + (size_t)j * (size_t)p->ld);
}

double kn_lcp_boxed_residual(const kn_lcp_boxed* p) {
  double r = 0.0;
  for (int i = 0; i < p->n; i++) {
    double t = p->z[i] - p->w[i], m = t < p->lo[i] ? p->lo[i] : t > p->hi[i] ? p->hi[i] : t;
    r = fmax(r, fabs(p->z[i] - m));
  }
  return r;
}

bool kn_lcp_boxed_offer(kn_lcp_boxed* p, double* z, kn_solve_info* info, const kn_lcp* lcp, double tol) {
  kn_lcp_unscale(p->out, p->s, p->z);
  for (int i = 0; i < p->n; i++) p->out[i] = kn_lcp_clamp(lcp, i, p->out[i]);
  kn_lcp_offer(z, info, lcp, p->out);
  return info->residual_scaled <= tol;
}
