#include "comp/judge/judge.h"

void kn_lcp_residuals(double* original, double* scaled, const kn_lcp* lcp, const double* z) {
  KN_BEST(kn_lcp_residuals)(original, scaled, lcp, z);
}

double kn_lcp_residual(const kn_lcp* lcp, const double* z) {
  double original, scaled;
  if (!lcp || (!z && lcp->n)) return INFINITY;
  kn_lcp_residuals(&original, &scaled, lcp, z);
  return original;
}

double kn_lcp_residual_scaled(const kn_lcp* lcp, const double* z) {
  double original, scaled;
  if (!lcp || (!z && lcp->n)) return INFINITY;
  kn_lcp_residuals(&original, &scaled, lcp, z);
  return scaled;
}
