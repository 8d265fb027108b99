/* Open addressing with linear probing. */
#include "step/time/lookup.h"

#include <string.h>

int kn_lookup_slots(int count) {
  int slots = 8;
  while (slots < 2 * count) slots *= 2;
  return slots;
}

static uint32_t place(const kn_lookup* l, uint64_t key) {
  return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & l->mask;
}

static void make_table(kn_lookup* l) {
  int slots = kn_lookup_slots(l->count);
  l->mask = (uint32_t)slots - 1;
  memset(l->slot, -1, (size_t)slots * sizeof *l->slot);
  for (int i = 0; i < l->count; i++) {
    uint64_t key = kn_lookup_key(l, i);
    uint32_t at = place(l, key);
    while (l->slot[at] >= 0 && kn_lookup_key(l, l->slot[at]) != key) at = (at + 1) & l->mask;
    if (l->slot[at] < 0) l->slot[at] = i;
  }
}

int kn_lookup_by_table(kn_lookup* l, uint64_t key) {
  enum { FEW = 8 }; /* cheaper without a table */
  for (int i = 0; i < l->count && l->count <= FEW; i++)
    if (kn_lookup_key(l, i) == key) return l->hint = i + 1, i;
  if (l->count <= FEW) return -1;
  if (!l->mask) make_table(l);
  uint32_t at = place(l, key);
  while (l->slot[at] >= 0 && kn_lookup_key(l, l->slot[at]) != key) at = (at + 1) & l->mask;
  if (l->slot[at] >= 0) l->hint = l->slot[at] + 1;
  return l->slot[at];
}
