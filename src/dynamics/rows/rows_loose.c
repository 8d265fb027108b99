/* Rows between loose bodies, every link a free root without children: each half of a block, at one body, gets
   its own Y of 6 x 3 numbers, and nothing has to be pushed along a tree. Of the index are used: stack (links
   with rows), dofs (first member of each), cols (members: block, first row, rows), scale (by dof). */
#include "dynamics/rows/rows.h"

static bool is_loose(const kn_data* d, int link) {
  const kn_link* l = &d->model->link[link];
  return l->type == KN_LINK_FREE && l->parent < 0 && l->end == link + 1;
}

/* Lists the halves by links, in the order of the blocks; false when some row is of another kind. */
static bool list_halves(kn_rows_index* ix, const kn_data* d, const kn_row_block* block, int blocks,
                        int rows) {
  ix->nhalf = 0;
  for (int i = blocks - 1, row = rows; i >= 0; i--) {
    const kn_row_block* b = &block[i];
    int link[2] = {b->link_a, b->link_b};
    if (b->ndof > 0 || b->angular || b->link_a == b->link_b) return false;
    row -= b->rows;
    for (int side = 1; side >= 0; side--) {
      if (link[side] < 0) continue;
      if (!is_loose(d, link[side])) return false;
      ix->half[ix->nhalf] = (kn_half){.block = i, .row = row, .side = side, .next = ix->head[link[side]]};
      ix->head[link[side]] = ix->nhalf++;
    }
  }
  return true;
}

static void forget_halves(kn_rows_index* ix, const kn_row_block* block) {
  for (int h = 0; h < ix->nhalf; h++) {
    const kn_row_block* b = &block[ix->half[h].block];
    ix->head[ix->half[h].side ? b->link_b : b->link_a] = -1;
  }
}

bool kn_rows_push_loose(kn_rows* rows, kn_data* data, const kn_model* model, const kn_row_block* block,
                        int blocks) {
  kn_rows_index* ix = rows->index;
  int count = 0, n = 0;
  for (int i = 0; i < blocks; i++) count += block[i].rows;
  if (count > rows->capacity || 48 * (size_t)blocks > ix->y_cap) return false;
  bool fits = list_halves(ix, data, block, blocks, count);
  __typeof__(&kn_loose_push_base) push = KN_BEST(kn_loose_push);
  ix->nsegment = ix->planned = 0;
  for (int i = 0; i < model->nlink && fits; i++) {
    if (ix->head[i] < 0) continue;
    ix->dofs[ix->nsegment] = n, ix->stack[ix->nsegment++] = i;
    push(rows->Y + 24 * (size_t)n, ix->scale + data->layout->link[i].v, data, i, block, ix->half,
         ix->head[i]);
    for (int h = ix->head[i]; h >= 0; h = ix->half[h].next, n++) {
      int32_t* member = ix->cols + 3 * n;
      member[0] = ix->half[h].block, member[1] = ix->half[h].row, member[2] = block[ix->half[h].block].rows;
    }
  }
  ix->dofs[ix->nsegment] = n;
  forget_halves(ix, block);
  ix->planar = 0, ix->loose = fits;
  rows->rows = count;
  return fits;
}

/* dof by dof e = Σ Y λ; bodies without rows have none. */
void kn_rows_loose_apply(const kn_rows* rows, kn_data* data, const double* lambda) {
  const kn_rows_index* ix = rows->index;
  __typeof__(&kn_loose_apply_base) apply = KN_BEST(kn_loose_apply);
  for (int t = 0; t < ix->nsegment; t++) {
    int first = ix->dofs[t], v = data->layout->link[ix->stack[t]].v;
    apply(data->fac + v, ix->scale + v, rows->Y + 24 * (size_t)first, ix->cols + 3 * first,
          ix->dofs[t + 1] - first, lambda);
  }
}
