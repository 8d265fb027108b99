/* Vectorised sine and cosine, KN_W at a time. */
#include "base/isa.h"

#include <string.h>

#include "math/elementary.h"
#include "math/sincos_block.h"
#include "math/sincos_table.h"

static void KN_NAME(sincos_array)(int n, double* s, double* c, const double* x) {
  kn_sc_ivec fits = ~(kn_sc_ivec){0};
  int i = 0;
  for (; i + KN_W <= n; i += KN_W) fits &= kn_sincos_vec(s + i, c + i, *(const kn_sc_vec*)(x + i));
  if (i < n) {
    double tx[KN_W] = {0}, ts[KN_W], tc[KN_W];
    memcpy(tx, x + i, sizeof(double) * (size_t)(n - i));
    fits &= kn_sincos_vec(ts, tc, *(const kn_sc_vec*)tx);
    memcpy(s + i, ts, sizeof(double) * (size_t)(n - i));
    memcpy(c + i, tc, sizeof(double) * (size_t)(n - i));
  }
  int64_t all = -1;
  for (int j = 0; j < KN_W; j++) all &= fits[j];
  if (!all)
    for (i = 0; i < n; i++)
      if (!(x[i] <= KN_SINCOS_LIMIT && x[i] >= -KN_SINCOS_LIMIT)) kn_sincos(s + i, c + i, x[i]);
}

void (*const KN_NAME(kn_sincos_array))(int, double*, double*, const double*) = KN_NAME(sincos_array);
