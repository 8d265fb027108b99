#define KN_W       2
#define KN_NAME(f) f##_base
#include "comp/heap_kernel.h"
