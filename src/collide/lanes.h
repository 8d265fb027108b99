/* KN_W numbers side by side: what the kernels over many pairs are written in. Included once per instruction
   set with KN_W = 2 (portable), 4 (AVX2) or 8 (AVX-512). Every operation is one rounding per lane, so the
   lanes hold the same numbers as the scalar code. */
#ifndef KN_COLLIDE_LANES_H
#define KN_COLLIDE_LANES_H

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "knuckle/types.h"
#include "spatial/v3.h"

typedef double vec __attribute__((vector_size(8 * KN_W)));
typedef int64_t ivec __attribute__((vector_size(8 * KN_W)));
typedef struct vec3 {
  vec x, y, z;
} vec3;

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
LANES vec negative(vec a) { return (vec)((ivec)a ^ INT64_MIN); }
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
/* as x < lo ? lo : x > hi ? hi : x; lo <= hi */
LANES vec between(vec x, vec lo, vec hi) { return larger(lo, smaller(hi, x)); }

LANES vec3 sub3(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
LANES vec3 add3(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
LANES vec3 mul3(vec3 a, vec s) { return (vec3){a.x * s, a.y * s, a.z * s}; }
LANES vec3 neg3(vec3 a) { return (vec3){negative(a.x), negative(a.y), negative(a.z)}; }
LANES vec3 axpy3(vec3 a, vec s, vec3 b) { return (vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; }
LANES vec dot3(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
LANES vec3 cross3(vec3 a, vec3 b) {
  return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
LANES vec3 choose3(ivec m, vec3 a, vec3 b) {
  return (vec3){choose(m, a.x, b.x), choose(m, a.y, b.y), choose(m, a.z, b.z)};
}

#if KN_W == 8
#define UNPACK_LO(a, b)   (vec) _mm512_unpacklo_pd((__m512d)(a), (__m512d)(b))
#define UNPACK_HI(a, b)   (vec) _mm512_unpackhi_pd((__m512d)(a), (__m512d)(b))
#define EVEN_BLOCKS(a, b) (vec) _mm512_shuffle_f64x2((__m512d)(a), (__m512d)(b), 0x88)
#define ODD_BLOCKS(a, b)  (vec) _mm512_shuffle_f64x2((__m512d)(a), (__m512d)(b), 0xdd)
LANES void turn_rows(vec o[4], const vec r[4]) {
  vec t0 = UNPACK_LO(r[0], r[1]), t1 = UNPACK_HI(r[0], r[1]), t2 = UNPACK_LO(r[2], r[3]),
      t3 = UNPACK_HI(r[2], r[3]);
  o[0] = EVEN_BLOCKS(t0, t2), o[1] = EVEN_BLOCKS(t1, t3), o[2] = ODD_BLOCKS(t0, t2),
  o[3] = ODD_BLOCKS(t1, t3);
}
#elif KN_W == 4
LANES void transpose(vec o[4], vec r0, vec r1, vec r2, vec r3) {
  vec t0 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), t1 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
  vec t2 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), t3 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  o[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5), o[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  o[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7), o[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
#endif

/* Four consecutive numbers at each of KN_W places, as four vectors. Eight lanes: pairs 0 and 2, 1 and 3, 4
   and 6, 5 and 7 share a register, so that two shuffles per vector put the lanes in order. */
LANES void load4(vec o[4], const double* const at[KN_W]) {
#if KN_W == 8
  vec r[4];
  UNROLL for (int i = 0; i < 4; i++) {
    int k = i < 2 ? i : i + 2;
    r[i] = (vec)_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(at[k])), _mm256_loadu_pd(at[k + 2]),
                                   1);
  }
  turn_rows(o, r);
#elif KN_W == 4
  transpose(o, load(at[0]), load(at[1]), load(at[2]), load(at[3]));
#else
  vec a0 = load(at[0]), a1 = load(at[0] + 2), b0 = load(at[1]), b1 = load(at[1] + 2);
  o[0] = __builtin_shufflevector(a0, b0, 0, 2), o[1] = __builtin_shufflevector(a0, b0, 1, 3);
  o[2] = __builtin_shufflevector(a1, b1, 0, 2), o[3] = __builtin_shufflevector(a1, b1, 1, 3);
#endif
}

/* Eight vectors as eight consecutive numbers at each of KN_W places, lane after lane. */
LANES void store8(double* const at[KN_W], const vec v[8]) {
#if KN_W == 8
  UNROLL for (int odd = 0; odd < 2; odd++) {
    vec t[4];
    UNROLL for (int i = 0; i < 4; i++) t[i] =
        odd ? UNPACK_HI(v[2 * i], v[2 * i + 1]) : UNPACK_LO(v[2 * i], v[2 * i + 1]);
    vec s0 = EVEN_BLOCKS(t[0], t[1]), s1 = EVEN_BLOCKS(t[2], t[3]);
    vec s2 = ODD_BLOCKS(t[0], t[1]), s3 = ODD_BLOCKS(t[2], t[3]);
    *(loose*)at[odd] = EVEN_BLOCKS(s0, s1), *(loose*)at[odd + 2] = EVEN_BLOCKS(s2, s3);
    *(loose*)at[odd + 4] = ODD_BLOCKS(s0, s1), *(loose*)at[odd + 6] = ODD_BLOCKS(s2, s3);
  }
#elif KN_W == 4
  vec lo[4], hi[4];
  transpose(lo, v[0], v[1], v[2], v[3]), transpose(hi, v[4], v[5], v[6], v[7]);
  UNROLL for (int i = 0; i < 4; i++) * (loose*)at[i] = lo[i], *(loose*)(at[i] + 4) = hi[i];
#else
  UNROLL for (int i = 0; i < 8; i += 2) * (loose*)(at[0] + i) = __builtin_shufflevector(v[i], v[i + 1], 0, 2);
  UNROLL for (int i = 0; i < 8; i += 2) * (loose*)(at[1] + i) = __builtin_shufflevector(v[i], v[i + 1], 1, 3);
#endif
}

/* Poses of KN_W shapes; parts that are not used cost nothing. R by rows, as in kn_pose. */
typedef struct poses {
  vec R[9];
  vec3 p;
} poses;

LANES poses load_poses(const kn_pose* pose, const int32_t* where) {
  const double* at[KN_W];
  poses o;
  vec b[4];
  UNROLL for (int i = 0; i < KN_W; i++) at[i] = (const double*)pose + where[i];
  load4(o.R, at);
  UNROLL for (int i = 0; i < KN_W; i++) at[i] += 4;
  load4(o.R + 4, at);
  UNROLL for (int i = 0; i < KN_W; i++) at[i] += 4;
  load4(b, at);
  o.R[8] = b[0], o.p = (vec3){b[1], b[2], b[3]};
  return o;
}

LANES vec3 column(const poses* P, int j) { return (vec3){P->R[j], P->R[3 + j], P->R[6 + j]}; }
LANES vec3 turn(const poses* P, vec3 a) {
  return (vec3){P->R[0] * a.x + P->R[1] * a.y + P->R[2] * a.z, P->R[3] * a.x + P->R[4] * a.y + P->R[5] * a.z,
                P->R[6] * a.x + P->R[7] * a.y + P->R[8] * a.z};
}
LANES vec3 turn_back(const poses* P, vec3 a) {
  return (vec3){P->R[0] * a.x + P->R[3] * a.y + P->R[6] * a.z, P->R[1] * a.x + P->R[4] * a.y + P->R[7] * a.z,
                P->R[2] * a.x + P->R[5] * a.y + P->R[8] * a.z};
}

/* Rows: one vector of one pair in a register, lanes (-, x, y, z) as positions and contacts lie in memory. */
typedef double row __attribute__((vector_size(32)));
typedef int64_t irow __attribute__((vector_size(32)));
typedef double loose4 __attribute__((vector_size(32), aligned(8), may_alias)); /* any address */

LANES row row_at(const double* p) { return *(const loose4*)p; }
LANES row row_of(v3 a) { return (row){0, a.x, a.y, a.z}; }
LANES row row_all(double x) { return (row){x, x, x, x}; }
LANES row row_negative(row a) { return (row)((irow)a ^ INT64_MIN); }
LANES row row_position(const double* pose) { return row_at(pose + 8); }
#if defined(__AVX__)
#define ROW_BLEND(a, b, m) (row) _mm256_blend_pd((__m256d)(a), (__m256d)(b), m)
#else
#define ROW_BLEND(a, b, m)                                                                                   \
  __builtin_shufflevector(a, b, (m)&1 ? 4 : 0, (m)&2 ? 5 : 1, (m)&4 ? 6 : 2, (m)&8 ? 7 : 3)
#endif
/* Columns of R: what is loaded lies in the right lane already. */
LANES row row_column(const double* R, int j) {
  row first = j ? row_at(R + j - 1) : row_all(R[0]);
  return ROW_BLEND(ROW_BLEND(first, row_at(R + j + 1), 4), row_at(R + j + 3), 8);
}

/* KN_W rows as lanes of pairs. */
LANES void lanes_of(vec o[4], const row r[KN_W]) {
#if KN_W == 8
  vec j[4];
  UNROLL for (int i = 0; i < 4; i++) {
    int k = i < 2 ? i : i + 2;
    j[i] = (vec)_mm512_insertf64x4(_mm512_castpd256_pd512((__m256d)r[k]), (__m256d)r[k + 2], 1);
  }
  turn_rows(o, j);
#elif KN_W == 4
  transpose(o, r[0], r[1], r[2], r[3]);
#else
  o[0] = __builtin_shufflevector(r[0], r[1], 0, 4), o[1] = __builtin_shufflevector(r[0], r[1], 1, 5);
  o[2] = __builtin_shufflevector(r[0], r[1], 2, 6), o[3] = __builtin_shufflevector(r[0], r[1], 3, 7);
#endif
}
LANES vec3 vectors_of(const row r[KN_W]) {
  vec o[4];
  lanes_of(o, r);
  return (vec3){o[1], o[2], o[3]};
}
/* x + y + z of each row */
LANES vec sums_of(const row r[KN_W]) {
  vec3 a = vectors_of(r);
  return a.x + a.y + a.z;
}

#endif
