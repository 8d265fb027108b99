#pragma once

#include "base/isa.h"
#include "knuckle/comp.h"

KN_KERNEL(void, kn_lcp_residuals, (double* original, double* scaled, const kn_lcp* lcp, const double* z));
