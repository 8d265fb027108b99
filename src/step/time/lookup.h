/* Finding records of a list by their 64-bit key. Lists of contacts keep their order from step to step with
   others between, so the record after the last one found is tried first; a table of all keys is made when
   that fails for the first time. Records start with their key; of equal keys the first is found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct kn_lookup {
  int32_t* slot; /* kn_lookup_slots(count) */
  const char* list;
  size_t stride;
  int count, hint;
  uint32_t mask; /* 0: no table yet */
} kn_lookup;

static inline kn_lookup kn_lookup_in(int32_t* slot, const void* list, size_t stride, int count) {
  return (kn_lookup){.slot = slot, .list = list, .stride = stride, .count = count};
}

static inline uint64_t kn_lookup_key(const kn_lookup* l, int i) {
  return *(const uint64_t*)(l->list + (size_t)i * l->stride);
}

int kn_lookup_slots(int count); /* a power of two of at least twice as many */
int kn_lookup_by_table(kn_lookup* l, uint64_t key);

/* Index of the record, or -1. */
static inline int kn_lookup_find(kn_lookup* l, uint64_t key) {
  if (l->hint < l->count && kn_lookup_key(l, l->hint) == key) return l->hint++;
  return l->count ? kn_lookup_by_table(l, key) : -1;
}
