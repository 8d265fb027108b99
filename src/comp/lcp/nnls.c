/* Non-negative least squares (Lawson and Hanson 1974, chapter 23), on a matrix and on a Gram matrix.

   The Gram form solves frictionless contact: min 1/2 z^T M z + q^T z, z >= 0, with M = A^T A (F1 of
   comp/lcp/frictionless.c). Passive set P: z_P = -M_PP^-1 q_P by an updated Cholesky factor; the
   most negative w outside P enters;
   when an entry of the new z_P would be negative, go only as far as the first zero and drop it. */
#include "comp/lcp/lcp.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Householder least squares on the passive columns: s_P = argmin |A_P s - b|. Q: m x count copy,
 * column-major. */
static bool least_squares(double* s, int m, int n, int count, const int* columns, const double* A,
                          const double* b, double* Q, double* y) {
  memcpy(y, b, (size_t)m * sizeof *y);
  for (int k = 0; k < count; k++)
    for (int i = 0; i < m; i++)
      Q[(size_t)k * (size_t)m + (size_t)i] = A[(size_t)i * (size_t)n + (size_t)columns[k]];
  for (int k = 0; k < count; k++) {
    double *c = Q + (size_t)k * (size_t)m, norm = 0.0, all = 0.0;
    for (int i = 0; i < m; i++) all += c[i] * c[i];
    for (int i = k; i < m; i++) norm += c[i] * c[i];
    if (!(norm > 1e-24 * all)) return false; /* depends on the earlier ones */
    double alpha = c[k] > 0 ? -sqrt(norm) : sqrt(norm), v0 = c[k] - alpha, scale = alpha * v0;
    for (int l = k + 1; l <= count; l++) {
      double *o = l < count ? Q + (size_t)l * (size_t)m : y, d = v0 * o[k];
      for (int i = k + 1; i < m; i++) d += c[i] * o[i];
      d /= scale;
      o[k] += d * v0;
      for (int i = k + 1; i < m; i++) o[i] += d * c[i];
    }
    c[k] = alpha;
  }
  for (int k = count - 1; k >= 0; k--) {
    double t = y[k];
    for (int l = k + 1; l < count; l++) t -= Q[(size_t)l * (size_t)m + (size_t)k] * s[l];
    s[k] = t / Q[(size_t)k * (size_t)m + (size_t)k];
  }
  return true;
}

static double residual(double* r, const double* x, int m, int n, const double* A, const double* b) {
  double norm = 0.0;
  for (int i = 0; i < m; i++) {
    r[i] = b[i];
    for (int j = 0; j < n; j++) r[i] -= A[(size_t)i * (size_t)n + (size_t)j] * x[j];
    norm += r[i] * r[i];
  }
  return sqrt(norm);
}

/* The column with the steepest descent, or -1; `most`: what counts as descent. */
static int steepest(int m, int n, const double* A, const double* r, const double* column,
                    const double* banned, const int* passive, int count, double most) {
  int best = -1;
  for (int j = 0; j < n; j++) {
    bool in = false;
    for (int k = 0; k < count; k++) in |= passive[k] == j;
    if (in || banned[j] != 0.0 || column[j] == 0.0) continue;
    double g = 0.0;
    for (int i = 0; i < m; i++) g += A[(size_t)i * (size_t)n + (size_t)j] * r[i];
    if (g / column[j] > most) most = g / column[j], best = j;
  }
  return best;
}

/* x moves towards s as far as it stays >= 0; what then is 0 leaves `passive`. Whether all of the way is done.
   */
static bool advance(double* x, const double* s, const double* column, double start, int* passive,
                    int* count) {
  double t = 1.0;
  for (int k = 0; k < *count; k++)
    if (s[k] <= 0.0) t = fmin(t, x[passive[k]] / (x[passive[k]] - s[k]));
  for (int k = 0; k < *count; k++) x[passive[k]] += t * (s[k] - x[passive[k]]);
  if (t >= 1.0) return true;
  int kept = 0;
  for (int k = 0; k < *count; k++) {
    int j = passive[k];
    if (s[k] > 0.0 || !(x[j] <= 1e-14 * (start / column[j])))
      passive[kept++] = j;
    else
      x[j] = 0.0;
  }
  *count = kept;
  return false;
}

double kn_nnls(double* x, double* r, int m, int n, const double* A, const double* b, double* scratch,
               int* passive) {
  double *s = scratch, *column = s + n, *banned = column + n, *y = banned + n, *Q = y + m;
  int count = 0;
  for (int j = 0; j < n; j++) {
    double norm = 0.0;
    for (int i = 0; i < m; i++)
      norm += A[(size_t)i * (size_t)n + (size_t)j] * A[(size_t)i * (size_t)n + (size_t)j];
    column[j] = sqrt(norm);
    banned[j] = 0.0;
    x[j] = 0.0;
  }
  double norm = residual(r, x, m, n, A, b), start = norm;
  for (int round = 0; round < 10 * n + 20; round++) {
    int best = steepest(m, n, A, r, column, banned, passive, count, 1e-14 * start);
    if (best < 0 || count >= m) return norm;
    passive[count++] = best;
    if (!least_squares(s, m, n, count, passive, A, b, Q, y) || s[count - 1] <= 0.0) {
      banned[best] = 1.0; /* dependent, or its gradient was rounding */
      count--;
      continue;
    }
    for (int had = count; !advance(x, s, column, start, passive, &count); had = count) {
      if (count == had) return -1.0;
      if (!least_squares(s, m, n, count, passive, A, b, Q, y)) return -1.0;
    }
    double now = residual(r, x, m, n, A, b);
    if (now < norm * (1.0 - 1e-15))
      memset(banned, 0, (size_t)n * sizeof *banned);
    else
      banned[best] = 1.0;
    norm = now;
  }
  return -1.0;
}

typedef struct gram {
  kn_lcp_boxed p;
  kn_factor f;
  double *s, *rhs;
} gram;

/* Goes towards the unconstrained z_P, dropping rows that reach zero on the way. */
static void settle(gram* g) {
  kn_lcp_boxed* p = &g->p;
  while (g->f.count > 0) {
    for (int k = 0; k < g->f.count; k++) g->rhs[k] = -p->s->q[g->f.index[k]];
    kn_factor_solve(&g->f, g->s, g->rhs);
    double t = 1.0;
    int drop = -1;
    for (int k = 0; k < g->f.count; k++) {
      double z = p->z[g->f.index[k]];
      if (g->s[k] <= 0.0 && z / (z - g->s[k]) < t) t = z / (z - g->s[k]), drop = k;
    }
    for (int k = 0; k < g->f.count; k++) p->z[g->f.index[k]] += t * (g->s[k] - p->z[g->f.index[k]]);
    if (drop < 0) break;
    int j = g->f.index[drop];
    p->z[j] = 0.0;
    kn_factor_remove(&g->f, j);
  }
  kn_lcp_boxed_w(p);
}

static kn_status nnls_solve(double* z, kn_solve_info* info, const kn_lcp* lcp,
                            const kn_lcp_settings* settings, kn_lcp_work* work) {
  kn_status status = kn_lcp_begin(&kn_lcp_nnls, z, info, lcp, settings, work);
  if (status != KN_OK) return status;
  gram g = {.s = work->v[5], .rhs = work->v[6], .f = {0, kn_pad8(lcp->n), work->A, work->iv[0], work->iv[1]}};
  kn_lcp_boxed_begin(&g.p, lcp, work, z);
  memset(g.p.z, 0, (size_t)g.p.ld * sizeof(double));
  kn_lcp_boxed_w(&g.p);
  kn_factor_clear(&g.f, lcp->n);
  int limit = settings->max_iterations ? settings->max_iterations : 5 * lcp->n + 20, last = -1;
  bool done = kn_lcp_boxed_offer(&g.p, z, info, lcp, settings->tol);
  double* skip = work->v[7];
  memset(skip, 0, (size_t)g.p.ld * sizeof *skip);
  while (!done && info->iterations < limit) {
    int enter = -1;
    for (int i = 0; i < lcp->n; i++)
      if (g.f.position[i] < 0 && skip[i] == 0.0 && g.p.w[i] < -1e-15 &&
          (enter < 0 || g.p.w[i] < g.p.w[enter]))
        enter = i;
    if (enter < 0) break;
    info->iterations++;
    if (!kn_factor_add(&g.f, enter, g.p.s->M + (size_t)enter * (size_t)g.p.ld, 1e-13)) {
      skip[enter] = 1.0; /* depends on the passive rows: its w is rounding */
      continue;
    }
    if (enter == last && g.p.w[enter] > -1e-12) break;
    last = enter;
    settle(&g);
    if (g.f.position[enter] >= 0)
      memset(skip, 0, (size_t)g.p.ld * sizeof *skip);
    else
      skip[enter] = 1.0;
  }
  if (!done) kn_lcp_boxed_offer(&g.p, z, info, lcp, settings->tol);
  return kn_lcp_finish(z, info, lcp, settings);
}

const kn_lcp_solver kn_lcp_nnls = {
    .name = "nnls",
    .doc = "non-negative least squares on the Gram matrix: frictionless contact, M symmetric positive "
           "semidefinite",
    .citation = "C. L. Lawson, R. J. Hanson, Solving Least Squares Problems (1974)",
    .settings = "tol max_iterations",
    .kinds = KN_LCP_STANDARD | KN_LCP_SYMMETRIC,
    .solve = nnls_solve,
};
