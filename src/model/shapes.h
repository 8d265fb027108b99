/* Hulls and meshes handed over with own_shape: shared by the spec and the models compiled from it, freed with
   the last of them. */
#pragma once

#include "knuckle/types.h"

typedef struct kn_shape_pool kn_shape_pool;

/* Takes over the shape's hull and mesh (each once, however often it comes). *pool is made when NULL. On
   failure nothing is taken over. */
kn_status kn_shape_pool_add(kn_shape_pool** pool, const kn_shape* shape);
kn_shape_pool* kn_shape_pool_share(kn_shape_pool* pool);
void kn_shape_pool_release(kn_shape_pool* pool);
