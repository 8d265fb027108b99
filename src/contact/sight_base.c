#include <math.h>
#define KN_W       2
#define KN_NAME(f) f##_base
#include "contact/sight_kernel.h"
