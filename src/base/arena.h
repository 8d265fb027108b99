/* Bump allocation: an object's arrays come from one block, 64-byte aligned, freed together.
   Two passes with the same code: a measuring arena (base == NULL) counts, then a real one hands out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "knuckle/status.h"

typedef struct kn_arena {
  char* base;      /* NULL while measuring */
  size_t used;     /* bytes handed out (or counted) */
  size_t capacity; /* bytes available */
  void* block;     /* what base lies in */
} kn_arena;

/* Zeroed block of the given size; KN_OUT_OF_MEMORY when it cannot be had. */
kn_status kn_arena_create(kn_arena* arena, size_t capacity);
void kn_arena_destroy(kn_arena* arena);

/* Next 64-byte aligned piece. While measuring, or when full, returns NULL and still counts. */
void* kn_arena_take(kn_arena* arena, size_t bytes);

#define KN_TAKE(arena, type, count) ((type*)kn_arena_take((arena), (size_t)(count) * sizeof(type)))

/* Several arrays of one type and length, in this order: KN_TAKE_EACH(a, double, n, &w->x, &w->y). */
#define KN_TAKE_EACH(arena, type, count, ...)                                                                \
  do {                                                                                                       \
    type** each_[] = {__VA_ARGS__};                                                                          \
    for (size_t i_ = 0; i_ < sizeof each_ / sizeof *each_; i_++) *each_[i_] = KN_TAKE(arena, type, count);   \
  } while (0)

/* Runs `carve`, a call that takes pieces from the arena `a`, twice: to measure, then in a block of that size. */
#define KN_ARENA_CARVE(status, arena, carve)                                                                 \
  do {                                                                                                       \
    kn_arena measure_ = {0}, *a = &measure_;                                                                 \
    carve;                                                                                                   \
    (status) = kn_arena_create((arena), measure_.used);                                                      \
    a = (arena);                                                                                             \
    if ((status) == KN_OK) carve;                                                                            \
  } while (0)
