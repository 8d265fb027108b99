#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "collide/pair_box_kernel.h"
#endif
typedef int kn_pair_box_avx2_not_empty;
