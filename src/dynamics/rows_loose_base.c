#define KN_NAME(f) f##_base
#include "dynamics/rows_loose_kernel.h"
