/* Y = J L⁻¹ by pushing rows up the tree (notes in docs/dynamics.md).

   A row is the force x = ((c - o) x d; d) of its unit multiplier on a link; at every dof on the way
     y = s.x (+ coefficient),   x <- X x - g y,
   so that J M⁻¹ Jᵀ = sum over dofs of y yᵀ / D. Y is stored as y / sqrt(D): Λ = Y Yᵀ is symmetric to the
   last bit. Columns lie in vector lanes; every lane does the same operations whatever the width. */
#include <math.h>
#include <string.h>

#include "dynamics/tree/kernel.h"

/* Four lanes at most: contacts come in threes, wider vectors would mostly hold padding. */
#define KN_RW (KN_W > 4 ? 4 : KN_W)
typedef double kn_vec __attribute__((vector_size(8 * KN_RW), aligned(8), may_alias));
enum { FLUSH = KN_W > 4 ? 3 : 2 }; /* vectors pushed together: as many as registers hold */

/* n += r x f */
KN_INLINE void move_force(kn_vec x[6], const double* r) {
  x[0] += x[5] * r[1] - x[4] * r[2];
  x[1] += x[3] * r[2] - x[5] * r[0];
  x[2] += x[4] * r[0] - x[3] * r[1];
}

/* The first dof of a hinge that is no root, the usual case: y = s.x, Y = y / sqrt(D), move, x -= g y. */
KN_INLINE void push_hinge(kn_vec x[6], double* Y, const double* s, const double* r, const double* g,
                          double scale) {
  kn_vec y = x[0] * s[0] + x[1] * s[1] + x[2] * s[2];
  *(kn_vec*)Y = y * scale;
  move_force(x, r);
  for (int k = 0; k < 3; k++) x[k] -= y * g[k], x[3 + k] -= y * g[4 + k];
}

/* Any dof, with coefficients of dof rows in extra (or NULL); r NULL: not the first of its link. */
KN_INLINE void push_other(kn_vec x[6], double* Y, int kind, const kn_dof_motion* m, const double* r,
                          const double* g, double scale, const double* extra, int root) {
  const double *sa = (const double*)&m->sa, *sl = (const double*)&m->sl;
  kn_vec y = {0};
  if (kind != KN_DOF_SLIDE) y = x[0] * sa[0] + x[1] * sa[1] + x[2] * sa[2];
  if (kind != KN_DOF_ROTATE) y += x[3] * sl[0] + x[4] * sl[1] + x[5] * sl[2];
  if (extra) y += *(const kn_vec*)extra;
  *(kn_vec*)Y = y * scale;
  if (root) return;
  if (r) move_force(x, r);
  for (int k = 0; k < 3; k++) x[k] -= y * g[k], x[3 + k] -= y * g[4 + k];
}

/* L_jk = s_k.g_j of a free root, dofs k < j. */
KN_INLINE void free_factors(double L[6][6], const kn_data* d, int i) {
  const kn_link_const* c = &d->layout->link[i];
  const kn_v4* R = d->kin.link[i].R;
  for (int j = 1; j < 6; j++) {
    const kn_dof_factor* g = &d->fac[c->v + j];
    for (int k = 0; k < 3 && k < j; k++) L[j][k] = ((const double*)&g->gf)[k];
    for (int k = 3; k < j; k++) L[j][k] = v4_dot(g->gn, R[k - 3]);
  }
}

/* All dofs of a free root, last first: z = Sᵀx once, then y_j = z_j and z_k -= L_jk y_j. */
KN_INLINE void push_free(const kn_vec x[6], double* Y, int pad, const kn_v4* R, double L[6][6],
                         const double* scale) {
  kn_vec z[6] = {x[3], x[4], x[5]};
  for (int k = 0; k < 3; k++) {
    const double* s = (const double*)&R[k];
    z[3 + k] = x[0] * s[0] + x[1] * s[1] + x[2] * s[2];
  }
#pragma GCC unroll 6
  for (int j = 5; j >= 0; j--, Y += pad) {
    *(kn_vec*)Y = z[j] * *scale++;
#pragma GCC unroll 6
    for (int k = 0; k < j; k++) z[k] -= z[j] * L[j][k];
  }
}

/* Coefficients of dof rows at the segment's first link: one padded row per dof, the last dof first. */
static const double* dof_coefficients(kn_rows_index* ix, const kn_segment* s, const kn_row_block* block) {
  double* extra = memset(ix->tmp, 0, sizeof(double) * 6 * (size_t)s->pad);
  for (int h = s->half; h >= 0; h = ix->half[h].next) {
    const kn_row_block* b = &block[ix->half[h].block];
    int t = ix->half[h].side - 2;
    if (t >= 0) extra[(ix->dofs[s->dof0] - b->dof[t]) * s->pad + ix->map[ix->half[h].map]] += b->coef[t];
  }
  return extra;
}

/* Carries `width` vectors of columns through the dofs of a segment. */
KN_INLINE void flush_columns(kn_rows_index* ix, const kn_segment* s, double* Y, const kn_data* d,
                             const double* extra, int c, int width) {
  double* x = ix->x + 6 * s->x0 + c;
  kn_vec v[FLUSH][6];
#pragma GCC unroll 4
  for (int w = 0; w < width; w++)
    for (int k = 0; k < 6; k++) v[w][k] = *(kn_vec*)(x + k * s->pad + w * KN_RW);
  double* y = Y + s->y0 + c;
  for (int t = 0; t < s->dofs; t++, y += s->pad) {
    int j = ix->dofs[s->dof0 + t], i = d->model->dof_link[j];
    const kn_link_const* l = &d->layout->link[i];
    const double *g = (const double*)&d->fac[j], *r = (const double*)&d->kin.link[i].r;
    double scale = ix->scale[s->dof0 + t];
    if (l->type == KN_LINK_HINGE && l->parent >= 0 && !extra) {
      const double* axis = (const double*)&d->kin.dof[j].sa;
#pragma GCC unroll 4
      for (int w = 0; w < width; w++) push_hinge(v[w], y + w * KN_RW, axis, r, g, scale);
      continue;
    }
    if (l->type == KN_LINK_FREE && !extra) { /* a root: its dofs end the segment */
      double L[6][6];
      free_factors(L, d, i);
#pragma GCC unroll 4
      for (int w = 0; w < width; w++)
        push_free(v[w], y + w * KN_RW, s->pad, d->kin.link[i].R, L, ix->scale + s->dof0 + t);
      return;
    }
    int first = j == l->v, kind = d->layout->dof_kind[j];
    const double* more = extra && t < s->first ? extra + t * s->pad + c : NULL;
#pragma GCC unroll 4
    for (int w = 0; w < width; w++)
      push_other(v[w], y + w * KN_RW, kind, &d->kin.dof[j], first ? r : NULL, g, scale,
                 more ? more + w * KN_RW : NULL, first && l->parent < 0);
  }
#pragma GCC unroll 4
  for (int w = 0; w < width; w++)
    for (int k = 0; k < 6; k++) *(kn_vec*)(x + k * s->pad + w * KN_RW) = v[w][k];
}

/* Several vectors at a time, so that one waits while the others work. */
static void flush(kn_rows_index* ix, const kn_segment* s, double* Y, const kn_data* d,
                  const kn_row_block* block) {
  const double* extra = s->dof_rows ? dof_coefficients(ix, s, block) : NULL;
  int c = 0;
  for (; c + FLUSH * KN_RW <= s->pad; c += FLUSH * KN_RW) flush_columns(ix, s, Y, d, extra, c, FLUSH);
  for (; c < s->pad; c += KN_RW) flush_columns(ix, s, Y, d, extra, c, 1);
}

/* The last columns of x are zero, those that follow the rows among them: before x is filled. */
KN_INLINE void clear_padding(double* x, int pad) {
  for (int k = 1; k <= 6; k++)
    for (int c = -KN_PAD; c < 0; c += KN_RW) *(kn_vec*)(x + k * pad + c) = (kn_vec){0};
}

/* x of the rows that start at a link; alone: nothing is there yet, and no row comes twice. */
KN_INLINE void start_forces(double* x, int pad, const kn_rows_index* ix, int half, const kn_row_block* block,
                            const double* o, const int alone) {
  for (int h = half; h >= 0; h = ix->half[h].next) {
    const kn_row_block* b = &block[ix->half[h].block];
    const int32_t* to = ix->map + ix->half[h].map;
    if (ix->half[h].side > 1) continue;
    double sign = ix->half[h].side ? -1.0 : 1.0;
    double ax = b->point[0] - o[0], ay = b->point[1] - o[1], az = b->point[2] - o[2];
    for (int t = 0; t < b->rows; t++) {
      double dx = sign * b->dir[t][0], dy = sign * b->dir[t][1], dz = sign * b->dir[t][2];
      int ang = b->angular;
      double f[6] = {ang ? dx : ay * dz - az * dy,
                     ang ? dy : az * dx - ax * dz,
                     ang ? dz : ax * dy - ay * dx,
                     ang ? 0.0 : dx,
                     ang ? 0.0 : dy,
                     ang ? 0.0 : dz};
      double* y = alone ? x++ : x + to[t];
#pragma GCC unroll 6
      for (int j = 0; j < 6; j++) y[j * pad] = alone ? f[j] : y[j * pad] + f[j];
    }
  }
}

/* x of a segment that ends where this one starts. Consecutive columns in vectors: those behind its last are zero, and there is
   room for them behind this one's. */
KN_INLINE void add_child(double* x, int pad, const kn_rows_index* ix, const kn_segment* c) {
  const int32_t* to = ix->map + c->map;
  const double* from = ix->x + 6 * c->x0;
  if (c->run) {
    x += to[0];
    for (int j = 0; j < 6; j++, x += pad, from += c->pad)
      for (int i = 0; i < c->pad; i += KN_RW) *(kn_vec*)(x + i) += *(const kn_vec*)(from + i);
    return;
  }
  for (int i = 0; i < c->cols; i++)
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) x[j * pad + to[i]] += from[j * c->pad + i];
}

/* x of a segment from those that end where it starts and the rows that start there. */
KN_INLINE void start_segment(kn_rows_index* ix, const kn_segment* s, const kn_data* d,
                             const kn_row_block* block) {
  double* x = ix->x + 6 * s->made;
  int pad = s->pad;
  const double* o = (const double*)&d->kin.link[d->model->dof_link[ix->dofs[s->dof0]]].o;
  if (!s->children && !s->dof_rows) {
    clear_padding(x, pad);
    start_forces(x, pad, ix, s->half, block, o, 1);
    return;
  }
  for (int c = 0; c < 6 * pad; c += KN_RW) *(kn_vec*)(x + c) = (kn_vec){0};
  for (int k = 0; k < s->children; k++) add_child(x, pad, ix, &ix->segment[ix->child[s->child0 + k]]);
  start_forces(x, pad, ix, s->half, block, o, 0);
  if (s->made != s->x0) memmove(ix->x + 6 * s->x0, x, sizeof(double) * 6 * (size_t)pad);
}

static void push(kn_rows* rows, kn_data* d, const kn_row_block* block) {
  kn_rows_index* ix = rows->index;
  for (int t = 0; t < ix->ndofs; t++) ix->scale[t] = d->fac[ix->dofs[t]].dinv;
  for (int t = 0; t < ix->ndofs; t++) ix->scale[t] = sqrt(ix->scale[t]);
  for (int t = 0; t < ix->nsegment; t++) {
    start_segment(ix, &ix->segment[t], d, block);
    flush(ix, &ix->segment[t], rows->Y, d, block);
  }
}

enum { TILE = 4, COLUMNS = 12 / KN_RW }; /* a tile is TILE rows and at most COLUMNS vectors */

/* Adds one row of a tile to Λ. plain: rows and columns of the segment are consecutive in Λ. Otherwise only
   pairs above the diagonal are added, each at its place above the diagonal of Λ. */
static void add_row(double* L, size_t n, const kn_segment* s, const int32_t* col, int i, int j,
                    const double* row, int cols) {
  if (s->plain) {
    double* to = L + (size_t)(col[0] + i) * n + (size_t)(col[0] + j);
    for (int c = 0; c < cols; c++) to[c] += row[c];
    return;
  }
  for (int c = i > j ? i - j : 0; c < cols; c++) {
    size_t a = (size_t)col[i], b = (size_t)col[j + c];
    L[a < b ? a * n + b : b * n + a] += row[c];
  }
}

/* S = Yᵀ Y of one segment for TILE rows from i and some vectors of columns from j, added to Λ. */
KN_INLINE void syrk_tile(double* L, size_t n, const kn_segment* s, const int32_t* col, const double* Y, int i,
                         int j, int vectors) {
  kn_vec acc[TILE][COLUMNS];
  for (int r = 0; r < TILE; r++)
    for (int v = 0; v < vectors; v++) acc[r][v] = (kn_vec){0};
  for (int t = 0; t < s->dofs; t++, Y += s->pad)
    for (int r = 0; r < TILE; r++)
      for (int v = 0; v < vectors; v++) acc[r][v] += Y[i + r] * *(const kn_vec*)(Y + j + v * KN_RW);
  int cols = s->cols - j < vectors * KN_RW ? s->cols - j : vectors * KN_RW;
  if (s->plain && cols == vectors * KN_RW && i + TILE <= s->cols) {
    double* to = L + (size_t)(col[0] + i) * n + (size_t)(col[0] + j);
    for (int r = 0; r < TILE; r++, to += n)
      for (int v = 0; v < vectors; v++) *(kn_vec*)(to + v * KN_RW) += acc[r][v];
    return;
  }
  if (s->plain && (size_t)(col[0] + s->cols - 1) * n + (size_t)(col[0] + j + vectors * KN_RW) <= n * n) {
    double* to = L + (size_t)(col[0] + i) * n + (size_t)(col[0] + j);
    for (int r = 0; r < TILE && i + r < s->cols; r++, to += n) /* columns beyond the segment's own are zero */
      for (int v = 0; v < vectors; v++) *(kn_vec*)(to + v * KN_RW) += acc[r][v];
    return;
  }
  double out[TILE][COLUMNS * KN_RW]; /* a copy, so that the sums themselves stay in registers */
  for (int r = 0; r < TILE; r++)
    for (int v = 0; v < vectors; v++) *(kn_vec*)(out[r] + v * KN_RW) = acc[r][v];
  for (int r = 0; r < TILE && i + r < s->cols; r++) add_row(L, n, s, col, i + r, j, out[r], cols);
}

/* B = Aᵀ of KN_RW x KN_RW numbers, rows n apart. */
KN_INLINE void transpose_block(double* B, const double* A, size_t n) {
#if KN_W > 2
  kn_vec a = *(const kn_vec*)A, b = *(const kn_vec*)(A + n), c = *(const kn_vec*)(A + 2 * n),
         d = *(const kn_vec*)(A + 3 * n);
  kn_vec x = __builtin_shufflevector(a, b, 0, 4, 2, 6), y = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  kn_vec z = __builtin_shufflevector(c, d, 0, 4, 2, 6), w = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  *(kn_vec*)B = __builtin_shufflevector(x, z, 0, 1, 4, 5);
  *(kn_vec*)(B + n) = __builtin_shufflevector(y, w, 0, 1, 4, 5);
  *(kn_vec*)(B + 2 * n) = __builtin_shufflevector(x, z, 2, 3, 6, 7);
  *(kn_vec*)(B + 3 * n) = __builtin_shufflevector(y, w, 2, 3, 6, 7);
#else
  kn_vec a = *(const kn_vec*)A, b = *(const kn_vec*)(A + n);
  *(kn_vec*)B = __builtin_shufflevector(a, b, 0, 2), *(kn_vec*)(B + n) = __builtin_shufflevector(a, b, 1, 3);
#endif
}

/* The lower triangle from the upper. */
static void mirror(double* L, size_t n) {
  size_t blocks = n / KN_RW * KN_RW;
  for (size_t i = 0; i < blocks; i += KN_RW) {
    for (size_t j = i + KN_RW; j < blocks; j += KN_RW) transpose_block(L + j * n + i, L + i * n + j, n);
    for (size_t r = i; r < i + KN_RW; r++)
      for (size_t c = r + 1; c < i + KN_RW; c++) L[c * n + r] = L[r * n + c];
  }
  for (size_t i = blocks; i < n; i++)
    for (size_t j = 0; j < i; j++) L[i * n + j] = L[j * n + i];
}

/* ---- many rows: one product of padded columns ----

   Y of all segments side by side in ix->whole, one row per dof, zero where a segment has no such column; then Λ by tiles
   of four rows and twelve columns over the segments that have columns in both. */

/* Rows of a segment, and zeros beside it. What a padded copy writes beyond its row is cleared with the next. */
KN_INLINE void spread_plain(double* to, const double* from, int dofs, size_t pad, size_t first, size_t ld) {
  for (int t = 0; t < dofs; t++, to += ld, from += pad) {
    for (size_t c = 0; c < first; c += KN_RW) *(kn_vec*)(to + c) = (kn_vec){0};
    for (size_t c = 0; c < pad; c += KN_RW) *(kn_vec*)(to + first + c) = *(const kn_vec*)(from + c);
    for (size_t c = first + pad; c < ld; c += KN_RW) *(kn_vec*)(to + c) = (kn_vec){0};
  }
}

static void spread_segment(const kn_rows_index* ix, const kn_segment* s, const double* Y, size_t ld) {
  const int32_t* col = ix->cols + s->col0;
  double* to = ix->whole + (size_t)s->dof0 * ld;
  const double* from = Y + s->y0;
  if (s->plain) {
    spread_plain(to, from, s->dofs, (size_t)s->pad, (size_t)col[0], ld);
    return;
  }
  for (int t = 0; t < s->dofs; t++, to += ld, from += s->pad) {
    for (size_t c = 0; c < ld; c += KN_RW) *(kn_vec*)(to + c) = (kn_vec){0};
    for (int c = 0; c < s->cols; c++) to[col[c]] = from[c];
  }
}

/* Λ of TILE rows from i and `fours` times four columns from j. */
KN_INLINE void whole_tile(double* L, size_t n, const kn_rows_index* ix, size_t ld, size_t i, size_t j,
                          const int32_t* list, int segments, const int fours) {
  enum { WIDE = 4 / KN_RW };
  const uint64_t bits = (((uint64_t)1 << fours) - 1) << (j / TILE);
  const int vectors = WIDE * fours;
  kn_vec acc[TILE][COLUMNS];
  for (int r = 0; r < TILE; r++)
    for (int v = 0; v < vectors; v++) acc[r][v] = (kn_vec){0};
  for (int k = 0; k < segments; k++) {
    const kn_segment* s = &ix->segment[list[k]];
    if (!(ix->tiles[list[k]] & bits)) continue;
    const double *y = ix->whole + (size_t)s->dof0 * ld + i, *x = y - i + j;
    for (int t = 0; t < s->dofs; t++, y += ld, x += ld)
      for (int r = 0; r < TILE; r++)
        for (int v = 0; v < vectors; v++) acc[r][v] += y[r] * *(const kn_vec*)(x + v * KN_RW);
  }
  if (i + TILE <= n && j + (size_t)vectors * KN_RW <= n) {
    double* to = L + i * n + j;
    for (int r = 0; r < TILE; r++, to += n)
      for (int v = 0; v < vectors; v++) *(kn_vec*)(to + v * KN_RW) = acc[r][v];
    return;
  }
  double out[TILE][COLUMNS * KN_RW];
  for (int r = 0; r < TILE; r++)
    for (int v = 0; v < vectors; v++) *(kn_vec*)(out[r] + v * KN_RW) = acc[r][v];
  for (size_t r = 0; r < TILE && i + r < n; r++)
    for (size_t c = 0; c < (size_t)vectors * KN_RW && j + c < n; c++) L[(i + r) * n + j + c] = out[r][c];
}

static void lambda_whole(double* L, const kn_rows* rows) {
  const kn_rows_index* ix = rows->index;
  size_t n = (size_t)rows->rows, wide = COLUMNS * KN_RW, ld = (n + wide - 1) / wide * wide;
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    spread_segment(ix, s, rows->Y, ld);
  }
  for (size_t i = 0; i < n; i += TILE) {
    int segments = 0;
    for (int t = 0; t < ix->nsegment; t++)
      if (ix->tiles[t] >> (i / TILE) & 1) ix->stack[segments++] = t;
    for (size_t j = i; j < n; j += wide) switch ((n - j + 3) / 4) {
      case 1: whole_tile(L, n, ix, ld, i, j, ix->stack, segments, 1); break;
      case 2: whole_tile(L, n, ix, ld, i, j, ix->stack, segments, 2); break;
      default: whole_tile(L, n, ix, ld, i, j, ix->stack, segments, 3);
      }
  }
  mirror(L, n);
}

/* Small sets of plain segments: the whole square, symmetric by construction. Otherwise the upper triangle. */
static void lambda(double* Lambda, const kn_rows* rows) {
  const kn_rows_index* ix = rows->index;
  size_t n = (size_t)rows->rows;
  int whole = n <= 16;
  for (int t = 0; t < ix->nsegment; t++) whole &= ix->segment[t].plain;
  if (n >= KN_WHOLE_LEAST && n <= (size_t)ix->whole_cap) {
    lambda_whole(Lambda, rows);
    return;
  }
  memset(Lambda, 0, sizeof(double) * n * n);
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    const double* Y = rows->Y + s->y0;
    const int32_t* col = ix->cols + s->col0;
    for (int i = 0; i < s->cols; i += TILE) {
      int j = whole ? 0 : i;
      for (; j + COLUMNS * KN_RW <= s->pad; j += COLUMNS * KN_RW)
        syrk_tile(Lambda, n, s, col, Y, i, j, COLUMNS);
      if (j + 2 * KN_RW <= s->pad) syrk_tile(Lambda, n, s, col, Y, i, j, 2), j += 2 * KN_RW;
      for (; j < s->pad; j += KN_RW) syrk_tile(Lambda, n, s, col, Y, i, j, 1);
    }
  }
  if (!whole) mirror(Lambda, n);
}
