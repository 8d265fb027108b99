#if defined(__x86_64__)
#define KN_NAME(f) f##_avx2
#include "dynamics/rows_loose_kernel.h"
#endif
typedef int kn_rows_loose_avx2_not_empty;
