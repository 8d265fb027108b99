/* The hull's layout belongs to the model layer, which builds it; collision code reads it. */
#ifndef KN_COLLIDE_HULL_H
#define KN_COLLIDE_HULL_H

#include "model/hull.h"

#endif
