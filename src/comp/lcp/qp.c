/* Convex quadratic programs  min 1/2 x^T H x + g^T x,  lo <= A x <= hi,  through their dual LCP.

   Stationarity H x + g = A^T y with y_i >= 0 at lo_i, <= 0 at hi_i, free for lo_i = hi_i. For positive
   definite H, x = H^-1 (A^T y - g), and the rows read  w = (A H^-1 A^T) y - A H^-1 g - lo: an LCP in y (a row
   with two bounds appears twice, an equality is a free row). For semidefinite H the proximal point method
   solves a few definite ones, H + eps I, g - eps x_k (Rockafellar 1976; finite for quadratic programs). No
   point satisfies the rows iff the dual LCP has none either. Gauss' principle of least constraint
   (comp/lcp/frictionless.c) is H = M, A = J. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/timer.h"
#include "comp/lcp/lcp.h"
#include "math/dense.h"

struct kn_qp_work {
  kn_arena arena;
  int max_n, max_m;
  double *H, *Y;               /* factor; H^-1 A^T as rows of Y: m x n */
  double *M, *q, *lo, *hi, *y; /* dual LCP with 2 max_m rows */
  int* row;                    /* row of A behind each dual row, -1 - row for its upper bound */
  double *x0, *t;
  kn_lcp_work* lcp;
};

static void take_all(kn_qp_work* w, kn_arena* arena, int n, int m) {
  size_t rows = 2 * (size_t)m, cols = (size_t)n;
  w->H = KN_TAKE(arena, double, (cols + 8) * (cols + 8));
  w->Y = KN_TAKE(arena, double, (size_t)m* cols);
  w->M = KN_TAKE(arena, double, rows* rows);
  KN_TAKE_EACH(arena, double, rows, &w->q, &w->lo, &w->hi, &w->y);
  w->row = KN_TAKE(arena, int, rows);
  KN_TAKE_EACH(arena, double, cols, &w->x0, &w->t);
}

kn_status kn_qp_work_create(kn_qp_work** work, int max_n, int max_m) {
  KN_REQUIRE(work != NULL);
  *work = NULL;
  KN_REQUIRE(max_n >= 0 && max_m >= 0 && max_n <= 10000 && max_m <= 5000);
  kn_qp_work* w = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "a QP workspace could not be allocated");
  kn_status status;
  KN_ARENA_CARVE(status, &w->arena, take_all(w, a, max_n, max_m));
  if (status == KN_OK) status = kn_lcp_work_create(&w->lcp, 2 * max_m);
  if (status != KN_OK) {
    kn_qp_work_destroy(w);
    return status;
  }
  w->max_n = max_n;
  w->max_m = max_m;
  *work = w;
  return KN_OK;
}

void kn_qp_work_destroy(kn_qp_work* work) {
  if (!work) return;
  kn_lcp_work_destroy(work->lcp);
  kn_arena_destroy(&work->arena);
  free(work);
}

static kn_status check(const kn_qp* qp) {
  KN_REQUIRE(qp != NULL && qp->n >= 0 && qp->m >= 0);
  KN_REQUIRE(qp->n == 0 || (qp->H != NULL && qp->g != NULL));
  KN_REQUIRE(qp->m == 0 || (qp->A != NULL && (qp->lo != NULL || qp->hi != NULL)));
  size_t n = (size_t)qp->n;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(qp->g[i])) return kn_fail(KN_NOT_FINITE, "g[%zu] is %g", i, qp->g[i]);
    for (size_t j = 0; j < n; j++) {
      double a = qp->H[i * n + j], b = qp->H[j * n + i];
      if (!isfinite(a)) return kn_fail(KN_NOT_FINITE, "H[%zu][%zu] is %g", i, j, a);
      if (fabs(a - b) > 1e-9 * (fabs(a) + fabs(b)))
        return kn_fail(KN_BAD_ARGUMENT, "H is not symmetric: H[%zu][%zu] = %g, H[%zu][%zu] = %g", i, j, a, j,
                       i, b);
    }
  }
  for (int i = 0; i < qp->m; i++) {
    double lo = qp->lo ? qp->lo[i] : -INFINITY, hi = qp->hi ? qp->hi[i] : INFINITY;
    if (isnan(lo) || isnan(hi) || lo == INFINITY || hi == -INFINITY)
      return kn_fail(KN_NOT_FINITE, "bounds of row %d: [%g, %g]", i, lo, hi);
    if (lo > hi) return kn_fail(KN_INFEASIBLE, "bounds of row %d: [%g, %g] is empty", i, lo, hi);
    for (size_t j = 0; j < n; j++)
      if (!isfinite(qp->A[(size_t)i * n + j]))
        return kn_fail(KN_NOT_FINITE, "A[%d][%zu] is %g", i, j, qp->A[(size_t)i * n + j]);
  }
  return KN_OK;
}

/* Natural maps of stationarity and rows, relative to the sizes of what is compared. */
double kn_qp_residual(const kn_qp* qp, const double* x, const double* y) {
  if (!qp || (qp->n && !x) || (qp->m && !y)) return INFINITY;
  int n = qp->n;
  double worst = 0.0, size_x = 0.0, size_y = 0.0;
  for (int i = 0; i < n; i++) size_x = fmax(size_x, fabs(x[i]));
  for (int i = 0; i < qp->m; i++) size_y = fmax(size_y, fabs(y[i]));
  for (int j = 0; j < n; j++) {
    double s = qp->g[j], size = fabs(s);
    for (int i = 0; i < n; i++) s += qp->H[j * n + i] * x[i], size += fabs(qp->H[j * n + i] * x[i]);
    for (int i = 0; i < qp->m; i++) s -= qp->A[i * n + j] * y[i], size += fabs(qp->A[i * n + j] * y[i]);
    worst = fmax(worst, fabs(s) / (1.0 + size));
    if (!(fabs(s) < INFINITY)) return INFINITY;
  }
  for (int i = 0; i < qp->m; i++) {
    double s = 0.0, size = 0.0, lo = qp->lo ? qp->lo[i] : -INFINITY, hi = qp->hi ? qp->hi[i] : INFINITY;
    for (int j = 0; j < n; j++) s += qp->A[i * n + j] * x[j], size += fabs(qp->A[i * n + j] * x[j]);
    double p = s - y[i], m = p < lo ? lo : p > hi ? hi : p;
    worst = fmax(worst, fabs(s - m) / (1.0 + size + size_y));
    if (!(fabs(s) < INFINITY)) return INFINITY;
  }
  return size_x < INFINITY && size_y < INFINITY ? worst : INFINITY;
}

/* U^T U = H + eps I; false when that is not definite. */
static bool factor(kn_qp_work* w, const kn_qp* qp, double eps) {
  int n = qp->n, ld = kn_pad8(n);
  for (int i = 0; i < n; i++) {
    memcpy(w->H + (size_t)i * (size_t)ld, qp->H + (size_t)i * (size_t)n, (size_t)n * sizeof(double));
    w->H[(size_t)i * (size_t)ld + (size_t)i] += eps;
  }
  return kn_cholesky_factor(n, w->H, ld, 1e-14) == n;
}

static void add_dual_row(kn_qp_work* w, int* count, int row, double lo, double hi) {
  w->row[*count] = row;
  w->lo[*count] = lo;
  w->hi[*count] = hi;
  ++*count;
}

/* The dual LCP for the present factor and g - eps x0. Returns its rows. */
static int dual(kn_qp_work* w, const kn_qp* qp, double eps) {
  int n = qp->n, ld = kn_pad8(n), count = 0;
  for (int i = 0; i < qp->m; i++) {
    kn_cholesky_solve(n, w->Y + (size_t)i * (size_t)n, w->H, ld, qp->A + (size_t)i * (size_t)n);
    double lo = qp->lo ? qp->lo[i] : -INFINITY, hi = qp->hi ? qp->hi[i] : INFINITY;
    if (lo == hi)
      add_dual_row(w, &count, i, -INFINITY, INFINITY);
    else {
      if (lo > -INFINITY) add_dual_row(w, &count, i, 0.0, INFINITY);
      if (hi < INFINITY) add_dual_row(w, &count, -1 - i, 0.0, INFINITY);
    }
  }
  for (int j = 0; j < n; j++) w->t[j] = qp->g[j] - eps * w->x0[j];
  for (int a = 0; a < count; a++) {
    int ra = w->row[a] >= 0 ? w->row[a] : -1 - w->row[a];
    double sa = w->row[a] >= 0 ? 1.0 : -1.0, bound = w->row[a] < 0 ? qp->hi[ra]
                                                     : qp->lo      ? qp->lo[ra]
                                                                   : qp->hi[ra];
    w->q[a] = -sa * (kn_dot(n, w->Y + (size_t)ra * (size_t)n, w->t) + bound);
    for (int b = 0; b < count; b++) {
      int rb = w->row[b] >= 0 ? w->row[b] : -1 - w->row[b];
      double sb = w->row[b] >= 0 ? 1.0 : -1.0;
      w->M[(size_t)a * (size_t)count + (size_t)b] =
          sa * sb * kn_dot(n, qp->A + (size_t)ra * (size_t)n, w->Y + (size_t)rb * (size_t)n);
    }
  }
  return count;
}

/* y and x from the dual solution. */
static void recover(double* x, double* y, kn_qp_work* w, const kn_qp* qp, int count) {
  int n = qp->n;
  for (int i = 0; i < qp->m; i++) y[i] = 0.0;
  for (int a = 0; a < count; a++) {
    if (w->row[a] >= 0)
      y[w->row[a]] += w->y[a];
    else
      y[-1 - w->row[a]] -= w->y[a];
  }
  for (int j = 0; j < n; j++) w->t[j] = -w->t[j];
  for (int i = 0; i < qp->m; i++) kn_axpy(n, w->t, y[i], qp->A + (size_t)i * (size_t)n);
  kn_cholesky_solve(n, x, w->H, kn_pad8(n), w->t);
}

/* One program with H + eps I around x0, which moves to its answer. */
static kn_status round_of(double* x, double* y, kn_solve_info* info, const kn_qp* qp,
                          const kn_lcp_settings* settings, kn_qp_work* w, double eps, bool warm) {
  int count = dual(w, qp, eps);
  kn_lcp lcp = {count, w->M, w->q, w->lo, w->hi};
  kn_lcp_settings inner = *settings;
  kn_solve_info found;
  inner.warm = warm;
  inner.max_iterations = 0;
  kn_status status = kn_lcp_solve(w->y, &found, &lcp, &inner, w->lcp);
  info->iterations += found.iterations;
  if (status == KN_NO_SOLUTION) return kn_fail(KN_INFEASIBLE, "no point satisfies all rows");
  if (status != KN_OK && status != KN_NOT_CONVERGED) return status;
  recover(x, y, w, qp, count);
  info->residual = info->residual_scaled = kn_qp_residual(qp, x, y);
  for (int i = 0; i < qp->n; i++) w->x0[i] = x[i]; /* x may be NULL for n = 0 */
  return info->residual <= settings->tol ? KN_OK : KN_NOT_CONVERGED;
}

/* The program as it is, if H has a factor: of a nearly singular one that may be rounding, so that only a good
   answer counts. Then proximal rounds; eps falls while they lead on, because small curvatures take 1/eps. */
static kn_status iterate(double* x, double* y, kn_solve_info* info, const kn_qp* qp,
                         const kn_lcp_settings* settings, kn_qp_work* w) {
  enum { PATIENCE = 4 };
  double size = 0.0;
  for (int i = 0; i < qp->n; i++) size = fmax(size, fabs(qp->H[(size_t)i * (size_t)qp->n + (size_t)i]));
  memset(w->x0, 0, (size_t)qp->n * sizeof(double));
  if (factor(w, qp, 0.0) && round_of(x, y, info, qp, settings, w, 0.0, false) == KN_OK) return KN_OK;
  memset(w->x0, 0, (size_t)qp->n * sizeof(double));
  double eps = 1e-3 * (size > 0.0 ? size : 1.0), least = 1e-6 * eps;
  if (!factor(w, qp, eps)) return kn_fail(KN_BAD_ARGUMENT, "H is not positive semidefinite");
  for (int k = 0, rounds = settings->max_iterations ? settings->max_iterations : 200; k < rounds; k++) {
    kn_status status = round_of(x, y, info, qp, settings, w, eps, k > 0);
    if (status != KN_NOT_CONVERGED) return status;
    if (k % PATIENCE < PATIENCE - 1 || eps <= least) continue;
    eps *= 0.1;
    if (!factor(w, qp, eps)) return kn_fail(KN_BAD_ARGUMENT, "H is not positive semidefinite");
  }
  return kn_fail(KN_NOT_CONVERGED, "qp: residual %.3g, asked %.3g", info->residual, settings->tol);
}

kn_status kn_qp_solve(double* x, double* y, kn_solve_info* info, const kn_qp* qp,
                      const kn_lcp_settings* settings, kn_qp_work* work) {
  kn_lcp_settings defaults = kn_lcp_settings_default();
  kn_solve_info unused;
  kn_qp_work* own = NULL;
  if (!settings) settings = &defaults;
  if (!info) info = &unused;
  *info = (kn_solve_info){.solver = "qp", .residual = INFINITY, .residual_scaled = INFINITY};
  KN_TRY(info->status = check(qp));
  KN_REQUIRE((qp->n == 0 || x != NULL) && (qp->m == 0 || y != NULL));
  if (work && (qp->n > work->max_n || qp->m > work->max_m))
    return info->status = kn_fail(KN_NO_ROOM, "n = %d, m = %d, workspace made for %d, %d", qp->n, qp->m,
                                  work->max_n, work->max_m);
  if (!work) KN_TRY(info->status = kn_qp_work_create(&own, qp->n, qp->m));
  info->time = -kn_wall_seconds();
  info->status = iterate(x, y, info, qp, settings, work ? work : own);
  info->time += kn_wall_seconds();
  kn_qp_work_destroy(own);
  return info->status;
}
