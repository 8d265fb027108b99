#ifndef KN_COMP_LCP_RESIDUAL_H
#define KN_COMP_LCP_RESIDUAL_H

#include "base/isa.h"
#include "knuckle/comp.h"

KN_KERNEL(void, kn_lcp_residuals, (double* original, double* scaled, const kn_lcp* lcp, const double* z));

#endif
