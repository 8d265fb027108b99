/* Decompression of many contacts: the doubled problem of solve.c with Λ by blocks. Contact b with a given impulse θ gets a twin
   b' behind all blocks, and an entry Λ_bc becomes up to four:

     (b, c) as it is    (b, c') without the normal column    (b', c) without the normal row    (b', c') without either

   and (b', b') has a normal of its own, any positive number: r_N = θ. Rows stay in ascending order where Λ's are. Called by
   solve.c (stage 8). */

#include "contact/formulation/formulation.h"

enum { SIZE = 3 }; /* twins are of cones with three rows */

static double normal_of(const kn_lambda_blocks* B, int b) {
  double normal = 0.0;
  for (int k = B->start[b]; k < B->start[b + 1]; k++)
    if (B->col[k] == b) normal += B->value[B->at[k]];
  return normal;
}

/* Numbers the twins, with their blocks and offsets; returns the rows of the problem. */
static int number(kn_contact_work* w, const double* theta) {
  const kn_lambda_blocks* B = &w->large.blocks;
  int *of = w->large.twins.of, n = w->nblock, rows = w->rows;
  for (int b = 0; b < n; b++) {
    const kn_block* c = &w->block[b];
    of[b] = -1;
    if (c->set != KN_SET_CONE3 || !(theta[c->row] > 0.0)) continue;
    of[b] = w->nblock;
    w->block[w->nblock++] = (kn_block){.set = c->set, .row = rows, .mu = c->mu};
    w->q[rows] = -normal_of(B, b) * theta[c->row];
    for (int i = 1; i < SIZE; i++) w->q[rows + i] = w->q[c->row + i];
    rows += SIZE;
  }
  return rows;
}

static int64_t count(const kn_contact_work* w, int n) {
  const kn_lambda_blocks* B = &w->large.blocks;
  const int* of = w->large.twins.of;
  int64_t sum = 0;
  for (int b = 0; b < n; b++)
    for (int k = B->start[b]; k < B->start[b + 1]; k++)
      sum += (1 + (of[b] >= 0)) * (1 + (of[B->col[k]] >= 0));
  return sum;
}

/* One row of blocks, that of b or that of its twin: first b's own columns, then their twins. */
static int put_row(kn_contact_work* w, int b, bool twin, int at, int64_t* values) {
  const kn_lambda_blocks* B = &w->large.blocks;
  kn_work_twins* t = &w->large.twins;
  int rows = B->size[b];
  bool first = true; /* of the entries (b, b), which may be several */
  for (int pass = 0; pass < 2; pass++)
    for (int k = B->start[b]; k < B->start[b + 1]; k++) {
      int c = B->col[k], cols = B->size[c];
      if (pass && t->of[c] < 0) continue;
      t->col[at] = pass ? t->of[c] : c;
      t->at[at++] = twin || pass ? *values : B->at[k];
      if (!twin && !pass) continue;
      double* v = B->value + *values;
      const double* from = B->value + B->at[k];
      *values += KN_BLOCK_STRIDE;
      for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
          v[i * cols + j] = (twin && i == 0) || (pass && j == 0) ? 0.0 : from[i * cols + j];
      if (!twin || !pass || c != b || !first) continue;
      v[0] = normal_of(B, b);
      first = false;
    }
  return at;
}

kn_status kn_twins_make(int* rows, kn_contact_work* w, const double* theta) {
  kn_work_twins* t = &w->large.twins;
  int n = w->nblock, at = 0;
  int64_t values = KN_BLOCK_STRIDE * (int64_t)w->large.entries;
  *rows = number(w, theta);
  int64_t entries = count(w, n);
  if (entries > w->large.entries) return kn_contact_no_entries(w, entries);
  for (int b = 0; b < w->nblock; b++) t->start[b + 1] = 0;
  t->start[0] = 0;
  for (int b = 0; b < n; b++) t->start[b + 1] = at = put_row(w, b, false, at, &values);
  for (int b = 0; b < n; b++)
    if (t->of[b] >= 0) t->start[t->of[b] + 1] = at = put_row(w, b, true, at, &values);
  return KN_OK;
}

void kn_twins_fold(kn_contact_work* w, int nblock) {
  for (int b = 0; b < nblock; b++) {
    int twin = w->large.twins.of[b];
    for (int i = 1; i < SIZE && twin >= 0; i++) w->r[w->block[b].row + i] += w->r[w->block[twin].row + i];
  }
  w->nblock = nblock;
}
