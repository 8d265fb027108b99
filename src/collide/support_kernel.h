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

static int support_kernel(const double* x, const double* y, const double* z, int n, double dx, double dy,
                          double dz) {
  ivec k, at;
  for (int i = 0; i < KN_LANES; i++) k[i] = i;
  at = k;
  vec best = load(x) * dx + load(y) * dy + load(z) * dz;
  for (int i = KN_LANES; i < n; i += KN_LANES) {
    k += KN_LANES;
    vec s = load(x + i) * dx + load(y + i) * dy + load(z + i) * dz;
    ivec m = s > best;
    best = (vec)(((ivec)s & m) | ((ivec)best & ~m));
    at = (k & m) | (at & ~m);
  }
  double top = best[0];
  int64_t id = at[0];
  for (int l = 1; l < KN_LANES; l++)
    if (best[l] > top || (best[l] == top && at[l] < id)) top = best[l], id = at[l];
  return (int)id;
}
