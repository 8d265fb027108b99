/* 3-vectors in the first three lanes of a 4-lane vector, lane 3 zero; the world-axes kernels of dynamics are
   written with these. Compiled once per instruction set with the same operations in the same order, hence the
   same bits. */
#ifndef KN_SPATIAL_V4_H
#define KN_SPATIAL_V4_H

typedef double kn_v4 __attribute__((vector_size(32)));
typedef double kn_v2 __attribute__((vector_size(16)));

#define KN_INLINE static inline __attribute__((always_inline))

KN_INLINE kn_v4 v4_set(double x, double y, double z) { return (kn_v4){x, y, z, 0.0}; }
KN_INLINE kn_v4 v4_load3(const double* x) { return (kn_v4){x[0], x[1], x[2], 0.0}; }
KN_INLINE void v4_store3(double* y, kn_v4 a) { y[0] = a[0], y[1] = a[1], y[2] = a[2]; }
KN_INLINE kn_v4 v4_splat(double x) { return (kn_v4){x, x, x, x}; }
KN_INLINE kn_v4 v4_zero(void) { return (kn_v4){0.0, 0.0, 0.0, 0.0}; }

/* (a0 + a2) + (a1 + a3) */
KN_INLINE double v4_sum(kn_v4 a) {
  kn_v2 lo = __builtin_shufflevector(a, a, 0, 1), hi = __builtin_shufflevector(a, a, 2, 3);
  kn_v2 s = lo + hi;
  return s[0] + s[1];
}
KN_INLINE double v4_dot(kn_v4 a, kn_v4 b) { return v4_sum(a * b); }
KN_INLINE kn_v4 v4_yzx(kn_v4 a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); }
/* a x b = yzx(a * yzx(b) - yzx(a) * b) */
KN_INLINE kn_v4 v4_cross(kn_v4 a, kn_v4 b) { return v4_yzx(a * v4_yzx(b) - v4_yzx(a) * b); }
/* A x with A given by columns; x's lanes are broadcast */
KN_INLINE kn_v4 v4_mul33(const kn_v4 A[3], kn_v4 x) { return A[0] * x[0] + A[1] * x[1] + A[2] * x[2]; }
KN_INLINE kn_v4 v4_mul33s(const kn_v4 A[3], const double* x) {
  return A[0] * x[0] + A[1] * x[1] + A[2] * x[2];
}
KN_INLINE void v4_transpose(kn_v4 B[3], const kn_v4 A[3]) { /* 3x3, B != A; lane 3 becomes 0 */
  kn_v4 zero = v4_zero();
  kn_v4 lo = __builtin_shufflevector(A[0], A[1], 0, 4, 2, 6); /* a00 a01 a20 a21 */
  kn_v4 hi = __builtin_shufflevector(A[0], A[1], 1, 5, 3, 7); /* a10 a11 0 0 */
  kn_v4 cl = __builtin_shufflevector(A[2], zero, 0, 4, 2, 6); /* a02 0 a22 0 */
  kn_v4 ch = __builtin_shufflevector(A[2], zero, 1, 5, 3, 7); /* a12 0 0 0 */
  B[0] = __builtin_shufflevector(lo, cl, 0, 1, 4, 5);
  B[1] = __builtin_shufflevector(hi, ch, 0, 1, 4, 5);
  B[2] = __builtin_shufflevector(lo, cl, 2, 3, 6, 7);
}

#endif
