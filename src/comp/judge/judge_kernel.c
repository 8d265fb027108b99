/* The judge's product and its map of many contacts, always the same
   sixteen partial sums of a row and the same tree above them, whatever KN_W; contacts are lanes that never
   meet. */
#include "base/extreme.h"
#include "base/isa.h"

#include <math.h>
#include <stddef.h>

#include "comp/judge/judge.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

enum { LANES = 16, VECTORS = LANES / KN_W };

typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));

/* Sixteen lanes to four, element-wise: (s_i + s_i+8) + (s_i+4 + s_i+12). */
static inline kn_vec4 four(const kn_vec* s) {
#if KN_W == 8
  kn_vec a = s[0] + s[1];
  kn_vec4 lo = __builtin_shufflevector(a, a, 0, 1, 2, 3);
  return lo + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#elif KN_W == 4
  return (s[0] + s[2]) + (s[1] + s[3]);
#else
  kn_vec lo = (s[0] + s[4]) + (s[2] + s[6]), hi = (s[1] + s[5]) + (s[3] + s[7]);
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3);
#endif
}

/* (s0 + s1) + (s2 + s3) of four rows. */
static inline kn_vec4 sums(const kn_vec4* s) {
  kn_vec4 ab =
      __builtin_shufflevector(s[0], s[1], 0, 4, 2, 6) + __builtin_shufflevector(s[0], s[1], 1, 5, 3, 7);
  kn_vec4 cd =
      __builtin_shufflevector(s[2], s[3], 0, 4, 2, 6) + __builtin_shufflevector(s[2], s[3], 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

enum { AT_ONCE = KN_W == 8 ? 4 : KN_W == 4 ? 2 : 1 }; /* rows that leave registers for their sums */

/* sum + w_j r_j + w_j+1 r_j+1 + ... of columns j to j + 3 of four rows. */
static inline kn_vec4 four_columns(kn_vec4 sum, const double* const* w, const double* r, int j) {
#define ROW(t) (*(const kn_vec4*)(w[t] + j))
  kn_vec4 a = __builtin_shufflevector(ROW(0), ROW(1), 0, 4, 2, 6),
          b = __builtin_shufflevector(ROW(0), ROW(1), 1, 5, 3, 7);
  kn_vec4 c = __builtin_shufflevector(ROW(2), ROW(3), 0, 4, 2, 6),
          d = __builtin_shufflevector(ROW(2), ROW(3), 1, 5, 3, 7);
#undef ROW
  sum += __builtin_shufflevector(a, c, 0, 1, 4, 5) * r[j];
  sum += __builtin_shufflevector(b, d, 0, 1, 4, 5) * r[j + 1];
  sum += __builtin_shufflevector(a, c, 2, 3, 6, 7) * r[j + 2];
  return sum + __builtin_shufflevector(b, d, 2, 3, 6, 7) * r[j + 3];
}

/* The columns behind the last whole sixteen, one after the other, of four rows. */
static inline kn_vec4 last_columns(const double* const* w, const double* r, int n, int j) {
  kn_vec4 rest = {0.0, 0.0, 0.0, 0.0};
  for (; j + 4 <= n; j += 4) rest = four_columns(rest, w, r, j);
  for (; j < n; j++) rest += (kn_vec4){w[0][j], w[1][j], w[2][j], w[3][j]} * r[j];
  return rest;
}

/* Four rows; the last one counts again where there are fewer. */
static inline kn_vec4 four_rows(const double* const* w, const double* r, int n, int full) {
  kn_vec4 s[4];
  for (int first = 0; first < 4; first += AT_ONCE) {
    kn_vec sum[AT_ONCE][VECTORS];
    for (int t = 0; t < AT_ONCE; t++)
      for (int k = 0; k < VECTORS; k++) sum[t][k] = (kn_vec){0};
    for (int j = 0; j < full; j += LANES)
      for (int k = 0; k < VECTORS; k++) {
        kn_vec v = *(const kn_vec*)(r + j + KN_W * k);
        for (int t = 0; t < AT_ONCE; t++) sum[t][k] += *(const kn_vec*)(w[first + t] + j + KN_W * k) * v;
      }
    for (int t = 0; t < AT_ONCE; t++) s[first + t] = four(sum[t]);
  }
  return sums(s) + last_columns(w, r, n, full);
}

/* The same without a whole sixteen: rows that are no four one by one. */
static inline void few_columns(double* u, const double* w, const double* q, const double* r, int n,
                               int rows) {
  int i = 0;
  for (; i + 4 <= rows; i += 4, w += 4 * (ptrdiff_t)n) {
    const double* const row[4] = {w, w + n, w + 2 * (ptrdiff_t)n, w + 3 * (ptrdiff_t)n};
    *(kn_vec4*)(u + i) = *(const kn_vec4*)(q + i) + last_columns(row, r, n, 0);
  }
  for (; i < rows; i++, w += n) {
    double sum = 0.0;
    for (int j = 0; j < n; j++) sum += w[j] * r[j];
    u[i] = q[i] + sum;
  }
}

static void KN_NAME(product)(double* u, const double* w, const double* q, const double* r, int n, int rows) {
  int full = n & ~(LANES - 1);
  if (full == 0) {
    few_columns(u, w, q, r, n, rows);
    return;
  }
  for (int i = 0; i < rows; i += 4) {
    const double* row[4];
    for (int t = 0; t < 4; t++) row[t] = w + (ptrdiff_t)(i + t < rows ? i + t : rows - 1) * n;
    kn_vec4 sum = four_rows(row, r, n, full);
    if (i + 4 <= rows)
      *(kn_vec4*)(u + i) = *(const kn_vec4*)(q + i) + sum;
    else
      for (int t = 0; i + t < rows; t++) u[i + t] = q[i + t] + sum[t];
  }
}

/* |r - P(r - (u + mu |u_T| n))|, see problem_error.c. */
static inline double cone_map(double mu, double r0, double r1, double r2, double u0, double u1, double u2) {
  double ut = sqrt(u1 * u1 + u2 * u2);
  double x0 = r0 - (u0 + mu * ut), x1 = r1 - u1, x2 = r2 - u2;
  double xt = sqrt(x1 * x1 + x2 * x2);
  double s = (x0 + mu * xt) / (1.0 + mu * mu), t = mu * s / xt;
  bool polar = mu * xt <= -x0, outside = xt > mu * x0;
  double p0 = polar ? 0.0 : outside ? s : x0;
  double p1 = polar ? 0.0 : outside ? t * x1 : x1, p2 = polar ? 0.0 : outside ? t * x2 : x2;
  double e0 = r0 - p0, e1 = r1 - p1, e2 = r2 - p2;
  return sqrt(e0 * e0 + e1 * e1 + e2 * e2);
}

static void KN_NAME(cones)(kn_judge_cones* restrict c) {
  double floor = c->floor, common = c->common;
  for (int i = 0; i < c->count; i++) {
    double r0 = c->r[0][i], r1 = c->r[1][i], r2 = c->r[2][i], mu = c->mu[i];
    double u0 = c->u[0][i], u1 = c->u[1][i], u2 = c->u[2][i];
    double dn = c->wn[i] > floor ? 1.0 / sqrt(c->wn[i]) : common;
    double dt = c->wt[i] > floor ? 1.0 / sqrt(c->wt[i]) : dn;
    double s0 = r0 / dn, s1 = r1 / dt, s2 = r2 / dt, v0 = u0 * dn, v1 = u1 * dt, v2 = u2 * dt;
    c->e[i] = cone_map(mu, r0, r1, r2, u0, u1, u2);
    c->es[i] = cone_map(mu == 0.0 ? 0.0 : mu * (dn / dt), s0, s1, s2, v0, v1, v2);
    double q0 = c->q[0][i], q1 = c->q[1][i], q2 = c->q[2][i];
    c->qq[i] = (q0 * q0 + q1 * q1) + q2 * q2;
    c->rr[i] = (r0 * r0 + r1 * r1) + r2 * r2;
    c->uu[i] = (u0 * u0 + u1 * u1) + u2 * u2;
    c->r_max[i] = kn_max(kn_max(fabs(s2), fabs(s1)), fabs(s0));
    c->u_max[i] = kn_max(kn_max(fabs(v2), fabs(v1)), fabs(v0));
    c->q_max[i] = kn_max(kn_max(fabs(q2 * dt), fabs(q1 * dt)), fabs(q0 * dn));
  }
}

const kn_judge_ops KN_NAME(kn_judge_ops) = {KN_NAME(product), KN_NAME(cones)};
