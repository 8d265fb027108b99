/* Friction with spin and rolling: cones |r_T| <= mu r_N whose r_T has one to five components (Leine, Glocker 2003:
   the limit surface of a contact as a ball of forces and moments). Dense, for any mixture of sets.

   Newton's method on Alart and Curnier's function, y = r - rho u:

     open    y_N <= 0               F = r
     stick   |y_T| <= mu y_N        F = rho u
     slip    otherwise              F_N = rho u_N,  F_T = r_T - mu y_N y_T/|y_T|

   in proximal rounds (W + eps I around the last answer, eps from round to round smaller), so that redundant contacts
   make no singular system; sweeps of damped projections where Newton finds no way. The answer is judged on the
   original data as any other. Called by the driver (stage 6). */
#include <math.h>
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/driver.h"
#include "math/dense.h"

enum { MOST = KN_SET_ROWS_MOST };

typedef struct ball {
  kn_drive* s;
  kn_cone* c;
  double *F, *J, *dx; /* n, n x n row-major, n */
  double *center, *q; /* of the proximal round; offset of the problem */
  int* perm;
} ball;

static double length(const double* x, int rows) {
  double sum = 0.0;
  for (int i = 1; i < rows; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* F of one block; D = dF/dr and E = dF/du (rows x rows each) when wanted. */
static void block_map(double* F, double* D, double* E, const kn_cone_block* b, const double* r,
                      const double* u) {
  int n = b->rows;
  if (D) memset(D, 0, sizeof(double[MOST * MOST])), memset(E, 0, sizeof(double[MOST * MOST]));
  if (n == 1) {
    double y = r[0] - u[0], at = y < b->lo ? b->lo : b->hi;
    bool inside = y >= b->lo && y <= b->hi;
    F[0] = inside ? u[0] : r[0] - at;
    if (D) D[0] = !inside, E[0] = inside;
    return;
  }
  double y[MOST], h = b->mu * (r[0] - u[0]);
  for (int i = 0; i < n; i++) y[i] = r[i] - u[i];
  double t = length(y, n);
  bool open = !(y[0] > 0.0), stick = !open && t <= h;
  for (int i = 0; i < n; i++) {
    F[i] = open ? r[i] : u[i];
    if (D) D[i * MOST + i] = open, E[i * MOST + i] = !open;
  }
  if (open || stick) return;
  for (int i = 1; i < n; i++) {
    double e = y[i] / t, g = h / t;
    F[i] = r[i] - h * e;
    if (!D) continue;
    D[i * MOST] = -b->mu * e, E[i * MOST] = b->mu * e, E[i * MOST + i] = 0.0;
    for (int k = 1; k < n; k++) {
      double across = g * ((i == k) - e * y[k] / t); /* of the unit vector y_T/|y_T|, times h */
      D[i * MOST + k] = (i == k) - across, E[i * MOST + k] = across;
    }
  }
}

/* Sum of squares of F at c->r, c->u; the largest entry relative to the largest of q, r, u in *most. */
static double residual(ball* a, double* most) {
  const kn_cone* c = a->c;
  double sum = 0.0, size = 0.0, worst = 0.0;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    double* F = a->F + k->row;
    block_map(F, NULL, NULL, k, c->r + k->row, c->u + k->row);
    for (int i = 0; i < k->rows; i++) sum += F[i] * F[i], worst = kn_max(worst, fabs(F[i]));
  }
  for (int i = 0; i < c->n; i++)
    size = kn_max(size, kn_max(fabs(a->q[i]), kn_max(fabs(c->r[i]), fabs(c->u[i]))));
  if (most) *most = size > 0.0 ? worst / size : 0.0;
  return sum;
}

/* J = D + E (W + shift + damp): what is added to the step's matrix alone changes no answer, and redundant contacts
   have a step then. */
static bool newton_direction(ball* a, double damp) {
  const kn_cone* c = a->c;
  int n = c->n;
  double D[MOST * MOST], E[MOST * MOST];
  memset(a->J, 0, (size_t)n * (size_t)n * sizeof(double));
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    block_map(a->F + k->row, D, E, k, c->r + k->row, c->u + k->row);
    for (int i = 0; i < k->rows; i++) {
      double* row = a->J + (size_t)(k->row + i) * (size_t)n;
      for (int l = 0; l < k->rows; l++) {
        double e = E[i * MOST + l];
        if (e != 0.0)
          for (int j = 0; j < n; j++) row[j] += e * c->W[(size_t)j * (size_t)c->ld + (size_t)(k->row + l)];
        row[k->row + l] += D[i * MOST + l] + e * (c->shift + damp);
      }
    }
  }
  if (kn_lu_factor(n, a->J, n, a->perm) != n) return false;
  kn_lu_solve(n, a->dx, a->J, n, a->perm, a->F);
  for (int i = 0; i < n; i++)
    if (!isfinite(a->dx[i])) return false;
  return true;
}

/* Full steps first; a step that does not lessen the sum of squares is halved. Returns the last relative residual. */
static double newton(ball* a, int steps, double goal) {
  kn_cone* c = a->c;
  double most, sum = residual(a, &most);
  for (int k = 0; k < steps && most > goal; k++) {
    double share = 1.0, before = sum;
    if (!newton_direction(a, kn_max(1e-12, kn_min(1e-3 * most, 1e-6)))) break;
    memcpy(c->try_r, c->r, (size_t)c->n * sizeof(double));
    kn_drive_count(a->s, 1, 0);
    for (int half = 0; half < 12; half++, share *= 0.5) {
      for (int i = 0; i < c->n; i++) c->r[i] = c->try_r[i] - share * a->dx[i];
      a->s->ops->velocity(c);
      sum = residual(a, &most);
      if (sum < (1.0 - 1e-4 * share) * before) break;
    }
    if (!(sum < before)) { /* the shortest step is taken anyway: kinks are left behind like that */
      if (!(sum < 4.0 * before)) break;
    }
  }
  return most;
}

/* r <- P(r - rho (u + mu |u_T| n)) block by block with the newest u: slow, never lost. */
static void sweep(ball* a) {
  kn_cone* c = a->c;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    int n = k->rows;
    double *r = c->r + k->row, *u = c->u + k->row, x[MOST] = {0}, d[MOST], size = c->shift;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        size += fabs(c->W[(size_t)(k->row + j) * (size_t)c->ld + (size_t)(k->row + i)]) / n;
    double rho = size > 0.0 ? 1.0 / size : 1.0;
    for (int i = 0; i < n; i++) x[i] = r[i] - rho * u[i];
    if (n == 1) {
      x[0] = x[0] < k->lo ? k->lo : x[0] > k->hi ? k->hi : x[0];
    } else {
      x[0] -= rho * k->mu * length(u, n);
      double t = length(x, n), s = x[0], f = 1.0;
      if (k->mu * t <= -x[0])
        s = f = 0.0;
      else if (t > k->mu * x[0])
        s = (x[0] + k->mu * t) / (1.0 + k->mu * k->mu), f = k->mu * s / t;
      x[0] = s;
      for (int i = 1; i < n; i++) x[i] *= f;
    }
    for (int i = 0; i < n; i++) d[i] = x[i] - r[i], r[i] = x[i];
    for (int j = 0; j < n; j++) {
      const double* w = c->W + (size_t)(k->row + j) * (size_t)c->ld;
      for (int i = 0; i < c->n && d[j] != 0.0; i++) c->u[i] += w[i] * d[j];
      u[j] += c->shift * d[j];
    }
  }
}

/* The proximal problem around the present point: W + eps I, q - eps r. */
static void around(ball* a, double eps) {
  kn_cone* c = a->c;
  memcpy(a->center, c->r, (size_t)c->n * sizeof(double));
  c->shift = eps;
  for (int i = 0; i < c->n; i++) c->q[i] = a->q[i] - eps * a->center[i];
  a->s->ops->velocity(c);
}

static bool original(ball* a, const char* stage) {
  kn_cone* c = a->c;
  c->shift = 0.0;
  memcpy(c->q, a->q, (size_t)c->n * sizeof(double));
  a->s->ops->velocity(c);
  return kn_drive_accept(a->s, stage);
}

/* Rounds from the present point; eps falls while they succeed and grows where Newton finds no way. */
static bool rounds(ball* a, double eps, int count, int sweeps) {
  for (int k = 0; k < count; k++) {
    around(a, eps);
    for (int i = 0; i < sweeps; i++) sweep(a);
    double most = newton(a, 30, 1e-15);
    for (int i = 0; i < 20 * sweeps + 20 && most > 1e-8; i++) sweep(a);
    if (most > 1e-8) most = newton(a, 30, 1e-15);
    if (original(a, "ball")) return true;
    if (most <= 1e-8 && newton(a, 8, 1e-15) < 1e-3 && original(a, "ball"))
      return true; /* the problem itself */
    eps = most <= 1e-8 ? kn_max(0.1 * eps, 1e-8) : kn_min(10.0 * eps, 1.0);
  }
  return false;
}

static bool spent(const kn_drive* s, int most) { return s->iterations >= most || kn_drive_spent(s); }

void kn_drive_ball(kn_drive* s) {
  kn_cone* c = s->c;
  kn_solver_work* w = s->w;
  int most = s->settings->max_iterations ? s->settings->max_iterations : 2000;
  ball a = {.s = s,
            .c = c,
            .F = c->spare,
            .J = c->A,
            .dx = c->column,
            .center = w->center,
            .q = w->q0,
            .perm = w->perm};
  if (c->sparse) return; /* dense_only */
  memcpy(a.q, c->q, (size_t)c->n * sizeof(double));
  memcpy(w->first, c->r, (size_t)c->n * sizeof(double));
  if (s->settings->warm_start && original(&a, "ball")) return;
  newton(&a, 12, 1e-15); /* from the last answer, as it is */
  if (original(&a, "ball") || kn_drive_smoothed(s)) return;
  memcpy(c->r, w->first, (size_t)c->n * sizeof(double));
  if (rounds(&a, 1e-4, 8, 3) || spent(s, most)) return;
  if (kn_max(s->best.error, s->best.scaled) <= s->settings->enough) return; /* only slow ways are left */
  for (int k = 0; k < 3; k++) { /* from nothing, with ever stronger terms */
    kn_cone_start(c, NULL);
    s->ops->velocity(c);
    if (rounds(&a, k == 0 ? 1e-3 : k == 1 ? 0.1 : 1.0, 40, 5 + 20 * k) || spent(s, most)) return;
  }
  original(&a, "ball");
}
