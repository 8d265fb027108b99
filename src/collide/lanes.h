/* KN_W numbers side by side: what the kernels of hulls, boxes and sight are written in. Included once per instruction
   set with KN_W = 2 (portable), 4 (AVX2) or 8 (AVX-512). Every operation is one rounding per lane, so the
   lanes hold the same numbers as the scalar code. */
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "knuckle/types.h"
#include "spatial/v3.h"

typedef double vec __attribute__((vector_size(8 * KN_W)));
typedef int64_t ivec __attribute__((vector_size(8 * KN_W)));

#define LANES static inline __attribute__((always_inline))

LANES vec splat(double a) { return a - (vec){0}; }
typedef double loose __attribute__((vector_size(8 * KN_W), aligned(8), may_alias)); /* any address */
LANES vec load(const double* p) { return *(const loose*)p; }
#define UNROLL _Pragma("GCC unroll 8")

/* Comparisons give all bits or none; these turn them into one bit per lane, choose and combine. */
#if KN_W == 8
LANES unsigned bits_of(ivec m) { return (unsigned)_mm512_movepi64_mask((__m512i)m); }
LANES vec choose(ivec m, vec a, vec b) {
  return (vec)_mm512_ternarylogic_epi64((__m512i)m, (__m512i)a, (__m512i)b, 0xca);
}
LANES vec root(vec a) { return (vec)_mm512_sqrt_pd((__m512d)a); }
#elif KN_W == 4 && defined(__AVX__)
LANES unsigned bits_of(ivec m) { return (unsigned)_mm256_movemask_pd((__m256d)m); }
LANES vec choose(ivec m, vec a, vec b) { return (vec)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m); }
LANES vec root(vec a) { return (vec)_mm256_sqrt_pd((__m256d)a); }
#elif KN_W == 2 && defined(__SSE2__)
LANES unsigned bits_of(ivec m) { return (unsigned)_mm_movemask_pd((__m128d)m); }
LANES vec choose(ivec m, vec a, vec b) { return (vec)(((ivec)a & m) | ((ivec)b & ~m)); }
LANES vec root(vec a) { return (vec)_mm_sqrt_pd((__m128d)a); }
#else
LANES unsigned bits_of(ivec m) {
  unsigned bits = 0;
  for (int i = 0; i < KN_W; i++) bits |= (unsigned)(m[i] & 1) << i;
  return bits;
}
LANES vec choose(ivec m, vec a, vec b) { return (vec)(((ivec)a & m) | ((ivec)b & ~m)); }
LANES vec root(vec a) {
  for (int i = 0; i < KN_W; i++) a[i] = __builtin_sqrt(a[i]);
  return a;
}
#endif

LANES vec absolute(vec a) { return (vec)((ivec)a & INT64_MAX); }
/* as a > b ? a : b and a < b ? a : b */
#if KN_W == 8
LANES vec larger(vec a, vec b) { return (vec)_mm512_max_pd((__m512d)a, (__m512d)b); }
LANES vec smaller(vec a, vec b) { return (vec)_mm512_min_pd((__m512d)a, (__m512d)b); }
#elif KN_W == 4 && defined(__AVX__)
LANES vec larger(vec a, vec b) { return (vec)_mm256_max_pd((__m256d)a, (__m256d)b); }
LANES vec smaller(vec a, vec b) { return (vec)_mm256_min_pd((__m256d)a, (__m256d)b); }
#elif KN_W == 2 && defined(__SSE2__)
LANES vec larger(vec a, vec b) { return (vec)_mm_max_pd((__m128d)a, (__m128d)b); }
LANES vec smaller(vec a, vec b) { return (vec)_mm_min_pd((__m128d)a, (__m128d)b); }
#else
LANES vec larger(vec a, vec b) { return choose(a > b, a, b); }
LANES vec smaller(vec a, vec b) { return choose(a < b, a, b); }
#endif

/* Rows: one vector of one pair in a register, lanes (-, x, y, z) as positions and contacts lie in memory. */
typedef double row __attribute__((vector_size(32)));
typedef double loose4 __attribute__((vector_size(32), aligned(8), may_alias)); /* any address */

LANES row row_at(const double* p) { return *(const loose4*)p; }
LANES row row_all(double x) { return (row){x, x, x, x}; }
#if defined(__AVX__)
#define ROW_BLEND(a, b, m) (row) _mm256_blend_pd((__m256d)(a), (__m256d)(b), m)
#else
#define ROW_BLEND(a, b, m)                                                                                   \
  __builtin_shufflevector(a, b, (m)&1 ? 4 : 0, (m)&2 ? 5 : 1, (m)&4 ? 6 : 2, (m)&8 ? 7 : 3)
#endif
