/* What a saved state may hold. The bytes come from a file that anybody may have written: every block that a
   simulator reads is looked at before the state takes it over, so that no index leads outside and no number
   is a NaN. The layouts are those of the layers above (contact/detect/detect.h, step/sim.h,
   step/compliant/compliant.h), which assert that their sizes are these. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/state.h"

/* Fields of an entry, in order:
     k  8 bytes, any       d  finite double        b  8 bytes, 0 or 1      c  8 bytes, 0 … 2^31
     g  geom, 4 bytes      i  4 bytes, any         0-9  4 bytes, 0 … that number
   at_most: entries, by the model. */
typedef struct layout {
  const char *name, *field;
  size_t (*at_most)(const kn_model* m);
} layout;

static size_t once(const kn_model* m) {
  (void)m;
  return 1;
}
static size_t per_dof(const kn_model* m) {
  return 3 * (((size_t)m->nv + 7) & ~(size_t)7);
} /* three of them */
static size_t per_pair(const kn_model* m) {
  size_t n = (size_t)m->ngeom;
  return n * (n - (n > 0)) / 2;
}

static size_t per_tree(const kn_model* m) { return (size_t)m->nlink; }

static const layout known[] = {
    {"pairs", "ggdddiiiiiiii4ii28ikkkkkkkk", per_pair},
    {"impulses", "kddd", NULL},
    {"anchors", "kbdddddd", NULL},
    {"rate", "d", per_dof},
    {"travel", "dddddddddbddddc", NULL},
    {"energy", "kddd", once},
    {"drift", "dd", once},
    {"bodies", "d", NULL},
    {"compliant", "kggiiiidddddd", NULL},
    {"events", "ccc", once},
    {"delay", "d", NULL},
    {"sleep", "k", per_tree},
    {"asleep-pairs", "ggdddiiiiiiii4ii28ikkkkkkkk", per_pair},
    {"asleep-impulses", "kddd", NULL},
    {"asleep-anchors", "kbdddddd", NULL},
};

static size_t width(char field) { return strchr("kdbc", field) ? 8 : 4; }

size_t kn_state_entry_size(const char* name) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name) != 0) continue;
    size_t bytes = 0;
    for (const char* f = known[i].field; *f; f++) bytes += width(*f);
    return bytes;
  }
  return 0;
}

static bool field_holds(char field, const char* at, const kn_model* m) {
  double number;
  int32_t small = 0;
  int64_t large = 0;
  memcpy(&number, at, width(field) == 8 ? sizeof number : 0);
  memcpy(&large, at, width(field) == 8 ? sizeof large : 0);
  memcpy(&small, at, sizeof small);
  switch (field) {
  case 'd': return width(field) == 8 && isfinite(number);
  case 'b': return large == 0 || large == 1;
  case 'c': return large >= 0 && large <= INT32_MAX;
  case 'g': return small >= 0 && small < m->ngeom;
  case 'k':
  case 'i': return true;
  default: return small >= 0 && small <= field - '0';
  }
}

kn_status kn_state_check_block(const kn_model* m, const char* name, const char* data, size_t used) {
  const layout* l = known;
  const layout* end = known + sizeof known / sizeof *known;
  while (l < end && strcmp(l->name, name) != 0) l++;
  if (l == end) return KN_OK; /* nobody's, or a controller's own bytes */
  size_t size = kn_state_entry_size(name), count = used / size;
  if (used % size || (l->at_most && count > l->at_most(m)) || count > INT32_MAX / 8)
    return kn_fail(KN_BAD_FILE, "saved state: block '%s' of %zu bytes, expected at most %zu entries of %zu",
                   name, used, l->at_most ? l->at_most(m) : (size_t)INT32_MAX / 8, size);
  for (size_t i = 0; i < count; i++)
    for (const char* f = l->field; *f; f++) {
      if (!field_holds(*f, data, m))
        return kn_fail(KN_BAD_FILE, "saved state: entry %zu of block '%s' holds a value that cannot be", i,
                       name);
      data += width(*f);
    }
  return KN_OK;
}

bool kn_state_all_finite(const char* bytes, size_t count) {
  double x;
  for (size_t i = 0; i < count; i++) {
    memcpy(&x, bytes + i * sizeof x, sizeof x);
    if (!isfinite(x)) return false;
  }
  return true;
}
