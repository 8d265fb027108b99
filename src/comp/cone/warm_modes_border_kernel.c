/* The factor of a warm start or a path (warm_modes.c, path.c) after changes of mode: K x = f was factored for the modes then;
   since then unknowns J are gone and y were added. With multipliers l for the equations of J

     K x + B y + E_J l = f,   E_Jᵀ x = 0,   C x + D y = g,

   and V = (B, E_J), R = (C; E_Jᵀ), z = (y, l):   x = K⁻¹ f - Y z,  Y = K⁻¹ V,  (diag(D, 0) - R Y) z = (g, 0) - R K⁻¹ f
   (Golub, Van Loan, Matrix Computations, 4th ed., 2.1.4, 6.5). A change costs a solve, some products and a small factor for
   each unknown that it concerns. Sums run in four lanes whatever the machine, all else entry by entry: the same bits on each. */
#include "base/isa.h"

#include <math.h>
#include <string.h>

#include "comp/cone/warm_modes.h"

enum { MOST = KN_WARM_BORDER };

typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));
#define AT4(p, i)  (*(kn_vec4*)((p) + (i)))
#define CAT4(p, i) (*(const kn_vec4*)((p) + (i)))

static inline double dot(const double* a, const double* b, int n) {
  kn_vec4 sum = {0.0, 0.0, 0.0, 0.0};
  int i = 0;
  for (; i + 4 <= n; i += 4) sum += CAT4(a, i) * CAT4(b, i);
  for (; i < n; i++) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* y -= x a. */
static inline void take_away(double* y, const double* x, double a, int n) {
  int i = 0;
  for (; i + 4 <= n; i += 4) AT4(y, i) -= CAT4(x, i) * a;
  for (; i < n; i++) y[i] -= x[i] * a;
}

/* Entry p of R x. */
static inline double reduced(const kn_warm_border* b, int p, const double* x, int m) {
  return b->gone[p] >= 0 ? x[b->gone[p]] : dot(b->row[p], x, m);
}

/* S without row and column p, and all that belongs to p. */
static void drop(kn_warm_border* b, int p, int m) {
  int last = --b->count;
  if (b->factored > p) b->factored = p;
  size_t bytes = (size_t)m * sizeof(double);
  for (int i = p; i < last; i++) {
    b->gone[i] = b->gone[i + 1], b->extra[i] = b->extra[i + 1], b->unknown[i] = b->unknown[i + 1];
    memcpy(b->row[i], b->row[i + 1], bytes);
    memcpy(b->Y[i], b->Y[i + 1], bytes);
    memcpy(b->S[i], b->S[i + 1], (size_t)(last + 1) * sizeof(double));
  }
  for (int i = 0; i < last; i++) memmove(b->S[i] + p, b->S[i] + p + 1, (size_t)(last - p) * sizeof(double));
  for (int i = p; i < last; i++)
    if (b->gone[i] < 0 && b->unknown[i] == 0) b->block[b->extra[i]].at = m + i;
}

/* Y of entry p from its column in s->x; S gets its row and column. */
static void join(kn_warm_system* s, const kn_warm_ops* ops, int p) {
  kn_warm_border* b = &s->border;
  int m = s->m;
  kn_warm_solve_held(s, ops);
  memcpy(b->Y[p], s->x, (size_t)m * sizeof(double));
  for (int i = 0; i <= p; i++) b->S[i][p] -= reduced(b, i, b->Y[p], m);
  for (int j = 0; j < p; j++) b->S[p][j] -= reduced(b, p, b->Y[j], m);
}

static bool take_out(kn_warm_system* s, const kn_warm_ops* ops, int held) {
  kn_warm_border* b = &s->border;
  const kn_warm_block* w = &s->held[held];
  if (b->count + w->unknowns > MOST) return false;
  for (int k = 0; k < w->unknowns; k++) {
    int p = b->count++;
    b->gone[p] = w->at + k, b->extra[p] = -1;
    for (int i = 0; i <= p; i++) b->S[i][p] = b->S[p][i] = 0.0;
    memset(s->x, 0, (size_t)s->m * sizeof(double));
    s->x[w->at + k] = 1.0;
    join(s, ops, p);
  }
  return true;
}

static void drop_block(kn_warm_system* s, int extra) {
  kn_warm_border* b = &s->border;
  for (int p = b->count - 1; p >= 0; p--)
    if (b->extra[p] == extra) drop(b, p, s->m);
  b->block[extra].unknowns = 0; /* its place stays */
}

/* Way k across of a slipping block, in all rows: t . W. */
static void across(double* out, const kn_warm_block* w, int k, const double* W, int n) {
  size_t ld = (size_t)n;
  if (w->rows == 3) {
    for (size_t i = 0; i < ld; i++) out[i] = w->t[0] * W[ld + i] + w->t[1] * W[2 * ld + i];
    return;
  }
  memcpy(out, W + (size_t)(1 + k) * ld, ld * sizeof *out);
  for (int c = 1; c < w->rows; c++) {
    double t = w->t[k] * w->t[c - 1];
    for (size_t i = 0; i < ld; i++) out[i] -= t * W[(size_t)c * ld + i];
  }
}

/* What an unknown of w demands, R W, and what it moves, W C, in all rows of the problem; W is symmetric. */
static void both_ways(double* demands, double* moves, const kn_warm_system* s, const kn_warm_block* w,
                      int k) {
  size_t n = (size_t)s->n;
  const double* W = s->W_in + (size_t)w->row * n;
  if (!w->slip || k == 0) memcpy(demands, W + (size_t)k * n, n * sizeof *demands);
  if (!w->slip || k > 0) {
    if (w->slip) across(demands, w, k, W, s->n);
    memcpy(moves, demands, n * sizeof *moves);
    return;
  }
  for (size_t i = 0; i < n; i++) moves[i] = w->d[0] * W[n + i];
  for (int c = 2; c < w->rows; c++)
    for (size_t i = 0; i < n; i++) moves[i] += w->d[c - 1] * W[(size_t)c * n + i];
  for (size_t i = 0; i < n; i++) moves[i] = W[i] + w->mu * moves[i];
}

/* Entries of an unknown against those of one block. */
static inline double entry_across(const kn_warm_block* o, int j, const double* moves) {
  return o->slip && j > 0 ? kn_warm_across(o, j, moves + o->row + 1) : moves[o->row + j];
}

static inline double entry_along(const kn_warm_block* o, int j, const double* demands) {
  const double* x = demands + o->row;
  if (o->slip && j == 0) return x[0] + o->mu * kn_warm_along(o->d, x + 1, o->rows);
  return entry_across(o, j, demands);
}

/* All of them against those of one block of the factor. */
static inline void entries(double* column, double* row, const kn_warm_block* o, const double* moves,
                           const double* demands) {
  double *x = column + o->at, *y = row + o->at;
  if (!o->slip) {
    for (int j = 0; j < o->unknowns; j++) x[j] = moves[o->row + j], y[j] = demands[o->row + j];
    return;
  }
  for (int j = 0; j < o->unknowns; j++) {
    x[j] = entry_across(o, j, moves);
    y[j] = entry_along(o, j, demands);
  }
}

static int add(kn_warm_system* s, const kn_warm_ops* ops, const kn_warm_block* w) {
  kn_warm_border* b = &s->border;
  double demands[KN_WARM_ROWS], moves[KN_WARM_ROWS];
  if (b->count + w->unknowns > MOST || b->extras == MOST) return -1;
  int extra = b->extras++;
  b->block[extra] = *w, b->block[extra].at = s->m + b->count;
  for (int k = 0; k < w->unknowns; k++) {
    int p = b->count++;
    b->gone[p] = -1, b->extra[p] = extra, b->unknown[p] = k;
    both_ways(demands, moves, s, w, k);
    for (int o = 0; o < s->held_blocks; o++) entries(s->x, b->row[p], &s->held[o], moves, demands);
    for (int i = 0; i <= p; i++) {
      const kn_warm_block* other = b->gone[i] < 0 ? &b->block[b->extra[i]] : NULL;
      b->S[i][p] = other ? entry_across(other, b->unknown[i], moves) : 0.0;
      b->S[p][i] = other ? entry_along(other, b->unknown[i], demands) : 0.0;
    }
    if (w->slip && k > 0) b->S[p][p] += w->a;
    b->S[p][p] += s->term * s->D[w->row + k];
    join(s, ops, p);
  }
  return extra;
}

/* Rows and columns that are new: S = L U without exchanges, U by columns. False: next to nothing is left of a pivot. */
static bool factor(kn_warm_border* b) {
  static const double lost = 1e-15; /* of what the pivot is the difference of */
  for (int p = b->factored; p < b->count; p++) {
    double *l = b->L[p], *u = b->U[p];
    for (int j = 0; j < p; j++) {
      l[j] = (b->S[p][j] - dot(b->U[j], l, j)) / b->U[j][j];
      u[j] = b->S[j][p] - dot(b->L[j], u, j);
    }
    double taken = dot(l, u, p), size = fabs(b->S[p][p]) + fabs(taken);
    u[p] = b->S[p][p] - taken;
    if (!(fabs(u[p]) > lost * size && size < INFINITY)) return false;
    b->factored = p + 1;
  }
  return true;
}

static void solve_small(const kn_warm_border* b, double* z) {
  for (int i = 1; i < b->count; i++) z[i] -= dot(b->L[i], z, i);
  for (int k = b->count - 1; k >= 0; k--) {
    z[k] /= b->U[k][k];
    take_away(z, b->U[k], z[k], k);
  }
}

static void border_solve(kn_warm_system* s, const kn_warm_ops* ops) {
  kn_warm_border* b = &s->border;
  int m = s->m;
  for (int p = 0; p < b->count; p++)
    if (b->gone[p] >= 0)
      s->x[b->gone[p]] = b->z[p] = 0.0;
    else
      b->z[p] = s->x[m + p];
  kn_warm_solve_held(s, ops);
  for (int p = 0; p < b->count; p++) b->z[p] -= reduced(b, p, s->x, m);
  solve_small(b, b->z);
  for (int p = 0; p < b->count; p++) take_away(s->x, b->Y[p], b->z[p], m);
  memcpy(s->x + m, b->z, (size_t)b->count * sizeof(double));
}

const kn_warm_border_ops KN_NAME(kn_warm_border_ops) = {take_out, drop_block, add, factor, border_solve};
