/* Which pairs of shapes may touch: bounding boxes, filters, candidate pairs.

   Guarantee of every update: each pair that passes the filters and whose boxes overlap is reported once, and
   no other. A box bounds its shape grown by its margin and, when velocities are given, everything it sweeps
   during dt. The list does not depend on earlier updates, so a restored state gives the same pairs in the
   same order: pairs of bounded shapes by ascending (a, b) with a < b, then pairs with planes by ascending
   (shape, plane).

   Inside: a list of pairs of fattened boxes is kept (Verlet 1967) and only filtered while every box stays
   inside its fat box; otherwise all fat pairs are found again by counting-sorted grids, one per size class.
   Updates do not allocate. */
#ifndef KNUCKLE_BROAD_H
#define KNUCKLE_BROAD_H

#include "knuckle/types.h"

KN_BEGIN_DECLS

/* A broad phase: items with boxes, and the pairs of them that may touch. */
typedef struct kn_broad kn_broad;

/* One item: a shape at a pose, with the filter that says whom it may touch. */
typedef struct kn_broad_item {
  kn_shape shape;   /* copied; hull and mesh are borrowed */
  int32_t body;     /* shapes of one body never pair; KN_WORLD: static, two static shapes never pair */
  uint32_t contype; /* a pair needs (a.contype & b.conaffinity) || (b.contype & a.conaffinity) */
  uint32_t conaffinity;
  double margin; /* m, >= 0: pairs are reported up to this far beyond the shape */
} kn_broad_item;

/* What a broad phase is made for: its items and filters. */
typedef struct kn_broad_def {
  const kn_broad_item* items;
  int32_t count;
  const int32_t*
      parent; /* per body: its parent, KN_WORLD for none; parent and child never pair; NULL: no such filter */
  int32_t nbody;
  const int32_t (*exclusions)[2]; /* body pairs that never pair */
  int32_t nexclusion;
  const int32_t (*pairs)[2]; /* item pairs that pass every filter */
  int32_t npair;
} kn_broad_def;

/* Choices of a broad phase. */
typedef struct kn_broad_settings {
  double slack;          /* least fattening as a part of a box's largest side; 0.001 … 1 */
  double horizon;        /* fat boxes look this many updates ahead; 0 … 64 */
  int32_t pair_capacity; /* candidate pairs to make room for; 0: 32 per shape */
} kn_broad_settings;

/* Two items whose boxes meet. */
typedef struct kn_broad_pair {
  int32_t a, b; /* items; with a plane: b is the plane */
} kn_broad_pair;

/* What the last update did. */
typedef struct kn_broad_stats {
  int64_t updates, rebuilds; /* since creation */
  int32_t fat_pairs;         /* kept now */
  int32_t capacity, needed;  /* room for fat pairs, and how many the last rebuild asked for */
} kn_broad_stats;

/* The default choices. */
KN_API kn_broad_settings kn_broad_default(void);

/* settings may be NULL. KN_BAD_ARGUMENT names the item with a bad size, body, margin or missing hull. */
KN_API kn_status kn_broad_create(kn_broad** out, const kn_broad_def* def, const kn_broad_settings* settings);
KN_API void kn_broad_destroy(kn_broad* broad);

/* New world poses of all items. velocity (6 per item, [angular; linear] at the item's origin, world axes) may
   be NULL; with it, boxes are swept over dt. KN_NO_ROOM: more fat pairs than capacity; call kn_broad_reserve
   and update again (no pairs are reported meanwhile). KN_NOT_FINITE names the item; no pairs are reported. */
KN_API kn_status kn_broad_update(kn_broad* broad, const kn_pose* poses, const double* velocity, double dt);

/* The same from boxes computed elsewhere: 6 doubles per item, lo then hi, infinite sides allowed; planes are
 * then boxes. */
KN_API kn_status kn_broad_update_boxes(kn_broad* broad, const double* boxes);

/* Pairs of the last update; valid until the next one. */
KN_API void kn_broad_pairs(const kn_broad* broad, const kn_broad_pair** pairs, int32_t* count);

KN_API kn_status kn_broad_reserve(kn_broad* broad, int32_t pair_capacity); /* allocates: outside a step */
/* Figures of the last update. */
KN_API void kn_broad_get_stats(const kn_broad* broad, kn_broad_stats* out);

/* Items whose boxes meet [lo, hi], ascending; for sensors and ray casts. KN_NO_ROOM when there are more than
 * capacity. */
KN_API kn_status kn_broad_query(const kn_broad* broad, int32_t* out, int32_t* count, int32_t capacity,
                                const double lo[3], const double hi[3]);

/* World bounding box of a shape: exact for primitives, of the turned local box for hulls and meshes, infinite
   for planes unless axis-aligned (then one side is finite). */
KN_API kn_status kn_shape_box(double lo[3], double hi[3], const kn_shape* shape, const kn_pose* pose);

KN_END_DECLS
#endif
