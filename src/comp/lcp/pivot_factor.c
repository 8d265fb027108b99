/* Cholesky factor of a principal block that grows and shrinks by one row (lcp.h): a row is appended by
   one solve, and taken out by rotations that restore the triangle. O(k²) each. */
#include "comp/lcp/lcp.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/dense.h"

void kn_factor_clear(kn_factor* f, int n) {
  f->count = 0;
  for (int i = 0; i < n; i++) f->position[i] = -1;
}

/* L y = b by rows. */
static void forward(const kn_factor* f, double* y, const double* b) {
  for (int i = 0; i < f->count; i++) {
    const double* row = f->L + (size_t)i * (size_t)f->ld;
    y[i] = (b[i] - kn_dot(i, row, y)) / row[i];
  }
}

void kn_factor_solve(const kn_factor* f, double* x, const double* b) {
  forward(f, x, b);
  for (int i = f->count - 1; i >= 0; i--) {
    const double* row = f->L + (size_t)i * (size_t)f->ld;
    x[i] /= row[i];
    kn_axpy(i, x, -x[i], row);
  }
}

bool kn_factor_add(kn_factor* f, int j, const double* column, double tol) {
  int k = f->count;
  double* row = f->L + (size_t)k * (size_t)f->ld;
  for (int i = 0; i < k; i++) row[i] = column[f->index[i]];
  for (int i = 0; i < k; i++) { /* in place: entry i is read before it is written */
    const double* li = f->L + (size_t)i * (size_t)f->ld;
    row[i] = (row[i] - kn_dot(i, li, row)) / li[i];
  }
  double schur = column[j] - kn_dot(k, row, row);
  if (!(schur > tol * column[j])) return false;
  row[k] = sqrt(schur);
  f->index[k] = j;
  f->position[j] = k;
  f->count++;
  return true;
}

/* Removing row p leaves one entry beyond the diagonal in each later row; plane rotations of columns (i, i+1)
 * clear it. */
void kn_factor_remove(kn_factor* f, int j) {
  int p = f->position[j], k = f->count;
  size_t ld = (size_t)f->ld;
  for (int i = p + 1; i < k; i++) {
    memcpy(f->L + (size_t)(i - 1) * ld, f->L + (size_t)i * ld, (size_t)(i + 1) * sizeof(double));
    f->index[i - 1] = f->index[i];
    f->position[f->index[i]] = i - 1;
  }
  f->position[j] = -1;
  f->count = k - 1;
  for (int i = p; i < k - 1; i++) {
    double a = f->L[(size_t)i * ld + (size_t)i], b = f->L[(size_t)i * ld + (size_t)i + 1];
    double r = sqrt(a * a + b * b), c = a / r, s = b / r;
    for (int m = i; m < k - 1; m++) {
      double* row = f->L + (size_t)m * ld + i;
      double u = row[0], v = row[1];
      row[0] = c * u + s * v;
      row[1] = c * v - s * u;
    }
  }
}
