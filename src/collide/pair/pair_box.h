/* Two boxes: what the separating axes, the clipping and the list kernels share. */
#ifndef KN_COLLIDE_PAIR_BOX_H
#define KN_COLLIDE_PAIR_BOX_H

#include "base/isa.h"
#include "collide/pair/pair.h"
#include "knuckle/pairs.h"

#define KN_BOX_TIE 1e-15 /* of the sum of the half sizes */

typedef struct kn_box_axes {
  double s; /* largest separation */
  int face; /* 0-2 A's, 3-5 B's axis; -1: edge axis i, j */
  int i, j;
  v3 n; /* unit, from B towards A, frame of A */
} kn_box_axes;

/* A reference box with a face that looks at the other one. */
typedef struct kn_box_view {
  const double *ref, *inc; /* half sizes */
  const double *R, *t;     /* the other box in the frame of the reference */
  const kn_pose* pose;     /* of the reference, world */
  double size;             /* sum of the half diagonals */
  bool swap;               /* the reference is B */
} kn_box_view;

/* Contacts of two boxes when their axes are known; rel: B in the frame of A. */
int kn_box_contacts(kn_contact_point* out, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w);

/* The same, straight to a list with room for KN_MANIFOLD_MAX; keys go to the cache. -1: not the common case,
   ask the other function; nothing is remembered then that changes its answer. */
int kn_box_list(kn_pair_contact* out, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w);

typedef struct kn_box_table {
  /* False: separated by more than the limit. */
  bool (*separate)(kn_box_axes* best, const kn_pair* q, const kn_pose* rel, double limit);
  /* Contacts of the faces that look along the axis w, world. size: sum of the half diagonals. */
  int (*faces)(kn_contact_point* out, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w,
               double size);
  /* The same as contacts of a list; least: gets the smallest gap if below. */
  int (*list)(kn_pair_contact* out, double* least, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w,
              double size);
} kn_box_table;

KN_KERNEL_TABLE(kn_box_table, kn_box);

#endif
