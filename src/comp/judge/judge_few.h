/* The judge of two or three contacts in space with finite friction, dense (problem_error.c): each contact in
   the units of the problem and in scaled ones side by side in one vector. Included by judge_kernel.h. */
#define FEW static inline __attribute__((always_inline))

FEW kn_two few_root(kn_two a) { return (kn_two){sqrt(a[0]), sqrt(a[1])}; }

typedef struct few_three {
  kn_two n, t, b;
} few_three;

/* A contact in a plane has no second tangent. */
FEW kn_two few_across(few_three x, bool flat) {
  return flat ? kn_two_size(x.t) : few_root(x.t * x.t + x.b * x.b);
}

typedef struct few_size {
  kn_two squares, largest;
} few_size;

FEW few_three few_scaled(const double* x, int t, kn_two n_unit, kn_two t_unit, bool flat) {
  few_three y = {x[0] * n_unit, x[t] * t_unit, {0.0, 0.0}};
  if (!flat) y.b = x[2] * t_unit;
  return y;
}

FEW kn_two few_square(few_three x, bool flat) {
  kn_two sum = x.n * x.n + x.t * x.t;
  if (!flat) sum += x.b * x.b;
  return sum;
}

FEW void few_add_size(few_size* s, few_three x, bool flat) {
  kn_two most = kn_two_larger(kn_two_size(x.n), kn_two_size(x.t));
  if (!flat) most = kn_two_larger(most, kn_two_size(x.b));
  s->squares += few_square(x, flat);
  s->largest = kn_two_larger(s->largest, most);
}

/* |r - P(r - û)|², û = u + (mu |u_T|, 0, 0). */
FEW kn_two few_natural_map(kn_two mu, few_three r, few_three u, bool flat) {
  const kn_two zero = {0.0, 0.0}, one = {1.0, 1.0};
  few_three x = {r.n - (u.n + mu * few_across(u, flat)), r.t - u.t, r.b - u.b};
  kn_two xt = few_across(x, flat), n = x.n, share = one;
  kn_two_bits open = mu * xt <= -x.n, outside = xt > mu * x.n;
  if (kn_two_any(outside & ~open)) { /* no divisions to wait for where it sticks or is open */
    kn_two s = (x.n + mu * xt) / (one + mu * mu), t = mu * s / xt;
    n = choose(outside, s, n), share = choose(outside, t, share);
  }
  n = choose(open, zero, n), share = choose(open, zero, share);
  return few_square((few_three){r.n - n, r.t - share * x.t, r.b - share * x.b}, flat);
}

typedef struct few_sums {
  kn_two squares, worst; /* of the residuals */
  few_size q, r, u;
} few_sums;

/* Diagonals dn, dt; tangential row t, both if not flat. */
FEW void few_add_contact(few_sums* s, double mu, double dn, double dt, const double* q, const double* r,
                         const double* u, int t, bool flat) {
  kn_two unit = few_root((kn_two){dn, dt}), inverse = (kn_two){1.0, 1.0} / unit;
  kn_two r_n = {1.0, unit[0]}, r_t = {1.0, unit[1]}, u_n = {1.0, inverse[0]}, u_t = {1.0, inverse[1]};
  few_three rs = few_scaled(r, t, r_n, r_t, flat), us = few_scaled(u, t, u_n, u_t, flat);
  kn_two e2 = few_natural_map((kn_two){mu, mu * (inverse[0] * unit[1])}, rs, us, flat);
  s->squares += e2, s->worst = kn_two_larger(s->worst, e2);
  few_add_size(&s->q, few_scaled(q, t, u_n, u_t, flat), flat);
  few_add_size(&s->r, rs, flat);
  few_add_size(&s->u, us, flat);
}

FEW bool few_nothing(double q, double r, double u) { return fabs(q) + fabs(r) + fabs(u) == 0.0; }

/* u_i = q_i + w_i r of n numbers, one after the other: the order of the sum is known to those who fit the
   last bits (flat.c), and in pairs large terms that cancel would leave coarser ones. */
FEW double few_velocity(const double* w, const double* r, double q, const int n) {
  double sum = 0.0;
  for (int j = 0; j < n; j++) sum += w[j] * r[j];
  return q + sum;
}

FEW kn_judgement few_judge(const kn_problem* p, const double* r, const int n) {
  const double *W = p->W, *q = p->q;
  double most = 0.0, u[9];
  const kn_two zero = {0.0, 0.0};
  few_sums s = {zero, zero, {zero, zero}, {zero, zero}, {zero, zero}};
  for (int i = 0; i < n; i++) {
    u[i] = few_velocity(W + i * n, r, q[i], n);
    most = W[i * (n + 1)] > most ? W[i * (n + 1)] : most;
  }
  double floor = 1e-15 * most, common = most > 0.0 ? most : 1.0;
  const kn_block* b = p->block;
  for (int i = 0; i < n; i += 3, b++) {
    double dn = W[i * (n + 1)], dt = 0.5 * (W[(i + 1) * (n + 1)] + W[(i + 2) * (n + 1)]);
    dn = dn > floor ? dn : common, dt = dt > floor ? dt : dn;
    bool one = few_nothing(q[i + 1], r[i + 1], u[i + 1]), two = few_nothing(q[i + 2], r[i + 2], u[i + 2]);
    if (one || two)
      few_add_contact(&s, b->mu, dn, dt, q + i, r + i, u + i, two ? 1 : 2, true);
    else
      few_add_contact(&s, b->mu, dn, dt, q + i, r + i, u + i, 1, false);
  }
  kn_two finite = s.squares + s.r.squares + s.u.squares;
  if (!(finite[0] + finite[1] < INFINITY)) return (kn_judgement){INFINITY, INFINITY}; /* NaN too */
  return kn_judge_relative(s.squares[0], sqrt(s.worst[1]),
                           (kn_judge_sizes){s.q.squares[0], s.r.squares[0], s.u.squares[0], s.q.largest[1],
                                            s.r.largest[1], s.u.largest[1]});
}

static bool KN_NAME(few)(kn_judgement* j, const kn_problem* p, const double* r) {
  if (!p->W || p->rows != 3 * p->blocks || (p->blocks != 2 && p->blocks != 3)) return false;
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set != KN_SET_CONE3 || !(p->block[b].mu < INFINITY) || p->block[b].row != 3 * b)
      return false;
  *j = p->blocks == 2 ? few_judge(p, r, 6) : few_judge(p, r, 9);
  return true;
}

#undef FEW
