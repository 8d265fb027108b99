/* A convex hull k times as large about the origin of its frame: the same faces and edges, every length
   multiplied. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hull.h"

/* The same place in the copy's block. */
static const void* moved(const void* at, const kn_arena* from, const kn_arena* to) {
  return at ? to->base + ((const char*)at - from->base) : NULL;
}

static void scale(const double* array, size_t count, double k) {
  double* x = (double*)(uintptr_t)array; /* the copy's own */
  for (size_t i = 0; i < count; i++) x[i] *= k;
}

static void rebase(kn_hull* h, const kn_arena* from) {
  const void** pointers[] = {
      (const void**)&h->x,           (const void**)&h->y,          (const void**)&h->z,
      (const void**)&h->plane,       (const void**)&h->face_start, (const void**)&h->face_vertex,
      (const void**)&h->face_next,   (const void**)&h->edge,       (const void**)&h->adj_start,
      (const void**)&h->adj,         (const void**)&h->star_start, (const void**)&h->star,
      (const void**)&h->vface_start, (const void**)&h->vface};
  for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
    *pointers[i] = moved(*pointers[i], from, &h->arena);
}

kn_status kn_hull_scaled(kn_hull** hull, const kn_hull* from, double k) {
  *hull = NULL;
  kn_hull* h = malloc(sizeof *h);
  if (!h) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a scaled hull");
  *h = *from;
  kn_status status = kn_arena_create(&h->arena, from->arena.capacity);
  if (status != KN_OK) {
    free(h);
    return status;
  }
  h->arena.used = from->arena.used;
  memcpy(h->arena.base, from->arena.base, from->arena.used);
  rebase(h, &from->arena);
  scale(h->x, (size_t)h->nv_padded, k);
  scale(h->y, (size_t)h->nv_padded, k);
  scale(h->z, (size_t)h->nv_padded, k);
  for (int i = 0; i < h->nf; i++) scale(h->plane + 4 * i + 3, 1, k);
  if (h->star) scale(h->star, 3 * KN_HULL_LANES * (size_t)h->star_start[h->nv], k);
  scale(h->lo, 3, k), scale(h->hi, 3, k), scale(h->centroid, 3, k);
  h->radius *= k;
  h->volume *= k * k * k;
  scale(h->inertia, 6, k * k * k * k * k);
  *hull = h;
  return KN_OK;
}
