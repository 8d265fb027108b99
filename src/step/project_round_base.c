#define KN_NAME(f) f##_base
#include "step/project_round_kernel.h"
