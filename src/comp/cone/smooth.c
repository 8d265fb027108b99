/* Smoothing Newton: the kinks of the law are rounded by τ, and the answer is followed while τ goes to zero. Cones of
   any dimension, lines and boxes together, dense.

   With y = r - u and the rounded functions

     plus(x)   = (x + sqrt(x² + 4 τ²))/2              -> max(x, 0)
     max(a, b) = (a + b + sqrt((a - b)² + 4 τ²))/2
     t         = sqrt(|y_T|² + τ²)                    -> |y_T|

   the law is F(r) = 0, u = W r + q:

     line      F = r - (lo + plus(y - lo) - plus(y - hi))
     contact   F_N = r_N - plus(y_N),   h = mu plus(y_N),   F_T = r_T - h y_T / max(h, t)

   For τ = 0 this is Alart and Curnier's function (cone_kernel.c). For τ > 0 it is smooth, and its derivative
   (I - P) + P W with the symmetric part of P between 0 and I is regular where W has a null space: redundant contacts
   get impulses in the middle of what is possible. Where the plain method jumps from mode to mode at slips of
   1e-9 m/s, this one goes on (Chen, Mangasarian 1996; Fukushima, Luo, Tseng 2002 for cones).

   The path is followed closely: τ falls when |F| is below a third of it, and grows again where only short steps lead
   downhill; after each fall of τ a step with the old factor leads along the path. Near the end the modes it shows are tried:
   by Newton on the law itself, and by single changes of mode (path.c), which tell slips of nearly nothing apart. Cost:
   one factor of n x n unknowns a step; 10 to 20 steps. */
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/driver.h"
#include "comp/cone/warm_modes.h"
#include "math/dense.h"

enum { MOST = KN_SET_ROWS_MOST };

typedef struct smooth {
  kn_drive* s;
  kn_cone* c;
  double tau;
  double eps;         /* added to the diagonal of W */
  double *F, *J, *dx; /* n, n x n row-major, n */
  int* perm;
  bool exchanged; /* the factor is in J, with exchanges of rows; otherwise in the room of the warm start */
} smooth;

/* plus(x) and its derivative. */
static double plus(double* slope, double x, double tau) {
  double root = sqrt(x * x + 4.0 * tau * tau);
  *slope = root > 0.0 ? 0.5 * (1.0 + x / root) : x > 0.0;
  return x > 0.0 ? 0.5 * (x + root) : root > 0.0 ? 2.0 * tau * tau / (root - x) : 0.0;
}

static double line_map(double* slope, const kn_cone_block* b, double y, double tau) {
  double below = 1.0, above = 0.0, x = y;
  if (isfinite(b->lo)) x = b->lo + plus(&below, y - b->lo, tau);
  if (isfinite(b->hi)) x -= plus(&above, y - b->hi, tau);
  *slope = below - above;
  return x;
}

/* x = the rounded map of y; P = dx/dy (rows x rows, MOST to a row) when wanted. */
static void block_map(double* x, double* P, const kn_cone_block* b, const double* y, double tau) {
  double slope, sum = 0.0;
  if (b->rows == 1) {
    x[0] = line_map(&slope, b, y[0], tau);
    if (P) P[0] = slope;
    return;
  }
  x[0] = plus(&slope, y[0], tau);
  for (int i = 1; i < b->rows; i++) sum += y[i] * y[i];
  double h = b->mu * x[0], t = sqrt(sum + tau * tau), apart = h - t;
  double root = sqrt(apart * apart + 4.0 * tau * tau), m = 0.5 * (h + t + root);
  double share = m > 0.0 ? h / m : 0.0;
  for (int i = 1; i < b->rows; i++) x[i] = share * y[i];
  if (!P) return;
  double inverse = m > 0.0 ? 1.0 / m : 0.0, lean = root > 0.0 ? apart / root : 0.0;
  double by_h = 0.5 * (1.0 + lean), by_t = t > 0.0 ? 0.5 * (1.0 - lean) / t : 0.0;
  memset(P, 0, sizeof(double[MOST * MOST]));
  P[0] = slope;
  for (int i = 1; i < b->rows; i++) {
    P[i * MOST] = y[i] * inverse * (1.0 - share * by_h) * b->mu * slope;
    for (int k = 1; k < b->rows; k++)
      P[i * MOST + k] = (i == k ? share : 0.0) - share * inverse * by_t * y[i] * y[k];
  }
}

/* F at c->r, c->u: its sum of squares. */
static double residual(smooth* a) {
  const kn_cone* c = a->c;
  double sum = 0.0, y[MOST], x[MOST];
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    for (int i = 0; i < k->rows; i++) y[i] = c->r[k->row + i] - c->u[k->row + i];
    block_map(x, NULL, k, y, a->tau);
    for (int i = 0; i < k->rows; i++) {
      double f = a->F[k->row + i] = c->r[k->row + i] - x[i];
      sum += f * f;
    }
  }
  return sum;
}

/* Of lines J is diagonal and positive definite matrices multiplied, and hardly another of contacts: exchanges are rarely needed, and
   the warm start's kernels for eight rows at a time take a third of the time. */
static bool factor(smooth* a) {
  static const double nothing[KN_WARM_ROWS];
  kn_warm_system* s = a->s->w->warm;
  size_t n = (size_t)a->c->n;
  a->exchanged = true;
  if (n <= KN_WARM_ROWS) {
    s->m = a->c->n, s->has_factor = s->symmetric = false;
    for (size_t i = 0; i < ((n + 7) & ~(size_t)7); i++)
      for (size_t j = 0; j < n; j++) s->A[(i / 8 * n + j) * 8 + i % 8] = i < n ? a->J[i * n + j] : 0.0;
    a->exchanged = !KN_BEST(&kn_warm_ops)->factor(s, nothing);
  }
  return !a->exchanged || kn_lu_factor(a->c->n, a->J, a->c->n, a->perm) == a->c->n;
}

/* dx = J⁻¹ F. */
static void solve(smooth* a) {
  kn_warm_system* s = a->s->w->warm;
  size_t bytes = (size_t)a->c->n * sizeof(double);
  if (a->exchanged) {
    kn_lu_solve(a->c->n, a->dx, a->J, a->c->n, a->perm, a->F);
    return;
  }
  memcpy(s->x, a->F, bytes);
  KN_BEST(&kn_warm_ops)->solve(s);
  memcpy(a->dx, s->x, bytes);
}

/* J = (I - P) + P W, of the present τ; dx = J⁻¹ F. */
static bool direction(smooth* a) {
  const kn_cone* c = a->c;
  size_t n = (size_t)c->n, ld = (size_t)c->ld;
  double P[MOST * MOST], y[MOST], x[MOST];
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    for (int i = 0; i < k->rows; i++) y[i] = c->r[k->row + i] - c->u[k->row + i];
    block_map(x, P, k, y, a->tau);
    for (int i = 0; i < k->rows; i++) {
      double* row = a->J + (size_t)(k->row + i) * n;
      memset(row, 0, n * sizeof *row);
      for (int l = 0; l < k->rows; l++) {
        double p = P[i * MOST + l];
        const double* w = c->W + (size_t)(k->row + l) * ld; /* symmetric: a column is a row */
        if (p != 0.0) kn_axpy(c->n, row, p, w);
        row[k->row + l] -= (1.0 - a->eps) * p;
      }
      row[k->row + i] += 1.0;
    }
  }
  if (!factor(a)) return false;
  solve(a);
  double sum = 0.0;
  for (int i = 0; i < c->n; i++) sum += 0.0 * a->dx[i];
  return sum == 0.0;
}

static void back(smooth* a, const double* r) {
  memcpy(a->c->r, r, (size_t)a->c->n * sizeof(double));
  a->s->ops->velocity(a->c);
}

/* One step, shortened until the sum of squares falls: which part of it was taken, 0 if it does not fall. */
static double step(smooth* a, double* sum) {
  kn_cone* c = a->c;
  double before = *sum, share = 1.0;
  if (!direction(a)) return 0.0;
  memcpy(c->try_r, c->r, (size_t)c->n * sizeof(double));
  kn_drive_count(a->s, 1, 0);
  a->s->w->work += a->s->w->dearest; /* its matrix has no symmetry */
  for (int half = 0; half < 8; half++, share *= 0.5) {
    for (int i = 0; i < c->n; i++) c->r[i] = c->try_r[i] - share * a->dx[i];
    a->s->ops->velocity(c);
    *sum = residual(a);
    if (*sum <= (1.0 - 1e-3 * share) * before) return share;
  }
  return 0.0; /* the shortest one is taken: from there another τ may lead on */
}

/* τ has fallen: a step along the path with the factor at hand, where it leads downhill. */
static void predict(smooth* a, double* sum) {
  kn_cone* c = a->c;
  double before = *sum;
  memcpy(c->try_r, c->r, (size_t)c->n * sizeof(double));
  solve(a);
  for (int i = 0; i < c->n; i++) c->r[i] -= a->dx[i];
  a->s->ops->velocity(c);
  *sum = residual(a);
  if (*sum < before) return;
  back(a, c->try_r);
  *sum = residual(a);
}

/* What the velocities and impulses of the problem are measured with. */
static double size_of(const kn_cone* c) {
  double size = 0.0;
  for (int i = 0; i < c->n; i++) size = kn_max(size, kn_max(fabs(c->q[i]), fabs(c->r[i])));
  return size;
}

/* Newton on the law itself, τ = 0, as the kernels of cone_kernel.c have it, for sets of any dimension: full steps that need not lead
   downhill, with a proximal term of a tenth of the residual; ends at the best point. */
static bool plain(smooth* a, int steps, int stall) {
  kn_cone* c = a->c;
  size_t bytes = (size_t)c->n * sizeof(double);
  double size = size_of(c), best = INFINITY, before = INFINITY;
  a->tau = 0.0;
  for (int k = 0, idle = 0; k <= steps && idle < stall; k++) {
    double sum = residual(a);
    idle = sum < 0.5 * before ? 0 : idle + 1;
    before = kn_min(before, sum);
    if (sum < best) best = sum, memcpy(c->best_r, c->r, bytes);
    if (!(sum > a->s->inner * a->s->inner * size * size) || k == steps) break;
    a->eps = kn_max(1e-12, kn_min(0.1, 0.1 * sqrt(sum) / size));
    if (!direction(a)) break;
    kn_drive_count(a->s, 1, 0);
    for (int i = 0; i < c->n; i++) c->r[i] -= a->dx[i];
    a->s->ops->velocity(c);
  }
  a->eps = 0.0;
  back(a, c->best_r);
  return kn_drive_accept(a->s, "newton");
}

bool kn_drive_plain(kn_drive* s) {
  kn_cone* c = s->c;
  smooth a = {.s = s, .c = c, .F = c->spare, .J = c->A, .dx = c->column, .perm = s->w->perm};
  return !c->sparse && plain(&a, 15, 5);
}

/* Newton on the law itself from here: where the modes are right it needs two or three steps, of the loaded rows only. */
static bool by_newton(smooth* a) {
  kn_newton_settings t = kn_newton_default(a->s);
  t.max_steps = 5, t.stall = 2;
  t.eps = 1e-8, t.eps_rate = 0.0;
  return kn_drive_newton(a->s, &t, "smooth");
}

/* Where slips of nearly nothing decide, one change of mode at a time (path.c), from the modes that the law without its
   rounding sees here. */
static bool by_path(smooth* a) {
  kn_cone* c = a->c;
  kn_solve_info info;
  double y[MOST], *r = a->s->w->diagonal; /* scratch once the problem is loaded */
  if (!a->s->p->W) return false;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    for (int i = 0; i < k->rows; i++) y[i] = c->r[k->row + i] - c->u[k->row + i];
    block_map(c->r + k->row, NULL, k, y, 0.0);
  }
  kn_cone_finish(r, c);
  bool found = kn_path_answer(r, &info, a->s->p, a->s->tol, false, a->s->w);
  if (!found) return false;
  a->s->iterations += info.iterations;
  kn_cone_start(c, r);
  a->s->ops->velocity(c);
  return kn_drive_accept(a->s, "smooth");
}

static bool finished(smooth* a) {
  kn_cone* c = a->c;
  double* here = a->s->w->interior_d; /* nine numbers a block */
  memcpy(here, c->r, (size_t)c->n * sizeof(double));
  double tau = a->tau;
  bool found = kn_problem_tall(a->s->p) ? plain(a, 5, 2) : by_newton(a);
  a->tau = tau;
  if (found) return true;
  back(a, here);
  if (by_path(a)) return true;
  back(a, here);
  return false;
}

bool kn_drive_smooth(kn_drive* s, double from, int steps) {
  static const double near = 0.1;   /* |F|²/τ²: farther from the path it is lost in the next bend */
  static const double brief = 0.3;  /* so short a step, or one that leaves so much: … */
  static const double much = 0.7;   /* … the path is too crooked for this τ */
  static const double room = 1e2;   /* τ of so many tolerances: the answer may be there */
  static const double least = 1e-3; /* of the tolerance */
  enum { PATIENCE = 40 };           /* after so many steps the end is near, or not on this path */
  kn_cone* c = s->c;
  smooth a = {.s = s, .c = c, .F = c->spare, .J = c->A, .dx = c->column, .perm = s->w->perm};
  if (c->sparse) return false;
  double size = size_of(c), tol = s->tol * size, near_end = 1e-4 * size, finish = near_end;
  s->ops->velocity(c);
  a.tau = from * size;
  double sum = residual(&a);
  for (int k = 0; k < steps && a.tau >= least * tol && a.tau <= 10.0 * size && !kn_drive_spent(s); k++) {
    double before = sum, share = step(&a, &sum);
    bool there = sum <= near * a.tau * a.tau;
    if (kn_cone_wild(c)) return false;
    if (k >= PATIENCE && a.tau > near_end) break;
    if (there && a.tau <= room * tol && kn_drive_accept(s, "smooth")) return true;
    bool tried = there && a.tau <= finish;
    if (tried) {
      if (finished(&a)) return true;
      finish = 0.1 * a.tau;
    }
    if (there)
      a.tau *= share == 1.0 ? 0.1 : 0.4;
    else if (share < brief || (share < 1.0 && sum > much * before))
      a.tau *= 2.0;
    sum = residual(&a);
    if (there && !tried) predict(&a, &sum); /* the attempt has used up the factor's room */
  }
  return kn_drive_accept(s, "smooth");
}

bool kn_drive_smoothed(kn_drive* s) {
  int steps = kn_problem_tall(s->p) ? 60 : 100; /* of redundant contacts of a robot the end may need them */
  if (s->best.error < INFINITY) {
    kn_cone_start(s->c, s->w->best);
    if (kn_drive_smooth(s, 1e-2, steps)) return true;
  }
  kn_cone_start(s->c, NULL);
  return kn_drive_smooth(s, 1e-1, steps);
}
