/* Two boxes: what the separating axes, and the clipping share. */
#pragma once

#include "base/isa.h"
#include "collide/pair/pair.h"

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

typedef struct kn_box_table {
  /* False: separated by more than the limit. */
  bool (*separate)(kn_box_axes* best, const kn_pair* q, const kn_pose* rel, double limit);
  /* Contacts of the faces that look along the axis w, world. size: sum of the half diagonals. */
  int (*faces)(kn_contact_point* out, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w,
               double size);
} kn_box_table;

KN_KERNEL_TABLE(kn_box_table, kn_box);
