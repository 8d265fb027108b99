/* The least-norm correction of least_norm.h for many rows: block Gauss-Seidel on the dual, Λ by blocks. Each
   block is solved exactly with the others held: its one-sided first row and its equalities. What is left
   after the last sweep is left. */
#include <math.h>

#include "contact/formulation/least_norm.h"

/* D = sum of the entries (i, i), row-major. */
static void diagonal_of(double* D, const kn_lambda_blocks* W, int i) {
  int n = W->size[i] * W->size[i];
  for (int e = 0; e < n; e++) D[e] = 0.0;
  for (int k = W->start[i]; k < W->start[i + 1]; k++)
    for (int e = 0; W->col[k] == i && e < n; e++) D[e] += W->value[W->at[k] + e];
}

/* Two equalities, D 2 x 2 at stride 3. */
static void solve2(double x[2], const double* D, const double c[2]) {
  double det = D[0] * D[4] - D[1] * D[3];
  x[0] = x[1] = 0.0;
  if (!(det > 1e-12 * D[0] * D[4])) return;
  x[0] = (D[4] * c[0] - D[1] * c[1]) / det;
  x[1] = (D[0] * c[1] - D[3] * c[0]) / det;
}

/* D x = c on held rows; row 0 one-sided. Three rows with an anchor, or the first row only. */
static void solve_block(double* x, const double* D, const double* c, int rows, bool anchored) {
  for (int i = 0; i < rows; i++) x[i] = 0.0;
  if (rows < 3 || !anchored) {
    if (D[0] > 0.0) x[0] = fmax(c[0] / D[0], 0.0);
    return;
  }
  double a[2], n[2], both[2] = {c[1], c[2]}, column[2] = {D[3], D[6]};
  solve2(a, D + 4, both);
  if (!(c[0] > -INFINITY)) {
    x[1] = a[0], x[2] = a[1];
    return;
  }
  solve2(n, D + 4, column); /* x_t = a - n x_0 */
  double s = D[0] - D[1] * n[0] - D[2] * n[1], rest = c[0] - D[1] * a[0] - D[2] * a[1];
  x[0] = s > 1e-10 * D[0] ? fmax(rest / s, 0.0) : 0.0;
  x[1] = a[0] - n[0] * x[0], x[2] = a[1] - n[1] * x[0];
}

static void spread(double* g, const kn_lambda_blocks* W, const int* row, int i, const double* e) {
  int rows = W->size[i];
  for (int k = W->start[i]; k < W->start[i + 1]; k++) {
    int j = W->col[k], cols = W->size[j];
    const double* w = W->value + W->at[k];
    double* to = g + row[j];
    for (int c = 0; c < cols; c++)
      for (int r = 0; r < rows; r++) to[c] += w[r * cols + c] * e[r];
  }
}

double kn_least_norm_blocks(double* lambda, double* g, const kn_lambda_blocks* W, int blocks, const int* row,
                            const double* b, int sweeps, double tol, double* scratch) {
  double left = 0.0;
  for (int i = 0; i < blocks; i++) {
    diagonal_of(scratch + 9 * (size_t)i, W, i);
    for (int r = 0; r < W->size[i]; r++) lambda[row[i] + r] = g[row[i] + r] = 0.0;
  }
  for (int k = 0; k < sweeps; k++) {
    left = 0.0;
    for (int i = 0; i < blocks; i++) {
      const double* D = scratch + 9 * (size_t)i;
      int rows = W->size[i], at = row[i];
      double c[3], x[3], e[3];
      if (!(b[at] > -INFINITY) && !(rows == 3 && b[at + 1] > -INFINITY)) continue;
      for (int r = 0; r < rows; r++) {
        c[r] = b[at + r] - g[at + r];
        for (int t = 0; t < rows; t++) c[r] += D[r * rows + t] * lambda[at + t];
      }
      solve_block(x, D, c, rows, rows == 3 && b[at + 1] > -INFINITY);
      bool moved = false;
      for (int r = 0; r < rows; r++) {
        e[r] = x[r] - lambda[at + r];
        left = fmax(left, fabs(D[r * rows + r] * e[r]));
        lambda[at + r] = x[r];
        moved |= e[r] != 0.0;
      }
      if (moved) spread(g, W, row, i, e);
    }
    if (left <= tol) break;
  }
  return left;
}

/* Normal rows only, over-relaxed (Christopherson 1941): cheap enough for every step of a large heap. */
double kn_least_norm_normals(double* lambda, double* g, const kn_lambda_blocks* W, int blocks, const int* row,
                             const double* b, int sweeps, double tol, double* scratch) {
  const double relax = 1.4;
  double *D = scratch, *x = D + blocks, *y = x + blocks, *w = y + blocks, left = 0.0;
  for (int i = 0; i < blocks; i++) {
    for (int r = 0; r < W->size[i]; r++) lambda[row[i] + r] = g[row[i] + r] = 0.0;
    D[i] = x[i] = y[i] = 0.0;
    for (int k = W->start[i]; k < W->start[i + 1]; k++) {
      w[k] = W->value[W->at[k]];
      if (W->col[k] == i) D[i] += w[k];
    }
  }
  for (int s = 0; s < sweeps; s++) {
    left = 0.0;
    for (int i = 0; i < blocks; i++) {
      double gap = b[row[i]] - y[i];
      if (!(D[i] > 0.0) || !(gap > 0.0 || x[i] > 0.0)) continue; /* -infinity: not held */
      double next = x[i] + relax * gap / D[i], e = (next > 0.0 ? next : 0.0) - x[i];
      x[i] += e;
      left = fmax(left, fabs(D[i] * e));
      for (int k = W->start[i]; k < W->start[i + 1]; k++) y[W->col[k]] += w[k] * e;
    }
    if (left <= tol) break;
  }
  for (int i = 0; i < blocks; i++) lambda[row[i]] = x[i], g[row[i]] = y[i];
  return left;
}
