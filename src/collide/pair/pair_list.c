/* Contacts of many pairs in one call (knuckle/pairs.h): sorted by their kinds, then pair by pair. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "collide/pair/pair.h"
#include "knuckle/pairs.h"

struct kn_pair_list {
  kn_arena arena;
  kn_shape* shape;
  int shapes, capacity, count;
  kn_shape_pair* pair;       /* as given */
  int32_t* order;            /* of the pairs, by kind */
  kn_pair_cache* cache;      /* by pair */
  kn_contact_point* scratch; /* KN_PAIR_LIST_MOST: one pair's contacts */
};

static void carve(kn_pair_list* l, kn_arena* arena) {
  l->shape = KN_TAKE(arena, kn_shape, l->shapes);
  l->pair = KN_TAKE(arena, kn_shape_pair, l->capacity);
  l->order = KN_TAKE(arena, int32_t, l->capacity);
  l->cache = KN_TAKE(arena, kn_pair_cache, l->capacity);
  l->scratch = KN_TAKE(arena, kn_contact_point, KN_PAIR_LIST_MOST);
}

kn_status kn_pair_list_create(kn_pair_list** list, const kn_shape* shapes, int count, int capacity) {
  KN_REQUIRE(list != NULL && shapes != NULL && count > 0 && capacity > 0);
  *list = NULL;
  for (int i = 0; i < count; i++)
    if (!kn_shape_ok(&shapes[i]))
      return kn_fail(KN_BAD_ARGUMENT, "shape %d: unknown type, missing data or a size outside 1e-60 to 1e60",
                     i);
  kn_pair_list* l = calloc(1, sizeof *l);
  if (!l) return kn_fail(KN_OUT_OF_MEMORY, "pair list: out of memory");
  l->shapes = count, l->capacity = capacity;
  kn_arena measure = {0};
  carve(l, &measure);
  kn_status status = kn_arena_create(&l->arena, measure.used);
  if (status != KN_OK) {
    free(l);
    return status;
  }
  carve(l, &l->arena);
  memcpy(l->shape, shapes, sizeof *shapes * (size_t)count);
  *list = l;
  return KN_OK;
}

void kn_pair_list_destroy(kn_pair_list* l) {
  if (!l) return;
  kn_arena_destroy(&l->arena);
  free(l);
}

/* The two types in canonical order, and whether the pair was given the other way round. */
enum { KINDS = 2 * KN_SHAPE_COUNT * KN_SHAPE_COUNT };
static int kind_of(const kn_pair_list* l, const kn_shape_pair* p) {
  int a = (int)l->shape[p->a].type, b = (int)l->shape[p->b].type;
  return a <= b ? 2 * (KN_SHAPE_COUNT * a + b) : 2 * (KN_SHAPE_COUNT * b + a) + 1;
}

static kn_status check_pairs(const kn_pair_list* l, const kn_shape_pair* pairs, int count) {
  if (count > l->capacity) return kn_fail(KN_NO_ROOM, "pair list: %d pairs, made for %d", count, l->capacity);
  for (int i = 0; i < count; i++) {
    int a = pairs[i].a, b = pairs[i].b;
    if (a < 0 || a >= l->shapes || b < 0 || b >= l->shapes)
      return kn_fail(KN_BAD_ARGUMENT, "pair %d: shapes %d and %d, expected 0 to %d", i, a, b, l->shapes - 1);
    if (pairs[i].margin != pairs[i].margin) return kn_fail(KN_BAD_ARGUMENT, "pair %d: margin is NaN", i);
    kn_shape_type s = l->shape[a].type, t = l->shape[b].type;
    if (s == t && (s == KN_SHAPE_PLANE || s == KN_SHAPE_MESH))
      return kn_fail(KN_UNSUPPORTED, "pair %d: two planes or two meshes", i);
    if ((s == KN_SHAPE_MESH && !kn_distance_table[t][s]) || (t == KN_SHAPE_MESH && !kn_distance_table[s][t]))
      return kn_fail(KN_UNSUPPORTED, "pair %d: no such query against a mesh", i);
  }
  return KN_OK;
}

kn_status kn_pair_list_set(kn_pair_list* l, const kn_shape_pair* pairs, int count) {
  KN_REQUIRE(l != NULL && count >= 0 && (pairs != NULL || count == 0));
  KN_TRY(check_pairs(l, pairs, count));
  int place[KINDS + 1] = {0};
  for (int i = 0; i < count; i++) place[kind_of(l, &pairs[i]) + 1]++;
  for (int k = 0; k < KINDS; k++) place[k + 1] += place[k];
  for (int i = 0; i < count; i++) {
    if (i >= l->count || l->pair[i].a != pairs[i].a || l->pair[i].b != pairs[i].b)
      memset(&l->cache[i], 0, sizeof l->cache[i]);
    l->pair[i] = pairs[i];
    l->order[place[kind_of(l, &pairs[i])]++] = i;
  }
  l->count = count;
  return KN_OK;
}

kn_status kn_pair_list_contacts(kn_pair_contact* out, int32_t* pair_of, int* count, int capacity,
                                kn_pair_list* list, const kn_pose* poses) {
  KN_REQUIRE(out != NULL && pair_of != NULL && count != NULL && list != NULL && poses != NULL &&
             capacity >= 0);
  *count = 0;
  for (int i = 0; i < list->count; i++) {
    int index = list->order[i], n;
    const kn_shape_pair* p = &list->pair[index];
    const kn_contact_point* c = list->scratch;
    KN_TRY(kn_manifold_query(list->scratch, &n, KN_PAIR_LIST_MOST, &list->shape[p->a], &poses[p->a],
                             &list->shape[p->b], &poses[p->b], p->margin, &list->cache[index]));
    if (n > capacity - *count)
      return kn_fail(KN_NO_ROOM, "pair list: room for %d contacts, more are there", capacity);
    for (int k = 0; k < n; k++) {
      kn_pair_contact* o = &out[*count + k];
      o->key = c[k].key, o->gap = c[k].gap;
      memcpy(o->normal, c[k].normal, sizeof o->normal);
      memcpy(o->on_b, c[k].on_b, sizeof o->on_b);
      pair_of[*count + k] = index;
    }
    *count += n;
  }
  return KN_OK;
}
