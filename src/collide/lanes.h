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
#if KN_W == 8 && defined(__AVX512DQ__)
LANES unsigned bits_of(ivec m) { return (unsigned)_mm512_movepi64_mask((__m512i)m); }
LANES vec choose(ivec m, vec a, vec b) {
  return (vec)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)m), (__m512d)b, (__m512d)a);
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
LANES vec larger(vec a, vec b) { return choose(a > b, a, b); }
LANES vec smaller(vec a, vec b) { return choose(a < b, a, b); }
/* as x < lo ? lo : x > hi ? hi : x */
LANES vec between(vec x, vec lo, vec hi) { return choose(x < lo, lo, choose(x > hi, hi, x)); }

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

/* Four consecutive numbers at each of KN_W places, as four vectors, and back (stored lane after lane). */
#if KN_W == 8
#define UNPACK_LO(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define UNPACK_HI(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define HALVES_LO(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HALVES_HI(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#elif KN_W == 4
#define UNPACK_LO(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define UNPACK_HI(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define HALVES_LO(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define HALVES_HI(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif

#if KN_W == 8
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
#endif

#if KN_W >= 4
LANES void transpose(vec o[4], vec r0, vec r1, vec r2, vec r3) {
  vec t0 = UNPACK_LO(r0, r1), t1 = UNPACK_HI(r0, r1), t2 = UNPACK_LO(r2, r3), t3 = UNPACK_HI(r2, r3);
  o[0] = HALVES_LO(t0, t2), o[1] = HALVES_LO(t1, t3);
  o[2] = HALVES_HI(t0, t2), o[3] = HALVES_HI(t1, t3);
}
#endif

LANES void load4(vec o[4], const double* const at[KN_W]) {
#if KN_W == 8
  vec r[4];
  UNROLL for (int i = 0; i < 4; i++) {
    four lo = *(const four*)at[i], hi = *(const four*)at[i + 4];
    r[i] = __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  transpose(o, r[0], r[1], r[2], r[3]);
#elif KN_W == 4
  transpose(o, load(at[0]), load(at[1]), load(at[2]), load(at[3]));
#else
  vec a0 = load(at[0]), a1 = load(at[0] + 2), b0 = load(at[1]), b1 = load(at[1] + 2);
  o[0] = __builtin_shufflevector(a0, b0, 0, 2), o[1] = __builtin_shufflevector(a0, b0, 1, 3);
  o[2] = __builtin_shufflevector(a1, b1, 0, 2), o[3] = __builtin_shufflevector(a1, b1, 1, 3);
#endif
}

LANES void store4(double* const at[KN_W], int offset, vec a, vec b, vec c, vec d) {
#if KN_W == 8
  vec o[4];
  transpose(o, a, b, c, d);
  UNROLL for (int i = 0; i < 4; i++) * (four*)(at[i] + offset) =
      __builtin_shufflevector(o[i], o[i], 0, 1, 2, 3);
  UNROLL for (int i = 0; i < 4; i++) * (four*)(at[i + 4] + offset) =
      __builtin_shufflevector(o[i], o[i], 4, 5, 6, 7);
#elif KN_W == 4
  vec o[4];
  transpose(o, a, b, c, d);
  UNROLL for (int i = 0; i < 4; i++) * (loose*)(at[i] + offset) = o[i];
#else
  vec a0 = __builtin_shufflevector(a, b, 0, 2), b0 = __builtin_shufflevector(a, b, 1, 3);
  vec a1 = __builtin_shufflevector(c, d, 0, 2), b1 = __builtin_shufflevector(c, d, 1, 3);
  *(loose*)(at[0] + offset) = a0, *(loose*)(at[0] + offset + 2) = a1;
  *(loose*)(at[1] + offset) = b0, *(loose*)(at[1] + offset + 2) = b1;
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

#endif
