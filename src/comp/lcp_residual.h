#ifndef KN_COMP_LCP_RESIDUAL_H
#define KN_COMP_LCP_RESIDUAL_H

#include "knuckle/comp.h"

void kn_lcp_residuals_base(double* original, double* scaled, const kn_lcp* lcp, const double* z);
#if defined(__x86_64__)
void kn_lcp_residuals_avx2(double* original, double* scaled, const kn_lcp* lcp, const double* z);
void kn_lcp_residuals_avx512(double* original, double* scaled, const kn_lcp* lcp, const double* z);
#endif

#endif
