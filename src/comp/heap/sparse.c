/* Loading a problem into the block-sparse scaled form: symmetric pattern, block columns, W' = D W D. */
#include "comp/heap/sparse.h"

#include <string.h>

#include "comp/cone/cone.h"

static bool block_is_zero(const kn_problem* p, int a, int b) {
  const kn_block *x = &p->block[a], *y = &p->block[b];
  for (int i = 0, rows = kn_set_rows(x->set); i < rows; i++)
    for (int j = 0, cols = kn_set_rows(y->set); j < cols; j++)
      if (p->W[(size_t)(x->row + i) * (size_t)p->rows + (size_t)(y->row + j)] != 0.0) return false;
  return true;
}

/* Column lists from a dense matrix. */
static bool pattern_of_dense(kn_cone_sparse* s, const kn_problem* p, int capacity) {
  int at = 0;
  for (int b = 0; b < p->blocks; b++) {
    s->start[b] = at;
    for (int a = 0; a < p->blocks; a++) {
      if (a != b && block_is_zero(p, a, b) && block_is_zero(p, b, a)) continue;
      if (at == capacity) return false;
      s->row[at++] = a;
    }
  }
  s->start[p->blocks] = s->stored = at;
  return true;
}

void kn_sort_few(int* a, int n) {
  for (int i = 1; i < n; i++) {
    int x = a[i], j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* Union of the stored blocks, their mirror images and the diagonal. */
static bool pattern_of_sparse(kn_cone_sparse* s, const kn_problem* p, int capacity) {
  const kn_sparse* w = p->sparse;
  int n = p->blocks, *next = s->plan.scratch;
  for (int b = 0; b <= n; b++) next[b] = 0;
  for (int b = 0; b < n; b++) {
    next[b]++;
    for (int k = w->start[b]; k < w->start[b + 1]; k++)
      if (w->col[k] != b) next[b]++, next[w->col[k]]++;
  }
  int at = 0;
  for (int b = 0; b < n; b++) {
    s->start[b] = at;
    at += next[b];
    next[b] = s->start[b];
  }
  s->start[n] = at;
  if (at > capacity) return false;
  for (int b = 0; b < n; b++) {
    s->row[next[b]++] = b;
    for (int k = w->start[b]; k < w->start[b + 1]; k++)
      if (w->col[k] != b) s->row[next[b]++] = w->col[k], s->row[next[w->col[k]]++] = b;
  }
  at = 0;
  for (int b = 0; b < n; b++) { /* sort, drop doubles */
    int from = s->start[b], end = s->start[b + 1];
    kn_sort_few(s->row + from, end - from);
    s->start[b] = at;
    for (int k = from; k < end; k++)
      if (k == from || s->row[k] != s->row[k - 1]) s->row[at++] = s->row[k];
  }
  s->start[n] = s->stored = at;
  return true;
}

/* Heaps come with a symmetric pattern in ascending order, the diagonal in it: nothing is left to do but to
   note the mirror images. */
static bool pattern_as_it_is(kn_cone_sparse* s, const kn_problem* p, int capacity) {
  const int *start = p->sparse->start, *col = p->sparse->col;
  int n = p->blocks, *next = s->plan.scratch;
  if (start[n] > capacity) return false;
  memcpy(next, start, (size_t)n * sizeof *next);
  for (int b = 0; b < n; b++) {
    int last = -1;
    s->diagonal[b] = -1;
    for (int k = start[b]; k < start[b + 1]; k++) {
      int c = col[k], other = next[c]++;
      if (c <= last || other >= start[c + 1] || col[other] != b) return false;
      if (c == b) s->diagonal[b] = k;
      s->mirror[k] = other, last = c;
    }
    if (s->diagonal[b] < 0) return false;
  }
  memcpy(s->start, start, (size_t)(n + 1) * sizeof *start);
  memcpy(s->row, col, (size_t)start[n] * sizeof *col);
  s->stored = start[n];
  return true;
}

static void mirrors(kn_cone_sparse* s) {
  int* next = s->plan.scratch;
  memcpy(next, s->start, (size_t)s->blocks * sizeof *next);
  for (int b = 0; b < s->blocks; b++) /* columns in order meet the rows of each column in order */
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      int other = next[s->row[k]]++;
      s->mirror[k] = other;
      if (s->row[k] == b) s->diagonal[b] = k;
    }
}

/* v += D_a w D_b of one block, w row-major with the given stride. */
static void add_block(double* v, const kn_cone* c, int a, int b, const double* w, int stride) {
  const kn_cone_block *x = &c->block[a], *y = &c->block[b];
  const double *da = c->d + x->row, *db = c->d + y->row;
  if (x->rows == 3 && y->rows == 3) {
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++) v[4 * j + i] += w[i * stride + j] * da[i] * db[j];
    return;
  }
  for (int j = 0; j < y->rows; j++)
    for (int i = 0; i < x->rows; i++) v[4 * j + i] += w[i * stride + j] * da[i] * db[j];
}

/* Block rows in order meet the rows of each column in order: one moving index per column finds the place. */
static void fill_from_sparse(kn_cone* c, const kn_problem* p) {
  kn_cone_sparse* s = c->sparse;
  const kn_sparse* w = p->sparse;
  int* next = s->plan.scratch;
  memcpy(next, s->start, (size_t)s->blocks * sizeof *next);
  for (int a = 0; a < p->blocks; a++)
    for (int k = w->start[a]; k < w->start[a + 1]; k++) {
      int b = w->col[k];
      while (s->row[next[b]] < a) next[b]++;
      add_block(s->value + 12 * (size_t)next[b], c, a, b, w->value + w->at[k], c->block[b].rows);
    }
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* v = D_a w D_b of three rows and columns: one column of v after the other. */
static inline void put_block(double* v, const double* da, const double* db, const double* w) {
  pair d = *(const pair*)da, last = {da[2], 0.0};
  for (int j = 0; j < 3; j++) {
    *(pair*)(v + 4 * j) = (pair){w[j], w[3 + j]} * d * db[j];
    *(pair*)(v + 4 * j + 2) = (pair){w[6 + j], 0.0} * last * db[j];
  }
}

/* Every block comes once, and its place is known. */
typedef struct filling {
  kn_cone* c;
  const kn_problem* p;
} filling;

static void fill_some(int worker, int first, int last, void* context) {
  kn_cone* c = ((filling*)context)->c;
  const kn_problem* p = ((filling*)context)->p;
  kn_cone_sparse* s = c->sparse;
  const kn_sparse* w = p->sparse;
  (void)worker;
  for (int a = first; a < last; a++)
    for (int k = w->start[a]; k < w->start[a + 1]; k++) {
      int b = w->col[k];
      double* v = s->value + 12 * (size_t)s->mirror[k];
      if (c->block[a].rows == 3 && c->block[b].rows == 3) {
        put_block(v, c->d + 4 * a, c->d + 4 * b, w->value + w->at[k]);
        continue;
      }
      memset(v, 0, 12 * sizeof *v);
      add_block(v, c, a, b, w->value + w->at[k], c->block[b].rows);
    }
}

static void fill_in_place(kn_cone* c, const kn_problem* p) {
  filling f = {c, p};
  if (c->sparse->crew && c->sparse->stored >= KN_SPARSE_SHARE)
    kn_crew_run(c->sparse->crew, p->blocks, p->blocks / 16 + 1, fill_some, &f);
  else
    fill_some(0, 0, p->blocks, &f);
}

static void fill_from_dense(kn_cone* c, const kn_problem* p) {
  const kn_cone_sparse* s = c->sparse;
  for (int b = 0; b < p->blocks; b++)
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      const double* w = p->W + (size_t)p->block[s->row[k]].row * (size_t)p->rows + (size_t)p->block[b].row;
      add_block(s->value + 12 * (size_t)k, c, s->row[k], b, w, p->rows);
    }
}

bool kn_sparse_load(kn_cone* c, const kn_problem* p, int capacity) {
  kn_cone_sparse* s = c->sparse;
  s->blocks = p->blocks;
  s->order.covered = s->order.begun = s->plan.planned = false;
  if (!p->W && pattern_as_it_is(s, p, capacity)) {
    fill_in_place(c, p);
    return true;
  }
  if (!(p->W ? pattern_of_dense(s, p, capacity) : pattern_of_sparse(s, p, capacity))) return false;
  mirrors(s);
  memset(s->value, 0, 12 * (size_t)s->stored * sizeof *s->value);
  if (p->W)
    fill_from_dense(c, p);
  else
    fill_from_sparse(c, p);
  return true;
}
