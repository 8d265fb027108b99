/* Λ = J M⁻¹ Jᵀ by blocks: only pairs of blocks that share a tree. From the factored rows, Λ_ij = sum over the
   segments both pass through of Yᵢ Yⱼᵀ. O(pairs), for many small trees (piles).

   Loose bodies: every block passes through one or two segments. Row i of Λ then has the blocks of both in
   ascending order, each once. Otherwise there is one entry per segment and pair, so that a pair may come more
   than once and its entries add up. */
#include "dynamics/rows/rows.h"

/* ---- trees in general ---- */

/* First column of every block in a segment. Rows of a block are neighbours there. Returns the blocks. */
static int blocks_of(int* first, const kn_rows_index* ix, const kn_segment* s, const kn_lambda_blocks* out) {
  const int32_t* col = ix->cols + s->col0;
  int n = 0;
  for (int c = 0; c < s->cols; c += out->size[out->of_row[col[c]]]) first[n++] = c;
  return n;
}

/* Row-major rows x cols at `to` and its transpose at `mirror`. */
static void product(double* to, double* mirror, const double* Y, int dofs, int pad, int ci, int cj, int rows,
                    int cols) {
  double acc[3][3] = {{0}};
  for (int t = 0; t < dofs; t++, Y += pad)
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < cols; c++) acc[r][c] += Y[ci + r] * Y[cj + c];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) to[r * cols + c] = mirror[c * rows + r] = acc[r][c];
}

static void segment_products(kn_lambda_blocks* out, const kn_rows* rows, const kn_segment* s, int* next,
                             const int* first, int n) {
  const kn_rows_index* ix = rows->index;
  const int32_t* col = ix->cols + s->col0;
  const double* Y = rows->Y + s->y0;
  for (int i = 0; i < n; i++) {
    int bi = out->of_row[col[first[i]]], at = next[bi];
    for (int j = i; j < n; j++) {
      int bj = out->of_row[col[first[j]]];
      int here = at + j, there = next[bj] + i;
      out->col[here] = bj, out->col[there] = bi;
      out->at[here] = KN_BLOCK_STRIDE * (int64_t)here, out->at[there] = KN_BLOCK_STRIDE * (int64_t)there;
      product(out->value + out->at[here], out->value + out->at[there], Y, s->dofs, s->pad, first[i], first[j],
              out->size[bi], out->size[bj]);
    }
  }
  for (int i = 0; i < n; i++) next[out->of_row[col[first[i]]]] += n;
}

static bool any_trees(kn_lambda_blocks* out, const kn_rows* rows, int blocks) {
  const kn_rows_index* ix = rows->index;
  int *next = out->scratch, *first = next + blocks + 1;
  out->needed = 0;
  for (int b = 0; b <= blocks; b++) out->start[b] = 0;
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    int n = blocks_of(first, ix, s, out);
    out->needed += (int64_t)n * n;
    if (out->needed > INT32_MAX) return false;
    for (int i = 0; i < n; i++) out->start[out->of_row[ix->cols[s->col0 + first[i]]] + 1] += n;
  }
  for (int b = 0; b < blocks; b++) out->start[b + 1] += out->start[b];
  if (out->needed > out->capacity) return false;
  for (int b = 0; b < blocks; b++) next[b] = out->start[b];
  for (int t = 0; t < ix->nsegment; t++)
    segment_products(out, rows, &ix->segment[t], next, first, blocks_of(first, ix, &ix->segment[t], out));
  return true;
}

/* ---- loose bodies ---- */

typedef struct loose {
  int32_t* half;    /* 2 per block: its places among the members, -1 */
  int32_t* member;  /* blocks of the segments, one segment after the other */
  int32_t* segment; /* per member */
  int32_t* first;   /* per member: where its columns begin in Y of its segment */
  int32_t* begin;   /* segments + 1: members */
  int32_t* spot_at; /* per member */
  int32_t* spot;    /* where the products of a member with the members of its segment go */
} loose;

/* Members of all segments; false when some block is in three, or out of order. */
static bool list_members(loose* l, const kn_rows_index* ix, const kn_lambda_blocks* out, int blocks) {
  int n = 0;
  for (int b = 0; b < 2 * blocks; b++) l->half[b] = -1;
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    const int32_t* col = ix->cols + s->col0;
    int last = -1;
    l->begin[t] = n;
    for (int c = 0; c < s->cols; n++) {
      int b = out->of_row[col[c]], *half = l->half + 2 * b;
      if (b <= last || half[1] >= 0) return false;
      half[half[0] >= 0] = n;
      l->member[n] = last = b, l->segment[n] = t, l->first[n] = c;
      c += out->size[b];
    }
  }
  l->begin[ix->nsegment] = n;
  return true;
}

/* The same from the rows of rows_loose.c. */
static void take_members(loose* l, const kn_rows_index* ix, int blocks) {
  for (int b = 0; b < 2 * blocks; b++) l->half[b] = -1;
  for (int t = 0; t < ix->nsegment; t++) {
    int begin = l->begin[t] = ix->dofs[t];
    for (int n = begin; n < ix->dofs[t + 1]; n++) {
      int b = ix->cols[3 * n], *half = l->half + 2 * b;
      half[half[0] >= 0] = n;
      l->member[n] = b, l->segment[n] = t, l->first[n] = 24 * (n - begin);
    }
  }
  l->begin[ix->nsegment] = ix->dofs[ix->nsegment];
}

/* Row b of the pattern: the members of its one or two segments, merged. Returns the new end, or -1. */
static int merge_row(kn_lambda_blocks* out, loose* l, int b, int at, int* spots) {
  int h = l->half[2 * b], g = l->half[2 * b + 1];
  if (h < 0) return at; /* it acts on nothing that moves */
  int i = l->begin[l->segment[h]], i_end = l->begin[l->segment[h] + 1];
  int j = g < 0 ? 0 : l->begin[l->segment[g]], j_end = g < 0 ? 0 : l->begin[l->segment[g] + 1];
  int n = i_end - i, m = j_end - j;
  if (at + n + m > out->capacity) return -1;
  int32_t *x = l->spot + *spots, *y = x + n;
  l->spot_at[h] = *spots;
  if (g >= 0) l->spot_at[g] = *spots + n;
  *spots += n + m;
  for (; i < i_end && j < j_end; at++) {
    int a = l->member[i], c = l->member[j];
    out->col[at] = a < c ? a : c;
    if (a <= c) *x++ = at, i++;
    if (c < a) *y++ = at, j++;
    if (c == a) *y++ = ~at, j++;
  }
  for (; i < i_end; i++, at++) out->col[at] = l->member[i], *x++ = at;
  for (; j < j_end; j++, at++) out->col[at] = l->member[j], *y++ = at;
  return at;
}

static kn_block_pairs_fn kernel(void) { return KN_BEST(kn_block_pairs); }

static bool loose_bodies(kn_lambda_blocks* out, const kn_rows* rows, int blocks) {
  const kn_rows_index* ix = rows->index;
  int most = 2 * blocks, spots = 0, at = 0;
  loose l = {.half = out->scratch};
  l.member = l.half + most, l.segment = l.member + most, l.spot_at = l.segment + most;
  l.first = l.spot_at + most, l.begin = l.first + most, l.spot = l.begin + most + 1;
  if (ix->nsegment > most) return false;
  if (ix->loose)
    take_members(&l, ix, blocks);
  else if (!list_members(&l, ix, out, blocks))
    return false;
  out->start[0] = 0;
  for (int b = 0; b < blocks; b++) {
    at = merge_row(out, &l, b, at, &spots);
    if (at < 0) return false;
    out->start[b + 1] = at;
  }
  for (int k = 0; k < at; k++) out->at[k] = KN_BLOCK_STRIDE * (int64_t)k;
  kn_block_pairs_fn pairs = kernel();
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    kn_block_segment part = {.count = l.begin[t + 1] - l.begin[t],
                             .dofs = ix->loose ? 6 : s->dofs,
                             .pad = ix->loose ? 4 : s->pad,
                             .Y = rows->Y + (ix->loose ? 24 * (size_t)l.begin[t] : s->y0),
                             .first = l.first + l.begin[t],
                             .member = l.member + l.begin[t],
                             .size = out->size,
                             .spot = l.spot,
                             .spot_at = l.spot_at + l.begin[t]};
    pairs(out->value, &part);
  }
  return true;
}

/* A row of n entries has at most 2 n products. */
size_t kn_lambda_blocks_scratch(int blocks, int capacity) {
  return 2 * (size_t)capacity + 13 * ((size_t)blocks + 1) + 1;
}

bool kn_rows_lambda_blocks(kn_lambda_blocks* out, const kn_rows* rows, int blocks) {
  if (loose_bodies(out, rows, blocks)) return true;
  return !((const kn_rows_index*)rows->index)->loose && any_trees(out, rows, blocks);
}
