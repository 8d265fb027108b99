#define KN_NAME(f) f##_base
#include "contact/centres_kernel.h"
