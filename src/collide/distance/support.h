/* Support mappings of convex cores. */
#pragma once

#include "base/isa.h"
#include "model/hull.h"
#include "spatial/v3.h"

/* The vertex farthest along d: a function of the hull and d alone, the same on every instruction set. */
KN_KERNEL(int, kn_hull_farthest, (const kn_hull* h, double dx, double dy, double dz));
/* The same vertex, or one as far to rounding, found from a vertex that is probably near. */
KN_KERNEL(int, kn_hull_climb, (const kn_hull* h, double dx, double dy, double dz, int near));

typedef enum kn_core_type {
  KN_CORE_POINTS, /* 1 to 3 vertices: point, segment, triangle */
  KN_CORE_BOX,
  KN_CORE_HULL,
  KN_CORE_CYLINDER,
  KN_CORE_ELLIPSOID
} kn_core_type;

/* A convex core placed in the working frame (the frame of the first shape of the pair). */
typedef struct kn_core {
  kn_core_type type;
  bool moved;          /* R, p are not the identity */
  int count;           /* KN_CORE_POINTS */
  v3 v[3];             /* vertices in the working frame (KN_CORE_POINTS) */
  const double* size;  /* box, cylinder, ellipsoid */
  const kn_hull* hull; /* hull */
  double radius;       /* rounding added to the core (sphere, capsule), not seen by the support mapping */
  kn_pose pose;        /* core frame to working frame */
  v3 centre;           /* some interior point, working frame */
  double extent;       /* largest distance of the core from its centre */
} kn_core;

/* The core of a shape (sphere: point, capsule: segment) in the working frame; pose NULL = identity. */
void kn_core_of(kn_core* out, const kn_shape* shape, const kn_pose* pose);
void kn_core_triangle(kn_core* out, const v3 v[3]);

/* Farthest point along d (working frame, any length) and its vertex number, -1 for curved cores. */
v3 kn_core_support(const kn_core* c, v3 d, int* id);
/* near: a vertex number, for hulls to start at. */
v3 kn_core_support_near(const kn_core* c, v3 d, int* id, int near);
/* Vertex of a polytope core by number. */
v3 kn_core_corner(const kn_core* c, int id); /* box, points */
static inline v3 kn_core_vertex(const kn_core* c, int id) {
  if (c->type != KN_CORE_HULL) return kn_core_corner(c, id);
  v3 x = {c->hull->x[id], c->hull->y[id], c->hull->z[id]};
  return c->moved ? v3_placed(&c->pose, x) : x;
}
/* Is there such a vertex? Curved cores have none. */
static inline bool kn_core_has(const kn_core* c, int id) {
  int n = c->type == KN_CORE_POINTS ? c->count
          : c->type == KN_CORE_BOX  ? 8
          : c->type == KN_CORE_HULL ? c->hull->nv
                                    : 0;
  return id >= 0 && id < n;
}
static inline bool kn_core_curved(const kn_core* c) {
  return c->type == KN_CORE_CYLINDER || c->type == KN_CORE_ELLIPSOID;
}
