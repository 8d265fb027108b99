#if defined(__x86_64__)
#define KN_W       8
#define KN_NAME(f) f##_avx512
#include "collide/pair_list_kernel.h"
#endif
typedef int kn_pair_list_avx512_not_empty;
