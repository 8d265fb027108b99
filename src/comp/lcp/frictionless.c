/* Frictionless contact of bodies at rest three ways (D. Baraff, Three formulations of the initial motion direction of
   contacting frictionless rigid bodies). Mass matrix M, forces Q, contact rows J:

     force     0 <= λ ⊥ J M⁻¹ (Jᵀ λ + Q) >= 0,  a = M⁻¹ (Jᵀ λ + Q)      (Eqs. 16, 20) by pivoting: the LCP driver
     gauss     min ½ aᵀ M a - aᵀ Q   s.t.  J a >= 0                      (Eq. 39) by a primal-dual interior point
     descent   min -Qᵀ d   s.t.  J d >= 0,  dᵀ M d <= 1                  (Eq. 52) by a barrier on d alone; a = (Qᵀ d) d

   The first two are each other's duals, so that the gap

     P(a) - D(λ) = ½ |a|²_M - aᵀQ + ½ |Jᵀλ + Q|²_{M⁻¹}  =  ½ |a - M⁻¹ (Jᵀλ + Q)|²_M + λᵀ J a  >= 0

   of any a with J a >= 0 and λ >= 0 vanishes only at the answer of both: a certificate that needs no solver. The norm
   must be M's: the Euclidean one gives a direction that depends on the units. With the paper's equality |d|_M = 1 the
   steepest ascent satisfies the conditions as well: hence <= 1. */
#include "comp/lcp/lcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "math/dense.h"

/* y = U⁻ᵀ b */
static void forward(const kn_white* w, double* y, const double* b) {
  for (int i = 0; i < w->n; i++) {
    y[i] = b[i];
    for (int k = 0; k < i; k++) y[i] -= w->U[(size_t)k * w->n + i] * y[k];
    y[i] /= w->U[(size_t)i * w->n + i];
  }
}

/* y = U⁻¹ b */
static void backward(const kn_white* w, double* y, const double* b) {
  for (int i = w->n - 1; i >= 0; i--) {
    y[i] = b[i];
    for (int k = i + 1; k < w->n; k++) y[i] -= w->U[(size_t)i * w->n + k] * y[k];
    y[i] /= w->U[(size_t)i * w->n + i];
  }
}

static kn_status check(const kn_frictionless* p) {
  KN_REQUIRE(p != NULL && p->n >= 1 && p->m >= 0 && p->M && p->Q && (p->m == 0 || p->J));
  size_t n = (size_t)p->n, m = (size_t)p->m;
  for (size_t i = 0; i < n * n; i++)
    if (!isfinite(p->M[i])) return kn_fail(KN_NOT_FINITE, "M[%zu][%zu] is %g", i / n, i % n, p->M[i]);
  for (size_t i = 0; i < n; i++)
    if (!isfinite(p->Q[i])) return kn_fail(KN_NOT_FINITE, "Q[%zu] is %g", i, p->Q[i]);
  for (size_t i = 0; i < m * n; i++)
    if (!isfinite(p->J[i])) return kn_fail(KN_NOT_FINITE, "J[%zu][%zu] is %g", i / n, i % n, p->J[i]);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) {
      double a = p->M[i * n + k], b = p->M[k * n + i];
      if (fabs(a - b) > 1e-9 * (fabs(a) + fabs(b)))
        return kn_fail(KN_BAD_ARGUMENT, "M is not symmetric: M[%zu][%zu] = %g, M[%zu][%zu] = %g", i, k, a, k,
                       i, b);
    }
  for (size_t i = 0; i < m; i++) {
    double size = 0.0;
    for (size_t k = 0; k < n; k++) size = fmax(size, fabs(p->J[i * n + k]));
    if (!(size > 0.0)) return kn_fail(KN_BAD_ARGUMENT, "J[%zu] is zero: a contact that moves nothing", i);
  }
  return KN_OK;
}

static kn_status whiten(kn_white* w, const kn_frictionless* p) {
  size_t n = (size_t)p->n, m = (size_t)p->m;
  KN_TRY(check(p));
  *w = (kn_white){.n = p->n, .m = p->m};
  w->U = calloc(2 * n * n + m * n + 9 * n + 6 * m, sizeof(double));
  if (!w->U)
    return kn_fail(KN_OUT_OF_MEMORY, "%d coordinates and %d contacts do not fit into memory", p->n, p->m);
  w->H = w->U + n * n;
  w->G = w->H + n * n;
  w->c = w->G + m * n;
  w->t = w->c + n;
  memcpy(w->U, p->M, n * n * sizeof(double));
  if (kn_cholesky_factor(p->n, w->U, p->n, 0.0) != p->n)
    return kn_fail(KN_BAD_ARGUMENT, "the mass matrix is not positive definite");
  for (size_t i = 0; i < m; i++) forward(w, w->G + i * n, p->J + i * n);
  forward(w, w->c, p->Q);
  return KN_OK;
}

/* 0 <= λ ⊥ G Gᵀ λ + G c >= 0, x = c + Gᵀ λ */
static kn_status forces(double* x, double* lambda, kn_white* w, int* iterations) {
  int n = w->n, m = w->m;
  size_t rows = (size_t)m;
  memcpy(x, w->c, (size_t)n * sizeof(double));
  if (m == 0) return KN_OK;
  double* A = malloc((rows * rows + rows) * sizeof(double));
  if (!A) return kn_fail(KN_OUT_OF_MEMORY, "an LCP of %d contacts does not fit into memory", m);
  double* q = A + rows * rows;
  for (int i = 0; i < m; i++) {
    q[i] = kn_dot(n, w->G + (size_t)i * n, w->c);
    for (int j = 0; j <= i; j++)
      A[i * rows + (size_t)j] = A[(size_t)j * rows + (size_t)i] =
          kn_dot(n, w->G + (size_t)i * n, w->G + (size_t)j * n);
  }
  kn_lcp lcp = {.n = m, .M = A, .q = q};
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_solve_info info;
  settings.tol = 1e-13;
  kn_status status = kn_lcp_solve(lambda, &info, &lcp, &settings, NULL);
  *iterations = info.iterations;
  if (status == KN_NOT_CONVERGED && info.residual_scaled <= 1e-10) status = KN_OK; /* what the gap judges */
  for (int i = 0; i < m; i++) kn_axpy(n, x, lambda[i], w->G + (size_t)i * n);
  free(A);
  return status;
}

/* Gap and feasibility by the definition, with the original M, J and Q as far as they go. */
static void certify(kn_frictionless_info* info, const kn_frictionless* p, kn_white* w, const double* a,
                    const double* lambda) {
  int n = p->n;
  double primal = 0.0, *x = w->t, scale = fmax(kn_dot(n, w->c, w->c), 1e-300), norm2 = 0.0;
  for (int i = 0; i < n; i++) {
    double Ma = kn_dot(n, p->M + (size_t)i * n, a);
    primal += a[i] * (0.5 * Ma - p->Q[i]);
    norm2 += a[i] * Ma;
  }
  memcpy(x, w->c, (size_t)n * sizeof(double));
  for (int k = 0; k < p->m; k++) kn_axpy(n, x, fmax(lambda[k], 0.0), w->G + (size_t)k * n);
  info->gap = (primal + 0.5 * kn_dot(n, x, x)) / scale;
  info->norm = sqrt(fmax(norm2, 0.0));
  info->overlap = 0.0;
  for (int k = 0; k < p->m; k++) {
    const double* g = w->G + (size_t)k * n;
    double rate = kn_dot(n, p->J + (size_t)k * n, a) / sqrt(kn_dot(n, g, g) * scale);
    info->overlap = fmax(info->overlap, -rate);
  }
}

kn_status kn_frictionless_certify(kn_frictionless_info* info, const kn_frictionless* problem, const double* a,
                                  const double* lambda) {
  KN_REQUIRE(info != NULL && a != NULL && problem != NULL && (problem->m == 0 || lambda != NULL));
  kn_white w = {0};
  kn_status status = whiten(&w, problem);
  *info = (kn_frictionless_info){.method = "", .gap = INFINITY, .overlap = INFINITY};
  if (status == KN_OK) certify(info, problem, &w, a, lambda);
  free(w.U);
  return status;
}

static const kn_frictionless_method methods[] = {
    {"force", "contact forces: an LCP by pivoting (Eqs. 16, 20)"},
    {"gauss", "Gauss' least constraint: a quadratic program for the accelerations, interior point (Eq. 39)"},
    {"descent", "steepest descent of the potential in the M-norm, barrier (Eq. 52)"},
    {NULL, NULL}};

const kn_frictionless_method* kn_frictionless_methods(void) { return methods; }

static int find(const char* name) {
  for (int i = 0; methods[i].name; i++)
    if (strcmp(methods[i].name, name) == 0) return i;
  return -1;
}

static kn_status by(int method, double* x, double* lambda, kn_white* w, kn_frictionless_info* info) {
  if (method == 0) return forces(x, lambda, w, &info->iterations);
  if (method == 1) {
    info->iterations = kn_gauss_interior(x, lambda, w);
    return KN_OK;
  }
  info->iterations = kn_descent_barrier(x, lambda, w);
  if (info->iterations > 0) return KN_OK;
  return kn_fail(KN_UNSUPPORTED, "no direction leads down, or the contacts leave no open set of directions: "
                                 "the steepest descent is not defined (the others are)");
}

kn_status kn_frictionless_solve(double* a, double* lambda, kn_frictionless_info* info,
                                const kn_frictionless* problem, const char* method) {
  KN_REQUIRE(a != NULL && info != NULL && problem != NULL && method != NULL);
  KN_REQUIRE(problem->m == 0 || lambda != NULL);
  int way = find(method);
  if (way < 0)
    return kn_fail(KN_NOT_FOUND, "no method \"%s\" for frictionless contact: force, gauss, descent", method);
  kn_white w = {0};
  *info = (kn_frictionless_info){.method = methods[way].name, .gap = INFINITY, .overlap = INFINITY};
  kn_status status = whiten(&w, problem);
  double* x = status == KN_OK ? calloc((size_t)problem->n, sizeof(double)) : NULL;
  if (status == KN_OK && !x)
    status = kn_fail(KN_OUT_OF_MEMORY, "%d coordinates do not fit into memory", problem->n);
  if (status == KN_OK && problem->m) memset(lambda, 0, (size_t)problem->m * sizeof(double));
  if (status == KN_OK) status = by(way, x, lambda, &w, info);
  if (status == KN_OK) {
    backward(&w, a, x);
    certify(info, problem, &w, a, lambda);
  }
  free(x);
  free(w.U);
  return status;
}
