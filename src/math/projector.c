/* The projection operator of projector.h, built in O(m n min(m, n) + n³): rows to unit length, orthogonalised with
   the largest remainder first (rank), then Mc factored by Cholesky. All products go through the factors; no
   pseudo-inverse is formed. */
#include "math/projector.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "math/dense.h"

static void carve(kn_projector_core* p, kn_arena* a) {
  size_t n = (size_t)p->max_n, m = (size_t)p->max_m, r = n < m ? n : m, most = n > m ? n : m;
  p->d = KN_TAKE(a, double, n);
  p->length = KN_TAKE(a, double, m);
  p->M = KN_TAKE(a, double, n* n);
  p->F = KN_TAKE(a, double, m* n);
  p->Q = KN_TAKE(a, double, r* n);
  p->L = KN_TAKE(a, double, r* r);
  p->C = KN_TAKE(a, double, m* n);
  p->Z = KN_TAKE(a, double, r* m);
  p->T = KN_TAKE(a, double, r* r);
  p->U = KN_TAKE(a, double, n* n);
  p->y = KN_TAKE(a, double, 4 * most);
  p->pivot = KN_TAKE(a, int, m);
  p->taken = KN_TAKE(a, bool, m);
}

size_t kn_projector_core_size(int max_n, int max_m) {
  kn_projector_core p = {.max_n = max_n, .max_m = max_m};
  kn_arena measure = {0};
  carve(&p, &measure);
  return measure.used;
}

void kn_projector_core_init(kn_projector_core* p, int max_n, int max_m, void* memory) {
  *p = (kn_projector_core){.max_n = max_n, .max_m = max_m};
  kn_arena a = {.base = memory, .capacity = kn_projector_core_size(max_n, max_m)};
  carve(p, &a);
}

static double* q_row(const kn_projector_core* p, int k) { return p->Q + (size_t)k * p->n; }

/* Unit rows in the working coordinates. A row below 1e-12 of the longest moves nothing. */
static void unit_rows(kn_projector_core* p, const double* A) {
  int n = p->n;
  double most = 0.0;
  for (int i = 0; i < p->m; i++) {
    double* f = p->F + (size_t)i * n;
    for (int j = 0; j < n; j++) f[j] = A[(size_t)i * n + j] * p->d[j];
    p->length[i] = sqrt(kn_dot(n, f, f));
    most = fmax(most, p->length[i]);
  }
  for (int i = 0; i < p->m; i++) {
    double* f = p->F + (size_t)i * n;
    if (!(p->length[i] > 1e-12 * most)) p->length[i] = 0.0;
    double scale = p->length[i] > 0.0 ? 1.0 / p->length[i] : 0.0;
    for (int j = 0; j < n; j++) f[j] *= scale;
  }
}

static void remove_part(int n, double* x, const double* unit) { kn_axpy(n, x, -kn_dot(n, unit, x), unit); }

/* Row k of Q from row i: orthogonal to the earlier ones to rounding (a second pass suffices). */
static void take(kn_projector_core* p, int k, int i) {
  int n = p->n;
  double* q = q_row(p, k);
  memcpy(q, p->F + (size_t)i * n, (size_t)n * sizeof(double));
  for (int pass = 0; pass < 2; pass++) {
    for (int l = 0; l < k; l++) remove_part(n, q, q_row(p, l));
    double scale = 1.0 / sqrt(kn_dot(n, q, q));
    for (int j = 0; j < n; j++) q[j] *= scale;
  }
}

/* Pivoted Gram-Schmidt on the rows. */
static void orthogonalise(kn_projector_core* p, double tol) {
  int n = p->n, m = p->m, most = n < m ? n : m;
  for (int i = 0; i < m; i++) p->taken[i] = false;
  p->remainder = 0.0;
  for (p->rank = 0;; p->rank++) {
    int best = -1;
    double size = 0.0;
    for (int i = 0; i < m; i++) {
      if (p->taken[i]) continue;
      double* f = p->F + (size_t)i * n;
      if (p->rank) remove_part(n, f, q_row(p, p->rank - 1));
      double s = kn_dot(n, f, f);
      if (best < 0 || s > size) size = s, best = i;
    }
    if (best < 0) break;
    if (!(sqrt(size) > tol) || p->rank == most) {
      p->remainder = sqrt(size);
      break;
    }
    take(p, p->rank, best);
    p->taken[best] = true;
    p->pivot[p->rank] = best;
  }
  for (int i = 0, at = p->rank; i < m; i++)
    if (!p->taken[i]) p->pivot[at++] = i;
}

/* C, L, and A = Zᵀ T Q by Gram-Schmidt on the columns of diag(length) C. */
static void factor_columns(kn_projector_core* p, const double* A) {
  int n = p->n, m = p->m, r = p->rank;
  double* row = p->y;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n && p->length[i] > 0.0; j++) row[j] = A[(size_t)i * n + j] * p->d[j] / p->length[i];
    for (int k = 0; k < r; k++)
      p->C[(size_t)i * p->max_n + k] = p->length[i] > 0.0 ? kn_dot(n, row, q_row(p, k)) : 0.0;
  }
  for (int k = 0; k < r; k++)
    for (int l = 0; l < r; l++)
      p->L[(size_t)k * r + l] = l <= k ? p->C[(size_t)p->pivot[k] * p->max_n + l] : 0.0;
  memset(p->T, 0, (size_t)r * r * sizeof(double));
  for (int k = 0; k < r; k++) {
    double* z = p->Z + (size_t)k * m;
    for (int i = 0; i < m; i++) z[i] = p->length[i] * p->C[(size_t)i * p->max_n + k];
    for (int pass = 0; pass < 2; pass++)
      for (int l = 0; l < k; l++) {
        double c = kn_dot(m, p->Z + (size_t)l * m, z);
        p->T[(size_t)l * r + k] += c;
        kn_axpy(m, z, -c, p->Z + (size_t)l * m);
      }
    double t = sqrt(kn_dot(m, z, z));
    p->T[(size_t)k * r + k] = t;
    for (int i = 0; i < m; i++) z[i] /= t;
  }
}

/* Mc = M - Qᵀ N - Nᵀ Q + Qᵀ (N Qᵀ) Q + ν Qᵀ Q with N = Q M, in the upper triangle of U; factored in place. */
static bool inertia(kn_projector_core* p) {
  int n = p->n, r = p->rank;
  double *N = p->F, trace = 0.0; /* the remainders are no longer needed; r <= m rows fit */
  memcpy(p->U, p->M, (size_t)n * n * sizeof(double));
  for (int i = 0; i < n; i++) trace += p->M[(size_t)i * n + i];
  p->nu = trace / n;
  for (int k = 0; k < r; k++) {
    kn_gemv(n, n, N + (size_t)k * n, p->M, n, q_row(p, k));
    trace -= kn_dot(n, N + (size_t)k * n, q_row(p, k));
  }
  if (r < n && r > 0) p->nu = trace / (n - r);
  for (int k = 0; k < r; k++) { /* N'_k = N_k - ½ Σ_l (N_k·Q_l) Q_l + …: both sides at once */
    double* Nk = N + (size_t)k * n;
    double* half = p->y;
    memset(half, 0, (size_t)n * sizeof(double));
    for (int l = 0; l < r; l++) kn_axpy(n, half, kn_dot(n, Nk, q_row(p, l)), q_row(p, l));
    for (int j = 0; j < n; j++) Nk[j] -= 0.5 * half[j] + 0.5 * p->nu * q_row(p, k)[j];
  }
  for (int k = 0; k < r; k++) {
    const double *Nk = N + (size_t)k * n, *q = q_row(p, k);
    for (int i = 0; i < n; i++) {
      kn_axpy(n - i, p->U + (size_t)i * n + i, -q[i], Nk + i);
      kn_axpy(n - i, p->U + (size_t)i * n + i, -Nk[i], q + i);
    }
  }
  return true;
}

/* y = Mc x from the factor U. */
static void multiply_Mc(double* y, const kn_projector_core* p, const double* x) {
  int n = p->n;
  double* t = p->y + 2 * (size_t)(p->max_n > p->max_m ? p->max_n : p->max_m);
  for (int i = 0; i < n; i++) t[i] = kn_dot(n - i, p->U + (size_t)i * n + i, x + i);
  memset(y, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < n; i++) kn_axpy(n - i, y + i, t[i], p->U + (size_t)i * n + i);
}

/* Power steps on Mc and its inverse from a vector with all components; 5 each are within a few ten percent.
 */
static double condition(const kn_projector_core* p) {
  enum { STEPS = 5 };
  int n = p->n;
  double *x = p->y, *y = p->y + (size_t)(p->max_n > p->max_m ? p->max_n : p->max_m), ends[2];
  for (int inverse = 0; inverse < 2; inverse++) {
    for (int i = 0; i < n; i++) x[i] = 1.0 + 0.37 * (i % 5) - 0.9 * (i % 2);
    double size = 1.0;
    for (int k = 0; k < STEPS; k++) {
      double scale = 1.0 / sqrt(kn_dot(n, x, x));
      for (int i = 0; i < n; i++) x[i] *= scale;
      if (inverse)
        kn_cholesky_solve(n, y, p->U, n, x);
      else
        multiply_Mc(y, p, x);
      size = kn_dot(n, x, y); /* Rayleigh quotient */
      memcpy(x, y, (size_t)n * sizeof(double));
    }
    ends[inverse] = size;
  }
  return n ? ends[0] * ends[1] : 1.0;
}

bool kn_projector_build(kn_projector_core* p, int n, int m, const double* M, const double* A, double rank_tol,
                        bool scaled) {
  p->n = n, p->m = m, p->scaled = scaled;
  for (int i = 0; i < n; i++) {
    if (!(M[(size_t)i * n + i] > 0.0)) return false;
    p->d[i] = scaled ? 1.0 / sqrt(M[(size_t)i * n + i]) : 1.0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) p->M[(size_t)i * n + j] = M[(size_t)i * n + j] * p->d[i] * p->d[j];
  unit_rows(p, A);
  orthogonalise(p, rank_tol);
  factor_columns(p, A);
  if (!inertia(p) || kn_cholesky_factor(n, p->U, n, 0.0) < n) return false;
  p->condition = condition(p);
  return true;
}

/* In the working coordinates: x ← P x. */
static void project(const kn_projector_core* p, double* x) {
  for (int k = 0; k < p->rank; k++) remove_part(p->n, x, q_row(p, k));
}

static void hadamard(int n, double* y, const double* x, const double* d) {
  for (int i = 0; i < n; i++) y[i] = x[i] * d[i];
}

static void over(int n, double* y, const double* x, const double* d) {
  for (int i = 0; i < n; i++) y[i] = x[i] / d[i];
}

void kn_projector_P(double* y, kn_projector_core* p, const double* x) {
  if (y != x) memcpy(y, x, (size_t)p->n * sizeof(double));
  project(p, y);
}

/* y ← Mc⁻¹ P y; the result is projected again, which rounding would otherwise spoil by cond(Mc). */
static void admit(const kn_projector_core* p, double* y) {
  project(p, y);
  kn_cholesky_solve(p->n, y, p->U, p->n, y);
  project(p, y);
}

void kn_projector_admit(double* y, kn_projector_core* p, const double* x) {
  hadamard(p->n, y, x, p->d);
  admit(p, y);
  hadamard(p->n, y, y, p->d);
}

double kn_projector_share(kn_projector_core* p, const double* row) {
  double* x = p->y;
  hadamard(p->n, x, row, p->d);
  double before = kn_dot(p->n, x, x);
  project(p, x);
  return before > 0.0 ? sqrt(kn_dot(p->n, x, x) / before) : 0.0;
}

/* Velocities are divided by d on the way in, forces multiplied. */
void kn_projector_S(double* y, kn_projector_core* p, const double* x) {
  int n = p->n;
  double *v = p->y, *w = p->y + n;
  over(n, v, x, p->d);
  kn_gemv(n, n, w, p->M, n, v);
  admit(p, w);
  for (int i = 0; i < n; i++) y[i] = (v[i] - w[i]) * p->d[i];
}

void kn_projector_St(double* y, kn_projector_core* p, const double* x) {
  int n = p->n;
  double *v = p->y, *w = p->y + n, *g = p->y + 2 * n;
  hadamard(n, v, x, p->d);
  memcpy(w, v, (size_t)n * sizeof(double));
  admit(p, w);
  kn_gemv(n, n, g, p->M, n, w);
  for (int i = 0; i < n; i++) y[i] = (v[i] - g[i]) / p->d[i];
}

/* x = S Σ_k c_k Q_k, c in the first `rank` entries of coefficients. */
static void reach(double* x, kn_projector_core* p, const double* c) {
  double* v = p->y + p->n;
  memset(v, 0, (size_t)p->n * sizeof(double));
  for (int k = 0; k < p->rank; k++) kn_axpy(p->n, v, c[k], q_row(p, k));
  hadamard(p->n, x, v, p->d);
  kn_projector_S(x, p, x);
}

void kn_projector_reach(double* x, kn_projector_core* p, const double* b) {
  int r = p->rank;
  double* c = p->y + 3 * (size_t)(p->max_n > p->max_m ? p->max_n : p->max_m);
  for (int k = 0; k < r; k++) c[k] = kn_dot(p->m, p->Z + (size_t)k * p->m, b);
  for (int k = r - 1; k >= 0; k--) {
    for (int l = k + 1; l < r; l++) c[k] -= p->T[(size_t)k * r + l] * c[l];
    c[k] /= p->T[(size_t)k * r + k];
  }
  reach(x, p, c);
}

void kn_projector_reach_basic(double* x, kn_projector_core* p, const double* b) {
  int r = p->rank;
  double* c = p->y + 3 * (size_t)(p->max_n > p->max_m ? p->max_n : p->max_m);
  for (int k = 0; k < r; k++) {
    c[k] = b[p->pivot[k]] / p->length[p->pivot[k]] - kn_dot(k, p->L + (size_t)k * r, c);
    c[k] /= p->L[(size_t)k * r + k];
  }
  reach(x, p, c);
}

void kn_projector_multipliers(double* lambda, kn_projector_core* p, const double* f) {
  int n = p->n, m = p->m, r = p->rank;
  double *g = p->y, *c = p->y + n;
  hadamard(n, g, f, p->d);
  for (int k = 0; k < r; k++) c[k] = kn_dot(n, q_row(p, k), g);
  for (int k = r - 1; k >= 0; k--) { /* Lᵀ λ_r = c */
    for (int l = k + 1; l < r; l++) c[k] -= p->L[(size_t)l * r + k] * c[l];
    c[k] /= p->L[(size_t)k * r + k];
  }
  memset(lambda, 0, (size_t)m * sizeof(double));
  for (int k = 0; k < r; k++) lambda[p->pivot[k]] = c[k] / p->length[p->pivot[k]];
  if (r == m || p->remainder > 1e-12) return;
  for (int k = 0; k < r; k++) c[k] = kn_dot(m, p->Z + (size_t)k * m, lambda);
  memset(lambda, 0, (size_t)m * sizeof(double));
  for (int k = 0; k < r; k++) kn_axpy(m, lambda, c[k], p->Z + (size_t)k * m);
}

void kn_projector_determinate(bool* determinate, const kn_projector_core* p) {
  for (int i = 0; i < p->m; i++) {
    double share = 0.0; /* |part of the i-th unit vector in the range of A|²: 1 unless a dependency has it */
    for (int k = 0; k < p->rank; k++) {
      double z = p->Z[(size_t)k * p->m + i];
      share += z * z;
    }
    determinate[i] = p->rank == p->m || 1.0 - share <= KN_PROJECTION_RANK_TOL * KN_PROJECTION_RANK_TOL;
  }
}
