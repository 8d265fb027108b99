/* Where the numbers of rows go (rows.h): segments, their columns and dofs, and the columns of what joins. It depends on the
   links and dofs of the rows only, so that a plan serves as long as these stay. Called by kn_rows_push. */
#include "dynamics/rows/rows.h"

/* The block as the plan knows it. */
typedef struct planned {
  int32_t rows, at[3];
} planned;
_Static_assert(sizeof(planned) == KN_PLAN * sizeof(int32_t), "the plan's numbers");

static inline planned planned_as(const kn_row_block* b) {
  if (b->ndof == 0) return (planned){b->rows, {b->link_a, b->link_b, 0}};
  return (planned){-b->ndof, {b->dof[0], b->ndof > 1 ? b->dof[1] : 0, b->ndof > 2 ? b->dof[2] : 0}};
}

static bool as_planned(const kn_rows_index* ix, const kn_row_block* block, int blocks) {
  const planned* plan = (const planned*)ix->plan;
  bool same = ix->planned == blocks;
  for (int i = 0; same && i < blocks; i++) {
    planned p = planned_as(&block[i]);
    same = ((p.rows ^ plan[i].rows) | (p.at[0] ^ plan[i].at[0]) | (p.at[1] ^ plan[i].at[1]) |
            (p.at[2] ^ plan[i].at[2])) == 0;
  }
  return same;
}

static void add_half(kn_rows_index* ix, int link, int block, int row, int side) {
  if (link < 0) return;
  kn_half* h = &ix->half[ix->nhalf];
  *h = (kn_half){.block = block, .row = row, .side = side, .next = ix->head[link]};
  ix->head[link] = ix->nhalf++;
}

/* Added from the last block to the first, so that a link's list runs in the order of the blocks. */
static void add_halves(kn_rows_index* ix, const kn_model* m, const kn_row_block* block, int blocks,
                       int rows) {
  ix->nhalf = 0;
  for (int i = blocks - 1, row = rows; i >= 0; i--) {
    const kn_row_block* b = &block[i];
    row -= b->ndof > 0 ? 1 : b->rows;
    for (int t = b->ndof - 1; t >= 0; t--) add_half(ix, m->dof_link[b->dof[t]], i, row, 2 + t);
    if (b->ndof > 0 || b->link_a == b->link_b) continue;
    add_half(ix, b->link_b, i, row, 1);
    add_half(ix, b->link_a, i, row, 0);
  }
}

/* A row of the segment being built, and of the map until place_columns. */
static void column(kn_rows_index* ix, kn_segment* s, int row) {
  ix->map[ix->nmap++] = row;
  if (ix->where[row] >= 0) return;
  ix->where[row] = 0;
  ix->cols[s->col0 + s->cols++] = row;
}

/* Columns by their rows, ascending, so that those of a trunk follow one another; the map from `from` on gets places. */
static void place_columns(kn_rows_index* ix, kn_segment* s, int from) {
  int32_t* col = ix->cols + s->col0;
  for (int i = 1; i < s->cols && s->cols <= KN_WHOLE_MOST; i++) {
    int32_t row = col[i], k = i;
    for (; k > 0 && col[k - 1] > row; k--) col[k] = col[k - 1];
    col[k] = row;
  }
  for (int k = 0; k < s->cols; k++) ix->where[col[k]] = k, s->plain &= col[k] == col[0] + k;
  for (int k = from; k < ix->nmap; k++) ix->map[k] = ix->where[ix->map[k]];
  for (int k = 0; k < s->cols; k++) ix->where[col[k]] = -1;
  ix->ncols += s->cols;
  s->pad = (s->cols + KN_PAD - 1) / KN_PAD * KN_PAD;
}

static void half_columns(kn_rows_index* ix, kn_segment* s, const kn_row_block* block) {
  for (int h = s->half; h >= 0; h = ix->half[h].next) {
    kn_half* half = &ix->half[h];
    const kn_row_block* b = &block[half->block];
    half->map = ix->nmap;
    s->dof_rows |= half->side > 1;
    for (int t = 0; t < (b->ndof > 0 ? 1 : b->rows); t++) column(ix, s, half->row + t);
  }
}

/* Do the columns of a segment follow one another in the one it joined? */
static bool runs(const kn_rows_index* ix, const kn_segment* c) {
  const int32_t* to = ix->map + c->map;
  for (int k = 1; k < c->cols; k++)
    if (to[k] != to[0] + k) return false;
  return true;
}

/* New segment at link i from the open segments that end there and the rows that start there; it takes their
   place on the stacks. */
static kn_segment* join(kn_rows_index* ix, int* top, int i, int half, const kn_data* d,
                        const kn_row_block* block) {
  int first = *top;
  while (first > 0 && ix->segment[ix->stack[first - 1]].at == i) first--;
  int below = *top > 0 ? ix->stack[*top - 1] : -1; /* topmost x */
  int x_top = below < 0 ? 0 : ix->segment[below].x0 + ix->segment[below].pad;
  kn_segment* s = &ix->segment[ix->nsegment];
  *s = (kn_segment){.at = i,
                    .half = half,
                    .plain = 1,
                    .first = d->layout->link[i].nv,
                    .col0 = ix->ncols,
                    .dof0 = ix->ndofs,
                    .x0 = first < *top ? ix->segment[ix->stack[first]].x0 : x_top,
                    .made = x_top,
                    .child0 = ix->nchild,
                    .y0 = ix->y_used};
  int from = ix->nmap;
  for (int t = *top - 1; t >= first; t--) {
    kn_segment* c = &ix->segment[ix->stack[t]];
    c->map = ix->nmap;
    for (int k = 0; k < c->cols; k++) column(ix, s, ix->cols[c->col0 + k]);
    ix->child[ix->nchild++] = ix->stack[t], s->children++;
  }
  half_columns(ix, s, block);
  place_columns(ix, s, from);
  for (int t = first; t < *top; t++) ix->segment[ix->stack[t]].run = runs(ix, &ix->segment[ix->stack[t]]);
  *top = first;
  ix->stack[(*top)++] = ix->nsegment++;
  return s;
}

/* The dofs of link i join the segment's list. */
static void append(kn_rows_index* ix, kn_segment* s, const kn_data* d, int i) {
  const kn_link_const* c = &d->layout->link[i];
  for (int j = c->v + c->nv - 1; j >= c->v; j--) {
    ix->dofs[ix->ndofs++] = j;
    s->dofs++;
    ix->y_used += (size_t)s->pad;
  }
  s->at = c->parent;
}

/* Tips first; a segment's dofs end where another begins. */
static void segments(kn_rows_index* ix, const kn_data* d, const kn_row_block* block) {
  int top = 0;
  ix->nsegment = ix->ncols = ix->ndofs = ix->nchild = ix->nmap = 0;
  ix->y_used = 0;
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    int half = ix->head[i];
    kn_segment* s = top > 0 ? &ix->segment[ix->stack[top - 1]] : NULL;
    bool here = s && s->at == i, several = here && top > 1 && ix->segment[ix->stack[top - 2]].at == i;
    if (half < 0 && !here) continue;
    if (half >= 0 || several) s = join(ix, &top, i, half, d, block);
    append(ix, s, d, i);
    if (s->at < 0) top--;
  }
}

/* Bit k: the segment has some of the columns 4 k … 4 k + 3. */
static uint64_t tiles_of(const kn_rows_index* ix, const kn_segment* s) {
  uint64_t tiles = 0;
  for (int c = 0; c < s->cols; c++) tiles |= (uint64_t)1 << ((uint32_t)ix->cols[s->col0 + c] / 4);
  return tiles;
}

void kn_rows_plan(kn_rows_index* ix, const kn_data* d, const kn_row_block* block, int blocks, int rows) {
  const kn_model* m = d->model;
  if (as_planned(ix, block, blocks)) return;
  add_halves(ix, m, block, blocks, rows);
  segments(ix, d, block);
  for (int t = 0; t < ix->nsegment && rows <= ix->whole_cap; t++)
    ix->tiles[t] = tiles_of(ix, &ix->segment[t]);
  for (int h = 0; h < ix->nhalf; h++) { /* clean the heads for the next time */
    const kn_row_block* b = &block[ix->half[h].block];
    int side = ix->half[h].side;
    ix->head[side == 0 ? b->link_a : side == 1 ? b->link_b : m->dof_link[b->dof[side - 2]]] = -1;
  }
  for (int i = 0; i < blocks; i++) ((planned*)ix->plan)[i] = planned_as(&block[i]);
  ix->planned = blocks;
}
