/* Warm start: last step's impulses by key, in the state. */
#include <string.h>

#include "step/sim.h"

uint64_t kn_warm_row_key(const kn_sim* s, const kn_row_tag* tag) {
  if (tag->kind == KN_ROW_CONTACT) return kn_warm_key(&s->touch.contact[tag->index]);
  if (tag->kind == KN_ROW_SPIN)
    return (uint64_t)KN_ROW_SPIN << KN_WARM_KIND | kn_warm_key(&s->touch.contact[tag->index]);
  return (uint64_t)tag->kind << KN_WARM_KIND | (uint64_t)(uint32_t)tag->index;
}

void kn_warm_load(kn_sim* s, kn_state* x) {
  (void)x;
  static const double none[3];
  const kn_state_block* block = s->blocks.impulses;
  const kn_warm_entry* list = block->data;
  kn_lookup old = kn_lookup_in(s->sets.lookup, list, sizeof *list, (int)(block->used / sizeof *list));
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    double* out = s->row.lambda + tag->row;
    int at = kn_lookup_find(&old, kn_warm_row_key(s, tag));
    const double* f = at < 0 ? none : list[at].f;
    if (tag->kind != KN_ROW_CONTACT) {
      for (int k = 0; k < tag->rows; k++) out[k] = f[k];
      continue;
    }
    const double* n = s->touch.contact[tag->index].frame;
    out[0] = n[0] * f[0] + n[1] * f[1] + n[2] * f[2];
    if (tag->rows < 3) continue;
    out[1] = n[3] * f[0] + n[4] * f[1] + n[5] * f[2];
    out[2] = n[6] * f[0] + n[7] * f[1] + n[8] * f[2];
  }
}

void kn_warm_save(kn_sim* s, kn_state* x) {
  (void)x;
  kn_state_block* block = s->blocks.impulses;
  kn_warm_entry* list = block->data;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    const double* in = s->row.lambda + tag->row;
    list[g] = (kn_warm_entry){.key = kn_warm_row_key(s, tag)};
    if (tag->kind != KN_ROW_CONTACT) {
      memcpy(list[g].f, in, (size_t)tag->rows * sizeof(double));
      continue;
    }
    const double *n = s->touch.contact[tag->index].frame, *t = n + 3, *u = n + 6;
    for (int i = 0; i < 3; i++)
      list[g].f[i] =
          tag->rows < 3 ? 0.0 + n[i] * in[0] : ((0.0 + n[i] * in[0]) + t[i] * in[1]) + u[i] * in[2];
  }
  block->used = (size_t)s->sets.set.count * sizeof *list;
}
