/* Gauss-Seidel sweeps as a fixed-point map r = G(r), accelerated (Anderson 1965; type II, Walker, Ni 2011):
   with f_k = G(r_k) - r_k the next point is

     G(r_k) - sum_j c_j (G_j+1 - G_j),   c minimising |f_k - sum_j c_j (f_j+1 - f_j)|,

   over the last MEMORY steps. The history is dropped when |f| grows. */
#include <math.h>
#include <string.h>

#include "comp/cone/driver.h"
#include "math/dense.h"

enum { MEMORY = KN_ANDERSON_MEMORY };

typedef struct history {
  int n, count, newest;
  double* df[MEMORY];
  double* dg[MEMORY];
  double gram[MEMORY * MEMORY]; /* df_i . df_j */
} history;

/* Differences of the newest step replace the oldest. */
static void remember(history* h, const double* f, const double* f_old, const double* g, const double* g_old) {
  int k = h->newest = h->count ? (h->newest + 1) % MEMORY : 0;
  if (h->count < MEMORY) h->count++;
  for (int i = 0; i < h->n; i++) h->df[k][i] = f[i] - f_old[i], h->dg[k][i] = g[i] - g_old[i];
  for (int j = 0; j < h->count; j++)
    h->gram[k * MEMORY + j] = h->gram[j * MEMORY + k] = kn_dot(h->n, h->df[k], h->df[j]);
}

/* x = g - sum c_j dg_j; false if the small system is not positive definite. */
static bool extrapolate(double* x, const history* h, const double* f, const double* g) {
  double A[MEMORY * MEMORY], c[MEMORY], trace = 0.0;
  int m = h->count;
  for (int i = 0; i < m; i++) trace += h->gram[i * MEMORY + i];
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) A[i * MEMORY + j] = h->gram[i * MEMORY + j];
    A[i * MEMORY + i] += 1e-12 * trace;
    c[i] = kn_dot(h->n, h->df[i], f);
  }
  if (kn_cholesky_factor(m, A, MEMORY, 1e-15) < m) return false;
  kn_cholesky_solve(m, c, A, MEMORY, c);
  memcpy(x, g, (size_t)h->n * sizeof *x);
  for (int j = 0; j < m; j++) kn_axpy(h->n, x, -c[j], h->dg[j]);
  return true;
}

static double norm(const double* x, int n) { return sqrt(kn_dot(n, x, x)); }

bool kn_drive_anderson(kn_drive* s, int sweeps, double tol, const char* stage) {
  kn_solver_work* w = s->w;
  kn_cone* c = s->c;
  history h = {.n = c->ld};
  for (int k = 0; k < MEMORY; k++) {
    h.df[k] = w->anderson + (size_t)(2 * k) * (size_t)(c->ld);
    h.dg[k] = w->anderson + (size_t)(2 * k + 1) * (size_t)(c->ld);
  }
  double *x = w->center, *f = w->q0, *f_old = w->point, *g_old = c->best_r, last = INFINITY;
  size_t bytes = (size_t)c->ld * sizeof(double);
  bool have = false;
  for (int k = 0; k < sweeps; k++) {
    memcpy(x, c->r, bytes);
    s->ops->sweep(c);
    kn_drive_count(s, 0, 1);
    for (int i = 0; i < c->ld; i++) f[i] = c->r[i] - x[i];
    double size = norm(f, c->ld);
    if (k % 8 == 7) {
      kn_cone_residual e = s->ops->residual(c, 1.0);
      if (e.most <= tol * e.size) return tol > s->inner ? true : kn_drive_accept(s, stage);
    }
    if (size > 2.0 * last) h.count = 0, have = false;
    last = size;
    if (have) remember(&h, f, f_old, c->r, g_old);
    memcpy(f_old, f, bytes);
    memcpy(g_old, c->r, bytes);
    have = true;
    if (h.count < 2 || !extrapolate(x, &h, f, c->r)) continue;
    memcpy(c->r, x, bytes);
    s->ops->velocity(c);
  }
  return false;
}
