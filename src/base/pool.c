/* Memory of one task in pieces, freed together, under a limit (pool.h). Used by the loaders. */
#include "base/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kn_pool_chunk {
  kn_pool_chunk* next;
  size_t used, capacity;
  _Alignas(16) char bytes[];
};

void* kn_pool_take(kn_pool* pool, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (pool->limit && (bytes > pool->limit || pool->used > pool->limit - bytes)) return NULL;
  kn_pool_chunk* c = pool->chunk;
  if (!c || c->capacity - c->used < bytes) {
    size_t capacity = bytes > 65536 ? bytes : 65536;
    kn_pool_chunk* fresh = calloc(1, sizeof *fresh + capacity);
    if (!fresh) return NULL;
    fresh->capacity = capacity;
    fresh->next = c;
    pool->chunk = c = fresh;
  }
  void* out = c->bytes + c->used;
  c->used += bytes;
  pool->used += bytes;
  return out;
}

char* kn_pool_text(kn_pool* pool, const char* text, size_t n) {
  char* out = kn_pool_take(pool, n + 1);
  if (out && n) memcpy(out, text, n);
  return out;
}

char* kn_pool_format(kn_pool* pool, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char* out = n < 0 ? NULL : kn_pool_take(pool, (size_t)n + 1);
  if (out) vsnprintf(out, (size_t)n + 1, format, again);
  va_end(again);
  return out;
}

bool kn_pool_grow(kn_pool* pool, void** array, int count, int* capacity, size_t size) {
  if (count < *capacity) return true;
  if (*capacity > INT32_MAX / 2) return false;
  int wanted = *capacity ? 2 * *capacity : 8;
  void* fresh = kn_pool_take(pool, (size_t)wanted * size);
  if (!fresh) return false;
  if (count) memcpy(fresh, *array, (size_t)count * size);
  *array = fresh;
  *capacity = wanted;
  return true;
}

void kn_pool_free(kn_pool* pool) {
  for (kn_pool_chunk *c = pool->chunk, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  *pool = (kn_pool){0};
}
