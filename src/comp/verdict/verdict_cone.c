/* Existence and uniqueness of the solutions of a kn_problem; motion means u = W r + q.

   Unique motion. Take two solutions (r, u), (r', u') and d = r - r', u - u' = W d. Per contact r_N u_N = 0
   gives d_N (W d)_N <= 0, and r_T.u_T = -mu r_N |u_T|, least on the disc, gives d_T.(W d)_T <= -mu d_N (|u_T|
   - |u'_T|) <= mu |d_N| |(W d)_T|. Hence for any alpha >= 1 and s_c > 0

     sum alpha d_N (W d)_N + d_T.(W d)_T <= ½ sum mu_c (s_c d_Nc² + |(W d)_Tc|²/s_c).

   If the left side's matrix less the right side's is definite, d = 0; if alpha = 1 and it is semidefinite
   with a margin of W's own size, W d = 0: the motion is unique, whatever q. It holds for weak friction or
   weak coupling of independent contacts, and always without friction. Where r = 0 is a solution and every q_N
   >= mu |q_T|, rᵀW r = -r.û(q) <= 0 shows the same for any semidefinite W.

   Few contacts in the plane: every choice of open, sticking and two senses of slip is one linear system.
   Several: two points, both judged solutions, that move clearly differently.
   None: y >= 0 on the normal rows (any sign on equalities) with y.(W r) <= 0 for all r in the cones and
   y.q < 0: then u_N >= 0 fails for every r. Such a y is the Farkas vector of the problem without friction. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "comp/problem/problem.h"
#include "math/dense.h"
#include "math/elementary.h"

enum { MOST_ROWS = 360, MOST_MODES = 5000, PLANE_ROWS = 24, KEPT = 16, STARTS = 12, START_ROWS = 96 };

/* Taken for zero among entries of unit size after sums of some hundred terms. */
static const double tiny = 1e-11;
/* Solutions whose scaled velocities differ by this much of the largest are different motions: residuals of
   1e-10 leave 1e-5 where the motion is unique (the error enters under a root). */
static const double apart = 1e-3;

typedef struct view {
  const kn_problem* p;
  int n;
  double *W, *q;     /* scaled as by the judge: W_NN = 1, mean W_TT = 1 */
  double *d, *mu;    /* r = d r'; per block */
  double *G, *H;     /* n x n */
  double *x, *y, *s; /* n; n; per block */
  int* perm;
  kn_lcp_work* lcp;
} view;

static void take(view* v, kn_arena* arena) {
  size_t n = (size_t)v->n;
  double** squares[] = {&v->W, &v->G, &v->H};
  double** vectors[] = {&v->q, &v->d, &v->x, &v->y, &v->mu, &v->s};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) *squares[i] = KN_TAKE(arena, double, n* n);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = KN_TAKE(arena, double, n + 8);
  v->perm = KN_TAKE(arena, int, n + 8);
}

static void scale(view* v) {
  const kn_problem* p = v->p;
  size_t n = (size_t)v->n;
  kn_problem_write_out(v->W, p);
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    int row = k->row, rows = kn_set_rows(k->set);
    double wn = v->W[(size_t)row * (n + 1)], wt = 0.0;
    for (int i = 1; i < rows; i++) wt += v->W[(size_t)(row + i) * (n + 1)] / (rows - 1);
    double dn = wn > 0.0 ? 1.0 / sqrt(wn) : 1.0, dt = wt > 0.0 ? 1.0 / sqrt(wt) : dn;
    for (int i = 0; i < rows; i++) v->d[row + i] = i ? dt : dn;
    v->mu[b] = rows > 1 && k->mu > 0.0 ? k->mu * (dn / dt) : 0.0;
  }
  for (size_t i = 0; i < n; i++) {
    v->q[i] = p->q[i] * v->d[i];
    for (size_t j = 0; j < n; j++) v->W[i * n + j] *= v->d[i] * v->d[j];
  }
}

static bool symmetric(const view* v) {
  for (size_t i = 0, n = (size_t)v->n; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (fabs(v->W[i * n + j] - v->W[j * n + i]) > 1e-12) return false;
  return true;
}

/* Symmetric part of A: 2 definite, 1 semidefinite within rounding, 0 neither. */
static int definite(view* v, const double* A) {
  size_t n = (size_t)v->n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i; j < n; j++) v->H[i * n + j] = 0.5 * (A[i * n + j] + A[j * n + i]);
  int rank = kn_cholesky_pivoted(v->n, v->H, v->n, v->perm, 1e-12);
  if (rank == v->n) return 2;
  for (size_t i = (size_t)rank; i < n; i++)
    for (size_t j = i; j < n; j++)
      if (!(fabs(v->H[i * n + j]) <= tiny)) return 0;
  return 1;
}

/* ---- weak friction ---- */

/* G = (1 - margin) diag(alpha, 1, 1) W - ½ sum mu (s E_N + Wᵀ E_T W / s), symmetric part */
static void weakened(view* v, double alpha) {
  const double margin = 1e-6;
  const kn_problem* p = v->p;
  size_t n = (size_t)v->n;
  for (size_t i = 0; i < n; i++) v->y[i] = 1.0 - margin;
  for (int b = 0; b < p->blocks; b++)
    if (v->mu[b] > 0.0) v->y[p->block[b].row] *= alpha;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      v->G[i * n + j] = 0.5 * (v->y[i] * v->W[i * n + j] + v->y[j] * v->W[j * n + i]);
  for (int b = 0; b < p->blocks; b++) {
    if (v->mu[b] == 0.0) continue;
    size_t row = (size_t)p->block[b].row;
    v->G[row * (n + 1)] -= 0.5 * v->mu[b] * v->s[b];
    for (size_t t = row + 1; t < row + (size_t)kn_set_rows(p->block[b].set); t++)
      for (size_t i = 0; i < n; i++)
        kn_axpy(v->n, v->G + i * n, -0.5 * v->mu[b] / v->s[b] * v->W[t * n + i], v->W + t * n);
  }
}

/* x: direction in which G is least, by the power method on c - G. */
static void least_direction(view* v) {
  int n = v->n;
  double c = 0.0;
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int j = 0; j < n; j++) sum += fabs(v->G[(size_t)i * (size_t)n + (size_t)j]);
    c = fmax(c, sum);
    v->x[i] = 1.0 + 0.1 * (i % 7);
  }
  for (int k = 0; k < 40; k++) {
    double norm = 0.0;
    kn_gemv(n, n, v->y, v->G, n, v->x);
    for (int i = 0; i < n; i++) v->y[i] = c * v->x[i] - v->y[i], norm += v->y[i] * v->y[i];
    for (int i = 0; i < n; i++) v->x[i] = v->y[i] / sqrt(norm);
  }
}

/* s towards its best for that direction. */
static void rebalance(view* v, double alpha) {
  const kn_problem* p = v->p;
  least_direction(v);
  kn_gemv(v->n, v->n, v->y, v->W, v->n, v->x);
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row;
    double across = 0.0, own = fabs(v->x[row]);
    for (int i = 1; i < kn_set_rows(p->block[b].set); i++) across += v->y[row + i] * v->y[row + i];
    double best = (sqrt(across) + 1e-3) / (own + 1e-3);
    v->s[b] = sqrt(v->s[b] * fmin(fmax(best, 0.1), 10.0 * alpha));
  }
}

static bool weak_friction(view* v) {
  static const double alphas[] = {1.0, 2.0, 5.0, 20.0, 100.0};
  for (int b = 0; b < v->p->blocks; b++)
    if (!(v->mu[b] < INFINITY)) return false;
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    for (int b = 0; b < v->p->blocks; b++) v->s[b] = sqrt(alphas[a]);
    for (int k = 0; k < 6; k++) {
      weakened(v, alphas[a]);
      int sign = definite(v, v->G);
      if (sign == 2 || (sign == 1 && a == 0)) return true;
      if (v->n > 120) break; /* each balance costs some products of matrices */
      rebalance(v, alphas[a]);
    }
  }
  return false;
}

/* r = 0 answers, and q lies in the dual cones: no r does work against them. */
static bool apart_everywhere(const view* v, const double* r) {
  const kn_problem* p = v->p;
  for (int i = 0; i < v->n; i++)
    if (r[i] != 0.0) return false;
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    const double* q = v->q + k->row;
    double t = k->set == KN_SET_CONE3   ? sqrt(q[1] * q[1] + q[2] * q[2])
               : k->set == KN_SET_CONE2 ? fabs(q[1])
                                        : 0.0;
    if (k->set == KN_SET_FREE || k->set == KN_SET_BOX) return false;
    if (!(v->mu[b] < INFINITY) || !(q[0] >= v->mu[b] * t)) return false;
  }
  return true;
}

/* ---- few contacts in the plane ---- */

typedef struct modes {
  const view* v;
  int count[PLANE_ROWS], mode[PLANE_ROWS]; /* per block */
  double u[KEPT][PLANE_ROWS];              /* different motions */
  int motions;
  bool complete;
} modes;

enum { OPEN, CLOSED, SLIP_LEFT, SLIP_RIGHT }; /* of a cone; a line: at lo, inside, at hi */

static bool plane(modes* m, const view* v) {
  double all = 1.0;
  *m = (modes){.v = v, .complete = true};
  if (v->n > PLANE_ROWS) return false;
  for (int b = 0; b < v->p->blocks; b++) {
    const kn_block* k = &v->p->block[b];
    if (k->set == KN_SET_CONE3 || !(v->mu[b] < INFINITY)) return false;
    m->count[b] = k->set == KN_SET_CONE2  ? (v->mu[b] > 0.0 ? 4 : 2)
                  : k->set == KN_SET_FREE ? 1
                  : k->set == KN_SET_BOX  ? 3
                                          : 2;
    all *= m->count[b];
  }
  return all <= MOST_MODES;
}

/* Column j of [A | known] for one block: how r depends on the block's unknowns in this choice. */
typedef struct part {
  int unknowns;
  double to[2][2]; /* r of the block per unknown */
  double fixed;    /* of a line at a bound */
} part;

static part part_of(const modes* m, int b) {
  const kn_block* k = &m->v->p->block[b];
  double mu = m->v->mu[b], d = m->v->d[k->row];
  int mode = m->mode[b];
  if (k->set == KN_SET_FREE) return (part){1, {{1.0, 0.0}}, 0.0};
  if (k->set != KN_SET_CONE2) {
    double lo = k->set == KN_SET_BOX ? k->lo / d : 0.0, hi = k->set == KN_SET_BOX ? k->hi / d : INFINITY;
    if (mode == 1) return (part){1, {{1.0, 0.0}}, 0.0};
    return (part){0, {{0.0}}, mode == 0 ? lo : hi};
  }
  if (mode == OPEN) return (part){0, {{0.0}}, 0.0};
  if (mode == CLOSED && mu > 0.0) return (part){2, {{1.0, 0.0}, {0.0, 1.0}}, 0.0};
  double sense = mode == SLIP_LEFT ? mu : mode == SLIP_RIGHT ? -mu : 0.0;
  return (part){1, {{1.0, sense}}, 0.0};
}

/* Solves u = 0 in the rows of the unknowns. 1: r found; 0: no number (a bound at infinity); -1: dependent. */
static int solve_modes(double* r, const modes* m) {
  double A[PLANE_ROWS * PLANE_ROWS], c[PLANE_ROWS], x[PLANE_ROWS];
  const view* v = m->v;
  int n = v->n, rows = 0, perm[PLANE_ROWS], at[PLANE_ROWS];
  part parts[PLANE_ROWS];
  for (int i = 0; i < n; i++) r[i] = 0.0;
  for (int b = 0; b < v->p->blocks; b++) {
    parts[b] = part_of(m, b);
    if (!(fabs(parts[b].fixed) < INFINITY)) return 0;
    r[v->p->block[b].row] = parts[b].fixed;
    for (int i = 0; i < parts[b].unknowns; i++) at[rows++] = v->p->block[b].row + i;
  }
  for (int i = 0; i < rows; i++) {
    const double* w = v->W + (size_t)at[i] * (size_t)n;
    int column = 0;
    c[i] = -(v->q[at[i]] + kn_dot(n, w, r));
    for (int b = 0; b < v->p->blocks; b++)
      for (int k = 0; k < parts[b].unknowns; k++, column++) {
        int row = v->p->block[b].row;
        A[i * rows + column] = parts[b].to[k][0] * w[row];
        if (v->p->block[b].set == KN_SET_CONE2) A[i * rows + column] += parts[b].to[k][1] * w[row + 1];
      }
  }
  if (rows > 0) {
    if (kn_lu_factor(rows, A, rows, perm) < rows || kn_lu_pivot_ratio(rows, A, rows) < 1e-7) return -1;
    kn_lu_solve(rows, x, A, rows, perm, c);
  }
  for (int b = 0, column = 0; b < v->p->blocks; b++)
    for (int k = 0; k < parts[b].unknowns; k++, column++) {
      int row = v->p->block[b].row;
      r[row] += parts[b].to[k][0] * x[column];
      if (v->p->block[b].set == KN_SET_CONE2) r[row + 1] += parts[b].to[k][1] * x[column];
    }
  return 1;
}

/* By how much the choice of one block is violated, scaled. */
static double violation(const modes* m, int b, const double* r, const double* u) {
  const kn_block* k = &m->v->p->block[b];
  double mu = m->v->mu[b], d = m->v->d[k->row];
  int mode = m->mode[b];
  r += k->row, u += k->row;
  if (k->set == KN_SET_FREE) return 0.0;
  if (k->set != KN_SET_CONE2) {
    double lo = k->set == KN_SET_BOX ? k->lo / d : 0.0, hi = k->set == KN_SET_BOX ? k->hi / d : INFINITY;
    return mode == 0 ? -u[0] : mode == 2 ? u[0] : fmax(lo - r[0], r[0] - hi);
  }
  if (mode == OPEN) return -u[0];
  if (mode == CLOSED) return fmax(-r[0], mu > 0.0 ? fabs(r[1]) - mu * r[0] : 0.0);
  return fmax(-r[0], mode == SLIP_LEFT ? u[1] : -u[1]); /* r_T = mu r_N pushes to the right: u_T <= 0 */
}

static void keep_motion(modes* m, const double* u) {
  int n = m->v->n;
  for (int k = 0; k < m->motions; k++) {
    double most = 0.0, size = 0.0;
    for (int i = 0; i < n; i++)
      most = fmax(most, fabs(u[i] - m->u[k][i])), size = fmax(size, fmax(fabs(m->v->q[i]), fabs(u[i])));
    if (most <= 1e-6 * size) return;
  }
  if (m->motions < KEPT) memcpy(m->u[m->motions++], u, (size_t)n * sizeof *u);
}

static void try_modes(modes* m) {
  const view* v = m->v;
  double r[PLANE_ROWS], u[PLANE_ROWS], real[PLANE_ROWS], worst = 0.0, size = 0.0;
  int found = solve_modes(r, m);
  if (found <= 0) {
    m->complete = m->complete && found == 0;
    return;
  }
  for (int i = 0; i < v->n; i++) {
    u[i] = v->q[i] + kn_dot(v->n, v->W + (size_t)i * (size_t)v->n, r);
    size = fmax(size, fmax(fabs(v->q[i]), fmax(fabs(r[i]), fabs(u[i]))));
    real[i] = r[i] * v->d[i];
  }
  for (int b = 0; b < v->p->blocks; b++) worst = fmax(worst, violation(m, b, r, u));
  if (worst > 1e-7 * size) return;
  kn_judgement j = kn_problem_judge(v->p, real);
  if (j.error <= 1e-9 && j.scaled <= 1e-9)
    keep_motion(m, u);
  else
    m->complete = false; /* on the edge */
}

static void enumerate(modes* m) {
  int blocks = m->v->p->blocks, b = 0;
  while (b < blocks) {
    try_modes(m);
    for (b = 0; b < blocks && ++m->mode[b] == m->count[b]; b++) m->mode[b] = 0;
  }
}

/* ---- second solution, no solution ---- */

static bool solved(const kn_problem* p, const double* r) {
  kn_judgement j = kn_problem_judge(p, r);
  return j.error <= 1e-9 && j.scaled <= 1e-9;
}

/* Another motion, searched from random forces. */
static bool second_motion(view* v, const double* r, kn_solver_work* work) {
  const kn_problem* p = v->p;
  static const char* const methods[] = {"newton", "smooth", "proximal", "interior"};
  kn_rng rng = kn_rng_seed(5);
  kn_solve_settings settings = kn_solve_default();
  double size = 0.0, most_r = 0.0;
  settings.max_iterations = 300;
  settings.warm_start = settings.untimed = true;
  kn_problem_velocity(v->y, p, r);
  for (int i = 0; i < v->n; i++) {
    most_r = fmax(most_r, fabs(r[i] / v->d[i]));
    size = fmax(size, fmax(fabs(v->q[i]), fabs(v->y[i] * v->d[i])));
  }
  if (most_r == 0.0) most_r = size;
  for (int k = -1; k < STARTS; k++) { /* first: do no forces at all answer? */
    double *x = v->x, *u = v->s, differ = 0.0;
    double much = k < 0 ? 0.0 : kn_pow(10.0, kn_rng_range(&rng, -1.0, 1.0));
    settings.solver = methods[k & 3]; /* the driver would take r = 0 where it answers */
    for (int i = 0; i < v->n; i++) x[i] = k < 0 ? 0.0 : much * most_r * v->d[i] * kn_rng_normal(&rng);
    if (k >= 0 && kn_problem_solve(x, NULL, p, &settings, work) != KN_OK) continue;
    kn_problem_velocity(u, p, x);
    for (int i = 0; i < v->n; i++) differ = fmax(differ, fabs((u[i] - v->y[i]) * v->d[i]));
    if (differ > apart * size && solved(p, x)) return true;
  }
  return false;
}

/* y (scaled, by rows; zero in tangential ones) shows that no r in the sets gives admissible velocities. */
static bool is_farkas(const view* v, const double* y) {
  const kn_problem* p = v->p;
  int n = v->n;
  double total = 0.0, size = 0.0;
  for (int i = 0; i < n; i++) total += y[i] * v->q[i], size += fabs(y[i] * v->q[i]);
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    int rows = kn_set_rows(k->set);
    double c[3] = {0.0}, most = 0.0, y0 = y[k->row];
    if ((k->set == KN_SET_BOX && y0 != 0.0) || (k->set != KN_SET_FREE && y0 < 0.0)) return false;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < rows; j++) {
        double t = y[i] * v->W[(size_t)i * (size_t)n + (size_t)(k->row + j)];
        c[j] += t, most += fabs(t);
      }
    if (k->set == KN_SET_BOX) { /* the most that a bounded r can do */
      double bound = (c[0] > 0.0 ? k->hi : k->lo) / v->d[k->row], gain = c[0] * bound;
      if (fabs(c[0]) <= 1e-12 * most) continue;
      if (!(fabs(gain) < INFINITY)) return false;
      total += gain, size += fabs(gain);
      continue;
    }
    double t = rows == 3 ? sqrt(c[1] * c[1] + c[2] * c[2]) : rows == 2 ? fabs(c[1]) : 0.0;
    bool friction = rows > 1 && v->mu[b] > 0.0;
    if (!(c[0] <= 1e-12 * most) || (k->set == KN_SET_FREE && !(c[0] >= -1e-12 * most))) return false;
    if (friction && !(c[0] + (v->mu[b] < 1e8 ? v->mu[b] : 1e8) * t <= 1e-12 * most)) return false;
  }
  /* and for every q within 1e-10 of the largest entry: what a judged point may lack (lcp_certificate.c) */
  double unit = 0.0, sum = 0.0;
  for (int i = 0; i < n; i++) unit = fmax(unit, fabs(v->q[i])), sum += fabs(y[i]);
  return size > 0.0 && total < -1e-9 * size && total < -1e-10 * unit * sum;
}

/* The problem without friction has a Farkas vector that holds with friction too. */
static bool infeasible(view* v) {
  const kn_problem* p = v->p;
  double *M = v->G, *q = v->x, *z = v->y, *lo = v->H, *hi = v->H + v->n;
  int m = p->blocks;
  for (int i = 0; i < m; i++) {
    const kn_block* k = &p->block[i];
    const double* w = v->W + (size_t)k->row * (size_t)v->n;
    double d = v->d[k->row];
    q[i] = v->q[k->row];
    lo[i] = k->set == KN_SET_FREE ? -INFINITY : k->set == KN_SET_BOX ? k->lo / d : 0.0;
    hi[i] = k->set == KN_SET_BOX ? k->hi / d : INFINITY;
    for (int j = 0; j < m; j++) M[(size_t)i * (size_t)m + (size_t)j] = w[p->block[j].row];
  }
  kn_lcp lcp = {m, M, q, lo, hi};
  const double* vector;
  if (m == 0 || kn_lcp_solve(z, NULL, &lcp, NULL, v->lcp) != KN_NO_SOLUTION) return false;
  if (kn_lcp_certificate(&vector, v->lcp) != KN_CERTIFICATE_FARKAS || !vector) return false;
  for (int i = 0; i < m; i++) z[i] = vector[i];
  memset(v->s, 0, (size_t)v->n * sizeof *v->s);
  for (int i = 0; i < m; i++) v->s[p->block[i].row] = z[i];
  return is_farkas(v, v->s);
}

/* ---- the verdict ---- */

static kn_verdict_kind forces(view* v, kn_verdict* out, const double* r) {
  bool* fixed = (bool*)v->x; /* one byte each */
  if (kn_problem_determinate(fixed, NULL, &out->rank, v->p, r, v->lcp) != KN_OK) return KN_VERDICT_UNDECIDED;
  for (int b = 0; b < v->p->blocks; b++)
    if (!fixed[b]) return KN_VERDICT_MOTION_UNIQUE;
  return KN_VERDICT_UNIQUE;
}

static void by_modes(view* v, kn_verdict* out, const double* r) {
  modes m;
  if (!plane(&m, v)) return;
  enumerate(&m);
  if (m.motions > 0) out->exists = KN_ANSWER_YES;
  if (m.motions > 1) out->kind = KN_VERDICT_SEVERAL;
  out->within_rounding = !m.complete;
  if (!m.complete) return;
  out->solutions = m.motions;
  if (m.motions == 1 && r) out->kind = forces(v, out, r);
  if (m.motions > 0) return;
  out->exists = KN_ANSWER_NO, out->kind = KN_VERDICT_NONE, out->certificate = KN_CERTIFICATE_ENUMERATION;
}

static void decide(view* v, kn_verdict* out, const double* r, kn_solver_work* work) {
  scale(v);
  bool same = symmetric(v);
  int sign = definite(v, v->W);
  if (sign == 2) out->matrix_class = KN_CLASS_PD | KN_CLASS_P;
  if (sign) out->matrix_class |= KN_CLASS_PSD | KN_CLASS_P0 | KN_CLASS_COPOSITIVE;
  if (r && (sign == 2 || (sign && same)) && (apart_everywhere(v, r) || weak_friction(v))) {
    out->kind = forces(v, out, r);
    return;
  }
  by_modes(v, out, r);
  if (out->kind != KN_VERDICT_UNDECIDED) return;
  if (r && work && v->n <= START_ROWS && second_motion(v, r, work)) out->kind = KN_VERDICT_SEVERAL;
  if (r || !infeasible(v)) return;
  out->exists = KN_ANSWER_NO, out->kind = KN_VERDICT_NONE, out->certificate = KN_CERTIFICATE_FARKAS;
}

kn_status kn_problem_verdict(kn_verdict* verdict, const kn_problem* problem, const double* r,
                             kn_solver_work* work) {
  KN_REQUIRE(verdict != NULL);
  *verdict = (kn_verdict){.rank = -1, .solutions = -1};
  KN_TRY(kn_problem_check(problem));
  if (r && !solved(problem, r)) r = NULL;
  if (r) verdict->exists = KN_ANSWER_YES, verdict->certificate = KN_CERTIFICATE_SOLUTION;
  if (problem->rows == 0) verdict->kind = KN_VERDICT_UNIQUE, verdict->exists = KN_ANSWER_YES;
  if (problem->rows == 0 || problem->rows > MOST_ROWS) return KN_OK;
  if (kn_problem_tall(problem)) return KN_OK; /* friction with spin or rolling: undecided */
  view v = {.p = problem, .n = problem->rows};
  kn_arena measure = {0}, arena;
  take(&v, &measure);
  KN_TRY(kn_arena_create(&arena, measure.used));
  take(&v, &arena);
  kn_status status = kn_lcp_work_create(&v.lcp, v.n);
  if (status == KN_OK) decide(&v, verdict, r, work);
  if (verdict->kind != KN_VERDICT_UNDECIDED) verdict->within_rounding = false;
  kn_lcp_work_destroy(v.lcp);
  kn_arena_destroy(&arena);
  return status;
}
