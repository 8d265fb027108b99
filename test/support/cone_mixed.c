/* Random problems of mixed blocks for tests: W = J M^-1 J^T (+ optional part that is not symmetric),
 * dependent rows. */
#include <stdlib.h>
#include <string.h>

#include "cone_problems.h"

static kn_block random_block(kn_rng* rng, int row) {
  static const kn_set sets[8] = {KN_SET_FREE,  KN_SET_POSITIVE, KN_SET_BOX,   KN_SET_CONE2,
                                 KN_SET_CONE3, KN_SET_CONE3,    KN_SET_CONE3, KN_SET_FREE};
  kn_block b = {.set = sets[kn_rng_int(rng, 8)], .row = row};
  if (b.set >= KN_SET_CONE2) {
    double kind = kn_rng_unit(rng);
    b.mu = kind < 0.1 ? 0.0 : kind < 0.15 ? INFINITY : kn_rng_range(rng, 0.0, 1.2);
  }
  if (b.set == KN_SET_BOX) {
    b.lo = kn_rng_unit(rng) < 0.2 ? -INFINITY : -kn_rng_unit(rng);
    b.hi = kn_rng_unit(rng) < 0.2 ? INFINITY : kn_rng_unit(rng);
  }
  return b;
}

kn_generated kn_generate_mixed(kn_rng* rng, int blocks, double mass_ratio, double dependent) {
  kn_generated g = {0};
  kn_block* block = calloc((size_t)blocks + 1, sizeof *block);
  int rows = 0;
  for (int b = 0; b < blocks; b++) {
    block[b] = random_block(rng, rows);
    rows += kn_set_rows(block[b].set);
  }
  g.dofs = (int)fmax(1.0, rows * kn_rng_range(rng, 0.6, 1.5));
  size_t m = (size_t)g.dofs, n = (size_t)rows;
  g.J = calloc(n * m + 1, sizeof(double));
  g.v = calloc(m, sizeof(double));
  g.inverse_mass = calloc(m * m, sizeof(double));
  for (size_t k = 0; k < m; k++) {
    g.v[k] = kn_rng_normal(rng);
    g.inverse_mass[k * m + k] = pow(mass_ratio, -kn_rng_unit(rng));
  }
  for (size_t i = 0; i < n * m; i++) g.J[i] = kn_rng_normal(rng);
  for (int b = 1; b < blocks; b++) { /* copies of an earlier block of the same kind */
    int a = kn_rng_int(rng, b);
    if (kn_rng_unit(rng) >= dependent || block[a].set != block[b].set) continue;
    memcpy(g.J + (size_t)block[b].row * m, g.J + (size_t)block[a].row * m,
           (size_t)kn_set_rows(block[b].set) * m * sizeof(double));
  }
  double *W = calloc(n * n + 1, sizeof *W), *q = calloc(n + 1, sizeof *q);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < m; k++)
        W[i * n + j] += g.J[i * m + k] * g.inverse_mass[k * m + k] * g.J[j * m + k];
  g.problem = (kn_problem){rows, blocks, block, W, NULL, q, NULL};
  kn_generated_offset(&g);
  return g;
}
