#define KN_NAME(f) f##_base
#include "dynamics/rows_blocks_kernel.h"
