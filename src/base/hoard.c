/* Memory of one task in pieces, freed together, under a limit (pool.h). Used by the loaders. */
#include "base/hoard.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kn_hoard_chunk {
  kn_hoard_chunk* next;
  size_t used, capacity;
  _Alignas(16) char bytes[];
};

void* kn_hoard_take(kn_hoard* pool, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (pool->limit && (bytes > pool->limit || pool->used > pool->limit - bytes)) return NULL;
  kn_hoard_chunk* c = pool->chunk;
  if (!c || c->capacity - c->used < bytes) {
    size_t capacity = bytes > 65536 ? bytes : 65536;
    kn_hoard_chunk* fresh = calloc(1, sizeof *fresh + capacity);
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

char* kn_hoard_text(kn_hoard* pool, const char* text, size_t n) {
  char* out = kn_hoard_take(pool, n + 1);
  if (out && n) memcpy(out, text, n);
  return out;
}

char* kn_hoard_format(kn_hoard* pool, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char* out = n < 0 ? NULL : kn_hoard_take(pool, (size_t)n + 1);
  if (out) vsnprintf(out, (size_t)n + 1, format, again);
  va_end(again);
  return out;
}

bool kn_array_grow(void** array, int* capacity, int needed, size_t size) {
  if (needed <= *capacity) return true;
  int room = *capacity > INT32_MAX / 2 ? INT32_MAX : *capacity ? 2 * *capacity : 16;
  if (room < needed) room = needed;
  void* fresh = realloc(*array, (size_t)room * size);
  if (!fresh) return false;
  *array = fresh;
  *capacity = room;
  return true;
}

bool kn_hoard_grow(kn_hoard* pool, void** array, int count, int* capacity, size_t size) {
  if (count < *capacity) return true;
  if (*capacity > INT32_MAX / 2) return false;
  int wanted = *capacity ? 2 * *capacity : 8;
  void* fresh = kn_hoard_take(pool, (size_t)wanted * size);
  if (!fresh) return false;
  if (count) memcpy(fresh, *array, (size_t)count * size);
  *array = fresh;
  *capacity = wanted;
  return true;
}

void kn_hoard_free(kn_hoard* pool) {
  for (kn_hoard_chunk *c = pool->chunk, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  *pool = (kn_hoard){0};
}
