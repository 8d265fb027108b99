/* Memory of one task: pieces that live until the whole pool is freed. A limit on the total keeps hostile
   files from asking for more than they are worth. */
#ifndef KN_BASE_POOL_H
#define KN_BASE_POOL_H

#include <stddef.h>

#include "knuckle/status.h"

typedef struct kn_pool_chunk kn_pool_chunk;
typedef struct kn_pool {
  kn_pool_chunk* chunk;
  size_t used, limit; /* bytes; limit 0: none */
} kn_pool;

/* Zeroed, 16-byte aligned; NULL when memory or the limit is used up. */
void* kn_pool_take(kn_pool* pool, size_t bytes);
/* A copy of n characters with a terminating zero. */
char* kn_pool_text(kn_pool* pool, const char* text, size_t n);
char* kn_pool_format(kn_pool* pool, const char* format, ...) __attribute__((format(printf, 2, 3)));
void kn_pool_free(kn_pool* pool);

/* Growing arrays inside a pool: GROW(pool, a, n, cap) makes room for one more of *a; false when memory is
   out. Old copies stay in the pool until it is freed (doubling: at most as much again). */
bool kn_pool_grow(kn_pool* pool, void** array, int count, int* capacity, size_t size);
#define KN_GROW(pool, array, count, capacity)                                                                \
  kn_pool_grow((pool), (void**)&(array), (count), &(capacity), sizeof *(array))

#endif
