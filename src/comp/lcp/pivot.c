/* Block principal pivoting as Newton's method on the natural map (Kostreva 1978; Harker and Pang 1990;
   Hintermueller, Ito, Kunisch 2002), warm-startable and with bounds.

   From z and w = M z + q:  z - w <= lo: the row sits at lo;  z - w >= hi: at hi;  else it is active (w = 0).
   Then  (M_AA + eps I) z_A = -(q_A + M_AN z_N) + eps z_A^old:  the proximal term leaves solutions as they are
   and makes a singular M_AA harmless (redundant contacts). One step costs one factorisation; when the sets
   stay, it is done. Starts with a few Gauss-Seidel sweeps (five cold, one warm): they settle most rows. When
   the steps do not settle, more sweeps are made and it starts again. No globalisation: the driver has Lemke
   behind it. */
#include <math.h>
#include <string.h>

#include "comp/lcp/lcp.h"
#include "math/dense.h"

enum { SIDE_LO, SIDE_ACTIVE, SIDE_HI, MAX_STEPS = 14 };

/* New sides; returns how many changed. */
static int choose_sides(const kn_lcp_boxed* p, int* side) {
  int changed = 0;
  for (int i = 0; i < p->n; i++) {
    double t = p->z[i] - p->w[i];
    int s = t <= p->lo[i] ? SIDE_LO : t >= p->hi[i] ? SIDE_HI : SIDE_ACTIVE;
    changed += s != side[i];
    side[i] = s;
  }
  return changed;
}

/* A = M_AA + eps I (row-major), b = eps z_A - q_A - M_AN z_N. Also puts z_N on its bounds. Returns |A|. */
static int gather(const kn_lcp_boxed* p, const int* side, double eps, double* A, double* b, int* active) {
  int m = 0, ld = p->ld;
  for (int i = 0; i < p->n; i++) {
    if (side[i] == SIDE_ACTIVE)
      active[m++] = i;
    else
      p->z[i] = side[i] == SIDE_LO ? p->lo[i] : p->hi[i];
  }
  memcpy(p->w, p->s->q, (size_t)ld * sizeof(double));
  for (int j = 0; j < p->n; j++)
    if (side[j] != SIDE_ACTIVE && p->z[j] != 0.0)
      kn_axpy(ld, p->w, p->z[j], p->s->M + (size_t)j * (size_t)ld);
  int lda = kn_pad8(m);
  for (int c = 0; c < m; c++) {
    const double* column = p->s->M + (size_t)active[c] * (size_t)ld;
    for (int r = 0; r < m; r++) A[(size_t)r * (size_t)lda + (size_t)c] = column[active[r]];
    A[(size_t)c * (size_t)lda + (size_t)c] += eps;
    b[c] = eps * p->z[active[c]] - p->w[active[c]];
  }
  return m;
}

/* Symmetric: the columns of M are its rows, so the gather runs along; Cholesky, half the work of LU. */
static bool solve_active(int m, double* x, double* A, const double* b, int* perm, bool symmetric) {
  int lda = kn_pad8(m);
  if (symmetric) {
    if (kn_cholesky_factor(m, A, lda, 0.0) < m) return false;
    kn_cholesky_solve(m, x, A, lda, b);
    return true;
  }
  if (kn_lu_factor(m, A, lda, perm) < m) return false;
  kn_lu_solve(m, x, A, lda, perm, b);
  return true;
}

typedef struct newton {
  kn_lcp_boxed p;
  double *A, *b, *x, *best, tol;
  int *side, *active, *perm, steps;
  bool symmetric;
} newton;

/* Newton steps from the present z; true when the internal residual is at rounding level or the sets have
 * settled. */
static void newton_steps(newton* s, int limit) {
  kn_lcp_boxed* p = &s->p;
  double least = kn_lcp_boxed_residual(p), eps = 1e-8;
  int stale = 0;
  memcpy(s->best, p->z, (size_t)p->ld * sizeof(double));
  for (int i = 0; i < p->n; i++) s->side[i] = -1;
  for (int k = 0; k < limit && stale < 6 && least > s->tol; k++) {
    int changed = choose_sides(p, s->side);
    int m = gather(p, s->side, eps, s->A, s->b, s->active);
    if (m > 0 && !solve_active(m, s->x, s->A, s->b, s->perm, s->symmetric)) {
      if (!s->symmetric) break;
      s->symmetric = false; /* not definite after all: LU from here on */
      gather(p, s->side, eps, s->A, s->b, s->active);
      if (!solve_active(m, s->x, s->A, s->b, s->perm, false)) break;
    }
    for (int i = 0; i < m; i++) p->z[s->active[i]] = s->x[i];
    kn_lcp_boxed_w(p);
    s->steps++;
    double r = kn_lcp_boxed_residual(p);
    stale = r < 0.5 * least ? 0 : stale + 1;
    if (r < least) {
      least = r;
      memcpy(s->best, p->z, (size_t)p->ld * sizeof(double));
    }
    if (k >= 1 && eps > 1e-12) eps *= 0.1;
    if (changed == 0 && r >= 0.5 * least && k > 1 && stale > 1) break;
    if (!(r < INFINITY)) break;
  }
  memcpy(p->z, s->best, (size_t)p->ld * sizeof(double));
  kn_lcp_boxed_w(p);
}

static bool is_symmetric(const kn_lcp_scaled* s) {
  for (int j = 0; j < s->n; j++)
    for (int i = 0; i < j; i++)
      if (s->M[(size_t)j * (size_t)s->ld + (size_t)i] != s->M[(size_t)i * (size_t)s->ld + (size_t)j])
        return false;
  return true;
}

static kn_status pivot_solve(double* z, kn_solve_info* info, const kn_lcp* lcp,
                             const kn_lcp_settings* settings, kn_lcp_work* work) {
  kn_status status = kn_lcp_begin(&kn_lcp_pivot, z, info, lcp, settings, work);
  if (status != KN_OK) return status;
  newton s = {.A = work->A,
              .b = work->v[5],
              .x = work->v[6],
              .best = work->v[7],
              .side = work->iv[0],
              .active = work->iv[1],
              .perm = work->iv[2]};
  kn_lcp_boxed_begin(&s.p, lcp, work, z);
  s.symmetric = is_symmetric(&work->scaled);
  s.tol = 1e-3 * settings->tol;
  int limit = settings->max_iterations ? settings->max_iterations : MAX_STEPS;
  for (int round = 0; round < 3; round++) {
    int sweeps = round == 0 ? (settings->warm ? 1 : 5) : round * (30 + lcp->n / 2);
    for (int k = 0; k < sweeps; k++) kn_pgs_sweep(&s.p, 1.0);
    kn_lcp_boxed_w(&s.p);
    newton_steps(&s, limit);
    info->iterations = s.steps;
    if (kn_lcp_boxed_offer(&s.p, z, info, lcp, settings->tol)) break;
  }
  return kn_lcp_finish(z, info, lcp, settings);
}

const kn_lcp_solver kn_lcp_pivot = {
    .name = "pivot",
    .doc = "Gauss-Seidel sweeps, then block principal pivoting as Newton's method with a proximal term; "
           "warm-startable",
    .citation = "M. M. Kostreva, Linear Algebra Appl. 21 (1978); P. T. Harker, J.-S. Pang, Lect. Appl. Math. "
                "26 (1990)",
    .settings = "tol max_iterations warm",
    .kinds = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX,
    .solve = pivot_solve,
};
