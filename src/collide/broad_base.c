#define KN_W       4
#define KN_NAME(f) f##_base
#include "collide/broad_kernel.h"
