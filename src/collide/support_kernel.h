/* Farthest vertex of a point cloud along d: structure of arrays, KN_LANES doubles at a time. Included once
   per instruction set. The dot products are the same numbers on every set, and ties go to the lowest index,
   so the answer does not depend on the width. n is a multiple of KN_LANES. */
#include <stdint.h>
#include <string.h>

typedef double vec __attribute__((vector_size(8 * KN_LANES)));
typedef int64_t ivec __attribute__((vector_size(8 * KN_LANES)));

static inline vec load(const double* p) {
  vec v;
  memcpy(&v, __builtin_assume_aligned(p, 64), sizeof v);
  return v;
}

static inline vec larger(vec a, vec b) {
  ivec m = a > b;
  return (vec)(((ivec)a & m) | ((ivec)b & ~m));
}

static int support_kernel(const double* x, const double* y, const double* z, int n, double dx, double dy,
                          double dz) {
  ivec lane, k, at;
  for (int i = 0; i < KN_LANES; i++) lane[i] = i;
  k = at = lane;
  vec best = load(x) * dx + load(y) * dy + load(z) * dz;
  for (int i = KN_LANES; i < n; i += KN_LANES) {
    k += KN_LANES;
    vec s = load(x + i) * dx + load(y + i) * dy + load(z + i) * dz;
    ivec m = s > best;
    best = (vec)(((ivec)s & m) | ((ivec)best & ~m));
    at = (k & m) | (at & ~m);
  }
  /* across the lanes: the largest value, then the lowest index among those that have it */
  vec top = best;
  for (int step = KN_LANES / 2; step > 0; step /= 2) top = larger(top, __builtin_shuffle(top, lane ^ step));
  at |= ~(best == top) & INT64_MAX; /* the others lose: all bits but the sign set */
  for (int step = KN_LANES / 2; step > 0; step /= 2) {
    ivec other = __builtin_shuffle(at, lane ^ step), m = other < at;
    at = (other & m) | (at & ~m);
  }
  return (int)at[0];
}
