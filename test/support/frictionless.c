/* The three ways of frictionless.h, in whitened coordinates x = Lᵀ a, M = L Lᵀ, in which the M-norm is the
   Euclidean one. F1 shares no code with F2 and F3, nor these with each other beyond the whitening: their
   agreement is the certificate. For tests: nothing in the library calls it. */
#include "frictionless.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation/least_norm.h"
#include "knuckle/comp.h"
#include "math/dense.h"
#include "math/elementary.h"

/* In whitened coordinates x = Lᵀ a with M = L Lᵀ: |a|_M = |x|, rows G = J L⁻ᵀ, c = L⁻¹ Q. */
typedef struct white {
  int n, m;
  double* U; /* Uᵀ U = M */
  double* G; /* m x n */
  double* c; /* n */
  double* H; /* n x n scratch */
  double* t; /* 6 n + 6 m scratch */
} white;

/* y = U⁻ᵀ b (forward), y = U⁻¹ b (backward) */
static void forward(const white* w, double* y, const double* b) {
  for (int i = 0; i < w->n; i++) {
    y[i] = b[i];
    for (int k = 0; k < i; k++) y[i] -= w->U[(size_t)k * w->n + i] * y[k];
    y[i] /= w->U[(size_t)i * w->n + i];
  }
}
static void backward(const white* w, double* y, const double* b) {
  for (int i = w->n - 1; i >= 0; i--) {
    y[i] = b[i];
    for (int k = i + 1; k < w->n; k++) y[i] -= w->U[(size_t)i * w->n + k] * y[k];
    y[i] /= w->U[(size_t)i * w->n + i];
  }
}

static kn_status whiten(white* w, const double* M, const double* J, const double* Q) {
  int n = w->n;
  memcpy(w->U, M, (size_t)n * n * sizeof(double));
  if (kn_cholesky_factor(n, w->U, n, 0.0) != n)
    return kn_fail(KN_BAD_ARGUMENT, "the mass matrix is not positive definite");
  for (int i = 0; i < w->m; i++) forward(w, w->G + (size_t)i * n, J + (size_t)i * n);
  forward(w, w->c, Q);
  return KN_OK;
}

/* ---- F1 ---- */

static kn_status solve_forces(kn_frictionless* out, white* w) {
  int n = w->n, m = w->m;
  double *A = malloc(((size_t)m * m + (size_t)m + 1) * sizeof(double)), *q = A + (size_t)m * m;
  kn_lcp_work* work = NULL;
  kn_solve_info info;
  kn_status status = A ? kn_lcp_work_create(&work, m ? m : 1) : KN_OUT_OF_MEMORY;
  if (status == KN_OK) {
    for (int i = 0; i < m; i++) {
      q[i] = kn_dot(n, w->G + (size_t)i * n, w->c);
      for (int j = 0; j <= i; j++)
        A[(size_t)i * m + j] = A[(size_t)j * m + i] = kn_dot(n, w->G + (size_t)i * n, w->G + (size_t)j * n);
    }
    kn_lcp lcp = {.n = m, .M = A, .q = q};
    kn_lcp_settings settings = kn_lcp_settings_default();
    settings.tol = 1e-13;
    memset(out->lambda, 0, (size_t)m * sizeof(double));
    if (m) kn_lcp_solve(out->lambda, &info, &lcp, &settings, work); /* judged by the gap below */
    if (m && out->determinate) kn_lcp_determinate(out->determinate, NULL, NULL, &lcp, out->lambda, work);
  }
  double* x = w->t;
  memcpy(x, w->c, (size_t)n * sizeof(double));
  for (int i = 0; i < m && status == KN_OK; i++) kn_axpy(n, x, out->lambda[i], w->G + (size_t)i * n);
  backward(w, out->force, x);
  kn_lcp_work_destroy(work);
  free(A);
  return status;
}

/* ---- F2: min ½|x|² - cᵀx, G x = s >= 0; Mehrotra's predictor-corrector ---- */

static double step_to_boundary(int m, const double* s, const double* ds) {
  double a = 1.0;
  for (int i = 0; i < m; i++)
    if (ds[i] < 0.0) a = fmin(a, -s[i] / ds[i]);
  return a;
}

/* (I + Gᵀ diag(z/s) G) dx = r; overwrites H. */
static void solve_normal(white* w, double* dx, const double* s, const double* z, const double* r) {
  int n = w->n;
  memset(w->H, 0, (size_t)n * n * sizeof(double));
  for (int i = 0; i < n; i++) w->H[(size_t)i * n + i] = 1.0;
  for (int k = 0; k < w->m; k++) {
    const double* g = w->G + (size_t)k * n;
    double d = z[k] / s[k];
    for (int i = 0; i < n; i++) kn_axpy(n - i, w->H + (size_t)i * n + i, d * g[i], g + i);
  }
  kn_cholesky_factor(n, w->H, n, 0.0);
  kn_cholesky_solve(n, dx, w->H, n, r);
}

static void direction(white* w, double* dx, double* ds, double* dz, const double* x, const double* s,
                      const double* z, const double* comp, double* r, double* rp) {
  int n = w->n, m = w->m;
  for (int i = 0; i < n; i++) r[i] = w->c[i] - x[i];
  for (int k = 0; k < m; k++) {
    const double* g = w->G + (size_t)k * n;
    rp[k] = kn_dot(n, g, x) - s[k];
    kn_axpy(n, r, z[k] - (z[k] * rp[k] + comp[k]) / s[k], g);
  }
  solve_normal(w, dx, s, z, r);
  for (int k = 0; k < m; k++) {
    ds[k] = kn_dot(n, w->G + (size_t)k * n, dx) + rp[k];
    dz[k] = (-comp[k] - z[k] * ds[k]) / s[k];
  }
}

/* Sharpens an interior-point answer: on the rows it holds closed (z > s) the answer is the projection of c
   onto their null space. Kept if it opens no other row. */
static void polish_gauss(white* w, double* x, const double* s, const double* z) {
  int n = w->n, m = w->m, held = 0;
  double* memory = malloc(((size_t)m * m * 2 + 4 * (size_t)m + (size_t)n) * sizeof(double));
  int* index = malloc(3 * (size_t)(m + 1) * sizeof(int));
  if (memory && index) {
    double *W = memory, *scratch = W + (size_t)m * m, *b = scratch + (size_t)m * m + 2 * (size_t)m,
           *y = b + m, *trial = y + m;
    for (int k = 0; k < m; k++)
      if (z[k] > s[k]) index[held++] = k;
    for (int i = 0; i < held; i++) {
      const double* g = w->G + (size_t)index[i] * n;
      b[i] = -kn_dot(n, g, w->c);
      for (int j = 0; j < held; j++) W[(size_t)i * held + j] = kn_dot(n, g, w->G + (size_t)index[j] * n);
    }
    kn_least_norm(y, held, W, b, NULL, scratch, index + m + 1);
    memcpy(trial, w->c, (size_t)n * sizeof(double));
    for (int i = 0; i < held; i++) kn_axpy(n, trial, y[i], w->G + (size_t)index[i] * n);
    double size = sqrt(kn_dot(n, w->c, w->c)), deepest = 0.0;
    for (int k = 0; k < m; k++) {
      const double* g = w->G + (size_t)k * n;
      deepest = fmax(deepest, -kn_dot(n, g, trial) / sqrt(kn_dot(n, g, g)));
    }
    if (deepest <= 1e-9 * size) memcpy(x, trial, (size_t)n * sizeof(double));
  }
  free(memory);
  free(index);
}

static void solve_gauss(double* a, white* w) {
  int n = w->n, m = w->m;
  double *x = w->t, *dx = x + n, *r = dx + n, *s = r + 4 * n, *z = s + m, *ds = z + m, *dz = ds + m,
         *comp = dz + m, *rp = comp + m;
  memcpy(x, w->c, (size_t)n * sizeof(double));
  double scale = 1e-3 + sqrt(kn_dot(n, w->c, w->c)), last = INFINITY;
  for (int k = 0; k < m; k++) s[k] = fmax(scale, fabs(kn_dot(n, w->G + (size_t)k * n, x))), z[k] = scale;
  for (int it = 0; it < 100 && m; it++) {
    double mu = kn_dot(m, s, z) / m;
    if (mu <= 1e-20 * scale * scale || !(mu < last)) break; /* beyond this z/s has no digits left */
    last = mu;
    for (int k = 0; k < m; k++) comp[k] = s[k] * z[k];
    direction(w, dx, ds, dz, x, s, z, comp, r, rp);
    double ap = step_to_boundary(m, s, ds), ad = step_to_boundary(m, z, dz), after = 0.0;
    for (int k = 0; k < m; k++) after += (s[k] + ap * ds[k]) * (z[k] + ad * dz[k]);
    double share = after / (m * mu), sigma = share * share * share;
    for (int k = 0; k < m; k++) comp[k] = s[k] * z[k] + ds[k] * dz[k] - sigma * mu;
    direction(w, dx, ds, dz, x, s, z, comp, r, rp);
    ap = fmin(1.0, 0.99 * step_to_boundary(m, s, ds));
    ad = fmin(1.0, 0.99 * step_to_boundary(m, z, dz));
    double alpha = fmin(ap, ad);
    kn_axpy(n, x, alpha, dx);
    for (int k = 0; k < m; k++) s[k] += alpha * ds[k], z[k] += alpha * dz[k];
  }
  if (m) polish_gauss(w, x, s, z);
  memcpy(r, x, (size_t)n * sizeof(double));
  backward(w, a, r);
}

/* ---- F3: barrier in x alone, |E x|² <= 1 with E = 1 (or L⁻ᵀ for the Euclidean norm) ---- */

static double barrier(const white* w, const double* x, double t, const double* c, const double* B) {
  double ball = 1.0, f = -t * kn_dot(w->n, c, x);
  for (int i = 0; i < w->n; i++) ball -= x[i] * (B ? kn_dot(w->n, B + (size_t)i * w->n, x) : x[i]);
  if (!(ball > 0.0)) return INFINITY;
  for (int k = 0; k < w->m; k++) {
    double g = kn_dot(w->n, w->G + (size_t)k * w->n, x);
    if (!(g > 0.0)) return INFINITY;
    f -= kn_log(g);
  }
  return f - kn_log(ball);
}

static void newton_descent(white* w, double* x, double t, const double* c, const double* B, double* grad,
                           double* dx) {
  int n = w->n;
  double ball = 1.0, *Bx = dx + n;
  for (int i = 0; i < n; i++) Bx[i] = B ? kn_dot(n, B + (size_t)i * n, x) : x[i];
  ball -= kn_dot(n, x, Bx);
  for (int i = 0; i < n; i++) {
    grad[i] = t * c[i] - 2.0 * Bx[i] / ball;
    for (int j = i; j < n; j++)
      w->H[(size_t)i * n + j] =
          2.0 * (B ? B[(size_t)i * n + j] : (i == j)) / ball + 4.0 * Bx[i] * Bx[j] / (ball * ball);
  }
  for (int k = 0; k < w->m; k++) {
    const double* g = w->G + (size_t)k * n;
    double v = 1.0 / kn_dot(n, g, x);
    kn_axpy(n, grad, v, g);
    for (int i = 0; i < n; i++) kn_axpy(n - i, w->H + (size_t)i * n + i, v * v * g[i], g + i);
  }
  kn_cholesky_factor(n, w->H, n, 0.0);
  kn_cholesky_solve(n, dx, w->H, n, grad);
}

static void centre(white* w, double* x, double t, const double* c, const double* B, double* grad, double* dx,
                   double* trial) {
  int n = w->n;
  for (int it = 0; it < 60; it++) {
    newton_descent(w, x, t, c, B, grad, dx);
    double decrease = kn_dot(n, grad, dx), f = barrier(w, x, t, c, B), a = 1.0;
    if (!(decrease > 1e-12)) return;
    for (int k = 0; k < 50; k++, a *= 0.5) {
      for (int i = 0; i < n; i++) trial[i] = x[i] + a * dx[i];
      if (barrier(w, trial, t, c, B) <= f - 0.1 * a * decrease + 1e-13 * fabs(f)) break;
    }
    kn_axpy(n, x, a, dx);
  }
}

/* A direction that opens every contact, by the perceptron rule on unit rows; false when the contacts leave no
   open set (or one narrower than about 1/sqrt(2000)). */
static bool interior(const white* w, double* x) {
  int n = w->n;
  memset(x, 0, (size_t)n * sizeof(double));
  for (int it = 0; it < 2000; it++) { /* ends after 1/width² rounds */
    int worst = -1;
    double least = 1e-6 * sqrt(kn_dot(n, x, x)) + 1e-12;
    for (int k = 0; k < w->m; k++) {
      const double* g = w->G + (size_t)k * n;
      double v = kn_dot(n, g, x) / sqrt(kn_dot(n, g, g));
      if (v < least) least = v, worst = k;
    }
    if (worst < 0) break;
    const double* g = w->G + (size_t)worst * n;
    kn_axpy(n, x, 1.0 / sqrt(kn_dot(n, g, g)), g);
    if (it == 1999) return false;
  }
  double norm = sqrt(kn_dot(n, x, x));
  for (int i = 0; i < n && norm > 0.0; i++) x[i] *= 0.5 / norm;
  return true;
}

static bool solve_descent(kn_frictionless* out, white* w, bool euclidean) {
  int n = w->n;
  double *x = w->t, *grad = x + n, *dx = grad + n, *trial = dx + 2 * n, size = sqrt(kn_dot(n, w->c, w->c));
  double *c = trial + n, *B = NULL;
  memset(out->descent, 0, (size_t)n * sizeof(double));
  if (!(size > 0.0) || !interior(w, x)) return false;
  for (int i = 0; i < n; i++) c[i] = w->c[i] / size;
  if (euclidean) { /* |L⁻ᵀ x|²: B = (LᵀL)⁻¹ = (U Uᵀ)⁻¹ */
    B = calloc((size_t)n * n, sizeof(double));
    double* column = calloc(2 * (size_t)n, sizeof(double));
    for (int j = 0; j < n && B && column; j++) {
      memset(column, 0, (size_t)n * sizeof(double));
      column[j] = 1.0;
      backward(w, column + n, column);
      forward(w, column, column + n);
      for (int i = 0; i < n; i++) B[(size_t)i * n + j] = column[i];
    }
    double s = 0.0;
    for (int i = 0; i < n && B; i++) s = fmax(s, B[(size_t)i * n + i]);
    for (int i = 0; i < n; i++) x[i] *= 0.1 / fmax(1.0, sqrt(n * s));
    free(column);
  }
  for (double t = 1.0; t < 1e14; t *= 8.0) centre(w, x, t, c, B, grad, dx, trial);
  free(B);
  double norm = sqrt(kn_dot(n, x, x));
  out->value = -size * kn_dot(n, c, x) / (euclidean ? 1.0 : norm);
  for (int i = 0; i < n; i++) trial[i] = x[i] / norm;
  backward(w, out->descent, trial);
  return -out->value > 1e-9 * size;
}

static void certify(kn_frictionless* out, const white* w, const double* M, const double* Q) {
  int n = w->n;
  double primal = 0.0, dual = 0.0, *x = w->t, scale = fmax(kn_dot(n, w->c, w->c), 1e-300);
  for (int i = 0; i < n; i++)
    primal += out->gauss[i] * (0.5 * kn_dot(n, M + (size_t)i * n, out->gauss) - Q[i]);
  memcpy(x, w->c, (size_t)n * sizeof(double));
  for (int k = 0; k < w->m; k++) kn_axpy(n, x, fmax(out->lambda[k], 0.0), w->G + (size_t)k * n);
  dual = -0.5 * kn_dot(n, x, x);
  out->gap = (primal - dual) / scale;
}

kn_status kn_frictionless_solve(kn_frictionless* out, int n, int m, const double* M, const double* J,
                                const double* Q, bool euclidean) {
  if (!out || n < 1 || m < 0 || !M || !Q || (m && !J))
    return kn_fail(KN_BAD_ARGUMENT, "frictionless: sizes or arrays are missing");
  white w = {.n = n, .m = m};
  size_t N = (size_t)n, rows = (size_t)m;
  double* memory = calloc(2 * N * N + rows * N + N + 8 * N + 6 * rows, sizeof(double));
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "frictionless: out of memory");
  w.U = memory;
  w.H = w.U + N * N;
  w.G = w.H + N * N;
  w.c = w.G + rows * N;
  w.t = w.c + N;
  kn_status status = whiten(&w, M, J, Q);
  if (status == KN_OK) status = solve_forces(out, &w);
  if (status == KN_OK) {
    solve_gauss(out->gauss, &w);
    out->has_descent = solve_descent(out, &w, euclidean);
    certify(out, &w, M, Q);
  }
  free(memory);
  return status;
}
