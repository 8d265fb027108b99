#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "collide/gjk_hull_kernel.h"
#endif
typedef int kn_gjk_hull_avx2_not_empty;
