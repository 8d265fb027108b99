/* Contacts of many pairs in one call. The list is told once which pairs to look at and sorts them by the two
   types of shape; a call then reads the poses and writes the contacts of all of them. Each number is bit for
   bit what kn_manifold_query gives for that pair. A call does not allocate. */
#ifndef KNUCKLE_PAIRS_H
#define KNUCKLE_PAIRS_H

#include "knuckle/collide.h"

KN_BEGIN_DECLS

/* A list of pairs of shapes whose contacts are found in one call. */
typedef struct kn_pair_list kn_pair_list;

/* Two shapes of a list, by their indices. */
typedef struct kn_shape_pair {
  int32_t a, b;  /* indices of shapes */
  double margin; /* points with gap <= margin are wanted, m */
} kn_shape_pair;

/* A contact in 64 bytes. The witness on A is on_b + gap * normal. An array of them that begins at a multiple
   of 64 bytes is written fastest. */
typedef struct kn_pair_contact {
  uint64_t key;     /* as in kn_contact_point */
  double normal[3]; /* unit, from B towards A, world axes */
  double gap;       /* signed distance, m; negative when overlapping */
  double on_b[3];   /* witness on B's surface, world */
} kn_pair_contact;

#define KN_PAIR_LIST_MOST 256 /* contacts of one pair: only meshes can have more, the deepest are kept */

/* `capacity`: the most pairs the list may hold. Shapes are copied (hulls and meshes are only referred to).
   KN_BAD_ARGUMENT: a size is not between 1e-60 and 1e60, or a hull or mesh is missing. */
KN_API kn_status kn_pair_list_create(kn_pair_list** list, const kn_shape* shapes, int count, int capacity);
KN_API void kn_pair_list_destroy(kn_pair_list* list);

/* The pairs to look at from now on; what was remembered of earlier frames is kept for pairs that stay at the
   same index of `pairs`. KN_UNSUPPORTED: plane-plane, mesh-mesh. KN_NO_ROOM: more than the capacity. */
KN_API kn_status kn_pair_list_set(kn_pair_list* list, const kn_shape_pair* pairs, int count);

/* Contacts of all pairs with the shapes at `poses` (one per shape): out[0 … *count), and in pair_of[i] the
   index of the pair contact i belongs to. The contacts of a pair are neighbours; pairs come sorted by their
   types, within a type by index. KN_NO_ROOM: more than `capacity` contacts; the first ones are there. */
KN_API kn_status kn_pair_list_contacts(kn_pair_contact* out, int32_t* pair_of, int* count, int capacity,
                                       kn_pair_list* list, const kn_pose* poses);

KN_END_DECLS
#endif
