/* Λ = J M⁻¹ Jᵀ by blocks: only pairs of blocks that share a tree. From the factored rows, Λ_ij = sum over the
   segments both pass through of Yᵢ Yⱼᵀ; one entry per segment and pair, so that a pair may come more than
   once and its entries add up. O(pairs), for many small trees (piles). */
#include "dynamics/rows.h"

typedef double vec4 __attribute__((vector_size(32), aligned(8), may_alias));

/* First column of every block in a segment. Rows of a block are neighbours there. Returns the blocks. */
static int blocks_of(int* first, const kn_rows_index* ix, const kn_segment* s, const kn_lambda_blocks* out) {
  const int32_t* col = ix->cols + s->col0;
  int n = 0;
  for (int c = 0; c < s->cols; c += out->size[out->of_row[col[c]]]) first[n++] = c;
  return n;
}

/* Row-major rows x cols at `to` and its transpose at `mirror`; both blocks of three rows, or less. */
static void product(double* to, double* mirror, const double* Y, int dofs, int pad, int ci, int cj, int rows,
                    int cols) {
  vec4 acc[3] = {{0}, {0}, {0}};
  if (cj + 4 <= pad) {
    for (int t = 0; t < dofs; t++, Y += pad) {
      vec4 y = *(const vec4*)(Y + cj);
      for (int r = 0; r < rows; r++) acc[r] += Y[ci + r] * y;
    }
  } else {
    for (int t = 0; t < dofs; t++, Y += pad)
      for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) acc[r][c] += Y[ci + r] * Y[cj + c];
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) to[r * cols + c] = mirror[c * rows + r] = acc[r][c];
}

static void segment_products(kn_lambda_blocks* out, const kn_rows* rows, const kn_segment* s, int n) {
  const kn_rows_index* ix = rows->index;
  const int32_t* col = ix->cols + s->col0;
  const double* Y = rows->Y + s->y0;
  for (int i = 0; i < n; i++) {
    int bi = out->of_row[col[out->first[i]]], at = out->next[bi];
    for (int j = i; j < n; j++) {
      int bj = out->of_row[col[out->first[j]]];
      int here = at + j, there = out->next[bj] + i;
      out->col[here] = bj, out->col[there] = bi;
      out->at[here] = 9 * (int64_t)here, out->at[there] = 9 * (int64_t)there;
      product(out->value + 9 * (size_t)here, out->value + 9 * (size_t)there, Y, s->dofs, s->pad,
              out->first[i], out->first[j], out->size[bi], out->size[bj]);
    }
  }
  for (int i = 0; i < n; i++) out->next[out->of_row[col[out->first[i]]]] += n;
}

bool kn_rows_lambda_blocks(kn_lambda_blocks* out, const kn_rows* rows, int blocks) {
  const kn_rows_index* ix = rows->index;
  for (int b = 0; b <= blocks; b++) out->start[b] = 0;
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    int n = blocks_of(out->first, ix, s, out);
    for (int i = 0; i < n; i++) out->start[out->of_row[ix->cols[s->col0 + out->first[i]]] + 1] += n;
  }
  for (int b = 0; b < blocks; b++) out->start[b + 1] += out->start[b];
  if (out->start[blocks] > out->capacity) return false;
  for (int b = 0; b < blocks; b++) out->next[b] = out->start[b];
  for (int t = 0; t < ix->nsegment; t++)
    segment_products(out, rows, &ix->segment[t], blocks_of(out->first, ix, &ix->segment[t], out));
  return true;
}
