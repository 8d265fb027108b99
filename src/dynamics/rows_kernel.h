/* Y = J L⁻¹ by pushing rows up the tree (notes in docs/dynamics.md).

   A row is the force x = ((c - o) x d; d) of its unit multiplier on a link; at every dof on the way
     y = s.x (+ coefficient),   x <- X x - g y,
   so that J M⁻¹ Jᵀ = sum over dofs of y yᵀ / D. Y is stored as y / sqrt(D): Λ = Y Yᵀ is symmetric to the
   last bit. Columns lie in vector lanes; every lane does the same operations whatever the width. */
#include <math.h>
#include <string.h>

#include "dynamics/kernel.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

/* y and x of one dof for all columns of a segment; x has 6 rows of pad entries. r: move before the update,
   or NULL. */
static void push_dof(double* y, double* x, int pad, const double* sa, const double* sl, int kind) {
  const double *x0 = x, *x1 = x + pad, *x2 = x + 2 * pad, *x3 = x + 3 * pad, *x4 = x + 4 * pad,
               *x5 = x + 5 * pad;
  for (int c = 0; c < pad; c += KN_W) {
    kn_vec t;
    if (kind == KN_DOF_SLIDE)
      t = sl[0] * *(const kn_vec*)(x3 + c) + sl[1] * *(const kn_vec*)(x4 + c) +
          sl[2] * *(const kn_vec*)(x5 + c);
    else
      t = sa[0] * *(const kn_vec*)(x0 + c) + sa[1] * *(const kn_vec*)(x1 + c) +
          sa[2] * *(const kn_vec*)(x2 + c);
    if (kind == KN_DOF_SCREW)
      t += sl[0] * *(const kn_vec*)(x3 + c) + sl[1] * *(const kn_vec*)(x4 + c) +
           sl[2] * *(const kn_vec*)(x5 + c);
    *(kn_vec*)(y + c) = t;
  }
}

/* n += r x f */
static void move_columns(double* x, int pad, const double* r) {
  for (int c = 0; c < pad; c += KN_W) {
    kn_vec fx = *(kn_vec*)(x + 3 * pad + c), fy = *(kn_vec*)(x + 4 * pad + c);
    kn_vec fz = *(kn_vec*)(x + 5 * pad + c);
    *(kn_vec*)(x + c) += r[1] * fz - r[2] * fy;
    *(kn_vec*)(x + pad + c) += r[2] * fx - r[0] * fz;
    *(kn_vec*)(x + 2 * pad + c) += r[0] * fy - r[1] * fx;
  }
}

/* x -= g y */
static void update_columns(double* x, const double* y, int pad, const double* gn, const double* gf) {
  const double g[6] = {gn[0], gn[1], gn[2], gf[0], gf[1], gf[2]};
  for (int k = 0; k < 6; k++)
    for (int c = 0; c < pad; c += KN_W) *(kn_vec*)(x + k * pad + c) -= g[k] * *(const kn_vec*)(y + c);
}

static void scale_columns(double* Y, const double* y, int pad, double s) {
  for (int c = 0; c < pad; c += KN_W) *(kn_vec*)(Y + c) = s * *(const kn_vec*)(y + c);
}

/* Carries a segment through the dofs of link i; coef: entries of dof rows at this link (halves from `half`).
 */
static void push_link(kn_rows_index* ix, kn_segment* s, double* Y, kn_data* d, int i, int half,
                      const kn_row_block* block) {
  const kn_link_const* c = &d->layout->link[i];
  const kn_kin* k = &d->kin;
  double *x = ix->x + 6 * s->x0, *y = ix->tmp;
  for (int j = c->v + c->nv - 1; j >= c->v; j--) {
    push_dof(y, x, s->pad, (const double*)&k->dof[j].sa, (const double*)&k->dof[j].sl,
             d->layout->dof_kind[j]);
    for (int h = half; h >= 0; h = ix->half[h].next) {
      const kn_row_block* b = &block[ix->half[h].block];
      int t = ix->half[h].side - 2;
      if (t >= 0 && b->dof[t] == j) y[ix->where[ix->half[h].row]] += b->coef[t];
    }
    double scale = sqrt(d->fac[j].dinv);
    ix->dofs[ix->ndofs] = j, ix->scale[ix->ndofs++] = scale;
    scale_columns(Y + s->y0 + (size_t)s->dofs * (size_t)s->pad, y, s->pad, scale);
    s->dofs++;
    ix->y_used += (size_t)s->pad;
    if (j == c->v && c->parent < 0) break;
    if (j == c->v) move_columns(x, s->pad, (const double*)&k->link[i].r);
    update_columns(x, y, s->pad, (const double*)&d->fac[j].gn, (const double*)&d->fac[j].gf);
  }
  s->at = c->parent;
}

/* Column of a row in the segment being built. */
static int column(kn_rows_index* ix, kn_segment* s, int row) {
  if (ix->where[row] < 0) {
    ix->where[row] = s->cols++;
    ix->cols[ix->ncols++] = row;
  }
  return ix->where[row];
}

static void half_columns(kn_rows_index* ix, kn_segment* s, int half, const kn_row_block* block) {
  for (int h = half; h >= 0; h = ix->half[h].next) {
    const kn_row_block* b = &block[ix->half[h].block];
    int rows = b->ndof > 0 ? 1 : b->rows;
    for (int t = 0; t < rows; t++) column(ix, s, ix->half[h].row + t);
  }
}

static void half_forces(kn_rows_index* ix, const kn_segment* s, int half, const kn_row_block* block,
                        const kn_v4* o) {
  for (int h = half; h >= 0; h = ix->half[h].next) {
    const kn_row_block* b = &block[ix->half[h].block];
    if (ix->half[h].side > 1) continue;
    double sign = ix->half[h].side ? -1.0 : 1.0;
    kn_v4 arm = v4_sub(v4_load3(b->point), *o);
    for (int t = 0; t < b->rows; t++) {
      kn_v4 dir = v4_scale(v4_load3(b->dir[t]), sign);
      kn_v4 n = b->angular ? dir : v4_cross(arm, dir), f = b->angular ? v4_zero() : dir;
      double* x = ix->x + 6 * s->x0 + ix->where[ix->half[h].row + t];
      for (int j = 0; j < 3; j++) x[j * s->pad] += ((double*)&n)[j], x[(3 + j) * s->pad] += ((double*)&f)[j];
    }
  }
}

/* New segment at link i from the open segments that end there and the rows that start there; it takes their
   place on the stacks. */
static kn_segment* join(kn_rows_index* ix, int* top, int i, int half, const kn_row_block* block,
                        const kn_v4* o) {
  int first = *top;
  while (first > 0 && ix->segment[ix->stack[first - 1]].at == i) first--;
  kn_segment* s = &ix->segment[ix->nsegment];
  int below = *top > 0 ? ix->stack[*top - 1] : -1; /* topmost x */
  int x_top = below < 0 ? 0 : ix->segment[below].x0 + ix->segment[below].pad;
  *s = (kn_segment){.at = i, .col0 = ix->ncols, .dof0 = ix->ndofs, .x0 = x_top, .y0 = ix->y_used};
  for (int t = *top - 1; t >= first; t--) {
    const kn_segment* c = &ix->segment[ix->stack[t]];
    for (int k = 0; k < c->cols; k++) column(ix, s, ix->cols[c->col0 + k]);
  }
  half_columns(ix, s, half, block);
  s->pad = (s->cols + KN_PAD - 1) / KN_PAD * KN_PAD;
  double* x = ix->x + 6 * s->x0;
  memset(x, 0, sizeof(double) * 6 * (size_t)s->pad);
  for (int t = *top - 1; t >= first; t--) {
    const kn_segment* c = &ix->segment[ix->stack[t]];
    const double* cx = ix->x + 6 * c->x0;
    for (int k = 0; k < c->cols; k++) {
      int to = ix->where[ix->cols[c->col0 + k]];
      for (int j = 0; j < 6; j++) x[j * s->pad + to] += cx[j * c->pad + k];
    }
  }
  half_forces(ix, s, half, block, o);
  if (first < *top) { /* move down over the children's columns */
    int to = ix->segment[ix->stack[first]].x0;
    memmove(ix->x + 6 * to, x, sizeof(double) * 6 * (size_t)s->pad);
    s->x0 = to;
  }
  s->plain = 1;
  for (int k = 1; k < s->cols; k++) s->plain &= ix->cols[s->col0 + k] == ix->cols[s->col0] + k;
  *top = first;
  ix->stack[(*top)++] = ix->nsegment++;
  return s;
}

static void push(kn_rows* rows, kn_data* d, const kn_row_block* block) {
  kn_rows_index* ix = rows->index;
  int top = 0;
  ix->nsegment = ix->ncols = ix->ndofs = 0;
  ix->y_used = 0;
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    int half = ix->head[i];
    int here = top > 0 && ix->segment[ix->stack[top - 1]].at == i;
    if (half < 0 && !here) continue;
    kn_segment* s;
    int several = here && top > 1 && ix->segment[ix->stack[top - 2]].at == i;
    if (half >= 0 || several)
      s = join(ix, &top, i, half, block, &d->kin.link[i].o);
    else
      s = &ix->segment[ix->stack[top - 1]];
    push_link(ix, s, rows->Y, d, i, half, block);
    if (half >= 0 || several)
      for (int k = 0; k < s->cols; k++) ix->where[ix->cols[s->col0 + k]] = -1;
    if (s->at < 0) top--;
  }
}

/* S = Yᵀ Y of one segment for columns [i, i + 4) x [j, j + KN_PAD), added to Λ. */
KN_INLINE void syrk_tile(double out[4][KN_PAD], const kn_segment* s, const double* Y, int i, int j) {
  enum { V = KN_PAD / KN_W };
  kn_vec acc[4][V];
  for (int r = 0; r < 4; r++)
    for (int v = 0; v < V; v++) acc[r][v] = (kn_vec){0};
  for (int t = 0; t < s->dofs; t++) {
    const double* y = Y + (size_t)t * (size_t)s->pad;
    kn_vec b[V];
    for (int v = 0; v < V; v++) b[v] = *(const kn_vec*)(y + j + v * KN_W);
    for (int r = 0; r < 4; r++)
      for (int v = 0; v < V; v++) acc[r][v] += y[i + r] * b[v];
  }
  for (int r = 0; r < 4; r++)
    for (int v = 0; v < V; v++) *(kn_vec*)(out[r] + v * KN_W) = acc[r][v];
}

static void lambda(double* Lambda, const kn_rows* rows) {
  const kn_rows_index* ix = rows->index;
  size_t n = (size_t)rows->rows;
  memset(Lambda, 0, sizeof(double) * n * n);
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    const int32_t* col = ix->cols + s->col0;
    for (int i = 0; i < s->cols; i += 4)
      for (int j = i / KN_PAD * KN_PAD; j < s->cols; j += KN_PAD) {
        double out[4][KN_PAD];
        syrk_tile(out, s, rows->Y + s->y0, i, j);
        for (int r = 0; r < 4 && i + r < s->cols; r++)
          for (int c = 0; c < KN_PAD && j + c < s->cols; c++) {
            size_t a = (size_t)col[i + r], b = (size_t)col[j + c];
            Lambda[a * n + b] += out[r][c];
            if (j > i / KN_PAD * KN_PAD) Lambda[b * n + a] += out[r][c];
          }
      }
  }
}
