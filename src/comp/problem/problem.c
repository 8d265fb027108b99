/* Layout of a kn_problem: block sizes, checks with messages that name the entry, u = W r + q. */
#include "comp/problem/problem.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"

int kn_set_rows(kn_set set) { return set < KN_SET_CONE2 ? 1 : 2 + (int)(set - KN_SET_CONE2); }

bool kn_problem_tall(const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set > KN_SET_CONE3) return true;
  return false;
}

static kn_status check_block(const kn_problem* p, int b, int row) {
  const kn_block* k = &p->block[b];
  if ((unsigned)k->set > KN_SET_CONE6)
    return kn_fail(KN_BAD_ARGUMENT, "block %d: unknown set %d", b, (int)k->set);
  if (k->row != row) return kn_fail(KN_BAD_ARGUMENT, "block %d: first row %d, expected %d", b, k->row, row);
  if (k->set >= KN_SET_CONE2 && !(k->mu >= 0.0))
    return kn_fail(KN_BAD_ARGUMENT, "block %d: friction coefficient %g, expected >= 0", b, k->mu);
  if (k->set == KN_SET_BOX && !(k->lo <= k->hi && k->lo < INFINITY && k->hi > -INFINITY))
    return kn_fail(KN_BAD_ARGUMENT, "block %d: box [%g, %g]", b, k->lo, k->hi);
  return KN_OK;
}

static kn_status check_dense(const kn_problem* p) {
  size_t n = (size_t)p->rows;
  if (kn_all_finite(p->W, n * n)) return KN_OK;
  for (size_t i = 0; i < n * n; i++)
    if (!isfinite(p->W[i]))
      return kn_fail(KN_NOT_FINITE, "W(%d,%d) is %g", (int)(i / n), (int)(i % n), p->W[i]);
  return KN_OK;
}

/* The same of one block of nine, without a loop. */
static inline bool nine_finite(const double* x) {
  typedef double pair __attribute__((vector_size(16), aligned(8)));
  const pair *a = (const pair*)x, *b = (const pair*)(x + 4);
  pair sum = 0.0 * (a[0] + a[1]) + 0.0 * (b[0] + b[1]);
  return sum[0] + sum[1] + 0.0 * x[8] == 0.0;
}

static kn_status check_sparse_block(const kn_problem* p, int b, int k) {
  const kn_sparse* s = p->sparse;
  if (s->col[k] < 0 || s->col[k] >= p->blocks)
    return kn_fail(KN_BAD_ARGUMENT, "block row %d: block column %d of %d", b, s->col[k], p->blocks);
  if (s->at[k] < 0)
    return kn_fail(KN_BAD_ARGUMENT, "block row %d: value offset %lld", b, (long long)s->at[k]);
  int size = kn_set_rows(p->block[b].set) * kn_set_rows(p->block[s->col[k]].set);
  for (int i = 0; i < size; i++)
    if (!isfinite(s->value[s->at[k] + i]))
      return kn_fail(KN_NOT_FINITE, "W block (%d,%d) entry %d is %g", b, s->col[k], i,
                     s->value[s->at[k] + i]);
  return KN_OK;
}

static kn_status check_sparse(const kn_problem* p) {
  const kn_sparse* s = p->sparse;
  KN_REQUIRE(s->start && (s->start[p->blocks] == 0 || (s->col && s->at && s->value)));
  if (s->start[0] != 0) return kn_fail(KN_BAD_ARGUMENT, "block rows start at %d, expected 0", s->start[0]);
  for (int b = 0; b < p->blocks; b++)
    if (s->start[b + 1] < s->start[b])
      return kn_fail(KN_BAD_ARGUMENT, "block row %d ends before it starts", b);
  for (int b = 0; b < p->blocks; b++)
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      int c = s->col[k];
      bool cones =
          c >= 0 && c < p->blocks && p->block[b].set == KN_SET_CONE3 && p->block[c].set == KN_SET_CONE3;
      if (cones && s->at[k] >= 0 && nine_finite(s->value + s->at[k])) continue;
      KN_TRY(check_sparse_block(p, b, k));
    }
  return KN_OK;
}

kn_status kn_problem_check_blocks(const kn_problem* p) {
  KN_REQUIRE(p != NULL);
  KN_REQUIRE(p->rows >= 0 && p->blocks >= 0);
  if (p->rows == 0 && p->blocks == 0) return KN_OK;
  KN_REQUIRE(p->block && p->q && (p->W || p->sparse));
  int row = 0;
  for (int b = 0; b < p->blocks; b++) {
    KN_TRY(check_block(p, b, row));
    row += kn_set_rows(p->block[b].set);
    if (row > p->rows) break;
  }
  if (row != p->rows) return kn_fail(KN_BAD_ARGUMENT, "the blocks cover %d of %d rows", row, p->rows);
  int i = kn_first_not_finite(p->q, p->rows);
  return i < p->rows ? kn_fail(KN_NOT_FINITE, "q(%d) is %g", i, p->q[i]) : KN_OK;
}

static kn_status check_pairs(const kn_pairs* p, int blocks) {
  KN_REQUIRE(p->bodies >= 0 && p->body && p->G);
  for (int b = 0; b < blocks; b++) {
    int i = p->body[2 * b], j = p->body[2 * b + 1];
    if (i < -1 || j < -1 || i >= p->bodies || j >= p->bodies || (i == j && i >= 0))
      return kn_fail(KN_BAD_ARGUMENT, "block %d acts on bodies %d and %d of %d", b, i, j, p->bodies);
  }
  return KN_OK;
}

kn_status kn_problem_check(const kn_problem* p) {
  KN_TRY(kn_problem_check_blocks(p));
  if (p->rows == 0) return KN_OK;
  if (p->pairs) KN_TRY(check_pairs(p->pairs, p->blocks));
  return p->W ? check_dense(p) : check_sparse(p);
}

static void velocity_sparse(double* u, const kn_problem* p, const double* r) {
  const kn_sparse* s = p->sparse;
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, rows = kn_set_rows(p->block[b].set);
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      const kn_block* c = &p->block[s->col[k]];
      int cols = kn_set_rows(c->set);
      const double* v = s->value + s->at[k];
      for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) u[row + i] += v[i * cols + j] * r[c->row + j];
    }
  }
}

void kn_problem_velocity(double* u, const kn_problem* p, const double* r) {
  if (!u || !p || !r || !p->q) return;
  for (int i = 0; i < p->rows; i++) u[i] = p->q[i];
  if (!p->W) {
    if (p->sparse) velocity_sparse(u, p, r);
    return;
  }
  for (int i = 0; i < p->rows; i++) {
    const double* row = p->W + (size_t)i * (size_t)p->rows;
    double sum = 0.0;
    for (int j = 0; j < p->rows; j++) sum += row[j] * r[j];
    u[i] += sum;
  }
}

void kn_problem_write_out(double* W, const kn_problem* p) {
  size_t n = (size_t)p->rows;
  if (p->W) {
    memcpy(W, p->W, n * n * sizeof *W);
    return;
  }
  const kn_sparse* s = p->sparse;
  memset(W, 0, n * n * sizeof *W);
  for (int b = 0; b < p->blocks; b++)
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      const kn_block* c = &p->block[s->col[k]];
      int rows = kn_set_rows(p->block[b].set), cols = kn_set_rows(c->set);
      for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
          W[(size_t)(p->block[b].row + i) * n + (size_t)(c->row + j)] += s->value[s->at[k] + i * cols + j];
    }
}
