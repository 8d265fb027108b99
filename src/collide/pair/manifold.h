/* Contact patches: from a normal to a few contact points. Each shape offers the flat piece of its surface
   that faces the other one (polygon, line or point); the two pieces are projected along the normal and
   intersected. */
#pragma once

#include "collide/distance/support.h"
#include "collide/pair/pair.h"

#define KN_PATCH_SLACK 1e-7
#define KN_PATCH_EXACT 1e-13 /* for witnesses */
#define KN_PATCH_MAX   64    /* vertices of a patch; larger faces are thinned evenly */

typedef struct kn_patch {
  int n;        /* 0: only the nearest point counts; 2: line; >= 3: polygon, counter-clockwise from outside */
  int face;     /* face number, for the cache and the key */
  v3 normal;    /* outward, n >= 3 */
  double align; /* normal . facing direction */
  v3 p[KN_PATCH_MAX];
  uint32_t id[KN_PATCH_MAX]; /* vertex numbers */
} kn_patch;

/* The patch of a core that faces the unit direction d; last: face of the previous frame + 1, or 0. The core's
   rounding radius is applied along d. */
void kn_patch_of(kn_patch* out, const kn_core* c, v3 d, int last);
/* The same; at: a vertex of a hull that is farthest along d, or -1. */
void kn_patch_at(kn_patch* out, const kn_core* c, v3 d, int last, int at);

/* Contact points of two patches along n (unit, from B towards A), frame of the inputs, at most
   KN_MANIFOLD_MAX. nearest: the exact nearest pair (radii included), added when no point of the patches
   reaches its gap. */
int kn_patch_contacts(kn_contact_point* out, int room, const kn_patch* a, const kn_patch* b,
                      const kn_core_gap* nearest, double size, double slack, double margin,
                      kn_pair_cache* cache);

/* Parts of a key: a vertex, a face. */
static inline uint32_t kn_code_vertex(uint32_t id) { return 1u << 30 | (id & 0x3fffffff); }
static inline uint32_t kn_code_face(int face) { return 3u << 30 | ((uint32_t)face & 0x3fffffff); }

/* A possible contact point: place in the plane perpendicular to the normal, height of A's side, gap. */
typedef struct kn_candidate {
  double x, y, za, gap;
  uint64_t key;
} kn_candidate;

/* At most four of n candidates, well spread and with the deepest; last frame's choice stays while it is as
   good. Returns how many. */
int kn_candidates_choose(int pick[4], const kn_candidate* c, int n, double size, const kn_pair_cache* cache);
