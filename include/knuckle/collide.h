/* Distances and contact manifolds of pairs of shapes. Usable alone: no model, no allocation, no state beyond
   an optional per-pair cache. Every function is a pure function of its arguments (the cache included) and may
   be called from any thread; results are bit-identical on every instruction set.

   Signed gap of two convex shapes: gap = max over unit n of [min over a in A of n.a - max over b in B of
   n.b]. Apart this is the Euclidean distance, overlapping it is minus the least translation that separates
   them; it is continuous through touching, and the maximising n is the contact normal (from B towards A). A
   plane is a solid half-space. A mesh is a surface: its gap is the least gap over its triangles. */
#ifndef KNUCKLE_COLLIDE_H
#define KNUCKLE_COLLIDE_H

#include "knuckle/types.h"

KN_BEGIN_DECLS

/* What one pair remembers between frames: the last GJK simplex and the last manifold's features. Plain data:
   zero it to forget, copy it, save it. It never changes which gap is reported (beyond rounding); it makes the
   query faster and keeps feature keys from flickering. One cache per ordered pair of shapes. */
typedef struct kn_pair_cache {
  double normal[3];      /* last normal in the frame of the first shape (in the library's canonical order) */
  int32_t simplex[4][2]; /* vertex indices of the last simplex; curved pairs: pieces of their surfaces */
  int32_t simplex_count; /* 0 = none */
  int32_t feature[2];    /* last reference and incident features, 1 + index; 0 = none */
  int32_t side;          /* which shape held the reference feature: 1, 2; 0 = none */
  int32_t key_count;     /* manifold keys of the last frame, canonical order */
  uint64_t key[8];
} kn_pair_cache;

/* Signed distance of two shapes with its witnesses. */
typedef struct kn_distance_result {
  double gap;       /* signed, m */
  double normal[3]; /* unit, from B towards A, world axes */
  double on_a[3];   /* witness on A's surface, world; on_a - on_b = gap * normal */
  double on_b[3];   /* witness on B's surface, world */
} kn_distance_result;

/* Signed gap, normal and witness points, apart or overlapping. cache may be NULL.
   KN_BAD_ARGUMENT: a size is not between 1e-30 and 1e30, a pose is not finite or beyond 1e30, or a hull or
   mesh is missing.
   KN_UNSUPPORTED: plane-plane, mesh-mesh (both are static by nature). */
KN_API kn_status kn_distance(kn_distance_result* out, const kn_shape* a, const kn_pose* pose_a,
                             const kn_shape* b, const kn_pose* pose_b, kn_pair_cache* cache);

/* Contact points with gap <= margin: up to 4 well-spread points for faces, 2 for lines, 1 for round contact
   (against a mesh that many per triangle patch, at most `capacity`). The deepest point is among them, so the
   least gap is kn_distance's (to 1e-7 of the size where resting faces are held steady against noise). With
   too little capacity the deepest are kept. The order is deterministic; match points between frames by key.
 */
KN_API kn_status kn_manifold_query(kn_contact_point* out, int* count, int capacity, const kn_shape* a,
                                   const kn_pose* pose_a, const kn_shape* b, const kn_pose* pose_b,
                                   double margin, kn_pair_cache* cache);
#define KN_MANIFOLD_MAX 4 /* points of one convex pair */

/* Support point of a convex shape in a world direction (need not be unit): the farthest point along d.
   Planes and meshes: KN_UNSUPPORTED. */
KN_API kn_status kn_support(double out[3], const kn_shape* shape, const kn_pose* pose, const double d[3]);

/* Planar grasp scenes: signed gap of the half-plane {x : n.(x - p) <= 0} (a straight link) against the
   ellipse with centre c, semi-axes axes[0..1] and the first axis at angle phi (its sine and cosine given),
   all in the plane. gap = n.(c - p) - sqrt(n^T E n), E = R diag(a^2, b^2) R^T; contact = c - E n / h. Exact,
   no iteration. */
KN_API void kn_line_ellipse(double* gap, double contact[2], const double p[2], const double n[2],
                            const double c[2], const double axes[2], double sin_phi, double cos_phi);

KN_END_DECLS
#endif
