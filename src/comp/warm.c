/* A warm start whose blocks all stay what they are: open, sticking, or a line inside or at its bounds. Then
   the active rows a obey u_a = W_aa r_a + c_a = 0, one symmetric system:

     (W_aa + eps D) dr = -u_a,  D = diag W,  twice with one factor,

   proximal steps as in Newton's method of cone_kernel.h: dependent rows are ordinary, the second step leaves
   eps² of the first residual, and r stays next to the guess. Sliding contacts and everything that the judge
   does not accept go to the driver. */
#include <math.h>
#include <string.h>

#include "comp/driver.h"
#include "math/dense.h"

enum { MOST_ROWS = 96 };

static const double eps = 1e-8;

typedef struct active {
  int n, row[MOST_ROWS];
} active;

/* Marks the rows of a one-row block, or fixes its value at a bound. */
static void line(active* a, double* r, const kn_block* b, double u, double w) {
  double lo = b->set == KN_SET_FREE ? -INFINITY : b->set == KN_SET_BOX ? b->lo : 0.0;
  double hi = b->set == KN_SET_BOX ? b->hi : INFINITY, y = w > 0.0 ? *r - u / w : *r;
  if (y > lo && y < hi)
    a->row[a->n++] = b->row;
  else
    *r = y <= lo ? lo : hi;
}

/* False when the contact slides. Compare cone_kernel.h, classify_cone: rho = 1 in scaled units. */
static bool cone(active* a, double* r, const kn_block* b, const double* u, const double* w, int n, int rows) {
  double wn = w[0], wt = rows == 3 ? 0.5 * (w[n + 1] + w[2 * n + 2]) : w[n + 1];
  if (!(wn > 0.0 && wt > 0.0)) return false;
  double h = r[0] - u[0] / wn;
  if (!(h > 0.0)) {
    for (int i = 0; i < rows; i++) r[i] = 0.0;
    return true;
  }
  double y1 = r[1] - u[1] / wt, y2 = rows == 3 ? r[2] - u[2] / wt : 0.0, radius = b->mu * h;
  if (b->mu == 0.0 || !(y1 * y1 + y2 * y2 <= radius * radius)) return false;
  for (int i = 0; i < rows; i++) a->row[a->n++] = b->row + i;
  return true;
}

static bool classify(active* a, double* r, const kn_problem* p, const double* u) {
  int n = p->rows;
  a->n = 0;
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    const double* w = p->W + (size_t)k->row * (size_t)n + k->row;
    int rows = kn_set_rows(k->set);
    if (rows == 1)
      line(a, r + k->row, k, u[k->row], w[0]);
    else if (!cone(a, r + k->row, k, u + k->row, w, n, rows))
      return false;
  }
  return true;
}

/* u of the active rows only, gathered. */
static void active_velocity(double* u, const active* a, const kn_problem* p, const double* r) {
  int n = p->rows;
  if (a->n == n) {
    kn_gemv(n, n, u, p->W, n, r);
    for (int i = 0; i < n; i++) u[i] += p->q[i];
    return;
  }
  for (int i = 0; i < a->n; i++) u[i] = p->q[a->row[i]] + kn_dot(n, p->W + (size_t)a->row[i] * (size_t)n, r);
}

static void active_matrix(double* A, int ld, const active* a, const kn_problem* p) {
  int n = p->rows;
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, p->W[(size_t)i * (size_t)n + i]);
  for (int i = 0; i < a->n; i++) {
    const double* w = p->W + (size_t)a->row[i] * (size_t)n;
    double* out = A + (size_t)i * (size_t)ld;
    if (a->n == n)
      memcpy(out + i, w + i, (size_t)(n - i) * sizeof *out);
    else
      for (int j = i; j < a->n; j++) out[j] = w[a->row[j]];
    out[i] += eps * fmax(w[a->row[i]], 1e-6 * most);
  }
}

/* Impulses that mostly cancel each other: their own responses are far above every velocity of the problem. */
static bool moderate(const double* x, const kn_problem* p) {
  double velocity = 0.0, response = 0.0;
  for (int i = 0; i < p->rows; i++) {
    velocity = fmax(velocity, fabs(p->q[i]));
    response = fmax(response, fabs(x[i]) * p->W[(size_t)i * (size_t)p->rows + (size_t)i]);
  }
  return response <= 1e2 * velocity;
}

bool kn_warm_answer(double* r, kn_judgement* judgement, const kn_problem* p,
                    const kn_solve_settings* settings, kn_solver_work* w) {
  int n = p->rows;
  if (!p->W || n > MOST_ROWS || n > w->dense_rows) return false;
  active a;
  double *x = w->point, *u = w->first, *A = w->cone.A;
  memcpy(x, r, (size_t)n * sizeof *x);
  kn_gemv(n, n, u, p->W, n, x);
  for (int i = 0; i < n; i++) u[i] += p->q[i];
  if (!classify(&a, x, p, u)) return false;
  int ld = (a.n + 7) & ~7;
  active_matrix(A, ld, &a, p);
  if (kn_cholesky_factor(a.n, A, ld, 0.0) < a.n) return false;
  for (int step = 0; step < 2; step++) {
    active_velocity(u, &a, p, x);
    kn_cholesky_solve(a.n, u, A, ld, u);
    for (int i = 0; i < a.n; i++) x[a.row[i]] -= u[i];
  }
  if (!moderate(x, p)) return false;
  *judgement = kn_problem_judge(p, x);
  if (!(judgement->error <= settings->tol && judgement->scaled <= settings->tol)) return false;
  memcpy(r, x, (size_t)n * sizeof *r);
  return true;
}
