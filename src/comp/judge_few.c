/* The judge (problem_error.c) of two or three contacts in space with finite friction, dense: each contact in
   the units of the problem and in scaled ones side by side in one vector, without branches. */
#include <math.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "comp/judge.h"

typedef double lanes __attribute__((vector_size(16)));                        /* as given, scaled */
typedef double loose __attribute__((vector_size(16), aligned(8), may_alias)); /* any address */
typedef int64_t mask __attribute__((vector_size(16)));
#define UNROLLED static inline __attribute__((always_inline))

UNROLLED lanes choose(mask m, lanes a, lanes b) { return (lanes)(((mask)a & m) | ((mask)b & ~m)); }
UNROLLED lanes absolute(lanes a) { return (lanes)((mask)a & INT64_MAX); }
UNROLLED lanes root(lanes a) { return (lanes){sqrt(a[0]), sqrt(a[1])}; }
#if defined(__SSE2__)
UNROLLED lanes larger(lanes a, lanes b) { return (lanes)_mm_max_pd((__m128d)a, (__m128d)b); }
#else
UNROLLED lanes larger(lanes a, lanes b) { return choose(a > b, a, b); }
#endif

typedef struct three {
  lanes n, t, b;
} three;

/* A contact in a plane has no second tangent. */
UNROLLED lanes across(three x, bool flat) { return flat ? absolute(x.t) : root(x.t * x.t + x.b * x.b); }

typedef struct size {
  lanes squares, largest;
} size;

UNROLLED three scaled(const double* x, int t, lanes n_unit, lanes t_unit, bool flat) {
  return (three){x[0] * n_unit, x[t] * t_unit, flat ? (lanes){0.0, 0.0} : x[2] * t_unit};
}

UNROLLED lanes square(three x, bool flat) {
  lanes two = x.n * x.n + x.t * x.t;
  return flat ? two : two + x.b * x.b;
}

UNROLLED void add_size(size* s, three x, bool flat) {
  lanes two = larger(absolute(x.n), absolute(x.t));
  s->squares += square(x, flat);
  s->largest = larger(s->largest, flat ? two : larger(two, absolute(x.b)));
}

/* |r - P(r - û)|², û = u + (mu |u_T|, 0, 0). */
UNROLLED lanes natural_map(lanes mu, three r, three u, bool flat) {
  const lanes zero = {0.0, 0.0}, one = {1.0, 1.0};
  three x = {r.n - (u.n + mu * across(u, flat)), r.t - u.t, r.b - u.b};
  lanes xt = across(x, flat), s = (x.n + mu * xt) / (one + mu * mu), t = mu * s / xt;
  mask open = mu * xt <= -x.n, outside = xt > mu * x.n;
  lanes n = choose(open, zero, choose(outside, s, x.n)), share = choose(open, zero, choose(outside, t, one));
  return square((three){r.n - n, r.t - share * x.t, r.b - share * x.b}, flat);
}

typedef struct sums {
  lanes squares, worst; /* of the residuals */
  size q, r, u;
} sums;

/* Diagonals dn, dt; tangential row t, both if not flat. */
UNROLLED void add_contact(sums* s, double mu, double dn, double dt, const double* q, const double* r,
                          const double* u, int t, bool flat) {
  lanes unit = root((lanes){dn, dt}), inverse = (lanes){1.0, 1.0} / unit;
  lanes r_n = {1.0, unit[0]}, r_t = {1.0, unit[1]}, u_n = {1.0, inverse[0]}, u_t = {1.0, inverse[1]};
  three rs = scaled(r, t, r_n, r_t, flat), us = scaled(u, t, u_n, u_t, flat);
  lanes e2 = natural_map((lanes){mu, mu * (inverse[0] * unit[1])}, rs, us, flat);
  s->squares += e2, s->worst = larger(s->worst, e2);
  add_size(&s->q, scaled(q, t, u_n, u_t, flat), flat);
  add_size(&s->r, rs, flat);
  add_size(&s->u, us, flat);
}

UNROLLED bool nothing(double q, double r, double u) { return fabs(q) + fabs(r) + fabs(u) == 0.0; }

/* u_i = q_i + w_i r of n numbers; the order of the sum is known to those who fit the last bits (flat.c). */
UNROLLED double velocity(const double* w, const double* r, double q, const int n) {
  lanes two = {0.0, 0.0};
  for (int j = 0; j + 2 <= n; j += 2) two += *(const loose*)(w + j) * *(const loose*)(r + j);
  double sum = two[0] + two[1];
  if (n & 1) sum += w[n - 1] * r[n - 1];
  return q + sum;
}

UNROLLED kn_judgement judge(const kn_problem* p, const double* r, const int n) {
  const double *W = p->W, *q = p->q;
  double most = 0.0, u[9];
  const lanes zero = {0.0, 0.0};
  sums s = {zero, zero, {zero, zero}, {zero, zero}, {zero, zero}};
  for (int i = 0; i < n; i++) {
    u[i] = velocity(W + i * n, r, q[i], n);
    most = W[i * (n + 1)] > most ? W[i * (n + 1)] : most;
  }
  double floor = 1e-15 * most, common = most > 0.0 ? most : 1.0;
  const kn_block* b = p->block;
  for (int i = 0; i < n; i += 3, b++) {
    double dn = W[i * (n + 1)], dt = 0.5 * (W[(i + 1) * (n + 1)] + W[(i + 2) * (n + 1)]);
    dn = dn > floor ? dn : common, dt = dt > floor ? dt : dn;
    bool one = nothing(q[i + 1], r[i + 1], u[i + 1]), two = nothing(q[i + 2], r[i + 2], u[i + 2]);
    if (one || two)
      add_contact(&s, b->mu, dn, dt, q + i, r + i, u + i, two ? 1 : 2, true);
    else
      add_contact(&s, b->mu, dn, dt, q + i, r + i, u + i, 1, false);
  }
  lanes finite = s.squares + s.r.squares + s.u.squares;
  if (!(finite[0] + finite[1] < INFINITY)) return (kn_judgement){INFINITY, INFINITY}; /* NaN too */
  return kn_judge_relative(s.squares[0], sqrt(s.worst[1]),
                           (kn_judge_sizes){s.q.squares[0], s.r.squares[0], s.u.squares[0], s.q.largest[1],
                                            s.r.largest[1], s.u.largest[1]});
}

bool kn_judge_few(kn_judgement* j, const kn_problem* p, const double* r) {
  if (!p->W || p->rows != 3 * p->blocks || (p->blocks != 2 && p->blocks != 3)) return false;
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set != KN_SET_CONE3 || !(p->block[b].mu < INFINITY) || p->block[b].row != 3 * b)
      return false;
  *j = p->blocks == 2 ? judge(p, r, 6) : judge(p, r, 9);
  return true;
}
