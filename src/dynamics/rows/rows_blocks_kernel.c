/* Products Yᵢᵀ Yⱼ of the blocks in one segment (rows_blocks.c).

   Blocks of three rows are stored row-major at a distance of KN_BLOCK_STRIDE, so that each of their rows may
   be written as four numbers: the fourth is overwritten by the next row or belongs to nobody. */
#include "base/isa.h"

#include "dynamics/rows/rows.h"

typedef double vec4 __attribute__((vector_size(32), aligned(8), may_alias));

static inline __attribute__((always_inline)) void put(double* to, const vec4 a[3], bool add) {
  vec4 x = a[0], y = a[1], z = a[2];
  if (add) x += *(vec4*)to, y += *(vec4*)(to + 3), z += *(vec4*)(to + 6);
  *(vec4*)to = x, *(vec4*)(to + 3) = y, *(vec4*)(to + 6) = z;
}

static inline __attribute__((always_inline)) void transpose(vec4 b[3], const vec4 a[3]) {
  vec4 lo = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
  vec4 hi = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  vec4 z = a[2];
  b[0] = __builtin_shufflevector(lo, z, 0, 1, 4, 4);
  b[1] = __builtin_shufflevector(hi, z, 0, 1, 5, 5);
  b[2] = __builtin_shufflevector(lo, z, 2, 3, 6, 6);
}

/* Blocks of other sizes. */
static void put_small(double* to, const vec4 a[3], int rows, int cols, bool turn, bool add) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      double* x = to + (turn ? c * rows + r : r * cols + c);
      *x = add ? *x + a[r][c] : a[r][c];
    }
}

static inline __attribute__((always_inline)) void product(vec4 a[3], const double* x, const double* y,
                                                          int dofs, size_t pad) {
  vec4 a0 = {0}, a1 = {0}, a2 = {0};
  for (int t = 0; t < dofs; t++, x += pad, y += pad) {
    vec4 v = *(const vec4*)y;
    a0 += x[0] * v, a1 += x[1] * v, a2 += x[2] * v;
  }
  a[0] = a0, a[1] = a1, a[2] = a2;
}

static inline __attribute__((always_inline)) void pairs_of(double* value, const kn_block_segment* s,
                                                           int dofs) {
  for (int i = 0; i < s->count; i++) {
    const double* x = s->Y + s->first[i];
    const int32_t* row = s->spot + s->spot_at[i];
    int rows = s->size[s->member[i]];
    for (int j = i; j < s->count; j++) {
      int32_t here = row[j], there = s->spot[s->spot_at[j] + i];
      int cols = s->size[s->member[j]];
      bool add = here < 0;
      vec4 a[3], b[3];
      product(a, x, s->Y + s->first[j], dofs, (size_t)s->pad);
      double* to = value + KN_BLOCK_STRIDE * (size_t)(add ? ~here : here);
      double* mirror = value + KN_BLOCK_STRIDE * (size_t)(add ? ~there : there);
      if (rows == 3 && cols == 3) {
        put(to, a, add);
        if (i == j) continue;
        transpose(b, a);
        put(mirror, b, add);
      } else {
        put_small(to, a, rows, cols, false, add);
        if (i != j) put_small(mirror, a, rows, cols, true, add);
      }
    }
  }
}

void KN_NAME(kn_block_pairs)(double* value, const kn_block_segment* s) {
  if (s->dofs == 6) /* a free body */
    pairs_of(value, s, 6);
  else
    pairs_of(value, s, s->dofs);
}
