/* Vectorised sine and cosine; KN_W lanes, KN_NAME names the variant. */
#include <stdint.h>
#include <string.h>

#include "math/sincos.h"
#include "math/sincos_poly.h"
#include "math/sincos_table.h"

typedef double vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t ivec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

static inline ivec block(double* s, double* c, const double* in) {
  vec x = *(const vec*)in;
  vec t = x * 0x1.45f306dc9c883p-1 + KN_MAGIC; /* 2/pi */
  ivec bits = (ivec)t;
  vec k = t - KN_MAGIC;
  vec a = x - k * KN_P1, w = k * KN_P2;
  vec r0 = a - w;
  vec low = ((a - r0) - w) - k * KN_P3;
  vec r = r0 + low, y = (r0 - r) + low;
  vec z = r * r;
  vec sn = KN_SIN_POLY(r, y, z);
  vec h = 0.5 * z, u = 1.0 - h;
  vec cs = u + (((1.0 - u) - h) + (KN_COS_TAIL(z) - r * y));
  ivec swap = -(bits & 1);
  ivec sb = ((ivec)cs & swap) | ((ivec)sn & ~swap);
  ivec cb = ((ivec)sn & swap) | ((ivec)cs & ~swap);
  *(vec*)s = (vec)(sb ^ ((bits & 2) << 62));
  *(vec*)c = (vec)(cb ^ (((bits + 1) & 2) << 62));
  return ~((x <= KN_SINCOS_LIMIT) & (x >= -KN_SINCOS_LIMIT));
}

static void KN_NAME(sincos_array)(int n, double* s, double* c, const double* x) {
  ivec wide = {0};
  int i = 0;
  for (; i + KN_W <= n; i += KN_W) wide |= block(s + i, c + i, x + i);
  if (i < n) {
    double tx[KN_W] = {0}, ts[KN_W], tc[KN_W];
    memcpy(tx, x + i, sizeof(double) * (size_t)(n - i));
    wide |= block(ts, tc, tx);
    memcpy(s + i, ts, sizeof(double) * (size_t)(n - i));
    memcpy(c + i, tc, sizeof(double) * (size_t)(n - i));
  }
  int64_t any = 0;
  for (int j = 0; j < KN_W; j++) any |= wide[j];
  if (any)
    for (i = 0; i < n; i++)
      if (!(x[i] <= KN_SINCOS_LIMIT && x[i] >= -KN_SINCOS_LIMIT)) kn_sincos(s + i, c + i, x[i]);
}

void (*const KN_NAME(kn_sincos_array))(int, double*, double*, const double*) = KN_NAME(sincos_array);
