#if defined(__x86_64__)
#include <math.h>
#define KN_W       4
#define KN_NAME(f) f##_avx2
#include "contact/sight_kernel.h"
#endif
typedef int kn_sight_avx2_not_empty;
