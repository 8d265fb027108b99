/* Fallbacks that solve a chain of better conditioned problems W + eps I.

   Proximal point (Rockafellar 1976): 0 ∈ F(r) + eps (r - r_k), whose fixed point solves the problem itself;
   eps falls after a success and rises after a failure. Tikhonov homotopy: centre 0, eps -> 0, each answer
   starting the next. */
#include <math.h>
#include <string.h>

#include "comp/driver.h"

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
    s->iterations += sweeps << k;
    t.halvings = k ? 6 : 0;
    s->iterations += s->ops->newton(s->c, &t, &f);
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
  for (int k = 0; k < rounds && !done && eps < 1e3; k++) {
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

bool kn_drive_homotopy(kn_drive* s) {
  kn_solver_work* w = s->w;
  size_t bytes = (size_t)s->c->ld * sizeof(double);
  memcpy(w->q0, s->c->q, bytes);
  memset(s->c->r, 0, bytes);
  memset(w->center, 0, bytes);
  double eps = 0.1, good = 1.0, factor = 0.1;
  bool done = false;
  for (int k = 0; k < 60 && !done && eps > 1e-11; k++) {
    memcpy(s->c->r, w->center, bytes);
    shift_to(s, eps, NULL);
    if (inner(s, 5, 1e-9)) {
      memcpy(w->center, s->c->r, bytes);
      good = eps;
      if (eps < 1e-2) done = direct(s, "homotopy");
      if (factor < 0.1) factor = 0.1;
    } else {
      factor = sqrt(factor);
      if (factor > 0.97) break;
    }
    eps = good * factor;
  }
  if (!done) {
    memcpy(s->c->r, w->center, bytes);
    shift_to(s, 0.0, NULL);
  }
  return done;
}
