#define KN_W       2
#define KN_NAME(f) f##_base
#include "collide/pair_box_kernel.h"
