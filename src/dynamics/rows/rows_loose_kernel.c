/* Rows of loose bodies: see rows_loose.c. */
#include "base/isa.h"

#include <math.h>

#include "dynamics/rows/rows.h"

typedef double vec4 __attribute__((vector_size(32), aligned(8), may_alias));

/* L_jk = s_k.g_j of a free body, dofs k < j. */
static inline void factors(double L[6][6], const kn_data* d, int link) {
  const kn_dof_factor* g = d->fac + d->layout->link[link].v;
  const kn_v4* R = d->kin.link[link].R;
  for (int j = 1; j < 6; j++) {
    for (int k = 0; k < 3 && k < j; k++) L[j][k] = ((const double*)&g[j].gf)[k];
    for (int k = 3; k < j; k++) L[j][k] = v4_dot(g[j].gn, R[k - 3]);
  }
}

/* Directions of a block by components; rows that it does not have are zero. */
static inline void components(vec4 f[3], const kn_row_block* b, double sign) {
  for (int i = 0; i < 3; i++)
    f[i] = sign * (vec4){b->dir[0][i], b->rows > 1 ? b->dir[1][i] : 0.0, b->rows > 2 ? b->dir[2][i] : 0.0};
}

void KN_NAME(kn_loose_push)(double* Y, double* scale, const kn_data* d, int link, const kn_row_block* block,
                            const kn_half* half, int first) {
  const kn_dof_factor* g = d->fac + d->layout->link[link].v;
  const double* o = (const double*)&d->kin.link[link].o;
  double L[6][6];
  factors(L, d, link);
  for (int j = 0; j < 6; j++) scale[j] = sqrt(g[j].dinv);
  for (int h = first; h >= 0; h = half[h].next, Y += 24) {
    const kn_row_block* b = &block[half[h].block];
    double x = b->point[0] - o[0], y = b->point[1] - o[1], z = b->point[2] - o[2];
    vec4 f[6];
    components(f, b, half[h].side ? -1.0 : 1.0);
    vec4 n0 = y * f[2] - z * f[1], n1 = z * f[0] - x * f[2], n2 = x * f[1] - y * f[0];
    for (int k = 0; k < 3; k++) {
      const double* s = (const double*)&d->kin.link[link].R[k];
      f[3 + k] = n0 * s[0] + n1 * s[1] + n2 * s[2];
    }
#pragma GCC unroll 6
    for (int j = 5; j >= 0; j--) {
      *(vec4*)(Y + 4 * j) = f[j] * scale[j];
#pragma GCC unroll 6
      for (int k = 0; k < j; k++) f[k] -= f[j] * L[j][k];
    }
  }
}

void KN_NAME(kn_loose_apply)(kn_dof_factor* fac, const double* scale, const double* Y, const int32_t* member,
                             int count, const double* lambda) {
  vec4 sum[6] = {{0}, {0}, {0}, {0}, {0}, {0}};
  for (int n = 0; n < count; n++, Y += 24) {
    const double* l = lambda + member[3 * n + 1];
    int rows = member[3 * n + 2];
    vec4 x = {l[0], rows > 1 ? l[1] : 0.0, rows > 2 ? l[2] : 0.0};
    for (int j = 0; j < 6; j++) sum[j] += *(const vec4*)(Y + 4 * j) * x;
  }
  for (int j = 0; j < 6; j++) fac[j].e = ((sum[j][0] + sum[j][1]) + sum[j][2]) / scale[j];
}
