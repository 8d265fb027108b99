/* The variants of kn_sincos_array. In-place use (s or c equal to x) is not allowed. */
#pragma once

#include "base/isa.h"

typedef void (*kn_sincos_fn)(int, double*, double*, const double*);
KN_KERNEL_TABLE(kn_sincos_fn, kn_sincos_array);
