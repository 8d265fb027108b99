/* The farthest vertex of a hull along d, KN_W vertices at a time: included by the kernels that ask for it
   (support_kernel.c, gjk_hull_kernel.c) with KN_W of 2 or 4.

   Small hulls: all vertices, of equal ones the lowest. Larger ones: from vertex to better neighbour, starting
   at a given vertex or at the one the hull's map of directions names (kn_hull.start), so that the answer is a
   function of the hull and d alone. The dot products are the same numbers on every instruction set. */
#pragma once

#include <math.h>

#include "collide/lanes.h"
#include "model/hull.h"

enum { WIDE = 64 }; /* from here on eight at a time, where there are such registers */

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
  if (!mask) return 0; /* along a direction that is none */
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
  if (!mask) return 0; /* along a direction that is none */
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
  unsigned mask = _mm512_cmp_pd_mask(s, _mm512_set1_pd(*top), _CMP_EQ_OQ);
  return mask ? __builtin_ctz(mask) : -1; /* products that are none beside others */
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
  return mask ? __builtin_ctz(mask) : -1; /* products that are none beside others */
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

/* The cell of the hull's map that d points to; any cell will do where d is nothing. */
LANES int cell_of(double dx, double dy, double dz) {
  enum { N = KN_HULL_MAP };
  double ax = fabs(dx), ay = fabs(dy), az = fabs(dz), top, u, v;
  int side;
  if (ax >= ay && ax >= az)
    side = dx > 0, top = ax, u = dy, v = dz;
  else if (ay >= az)
    side = 2 + (dy > 0), top = ay, u = dz, v = dx;
  else
    side = 4 + (dz > 0), top = az, u = dx, v = dy;
  if (!(top > 0.0 && top < INFINITY)) return 0; /* no direction */
  double per = 0.5 * N / top;
  u = u * per + 0.5 * N, v = v * per + 0.5 * N;
  /* 0 <= u, v <= N, or NaN where d holds one */
  int i = u >= 0.0 && u < N ? (int)u : N - 1, j = v >= 0.0 && v < N ? (int)v : N - 1;
  return (side * N + i) * N + j;
}

/* Far from any known place. */
LANES int search(const kn_hull* h, double dx, double dy, double dz) {
  return h->start ? climb(h, dx, dy, dz, h->start[cell_of(dx, dy, dz)]) : farthest(h, dx, dy, dz);
}
