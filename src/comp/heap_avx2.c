#if defined(__x86_64__)
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "comp/heap_kernel.h"
#endif
typedef int kn_heap_avx2_not_empty;
