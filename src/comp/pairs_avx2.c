#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "comp/pairs_kernel.h"
#endif
typedef int kn_pairs_avx2_not_empty;
