/* G of Λ = G Gᵀ between loose bodies: Y of every half of a block is the part of G that belongs to its body.
 */
#include "dynamics/rows/rows.h"

static void turn_around(double* G, const double* Y) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 6; j++) G[6 * i + j] = Y[4 * j + i];
}

int kn_rows_pairs(int* body, double* G, const kn_rows* rows, int blocks) {
  const kn_rows_index* ix = rows->index;
  for (int b = 0; b < 2 * blocks; b++) body[b] = -1;
  for (int t = 0; t < ix->nsegment; t++)
    for (int n = ix->dofs[t]; n < ix->dofs[t + 1]; n++) {
      int b = ix->cols[3 * n], side = body[2 * b] >= 0;
      if (ix->cols[3 * n + 2] != 3) return 0;
      body[2 * b + side] = t;
      turn_around(G + 36 * (size_t)b + 18 * (size_t)side, rows->Y + 24 * (size_t)n);
    }
  return ix->nsegment;
}
