/* The nearest consistent E by cutting planes:

     min ½ |e - e0|²   s.t.  σmax(B(e)) <= 1,  0 <= e <= 1,     B(e) = R diag(e) R⁺

   Any unit u, z give uᵀ B(e) z = g·e with g_i = (Rᵀu)_i (R⁺z)_i, and g·e <= σmax: a plane g·e <= 1 that no
   consistent E crosses. Each round adds the planes of all singular triples above 1 at the present e and
   solves the small quadratic program again by a dual active-set method (Goldfarb and Idnani 1983; the Hessian
   is the identity), which goes on from where it was. The limit is approached from outside; the last step goes
   to the mean by the little that is missing: σmax is convex, so s = (1 - ē)/(σ - ē) suffices. */
#include <math.h>
#include <string.h>

#include "law/certificate.h"
#include "math/dense.h"

/* Constraint c: normal·x <= bound. First the cuts, then e_i <= 1, then -e_i <= 0. */
static double value(const kn_certificate_work* w, int c, const double* x) {
  int i = c - KN_CERTIFICATE_CUTS;
  if (i < 0) return kn_dot(w->k, w->cut + (size_t)c * w->k, x);
  return i < w->k ? x[i] : -x[i - w->k];
}

static double bound(const kn_certificate_work* w, int c) {
  return c < KN_CERTIFICATE_CUTS + w->k ? 1.0 : 0.0;
}

static void normal(double* n, const kn_certificate_work* w, int c) {
  int i = c - KN_CERTIFICATE_CUTS;
  if (i < 0) {
    memcpy(n, w->cut + (size_t)c * w->k, (size_t)w->k * sizeof(double));
    return;
  }
  memset(n, 0, (size_t)w->k * sizeof(double));
  n[i < w->k ? i : i - w->k] = i < w->k ? 1.0 : -1.0;
}

static int most_violated(const kn_certificate_work* w) {
  int worst = -1;
  double most = 1e-14;
  for (int c = 0; c < KN_CERTIFICATE_CUTS + 2 * w->k; c++) {
    if (c == w->cuts) c = KN_CERTIFICATE_CUTS;
    double over = value(w, c, w->x) - bound(w, c);
    if (over > most) most = over, worst = c;
  }
  for (int i = 0; i < w->actives && worst >= 0; i++)
    if (w->active[i] == worst) return -1; /* rounding: it is held already */
  return worst;
}

/* r = (NᵀN)⁻¹ Nᵀ n and step = n - N r for the active normals N; n is in w->y. */
static void split(kn_certificate_work* w) {
  int m = w->actives, k = w->k;
  double *column = w->B, *gram = w->gram; /* B is free here: columns, m x k */
  for (int a = 0; a < m; a++) normal(column + (size_t)a * k, w, w->active[a]);
  for (int a = 0; a < m; a++) {
    for (int b = 0; b < m; b++)
      gram[(size_t)a * m + b] = kn_dot(k, column + (size_t)a * k, column + (size_t)b * k);
    w->r[a] = kn_dot(k, column + (size_t)a * k, w->y);
  }
  kn_cholesky_factor(m, gram, m, 0.0);
  kn_cholesky_solve(m, w->r, gram, m, w->r);
  memcpy(w->step, w->y, (size_t)k * sizeof(double));
  for (int a = 0; a < m; a++) kn_axpy(k, w->step, -w->r[a], column + (size_t)a * k);
}

static void drop(kn_certificate_work* w, int a) {
  for (int i = a; i + 1 < w->actives; i++) w->active[i] = w->active[i + 1], w->u[i] = w->u[i + 1];
  w->actives--;
}

/* Takes constraint c into the active set, giving up others whose multiplier would turn negative. */
static void take(kn_certificate_work* w, int c) {
  double gained = 0.0;
  for (int round = 0; round < 4 * w->k + 8; round++) {
    normal(w->y, w, c);
    split(w);
    double size = kn_dot(w->k, w->step, w->step), full = INFINITY, part = INFINITY;
    int leaves = -1;
    if (size > 1e-13 * kn_dot(w->k, w->y, w->y) && w->actives < w->k)
      full = (value(w, c, w->x) - bound(w, c)) / size;
    for (int a = 0; a < w->actives; a++)
      if (w->r[a] > 0.0 && w->u[a] / w->r[a] < part) part = w->u[a] / w->r[a], leaves = a;
    double t = fmin(full, part);
    if (!isfinite(t)) return;
    for (int a = 0; a < w->actives; a++) w->u[a] -= t * w->r[a];
    gained += t;
    if (isfinite(full)) kn_axpy(w->k, w->x, -t, w->step);
    if (full <= part) {
      w->u[w->actives] = gained;
      w->active[w->actives++] = c;
      return;
    }
    drop(w, leaves);
  }
}

static void solve_program(kn_certificate_work* w) {
  for (int n = 0; n < 40 * w->k + 40; n++) {
    int c = most_violated(w);
    if (c < 0) return;
    take(w, c);
  }
}

/* Planes of all singular triples above 1; B, sigma2, V are those of w->x. */
static void add_cuts(kn_certificate_work* w) {
  int k = w->k, r = w->rank;
  for (int t = r - 1; t >= 0 && w->sigma2[t] > 1.0 && w->cuts < KN_CERTIFICATE_CUTS; t--) {
    double* g = w->cut + (size_t)w->cuts++ * k;
    double sigma = sqrt(w->sigma2[t]);
    for (int i = 0; i < r; i++) { /* u = B z / σ */
      w->step[i] = 0.0;
      for (int j = 0; j < r; j++) w->step[i] += w->B[(size_t)i * r + j] * w->V[(size_t)j * r + t] / sigma;
    }
    for (int i = 0; i < k; i++) {
      double left = 0.0, right = 0.0;
      for (int j = 0; j < r; j++) {
        left += w->R[(size_t)j * k + i] * w->step[j];
        right += w->Rp[(size_t)i * k + j] * w->V[(size_t)j * r + t];
      }
      g[i] = left * right;
    }
  }
}

void kn_certificate_nearest(double* nearest, kn_certificate_work* w, const double* e) {
  int k = w->k;
  double mean = 0.0, rho;
  memcpy(w->x, e, (size_t)k * sizeof(double));
  w->cuts = w->actives = 0;
  while ((rho = kn_certificate_rho(w, w->x)) > 1.0 + 1e-11 && w->cuts < KN_CERTIFICATE_CUTS) {
    add_cuts(w);
    solve_program(w);
  }
  for (int i = 0; i < k; i++) {
    nearest[i] = fmin(fmax(w->x[i], 0.0), 1.0);
    mean += nearest[i] / k;
  }
  for (int n = 0; n < 4 && (rho = kn_certificate_rho(w, nearest)) > 1.0; n++) {
    double s = mean < 1.0 ? fmax((1.0 - mean) / (sqrt(rho) - mean) - 1e-15 * n, 0.0) : 0.0;
    for (int i = 0; i < k; i++) nearest[i] = mean + s * (nearest[i] - mean);
  }
}
