/* The default way to solve an LCP: pick, judge, fall back, and say "no solution" only with a certificate.

     warm guess      one Gauss-Seidel sweep and block pivoting: about one factorisation when the active set
                     hardly moves
     Lemke           cold start; in product form it is also the fastest on every contact problem measured
                     (docs/solvers.md)
     Farkas          a ray of Lemke checked as a proof of infeasibility, or one computed by NNLS
     block pivoting  from zero, then Keller when M is symmetric
     proximal        (M + eps I) z + q - eps z_k by Lemke: nearly singular matrices
     enumeration     up to 16 rows: finds what Lemke's ray hides, or proves that nothing exists */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/lcp/lcp.h"

enum {
  ENUMERATE_ROWS = 16,
  ENUMERATE_NODES = 20000,
  BRIEF_NODES = 2000 /* in a step (kn_lcp_work_brief): half a millisecond */
};

typedef struct driver {
  double* z;
  kn_solve_info* info; /* best so far */
  const kn_lcp* lcp;
  kn_lcp_settings settings;
  kn_lcp_work* work;
} driver;

static bool solved(const driver* d) { return d->info->residual_scaled <= d->settings.tol; }

/* Multiplications of an iteration; Lemke's are taken off where they are made. */
static double price(const kn_lcp_solver* solver, double n) {
  return solver == &kn_lcp_pivot ? n * n * n / 3.0 : n * n;
}

/* Runs one solver on its own copy of z and keeps the better point. */
static bool stage(driver* d, const kn_lcp_solver* solver, bool warm) {
  kn_lcp_settings settings = d->settings;
  kn_solve_info info;
  double* z = d->work->v[KN_LCP_VECTORS - 1];
  memcpy(z, d->z, (size_t)d->lcp->n * sizeof *z);
  settings.warm = warm;
  bool close = d->work->close;
  kn_status status = solver->solve(z, &info, d->lcp, &settings, d->work);
  d->work->close |= close;
  d->info->iterations += info.iterations;
  if (solver != &kn_lcp_lemke) d->work->left -= (double)info.iterations * price(solver, d->lcp->n);
  if (info.residual_scaled < d->info->residual_scaled) {
    memcpy(d->z, z, (size_t)d->lcp->n * sizeof *z);
    d->info->residual = info.residual;
    d->info->residual_scaled = info.residual_scaled;
    d->info->solver = info.solver;
  }
  if (status == KN_NO_SOLUTION) d->info->status = KN_NO_SOLUTION;
  return solved(d) || status == KN_NO_SOLUTION;
}

static bool is_symmetric(const kn_lcp* lcp) {
  size_t n = (size_t)lcp->n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      double a = lcp->M[i * n + j], b = lcp->M[j * n + i];
      if (fabs(a - b) > 1e-12 * (fabs(a) + fabs(b))) return false;
    }
  return true;
}

/* y >= 0 with M^T y + t = 0, t >= 0, q^T y = -1: NNLS on the scaled data; standard problems only. */
static bool farkas_by_nnls(driver* d) {
  const kn_lcp* lcp = d->lcp;
  kn_lcp_work* w = d->work;
  int n = lcp->n, m = n + 1, wide = 2 * n;
  if (lcp->lo || lcp->hi || n > KN_LCP_FARKAS) return false;
  kn_lcp_scale(&w->scaled, lcp);
  double *A = w->farkas, *b = A + (size_t)m * (size_t)wide, *x = b + m, *r = x + wide, *scratch = r + m;
  memset(A, 0, (size_t)m * (size_t)wide * sizeof *A);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++)
      A[(size_t)j * (size_t)wide + (size_t)i] = w->scaled.M[(size_t)j * (size_t)w->scaled.ld + (size_t)i];
    A[(size_t)j * (size_t)wide + (size_t)(n + j)] = 1.0;
    A[(size_t)n * (size_t)wide + (size_t)j] = w->scaled.q[j];
    b[j] = 0.0;
  }
  b[n] = -1.0;
  double left = kn_nnls(x, r, m, wide, A, b, scratch, w->iv2);
  if (left < 0.0 || left > 1e-9) return false;
  for (int i = 0; i < n; i++) w->certificate[i] = x[i] * w->scaled.s[i];
  if (!kn_lcp_is_farkas(lcp, w->certificate, &w->close)) return false;
  w->certificate_kind = KN_CERTIFICATE_FARKAS;
  d->info->status = KN_NO_SOLUTION;
  d->info->solver = "farkas";
  return true;
}

/* (M + eps D) z + (q - eps D z_k), D = |diag M|: solutions of the original are fixed points. */
static bool proximal(driver* d) {
  kn_lcp_work* w = d->work;
  int n = d->lcp->n;
  bool close = w->close;
  size_t size = (size_t)n * (size_t)n;
  double *M = w->C, *q = w->v[KN_LCP_VECTORS - 2], *zk = w->v[KN_LCP_VECTORS - 3];
  double eps = 1e-4, most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(d->lcp->M[(size_t)i * (size_t)n + (size_t)i]));
  if (most == 0.0) most = 1.0;
  memcpy(zk, d->z, (size_t)n * sizeof *zk);
  for (int round = 0; round < 12 && w->left > 0.0; round++) {
    memcpy(M, d->lcp->M, size * sizeof *M);
    for (int i = 0; i < n; i++) {
      double* diagonal = M + (size_t)i * (size_t)n + (size_t)i;
      double e = eps * (fabs(*diagonal) > 1e-12 * most ? fabs(*diagonal) : most);
      *diagonal += e;
      q[i] = d->lcp->q[i] - e * zk[i];
    }
    kn_lcp shifted = *d->lcp;
    shifted.M = M;
    shifted.q = q;
    kn_solve_info info;
    kn_lcp_settings settings = d->settings;
    settings.warm = false;
    kn_status status = kn_lcp_lemke.solve(zk, &info, &shifted, &settings, w);
    d->info->iterations += info.iterations;
    w->certificate_kind = KN_CERTIFICATE_NONE;
    w->close = close; /* of the problem itself */
    if (status != KN_OK) {
      eps *= 10.0;
      memcpy(zk, d->z, (size_t)n * sizeof *zk);
      continue;
    }
    if (kn_lcp_offer(d->z, d->info, d->lcp, zk)) d->info->solver = "proximal";
    if (solved(d)) return true;
    eps *= 0.1;
  }
  return false;
}

static bool enumerate(driver* d) {
  kn_lcp_enumeration found;
  double* one = d->work->v[KN_LCP_VECTORS - 1];
  if (kn_lcp_rows(d->lcp) > ENUMERATE_ROWS) return false;
  long nodes = d->work->patience ? BRIEF_NODES : ENUMERATE_NODES;
  kn_status status = kn_lcp_enumerate_within(nodes, one, 1, &found, d->lcp, &d->settings, d->work);
  if (status == KN_NO_SOLUTION) {
    d->info->status = KN_NO_SOLUTION;
    d->info->solver = "enumerate";
    return true;
  }
  if (status == KN_OK && found.count > 0 && kn_lcp_offer(d->z, d->info, d->lcp, one))
    d->info->solver = "enumerate";
  return solved(d);
}

/* z = 0 solves what has no offset beyond rounding, also where the last bits have no solution. */
static bool nothing(driver* d) {
  double* z = d->work->v[KN_LCP_VECTORS - 1];
  for (int i = 0; i < d->lcp->n; i++) z[i] = kn_lcp_clamp(d->lcp, i, 0.0);
  if (kn_lcp_offer(d->z, d->info, d->lcp, z)) d->info->solver = "zero";
  return solved(d);
}

static void run(driver* d, bool warm) {
  if (warm && stage(d, &kn_lcp_pivot, true)) return;
  if (stage(d, &kn_lcp_lemke, false)) return;
  if (nothing(d) || !(d->work->left > 0.0)) return;
  if (farkas_by_nnls(d)) return;
  if (stage(d, &kn_lcp_pivot, false) || !(d->work->left > 0.0)) return;
  if (is_symmetric(d->lcp) && stage(d, &kn_lcp_keller, false)) return;
  if (enumerate(d)) return;
  proximal(d);
}

static kn_status solve_driver(double* z, kn_solve_info* info, const kn_lcp* lcp,
                              const kn_lcp_settings* settings, kn_lcp_work* work) {
  bool close = false;
  if (info && settings && !settings->warm) { /* the ordinary case: nothing but Lemke */
    kn_status direct = kn_lcp_lemke.solve(z, info, lcp, settings, work);
    if (direct != KN_NOT_CONVERGED) return direct;
    close = work->close;
  }
  KN_TRY(kn_lcp_begin(&kn_lcp_auto, z, info, lcp, settings, work));
  work->close = close;
  driver d = {z, info, lcp, *settings, work};
  run(&d, settings->warm);
  if (info->status == KN_NO_SOLUTION)
    kn_fail(KN_NO_SOLUTION, "shown to have no solution by %s", info->solver);
  return kn_lcp_finish(z, info, lcp, settings);
}

kn_status kn_lcp_solve(double* z, kn_solve_info* info, const kn_lcp* lcp, const kn_lcp_settings* settings,
                       kn_lcp_work* work) {
  kn_lcp_settings defaults = kn_lcp_settings_default();
  kn_solve_info unused;
  kn_lcp_work* own = NULL;
  if (!settings) settings = &defaults;
  if (!info) info = &unused;
  *info = (kn_solve_info){
      .status = KN_BAD_ARGUMENT, .solver = "driver", .residual = INFINITY, .residual_scaled = INFINITY};
  if (!work) {
    KN_TRY(info->status = kn_lcp_check(lcp));
    KN_TRY(info->status = kn_lcp_work_create(&own, kn_lcp_rows(lcp)));
  }
  kn_status status = solve_driver(z, info, lcp, settings, work ? work : own);
  kn_lcp_work_destroy(own);
  return status;
}

const kn_lcp_solver kn_lcp_auto = {
    .name = "driver",
    .doc = "the default: warm block pivoting, Lemke, certificates, fallbacks; every answer judged on the "
           "original data",
    .citation = "docs/solvers.md",
    .settings = "tol max_iterations warm seed",
    .kinds = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX,
    .solve = solve_driver,
};
