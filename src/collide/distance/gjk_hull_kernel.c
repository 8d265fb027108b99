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
enum { CLIMB = 40, CLIMB_WARM = 12 };

LANES int toward(const kn_hull* h, double dx, double dy, double dz, int near) {
  return h->nv > CLIMB_WARM ? climb(h, dx, dy, dz, near) : farthest(h, dx, dy, dz);
}

#include "collide/distance/gjk_hull_still.h"

/* A point of M, in the frame of A. */
typedef struct tip {
  xyz w, a, b;
  int ia, ib;
} tip;

typedef struct simplex {
  tip p[4];
  int count;
  xyz v; /* nearest point */
  double weight[3], dist, along, size;
} simplex;

typedef struct hulls {
  const kn_hull *A, *B;
  xyz row[3], column[3], at; /* B in the frame of A */
} hulls;

LANES hulls hulls_of(const kn_hull* A, const kn_hull* B, const kn_pose* rel) {
  const double* R = rel->R;
  return (hulls){A,
                 B,
                 {xyz_at(R), xyz_at(R + 3), xyz_at(R + 6)},
                 {xyz_column(R, 0), xyz_column(R, 1), xyz_column(R, 2)},
                 xyz_position(R)};
}

LANES double xyz_norm2(xyz a) { return xyz_dot(a, a); }
LANES xyz xyz_of(double x, double y, double z) {
#if KN_W == 2
  return (v3){x, y, z};
#else
  return (row){x, y, z, 0};
#endif
}

LANES xyz placed_vertex(const hulls* h, double x, double y, double z) {
  return xyz_add(xyz_sum(h->column[0], x, h->column[1], y, h->column[2], z), h->at);
}

LANES tip tip_at(const hulls* h, int ia, int ib) {
  const kn_hull *A = h->A, *B = h->B;
  tip p;
  p.ia = ia, p.ib = ib;
  p.a = xyz_of(A->x[ia], A->y[ia], A->z[ia]);
  p.b = placed_vertex(h, B->x[ib], B->y[ib], B->z[ib]);
  p.w = xyz_sub(p.a, p.b);
  return p;
}

/* Support of M along -v; near: a point of the simplex, or NULL. */
LANES tip support(const hulls* h, xyz towards, const tip* near) {
  const kn_hull *A = h->A, *B = h->B;
  v3 v = xyz_parts(towards), d = xyz_parts(xyz_sum(h->row[0], v.x, h->row[1], v.y, h->row[2], v.z));
  int ib = near && B->nv > CLIMB ? climb(B, d.x, d.y, d.z, near->ib) : search(B, d.x, d.y, d.z);
  int ia = near && A->nv > CLIMB ? climb(A, -v.x, -v.y, -v.z, near->ia) : search(A, -v.x, -v.y, -v.z);
  return tip_at(h, ia, ib);
}

/* What is left of a simplex: places in it, the newest last, and the nearest point. */
typedef struct part {
  int n, id[3];
  xyz v;
  double vv;
} part;

LANES part on_point(const tip* p, int a) {
  xyz v = p[a].w;
  return (part){1, {a}, v, xyz_norm2(v)};
}

LANES part on_edge(const tip* p, int b, int a) { /* known to lie between them */
  xyz e = xyz_sub(p[b].w, p[a].w);
  double ee = xyz_norm2(e), t = -xyz_dot(p[a].w, e) / ee;
  xyz v = xyz_axpy(p[a].w, t, e);
  v = xyz_axpy(v, -xyz_dot(v, e) / ee, e);
  return (part){2, {b, a}, v, xyz_norm2(v)};
}

/* Triangle with the newest point a: the face, one of its edges at a, or a. */
static inline part on_triangle(const tip* p, int c, int b, int a) {
  xyz A = p[a].w, e = xyz_sub(p[b].w, A), f = xyz_sub(p[c].w, A);
  double d1 = -xyz_dot(e, A), d2 = -xyz_dot(f, A), ee = xyz_norm2(e), ff = xyz_norm2(f), ef = xyz_dot(e, f);
  double over_f = ee * d2 - ef * d1, over_e = ff * d1 - ef * d2; /* beyond edge e, beyond edge f if <= 0 */
  if (over_f > 0 && over_e > 0) {
    xyz n = xyz_cross(e, f);
    double nn = xyz_norm2(n), s = xyz_dot(n, A) / nn;
    xyz v = xyz_mul(n, s);
    return (part){3, {c, b, a}, v, xyz_norm2(v)};
  }
  if (over_f <= 0 && d1 > 0) return on_edge(p, b, a);
  if (d2 > 0) return on_edge(p, c, a);
  return d1 > 0 ? on_edge(p, b, a) : on_point(p, a);
}

/* Tetrahedron with the newest point 3: false when it holds the origin. */
static inline bool on_tetrahedron(part* out, const tip* p) {
  xyz A = p[3].w, e = xyz_sub(p[0].w, A), f = xyz_sub(p[1].w, A), g = xyz_sub(p[2].w, A);
  xyz ef = xyz_cross(e, f), fg = xyz_cross(f, g), ge = xyz_cross(g, e);
  double det = xyz_dot(e, fg), s = det > 0 ? 1 : -1;
  bool out_ef = s * xyz_dot(ef, A) > 0, out_fg = s * xyz_dot(fg, A) > 0, out_ge = s * xyz_dot(ge, A) > 0;
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
    xyz e = xyz_sub(p[0].w, p[1].w);
    *out = -xyz_dot(p[1].w, e) > 0 ? on_edge(p, 0, 1) : on_point(p, 1);
    return true;
  }
  case 3: *out = on_triangle(p, 0, 1, 2); return true;
  default: return on_tetrahedron(out, p);
  }
}

LANES void keep(simplex* g, const part* k) {
  for (int i = 0; i < k->n; i++) /* places ascend, so copying down is safe */
    if (k->id[i] != i) g->p[i] = g->p[k->id[i]];
  g->count = k->n, g->v = k->v;
}

/* Of the foot of the origin on the plane through a, a + e, a + f with m = e x f. */
LANES bool weigh_face(simplex* g, xyz a, xyz e, xyz f, xyz m, double mm) {
  double b = -xyz_dot(m, xyz_cross(a, f)) / mm, c = -xyz_dot(m, xyz_cross(e, a)) / mm;
  g->weight[0] = 1 - b - c, g->weight[1] = b, g->weight[2] = c;
  return (b >= 0) & (c >= 0) & (b + c <= 1);
}

/* Barycentric coordinates of v; false when it is outside (rounding). */
static bool weigh(simplex* g) {
  const tip* p = g->p;
  if (g->count == 1) {
    g->weight[0] = 1;
    return true;
  }
  xyz a = p[0].w, e = xyz_sub(p[1].w, a);
  if (g->count == 2) {
    double t = -xyz_dot(a, e) / xyz_norm2(e);
    g->weight[0] = 1 - t, g->weight[1] = t;
    return t >= 0 && t <= 1;
  }
  xyz f = xyz_sub(p[2].w, a), m = xyz_cross(e, f);
  return weigh_face(g, a, e, f, m, xyz_norm2(m));
}

/* Two points: the edge between them, or the end that is nearest. */
LANES void start_edge(simplex* g, int i, int j) {
  tip p = g->p[i], q = g->p[j];
  xyz e = xyz_sub(q.w, p.w);
  double ee = xyz_norm2(e), t = -xyz_dot(p.w, e);
  g->count = t > 0 && t < ee ? 2 : 1;
  g->p[0] = g->count == 2 || !(t > 0) ? p : q, g->p[1] = q;
  g->v = g->count == 2 ? on_edge(g->p, 1, 0).v : g->p[0].w;
}

/* Last frame's simplex if the origin is still over it; with `parts`, where it is not, the edge or corner that is nearest now. */
static inline bool start_warm(simplex* g, const hulls* h, const kn_pair_cache* warm, bool parts) {
  int n = warm->simplex_count;
  for (int i = 0; i < n; i++) {
    int ia = warm->simplex[i][0], ib = warm->simplex[i][1];
    if ((unsigned)ia >= (unsigned)h->A->nv || (unsigned)ib >= (unsigned)h->B->nv) return false;
    g->p[i] = tip_at(h, ia, ib);
  }
  g->count = n;
  xyz a = g->p[0].w;
  if (n == 1) {
    g->v = a;
    return true;
  }
  if (n == 2) {
    start_edge(g, 0, 1);
    return parts || g->count == 2;
  }
  xyz e = xyz_sub(g->p[1].w, a), f = xyz_sub(g->p[2].w, a), m = xyz_cross(e, f);
  double mm = xyz_norm2(m);
  if (!(mm > 1e-28 * xyz_norm2(e) * xyz_norm2(f))) return false;
  if (weigh_face(g, a, e, f, m, mm)) {
    g->v = xyz_mul(m, xyz_dot(m, a) / mm);
    return true;
  }
  if (!parts) return false;
  const double* l = g->weight; /* without the point from which the origin is farthest */
  if (l[0] <= l[1] && l[0] <= l[2])
    start_edge(g, 1, 2);
  else
    start_edge(g, 0, l[1] <= l[2] ? 2 : 1);
  return true;
}

LANES bool has(const simplex* g, const tip* p) {
  bool yes = false;
  for (int i = 0; i < g->count; i++) yes |= (g->p[i].ia == p->ia) & (g->p[i].ib == p->ib);
  return yes;
}

static kn_hull_state hulls_apart(simplex* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                                 double limit, const kn_pair_cache* warm, bool parts) {
  const hulls of = hulls_of(A, B, rel), *h = &of;
  g->size = A->radius + B->radius, g->dist = 0;
  bool is_warm =
      warm && warm->simplex_count >= 1 && warm->simplex_count <= 3 && start_warm(g, h, warm, parts);
  if (!is_warm) {
    const double *a = A->centroid, *b = B->centroid;
    xyz d = xyz_sub(xyz_of(a[0], a[1], a[2]), placed_vertex(h, b[0], b[1], b[2]));
    if (!(xyz_norm2(d) > 0)) return KN_HULL_UNSURE;
    g->p[0] = support(h, d, NULL);
    g->count = 1, g->v = g->p[0].w;
    double along = xyz_dot(g->p[0].w, d);
    if (along > 0 && limit < INFINITY && along > limit * sqrt(xyz_norm2(d))) return KN_HULL_BEYOND;
  }
  bool weighed = is_warm && g->count == 3;
  double vv = xyz_norm2(g->v);
  for (int it = 0; it < 24; it++) {
    g->dist = sqrt(vv);
    tip p = support(h, g->v, is_warm || it > 0 ? &g->p[g->count - 1] : NULL);
    double wv = xyz_dot(p.w, g->v);
    if (!(vv > 1e-24 * g->size * g->size)) return KN_HULL_UNSURE;
    if (wv > limit * g->dist) return KN_HULL_BEYOND;
    if (vv - wv <= 1e-12 * vv + 1e-16 * g->size * g->dist) {
      g->along = wv / g->dist, g->size = kn_max(g->dist, g->size);
      return (weighed && it == 0) || weigh(g) ? KN_HULL_APART : KN_HULL_UNSURE;
    }
    if (has(g, &p)) {
      g->along = wv / g->dist, g->size = kn_max(g->dist, g->size);
      return vv - wv <= 1e-11 * g->size * g->dist && weigh(g) ? KN_HULL_APART : KN_HULL_UNSURE;
    }
    g->p[g->count++] = p;
    part next = {.n = 0};
    if (!next_part(&next, g->p, g->count)) {
      for (int i = 0; i < 4; i++) g->size = kn_max(v3_max_abs(xyz_parts(g->p[i].w)), g->size);
      return KN_HULL_OVERLAP;
    }
    if (!(next.vv < vv)) return KN_HULL_UNSURE;
    keep(g, &next);
    vv = next.vv;
  }
  return KN_HULL_UNSURE;
}

bool KN_NAME(kn_hull_distance)(kn_distance_result* out, const kn_pair* q) {
  if (still_apart(out, q)) return true;
  simplex g;
  kn_pose rel = pose_between(q->A, q->B);
  if (hulls_apart(&g, q->a->hull, q->b->hull, &rel, INFINITY, q->cache, true) != KN_HULL_APART) return false;
  xyz n = xyz_mul(g.v, 1 / g.dist), a = xyz_mul(g.p[0].a, g.weight[0]);
  for (int i = 1; i < g.count; i++) a = xyz_axpy(a, g.weight[i], g.p[i].a);
  kn_pair_cache* cache = q->cache;
  cache->simplex_count = g.count;
  for (int i = 0; i < g.count; i++) cache->simplex[i][0] = g.p[i].ia, cache->simplex[i][1] = g.p[i].ib;
  v3_to(cache->normal, xyz_parts(n));
  kn_result_a(out, m3_mul(q->A->R, xyz_parts(n)), g.dist, v3_placed(q->A, xyz_parts(a)));
  return true;
}

kn_hull_state KN_NAME(kn_hull_apart)(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                                     double limit, const kn_pair_cache* warm) {
  simplex s;
  kn_hull_state state =
      hulls_apart(&s, A, B, rel, limit, warm, false); /* contacts: their digits as of a fresh search */
  if (state == KN_HULL_UNSURE) return state;
  g->count = s.count, g->v = xyz_parts(s.v), g->dist = s.dist, g->size = s.size;
  if (state == KN_HULL_APART) {
    g->along = g->lower = s.along;
    for (int i = 0; i < s.count; i++) g->weight[i] = s.weight[i];
  }
  for (int i = 0; i < s.count; i++) {
    kn_gjk_point* p = &g->p[i];
    p->w = xyz_parts(s.p[i].w), p->a = xyz_parts(s.p[i].a), p->b = xyz_parts(s.p[i].b);
    p->ia = s.p[i].ia, p->ib = s.p[i].ib;
  }
  return state;
}
