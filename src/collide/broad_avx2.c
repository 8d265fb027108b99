#if defined(__x86_64__)
#define KN_W       8
#define KN_NAME(f) f##_avx2
#include "collide/broad_kernel.h"
#endif
typedef int kn_broad_avx2_not_empty;
