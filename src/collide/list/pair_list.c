/* Lists of pairs: sorting them by kind, and the walk over the groups. The vector kernels are in
   pair_list_kernel.h; kinds without one go through the pair functions one by one. */
#include "collide/list/pair_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/isa.h"

enum { POSE = sizeof(kn_pose) / sizeof(double), MOST_SHAPES = INT32_MAX / POSE };

static void carve(kn_pair_list* l, kn_arena* arena) {
  /* each group may need padding */
  int items = l->capacity + KN_LIST_LANES * (int)(sizeof l->group / sizeof *l->group);
  double** const sizes[] = {&l->margin, &l->a0, &l->a1, &l->a2, &l->b0, &l->b1, &l->b2};
  l->shape = KN_TAKE(arena, kn_shape, l->shapes);
  l->a = KN_TAKE(arena, int32_t, items);
  l->b = KN_TAKE(arena, int32_t, items);
  l->index = KN_TAKE(arena, int32_t, items);
  l->at_a = KN_TAKE(arena, int32_t, items);
  l->at_b = KN_TAKE(arena, int32_t, items);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *sizes[i] = KN_TAKE(arena, double, items);
  l->cache = KN_TAKE(arena, kn_pair_cache, l->capacity);
  l->scratch = KN_TAKE(arena, kn_contact_point, KN_PAIR_LIST_MOST);
  l->given = (int32_t(*)[2])kn_arena_take(arena, (size_t)l->capacity * sizeof *l->given);
}

kn_status kn_pair_list_create(kn_pair_list** list, const kn_shape* shapes, int count, int capacity) {
  KN_REQUIRE(list != NULL && shapes != NULL && count > 0 && count <= MOST_SHAPES && capacity > 0);
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

static void set_item(kn_pair_list* l, int item, int32_t a, int32_t b, int32_t index, double margin) {
  const double *sa = l->shape[a].size, *sb = l->shape[b].size;
  l->a[item] = a, l->b[item] = b, l->index[item] = index, l->margin[item] = margin;
  l->at_a[item] = POSE * a, l->at_b[item] = POSE * b;
  l->a0[item] = sa[0], l->a1[item] = sa[1], l->a2[item] = sa[2];
  l->b0[item] = sb[0], l->b1[item] = sb[1], l->b2[item] = sb[2];
}

/* Groups in the order of their kinds, each beginning at a multiple of the lanes. place: by kind. */
static void make_groups(kn_pair_list* l, int* place, const int* count) {
  int at = 0;
  l->groups = 0;
  for (int k = 0; k < 2 * KN_SHAPE_COUNT * KN_SHAPE_COUNT; k++) {
    place[k] = at;
    if (!count[k]) continue;
    kn_pair_group* g = &l->group[l->groups++];
    *g = (kn_pair_group){.a = (kn_shape_type)(k / 2 / KN_SHAPE_COUNT),
                         .b = (kn_shape_type)(k / 2 % KN_SHAPE_COUNT),
                         .flip = k % 2,
                         .begin = at,
                         .count = count[k]};
    at += (count[k] + KN_LIST_LANES - 1) / KN_LIST_LANES * KN_LIST_LANES;
  }
}

static void pad(kn_pair_list* l, const kn_pair_group* g) {
  int last = g->begin + g->count - 1;
  for (int i = last + 1; i % KN_LIST_LANES; i++)
    set_item(l, i, l->a[last], l->b[last], l->index[last], -INFINITY);
}

kn_status kn_pair_list_set(kn_pair_list* l, const kn_shape_pair* pairs, int count) {
  KN_REQUIRE(l != NULL && count >= 0 && (pairs != NULL || count == 0));
  KN_TRY(check_pairs(l, pairs, count));
  enum { KINDS = 2 * KN_SHAPE_COUNT * KN_SHAPE_COUNT };
  int of_kind[KINDS] = {0}, place[KINDS];
  for (int i = 0; i < count; i++) of_kind[kind_of(l, &pairs[i])]++;
  make_groups(l, place, of_kind);
  for (int i = 0; i < count; i++) {
    const kn_shape_pair* p = &pairs[i];
    int kind = kind_of(l, p);
    bool flip = kind % 2;
    set_item(l, place[kind]++, flip ? p->b : p->a, flip ? p->a : p->b, i, p->margin);
    if (i >= l->count || l->given[i][0] != p->a || l->given[i][1] != p->b)
      memset(&l->cache[i], 0, sizeof l->cache[i]);
    l->given[i][0] = p->a, l->given[i][1] = p->b;
  }
  for (int g = 0; g < l->groups; g++) {
    l->group[g].remembers = true; /* until a call has been through */
    pad(l, &l->group[g]);
  }
  l->count = count;
  return KN_OK;
}

static kn_pair pair_at(const kn_list_run* run, int item) {
  const kn_pair_list* l = run->list;
  int a = l->a[item], b = l->b[item];
  return (kn_pair){&l->shape[a],  &l->shape[b],    &run->pose[a],
                   &run->pose[b], l->margin[item], &l->cache[l->index[item]]};
}

/* n contacts of one pair, from the scratch to the end of the list. */
static bool accept(kn_list_run* run, const kn_pair_group* g, int item, int n) {
  kn_contact_point* c = run->list->scratch;
  if (n > run->capacity - run->count) {
    run->status = kn_fail(KN_NO_ROOM, "pair list: room for %d contacts, more are there", run->capacity);
    return false;
  }
  if (g->flip) kn_contacts_flip(c, n);
  for (int i = 0; i < n; i++) {
    kn_pair_contact* o = &run->out[run->count + i];
    o->key = c[i].key, o->gap = c[i].gap;
    memcpy(o->normal, c[i].normal, sizeof o->normal);
    memcpy(o->on_b, c[i].on_b, sizeof o->on_b);
    run->pair_of[run->count + i] = run->list->index[item];
  }
  run->count += n;
  return true;
}

bool kn_list_item(kn_list_run* run, kn_pair_group* g, int item) {
  int n;
  kn_pair q = pair_at(run, item);
  run->status = kn_manifold_checked(run->list->scratch, &n, KN_PAIR_LIST_MOST, &q);
  if (run->status != KN_OK) return false;
  g->remembers |= q.cache->key_count > 0;
  return accept(run, g, item, n);
}

bool kn_list_boxes(kn_list_run* run, kn_pair_group* g, int item, const kn_pose* rel, const kn_box_axes* w) {
  kn_pair q = pair_at(run, item);
  if (run->capacity - run->count >= KN_MANIFOLD_MAX) {
    kn_pair_contact local[KN_MANIFOLD_MAX] __attribute__((aligned(64)));
    int n = kn_box_list(local, &q, rel, w), index = run->list->index[item];
    if (n > 0) {
      for (int i = 0; i < n; i++) {
        run->out[run->count + i] = local[i];
        run->pair_of[run->count + i] = index;
      }
      run->count += n, g->remembers = true;
      return true;
    }
  }
  kn_contact_point* c = run->list->scratch;
  int n = kn_box_contacts(c, &q, rel, w); /* finite: rel and the sizes are below 1e60 */
  kn_cache_keys(q.cache, c, n);
  g->remembers |= n > 0;
  return accept(run, g, item, n);
}

static bool item_by_item(kn_list_run* run, kn_pair_group* g) {
  for (int i = g->begin; i < g->begin + g->count; i++)
    if (!kn_list_item(run, g, i)) return false;
  return true;
}

kn_status kn_pair_list_contacts(kn_pair_contact* out, int32_t* pair_of, int* count, int capacity,
                                kn_pair_list* list, const kn_pose* poses) {
  KN_REQUIRE(out != NULL && pair_of != NULL && count != NULL && list != NULL && poses != NULL &&
             capacity >= 0);
  const kn_list_table* kernels = KN_BEST(&kn_list);
  kn_list_run run = {list, poses, out, pair_of, 0, capacity, false, KN_OK};
  for (int i = 0; i < list->groups; i++) {
    kn_pair_group* g = &list->group[i];
    kn_group_fn fn = kernels->group[g->a][g->b];
    run.forget = g->remembers, g->remembers = false;
    bool done = fn ? fn(&run, g) : item_by_item(&run, g);
    if (!done) {
      g->remembers = true;
      break;
    }
  }
  *count = run.count;
  return run.status;
}
