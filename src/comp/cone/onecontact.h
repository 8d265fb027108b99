/* Exact solution of one contact: u = A r + b, Coulomb, A the contact's own block (rows n, t1, t2).

   b_N >= 0: open, r = 0. Otherwise u_N = 0 gives r_N = -(b_N + a_NT r_T)/a_NN and u_T = S r_T + s with the
   Schur complement S = A_TT - a_TN a_NT/a_NN, s = b_T - a_TN b_N/a_NN. Sticking r_T = -S^-1 s holds if |r_T|
   <= mu r_N. Otherwise u_T = -a r_T, r_T = -(S + a)^-1 s, and a > 0 is the root of g(a) = mu r_N/|r_T| - 1,
   nearly linear in a: Newton with a bracket (g < 0 at 0, g > 0 for large a). */
#pragma once

#include <math.h>

typedef struct slip_data {
  double s11, s12, s21, s22, s1, s2; /* S, s */
  double b, a1, a2, inv;             /* b_N, a_NT, 1/a_NN */
  double mu;
} slip_data;

static inline double slip_g(const slip_data* p, double a, double* slope, double r[3]) {
  double m11 = p->s11 + a, m22 = p->s22 + a, inv = 1.0 / (m11 * m22 - p->s12 * p->s21);
  r[1] = -(m22 * p->s1 - p->s12 * p->s2) * inv;
  r[2] = -(m11 * p->s2 - p->s21 * p->s1) * inv;
  double e1 = -(m22 * r[1] - p->s12 * r[2]) * inv, e2 = -(m11 * r[2] - p->s21 * r[1]) * inv; /* dr_T/da */
  r[0] = -(p->b + p->a1 * r[1] + p->a2 * r[2]) * p->inv;
  double e0 = -(p->a1 * e1 + p->a2 * e2) * p->inv;
  double t2 = r[1] * r[1] + r[2] * r[2], it = p->mu / sqrt(t2);
  *slope = it * (e0 - r[0] * (r[1] * e1 + r[2] * e2) / t2);
  return r[0] * it - 1.0;
}

/* a_out: the slip parameter, in: guess. Returns with |r_T| = mu r_N exactly up to rounding. */
static inline void slip_solve(const slip_data* p, double* a_out, double r[3]) {
  double lo = 0.0, hi = INFINITY, a = *a_out;
  for (int i = 0; i < 60; i++) {
    double slope, g = slip_g(p, a, &slope, r);
    if (fabs(g) <= 4e-15) break;
    if (g < 0.0)
      lo = a;
    else
      hi = a; /* NaN: too large or singular, shrink */
    double next = a - g / slope;
    if (!(next > lo && next < hi)) next = hi < INFINITY ? 0.5 * (lo + hi) : 2.0 * a + p->s11 + p->s22 + 1e-3;
    if (next == a || fabs(next - a) <= 1e-16 * a) break;
    a = next;
  }
  *a_out = a;
}

/* A row-major 3 x 3. */
static inline void disc_solve(double r[3], double* slip, const double A[9], const double b[3], double mu) {
  r[0] = r[1] = r[2] = 0.0;
  if (!(b[0] < 0.0) || !(A[0] > 0.0)) return;
  double inv = 1.0 / A[0];
  if (mu == 0.0) {
    r[0] = -b[0] * inv;
    return;
  }
  double c1 = A[3] * inv, c2 = A[6] * inv;
  slip_data p = {A[4] - c1 * A[1],
                 A[5] - c1 * A[2],
                 A[7] - c2 * A[1],
                 A[8] - c2 * A[2],
                 b[1] - c1 * b[0],
                 b[2] - c2 * b[0],
                 b[0],
                 A[1],
                 A[2],
                 inv,
                 mu};
  double det = p.s11 * p.s22 - p.s12 * p.s21;
  if (det > 1e-14 * p.s11 * p.s22 && p.s11 > 0.0) {
    double id = 1.0 / det;
    r[1] = -(p.s22 * p.s1 - p.s12 * p.s2) * id;
    r[2] = -(p.s11 * p.s2 - p.s21 * p.s1) * id;
    r[0] = -(p.b + p.a1 * r[1] + p.a2 * r[2]) * inv;
    if (r[0] >= 0.0 && r[1] * r[1] + r[2] * r[2] <= mu * mu * r[0] * r[0]) return;
  } else if (p.s1 == 0.0 && p.s2 == 0.0) {
    r[0] = -b[0] * inv;
    return;
  }
  if (!(*slip > 0.0)) *slip = 0.1 * (fabs(p.s11) + fabs(p.s22)) + 1e-12;
  slip_solve(&p, slip, r);
  if (!(r[0] >= 0.0 && r[0] < INFINITY)) r[0] = r[1] = r[2] = 0.0;
}

/* A row-major 2 x 2. The slip sense is that of -s. */
static inline void flat_solve(double r[2], const double A[4], const double b[2], double mu) {
  r[0] = r[1] = 0.0;
  if (!(b[0] < 0.0) || !(A[0] > 0.0)) return;
  r[0] = -b[0] / A[0];
  if (mu == 0.0) return;
  double c = A[2] / A[0], S = A[3] - c * A[1], s = b[1] - c * b[0];
  if (s == 0.0) return;
  if (S > 0.0) {
    r[1] = -s / S;
    r[0] = -(b[0] + A[1] * r[1]) / A[0];
    if (r[0] >= 0.0 && fabs(r[1]) <= mu * r[0]) return;
  }
  double sense = s > 0.0 ? -mu : mu, k = A[0] + sense * A[1];
  if (!(k > 0.0) && S > 0.0) k = A[0]; /* several or no answers of this contact alone: a frictionless guess */
  r[0] = -b[0] / k;
  r[1] = sense * r[0];
  if (!(r[0] < INFINITY)) r[0] = r[1] = 0.0;
}
