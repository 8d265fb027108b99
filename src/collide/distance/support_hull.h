/* Support mappings inside a kernel: the search on hulls is part of it (hull_climb.h), other cores are asked outside. */
#ifndef KN_COLLIDE_SUPPORT_HULL_H
#define KN_COLLIDE_SUPPORT_HULL_H

#include "collide/distance/gjk.h"
#include "collide/distance/hull_climb.h"

/* What is known of a core where the code is compiled: of hulls nothing else needs to be asked. */
typedef enum core_kind { ANY_CORE, HULL_HERE, HULL_MOVED } core_kind;

LANES v3 placed(const kn_core* c, v3 x, core_kind k) {
  return k == HULL_MOVED || (k == ANY_CORE && c->moved) ? v3_placed(&c->pose, x) : x;
}

LANES v3 vertex_of(const kn_core* c, int id, core_kind k) {
  if (k == ANY_CORE && c->type != KN_CORE_HULL) return kn_core_vertex(c, id);
  return placed(c, (v3){c->hull->x[id], c->hull->y[id], c->hull->z[id]}, k);
}

/* The farthest point along d. near: a vertex that is nearly so, on large hulls a better start than the map of directions;
   or -1. */
LANES v3 farthest_of(const kn_core* c, v3 d, int* id, int near, core_kind k) {
  if (k == ANY_CORE && c->type != KN_CORE_HULL) return kn_core_support(c, d, id);
  const kn_hull* h = c->hull;
  v3 l = k == HULL_MOVED || (k == ANY_CORE && c->moved) ? m3_tmul(c->pose.R, d) : d;
  *id = near >= 0 && h->start ? climb(h, l.x, l.y, l.z, near) : search(h, l.x, l.y, l.z);
  return vertex_of(c, *id, k);
}

/* Two hulls in the frame of the first. */
LANES bool two_hulls(const kn_core* A, const kn_core* B) {
  return A->type == KN_CORE_HULL && B->type == KN_CORE_HULL && !A->moved && B->moved;
}

/* Support of M = A - B along d; near: a point of M that is nearly so, or NULL. */
LANES kn_gjk_point support_of(const kn_core* A, const kn_core* B, v3 d, const kn_gjk_point* near,
                              bool hulls) {
  kn_gjk_point p;
  p.a = farthest_of(A, d, &p.ia, near ? near->ia : -1, hulls ? HULL_HERE : ANY_CORE);
  p.b = farthest_of(B, v3_neg(d), &p.ib, near ? near->ib : -1, hulls ? HULL_MOVED : ANY_CORE);
  p.w = v3_sub(p.a, p.b);
  return p;
}

#endif
