#if defined(__x86_64__)
#define KN_NAME(f) f##_avx512
#include "contact/centres_kernel.h"
#endif
typedef int kn_centres_avx512_not_empty;
