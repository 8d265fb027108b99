#if defined(__x86_64__)
#define KN_W       4 /* but for the search: eight */
#define KN_NAME(f) f##_avx512
#include "collide/gjk_hull_kernel.h"
#endif
typedef int kn_gjk_hull_avx512_not_empty;
