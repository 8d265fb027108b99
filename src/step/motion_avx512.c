#if defined(__x86_64__)
#define KN_W       8
#define KN_NAME(f) f##_avx512
#include "step/motion_kernel.h"
#endif
typedef int kn_motion_avx512_not_empty;
