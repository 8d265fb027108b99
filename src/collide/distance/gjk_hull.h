/* GJK for two hulls in the usual case, clearly apart: short and without the safeguards of gjk.c, because what
   it finds must be certified or is thrown away. */
#pragma once

#include "base/isa.h"
#include "collide/distance/gjk.h"

typedef enum kn_hull_state {
  KN_HULL_APART,   /* g: the nearest simplex, its weights, v, dist; certified */
  KN_HULL_BEYOND,  /* certainly farther apart than the limit; g->p, count: last simplex */
  KN_HULL_OVERLAP, /* the tetrahedron g->p holds the origin */
  KN_HULL_UNSURE   /* gjk.c must look */
} kn_hull_state;

/* rel: B in the frame of A. warm: last simplex (1 to 3 points), or NULL. */
kn_hull_state kn_hull_apart(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel, double limit,
                            const kn_pair_cache* warm);

/* Two hulls clearly apart; false when gjk.c must look. */
bool kn_hulls_distance(kn_distance_result* out, const kn_pair* q);

/* Two hulls that overlap by little, as kn_core_distance; false when that cannot be proven (gjk_hull_shallow.c). */
bool kn_hulls_shallow(kn_core_gap* out, const kn_core* A, const kn_core* B, kn_pair_cache* cache);

/* Is the triangle p[0..2] a part of the surface of M, with the foot of the origin in it? n, its normal (near the
   one given): the support of M must not lie beyond it. Apart this proves the distance; overlapping it proves
   that the depth is no larger. least: the gap is not below. */
bool kn_on_surface(kn_core_gap* out, const kn_gjk_point* p, const kn_core* A, const kn_core* B, v3 near,
                   double least);

/* Per instruction set. */
KN_KERNEL(bool, kn_hull_distance, (kn_distance_result * out, const kn_pair* q));
KN_KERNEL(kn_hull_state, kn_hull_apart,
          (kn_gjk * g, const kn_hull* A, const kn_hull* B, const kn_pose* rel, double limit,
           const kn_pair_cache* warm));
