/* Sine and cosine of KN_W angles x; returns lanes with all bits set where the argument is in range (elsewhere
   the values are not to be used and kn_sincos is). */
#include <stdint.h>

#include "math/sincos_poly.h"

typedef double kn_sc_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t kn_sc_ivec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

static inline kn_sc_ivec kn_sincos_vec(double* s, double* c, kn_sc_vec x) {
  kn_sc_vec t = x * 0x1.45f306dc9c883p-1 + KN_MAGIC; /* 2/pi */
  kn_sc_ivec bits = (kn_sc_ivec)t;
  kn_sc_vec k = t - KN_MAGIC;
  kn_sc_vec a = x - k * KN_P1, w = k * KN_P2;
  kn_sc_vec r0 = a - w;
  kn_sc_vec low = ((a - r0) - w) - k * KN_P3;
  kn_sc_vec r = r0 + low, y = (r0 - r) + low;
  kn_sc_vec z = r * r, z2 = z * z;
  kn_sc_vec sn = KN_SIN_POLY(r, y, z, z2);
  kn_sc_vec h = 0.5 * z, u = 1.0 - h;
  kn_sc_vec cs = u + (((1.0 - u) - h) + (KN_COS_TAIL(z, z2) - r * y));
  kn_sc_ivec swap = -(bits & 1);
  kn_sc_ivec sb = ((kn_sc_ivec)cs & swap) | ((kn_sc_ivec)sn & ~swap);
  kn_sc_ivec cb = ((kn_sc_ivec)sn & swap) | ((kn_sc_ivec)cs & ~swap);
  *(kn_sc_vec*)s = (kn_sc_vec)(sb ^ ((bits & 2) << 62));
  *(kn_sc_vec*)c = (kn_sc_vec)(cb ^ (((bits + 1) & 2) << 62));
  return (x <= KN_SINCOS_LIMIT) & (x >= -KN_SINCOS_LIMIT);
}

/* The same for two blocks, operation by operation: a single block is one long chain. */
#define KN_BOTH for (int n = 0; n < 2; n++)
static inline __attribute__((always_inline)) void kn_sincos_two(double* s, double* c, const kn_sc_vec x[2]) {
  kn_sc_vec t[2], k[2], a[2], w[2], r0[2], low[2], r[2], y[2], z[2], z2[2], sn[2], cs[2], h[2], u[2];
  kn_sc_ivec bits[2];
  KN_BOTH t[n] = x[n] * 0x1.45f306dc9c883p-1 + KN_MAGIC;
  KN_BOTH bits[n] = (kn_sc_ivec)t[n], k[n] = t[n] - KN_MAGIC;
  KN_BOTH a[n] = x[n] - k[n] * KN_P1, w[n] = k[n] * KN_P2;
  KN_BOTH r0[n] = a[n] - w[n];
  KN_BOTH low[n] = ((a[n] - r0[n]) - w[n]) - k[n] * KN_P3;
  KN_BOTH r[n] = r0[n] + low[n];
  KN_BOTH y[n] = (r0[n] - r[n]) + low[n];
  KN_BOTH z[n] = r[n] * r[n];
  KN_BOTH z2[n] = z[n] * z[n];
  KN_BOTH sn[n] = KN_SIN_POLY(r[n], y[n], z[n], z2[n]);
  KN_BOTH h[n] = 0.5 * z[n];
  KN_BOTH u[n] = 1.0 - h[n];
  KN_BOTH cs[n] = u[n] + (((1.0 - u[n]) - h[n]) + (KN_COS_TAIL(z[n], z2[n]) - r[n] * y[n]));
  KN_BOTH {
    kn_sc_ivec swap = -(bits[n] & 1), mix = ((kn_sc_ivec)cs[n] ^ (kn_sc_ivec)sn[n]) & swap;
    *(kn_sc_vec*)(s + n * KN_W) = (kn_sc_vec)(((kn_sc_ivec)sn[n] ^ mix) ^ ((bits[n] & 2) << 62));
    *(kn_sc_vec*)(c + n * KN_W) = (kn_sc_vec)(((kn_sc_ivec)cs[n] ^ mix) ^ (((bits[n] + 1) & 2) << 62));
  }
}
#undef KN_BOTH
