/* Support mappings inside a kernel: the search on hulls is part of it (hull_climb.h), other cores are asked outside. */
#ifndef KN_COLLIDE_SUPPORT_HULL_H
#define KN_COLLIDE_SUPPORT_HULL_H

#include "collide/distance/gjk.h"
#include "collide/distance/hull_climb.h"

LANES v3 vertex_of(const kn_core* c, int id) {
  if (c->type != KN_CORE_HULL) return kn_core_vertex(c, id);
  v3 x = {c->hull->x[id], c->hull->y[id], c->hull->z[id]};
  return c->moved ? v3_placed(&c->pose, x) : x;
}

/* The farthest point along d. near: a vertex that is nearly so, on large hulls a better start than the map of directions;
   or -1. */
LANES v3 farthest_of(const kn_core* c, v3 d, int* id, int near) {
  if (c->type != KN_CORE_HULL) return kn_core_support(c, d, id);
  const kn_hull* h = c->hull;
  v3 l = c->moved ? m3_tmul(c->pose.R, d) : d;
  *id = near >= 0 && h->start ? climb(h, l.x, l.y, l.z, near) : search(h, l.x, l.y, l.z);
  return vertex_of(c, *id);
}

/* Support of M = A - B along d; near: a point of M that is nearly so, or NULL. */
static inline kn_gjk_point support(const kn_core* A, const kn_core* B, v3 d, const kn_gjk_point* near) {
  kn_gjk_point p;
  p.a = farthest_of(A, d, &p.ia, near ? near->ia : -1);
  p.b = farthest_of(B, v3_neg(d), &p.ib, near ? near->ib : -1);
  p.w = v3_sub(p.a, p.b);
  return p;
}

#endif
