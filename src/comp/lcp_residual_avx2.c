#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "comp/lcp_residual_kernel.h"
#endif
typedef int kn_lcp_residual_avx2_not_empty;
