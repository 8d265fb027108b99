/* What contacts remember moves between the blocks of the awake ("pairs", "impulses", "anchors") and those of the
   sleepers (the same with "asleep-" before). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"
#include "contact/detect/detector.h"
#include "step/sleep/sleep.h"

typedef struct mover {
  const kn_sim* s;
  const bool* mine;
  int count; /* of keys, sorted: contacts of these trees */
} mover;

static int by_key(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

static bool has_key(const mover* m, uint64_t key) {
  return bsearch(&key, m->s->sleep->keys, (size_t)m->count, sizeof key, by_key) != NULL;
}

static bool tree_is(const mover* m, int tree) { return tree >= 0 && m->mine[tree]; }

static bool pair_moves(const mover* m, const void* entry) {
  const kn_pair_entry* e = entry;
  return tree_is(m, m->s->sleep->tree_of_geom[e->geom_a]) || tree_is(m, m->s->sleep->tree_of_geom[e->geom_b]);
}

static bool link_moves(const mover* m, int link) {
  const kn_sleep* z = m->s->sleep;
  for (int t = 0; t < z->trees; t++)
    if (m->mine[t] && link >= z->tree[t].link && link < z->tree[t].link_end) return true;
  return false;
}

static bool impulse_moves(const mover* m, const void* entry) {
  uint64_t key = ((const kn_warm_entry*)entry)->key, kind = key >> KN_WARM_KIND;
  int index = (int)(uint32_t)key;
  const kn_model* model = m->s->model;
  if (kind == KN_ROW_LIMIT && index < model->nlimit) return link_moves(m, model->limit[index].link);
  if (kind == KN_ROW_FRICTION && index < model->nv) return link_moves(m, model->dof_link[index]);
  return kind == KN_ROW_CONTACT && has_key(m, key << 3);
}

static bool anchor_moves(const mover* m, const void* entry) {
  return has_key(m, ((const kn_anchor*)entry)->key & ~(uint64_t)7);
}

/* Entries that move, from one block to the end of another; the others close up. */
static kn_status move(kn_state* x, const mover* m, const char* from, const char* to, size_t size,
                      bool (*moves)(const mover*, const void*)) {
  kn_state_block *a = kn_state_find_block(x, from), *b = NULL;
  size_t count = a ? a->used / size : 0, leave = 0, left = 0;
  for (size_t i = 0; i < count; i++) leave += moves(m, (char*)a->data + i * size);
  if (!leave) return KN_OK;
  kn_state_block* old = kn_state_find_block(x, to);
  KN_TRY(kn_state_add_block(&b, x, to, (old ? old->used : 0) + leave * size));
  a = kn_state_find_block(x, from);
  for (size_t i = 0; i < count; i++) {
    char* entry = (char*)a->data + i * size;
    if (moves(m, entry)) {
      memcpy((char*)b->data + b->used, entry, size);
      b->used += size;
    } else {
      memmove((char*)a->data + left++ * size, entry, size);
    }
  }
  memset((char*)a->data + left * size, 0, (count - left) * size);
  a->used = left * size;
  return KN_OK;
}

/* Detection walks along them in its own order (detect.c), in which no two entries are equal. */
static bool comes_before(const kn_pair_entry* x, const kn_pair_entry* y, const kn_detector* detector) {
  bool plane_x = kn_geom_is_plane(detector, x->geom_b), plane_y = kn_geom_is_plane(detector, y->geom_b);
  if (plane_x != plane_y) return plane_y;
  return x->geom_a != y->geom_a ? x->geom_a < y->geom_a : x->geom_b < y->geom_b;
}

/* Shell's sort: no memory of its own, and needs no comparison with a context (not every C library has qsort_r). */
static void sort_pairs(kn_pair_entry* e, size_t n, const kn_detector* detector) {
  for (size_t gap = n / 2; gap > 0; gap /= 2)
    for (size_t i = gap; i < n; i++) {
      kn_pair_entry x = e[i];
      size_t k = i;
      for (; k >= gap && comes_before(&x, &e[k - gap], detector); k -= gap) e[k] = e[k - gap];
      e[k] = x;
    }
}

static kn_status collect_keys(kn_sleep* z, mover* m, const kn_contact* record, int count) {
  if (!KN_ROOM(z->keys, z->key_room, count))
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for the keys of %d contacts", count);
  for (int i = 0; i < count; i++)
    if (tree_is(m, kn_sleep_tree(z, &record[i]))) z->keys[m->count++] = record[i].key & ~(uint64_t)7;
  qsort(z->keys, (size_t)m->count, sizeof *z->keys, by_key);
  return KN_OK;
}

kn_status kn_sleep_move(kn_sim* s, kn_state* x, const bool* mine, bool to_sleep, const kn_contact* records,
                        int count) {
  mover m = {.s = s, .mine = mine};
  static const char* const awake[] = {"pairs", "impulses", "anchors"};
  static const char* const asleep[] = {"asleep-pairs", "asleep-impulses", "asleep-anchors"};
  const char *const *from = to_sleep ? awake : asleep, *const *to = to_sleep ? asleep : awake;
  KN_TRY(collect_keys(s->sleep, &m, records, count));
  KN_TRY(move(x, &m, from[0], to[0], sizeof(kn_pair_entry), pair_moves));
  KN_TRY(move(x, &m, from[1], to[1], sizeof(kn_warm_entry), impulse_moves));
  KN_TRY(move(x, &m, from[2], to[2], sizeof(kn_anchor), anchor_moves));
  kn_state_block* pairs = kn_state_find_block(x, to[0]);
  if (pairs) sort_pairs(pairs->data, pairs->used / sizeof(kn_pair_entry), s->detector);
  return KN_OK;
}
