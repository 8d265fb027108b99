/* Two boxes by separating axes (Gottschalk, Lin, Manocha 1996), in the frame of A: R, t place B.

   Face axes: s = |t_i| - ha_i - sum_j |R_ij| hb_j, and the same for B. Edge axes c = e_i x b_j, not
   normalised: S = |t.c| - sum |c_k| ha_k - sum |c.b_k| hb_k,   s = S / |c|, so a root and a division are paid
   only by an axis that wins. For parallel edges |c.b_k| is formed from c itself: the usual shortcut |R_ik|
   has an error of eps that division by |c| would blow up. The largest s is the signed gap when the boxes
   overlap; apart it is a lower bound, exact when the contact patches hold two points at that distance (then
   they certify it), otherwise GJK takes over. */
#include "collide/gjk.h"
#include "collide/manifold.h"

typedef struct axes {
  double s; /* largest separation */
  int face; /* 0-2 A's, 3-5 B's axis; -1: edge axis i, j */
  int i, j;
  v3 n; /* unit, from B towards A */
} axes;

static bool face_axes(axes* best, const double* R, const double* Q, const double* t, const double* ha,
                      const double* hb, double limit) {
  double side = 0;
  best->s = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double s = fabs(t[i]) - (ha[i] + Q[3 * i] * hb[0] + Q[3 * i + 1] * hb[1] + Q[3 * i + 2] * hb[2]);
    if (s > limit) return false;
    if (s > best->s) best->s = s, best->face = i, side = t[i];
  }
  for (int j = 0; j < 3; j++) {
    double c = t[0] * R[j] + t[1] * R[3 + j] + t[2] * R[6 + j];
    double s = fabs(c) - (hb[j] + Q[j] * ha[0] + Q[3 + j] * ha[1] + Q[6 + j] * ha[2]);
    if (s > limit) return false;
    if (s > best->s) best->s = s, best->face = 3 + j, side = c;
  }
  double sign = side > 0 ? -1 : 1; /* B lies along +t, so the way from B to A is against it */
  best->n = best->face < 3 ? v3_axis(best->face, sign) : v3_mul(m3_col(R, best->face - 3), sign);
  return true;
}

/* Separation along e_i x b_j with every projection taken from the axis itself; n gets the unit axis. */
static double exact_edge(v3* n, const double* R, v3 t, const double* ha, const double* hb, int i, int j) {
  v3 c = v3_cross(v3_axis(i, 1), m3_col(R, j));
  v3_unit(&c);
  double d = v3_dot(t, c), s = fabs(d);
  for (int k = 0; k < 3; k++)
    s -= fabs(v3_at(c, k)) * ha[k] + (k == j ? 0 : fabs(v3_dot(c, m3_col(R, k))) * hb[k]);
  *n = d > 0 ? v3_neg(c) : c;
  return s;
}

static bool edge_axes(axes* best, const double* R, const double* Q, const double* t, const double* ha,
                      const double* hb, double limit) {
  for (int i = 0; i < 3; i++) {
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; j++) {
      int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      double c1 = R[3 * i1 + j], c2 = R[3 * i2 + j], L = c1 * c1 + c2 * c2;
      double S = fabs(t[i2] * c1 - t[i1] * c2) - ha[i1] * Q[3 * i2 + j] - ha[i2] * Q[3 * i1 + j] -
                 hb[j1] * Q[3 * i + j2] - hb[j2] * Q[3 * i + j1];
      bool thin = L < 1e-8;
      double b = best->s, bb = b * b * L;
      bool wins = S > 0 ? b < 0 || S * S > bb : b < 0 && S * S < bb;
      if (!wins && !thin) continue;
      if (L < 1e-24) continue;
      v3 n;
      double s = exact_edge(&n, R, v3_of(t), ha, hb, i, j);
      if (!(s > b)) continue;
      if (s > limit) return false;
      *best = (axes){s, -1, i, j, n};
    }
  }
  return true;
}

typedef struct boxes {
  kn_core a, b;
  kn_pose rel;
  double size;
} boxes;

static void set_up(boxes* x, const kn_pair* q) {
  x->rel = pose_relative(q->A, q->B);
  kn_core_of(&x->a, q->a, NULL);
  kn_core_of(&x->b, q->b, &x->rel);
  x->size = x->a.extent + x->b.extent;
}

static bool separate(axes* best, const boxes* x, const kn_pair* q, double limit) {
  double Q[9];
  for (int k = 0; k < 9; k++) Q[k] = fabs(x->rel.R[k]);
  const double *ha = q->a->size, *hb = q->b->size;
  return face_axes(best, x->rel.R, Q, x->rel.p, ha, hb, limit) &&
         edge_axes(best, x->rel.R, Q, x->rel.p, ha, hb, limit);
}

/* Point where A's edge along e_i and B's edge along b_j cross when B is moved by the gap. */
static void edge_witness(kn_core_gap* g, const boxes* x, const axes* w, const kn_pair* q) {
  const double *ha = q->a->size, *hb = q->b->size, *R = x->rel.R;
  double ca[3];
  v3 cb = x->b.centre;
  for (int k = 0; k < 3; k++) {
    ca[k] = k == w->i ? 0 : v3_at(w->n, k) > 0 ? -ha[k] : ha[k];
    v3 u = m3_col(R, k);
    if (k != w->j) cb = v3_axpy(cb, v3_dot(w->n, u) > 0 ? hb[k] : -hb[k], u);
  }
  v3 p = v3_of(ca), u = v3_axis(w->i, 1), v = m3_col(R, w->j), m = v3_cross(u, v);
  double s = v3_dot(v3_cross(v3_sub(v3_axpy(cb, g->gap, g->n), p), v), m) / v3_norm2(m);
  s = max2(-ha[w->i], min2(ha[w->i], s));
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

/* A supporting vertex of the box whose face is not the axis. */
static void vertex_witness(kn_core_gap* g, const boxes* x, const axes* w) {
  int id;
  if (w->face < 3) {
    g->b = kn_core_support(&x->b, g->n, &id);
    g->a = v3_axpy(g->b, g->gap, g->n);
  } else {
    g->a = kn_core_support(&x->a, v3_neg(g->n), &id);
    g->b = v3_axpy(g->a, -g->gap, g->n);
  }
  g->fa = 1 << 27 | w->face, g->fb = id;
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

/* The gap from the axes where they decide it: overlapping, or apart with two points at that distance in the
   patches. Returns the contacts within margin, or -1 when only GJK can tell. */
static int by_axes(kn_contact_point* out, kn_core_gap* g, const axes* w, const boxes* x, const kn_pair* q,
                   double slack, double margin) {
  *g = (kn_core_gap){.gap = w->s, .n = w->n};
  if (w->face < 0)
    edge_witness(g, x, w, q);
  else
    vertex_witness(g, x, w);
  if (w->s <= 0) return contacts(out, g, x, slack, margin, q->cache);
  kn_core_gap bound = *g;
  bound.gap = INFINITY; /* only the patches may speak */
  int n = contacts(out, &bound, x, slack, margin, q->cache);
  if (n > 0 && out[deepest(out, n)].gap <= w->s + 1e-13 * x->size) return n;
  return -1;
}

int kn_manifold_box_box(kn_contact_point* out, const kn_pair* q) {
  boxes x;
  axes w;
  kn_core_gap g;
  set_up(&x, q);
  if (!separate(&w, &x, q, q->margin)) return 0;
  int n = by_axes(out, &g, &w, &x, q, KN_PATCH_SLACK, q->margin);
  if (n < 0) {
    if (!kn_core_distance(&g, &x.a, &x.b, q->margin, q->cache) || !(g.gap <= q->margin)) return 0;
    n = contacts(out, &g, &x, KN_PATCH_SLACK, q->margin, q->cache);
  }
  kn_contacts_to_world(out, n, q->A);
  return n;
}

void kn_distance_box_box(kn_distance_result* out, const kn_pair* q) {
  boxes x;
  axes w;
  kn_core_gap g;
  set_up(&x, q);
  separate(&w, &x, q, INFINITY);
  if (w.s > 0) {
    kn_core_distance(&g, &x.a, &x.b, INFINITY, q->cache);
  } else {
    kn_contact_point c[KN_MANIFOLD_MAX];
    int n = by_axes(c, &g, &w, &x, q, KN_PATCH_EXACT, INFINITY), k = deepest(c, n);
    if (n > 0 && c[k].gap <= g.gap + 1e-12 * x.size) g.a = v3_of(c[k].on_a), g.b = v3_of(c[k].on_b);
  }
  out->gap = g.gap;
  v3_to(out->normal, m3_mul(q->A->R, g.n));
  v3_to(out->on_a, pose_point(q->A, g.a));
  v3_to(out->on_b, pose_point(q->A, g.b));
}
