/* Are two shapes clearly apart? (apart.c) */
#pragma once

#include "knuckle/collide.h"

/* A lower bound of the distance of two shapes, -INFINITY where there is none (overlap, meshes). It tells
   whether they are farther apart than `need`, to 1e-6 of it, and goes on to `want` where that costs little. axis
   (in the frame of a, any length, 0: none): a direction to begin with; becomes the one that gave the bound. */
double kn_apart_bound(double axis[3], const kn_shape* a, const kn_pose* A, const kn_shape* b,
                      const kn_pose* B, double need, double want);
