/* Two hulls apart, see gjk_hull.h. M = A - B; v is the nearest point of the simplex, w the support of M along
   -v; |v| - v.w/|v| bounds the error (gjk.c).

   The nearest point of a simplex that just got a new point lies on a part that holds the new point, because
   the others were nearest before it came and v.w < v.v. So only the edges, faces and regions around the new
   point are looked at (Ericson, Real-Time Collision Detection, 5.1.5 and 5.1.6). Regions are told by dot
   products; v on a face is taken along the cross product of its edges, which keeps the normal exact. When
   rounding breaks the reasoning the certificate fails, or v does not get shorter, and gjk.c takes over.
   The search for the farthest vertex takes KN_W at a time, and ties go to the lowest number. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/distance/gjk_hull.h"
#include "collide/distance/hull_climb.h"

/* Hulls with more vertices: a known place is a better start than looking at all. Last frame's is better than
   one of this search. */
enum { CLIMB = 40, CLIMB_WARM = KN_HULL_FEW };

LANES int toward(const kn_hull* h, double dx, double dy, double dz, int near) {
  return h->nv > CLIMB_WARM ? climb(h, dx, dy, dz, near) : farthest(h, dx, dy, dz);
}

#include "collide/distance/gjk_hull_still.h"

typedef kn_gjk_point tip;

LANES tip tip_at(const kn_hull* A, const kn_hull* B, const kn_pose* rel, int ia, int ib) {
  tip p;
  p.ia = ia, p.ib = ib;
  p.a = (v3){A->x[ia], A->y[ia], A->z[ia]};
  p.b = v3_placed(rel, (v3){B->x[ib], B->y[ib], B->z[ib]});
  p.w = v3_sub(p.a, p.b);
  return p;
}

/* Support of M along -v; near: a point of the simplex, or NULL. */
LANES tip support(const kn_hull* A, const kn_hull* B, const kn_pose* rel, v3 v, const tip* near) {
  v3 d = m3_tmul(rel->R, v);
  int ib = near && B->nv > CLIMB ? climb(B, d.x, d.y, d.z, near->ib) : search(B, d.x, d.y, d.z);
  int ia = near && A->nv > CLIMB ? climb(A, -v.x, -v.y, -v.z, near->ia) : search(A, -v.x, -v.y, -v.z);
  return tip_at(A, B, rel, ia, ib);
}

/* What is left of a simplex: places in it, the newest last, and the nearest point. */
typedef struct part {
  int n, id[3];
  v3 v;
  double vv;
} part;

LANES part on_point(const tip* p, int a) {
  v3 v = p[a].w;
  return (part){1, {a}, v, v3_norm2(v)};
}

LANES part on_edge(const tip* p, int b, int a) { /* known to lie between them */
  v3 e = v3_sub(p[b].w, p[a].w);
  double ee = v3_norm2(e), t = -v3_dot(p[a].w, e) / ee;
  v3 v = v3_axpy(p[a].w, t, e);
  v = v3_axpy(v, -v3_dot(v, e) / ee, e);
  return (part){2, {b, a}, v, v3_norm2(v)};
}

/* Triangle with the newest point a: the face, one of its edges at a, or a. */
static inline part on_triangle(const tip* p, int c, int b, int a) {
  v3 A = p[a].w, e = v3_sub(p[b].w, A), f = v3_sub(p[c].w, A);
  double d1 = -v3_dot(e, A), d2 = -v3_dot(f, A), ee = v3_norm2(e), ff = v3_norm2(f), ef = v3_dot(e, f);
  double over_f = ee * d2 - ef * d1, over_e = ff * d1 - ef * d2; /* beyond edge e, beyond edge f if <= 0 */
  if (over_f > 0 && over_e > 0) {
    v3 n = v3_cross(e, f);
    double nn = v3_norm2(n), s = v3_dot(n, A) / nn;
    v3 v = v3_mul(n, s);
    return (part){3, {c, b, a}, v, v3_norm2(v)};
  }
  if (over_f <= 0 && d1 > 0) return on_edge(p, b, a);
  if (d2 > 0) return on_edge(p, c, a);
  return d1 > 0 ? on_edge(p, b, a) : on_point(p, a);
}

/* Tetrahedron with the newest point 3: false when it holds the origin. */
static inline bool on_tetrahedron(part* out, const tip* p) {
  v3 A = p[3].w, e = v3_sub(p[0].w, A), f = v3_sub(p[1].w, A), g = v3_sub(p[2].w, A);
  v3 ef = v3_cross(e, f), fg = v3_cross(f, g), ge = v3_cross(g, e);
  double det = v3_dot(e, fg), s = det > 0 ? 1 : -1;
  bool out_ef = s * v3_dot(ef, A) > 0, out_fg = s * v3_dot(fg, A) > 0, out_ge = s * v3_dot(ge, A) > 0;
  *out = (part){.n = 0, .vv = INFINITY};
  if (out_ef) *out = on_triangle(p, 0, 1, 3);
  if (out_fg) {
    part t = on_triangle(p, 1, 2, 3);
    if (t.vv < out->vv) *out = t;
  }
  if (out_ge) {
    part t = on_triangle(p, 0, 2, 3);
    if (t.vv < out->vv) *out = t;
  }
  return out_ef || out_fg || out_ge;
}

static inline bool next_part(part* out, const tip* p, int count) {
  switch (count) {
  case 2: {
    v3 e = v3_sub(p[0].w, p[1].w);
    *out = -v3_dot(p[1].w, e) > 0 ? on_edge(p, 0, 1) : on_point(p, 1);
    return true;
  }
  case 3: *out = on_triangle(p, 0, 1, 2); return true;
  default: return on_tetrahedron(out, p);
  }
}

LANES void keep(kn_gjk* g, const part* k) {
  for (int i = 0; i < k->n; i++) /* places ascend, so copying down is safe */
    if (k->id[i] != i) g->p[i] = g->p[k->id[i]];
  g->count = k->n, g->v = k->v;
}

/* Of the foot of the origin on the plane through a, a + e, a + f with m = e x f. */
LANES bool weigh_face(kn_gjk* g, v3 a, v3 e, v3 f, v3 m, double mm) {
  double b = -v3_dot(m, v3_cross(a, f)) / mm, c = -v3_dot(m, v3_cross(e, a)) / mm;
  g->weight[0] = 1 - b - c, g->weight[1] = b, g->weight[2] = c;
  return (b >= 0) & (c >= 0) & (b + c <= 1);
}

/* Barycentric coordinates of v; false when it is outside (rounding). */
static bool weigh(kn_gjk* g) {
  const tip* p = g->p;
  if (g->count == 1) {
    g->weight[0] = 1;
    return true;
  }
  v3 a = p[0].w, e = v3_sub(p[1].w, a);
  if (g->count == 2) {
    double t = -v3_dot(a, e) / v3_norm2(e);
    g->weight[0] = 1 - t, g->weight[1] = t;
    return t >= 0 && t <= 1;
  }
  v3 f = v3_sub(p[2].w, a), m = v3_cross(e, f);
  return weigh_face(g, a, e, f, m, v3_norm2(m));
}

/* The corner nearest to the origin. */
static bool start_corner(kn_gjk* g) {
  int best = 0;
  for (int i = 1; i < g->count; i++)
    if (v3_norm2(g->p[i].w) < v3_norm2(g->p[best].w)) best = i;
  g->p[0] = g->p[best], g->v = g->p[0].w, g->count = 1;
  return true;
}

/* Last frame's simplex; where the origin is no longer over it a corner of it, if that is wanted. */
static inline bool start_warm(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                              const kn_pair_cache* warm, bool corner) {
  int n = warm->simplex_count;
  for (int i = 0; i < n; i++) {
    int ia = warm->simplex[i][0], ib = warm->simplex[i][1];
    if ((unsigned)ia >= (unsigned)A->nv || (unsigned)ib >= (unsigned)B->nv) return false;
    g->p[i] = tip_at(A, B, rel, ia, ib);
  }
  g->count = n;
  v3 a = g->p[0].w;
  if (n == 1) {
    g->v = a;
    return true;
  }
  v3 e = v3_sub(g->p[1].w, a);
  if (n == 2) {
    double ee = v3_norm2(e), t = -v3_dot(a, e);
    if (!(t > 0 && t < ee)) return corner && start_corner(g);
    g->v = on_edge(g->p, 1, 0).v;
    return true;
  }
  v3 f = v3_sub(g->p[2].w, a), m = v3_cross(e, f);
  double mm = v3_norm2(m);
  if (!(mm > 1e-28 * v3_norm2(e) * v3_norm2(f)) || !weigh_face(g, a, e, f, m, mm))
    return corner && start_corner(g);
  g->v = v3_mul(m, v3_dot(m, a) / mm);
  return true;
}

LANES bool has(const kn_gjk* g, const tip* p) {
  bool yes = false;
  for (int i = 0; i < g->count; i++) yes |= (g->p[i].ia == p->ia) & (g->p[i].ib == p->ib);
  return yes;
}

static kn_hull_state hulls_apart(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                                 double limit, const kn_pair_cache* warm) {
  g->size = A->radius + B->radius;
  /* distances from a corner: of contacts the last digits stay */
  bool is_warm = warm && warm->simplex_count >= 1 && warm->simplex_count <= 3 &&
                 start_warm(g, A, B, rel, warm, limit == INFINITY);
  if (!is_warm) {
    v3 d = v3_sub(v3_of(A->centroid), v3_placed(rel, v3_of(B->centroid)));
    if (!(v3_norm2(d) > 0)) return KN_HULL_UNSURE;
    g->p[0] = support(A, B, rel, d, NULL);
    g->count = 1, g->v = g->p[0].w;
    double along = v3_dot(g->p[0].w, d);
    if (along > 0 && limit < INFINITY && along > limit * v3_norm(d)) return KN_HULL_BEYOND;
  }
  bool weighed = is_warm && g->count == 3;
  double vv = v3_norm2(g->v);
  for (int it = 0; it < 24; it++) {
    g->dist = sqrt(vv);
    tip p = support(A, B, rel, g->v, is_warm || it > 0 ? &g->p[g->count - 1] : NULL);
    double wv = v3_dot(p.w, g->v);
    if (!(vv > 1e-24 * g->size * g->size)) return KN_HULL_UNSURE;
    if (wv > limit * g->dist) return KN_HULL_BEYOND;
    if (vv - wv <= 1e-12 * vv + 1e-16 * g->size * g->dist) {
      g->along = g->lower = wv / g->dist, g->size = kn_max(g->dist, g->size);
      return (weighed && it == 0) || weigh(g) ? KN_HULL_APART : KN_HULL_UNSURE;
    }
    if (has(g, &p)) {
      g->along = g->lower = wv / g->dist, g->size = kn_max(g->dist, g->size);
      return vv - wv <= 1e-11 * g->size * g->dist && weigh(g) ? KN_HULL_APART : KN_HULL_UNSURE;
    }
    g->p[g->count++] = p;
    part next = {.n = 0};
    if (!next_part(&next, g->p, g->count)) {
      for (int i = 0; i < 4; i++) g->size = kn_max(v3_max_abs(g->p[i].w), g->size);
      return KN_HULL_OVERLAP;
    }
    if (!(next.vv < vv)) return KN_HULL_UNSURE;
    keep(g, &next);
    vv = next.vv;
  }
  return KN_HULL_UNSURE;
}

#if KN_W == 4
/* pose_relative, a row at a time. */
LANES void relative(double out[13], const kn_pose* A, const kn_pose* B) {
  vec b0 = load(B->R), b1 = load(B->R + 3), b2 = load(B->R + 6), a0 = load(A->R), a1 = load(A->R + 3),
      a2 = load(A->R + 6);
  UNROLL for (int i = 0; i < 3; i++) /* the fourth number is overwritten by the next row */
      * (loose*)(out + 3 * i) = A->R[i] * b0 + A->R[3 + i] * b1 + A->R[6 + i] * b2;
  v3 d = v3_sub(v3_of(B->p), v3_of(A->p));
  *(loose*)(out + 9) = a0 * d.x + a1 * d.y + a2 * d.z;
}
#endif

bool KN_NAME(kn_hull_distance)(kn_distance_result* out, const kn_pair* q) {
  if (still_apart(out, q)) return true;
  kn_gjk g;
#if KN_W == 4
  union {
    double room[13];
    kn_pose pose;
  } rel;
  relative(rel.room, q->A, q->B);
#else
  struct {
    kn_pose pose;
  } rel = {kn_pose_between(q->A, q->B)};
#endif
  if (hulls_apart(&g, q->a->hull, q->b->hull, &rel.pose, INFINITY, q->cache) != KN_HULL_APART) return false;
  v3 n = v3_mul(g.v, 1 / g.dist), a = v3_mul(g.p[0].a, g.weight[0]);
  for (int i = 1; i < g.count; i++) a = v3_axpy(a, g.weight[i], g.p[i].a);
  kn_pair_cache* cache = q->cache;
  cache->simplex_count = g.count;
  for (int i = 0; i < g.count; i++) cache->simplex[i][0] = g.p[i].ia, cache->simplex[i][1] = g.p[i].ib;
  v3_to(cache->normal, n);
  kn_result_a(out, m3_mul(q->A->R, n), g.dist, v3_placed(q->A, a));
  return true;
}

kn_hull_state KN_NAME(kn_hull_apart)(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                                     double limit, const kn_pair_cache* warm) {
  return hulls_apart(g, A, B, rel, limit, warm);
}
