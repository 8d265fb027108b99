#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "step/motion_kernel.h"
#endif
typedef int kn_motion_avx2_not_empty;
