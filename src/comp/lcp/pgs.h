#pragma once

#include "comp/lcp/lcp.h"

/* One sweep; returns the largest change of a scaled multiplier. */
double kn_pgs_sweep(kn_lcp_boxed* p, double relax);
