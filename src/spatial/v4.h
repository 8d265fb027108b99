/* 3-vectors in the first three lanes of a 4-lane vector, lane 3 zero; the world-axes kernels of dynamics are
   written with these functions. With AVX a vector is one register, without it two: the operations and their
   order are the same, hence the bits. Memory layout: 32 bytes, 32-byte aligned. */
#pragma once

#define KN_INLINE static inline __attribute__((always_inline))

typedef double kn_v2 __attribute__((vector_size(16), may_alias));

#if defined(__AVX__)

typedef double kn_v4 __attribute__((vector_size(32), may_alias));

KN_INLINE kn_v4 v4_make(double x, double y, double z, double w) { return (kn_v4){x, y, z, w}; }
KN_INLINE kn_v4 v4_add(kn_v4 a, kn_v4 b) { return a + b; }
KN_INLINE kn_v4 v4_sub(kn_v4 a, kn_v4 b) { return a - b; }
KN_INLINE kn_v4 v4_mul(kn_v4 a, kn_v4 b) { return a * b; }
KN_INLINE kn_v4 v4_scale(kn_v4 a, double s) { return a * s; }
KN_INLINE double v4_x(kn_v4 a) { return a[0]; }
KN_INLINE double v4_y(kn_v4 a) { return a[1]; }
KN_INLINE double v4_z(kn_v4 a) { return a[2]; }
/* a times lane 0, 1, 2 of b */
KN_INLINE kn_v4 v4_mulx(kn_v4 a, kn_v4 b) { return a * __builtin_shufflevector(b, b, 0, 0, 0, 0); }
KN_INLINE kn_v4 v4_muly(kn_v4 a, kn_v4 b) { return a * __builtin_shufflevector(b, b, 1, 1, 1, 1); }
KN_INLINE kn_v4 v4_mulz(kn_v4 a, kn_v4 b) { return a * __builtin_shufflevector(b, b, 2, 2, 2, 2); }
KN_INLINE kn_v4 v4_yzx(kn_v4 a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); }
KN_INLINE kn_v2 v4_lo(kn_v4 a) { return __builtin_shufflevector(a, a, 0, 1); }
KN_INLINE kn_v2 v4_hi(kn_v4 a) { return __builtin_shufflevector(a, a, 2, 3); }
KN_INLINE kn_v4 v4_join(kn_v2 lo, kn_v2 hi) { return __builtin_shufflevector(lo, hi, 0, 1, 2, 3); }
/* columns of -[h]x = (e_x x h, e_y x h, e_z x h) */
KN_INLINE void v4_skew_minus(kn_v4 G[3], kn_v4 h) {
  G[0] = __builtin_shufflevector(h, h, 3, 2, 1, 3) * (kn_v4){1.0, -1.0, 1.0, 1.0};
  G[1] = __builtin_shufflevector(h, h, 2, 3, 0, 3) * (kn_v4){1.0, 1.0, -1.0, 1.0};
  G[2] = __builtin_shufflevector(h, h, 1, 0, 3, 3) * (kn_v4){-1.0, 1.0, 1.0, 1.0};
}
/* 3x3, B != A; lane 3 becomes 0 */
KN_INLINE void v4_transpose(kn_v4 B[3], const kn_v4 A[3]) {
  kn_v4 zero = {0.0, 0.0, 0.0, 0.0};
  kn_v4 lo = __builtin_shufflevector(A[0], A[1], 0, 4, 2, 6); /* a00 a01 a20 a21 */
  kn_v4 hi = __builtin_shufflevector(A[0], A[1], 1, 5, 3, 7); /* a10 a11 0 0 */
  kn_v4 cl = __builtin_shufflevector(A[2], zero, 0, 4, 2, 6); /* a02 0 a22 0 */
  kn_v4 ch = __builtin_shufflevector(A[2], zero, 1, 5, 3, 7); /* a12 0 0 0 */
  B[0] = __builtin_shufflevector(lo, cl, 0, 1, 4, 5);
  B[1] = __builtin_shufflevector(hi, ch, 0, 1, 4, 5);
  B[2] = __builtin_shufflevector(lo, cl, 2, 3, 6, 7);
}

#else

typedef struct kn_v4 {
  kn_v2 lo, hi;
} __attribute__((aligned(32), may_alias)) kn_v4;

KN_INLINE kn_v4 v4_make(double x, double y, double z, double w) { return (kn_v4){{x, y}, {z, w}}; }
KN_INLINE kn_v4 v4_add(kn_v4 a, kn_v4 b) { return (kn_v4){a.lo + b.lo, a.hi + b.hi}; }
KN_INLINE kn_v4 v4_sub(kn_v4 a, kn_v4 b) { return (kn_v4){a.lo - b.lo, a.hi - b.hi}; }
KN_INLINE kn_v4 v4_mul(kn_v4 a, kn_v4 b) { return (kn_v4){a.lo * b.lo, a.hi * b.hi}; }
KN_INLINE kn_v4 v4_scale(kn_v4 a, double s) { return (kn_v4){a.lo * s, a.hi * s}; }
KN_INLINE double v4_x(kn_v4 a) { return a.lo[0]; }
KN_INLINE double v4_y(kn_v4 a) { return a.lo[1]; }
KN_INLINE double v4_z(kn_v4 a) { return a.hi[0]; }
KN_INLINE kn_v4 v4_mulx(kn_v4 a, kn_v4 b) {
  kn_v2 s = __builtin_shufflevector(b.lo, b.lo, 0, 0);
  return (kn_v4){a.lo * s, a.hi * s};
}
KN_INLINE kn_v4 v4_muly(kn_v4 a, kn_v4 b) {
  kn_v2 s = __builtin_shufflevector(b.lo, b.lo, 1, 1);
  return (kn_v4){a.lo * s, a.hi * s};
}
KN_INLINE kn_v4 v4_mulz(kn_v4 a, kn_v4 b) {
  kn_v2 s = __builtin_shufflevector(b.hi, b.hi, 0, 0);
  return (kn_v4){a.lo * s, a.hi * s};
}
KN_INLINE kn_v4 v4_yzx(kn_v4 a) {
  return (kn_v4){__builtin_shufflevector(a.lo, a.hi, 1, 2), __builtin_shufflevector(a.lo, a.hi, 0, 3)};
}
KN_INLINE kn_v2 v4_lo(kn_v4 a) { return a.lo; }
KN_INLINE kn_v2 v4_hi(kn_v4 a) { return a.hi; }
KN_INLINE kn_v4 v4_join(kn_v2 lo, kn_v2 hi) { return (kn_v4){lo, hi}; }
KN_INLINE void v4_skew_minus(kn_v4 G[3], kn_v4 h) {
  G[0] = (kn_v4){__builtin_shufflevector(h.hi, h.hi, 1, 0) * (kn_v2){1.0, -1.0},
                 __builtin_shufflevector(h.lo, h.hi, 1, 3)};
  G[1] = (kn_v4){h.hi, __builtin_shufflevector(h.lo, h.hi, 0, 3) * (kn_v2){-1.0, 1.0}};
  G[2] = (kn_v4){__builtin_shufflevector(h.lo, h.lo, 1, 0) * (kn_v2){-1.0, 1.0},
                 __builtin_shufflevector(h.hi, h.hi, 1, 1)};
}
KN_INLINE void v4_transpose(kn_v4 B[3], const kn_v4 A[3]) {
  kn_v2 zero = {0.0, 0.0};
  B[0] =
      (kn_v4){__builtin_shufflevector(A[0].lo, A[1].lo, 0, 2), __builtin_shufflevector(A[2].lo, zero, 0, 2)};
  B[1] =
      (kn_v4){__builtin_shufflevector(A[0].lo, A[1].lo, 1, 3), __builtin_shufflevector(A[2].lo, zero, 1, 2)};
  B[2] =
      (kn_v4){__builtin_shufflevector(A[0].hi, A[1].hi, 0, 2), __builtin_shufflevector(A[2].hi, zero, 0, 2)};
}

#endif

KN_INLINE kn_v4 v4_set(double x, double y, double z) { return v4_make(x, y, z, 0.0); }
KN_INLINE kn_v4 v4_load3(const double* x) { return v4_make(x[0], x[1], x[2], 0.0); }
KN_INLINE void v4_store3(double* y, kn_v4 a) { y[0] = v4_x(a), y[1] = v4_y(a), y[2] = v4_z(a); }
KN_INLINE kn_v4 v4_zero(void) { return v4_make(0.0, 0.0, 0.0, 0.0); }
KN_INLINE kn_v4 v4_add3(kn_v4 a, kn_v4 b, kn_v4 c) { return v4_add(v4_add(a, b), c); }
/* a + s b */
KN_INLINE kn_v4 v4_axpy(kn_v4 a, double s, kn_v4 b) { return v4_add(a, v4_scale(b, s)); }

/* (a0 + a2) + (a1 + a3) */
KN_INLINE double v4_sum(kn_v4 a) {
  kn_v2 s = v4_lo(a) + v4_hi(a);
  return s[0] + s[1];
}
KN_INLINE double v4_dot(kn_v4 a, kn_v4 b) { return v4_sum(v4_mul(a, b)); }
/* the same sum in every lane */
KN_INLINE kn_v4 v4_sumv(kn_v4 a) {
  kn_v2 s = v4_lo(a) + v4_hi(a);
  s += __builtin_shufflevector(s, s, 1, 0);
  return v4_join(s, s);
}
KN_INLINE kn_v4 v4_splat(double x) { return v4_make(x, x, x, x); }
/* a.b + c.d */
KN_INLINE double v4_dot2(kn_v4 a, kn_v4 b, kn_v4 c, kn_v4 d) {
  return v4_sum(v4_add(v4_mul(a, b), v4_mul(c, d)));
}
/* a x b = yzx(a * yzx(b) - yzx(a) * b) */
KN_INLINE kn_v4 v4_cross(kn_v4 a, kn_v4 b) {
  return v4_yzx(v4_sub(v4_mul(a, v4_yzx(b)), v4_mul(v4_yzx(a), b)));
}
/* a x b + c x d: one shuffle less */
KN_INLINE kn_v4 v4_cross2(kn_v4 a, kn_v4 b, kn_v4 c, kn_v4 d) {
  kn_v4 x = v4_sub(v4_mul(a, v4_yzx(b)), v4_mul(v4_yzx(a), b));
  kn_v4 y = v4_sub(v4_mul(c, v4_yzx(d)), v4_mul(v4_yzx(c), d));
  return v4_yzx(v4_add(x, y));
}
/* A x with A given by columns */
KN_INLINE kn_v4 v4_mul33(const kn_v4 A[3], kn_v4 x) {
  return v4_add3(v4_mulx(A[0], x), v4_muly(A[1], x), v4_mulz(A[2], x));
}
/* the same with x in memory */
KN_INLINE kn_v4 v4_mul33s(const kn_v4 A[3], const double* x) {
  return v4_add3(v4_scale(A[0], x[0]), v4_scale(A[1], x[1]), v4_scale(A[2], x[2]));
}
/* Aᵀ x */
KN_INLINE kn_v4 v4_mul33t(const kn_v4 A[3], kn_v4 x) {
  return v4_set(v4_dot(A[0], x), v4_dot(A[1], x), v4_dot(A[2], x));
}
