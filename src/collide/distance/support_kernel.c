/* Farthest vertex of a point cloud along d: structure of arrays, KN_W doubles at a time. The dot products are the
   same numbers on every instruction set, and ties go to the lowest index, so the answer does not depend on the
   width. n is a multiple of KN_W. */
#include "collide/distance/support.h"

#include <stdint.h>
#include <string.h>

#if KN_W == 2 /* scalar with two chains, which beats two-lane vectors without a blend instruction */

int KN_NAME(kn_support_cloud)(const double* x, const double* y, const double* z, int n, double dx, double dy,
                              double dz) {
  double best0 = x[0] * dx + y[0] * dy + z[0] * dz, best1 = x[1] * dx + y[1] * dy + z[1] * dz;
  int at0 = 0, at1 = 1;
  for (int i = 2; i < n; i += 2) {
    double s0 = x[i] * dx + y[i] * dy + z[i] * dz, s1 = x[i + 1] * dx + y[i + 1] * dy + z[i + 1] * dz;
    if (s0 > best0) best0 = s0, at0 = i;
    if (s1 > best1) best1 = s1, at1 = i + 1;
  }
  return best1 > best0 || (best1 == best0 && at1 < at0) ? at1 : at0;
}

#else

typedef double vec __attribute__((vector_size(8 * KN_W)));
typedef int64_t ivec __attribute__((vector_size(8 * KN_W)));

static inline vec load(const double* p) {
  vec v;
  memcpy(&v, __builtin_assume_aligned(p, 64), sizeof v);
  return v;
}

#if KN_W == 8
#define FOLD_A(v) __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)
#define FOLD_B(v) __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)
#define FOLD_C(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#else
#define FOLD_A(v) __builtin_shufflevector(v, v, 2, 3, 0, 1)
#define FOLD_B(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define FOLD_C(v) (v)
#endif

static inline ivec lower(ivec a, ivec b) {
  ivec m = a < b;
  return (a & m) | (b & ~m);
}

static inline vec larger(vec a, vec b) {
  ivec m = a > b;
  return (vec)(((ivec)a & m) | ((ivec)b & ~m));
}

int KN_NAME(kn_support_cloud)(const double* x, const double* y, const double* z, int n, double dx, double dy,
                              double dz) {
  ivec lane, k, at;
  for (int i = 0; i < KN_W; i++) lane[i] = i;
  k = at = lane;
  vec best = load(x) * dx + load(y) * dy + load(z) * dz;
  for (int i = KN_W; i < n; i += KN_W) {
    k += KN_W;
    vec s = load(x + i) * dx + load(y + i) * dy + load(z + i) * dz;
    ivec m = s > best;
    best = (vec)(((ivec)s & m) | ((ivec)best & ~m));
    at = (k & m) | (at & ~m);
  }
  /* across the lanes: the largest value, then the lowest index among those that have it */
  vec top = larger(best, FOLD_A(best));
  top = larger(top, FOLD_B(top));
  top = larger(top, FOLD_C(top));
  at |= ~(best == top) & INT64_MAX; /* the others lose: all bits but the sign set */
  at = lower(at, FOLD_A(at));
  at = lower(at, FOLD_B(at));
  at = lower(at, FOLD_C(at));
  return (int)at[0];
}

#endif
