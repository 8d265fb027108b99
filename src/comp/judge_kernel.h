/* Rows of W times r, written once; included by judge_base.c, judge_avx2.c and judge_avx512.c with KN_W =
   doubles per register and KN_NAME(f) = the variant's name of f. Always the same sixteen partial sums of a
   row and the same tree above them, whatever KN_W. */
#include <stddef.h>
#include <string.h>

#include "comp/judge.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

enum { LANES = 16, VECTORS = LANES / KN_W };

typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));

/* Sixteen lanes to four, element-wise: (s_i + s_i+8) + (s_i+4 + s_i+12). */
static inline kn_vec4 four(const kn_vec* s) {
#if KN_W == 8
  kn_vec a = s[0] + s[1];
  kn_vec4 lo = __builtin_shufflevector(a, a, 0, 1, 2, 3);
  return lo + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#elif KN_W == 4
  return (s[0] + s[2]) + (s[1] + s[3]);
#else
  kn_vec lo = (s[0] + s[4]) + (s[2] + s[6]), hi = (s[1] + s[5]) + (s[3] + s[7]);
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3);
#endif
}

static inline double row(const double* w, const double* r, int n) {
  kn_vec sum[VECTORS];
  double rest = 0.0;
  int i = 0;
  for (int k = 0; k < VECTORS; k++) sum[k] = (kn_vec){0};
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < VECTORS; k++)
      sum[k] += *(const kn_vec*)(w + i + KN_W * k) * *(const kn_vec*)(r + i + KN_W * k);
  for (; i < n; i++) rest += w[i] * r[i];
  kn_vec4 s = four(sum);
  return ((s[0] + s[1]) + (s[2] + s[3])) + rest;
}

void KN_NAME(kn_judge_rows)(double* u, const double* w, const double* q, const double* r, int n, int rows) {
  for (int i = 0; i < rows; i++) u[i] = q[i] + row(w + (size_t)i * (size_t)n, r, n);
}
