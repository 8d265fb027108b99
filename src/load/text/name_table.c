/* Names of one load by kind: the hash table of value.h. */
#include "load/text/value.h"

#include <stdint.h>
#include <string.h>

static uint32_t hash(char kind, const char* name) { /* FNV-1a */
  uint32_t h = 2166136261u ^ (unsigned char)kind;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
  return h ^ (h >> 15);
}

static int find(const kn_names* t, char kind, const char* name) {
  uint32_t mask = (uint32_t)t->capacity - 1;
  uint32_t i = hash(kind, name) & mask;
  while (t->slot[i].name && (t->slot[i].kind != kind || strcmp(t->slot[i].name, name) != 0))
    i = (i + 1) & mask;
  return (int)i;
}

int kn_names_get(const kn_names* names, char kind, const char* name) {
  if (!names->capacity) return -1;
  int i = find(names, kind, name);
  return names->slot[i].name ? names->slot[i].index : -1;
}

bool kn_names_put(kn_names* names, kn_hoard* pool, char kind, const char* name, int index) {
  if (4 * (names->count + 1) > 3 * names->capacity) {
    kn_names bigger = {.capacity = names->capacity ? 2 * names->capacity : 64};
    bigger.slot = kn_hoard_take(pool, (size_t)bigger.capacity * sizeof *bigger.slot);
    if (!bigger.slot) return false;
    for (int i = 0; i < names->capacity; i++)
      if (names->slot[i].name)
        bigger.slot[find(&bigger, names->slot[i].kind, names->slot[i].name)] = names->slot[i];
    bigger.count = names->count;
    *names = bigger;
  }
  int i = find(names, kind, name);
  if (names->slot[i].name) return true;
  names->slot[i].name = name;
  names->slot[i].kind = kind;
  names->slot[i].index = index;
  names->count++;
  return true;
}

static const char* nearest(const kn_names* names, char kind, const char* name) {
  const char* best = NULL;
  int near = -1;
  for (int i = 0; i < names->capacity; i++) {
    if (!names->slot[i].name || names->slot[i].kind != kind) continue;
    int d = kn_value_near(name, names->slot[i].name);
    if (d >= 0 && (near < 0 || d < near || (d == near && strcmp(names->slot[i].name, best) < 0)))
      near = d, best = names->slot[i].name;
  }
  return best;
}

kn_status kn_names_unknown(const kn_names* names, char kind, const char* name, const kn_xml_attr* attr,
                           const char* what, const char* wanted) {
  const char* near = nearest(names, kind, name);
  if (!near) return kn_xml_fail_at(attr, "unknown %s \"%.60s\", expected %s", what, attr->value, wanted);
  return kn_xml_fail_at(attr, "unknown %s \"%.60s\", did you mean \"%.60s\"?", what, attr->value, near);
}
