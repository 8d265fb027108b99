#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ALIGN = 64 };

kn_status kn_arena_create(kn_arena* arena, size_t capacity) {
  size_t rounded = (capacity + ALIGN - 1) / ALIGN * ALIGN;
  *arena = (kn_arena){0};
  arena->base = aligned_alloc(ALIGN, rounded ? rounded : ALIGN);
  if (!arena->base) return kn_fail(KN_OUT_OF_MEMORY, "%zu bytes could not be allocated", rounded);
  memset(arena->base, 0, rounded ? rounded : ALIGN);
  arena->capacity = rounded;
  return KN_OK;
}

void kn_arena_destroy(kn_arena* arena) {
  free(arena->base);
  *arena = (kn_arena){0};
}

void* kn_arena_take(kn_arena* arena, size_t bytes) {
  size_t start = arena->used;
  arena->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!arena->base || arena->used > arena->capacity) return NULL;
  return arena->base + start;
}
