/* Projected successive over-relaxation (Cryer 1971; Gauss-Seidel for relax = 1): row by row
     z_i <- clamp(z_i - relax w_i / M_ii),  w kept up to date by one column.
   Converges for symmetric positive semidefinite M with positive diagonal and bounded solution; slow when
   coupled masses differ much. Rows with a zero diagonal are left at their bound. */
#include "comp/lcp/lcp.h"

#include <math.h>

#include "math/dense.h"

double kn_pgs_sweep(kn_lcp_boxed* p, double relax) {
  double moved = 0.0;
  for (int i = 0; i < p->n; i++) {
    const double* column = p->s->M + (size_t)i * (size_t)p->ld;
    double d = column[i];
    if (!(d > 0.0)) continue;
    double t = p->z[i] - relax * p->w[i] / d;
    t = t < p->lo[i] ? p->lo[i] : t > p->hi[i] ? p->hi[i] : t;
    double dz = t - p->z[i];
    if (dz == 0.0) continue;
    p->z[i] = t;
    kn_axpy(p->ld, p->w, dz, column);
    moved = fmax(moved, fabs(dz));
  }
  return moved;
}

static kn_status pgs_solve(double* z, kn_solve_info* info, const kn_lcp* lcp, const kn_lcp_settings* settings,
                           kn_lcp_work* work) {
  kn_status status = kn_lcp_begin(&kn_lcp_pgs, z, info, lcp, settings, work);
  if (status != KN_OK) return status;
  kn_lcp_boxed p;
  kn_lcp_boxed_begin(&p, lcp, work, z);
  int limit = settings->max_iterations ? settings->max_iterations : 5000;
  bool done = kn_lcp_boxed_offer(&p, z, info, lcp, settings->tol);
  for (int k = 1; k <= limit && !done; k++) {
    double moved = kn_pgs_sweep(&p, settings->relax);
    info->iterations = k;
    if (k % 50 == 0) kn_lcp_boxed_w(&p); /* the running w drifts by rounding */
    bool quiet = moved <= settings->tol;
    if (quiet || k % 10 == 0 || k == limit) done = kn_lcp_boxed_offer(&p, z, info, lcp, settings->tol);
    if (moved == 0.0 || !(moved < INFINITY)) break;
  }
  return kn_lcp_finish(z, info, lcp, settings);
}

const kn_lcp_solver kn_lcp_pgs = {
    .name = "psor",
    .doc = "projected successive over-relaxation; Gauss-Seidel with relax = 1; first-order, for easy or huge "
           "problems",
    .citation = "C. W. Cryer, SIAM J. Control 9 (1971)",
    .settings = "tol max_iterations warm relax",
    .kinds = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX | KN_LCP_SYMMETRIC | KN_LCP_POSITIVE,
    .solve = pgs_solve,
};
