/* Narrow phase internals: one file per family of pairs, a table of functions indexed by the two shape types.
   Canonical order: a->type <= b->type (plane < sphere < capsule < cylinder < ellipsoid < box < hull < mesh);
   the dispatcher swaps and flips. Normals point from B towards A. */
#pragma once

#include "knuckle/collide.h"
#include "spatial/v3.h"

typedef struct kn_pair {
  const kn_shape *a, *b;
  const kn_pose *A, *B;
  double margin;        /* manifolds: points with gap <= margin are wanted */
  kn_pair_cache* cache; /* never NULL inside */
} kn_pair;

typedef void kn_distance_of(kn_distance_result* out, const kn_pair* pair);
/* Writes at most KN_MANIFOLD_MAX points, returns how many. */
typedef int kn_manifold_of(kn_contact_point* out, const kn_pair* pair);

/* Feature codes are at most 32 bits; a key holds A's in the high half and B's in the low half. */
static inline uint64_t kn_key(uint32_t fa, uint32_t fb) { return (uint64_t)fa << 32 | fb; }

/* Witnesses from a contact known by B's witness or A's: on_a = on_b + gap n. */
static inline void kn_put_b(kn_contact_point* c, uint64_t key, v3 n, double gap, v3 on_b) {
  c->key = key, c->gap = gap;
  v3_to(c->normal, n), v3_to(c->on_b, on_b), v3_to(c->on_a, v3_axpy(on_b, gap, n));
}
static inline void kn_put_a(kn_contact_point* c, uint64_t key, v3 n, double gap, v3 on_a) {
  c->key = key, c->gap = gap;
  v3_to(c->normal, n), v3_to(c->on_a, on_a), v3_to(c->on_b, v3_axpy(on_a, -gap, n));
}
static inline void kn_result_b(kn_distance_result* c, v3 n, double gap, v3 on_b) {
  c->gap = gap;
  v3_to(c->normal, n), v3_to(c->on_b, on_b), v3_to(c->on_a, v3_axpy(on_b, gap, n));
}
static inline void kn_result_a(kn_distance_result* c, v3 n, double gap, v3 on_a) {
  c->gap = gap;
  v3_to(c->normal, n), v3_to(c->on_a, on_a), v3_to(c->on_b, v3_axpy(on_a, -gap, n));
}

/* Signed distance of the core of a round shape to the other one, in the other one's frame. Adding radii is
   exact: g(n) of rounded shapes is g(n) of the cores minus the radii for every n. */
typedef struct kn_core_gap {
  double gap;
  v3 n;                /* unit, from the second towards the first */
  v3 a, b;             /* witnesses on the cores, a - b = gap n */
  int fa, fb;          /* feature codes */
  int32_t piece[2][3]; /* curved cores: the pieces that hold it (distance_piece.h) */
} kn_core_gap;

#define KN_STEEP 0.0037 /* sin^2 of two lines above which they are nowhere near parallel */

/* A point against a box: clamp outside, nearest face inside. */
static inline void kn_point_box(kn_core_gap* out, v3 p, const double h[3]) {
  v3 q = {kn_clamp(p.x, -h[0], h[0]), kn_clamp(p.y, -h[1], h[1]), kn_clamp(p.z, -h[2], h[2])};
  out->a = p, out->b = q, out->fa = 0;
  out->n = v3_sub(p, q);
  out->gap = v3_unit(&out->n);
  if (out->gap > 0) {
    int code = 0; /* base 3: below, inside, above on each axis */
    for (int i = 2; i >= 0; i--) code = 3 * code + (v3_at(p, i) > h[i] ? 2 : v3_at(p, i) < -h[i] ? 0 : 1);
    out->fb = code;
    return;
  }
  int best = 0;
  double depth = INFINITY;
  for (int i = 0; i < 3; i++) {
    double d = h[i] - fabs(v3_at(p, i));
    if (d < depth) depth = d, best = i;
  }
  double s = v3_at(p, best) < 0 ? -1 : 1;
  static const int unit[3] = {1, 3, 9};
  out->gap = -depth;
  out->n = v3_axis(best, s);
  out->b = v3_axpy(p, depth, out->n);
  out->fb = 13 + (int)s * unit[best];
}

/* distance_primitive.c: closed forms. p, q are points or segment ends in the frame of the second shape. */
void kn_segment_segment(kn_core_gap* out, v3 p0, v3 p1, v3 q0, v3 q1);
void kn_segment_box(kn_core_gap* out, v3 p0, v3 p1, const double h[3]);

/* Who answers for two types of shape: pair_plane.c, pair_round.c (spheres and capsules), pair_box_box.c, pair_convex.c
   (any two convex shapes), pair_mesh.c. */
kn_distance_of kn_distance_plane_sphere, kn_distance_plane_capsule, kn_distance_plane_cylinder,
    kn_distance_plane_ellipsoid, kn_distance_plane_box, kn_distance_plane_hull, kn_distance_plane_mesh,
    kn_distance_sphere_sphere, kn_distance_sphere_capsule, kn_distance_sphere_cylinder,
    kn_distance_sphere_box, kn_distance_capsule_capsule, kn_distance_capsule_box, kn_distance_box_box,
    kn_distance_convex, kn_distance_mesh;
kn_manifold_of kn_manifold_plane_sphere, kn_manifold_plane_capsule, kn_manifold_plane_cylinder,
    kn_manifold_plane_ellipsoid, kn_manifold_plane_box, kn_manifold_plane_hull, kn_manifold_sphere_sphere,
    kn_manifold_sphere_capsule, kn_manifold_sphere_cylinder, kn_manifold_sphere_box,
    kn_manifold_capsule_capsule, kn_manifold_capsule_box, kn_manifold_box_box, kn_manifold_convex;
/* B is a mesh. capacity: room in out. */
int kn_manifold_mesh(kn_contact_point* out, int capacity, const kn_pair*);

/* All of them, the smaller type first (pair_dispatch.c). */
typedef struct kn_pair_query {
  kn_distance_of* distance;
  kn_manifold_of* manifold; /* NULL with a mesh: kn_manifold_mesh */
} kn_pair_query;
extern const kn_pair_query kn_pair_queries[KN_SHAPE_COUNT][KN_SHAPE_COUNT];

/* Contacts computed in the frame P, with on_a - on_b = gap n. Points of one patch share their normal. */
static inline void kn_contacts_to_world(kn_contact_point* c, int n, const kn_pose* P) {
  v3 local = {2, 0, 0}, world = {0, 0, 0}; /* no unit vector: the first normal is always turned */
  for (int i = 0; i < n; i++) {
    v3 m = v3_of(c[i].normal);
    if (m.x != local.x || m.y != local.y || m.z != local.z) local = m, world = m3_mul(P->R, m);
    v3 a = v3_placed(P, v3_of(c[i].on_a));
    v3_to(c[i].normal, world);
    v3_to(c[i].on_a, a);
    v3_to(c[i].on_b, v3_axpy(a, -c[i].gap, world));
  }
}
