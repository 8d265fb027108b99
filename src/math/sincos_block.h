/* Sine and cosine of KN_W angles x; returns lanes with all bits set where the argument is out of range (then
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
  return ~((x <= KN_SINCOS_LIMIT) & (x >= -KN_SINCOS_LIMIT));
}
