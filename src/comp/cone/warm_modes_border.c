/* A kept factor of a warm start when some contacts have changed their modes. K x = f was factored for the old
   modes; x now lacks the unknowns J of contacts that opened or changed, and y are those of contacts that
   closed or changed. With multipliers l for the rows J, whose equations are gone,

     K x + B y + E_J l = f,   E_J^T x = 0,   C x + D y = g,

   and with V = (B, E_J), R = (C; E_J^T), z = (y, l):   x = K^-1 f - Y z,  Y = K^-1 V,
   (diag(D, 0) - R Y) z = (g, 0) - R K^-1 f. One solve per column of V, then one small system per step.
   Golub, Van Loan, Matrix Computations, 4th ed., 2.1.4 and 6.5 (bordered systems, low-rank changes). */
#include <math.h>
#include <string.h>

#include "comp/cone/warm_modes.h"

enum { MOST = KN_WARM_BORDER };

/* ---- who is new, who is gone ---- */

static bool take_out(kn_warm_system* s, int old) {
  for (int i = 0; i < s->kept[old].unknowns; i++) {
    if (s->removed == MOST) return false;
    s->gone[s->removed++] = s->kept[old].at + i;
  }
  return true;
}

static bool put_in(kn_warm_system* s, int b) {
  s->block[b].at = s->kept_m + s->added;
  s->added += s->block[b].unknowns;
  return s->added + s->removed <= MOST;
}

/* Both lists are in the order of the problem's blocks. */
static bool match(kn_warm_system* s) {
  int i = 0, j = 0;
  s->added = s->removed = 0;
  while (i < s->kept_blocks || j < s->blocks) {
    int old = i < s->kept_blocks ? s->kept[i].block : s->n, new = j < s->blocks ? s->block[j].block : s->n;
    if (old == new && s->kept[i].mode == kn_warm_mode(&s->block[j])) {
      s->block[j++].at = s->kept[i++].at;
      continue;
    }
    if (old <= new && !take_out(s, i++)) return false;
    if (new <= old && !put_in(s, j++)) return false;
  }
  return s->added + s->removed <= MOST;
}

/* ---- entries ---- */

/* Unknown j of block k in a row of W that begins at w for that block (compare gather in warm_kernel.h). */
static double in_row(const kn_warm_block* k, int j, const double* w) {
  if (!k->slip) return w[j];
  if (j > 0) return kn_warm_across(k, j, w + 1);
  return w[0] + k->mu * kn_warm_along(k->d, w + 1, k->rows);
}

/* Entry of A: unknown i of one block, j of another. */
static double entry_of(const kn_warm_system* s, const kn_warm_block* row, int i, const kn_warm_block* col,
                       int j) {
  size_t n = (size_t)s->n;
  const double* w = s->W_in + (size_t)row->row * n + (size_t)col->row;
  if (!row->slip || i == 0) return in_row(col, j, w + (size_t)i * n);
  double x[KN_WARM_WAYS];
  for (int k = 1; k < row->rows; k++) x[k - 1] = in_row(col, j, w + (size_t)k * n);
  return kn_warm_across(row, i, x);
}

/* Column and row of a new unknown against the old ones that stay. */
static void old_entries(kn_warm_system* s, double* column, double* row, const kn_warm_block* k, int i) {
  memset(column, 0, (size_t)s->kept_m * sizeof *column);
  memset(row, 0, (size_t)s->kept_m * sizeof *row);
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* other = &s->block[b];
    for (int j = 0; j < other->unknowns && other->at < s->kept_m; j++) {
      column[other->at + j] = entry_of(s, other, j, k, i);
      row[other->at + j] = entry_of(s, k, i, other, j);
    }
  }
}

/* D, and the weights of the new unknowns. */
static void new_entries(kn_warm_system* s, const kn_warm_block* k, int i, double eps) {
  int p = k->at + i - s->kept_m;
  for (int b = 0; b < s->blocks; b++)
    for (int j = 0; j < s->block[b].unknowns && s->block[b].at >= s->kept_m; j++)
      s->schur[p][s->block[b].at + j - s->kept_m] = entry_of(s, k, i, &s->block[b], j);
  if (k->slip && i > 0) s->schur[p][p] += k->a;
  double least = 1e-6 * s->kept_most, own = s->schur[p][p] > least ? s->schur[p][p] : least;
  s->own[k->at + i] = own, s->weight[k->at + i] = 1.0 / own;
  s->schur[p][p] += eps * own;
}

/* ---- the small system ---- */

static double dot(const double* a, const double* b, int n) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
  for (; i < n; i++) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Entry p of R x. */
static double reduced(const kn_warm_system* s, int p, const double* x) {
  return p < s->added ? dot(s->across[p], x, s->kept_m) : x[s->gone[p - s->added]];
}

/* LU with exchanges; false: singular. */
static bool factor_small(kn_warm_system* s) {
  int c = s->added + s->removed;
  for (int k = 0; k < c; k++) {
    int best = k;
    for (int i = k + 1; i < c; i++)
      if (fabs(s->schur[i][k]) > fabs(s->schur[best][k])) best = i;
    s->exchange[k] = best;
    for (int j = 0; j < c; j++) {
      double x = s->schur[k][j];
      s->schur[k][j] = s->schur[best][j], s->schur[best][j] = x;
    }
    double pivot = s->schur[k][k];
    if (!(fabs(pivot) > 0.0 && fabs(pivot) < INFINITY)) return false;
    for (int i = k + 1; i < c; i++) {
      double l = s->schur[i][k] / pivot;
      s->schur[i][k] = l;
      for (int j = k + 1; j < c; j++) s->schur[i][j] -= l * s->schur[k][j];
    }
  }
  return true;
}

static void solve_small(const kn_warm_system* s, double* z) {
  int c = s->added + s->removed;
  for (int k = 0; k < c; k++) { /* whole rows were exchanged, L with them */
    double x = z[k];
    z[k] = z[s->exchange[k]], z[s->exchange[k]] = x;
  }
  for (int k = 0; k < c; k++)
    for (int i = k + 1; i < c; i++) z[i] -= s->schur[i][k] * z[k];
  for (int k = c - 1; k >= 0; k--) {
    for (int j = k + 1; j < c; j++) z[k] -= s->schur[k][j] * z[j];
    z[k] /= s->schur[k][k];
  }
}

bool kn_warm_border(kn_warm_system* s, const kn_warm_ops* ops, double eps) {
  if (s->kept_blocks < 0 || s->kept_rows != s->n || !match(s)) return false;
  s->m = s->kept_m;
  int c = s->added + s->removed;
  memset(s->schur, 0, sizeof s->schur);
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].unknowns && s->block[b].at >= s->kept_m; i++) {
      int p = s->block[b].at + i - s->kept_m;
      old_entries(s, s->border[p], s->across[p], &s->block[b], i);
      new_entries(s, &s->block[b], i, eps);
    }
  for (int p = s->added; p < c; p++) {
    memset(s->border[p], 0, (size_t)s->m * sizeof(double));
    s->border[p][s->gone[p - s->added]] = 1.0;
  }
  for (int p = 0; p < c; p++) {
    memcpy(s->x, s->border[p], (size_t)s->m * sizeof(double));
    ops->solve(s);
    memcpy(s->border[p], s->x, (size_t)s->m * sizeof(double));
    for (int i = 0; i < c; i++) s->schur[i][p] -= reduced(s, i, s->border[p]);
  }
  return factor_small(s);
}

void kn_warm_border_solve(kn_warm_system* s, const kn_warm_ops* ops) {
  int m = s->m, c = s->added + s->removed;
  double z[MOST];
  for (int p = 0; p < c; p++) z[p] = p < s->added ? s->x[m + p] : 0.0;
  for (int p = 0; p < s->removed; p++) s->x[s->gone[p]] = 0.0;
  ops->solve(s);
  for (int p = 0; p < c; p++) z[p] -= reduced(s, p, s->x);
  solve_small(s, z);
  for (int p = 0; p < c; p++)
    for (int i = 0; i < m; i++) s->x[i] -= s->border[p][i] * z[p];
  for (int p = 0; p < s->added; p++) s->x[m + p] = z[p];
}

void kn_warm_keep_modes(kn_warm_system* s) {
  if (s->exchanged) return;
  s->kept_blocks = s->blocks, s->kept_rows = s->n, s->kept_m = s->m;
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* k = &s->block[b];
    s->kept[b].block = k->block, s->kept[b].mode = kn_warm_mode(k);
    s->kept[b].at = k->at, s->kept[b].unknowns = k->unknowns;
  }
}
