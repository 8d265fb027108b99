#if defined(__x86_64__)
#define KN_NAME(f) f##_avx512
#include "step/project_round_kernel.h"
#endif
typedef int kn_project_round_avx512_not_empty;
