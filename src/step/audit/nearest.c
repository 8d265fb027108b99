/* Nearest point of an affine set within cones (nearest.h), by Newton's method on the dual:

     min ½|x - p|²  over x in K, Bᵀ x = b        x(y) = Π_K(p + B y)
     θ(y) = ½|x(y)|² - b·y,   ∇θ = Bᵀ x(y) - b,   ∇²θ = Bᵀ DΠ_K B  (semismooth; Malick 2004)

   θ is convex: Newton steps with a little of the identity added and halved until θ falls enough. x(y) lies in
   K by itself; what is left to judge is Bᵀ x = b, which the caller's motion rests on. */
#include "step/audit/nearest.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

int kn_near_basis(double* B, int rows, int n, double* A, double tol) {
  double first = 0.0;
  int rank = 0;
  for (; rank < rows && rank < n; rank++) {
    int best = rank;
    double most = -1.0;
    for (int i = rank; i < rows; i++) {
      double s = kn_dot(n, A + (size_t)i * (size_t)n, A + (size_t)i * (size_t)n);
      if (s > most) most = s, best = i;
    }
    double norm = sqrt(most);
    if (rank == 0) first = norm;
    if (!(norm > tol * first)) break;
    double *a = A + (size_t)rank * (size_t)n, *b = A + (size_t)best * (size_t)n;
    for (int k = 0; k < n && best != rank; k++) {
      double t = a[k];
      a[k] = b[k], b[k] = t;
    }
    for (int k = 0; k < n; k++) a[k] /= norm;
    for (int i = 0; i < rank; i++) /* once more against those before: rows may be nearly dependent */
      kn_axpy(n, a, -kn_dot(n, a, A + (size_t)i * (size_t)n), A + (size_t)i * (size_t)n);
    norm = sqrt(kn_dot(n, a, a));
    for (int k = 0; k < n; k++) a[k] /= norm;
    for (int i = rank + 1; i < rows; i++)
      kn_axpy(n, A + (size_t)i * (size_t)n, -kn_dot(n, A + (size_t)i * (size_t)n, a), a);
  }
  if (B != A) memcpy(B, A, (size_t)rank * (size_t)n * sizeof *B);
  return rank;
}

/* Π of one block in place; its derivative D (3 x 3, or one number) if asked for. */
static void project_block(double* x, double* D, const kn_near_block* block) {
  if (block->entries == 1) {
    if (D) D[0] = x[0] > 0.0;
    x[0] = fmax(x[0], 0.0);
    return;
  }
  double mu = block->mu, s = sqrt(x[1] * x[1] + x[2] * x[2]), share = 1.0 / (1.0 + mu * mu);
  bool inside = s <= mu * x[0], gone = !inside && mu * s <= -x[0];
  if (D) memset(D, 0, 9 * sizeof *D);
  if (inside || gone) {
    for (int i = 0; i < 3; i++) {
      if (D) D[4 * i] = inside;
      if (gone) x[i] = 0.0;
    }
    return;
  }
  double along[3] = {1.0, mu * x[1] / s, mu * x[2] / s}, n = share * (x[0] + mu * s);
  for (int i = 0; i < 3 && D; i++)
    for (int j = 0; j < 3; j++) D[3 * i + j] = share * along[i] * along[j];
  for (int i = 1; i < 3 && D; i++)
    for (int j = 1; j < 3; j++) D[3 * i + j] += mu * n / s * ((i == j) - x[i] * x[j] / (s * s));
  for (int i = 0; i < 3; i++) x[i] = n * along[i];
}

/* x(y); D: 9 doubles per block, or NULL. Returns θ. */
static double at(double* x, double* D, const kn_near* set, const double* p, const double* y,
                 const double* b) {
  memcpy(x, p, (size_t)set->n * sizeof *x);
  for (int r = 0; r < set->rank; r++) kn_axpy(set->n, x, y[r], set->B + (size_t)r * (size_t)set->n);
  for (int k = 0; k < set->blocks; k++)
    project_block(x + set->block[k].at, D ? D + 9 * k : NULL, &set->block[k]);
  return 0.5 * kn_dot(set->n, x, x) - kn_dot(set->rank, b, y);
}

static double slope(double* g, const kn_near* set, const double* x, const double* b) {
  double most = 0.0;
  for (int r = 0; r < set->rank; r++) {
    g[r] = kn_dot(set->n, set->B + (size_t)r * (size_t)set->n, x) - b[r];
    most = fmax(most, fabs(g[r]));
  }
  return most;
}

/* H = Bᵀ D B + more of the identity; DB: n doubles. */
static void curvature(double* H, double* DB, const kn_near* set, const double* D, double more) {
  int n = set->n, rank = set->rank;
  for (int r = 0; r < rank; r++) {
    const double* column = set->B + (size_t)r * (size_t)n;
    for (int k = 0; k < set->blocks; k++) {
      const kn_near_block* block = &set->block[k];
      const double *d = D + 9 * k, *c = column + block->at;
      double* out = DB + block->at;
      if (block->entries == 1)
        out[0] = d[0] * c[0];
      else
        for (int i = 0; i < 3; i++) out[i] = d[3 * i] * c[0] + d[3 * i + 1] * c[1] + d[3 * i + 2] * c[2];
    }
    for (int q = 0; q <= r; q++)
      H[q * rank + r] = H[r * rank + q] = kn_dot(n, set->B + (size_t)q * (size_t)n, DB);
    H[r * rank + r] += more;
  }
}

int kn_near_room(int n, int rank) { return rank * rank + 4 * rank + 11 * n + 16; }

/* Newton's direction into d; false: the matrix is not positive. */
static bool newton(double* d, double* H, double* DB, const kn_near* set, const double* D, const double* g,
                   double more) {
  curvature(H, DB, set, D, more);
  if (kn_cholesky_factor(set->rank, H, set->rank, 0.0) < set->rank) return false;
  for (int r = 0; r < set->rank; r++) d[r] = -g[r];
  kn_cholesky_solve(set->rank, d, H, set->rank, d);
  return true;
}

bool kn_near_point(double* x, const kn_near* set, const double* p, double* scratch) {
  enum { MOST = 60, HALVINGS = 30 };
  int n = set->n, rank = set->rank;
  double *H = scratch, *b = H + rank * rank, *y = b + rank, *g = y + rank, *d = g + rank, *DB = d + rank,
         *D = DB + n, *trial = D + 9 * n, scale = 0.0;
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(set->from[i]));
  for (int r = 0; r < rank; r++) b[r] = kn_dot(n, set->B + (size_t)r * (size_t)n, set->from), y[r] = 0.0;
  double left = INFINITY, value = at(x, D, set, p, y, b);
  for (int turn = 0; turn < MOST && scale > 0.0; turn++) {
    left = slope(g, set, x, b);
    if (left <= 1e-13 * scale) break; /* rounding of sums of some hundred terms */
    if (!newton(d, H, DB, set, D, g, 1e-11 + 1e-3 * fmin(1.0, left / scale))) break;
    double step = 1.0, down = kn_dot(rank, g, d), next = INFINITY;
    for (int i = 0; i < HALVINGS; i++, step *= 0.5) {
      for (int r = 0; r < rank; r++) trial[r] = y[r] + step * d[r];
      next = at(x, D, set, p, trial, b);
      if (next <= value + 1e-4 * step * down + 1e-15 * fabs(value)) break;
    }
    memcpy(y, trial, (size_t)rank * sizeof *y);
    value = next;
  }
  left = slope(g, set, x, b);
  if (left <= 1e-10 * scale) return true; /* the solver's own tolerance */
  memcpy(x, set->from, (size_t)n * sizeof *x);
  return false;
}
