/* Hulls and meshes that specs and models own together; how many numbers a shape has (spec.h). */
#include "model/spec.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hoard.h"
#include "knuckle/mesh.h"

int kn_shape_sizes(kn_shape_type type) {
  static const int n[KN_SHAPE_COUNT] = {[KN_SHAPE_SPHERE] = 1,
                                        [KN_SHAPE_CAPSULE] = 2,
                                        [KN_SHAPE_CYLINDER] = 2,
                                        [KN_SHAPE_ELLIPSOID] = 3,
                                        [KN_SHAPE_BOX] = 3};
  return (unsigned)type < KN_SHAPE_COUNT ? n[type] : 0;
}

struct kn_shape_pool {
  atomic_int owners;
  int count, capacity;
  kn_shape* at;
};

static kn_status out_of_memory(void) { return kn_fail(KN_OUT_OF_MEMORY, "no memory to keep a shape"); }

static bool known(const kn_shape_pool* p, const kn_shape* s) {
  for (int i = 0; i < p->count; i++)
    if (p->at[i].hull == s->hull && p->at[i].mesh == s->mesh) return true;
  return false;
}

kn_status kn_shape_pool_add(kn_shape_pool** pool, const kn_shape* shape) {
  if (!*pool) {
    *pool = calloc(1, sizeof **pool);
    if (!*pool) return out_of_memory();
    atomic_init(&(*pool)->owners, 1);
  }
  kn_shape_pool* p = *pool;
  kn_shape s = {.hull = shape->type == KN_SHAPE_HULL ? shape->hull : NULL,
                .mesh = shape->type == KN_SHAPE_MESH ? shape->mesh : NULL};
  if ((!s.hull && !s.mesh) || known(p, &s)) return KN_OK;
  if (!KN_ROOM(p->at, p->capacity, p->count + 1)) return out_of_memory();
  p->at[p->count++] = s;
  return KN_OK;
}

kn_shape_pool* kn_shape_pool_share(kn_shape_pool* pool) {
  if (pool) atomic_fetch_add(&pool->owners, 1);
  return pool;
}

void kn_shape_pool_release(kn_shape_pool* pool) {
  if (!pool || atomic_fetch_sub(&pool->owners, 1) > 1) return;
  for (int i = 0; i < pool->count; i++) {
    kn_hull_destroy((kn_hull*)(uintptr_t)pool->at[i].hull);
    kn_mesh_destroy((kn_mesh*)(uintptr_t)pool->at[i].mesh);
  }
  free(pool->at);
  free(pool);
}
