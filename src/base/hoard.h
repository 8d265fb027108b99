/* Memory of one task: pieces that live until the whole pool is freed. A limit on the total keeps hostile
   files from asking for more than they are worth. */
#pragma once

#include <stddef.h>

#include "knuckle/status.h"

typedef struct kn_hoard_chunk kn_hoard_chunk;
typedef struct kn_hoard {
  kn_hoard_chunk* chunk;
  size_t used, limit; /* bytes; limit 0: none */
} kn_hoard;

/* Zeroed, 16-byte aligned; NULL when memory or the limit is used up. */
void* kn_hoard_take(kn_hoard* pool, size_t bytes);
/* A copy of n characters with a terminating zero. */
char* kn_hoard_text(kn_hoard* pool, const char* text, size_t n);
char* kn_hoard_format(kn_hoard* pool, const char* format, ...) __attribute__((format(printf, 2, 3)));
void kn_hoard_free(kn_hoard* pool);

/* Growing arrays with memory of their own (free): room for `needed` items, at least doubled when there is too little.
   False: no memory, and the array is as it was. */
bool kn_array_grow(void** array, int* capacity, int needed, size_t size);
#define KN_ROOM(array, capacity, needed)                                                                     \
  kn_array_grow((void**)&(array), &(capacity), (needed), sizeof *(array))

/* Growing arrays inside a pool: GROW(pool, a, n, cap) makes room for one more of *a; false when memory is
   out. Old copies stay in the pool until it is freed (doubling: at most as much again). */
bool kn_hoard_grow(kn_hoard* pool, void** array, int count, int* capacity, size_t size);
#define KN_GROW(pool, array, count, capacity)                                                                \
  kn_hoard_grow((pool), (void**)&(array), (count), &(capacity), sizeof *(array))
