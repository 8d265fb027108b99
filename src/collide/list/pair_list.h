/* Inside of a list of pairs: groups of one kind, structure of arrays, and the kernels that walk them. */
#ifndef KN_COLLIDE_PAIR_LIST_H
#define KN_COLLIDE_PAIR_LIST_H

#include "base/arena.h"
#include "base/isa.h"
#include "collide/pair/pair.h"
#include "collide/pair/pair_box.h"
#include "knuckle/pairs.h"

enum {
  KN_LIST_LANES = 8
}; /* groups are padded to a multiple; padding has margin -INFINITY: never a contact */

typedef struct kn_pair_group {
  kn_shape_type a, b; /* a <= b */
  bool flip;          /* the pairs were given as (b, a) */
  int begin, count;   /* items of the list's arrays; begin is a multiple of KN_LIST_LANES */
  bool remembers;     /* some cache of the group may hold keys */
} kn_pair_group;

struct kn_pair_list {
  kn_arena arena;
  kn_shape* shape;
  int shapes, capacity, count, groups;
  kn_pair_group group[2 * KN_SHAPE_COUNT * KN_SHAPE_COUNT];
  /* per item, sorted by group */
  int32_t *a, *b, *index;
  int32_t *at_a, *at_b; /* where their poses begin, in numbers */
  double* margin;
  double *a0, *a1, *a2, *b0, *b1, *b2; /* sizes of the two shapes */
  /* per pair as given */
  kn_pair_cache* cache;
  int32_t (*given)[2];
  kn_contact_point* scratch; /* KN_PAIR_LIST_MOST: one pair's contacts */
};

/* A call under way. */
typedef struct kn_list_run {
  kn_pair_list* list;
  const kn_pose* pose;
  kn_pair_contact* out;
  int32_t* pair_of;
  int count, capacity;
  bool forget; /* caches of the group may hold keys that are not true any more */
  kn_status status;
} kn_list_run;

/* One item through the pair functions, with all checks. False: stop, run->status says why. */
bool kn_list_item(kn_list_run* run, kn_pair_group* g, int item);

/* The same for two boxes whose axes are known. */
bool kn_list_boxes(kn_list_run* run, kn_pair_group* g, int item, const kn_pose* rel, const kn_box_axes* w);

/* pair_dispatch.c: kn_manifold_query for a pair in canonical order, without flipping. */
void kn_cache_keys(kn_pair_cache* cache, const kn_contact_point* c, int n);
kn_status kn_manifold_checked(kn_contact_point* out, int* count, int capacity, const kn_pair* q);
bool kn_shape_ok(const kn_shape* s);

typedef bool (*kn_group_fn)(kn_list_run* run, kn_pair_group* g);
typedef struct kn_list_table {
  kn_group_fn group[KN_SHAPE_COUNT][KN_SHAPE_COUNT]; /* NULL: item by item */
} kn_list_table;

KN_KERNEL_TABLE(kn_list_table, kn_list);

#endif
