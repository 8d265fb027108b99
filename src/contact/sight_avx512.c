#if defined(__x86_64__)
#include <math.h>
#define KN_W       8
#define KN_NAME(f) f##_avx512
#include "contact/sight_kernel.h"
#endif
typedef int kn_sight_avx512_not_empty;
