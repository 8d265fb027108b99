/* Lemke's method (Lemke 1965; Cottle, Pang, Stone 1992, Algorithm 4.4.5) in revised form.

   w - M z - d z0 = q with basis columns B and values x = B^-1 q. A pivot on row r of the entering column
   y = B^-1 a replaces B^-1 by E B^-1, E v: t = v_r / y_r, v <- v - t y, v_r = t. The y's are kept (product
   form), and a column is brought up to date only when it enters: K pivots cost about K^2 n / 2 instead of K
   n^2 of a tableau, with bit for bit the numbers the tableau would hold. A variable that left the basis at
   pivot k was a unit column then, so its column starts at eta k.

   Ties of the ratio test (1e-11) go to z0 first, then to the largest pivot; a pivot must exceed 1e-11 of its
   column. The first point is refined with the etas themselves and judged; if it is not good enough, the basis
   is factored anew and refined; then the lexicographic rule is tried, then random covering vectors with fresh
   factors every 30 pivots. The exit of the pivoting is never believed: only the judge decides
   (docs/solvers.md, "Lemke's traps"). */
#include "comp/lcp/lemke.h"

#include <string.h>

#include "base/rng.h"
#include "comp/lcp/lcp.h"
#include "math/dense.h"

void kn_lemke_take(kn_lemke* l, kn_arena* arena, int max_n) {
  size_t ld = (size_t)kn_pad8(max_n), vars = 2 * (size_t)max_n + 1;
  l->capacity = max_n + 32;
  l->d = KN_TAKE(arena, double, ld);
  l->basic = KN_TAKE(arena, int, ld);
  KN_TAKE_EACH(arena, int, vars, &l->left_row, &l->left_eta);
  KN_TAKE_EACH(arena, double, ld, &l->x, &l->y, &l->ratio, &l->v);
  l->eta = KN_TAKE(arena, double, ld*(size_t)l->capacity);
  l->ipivot = KN_TAKE(arena, double, l->capacity);
  l->erow = KN_TAKE(arena, int, l->capacity);
}

kn_lemke_end kn_lemke_run(kn_lemke* l) { return KN_BEST(kn_lemke_run)(l); }

void kn_lemke_ftran(kn_lemke* l, double* v) { KN_BEST(kn_lemke_ftran)(l, v); }

/* z of the present basis. */
static void basic_z(double* z, const kn_lemke* l) {
  memset(z, 0, (size_t)l->ld * sizeof *z);
  for (int r = 0; r < l->n; r++)
    if (l->basic[r] >= l->n && l->basic[r] < 2 * l->n) z[l->basic[r] - l->n] = l->x[r];
}

/* x += B^-1 (q - B x), z0 taken as zero: it has left the basis. */
static void refine_by_etas(kn_lemke* l, double* r) {
  int n = l->n, ld = l->ld;
  memcpy(r, l->q, (size_t)ld * sizeof *r);
  for (int k = 0; k < n; k++) {
    int b = l->basic[k];
    if (b < n)
      r[b] -= l->x[k];
    else if (b < 2 * n && l->x[k] != 0.0)
      kn_axpy(ld, r, l->x[k], l->M + (size_t)(b - n) * (size_t)ld);
  }
  kn_lemke_ftran(l, r);
  for (int k = 0; k < n; k++) l->x[k] += r[k];
}

/* Fresh LU of the support with refinement in twice the precision: M_SS z_S = -q_S. */
static bool polish_support(double* z, const kn_lemke* l, kn_lcp_work* work) {
  int n = l->n, ld = l->ld, m = 0, *support = work->iv[0], *perm = work->iv[1];
  for (int r = 0; r < n; r++)
    if (l->basic[r] >= n && l->basic[r] < 2 * n) support[m++] = l->basic[r] - n;
  if (m == 0) return false;
  double *A = work->A, *F = work->B, *b = work->v[2], *x = work->v[3], *scratch = work->v[4];
  int lda = kn_pad8(m);
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++)
      A[(size_t)i * (size_t)lda + (size_t)j] = l->M[(size_t)support[j] * (size_t)ld + (size_t)support[i]];
    b[i] = -l->q[support[i]];
  }
  memcpy(F, A, (size_t)m * (size_t)lda * sizeof *F);
  if (kn_lu_factor(m, F, lda, perm) < m) return false;
  kn_lu_solve(m, x, F, lda, perm, b);
  for (int k = 0; k < 2; k++) kn_lu_refine(m, x, A, lda, F, lda, perm, b, scratch);
  memset(z, 0, (size_t)ld * sizeof *z);
  for (int i = 0; i < m; i++) z[support[i]] = x[i];
  return true;
}

typedef struct lemke_call {
  double* z;
  kn_solve_info* info;
  const kn_lcp* lcp;
  const kn_lcp_settings* settings;
  kn_lcp_work* work;
  bool standard; /* lcp itself is standard: no conversion */
} lemke_call;

/* Unscales, converts back, clamps and judges. True when accepted. */
static bool offer(const lemke_call* c, double* zs) {
  kn_lcp_work* w = c->work;
  double *x = w->v[0], *z = w->v[1];
  const kn_lemke* l = w->lemke;
  for (int i = 0; i < l->n; i++)
    if (zs[i] < 0.0 && !(l->free_row && l->free_row[i])) zs[i] = 0.0;
  kn_lcp_unscale(x, &w->scaled, zs);
  if (!c->standard) kn_lcp_from_standard(z, &w->standard, c->lcp, x);
  kn_lcp_offer(c->z, c->info, c->lcp, c->standard ? x : z);
  return c->info->residual_scaled <= c->settings->tol;
}

/* A secondary ray (z^h, w^h) of a copositive-plus M is a Farkas vector: M^T z^h = -w^h <= 0, q^T z^h < 0
   (Cottle, Pang, Stone, Theorem 4.4.12). Checked on the original data, so the class of M need not be known.
 */
static bool ray_proves_none(const lemke_call* c) {
  kn_lcp_work* w = c->work;
  kn_lemke* l = w->lemke;
  double* ray = w->v[5];
  memset(ray, 0, (size_t)l->ld * sizeof *ray);
  if (l->entering >= l->n && l->entering < 2 * l->n) ray[l->entering - l->n] = 1.0;
  for (int r = 0; r < l->n; r++)
    if (l->basic[r] >= l->n && l->basic[r] < 2 * l->n) ray[l->basic[r] - l->n] = -l->y[r];
  for (int i = 0; i < c->lcp->n; i++)
    w->certificate[i] = ray[i] * w->scaled.s[i] * (c->standard ? 1.0 : w->standard.sign[i]);
  if (!kn_lcp_is_farkas(c->lcp, w->certificate, &w->close)) return false;
  w->certificate_kind = KN_CERTIFICATE_FARKAS;
  c->info->status = KN_NO_SOLUTION;
  return true;
}

static bool attempt(const lemke_call* c) {
  kn_lemke* l = c->work->lemke;
  double* zs = c->work->v[5];
  double price = (double)l->n * l->n;
  l->max_pivots = (int)fmin(c->settings->max_iterations ? c->settings->max_iterations : 10 * l->n + 20,
                            1.0 + c->work->left / price);
  kn_lemke_end end = kn_lemke_run(l);
  c->info->iterations += l->pivots;
  c->work->left -= l->pivots * price;
  if (end == KN_LEMKE_BREAKDOWN) return false;
  for (int k = 0; k < 4; k++) {
    if (k > 0) refine_by_etas(l, c->work->v[6]);
    basic_z(zs, l);
    bool good = offer(c, zs);
    if (good && (k > 0 || c->info->residual_scaled <= 1e-3 * c->settings->tol)) return true;
    if (end != KN_LEMKE_SOLVED) {
      if (good) return true;
      break;
    }
  }
  if (end == KN_LEMKE_RAY && ray_proves_none(c)) return true;
  return end == KN_LEMKE_SOLVED && polish_support(zs, l, c->work) && offer(c, zs);
}

static void cover(kn_lemke* l, kn_rng* rng) {
  for (int i = 0; i < l->ld; i++) {
    l->d[i] = i < l->n ? (rng ? kn_rng_range(rng, 0.2, 1.2) : 1.0) : 0.0;
    if (i < l->n && l->free_row && l->free_row[i]) l->d[i] = 0.0;
  }
}

static void prepare(const lemke_call* c, const kn_lcp* standard) {
  kn_lcp_work* w = c->work;
  kn_lemke* l = w->lemke;
  kn_lcp_scale(&w->scaled, standard);
  l->n = w->scaled.n;
  l->ld = w->scaled.ld;
  l->M = w->scaled.M;
  l->q = w->scaled.q;
  l->free_row = !c->standard && w->standard.has_free ? w->standard.free_row : NULL;
}

static bool try_rules(const lemke_call* c) {
  kn_lemke* l = c->work->lemke;
  kn_rng rng = kn_rng_seed(c->settings->seed);
  for (int k = 0; k < 8 && c->work->left > 0.0; k++) {
    l->lexicographic = k == 1;
    l->refactor_every = k > 1 ? 30 : 0;
    cover(l, k > 1 ? &rng : NULL);
    if (attempt(c)) return true;
  }
  return false;
}

static kn_status lemke_solve(double* z, kn_solve_info* info, const kn_lcp* lcp,
                             const kn_lcp_settings* settings, kn_lcp_work* work) {
  kn_status status = kn_lcp_begin(&kn_lcp_lemke, z, info, lcp, settings, work);
  if (status != KN_OK) return status;
  lemke_call c = {z, info, lcp, settings, work, !lcp->lo && !lcp->hi};
  kn_lcp standard = *lcp;
  if (!c.standard) {
    info->status = kn_lcp_standardise(&work->standard, lcp, work->max_n);
    if (info->status != KN_OK) return kn_lcp_finish(z, info, lcp, settings);
    standard = (kn_lcp){work->standard.n, work->standard.M, work->standard.q, NULL, NULL};
  }
  prepare(&c, &standard);
  try_rules(&c);
  return kn_lcp_finish(z, info, lcp, settings);
}

const kn_lcp_solver kn_lcp_lemke = {
    .name = "lemke",
    .doc = "Lemke's pivoting in revised form: scaled, largest pivot, then lexicographic, then random "
           "covering vectors",
    .citation = "C. E. Lemke, Management Science 11 (1965); Cottle, Pang, Stone, The Linear Complementarity "
                "Problem (1992)",
    .settings = "tol max_iterations seed",
    .kinds = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX,
    .solve = lemke_solve,
};
