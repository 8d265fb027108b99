#define KN_W       2
#define KN_NAME(f) f##_base
#include "collide/gjk_hull_kernel.h"
