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
#include "collide/lanes.h"

/* Hulls with more vertices: a known place is a better start than looking at all. Last frame's is better than
   one of this search. */
enum { CLIMB = 40, CLIMB_WARM = 12, WIDE = 64 };

#if KN_W == 4 && defined(__AVX512DQ__)
/* Large hulls eight at a time. */
static int farthest_wide(const kn_hull* h, double dx, double dy, double dz) {
  const double *x = h->x, *y = h->y, *z = h->z;
  __m512d ex = _mm512_set1_pd(dx), ey = _mm512_set1_pd(dy), ez = _mm512_set1_pd(dz);
#define ALONG(i)                                                                                             \
  _mm512_add_pd(_mm512_add_pd(_mm512_mul_pd(_mm512_loadu_pd(x + (i)), ex),                                   \
                              _mm512_mul_pd(_mm512_loadu_pd(y + (i)), ey)),                                  \
                _mm512_mul_pd(_mm512_loadu_pd(z + (i)), ez))
  __m512d best = ALONG(0), other = best;
  __m512i at = _mm512_setzero_si512(), at_other = at, block = at, step = _mm512_set1_epi64(8);
  int i = 8, n = h->nv_padded;
  for (; i + 8 < n; i += 16) {
    __m512d s = ALONG(i), t = ALONG(i + 8);
    block = _mm512_add_epi64(block, step);
    __mmask8 m = _mm512_cmp_pd_mask(s, other, _CMP_GT_OQ);
    other = _mm512_max_pd(s, other), at_other = _mm512_mask_mov_epi64(at_other, m, block);
    block = _mm512_add_epi64(block, step);
    m = _mm512_cmp_pd_mask(t, best, _CMP_GT_OQ);
    best = _mm512_max_pd(t, best), at = _mm512_mask_mov_epi64(at, m, block);
  }
  if (i < n) {
    __m512d s = ALONG(i);
    block = _mm512_add_epi64(block, step);
    __mmask8 m = _mm512_cmp_pd_mask(s, other, _CMP_GT_OQ);
    other = _mm512_max_pd(s, other), at_other = _mm512_mask_mov_epi64(at_other, m, block);
  }
#undef ALONG
  __m512d larger_one = _mm512_max_pd(best, other);
  __m256d fold = _mm256_max_pd(_mm512_castpd512_pd256(larger_one), _mm512_extractf64x4_pd(larger_one, 1));
  fold = _mm256_max_pd(fold, _mm256_permute4x64_pd(fold, 0x4e));
  fold = _mm256_max_pd(fold, _mm256_permute_pd(fold, 5));
  __m512d top = _mm512_broadcastsd_pd(_mm256_castpd256_pd128(fold));
  unsigned mask = _mm512_cmp_pd_mask(best, top, _CMP_EQ_OQ);
  int64_t ids[16] __attribute__((aligned(64)));
  _mm512_store_si512(ids, at), _mm512_store_si512(ids + 8, at_other);
  mask |= (unsigned)_mm512_cmp_pd_mask(other, top, _CMP_EQ_OQ) << 8;
  int lane = __builtin_ctz(mask), id = (int)ids[lane] + (lane & 7);
  for (mask &= mask - 1; mask; mask &= mask - 1) { /* ties: the lowest */
    lane = __builtin_ctz(mask);
    int k = (int)ids[lane] + (lane & 7);
    id = k < id ? k : id;
  }
  return id;
}
#endif

#if KN_W == 4
#define FOLD_A(v) __builtin_shufflevector(v, v, 2, 3, 0, 1)
#define FOLD_B(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#else
#define FOLD_A(v) __builtin_shufflevector(v, v, 1, 0)
#define FOLD_B(v) (v)
#endif

/* Two running maxima, so that one need not wait for the other. */
LANES int farthest(const kn_hull* h, double dx, double dy, double dz) {
  const double *x = h->x, *y = h->y, *z = h->z;
  int n = h->nv_padded;
#if KN_W == 4 && defined(__AVX512DQ__)
  if (n > WIDE) return farthest_wide(h, dx, dy, dz);
#endif
  vec best = load(x) * dx + load(y) * dy + load(z) * dz;
  vec other = load(x + KN_W) * dx + load(y + KN_W) * dy + load(z + KN_W) * dz;
  ivec at = {0}, block = {0}, at_other = {0}; /* of the block; the lane is added */
  for (int i = 2 * KN_W; i < n; i += 2 * KN_W) {
    vec s = load(x + i) * dx + load(y + i) * dy + load(z + i) * dz;
    vec t = load(x + i + KN_W) * dx + load(y + i + KN_W) * dy + load(z + i + KN_W) * dz;
    block += 2 * KN_W;
    ivec m = s > best, k = t > other;
    best = choose(m, s, best), at = (ivec)choose(m, (vec)block, (vec)at);
    other = choose(k, t, other), at_other = (ivec)choose(k, (vec)block, (vec)at_other);
  }
  vec top = larger(best, other);
  top = larger(top, FOLD_A(top));
  top = larger(top, FOLD_B(top));
  unsigned mask = bits_of(best == top) | bits_of(other == top) << KN_W;
  int lane = __builtin_ctz(mask);
  if (n == 2 * KN_W) return lane;
  ivec ids[2] = {at, at_other};
  const int64_t* id_of = (const int64_t*)ids;
  int id = (int)id_of[lane] + lane;
  for (mask &= mask - 1; mask; mask &= mask - 1) { /* ties: the lowest */
    lane = __builtin_ctz(mask);
    int k = (int)id_of[lane] + lane;
    id = k < id ? k : id;
  }
  return id;
}

/* The largest s = x.d of the KN_HULL_LANES points at p: its lane, the first of equal ones, and *top = s if
   that is above; else -1. */
LANES int best_of(const double* p, double dx, double dy, double dz, double* top) {
  enum { N = KN_HULL_LANES };
#if KN_W == 4 && defined(__AVX512DQ__)
  __m512d s = _mm512_add_pd(_mm512_add_pd(_mm512_mul_pd(_mm512_loadu_pd(p), _mm512_set1_pd(dx)),
                                          _mm512_mul_pd(_mm512_loadu_pd(p + N), _mm512_set1_pd(dy))),
                            _mm512_mul_pd(_mm512_loadu_pd(p + 2 * N), _mm512_set1_pd(dz)));
  if (!_mm512_cmp_pd_mask(s, _mm512_set1_pd(*top), _CMP_GT_OQ)) return -1;
  vec most = larger((vec)_mm512_castpd512_pd256(s), (vec)_mm512_extractf64x4_pd(s, 1));
  most = larger(most, FOLD_A(most));
  most = larger(most, FOLD_B(most));
  *top = most[0];
  return __builtin_ctz(_mm512_cmp_pd_mask(s, _mm512_set1_pd(*top), _CMP_EQ_OQ));
#else
  vec s[N / KN_W], most = splat(*top);
  UNROLL for (int i = 0; i < N / KN_W; i++) {
    const double* x = p + i * KN_W;
    s[i] = load(x) * dx + load(x + N) * dy + load(x + 2 * N) * dz;
    most = larger(s[i], most);
  }
  if (!bits_of(most > *top)) return -1;
  most = larger(most, FOLD_A(most));
  most = larger(most, FOLD_B(most));
  *top = most[0];
  unsigned mask = 0;
  UNROLL for (int i = 0; i < N / KN_W; i++) mask |= bits_of(s[i] == most) << i * KN_W;
  return __builtin_ctz(mask);
#endif
}

static int climb_thin(const kn_hull* h, double dx, double dy, double dz, int id) {
  double top = h->x[id] * dx + h->y[id] * dy + h->z[id] * dz;
  for (;;) {
    int best = id;
    for (int k = h->adj_start[id]; k < h->adj_start[id + 1]; k++) {
      int v = h->adj[k];
      double s = h->x[v] * dx + h->y[v] * dy + h->z[v] * dz;
      if (s > top) top = s, best = v;
    }
    if (best == id) return id;
    id = best;
  }
}

/* From vertex to better neighbour: on a convex hull a local maximum is the maximum. */
static inline int climb(const kn_hull* h, double dx, double dy, double dz, int id) {
  if (!h->star) return climb_thin(h, dx, dy, dz, id);
  double top = h->x[id] * dx + h->y[id] * dy + h->z[id] * dz;
  for (;;) {
    int best = id;
    for (int first = h->star_start[id], b = first; b < h->star_start[id + 1]; b++) {
      int lane = best_of(h->star + 3 * KN_HULL_LANES * (size_t)b, dx, dy, dz, &top);
      if (lane >= 0) best = h->adj[h->adj_start[id] + KN_HULL_LANES * (b - first) + lane];
    }
    if (best == id) return id;
    id = best;
  }
}

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
  int ib = near && B->nv > CLIMB ? climb(B, d.x, d.y, d.z, near->ib) : farthest(B, d.x, d.y, d.z);
  int ia = near && A->nv > CLIMB ? climb(A, -v.x, -v.y, -v.z, near->ia) : farthest(A, -v.x, -v.y, -v.z);
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

/* Last frame's simplex, if the origin is still over it. */
static inline bool start_warm(kn_gjk* g, const kn_hull* A, const kn_hull* B, const kn_pose* rel,
                              const kn_pair_cache* warm) {
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
    if (!(t > 0 && t < ee)) return false;
    g->v = on_edge(g->p, 1, 0).v;
    return true;
  }
  v3 f = v3_sub(g->p[2].w, a), m = v3_cross(e, f);
  double mm = v3_norm2(m);
  if (!(mm > 1e-28 * v3_norm2(e) * v3_norm2(f)) || !weigh_face(g, a, e, f, m, mm)) return false;
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
  bool is_warm =
      warm && warm->simplex_count >= 1 && warm->simplex_count <= 3 && start_warm(g, A, B, rel, warm);
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
