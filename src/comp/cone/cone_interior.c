/* Interior point as a starter: robust on large and redundant problems, stopped early and finished by Newton.

   With P = diag(mu, 1, 1), x = P r and s = P^-1 y, y = u + mu|u_T| n, Coulomb's law says

     x, s ∈ K (Lorentz cone),   x·s = 0,   s - |s_T| e = P^-1 (W r + q),   e = (1, 0, 0).

   Newton on x ∘ s = sigma m e in Nesterov-Todd scaling T x = T^-1 s = l, slip term included by
   B = I - e t^T, t = s_T/|s_T|:

     T dx + T^-1 ds = c,                  c = l \ (sigma m e - l ∘ l)
     B ds - P^-1 W P^-1 dx = -R,          R = s - |s_T| e - P^-1 (W r + q)
     (W + P B T^2 P) dr = P (B T c + R),  ds = T c - T^2 dx

   with the scaling

     T   = b [w0 w1^T; w1 I + w1 w1^T/(1+w0)],   T^2 = b^2 (2 w w^T - J)
     w   = (s' + J x')/(2g),  x' = x/det(x)^1/2, s' alike,  g^2 = (1 + x'.s')/2,  b^4 = det s/det x.

   Lines: x1 = r - lo, x2 = hi - r with their own multipliers s1, s2 and u = s1 - s2. Cost of a step: one
   factorisation of W + P B T^2 P. Sources: Alizadeh, Goldfarb 2003; Acary, Armand, Nguyen 2023 for friction.
   Deviation: stopped early, because the slip term is not monotone and Newton on the modes ends it sooner. */
#include <math.h>
#include <string.h>

#include "comp/cone/driver.h"

typedef struct scaling {
  int n; /* rows: 1 … 3 */
  double w[3], b, l[3];
} scaling;

static double det(const double* x, int n) {
  double t = sqrt(x[1] * x[1] + (n > 2 ? x[2] * x[2] : 0.0));
  return (x[0] - t) * (x[0] + t);
}

static double dot(const double* a, const double* b, int n) {
  double s = a[0] * b[0];
  for (int i = 1; i < n; i++) s += a[i] * b[i];
  return s;
}

/* y = T x or T^-1 x (J T J / b^2). */
static void apply(double* y, const scaling* k, const double* x, bool inverse) {
  double sign = inverse ? -1.0 : 1.0, b = inverse ? 1.0 / k->b : k->b, t = 0.0;
  for (int i = 1; i < k->n; i++) t += k->w[i] * x[i];
  double along = x[0] + sign * t / (1.0 + k->w[0]);
  double y0 = k->w[0] * x[0] + sign * t;
  for (int i = 1; i < k->n; i++) y[i] = b * (x[i] + sign * k->w[i] * along);
  y[0] = b * y0;
}

static void scale_pair(scaling* k, const double* x, const double* s, int n) {
  double dx = sqrt(det(x, n)), ds = sqrt(det(s, n)), g = sqrt(0.5 * (1.0 + dot(x, s, n) / (dx * ds)));
  k->n = n;
  k->b = sqrt(ds / dx);
  for (int i = 0; i < n; i++) k->w[i] = (s[i] / ds + (i ? -1.0 : 1.0) * x[i] / dx) / (2.0 * g);
  apply(k->l, k, x, false);
}

/* l \ v */
static void divide(double* out, const double* l, const double* v, int n) {
  double t = 0.0;
  for (int i = 1; i < n; i++) t += l[i] * v[i];
  out[0] = (l[0] * v[0] - t) / det(l, n);
  for (int i = 1; i < n; i++) out[i] = (v[i] - out[0] * l[i]) / l[0];
}

/* c of the complementarity equation. */
static void target(double* c, const scaling* k, double centre) {
  double v[3] = {centre - dot(k->l, k->l, k->n), 0.0, 0.0};
  for (int i = 1; i < k->n; i++) v[i] = -2.0 * k->l[0] * k->l[i];
  divide(c, k->l, v, k->n);
}

/* Largest a <= 1 with x + a dx in the cone. */
static double reach(const double* x, const double* dx, int n) {
  double a = det(dx, n), b = dot(x, dx, 1), c = det(x, n);
  for (int i = 1; i < n; i++) b -= x[i] * dx[i];
  double step = dx[0] < 0.0 ? -x[0] / dx[0] : INFINITY; /* det(x + t dx) = a t^2 + 2 b t + c */
  double disc = b * b - a * c;
  if (disc >= 0.0) {
    double q = -(b + copysign(sqrt(disc), b)), t1 = q / a, t2 = c / q;
    if (t1 > 0.0 && t1 < step) step = t1;
    if (t2 > 0.0 && t2 < step) step = t2;
  }
  return step < 1.0 ? step : 1.0;
}

static bool is_line(const kn_cone_block* b) { return b->kind == KN_CONE_LINE || b->mu == 0.0; }

/* A frictionless contact is the line r_N >= 0 with r_T = 0. */
static double low(const kn_cone_block* b) { return b->kind == KN_CONE_LINE ? b->lo : 0.0; }
static double high(const kn_cone_block* b) { return b->kind == KN_CONE_LINE ? b->hi : INFINITY; }

static void to_cone(double* x, const kn_cone_block* b, const double* r) {
  x[0] = b->mu * r[0];
  for (int i = 1; i < b->rows; i++) x[i] = r[i];
}

static double line_start(const kn_cone_block* b, double size) {
  double lo = low(b), hi = high(b);
  if (lo > -INFINITY && hi < INFINITY) return 0.5 * (lo + hi);
  return lo > -INFINITY ? lo + size : hi < INFINITY ? hi - size : 0.0;
}

static void start(kn_drive* s, double* S, double share) {
  kn_cone* c = s->c;
  double size = 0.0;
  for (int i = 0; i < c->n; i++) size = fmax(size, share * fabs(c->q[i]));
  memset(c->r, 0, (size_t)c->ld * sizeof *c->r);
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    double *r = c->r + k->row, *y = S + 4 * (size_t)b;
    memset(y, 0, 3 * sizeof *y); /* the fourth: a frozen slip speed */
    if (is_line(k)) {
      r[0] = line_start(k, size);
      y[0] = low(k) > -INFINITY ? size * size / (r[0] - low(k)) : 0.0; /* every product the same */
      y[1] = high(k) < INFINITY ? size * size / (high(k) - r[0]) : 0.0;
    } else {
      r[0] = size / k->mu;
      y[0] = size;
    }
  }
  s->ops->velocity(c);
}

/* Sum of the products x.s and their number. */
static double gap(const kn_cone* c, const double* S, double* degree) {
  double sum = 0.0;
  *degree = 0.0;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    const double *r = c->r + k->row, *y = S + 4 * (size_t)b;
    if (is_line(k)) {
      if (low(k) > -INFINITY) sum += (r[0] - low(k)) * y[0], *degree += 1.0;
      if (high(k) < INFINITY) sum += (high(k) - r[0]) * y[1], *degree += 1.0;
    } else {
      double x[3];
      to_cone(x, k, r);
      sum += dot(x, y, k->rows);
      *degree += 1.0;
    }
  }
  return sum;
}

/* D and right-hand side of a line; D of tangential rows that must stay 0 is huge. */
static void line_system(double* D, double* g, const kn_cone_block* k, const double* r, const double* u,
                        const double* y, double centre) {
  memset(D, 0, 9 * sizeof *D);
  double x1 = r[0] - low(k), x2 = high(k) - r[0];
  double right = y[0] - y[1] - u[0];
  D[0] = 1e-12;
  if (x1 < INFINITY) D[0] += y[0] / x1, right += centre / x1 - y[0];
  if (x2 < INFINITY) D[0] += y[1] / x2, right += y[1] - centre / x2;
  g[0] = right;
  for (int i = 1; i < k->rows; i++) D[4 * i] = 1e30, g[i] = 0.0;
}

/* P B T^2 P and P (B T c + R). */
static void cone_system(double* D, double* g, const scaling* z, const kn_cone_block* k, const double* u,
                        const double* y, double centre, bool frozen) {
  int n = k->rows;
  double c[3], Tc[3], b2 = z->b * z->b, P[3] = {k->mu, 1.0, 1.0};
  double st = sqrt(y[1] * y[1] + (n > 2 ? y[2] * y[2] : 0.0)), t[3] = {0.0, 0.0, 0.0};
  for (int i = 1; i < n; i++) t[i] = st > 0.0 && !frozen ? y[i] / st : 0.0;
  target(c, z, centre);
  apply(Tc, z, c, false);
  double T2[9], R[3] = {y[0] - (frozen ? y[3] : st) - u[0] / k->mu, 0.0, 0.0};
  for (int i = 1; i < n; i++) R[i] = y[i] - u[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      T2[3 * i + j] = b2 * (2.0 * z->w[i] * z->w[j] - (i != j ? 0.0 : i ? -1.0 : 1.0));
  for (int j = 0; j < n; j++)
    for (int i = 1; i < n; i++) T2[j] -= t[i] * T2[3 * i + j]; /* B: first row minus t^T of the others */
  for (int i = 1; i < n; i++) Tc[0] -= t[i] * Tc[i];
  memset(D, 0, 9 * sizeof *D);
  for (int i = 0; i < n; i++) {
    g[i] = P[i] * (Tc[i] + R[i]);
    for (int j = 0; j < n; j++) D[3 * i + j] = P[i] * T2[3 * i + j] * P[j];
  }
}

/* Steps of the multipliers of a block for dr; returns the step length it allows. */
static double block_step(double* ds, const scaling* z, const kn_cone_block* k, const double* r,
                         const double* dr, const double* y, double centre) {
  double a = 1.0;
  ds[0] = ds[1] = ds[2] = ds[3] = 0.0;
  if (is_line(k)) {
    double x1 = r[0] - low(k), x2 = high(k) - r[0];
    if (x1 < INFINITY) {
      ds[0] = (centre - y[0] * (x1 + dr[0])) / x1;
      if (dr[0] < 0.0) a = fmin(a, -x1 / dr[0]);
      if (ds[0] < 0.0) a = fmin(a, -y[0] / ds[0]);
    }
    if (x2 < INFINITY) {
      ds[1] = (centre - y[1] * (x2 - dr[0])) / x2;
      if (dr[0] > 0.0) a = fmin(a, x2 / dr[0]);
      if (ds[1] < 0.0) a = fmin(a, -y[1] / ds[1]);
    }
    return a;
  }
  double x[3], dx[3], c[3], v[3];
  to_cone(x, k, r);
  to_cone(dx, k, dr);
  target(c, z, centre);
  apply(v, z, dx, false);
  for (int i = 0; i < k->rows; i++) v[i] = c[i] - v[i];
  apply(ds, z, v, false);
  return fmin(reach(x, dx, k->rows), reach(y, ds, k->rows));
}

static bool interior_step(kn_drive* s, double* S, double* D, double* g, double* dS, double centre,
                          bool frozen, double* length) {
  kn_cone* c = s->c;
  memset(g, 0, (size_t)c->ld * sizeof *g);
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    const double *r = c->r + k->row, *u = c->u + k->row, *y = S + 4 * (size_t)b;
    double x[3];
    scaling z;
    if (is_line(k)) {
      line_system(D + 9 * (size_t)b, g + k->row, k, r, u, y, centre);
      continue;
    }
    to_cone(x, k, r);
    scale_pair(&z, x, y, k->rows);
    cone_system(D + 9 * (size_t)b, g + k->row, &z, k, u, y, centre, frozen);
  }
  if (!s->ops->solve(c, D, g)) return false;
  double a = 1.0;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    const double *r = c->r + k->row, *y = S + 4 * (size_t)b;
    double x[3];
    scaling z = {0};
    to_cone(x, k, r);
    if (!is_line(k)) scale_pair(&z, x, y, k->rows);
    a = fmin(a, block_step(dS + 4 * (size_t)b, &z, k, r, g + k->row, y, centre));
  }
  a *= 0.95;
  if (!(a > 1e-8 && a < INFINITY)) return false;
  for (int i = 0; i < c->n; i++) c->r[i] += a * g[i];
  for (int i = 0; i < 4 * c->blocks; i++) S[i] += a * dS[i];
  s->ops->velocity(c);
  *length = a;
  return true;
}

/* Newton from here; the interior point is kept for going on. */
static bool finish(kn_drive* s, double* keep, const char* stage) {
  kn_cone* c = s->c;
  memcpy(keep, c->r, (size_t)c->ld * sizeof *keep);
  kn_newton_settings t = kn_newton_default(s);
  s->ops->sweep(c);
  if (kn_drive_newton(s, &t, stage)) return true;
  memcpy(c->r, keep, (size_t)c->ld * sizeof *keep);
  s->ops->velocity(c);
  return false;
}

/* Slip speeds of the present point, to be frozen in the next path, as the fourth number of every block's
   multipliers. */
static void freeze(const kn_cone* c, double* S) {
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    const double* u = c->u + k->row;
    double u2 = k->rows > 2 ? u[2] : 0.0;
    S[4 * (size_t)b + 3] = is_line(k) ? 0.0 : sqrt(u[1] * u[1] + u2 * u2);
  }
}

static void at_rest(const kn_cone* c, double* S) {
  for (int b = 0; b < c->blocks; b++) S[4 * (size_t)b + 3] = 0.0;
}

static bool central_from(kn_drive* s, int steps, double share, bool frozen) {
  kn_solver_work* w = s->w;
  double *S = w->interior_s, *dS = w->interior_ds, *D = w->interior_d, *g = w->center, degree, length = 1.0;
  start(s, S, share);
  double first = gap(s->c, S, &degree), m = first;
  for (int k = 0, stuck = 0;
       k < steps && stuck < 8 && degree > 0.0 && m > 1e-28 * first && !kn_drive_spent(s); k++) {
    double sigma = length > 0.8 ? 0.1 : length > 0.3 ? 0.3 : length > 0.05 ? 0.8 : 1.0;
    if (!interior_step(s, S, D, g, dS, sigma * m / degree, frozen, &length)) break;
    kn_drive_count(s, 1, 0);
    m = gap(s->c, S, &degree);
    if (!(m > 0.0 && m < INFINITY)) break;
    if (m < 1e-9 * first && kn_drive_accept(s, "central")) return true;
    stuck = length < 0.02 ? stuck + 1 : 0;
  }
  return false;
}

/* To the end of the central path: where contacts stick at the edge of their cones, x and s both vanish like
   the root of the gap, Newton's modes cycle, and this still converges. Judged as it goes. The slip term is
   not monotone: some paths jam where others do not. With the slip speeds frozen the problem is convex and the
   path never jams; at rest, where they are zero, its end is the answer. */
bool kn_drive_central(kn_drive* s, int steps) {
  static const double share[] = {1.0, 10.0, 0.1, 100.0};
  for (size_t k = 0; k < sizeof share / sizeof *share; k++)
    if (central_from(s, steps, share[k], false)) return true;
  at_rest(s->c, s->w->interior_s);
  for (int k = 0; k < 3; k++) {
    if (central_from(s, steps, 1.0, true)) return true;
    freeze(s->c, s->w->interior_s);
  }
  return false;
}

bool kn_drive_interior(kn_drive* s, int steps) {
  kn_solver_work* w = s->w;
  double *S = w->interior_s, *dS = w->interior_ds, *D = w->interior_d, *g = w->center, *keep = w->q0, degree,
         length = 1.0;
  start(s, S, 1.0);
  double first = gap(s->c, S, &degree), next = 1e-3, m = first;
  for (int k = 0; k < steps && degree > 0.0 && !kn_drive_spent(s); k++) {
    double sigma = length > 0.8 ? 0.1 : length > 0.3 ? 0.3 : 0.8;
    if (!interior_step(s, S, D, g, dS, sigma * m / degree, false, &length)) break;
    kn_drive_count(s, 1, 0);
    m = gap(s->c, S, &degree);
    if (!(m > 0.0 && m < INFINITY)) break;
    if (m > next * first) continue;
    if (finish(s, keep, "interior")) return true;
    next *= 0.03;
    if (next < 1e-12) break;
  }
  return finish(s, keep, "interior");
}
