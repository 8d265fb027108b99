/* Workspace, argument checks and judging shared by the LCP solvers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/timer.h"
#include "comp/lcp/lcp.h"
#include "comp/lcp/lemke.h"

kn_lcp_settings kn_lcp_settings_default(void) {
  return (kn_lcp_settings){.tol = 1e-10, .max_iterations = 0, .warm = false, .relax = 1.0, .seed = 1};
}

static void take_all(kn_lcp_work* w, kn_arena* arena, int max_n) {
  size_t ld = (size_t)kn_pad8(max_n), square = ld * ld;
  size_t k = (size_t)(max_n < KN_LCP_FARKAS ? max_n : KN_LCP_FARKAS);
  w->scaled.M = KN_TAKE(arena, double, square);
  KN_TAKE_EACH(arena, double, ld, &w->scaled.q, &w->scaled.s);
  w->standard.M = KN_TAKE(arena, double, square);
  KN_TAKE_EACH(arena, double, ld, &w->standard.q, &w->standard.shift, &w->standard.sign);
  w->standard.upper = KN_TAKE(arena, int, ld);
  w->standard.free_row = KN_TAKE(arena, unsigned char, ld);
  KN_TAKE_EACH(arena, double, square, &w->A, &w->B, &w->C);
  w->farkas = KN_TAKE(arena, double, 4 * (k + 1) * k + 16 * (k + 1) + 16384);
  w->w2 = KN_TAKE(arena, double, 2 * ld);
  w->iv2 = KN_TAKE(arena, int, 2 * ld);
  for (int i = 0; i < KN_LCP_VECTORS; i++) w->v[i] = KN_TAKE(arena, double, ld);
  for (int i = 0; i < KN_LCP_INDICES; i++) w->iv[i] = KN_TAKE(arena, int, ld);
  w->certificate = KN_TAKE(arena, double, ld);
  kn_lemke_take(w->lemke, arena, max_n);
  kn_enumerate_take(&w->enumerate, arena);
}

kn_status kn_lcp_work_create(kn_lcp_work** work, int max_n) {
  KN_REQUIRE(work != NULL);
  *work = NULL;
  KN_REQUIRE(max_n >= 0 && max_n <= 20000);
  kn_lcp_work* w = calloc(1, sizeof *w + sizeof(kn_lemke));
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "an LCP workspace could not be allocated");
  w->lemke = (kn_lemke*)(w + 1);
  kn_status status;
  KN_ARENA_CARVE(status, &w->arena, take_all(w, a, max_n));
  if (status != KN_OK) {
    free(w);
    return status;
  }
  w->max_n = max_n;
  w->left = INFINITY;
  *work = w;
  return KN_OK;
}

void kn_lcp_work_allow(kn_lcp_work* work, double multiplications) { work->left = multiplications; }

void kn_lcp_work_destroy(kn_lcp_work* work) {
  if (!work) return;
  kn_arena_destroy(&work->arena);
  free(work);
}

static kn_status bad_entry(const kn_lcp* lcp) {
  size_t n = (size_t)lcp->n;
  for (size_t k = 0; k < n * n; k++)
    if (!isfinite(lcp->M[k])) return kn_fail(KN_NOT_FINITE, "M[%zu][%zu] is %g", k / n, k % n, lcp->M[k]);
  for (size_t k = 0; k < n; k++)
    if (!isfinite(lcp->q[k])) return kn_fail(KN_NOT_FINITE, "q[%zu] is %g", k, lcp->q[k]);
  return KN_OK;
}

static kn_status check_bounds(const kn_lcp* lcp) {
  for (int i = 0; i < lcp->n; i++) {
    double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
    if (isnan(lo) || isnan(hi)) return kn_fail(KN_NOT_FINITE, "bound of row %d is not a number", i);
    if (!(lo <= hi) || lo == INFINITY || hi == -INFINITY)
      return kn_fail(KN_BAD_ARGUMENT, "bounds of row %d: [%g, %g] is empty", i, lo, hi);
  }
  return KN_OK;
}

kn_status kn_lcp_check(const kn_lcp* lcp) {
  KN_REQUIRE(lcp != NULL && lcp->n >= 0);
  if (lcp->n == 0) return KN_OK;
  KN_REQUIRE(lcp->M != NULL && lcp->q != NULL);
  size_t n = (size_t)lcp->n;
  if (!kn_all_finite(lcp->M, n * n) || !kn_all_finite(lcp->q, n)) return bad_entry(lcp);
  return lcp->lo || lcp->hi ? check_bounds(lcp) : KN_OK;
}

/* Kinds of rows a problem has: KN_LCP_STANDARD, _FREE, _BOX. */
static unsigned kinds_of(const kn_lcp* lcp) {
  if (!lcp->lo && !lcp->hi) return KN_LCP_STANDARD;
  unsigned kinds = 0;
  for (int i = 0; i < lcp->n; i++) {
    double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
    if (lo == -INFINITY && hi == INFINITY)
      kinds |= KN_LCP_FREE;
    else
      kinds |= lo == 0.0 && hi == INFINITY ? KN_LCP_STANDARD : KN_LCP_BOX;
  }
  return kinds;
}

int kn_lcp_rows(const kn_lcp* lcp) {
  int rows = lcp->n;
  for (int i = 0; lcp->hi && i < lcp->n; i++)
    rows += (lcp->lo ? lcp->lo[i] : 0.0) > -INFINITY && lcp->hi[i] < INFINITY;
  return rows;
}

double kn_lcp_clamp(const kn_lcp* lcp, int i, double z) {
  double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
  return z < lo ? lo : z > hi ? hi : z;
}

static kn_status check_guess(const double* z, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(z[i])) return kn_fail(KN_NOT_FINITE, "guess z[%d] is %g", i, z[i]);
  return KN_OK;
}

static kn_status check_kinds(const kn_lcp_solver* solver, const kn_lcp* lcp) {
  unsigned kinds = kinds_of(lcp), here = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX;
  if (kinds & here & ~solver->kinds)
    return kn_fail(KN_UNSUPPORTED, "%s does not take %s rows", solver->name,
                   kinds & ~solver->kinds & KN_LCP_BOX ? "boxed" : "free");
  return KN_OK;
}

static kn_status check_settings(const kn_lcp_settings* settings) {
  if (!(settings->tol > 0.0)) return kn_fail(KN_BAD_ARGUMENT, "tol is %g, expected > 0", settings->tol);
  if (settings->max_iterations < 0) return kn_fail(KN_BAD_ARGUMENT, "max_iterations is negative");
  if (!(settings->relax > 0.0 && settings->relax < 2.0))
    return kn_fail(KN_BAD_ARGUMENT, "relax is %g, expected 0 < relax < 2", settings->relax);
  return KN_OK;
}

static kn_status begin(const kn_lcp_solver* solver, double* z, const kn_lcp* lcp,
                       const kn_lcp_settings* settings, kn_lcp_work* work) {
  KN_TRY(kn_lcp_check(lcp));
  KN_REQUIRE(work != NULL && settings != NULL);
  if (lcp->n > work->max_n) return kn_fail(KN_NO_ROOM, "n = %d, workspace made for %d", lcp->n, work->max_n);
  KN_REQUIRE(lcp->n == 0 || z != NULL);
  KN_TRY(check_settings(settings));
  KN_TRY(check_kinds(solver, lcp));
  if (settings->warm) KN_TRY(check_guess(z, lcp->n));
  for (int i = 0; i < lcp->n; i++) z[i] = kn_lcp_clamp(lcp, i, settings->warm ? z[i] : 0.0);
  work->certificate_kind = KN_CERTIFICATE_NONE;
  work->close = false;
  return KN_OK;
}

kn_status kn_lcp_begin(const kn_lcp_solver* solver, double* z, kn_solve_info* info, const kn_lcp* lcp,
                       const kn_lcp_settings* settings, kn_lcp_work* work) {
  if (!info) return kn_fail(KN_BAD_ARGUMENT, "info is NULL");
  *info = (kn_solve_info){.solver = solver->name, .residual = INFINITY, .residual_scaled = INFINITY};
  info->time = -kn_wall_seconds();
  info->status = begin(solver, z, lcp, settings, work);
  if (info->status != KN_OK) info->time = 0.0;
  return info->status;
}

/* Scaled residual of a candidate; the best point so far is kept in z. */
bool kn_lcp_offer(double* z, kn_solve_info* info, const kn_lcp* lcp, const double* candidate) {
  double original, scaled;
  kn_lcp_residuals(&original, &scaled, lcp, candidate);
  if (!(scaled < info->residual_scaled)) return false;
  info->residual = original;
  info->residual_scaled = scaled;
  if (z != candidate && lcp->n > 0)
    memcpy(z, candidate, (size_t)lcp->n * sizeof *z); /* n = 0: both may be NULL */
  return true;
}

kn_status kn_lcp_finish(double* z, kn_solve_info* info, const kn_lcp* lcp, const kn_lcp_settings* settings) {
  info->time += kn_wall_seconds();
  if (!(info->residual_scaled <
        INFINITY)) { /* nothing finite was found: the projection of 0 is still a point */
    for (int i = 0; i < lcp->n; i++) z[i] = kn_lcp_clamp(lcp, i, 0.0);
    kn_lcp_residuals(&info->residual, &info->residual_scaled, lcp, z);
  }
  if (info->status != KN_OK) return info->status;
  if (!(info->residual_scaled <= settings->tol))
    info->status = kn_fail(KN_NOT_CONVERGED, "%s: scaled residual %.3g after %d iterations, asked %.3g",
                           info->solver, info->residual_scaled, info->iterations, settings->tol);
  return info->status;
}
