/* From the entries of a file to a block-sparse kn_problem. A global problem is condensed by connected parts
   of M, each with one dense LU:  K = [H G],  [W] = K^T M^-1 K,  q = K^T M^-1 f + [w; b]. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"
#include "load/fclib/fclib.h"
#include "math/dense.h"

/* ---- scalar entries -> blocks ---- */

typedef struct list {
  size_t count;
  int capacity;
  struct item {
    int row, col;
    double x;
  } * at;
} list;

static kn_status push(list* l, int row, int col, double x) {
  if (l->count >= INT32_MAX || !KN_ROOM(l->at, l->capacity, (int)l->count + 1))
    return kn_fail(KN_OUT_OF_MEMORY, "%zu matrix entries", l->count + 1);
  l->at[l->count++] = (struct item){row, col, x};
  return KN_OK;
}

static int block_of(int row, int contacts, int dimension) {
  return row < contacts * dimension ? row / dimension : contacts + row - contacts * dimension;
}

static int first_row(int block, int contacts, int dimension) {
  return block < contacts ? block * dimension : contacts * dimension + block - contacts;
}

static int block_rows(int block, int contacts, int dimension) { return block < contacts ? dimension : 1; }

kn_status kn_fclib_layout(kn_fclib* out, int contacts, int dimension, int equalities, const int* start,
                          const int* col) {
  int blocks = contacts + equalities, rows = contacts * dimension + equalities;
  size_t stored = (size_t)start[blocks], values = 0;
  for (int b = 0; b < blocks; b++)
    for (int k = start[b]; k < start[b + 1]; k++)
      values += (size_t)(block_rows(b, contacts, dimension) * block_rows(col[k], contacts, dimension));
  size_t sizes[] = {(size_t)blocks * sizeof(kn_block),
                    ((size_t)blocks + 1) * sizeof(int),
                    stored * sizeof(int),
                    stored * sizeof(int64_t),
                    values * sizeof(double),
                    (size_t)rows * sizeof(double)};
  size_t total = 64, at[6];
  for (int i = 0; i < 6; i++) at[i] = total, total += (sizes[i] + 63) & ~(size_t)63;
  char* base = calloc(1, total);
  if (!base) return kn_fail(KN_OUT_OF_MEMORY, "a problem of %d rows and %zu blocks", rows, stored);
  out->memory = base;
  kn_block* block = (kn_block*)(base + at[0]);
  memcpy(base + at[1], start, sizes[1]);
  if (stored) memcpy(base + at[2], col, sizes[2]);
  int64_t* offset = (int64_t*)(base + at[3]);
  values = 0;
  for (int b = 0; b < blocks; b++) {
    block[b] = (kn_block){b >= contacts    ? KN_SET_FREE
                          : dimension == 2 ? KN_SET_CONE2
                                           : KN_SET_CONE3,
                          first_row(b, contacts, dimension), 0.0, 0.0, 0.0};
    for (int k = start[b]; k < start[b + 1]; k++) {
      offset[k] = (int64_t)values;
      values += (size_t)(block_rows(b, contacts, dimension) * block_rows(col[k], contacts, dimension));
    }
  }
  kn_sparse* matrix = (kn_sparse*)base; /* in the first 64 bytes */
  *matrix = (kn_sparse){(int*)(base + at[1]), (int*)(base + at[2]), offset, (double*)(base + at[4])};
  out->problem = (kn_problem){rows, blocks, block, NULL, matrix, (double*)(base + at[5]), NULL};
  out->dimension = dimension, out->contacts = contacts;
  return KN_OK;
}

/* Block pattern of the entries by two passes of bucket sort, rows then columns ascending. */
static kn_status pattern(int** start, int** col, const list* l, int contacts, int dimension, int equalities) {
  size_t blocks = (size_t)(contacts + equalities);
  int* s = calloc(blocks + 2, sizeof *s);
  int* by_col = malloc((l->count + 1) * sizeof *by_col);
  int* by_row = malloc((l->count + 1) * sizeof *by_row);
  *col = malloc((l->count + 1) * sizeof **col);
  *start = calloc(blocks + 1, sizeof **start);
  kn_status status =
      s && by_col && by_row && *col && *start ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "block pattern");
  for (int pass = 0; pass < 2 && status == KN_OK; pass++) { /* columns first, then rows, both stable */
    memset(s, 0, (blocks + 2) * sizeof *s);
    for (size_t k = 0; k < l->count; k++)
      s[block_of(pass ? l->at[k].row : l->at[k].col, contacts, dimension) + 1]++;
    for (size_t b = 0; b < blocks; b++) s[b + 1] += s[b];
    for (size_t k = 0; k < l->count; k++) {
      int e = pass ? by_col[k] : (int)k;
      int b = block_of(pass ? l->at[e].row : l->at[e].col, contacts, dimension);
      (pass ? by_row : by_col)[s[b]++] = e;
    }
  }
  int count = 0, row = -1;
  for (size_t k = 0; k < l->count && status == KN_OK; k++) {
    const struct item* e = &l->at[by_row[k]];
    int br = block_of(e->row, contacts, dimension), bc = block_of(e->col, contacts, dimension);
    if (br == row && (*col)[count - 1] == bc) continue;
    row = br;
    (*col)[count++] = bc;
    (*start)[br + 1] = count;
  }
  for (size_t b = 0; b < blocks && status == KN_OK; b++)
    if ((*start)[b + 1] < (*start)[b]) (*start)[b + 1] = (*start)[b];
  free(s);
  free(by_col);
  free(by_row);
  return status;
}

static void fill(kn_fclib* out, const list* l) {
  int contacts = out->contacts, dim = out->dimension;
  const kn_sparse* m = out->problem.sparse;
  double* value = (double*)(uintptr_t)m->value;
  for (size_t k = 0; k < l->count; k++) {
    int br = block_of(l->at[k].row, contacts, dim), bc = block_of(l->at[k].col, contacts, dim);
    int lo = m->start[br], hi = m->start[br + 1] - 1;
    while (lo < hi) {
      int mid = (lo + hi) / 2;
      if (m->col[mid] < bc)
        lo = mid + 1;
      else
        hi = mid;
    }
    int i = l->at[k].row - first_row(br, contacts, dim), j = l->at[k].col - first_row(bc, contacts, dim);
    value[m->at[lo] + i * block_rows(bc, contacts, dim) + j] += l->at[k].x;
  }
}

/* ---- condensation ---- */

static int root(int* parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

typedef struct column_entry {
  int dof, column;
  double x;
} column_entry;

typedef struct condenser {
  const kn_fclib_raw* raw;
  int *part, *local, *size; /* per dof: part and place in it; per part: dofs */
  int parts;
  column_entry* K;        /* entries of [H G] sorted by part of their dof */
  int* K_start;           /* parts + 1 */
  int *M_start, *M_entry; /* entries of M by part */
} condenser;

static kn_status find_parts(condenser* c) {
  const kn_fclib_raw* raw = c->raw;
  int n = (int)raw->dofs;
  int* parent = malloc(((size_t)n + 1) * sizeof *parent);
  c->part = malloc(((size_t)n + 1) * sizeof(int));
  c->local = malloc(((size_t)n + 1) * sizeof(int));
  c->size = calloc((size_t)n + 1, sizeof(int));
  if (!parent || !c->part || !c->local || !c->size) {
    free(parent);
    return kn_fail(KN_OUT_OF_MEMORY, "condensation of %d dofs", n);
  }
  for (int i = 0; i < n; i++) parent[i] = i, c->part[i] = -1;
  for (size_t k = 0; k < raw->R.count; k++)
    if (raw->R.x[k] != 0.0) {
      int a = root(parent, raw->R.row[k]), b = root(parent, raw->R.col[k]);
      if (a != b) parent[a > b ? a : b] = a > b ? b : a;
    }
  for (int i = 0; i < n; i++) {
    int a = root(parent, i);
    if (c->part[a] < 0) c->part[a] = c->parts++;
    c->part[i] = c->part[a];
    c->local[i] = c->size[c->part[i]]++;
  }
  free(parent);
  return KN_OK;
}

static void bucket(int* start, const int* key, size_t n, int parts) {
  for (size_t k = 0; k < n; k++) start[key[k] + 1]++;
  for (int p = 0; p < parts; p++) start[p + 1] += start[p];
}

/* Entries of [H G] and of M, grouped by part. */
static kn_status group_entries(condenser* c) {
  const kn_fclib_raw* raw = c->raw;
  size_t nk = raw->W.count + raw->V.count, nm = raw->R.count, most = nk > nm ? nk : nm;
  int* key = malloc((most + 1) * sizeof *key);
  int* next = malloc(((size_t)c->parts + 1) * sizeof *next);
  c->K = malloc((nk + 1) * sizeof *c->K);
  c->K_start = calloc((size_t)c->parts + 1, sizeof(int));
  c->M_start = calloc((size_t)c->parts + 1, sizeof(int));
  c->M_entry = malloc((nm + 1) * sizeof(int));
  if (!key || !next || !c->K || !c->K_start || !c->M_start || !c->M_entry) {
    free(key);
    free(next);
    return kn_fail(KN_OUT_OF_MEMORY, "condensation of %zu entries", most);
  }
  for (size_t k = 0; k < nk; k++)
    key[k] = c->part[k < raw->W.count ? raw->W.row[k] : raw->V.row[k - raw->W.count]];
  bucket(c->K_start, key, nk, c->parts);
  memcpy(next, c->K_start, ((size_t)c->parts + 1) * sizeof *next);
  for (size_t k = 0; k < nk; k++) {
    bool h = k < raw->W.count;
    size_t e = h ? k : k - raw->W.count;
    const kn_entries* m = h ? &raw->W : &raw->V;
    c->K[next[key[k]]++] = (column_entry){m->row[e], m->col[e] + (h ? 0 : (int)raw->rows), m->x[e]};
  }
  for (size_t k = 0; k < nm; k++) key[k] = c->part[raw->R.row[k]];
  bucket(c->M_start, key, nm, c->parts);
  memcpy(next, c->M_start, ((size_t)c->parts + 1) * sizeof *next);
  for (size_t k = 0; k < nm; k++) c->M_entry[next[key[k]]++] = (int)k;
  free(key);
  free(next);
  return KN_OK;
}

static int by_column(const void* a, const void* b) {
  const column_entry *x = a, *y = b;
  return x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                : (x->dof > y->dof) - (x->dof < y->dof);
}

/* Adds k_j^T M^-1 k_i of one part for all its columns, and k_j^T M^-1 f to q. */
static kn_status condense_part(condenser* c, int part, const int* dof_of, list* out, double* q) {
  const kn_fclib_raw* raw = c->raw;
  int n = c->size[part], k0 = c->K_start[part], k1 = c->K_start[part + 1];
  if (k0 == k1) return KN_OK;
  size_t nn = (size_t)n;
  double *M = calloc(nn * nn, sizeof *M), *x = calloc(2 * nn, sizeof *x), *b = x ? x + n : NULL;
  int* perm = malloc(nn * sizeof *perm);
  kn_status status = M && x && perm ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "a part of M of %d dofs", n);
  for (int e = c->M_start[part]; e < c->M_start[part + 1] && status == KN_OK; e++) {
    int k = c->M_entry[e];
    if (raw->R.x[k] == 0.0) continue;
    M[(size_t)c->local[raw->R.row[k]] * nn + (size_t)c->local[raw->R.col[k]]] += raw->R.x[k];
  }
  if (status == KN_OK && kn_lu_factor(n, M, n, perm) < n)
    status = kn_fail(KN_BAD_FILE, "M is singular (the part with dof %d)", dof_of[0]);
  if (status == KN_OK) qsort(c->K + k0, (size_t)(k1 - k0), sizeof *c->K, by_column);
  for (int i = k0; i < k1 + 1 && status == KN_OK;) { /* each column, at the end f */
    int end = i, column = i < k1 ? c->K[i].column : -1;
    memset(b, 0, nn * sizeof *b);
    for (; end < k1 && c->K[end].column == column; end++) b[c->local[c->K[end].dof]] += c->K[end].x;
    if (column < 0)
      for (int j = 0; j < n; j++) b[j] = raw->f[dof_of[j]];
    kn_lu_solve(n, x, M, n, perm, b);
    for (int j = k0; j < k1 && status == KN_OK;) {
      int row = c->K[j].column;
      double sum = 0.0;
      for (; j < k1 && c->K[j].column == row; j++) sum += c->K[j].x * x[c->local[c->K[j].dof]];
      if (column < 0)
        q[row] += sum;
      else
        status = push(out, row, column, sum);
    }
    i = end > i ? end : i + 1;
  }
  free(M);
  free(x);
  free(perm);
  return status;
}

static kn_status condense(list* out, double* q, const kn_fclib_raw* raw) {
  condenser c = {.raw = raw};
  kn_status status = find_parts(&c);
  if (status == KN_OK) status = group_entries(&c);
  int *dofs = malloc((raw->dofs + 1) * sizeof *dofs), *start = calloc((size_t)c.parts + 2, sizeof *start);
  if (status == KN_OK && (!dofs || !start)) status = kn_fail(KN_OUT_OF_MEMORY, "condensation");
  for (int p = 0; p < c.parts && status == KN_OK; p++) {
    if (c.size[p] > 20000)
      status = kn_fail(KN_UNSUPPORTED, "a connected part of M has %d dofs, at most 20000", c.size[p]);
    start[p + 1] = start[p] + c.size[p];
  }
  for (size_t i = 0; i < raw->dofs && status == KN_OK; i++) dofs[start[c.part[i]] + c.local[i]] = (int)i;
  for (int p = 0; p < c.parts && status == KN_OK; p++) status = condense_part(&c, p, dofs + start[p], out, q);
  void* all[] = {dofs, start, c.part, c.local, c.size, c.K, c.K_start, c.M_start, c.M_entry};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  return status;
}

static kn_status collect_local(list* l, const kn_fclib_raw* raw) {
  int n = (int)raw->rows;
  for (size_t k = 0; k < raw->W.count; k++) KN_TRY(push(l, raw->W.row[k], raw->W.col[k], raw->W.x[k]));
  for (size_t k = 0; k < raw->V.count; k++) {
    KN_TRY(push(l, raw->V.row[k], n + raw->V.col[k], raw->V.x[k]));
    KN_TRY(push(l, n + raw->V.col[k], raw->V.row[k], raw->V.x[k]));
  }
  for (size_t k = 0; k < raw->R.count; k++)
    KN_TRY(push(l, n + raw->R.row[k], n + raw->R.col[k], raw->R.x[k]));
  return KN_OK;
}

static kn_status assemble(kn_fclib* out, const kn_fclib_raw* raw, const list* l, const double* q) {
  int *start = NULL, *col = NULL, contacts = (int)raw->contacts, equalities = (int)raw->equalities;
  kn_status status = pattern(&start, &col, l, contacts, raw->dimension, equalities);
  if (status == KN_OK) status = kn_fclib_layout(out, contacts, raw->dimension, equalities, start, col);
  free(start);
  free(col);
  if (status != KN_OK) return status;
  kn_block* block = (kn_block*)(uintptr_t)out->problem.block;
  for (int b = 0; b < contacts; b++) block[b].mu = raw->mu[b];
  if (out->problem.rows) memcpy((double*)(uintptr_t)out->problem.q, q, (size_t)out->problem.rows * sizeof *q);
  fill(out, l);
  return KN_OK;
}

kn_status kn_fclib_build(kn_fclib* out, kn_fclib_raw* raw, const char* path) {
  list l = {0};
  double* q = calloc(raw->rows + raw->equalities + 1, sizeof *q);
  if (!q) return kn_fail(KN_OUT_OF_MEMORY, "%s", path);
  if (raw->rows) memcpy(q, raw->q, raw->rows * sizeof *q);
  if (raw->equalities) memcpy(q + raw->rows, raw->s, raw->equalities * sizeof *q);
  kn_status status = raw->global ? condense(&l, q, raw) : collect_local(&l, raw);
  if (status == KN_OK) status = assemble(out, raw, &l, q);
  free(l.at);
  free(q);
  if (status != KN_OK) return status;
  out->global = raw->global;
  memcpy(out->title, raw->title, sizeof out->title);
  return kn_problem_check(&out->problem);
}
