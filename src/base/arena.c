#include "base/arena.h"

#include <stdlib.h>

#include "base/error.h"

enum { ALIGN = 64 };

kn_status kn_arena_create(kn_arena* arena, size_t capacity) {
  size_t rounded = (capacity + ALIGN - 1) / ALIGN * ALIGN;
  *arena = (kn_arena){0};
  arena->block = calloc(1, rounded + ALIGN); /* pages that nobody writes to are never touched */
  if (!arena->block) return kn_fail(KN_OUT_OF_MEMORY, "%zu bytes could not be allocated", rounded);
  arena->base = (char*)(((uintptr_t)arena->block + ALIGN - 1) / ALIGN * ALIGN);
  arena->capacity = rounded;
  return KN_OK;
}

void kn_arena_destroy(kn_arena* arena) {
  free(arena->block);
  *arena = (kn_arena){0};
}

void* kn_arena_take(kn_arena* arena, size_t bytes) {
  size_t start = arena->used;
  arena->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!arena->base || arena->used > arena->capacity) return NULL;
  return arena->base + start;
}
