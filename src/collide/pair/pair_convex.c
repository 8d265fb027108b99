/* Any two convex shapes through their cores: distance_convex.c for the gap, manifold.c for the points. */
#include "collide/distance/gjk.h"
#include "collide/pair/manifold.h"

typedef struct cores {
  kn_core a, b;
  double radii, size;
} cores;

static void set_up(cores* c, const kn_pair* q) {
  kn_pose rel = kn_pose_between(q->A, q->B);
  kn_core_of(&c->a, q->a, NULL);
  kn_core_of(&c->b, q->b, &rel);
  c->radii = c->a.radius + c->b.radius;
  c->size = c->a.extent + c->b.extent + c->radii;
}

/* From cores to surfaces. */
static void add_radii(kn_core_gap* g, const cores* c) {
  g->gap -= c->radii;
  g->a = v3_axpy(g->a, -c->a.radius, g->n);
  g->b = v3_axpy(g->b, c->b.radius, g->n);
}

void kn_distance_convex(kn_distance_result* out, const kn_pair* q) {
  cores c;
  kn_core_gap g;
  set_up(&c, q);
  kn_core_distance(&g, &c.a, &c.b, INFINITY, q->cache);
  add_radii(&g, &c);
  v3_to(q->cache->normal, g.n);
  out->gap = g.gap;
  v3_to(out->normal, m3_mul(q->A->R, g.n));
  v3_to(out->on_a, v3_placed(q->A, g.a));
  v3_to(out->on_b, v3_placed(q->A, g.b));
}

int kn_manifold_convex(kn_contact_point* out, const kn_pair* q) {
  cores c;
  kn_core_gap g;
  set_up(&c, q);
  if (!kn_core_distance(&g, &c.a, &c.b, q->margin + c.radii, q->cache)) return 0;
  add_radii(&g, &c);
  v3_to(q->cache->normal, g.n);
  if (!(g.gap <= q->margin)) return 0;
  kn_patch pa, pb;
  bool known = q->cache->simplex_count > 0 && !kn_core_curved(&c.a) && !kn_core_curved(&c.b);
  const int32_t* at = q->cache->simplex[0]; /* of curved pairs: pieces */
  kn_patch_at(&pa, &c.a, v3_neg(g.n), q->cache->feature[0], known ? at[0] : -1);
  kn_patch_at(&pb, &c.b, g.n, q->cache->feature[1], known ? at[1] : -1);
  int n = kn_patch_contacts(out, KN_MANIFOLD_MAX, &pa, &pb, &g, c.size, KN_PATCH_SLACK, q->margin, q->cache);
  kn_contacts_to_world(out, n, q->A);
  return n;
}
