/* Gauss' least constraint by a primal-dual interior point, and the steepest descent by a barrier, in the white
   coordinates of kn_white (lcp.h). Neither knows the other, nor the LCP solvers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/lcp/lcp.h"
#include "math/dense.h"
#include "math/elementary.h"

/* The gap of x and multipliers z >= 0 (frictionless.c); scratch: n. */
static double gap(const kn_white* w, const double* x, const double* z, double* scratch) {
  int n = w->n;
  double product = 0.0;
  for (int i = 0; i < n; i++) scratch[i] = x[i] - w->c[i];
  for (int k = 0; k < w->m; k++) {
    const double* g = w->G + (size_t)k * n;
    kn_axpy(n, scratch, -z[k], g);
    product += z[k] * fabs(kn_dot(n, g, x));
  }
  return 0.5 * kn_dot(n, scratch, scratch) + product;
}

/* The last steps run out of digits, and with them the multipliers: lambda becomes z if its gap is the least so far. */
static void keep_best(double* lambda, double* least, const kn_white* w, const double* x, const double* z,
                      double* scratch) {
  double now = gap(w, x, z, scratch);
  if (!(now < *least)) return;
  *least = now;
  for (int k = 0; k < w->m; k++) lambda[k] = z[k];
}

/* ---- Gauss: min ½|x|² - cᵀx, G x = s >= 0, multipliers z; Mehrotra's predictor-corrector ---- */

static double step_to_boundary(int m, const double* s, const double* ds) {
  double a = 1.0;
  for (int i = 0; i < m; i++)
    if (ds[i] < 0.0) a = fmin(a, -s[i] / ds[i]);
  return a;
}

/* (I + Gᵀ diag(z/s) G) dx = r; overwrites H. */
static void solve_normal(kn_white* w, double* dx, const double* s, const double* z, const double* r) {
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

typedef struct interior {
  double *dx, *r;                      /* n */
  double *s, *z, *ds, *dz, *comp, *rp; /* m */
} interior;

static void direction(kn_white* w, interior* p, const double* x) {
  int n = w->n;
  for (int i = 0; i < n; i++) p->r[i] = w->c[i] - x[i];
  for (int k = 0; k < w->m; k++) {
    const double* g = w->G + (size_t)k * n;
    p->rp[k] = kn_dot(n, g, x) - p->s[k];
    kn_axpy(n, p->r, p->z[k] - (p->z[k] * p->rp[k] + p->comp[k]) / p->s[k], g);
  }
  solve_normal(w, p->dx, p->s, p->z, p->r);
  for (int k = 0; k < w->m; k++) {
    p->ds[k] = kn_dot(n, w->G + (size_t)k * n, p->dx) + p->rp[k];
    p->dz[k] = (-p->comp[k] - p->z[k] * p->ds[k]) / p->s[k];
  }
}

/* Sharpens the answer: on the rows it holds closed (z > s) x is the projection of c onto their null space, made by
   orthogonalisation twice over. Kept if it closes no other row. */
static void sharpen(kn_white* w, double* x, const double* s, const double* z) {
  int n = w->n, have = 0;
  double* E = malloc(((size_t)n * n + 2 * (size_t)n) * sizeof(double));
  if (!E) return;
  double *v = E + (size_t)n * n, *trial = v + n, deepest = 0.0, size = sqrt(kn_dot(n, w->c, w->c));
  for (int k = 0; k < w->m && have < n; k++) {
    if (!(z[k] > s[k])) continue;
    memcpy(v, w->G + (size_t)k * n, (size_t)n * sizeof(double));
    double before = kn_dot(n, v, v);
    for (int pass = 0; pass < 2; pass++)
      for (int j = 0; j < have; j++) kn_axpy(n, v, -kn_dot(n, v, E + (size_t)j * n), E + (size_t)j * n);
    double left = kn_dot(n, v, v);
    if (left < 1e-20 * before) continue; /* follows from the others */
    for (int i = 0; i < n; i++) E[(size_t)have * n + i] = v[i] / sqrt(left);
    have++;
  }
  memcpy(trial, w->c, (size_t)n * sizeof(double));
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < have; j++) kn_axpy(n, trial, -kn_dot(n, trial, E + (size_t)j * n), E + (size_t)j * n);
  for (int k = 0; k < w->m; k++) {
    const double* g = w->G + (size_t)k * n;
    deepest = fmax(deepest, -kn_dot(n, g, trial) / sqrt(kn_dot(n, g, g)));
  }
  if (deepest <= 1e-9 * size) memcpy(x, trial, (size_t)n * sizeof(double));
  free(E);
}

int kn_gauss_interior(double* x, double* lambda, kn_white* w) {
  int n = w->n, m = w->m, it = 0;
  double* t = w->t;
  interior p = {.dx = t, .r = t + n, .s = t + 2 * n};
  p.z = p.s + m, p.ds = p.z + m, p.dz = p.ds + m, p.comp = p.dz + m, p.rp = p.comp + m;
  memcpy(x, w->c, (size_t)n * sizeof(double));
  double scale = sqrt(kn_dot(n, w->c, w->c)), last = INFINITY, least = INFINITY;
  if (m == 0 || !(scale > 0.0)) return 1;
  for (int k = 0; k < m; k++) {
    double size = sqrt(kn_dot(n, w->G + (size_t)k * n, w->G + (size_t)k * n));
    p.s[k] = fmax(scale * size, fabs(kn_dot(n, w->G + (size_t)k * n, x))), p.z[k] = scale / size;
  }
  for (; it < 100; it++) {
    double mu = kn_dot(m, p.s, p.z) / m;
    if (mu <= 1e-20 * scale * scale || !(mu < last)) break; /* beyond this z/s has no digits left */
    last = mu;
    for (int k = 0; k < m; k++) p.comp[k] = p.s[k] * p.z[k];
    direction(w, &p, x);
    double ap = step_to_boundary(m, p.s, p.ds), ad = step_to_boundary(m, p.z, p.dz), after = 0.0;
    for (int k = 0; k < m; k++) after += (p.s[k] + ap * p.ds[k]) * (p.z[k] + ad * p.dz[k]);
    double share = after / (m * mu), sigma = share * share * share;
    for (int k = 0; k < m; k++) p.comp[k] = p.s[k] * p.z[k] + p.ds[k] * p.dz[k] - sigma * mu;
    direction(w, &p, x);
    double alpha = fmin(1.0, 0.99 * fmin(step_to_boundary(m, p.s, p.ds), step_to_boundary(m, p.z, p.dz)));
    kn_axpy(n, x, alpha, p.dx);
    for (int k = 0; k < m; k++) p.s[k] += alpha * p.ds[k], p.z[k] += alpha * p.dz[k];
    keep_best(lambda, &least, w, x, p.z, p.r);
  }
  sharpen(w, x, p.s, p.z);
  return it + 1;
}

/* ---- descent: -t cᵀx - log(1 - |x|²) - Σ log(g_k·x), c scaled to 1.

   At its minimum c + Σ g_k / (t g_k·x) = 2 x / (t (1 - |x|²)): the multipliers are λ_k = |Q| / (t g_k·x), and the
   acceleration is (c·x) |Q| x at the end. ---- */

static double barrier(const kn_white* w, const double* x, double t, const double* c) {
  double ball = 1.0 - kn_dot(w->n, x, x), f = -t * kn_dot(w->n, c, x);
  if (!(ball > 0.0)) return INFINITY;
  for (int k = 0; k < w->m; k++) {
    double g = kn_dot(w->n, w->G + (size_t)k * w->n, x);
    if (!(g > 0.0)) return INFINITY;
    f -= kn_log(g);
  }
  return f - kn_log(ball);
}

static void newton(kn_white* w, const double* x, double t, const double* c, double* grad, double* dx) {
  int n = w->n;
  double ball = 1.0 - kn_dot(n, x, x);
  for (int i = 0; i < n; i++) {
    grad[i] = t * c[i] - 2.0 * x[i] / ball;
    for (int j = i; j < n; j++)
      w->H[(size_t)i * n + j] = (i == j ? 2.0 / ball : 0.0) + 4.0 * x[i] * x[j] / (ball * ball);
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

static int centre(kn_white* w, double* x, double t, const double* c, double* grad, double* dx,
                  double* trial) {
  int n = w->n, it = 0;
  for (; it < 60; it++) {
    newton(w, x, t, c, grad, dx);
    double decrease = kn_dot(n, grad, dx), f = barrier(w, x, t, c), a = 1.0;
    if (!(decrease > 1e-12)) break;
    for (int k = 0; k < 50; k++, a *= 0.5) {
      for (int i = 0; i < n; i++) trial[i] = x[i] + a * dx[i];
      if (barrier(w, trial, t, c) <= f - 0.1 * a * decrease + 1e-13 * fabs(f)) break;
    }
    kn_axpy(n, x, a, dx);
  }
  return it;
}

/* A direction that opens every contact, by the perceptron rule on unit rows; false when the contacts leave no
   open set (or one narrower than about 1/sqrt(2000)). */
static bool opens(const kn_white* w, double* x) {
  enum { ROUNDS = 2000 }; /* ends after 1/width² rounds */
  int n = w->n, it = 0;
  memset(x, 0, (size_t)n * sizeof(double));
  for (; it < ROUNDS; it++) {
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
  }
  double norm = sqrt(kn_dot(n, x, x));
  for (int i = 0; i < n && norm > 0.0; i++) x[i] *= 0.5 / norm;
  return it < ROUNDS;
}

int kn_descent_barrier(double* x, double* lambda, kn_white* w) {
  int n = w->n, steps = 1;
  double *grad = w->t, *dx = grad + n, *trial = dx + n, *c = trial + n, t = 1.0;
  double size = sqrt(kn_dot(n, w->c, w->c));
  if (!(size > 0.0) || !opens(w, x)) return 0;
  for (int i = 0; i < n; i++) c[i] = w->c[i] / size;
  double least = INFINITY, down = 0.0, *a = c + n, *z = a + n;
  for (; t < 1e14; t *= 8.0) {
    steps += centre(w, x, t, c, grad, dx, trial);
    double norm = sqrt(kn_dot(n, x, x));
    down = kn_dot(n, c, x) / norm;
    for (int i = 0; i < n; i++) a[i] = x[i] * (down * size / norm);
    for (int k = 0; k < w->m; k++) z[k] = size / (t * kn_dot(n, w->G + (size_t)k * n, x));
    keep_best(lambda, &least, w, a, z, trial);
  }
  memcpy(x, a, (size_t)n * sizeof(double));
  return down > 1e-9 ? steps : 0;
}
