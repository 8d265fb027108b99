/* Two boxes by separating axes (Gottschalk, Lin, Manocha 1996), in the frame of A: R, t place B.

   Face axes: s = |t_i| - ha_i - sum_j |R_ij| hb_j, and the same for B. Edge axes c = e_i x b_j, not
   normalised: S = |t.c| - sum |c_k| ha_k - sum |c.b_k| hb_k,   s = S / |c|, so a root and a division are paid
   only by an axis that wins. For parallel edges |c.b_k| is formed from c itself: the usual shortcut |R_ik|
   has an error of eps that division by |c| would blow up. The largest s is the signed gap when the boxes
   overlap; apart it is a lower bound, exact when the contact patches hold two points at that distance (then
   they certify it), otherwise GJK takes over. */
#include "base/isa.h"
#include "collide/distance/gjk.h"
#include "collide/pair/manifold.h"
#include "collide/pair/pair_box.h"

typedef kn_box_axes axes;

static const kn_box_table* table(void) { return KN_BEST(&kn_box); }

typedef struct boxes {
  kn_core a, b;
  double size;
} boxes;

static void set_up(boxes* x, const kn_pair* q, const kn_pose* rel) {
  kn_core_of(&x->a, q->a, NULL);
  kn_core_of(&x->b, q->b, rel);
  x->size = x->a.extent + x->b.extent;
}

/* Point where A's edge along e_i and B's edge along b_j cross when B is moved by the gap. */
static void edge_witness(kn_core_gap* g, const axes* w, const kn_pair* q, const kn_pose* rel) {
  const double *ha = q->a->size, *hb = q->b->size, *R = rel->R;
  double ca[3];
  v3 cb = v3_of(rel->p);
  for (int k = 0; k < 3; k++) {
    ca[k] = k == w->i ? 0 : v3_at(w->n, k) > 0 ? -ha[k] : ha[k];
    v3 u = m3_col(R, k);
    if (k != w->j) cb = v3_axpy(cb, v3_dot(w->n, u) > 0 ? hb[k] : -hb[k], u);
  }
  v3 p = v3_of(ca), u = v3_axis(w->i, 1), v = m3_col(R, w->j), m = v3_cross(u, v);
  double s = v3_dot(v3_cross(v3_sub(v3_axpy(cb, g->gap, g->n), p), v), m) / v3_norm2(m);
  s = kn_max(kn_min(s, ha[w->i]), -ha[w->i]);
  g->a = v3_axpy(p, s, u);
  g->b = v3_axpy(g->a, -g->gap, g->n);
  static const uint32_t bit[3] = {1, 2, 4};
  uint32_t fa = (uint32_t)w->i << 3, fb = (uint32_t)w->j << 3;
  for (int k = 0; k < 3; k++) {
    if (k != w->i && v3_at(w->n, k) > 0) fa |= bit[k];
    if (k != w->j && v3_dot(w->n, m3_col(R, k)) > 0) fb |= bit[k];
  }
  g->fa = (int)(1 << 28 | fa), g->fb = (int)(1 << 28 | fb);
}

static int corner(const double h[3], v3 d, v3* x) {
  int id = (d.x > 0) | (d.y > 0) << 1 | (d.z > 0) << 2;
  *x = (v3){id & 1 ? h[0] : -h[0], id & 2 ? h[1] : -h[1], id & 4 ? h[2] : -h[2]};
  return id;
}

/* A supporting vertex of the box whose face is not the axis. */
static void vertex_witness(kn_core_gap* g, const axes* w, const kn_pair* q, const kn_pose* rel) {
  int id;
  v3 x;
  if (w->face < 3) {
    id = corner(q->b->size, m3_tmul(rel->R, g->n), &x);
    g->b = v3_placed(rel, x);
    g->a = v3_axpy(g->b, g->gap, g->n);
  } else {
    id = corner(q->a->size, v3_neg(g->n), &g->a);
    g->b = v3_axpy(g->a, -g->gap, g->n);
  }
  g->fa = 1 << 27 | w->face, g->fb = id;
}

static void witness(kn_core_gap* g, const axes* w, const kn_pair* q, const kn_pose* rel) {
  *g = (kn_core_gap){.gap = w->s, .n = w->n};
  if (w->face < 0)
    edge_witness(g, w, q, rel);
  else
    vertex_witness(g, w, q, rel);
}

static int contacts(kn_contact_point* out, const kn_core_gap* g, const boxes* x, double slack, double margin,
                    kn_pair_cache* cache) {
  kn_patch pa, pb;
  kn_patch_of(&pa, &x->a, v3_neg(g->n), cache->feature[0]);
  kn_patch_of(&pb, &x->b, g->n, cache->feature[1]);
  return kn_patch_contacts(out, KN_MANIFOLD_MAX, &pa, &pb, g, x->size, slack, margin, cache);
}

static int deepest(const kn_contact_point* c, int n) {
  int best = 0;
  for (int i = 1; i < n; i++)
    if (c[i].gap < c[best].gap) best = i;
  return best;
}

/* The contacts along an axis in the frame of A when the boxes overlap, or apart when two points of the
   patches are at that distance: then they certify it. -1 when only GJK can tell. */
static int by_patches(kn_contact_point* out, kn_core_gap* g, const axes* w, const boxes* x, const kn_pair* q,
                      double slack, double margin) {
  if (w->s <= 0) return contacts(out, g, x, slack, margin, q->cache);
  kn_core_gap bound = *g;
  bound.gap = INFINITY; /* only the patches may speak */
  int n = contacts(out, &bound, x, slack, margin, q->cache);
  if (n > 0 && out[deepest(out, n)].gap <= w->s + 1e-13 * x->size) return n;
  return -1;
}

static void nearest_contact(kn_contact_point* out, const kn_core_gap* g, const kn_pair* q) {
  kn_put_a(out, kn_key((uint32_t)g->fa, (uint32_t)g->fb), g->n, g->gap, g->a);
  kn_contacts_to_world(out, 1, q->A);
}

static int by_gjk(kn_contact_point* out, const boxes* x, const kn_pair* q) {
  kn_core_gap g;
  if (!kn_core_distance(&g, &x->a, &x->b, q->margin, q->cache) || !(g.gap <= q->margin)) return 0;
  int n = contacts(out, &g, x, KN_PATCH_SLACK, q->margin, q->cache);
  kn_contacts_to_world(out, n, q->A);
  return n;
}

/* Neither box has a face nearly square to the edge axis: the crossing of the edges is all. */
static bool no_face(v3 n, const kn_pose* rel, const kn_pair_cache* cache) {
  double limit = cache->key_count > 1 ? 0.96 : 0.97; /* as in manifold.c */
  return kn_max(v3_max_abs(m3_tmul(rel->R, n)), v3_max_abs(n)) <= limit;
}

/* With the nearest pair itself, when no point of the faces is as near: behind the others, or in the place of the
   farthest of four. */
static int with_nearest(kn_contact_point* out, int n, const axes* w, const kn_pair* q, const kn_pose* rel) {
  int at = n < KN_MANIFOLD_MAX ? n : 0;
  for (int i = 1; n == KN_MANIFOLD_MAX && i < n; i++)
    if (out[i].gap > out[at].gap) at = i;
  kn_core_gap g;
  witness(&g, w, q, rel);
  nearest_contact(out + at, &g, q);
  return n < KN_MANIFOLD_MAX ? n + 1 : n;
}

static double size_of(const kn_pair* q) { /* a cube's half diagonal */
  const double *ha = q->a->size, *hb = q->b->size;
  return 0.6 * (ha[0] + ha[1] + ha[2] + hb[0] + hb[1] + hb[2]);
}

/* Do points of the faces, the nearest of them at `least`, show the separation that the axis has? Overlapping
   boxes need no proof, apart two points at that distance certify it. */
static bool certified(double least, const axes* w, double size) {
  return least <= w->s + (w->s <= 0 ? 1e-8 : 1e-13) * size;
}

/* Overlapping boxes, and boxes apart when two points of the faces are at the distance that the axis shows:
   these certify it. Otherwise GJK finds the distance. */
static int contacts_along(kn_contact_point* out, const kn_pair* q, const kn_pose* rel, const kn_box_axes* w) {
  double size = size_of(q), least = INFINITY;
  bool flat = w->face >= 0 || !no_face(w->n, rel, q->cache);
  int n = flat ? table()->faces(out, q, rel, w, size) : 0;
  for (int i = 0; i < n; i++) least = kn_min(out[i].gap, least);
  if (certified(least, w, size)) return n;
  if (w->s <= 0) return with_nearest(out, n, w, q, rel);
  boxes x;
  set_up(&x, q, rel);
  return by_gjk(out, &x, q);
}

int kn_manifold_box_box(kn_contact_point* out, const kn_pair* q) {
  kn_pose rel = kn_pose_between(q->A, q->B);
  axes w;
  return table()->separate(&w, q, &rel, q->margin) ? contacts_along(out, q, &rel, &w) : 0;
}

void kn_distance_box_box(kn_distance_result* out, const kn_pair* q) {
  kn_pose rel = kn_pose_between(q->A, q->B);
  boxes x;
  axes w;
  kn_core_gap g;
  set_up(&x, q, &rel);
  table()->separate(&w, q, &rel, INFINITY);
  if (w.s > 0) {
    kn_core_distance(&g, &x.a, &x.b, INFINITY, q->cache);
  } else {
    kn_contact_point c[KN_MANIFOLD_MAX];
    witness(&g, &w, q, &rel);
    int n = by_patches(c, &g, &w, &x, q, KN_PATCH_EXACT, INFINITY), k = deepest(c, n);
    if (n > 0 && c[k].gap <= g.gap + 1e-12 * x.size) g.a = v3_of(c[k].on_a), g.b = v3_of(c[k].on_b);
  }
  out->gap = g.gap;
  v3_to(out->normal, m3_mul(q->A->R, g.n));
  v3_to(out->on_a, v3_placed(q->A, g.a));
  v3_to(out->on_b, v3_placed(q->A, g.b));
}
