/* Fallbacks that solve a chain of better conditioned problems W + eps I.

   Proximal point (Rockafellar 1976): 0 ∈ F(r) + eps (r - r_k), whose fixed point solves the problem itself;
   eps falls after a success and rises after a failure. */
#include <math.h>
#include <string.h>

#include "comp/cone/driver.h"

/* Shifted problem around centre x (NULL: 0), r kept. */
static void shift_to(kn_drive* s, double eps, const double* x) {
  kn_cone* c = s->c;
  c->shift = eps;
  for (int i = 0; i < c->ld; i++) c->q[i] = s->w->q0[i] - (x ? eps * x[i] : 0.0);
  s->ops->velocity(c);
}

/* Sweeps and Newton on the shifted problem; true when it is solved. */
static bool inner(kn_drive* s, int sweeps, double tol) {
  kn_newton_settings t = kn_newton_default(s);
  kn_cone_residual f = {0};
  t.tol = tol;
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < sweeps << k; i++) s->ops->sweep(s->c);
    kn_drive_count(s, 0, sweeps << k);
    t.halvings = k ? 6 : 0;
    kn_drive_count(s, s->ops->newton(s->c, &t, &f), 0);
    if (f.most <= tol * f.size) return true;
  }
  return false;
}

/* Newton on the problem itself from the current point; the point is kept when it fails. */
static bool direct(kn_drive* s, const char* stage) {
  size_t bytes = (size_t)s->c->ld * sizeof(double);
  memcpy(s->w->point, s->c->r, bytes);
  double* keep = s->w->diagonal; /* no longer needed */
  memcpy(keep, s->c->r, bytes);
  shift_to(s, 0.0, NULL);
  kn_newton_settings t = kn_newton_default(s);
  t.max_steps = 8, t.stall = 4;
  if (kn_drive_newton(s, &t, stage)) return true;
  memcpy(s->c->r, keep, bytes);
  return false;
}

static double distance(const kn_drive* s, const double* x) {
  double most = 0.0, size = 0.0;
  for (int i = 0; i < s->c->n; i++) {
    most = fmax(most, fabs(s->c->r[i] - x[i]));
    size = fmax(size, fabs(x[i]));
  }
  return size > 0.0 ? most / size : most;
}

bool kn_drive_proximal(kn_drive* s, double eps, int sweeps, int rounds) {
  kn_solver_work* w = s->w;
  size_t bytes = (size_t)s->c->ld * sizeof(double);
  memcpy(w->q0, s->c->q, bytes);
  bool done = false;
  for (int k = 0; k < rounds && !done && eps < 1e3 && !kn_drive_spent(s); k++) {
    memcpy(w->center, s->c->r, bytes);
    shift_to(s, eps, w->center);
    if (inner(s, sweeps, s->inner)) {
      if (eps * distance(s, w->center) < 1e-2) done = direct(s, "proximal");
      eps = fmax(0.3 * eps, 1e-10);
    } else {
      memcpy(s->c->r, w->center, bytes);
      eps *= 10.0;
    }
  }
  if (!done) shift_to(s, 0.0, NULL);
  return done;
}

/* One round of kn_drive_settle: the problem with W + eps I around the present point, to `tol`; then r, u and
   q of the problem itself again. u is the same in both at the centre, so nothing is multiplied here. */
static bool settle_round(kn_drive* s, double eps, double tol) {
  kn_cone* c = s->c;
  const double *x = s->w->center, *q0 = s->w->q0;
  size_t bytes = (size_t)c->ld * sizeof(double);
  kn_newton_settings t = kn_newton_default(s);
  kn_cone_residual f;
  memcpy(s->w->center, c->r, bytes);
  c->shift = eps;
  for (int i = 0; i < c->ld; i++) c->q[i] = q0[i] - eps * x[i];
  s->ops->sweep(c);
  t.tol = tol;
  t.rho = 3.0; /* 5 % fewer steps than with 1 */
  kn_drive_count(s, s->ops->newton(c, &t, &f), 1);
  c->shift = 0.0;
  memcpy(c->q, q0, bytes);
  if (f.most <= tol * f.size) {
    for (int i = 0; i < c->ld; i++) c->u[i] -= eps * (c->r[i] - x[i]);
    return true;
  }
  memcpy(c->r, x, bytes);
  s->ops->velocity(c);
  return false;
}

/* Do the last two rounds go the same way? Keeps the present one in `last`. */
static bool same_way(double* last, const kn_drive* s) {
  double here = 0.0, there = 0.0, both = 0.0;
  for (int i = 0; i < s->c->n; i++) {
    double d = s->c->r[i] - s->w->center[i];
    here += d * d, there += last[i] * last[i], both += d * last[i];
    last[i] = d;
  }
  return both > 0.8 * sqrt(here * there);
}

/* Proximal rounds for heaps, from the answer of the step before. The nearest of many answers is wanted: the
   next step then starts close to its own. Far from it no round need be exact. Where contacts have to give way
   one after the other until the heap carries itself, r has far to go along directions that hardly move
   anything: rounds that go the same way are prolonged. */
bool kn_drive_settle(kn_drive* s, double eps, int rounds) {
  double *last = s->w->diagonal, beta = 0.0; /* the diagonal is no longer needed */
  memcpy(s->w->q0, s->c->q, (size_t)s->c->ld * sizeof(double));
  memset(last, 0, (size_t)s->c->n * sizeof(double));
  kn_cone_residual f = s->ops->residual(s->c, 1.0);
  double now = f.most / f.size, least = now;
  for (int k = 0, wait = 0; k < rounds && eps < 1e3 && !kn_drive_spent(s); k++) {
    if (!settle_round(s, eps, fmax(0.2 * s->tol, 0.3 * fmin(now, 1e-2)))) {
      eps *= 3.0, wait = 3;
      continue;
    }
    double before = now;
    f = s->ops->residual(s->c, 1.0);
    now = f.most / f.size;
    if (now < least) {
      least = now;
      if (kn_drive_accept(s, "settle")) return true;
    }
    bool on = same_way(last, s) && k > 0 && now > 0.2 * before;
    beta = !on ? 0.0 : beta > 0.0 ? fmin(2.0 * beta, 8.0) : 1.0;
    if (on) {
      for (int i = 0; i < s->c->n; i++) s->c->r[i] += beta * last[i];
      s->ops->velocity(s->c);
    }
    if (wait > 0)
      wait--;
    else
      eps = fmax(0.5 * eps, 1e-10);
  }
  return false;
}
