/* The judge of one contact that stays in a plane: along one tangent there is neither q, r nor u. Its natural
   map (problem_error.c) in the units of the problem and in scaled ones side by side; the same bits as without
   this. Included by judge_kernel.h. */
#include "base/fours.h"

/* All but the sign: 0 for ±0. */
static inline uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits << 1;
}

static inline kn_two choose(kn_two_bits which, kn_two a, kn_two b) {
  return (kn_two)((which & (kn_two_bits)a) | (~which & (kn_two_bits)b));
}

/* Squares of |r - P(r - (u + mu |u_T| n))|. */
static inline kn_two plane_maps(kn_two mu, kn_two rn, kn_two rt, kn_two un, kn_two ut) {
  kn_two xn = rn - (un + mu * kn_two_size(ut)), x = rt - ut, xt = kn_two_size(x), en = rn - xn, et = rt - x;
  kn_two_bits polar = mu * xt <= -xn, outside = xt > mu * xn;
  if (kn_two_any(polar | outside)) {
    kn_two s = (xn + mu * xt) / (1.0 + mu * mu), t = mu * s / xt;
    en = choose(polar, rn, choose(outside, rn - s, en));
    et = choose(polar, rt, choose(outside, rt - t * x, et));
  }
  return en * en + et * et;
}

/* Sums and larger ones of the numbers of two pairs. */
static inline kn_two plane_sums(kn_two a, kn_two b) {
  return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
}
static inline kn_two plane_largest(kn_two a, kn_two b) {
  return kn_two_larger(__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3));
}

static kn_judgement KN_NAME(contact)(const double* W, const double* q, const double* r, double mu) {
  int t = 1 + ((bits_of(r[2]) | bits_of(q[2])) != 0), o = 3 - t; /* tangents in and out of the plane */
  const double *w = W + 3 * t, *z = W + 3 * o;
  double rn = r[0], rt = r[t], qn = q[0], qt = q[t], out = z[0] * rn + z[t] * rt;
  if ((bits_of(r[o]) | bits_of(q[o]) | bits_of(out)) != 0) return kn_judge_in_space(W, q, r, mu);
  double un = qn + (W[0] * rn + W[t] * rt), ut = qt + (w[0] * rn + w[t] * rt);
  double most = kn_max(kn_max(W[8], W[4]), kn_max(W[0], 0.0)), floor = 1e-15 * most, wt = 0.5 * (W[4] + W[8]);
  double unit = sqrt(W[0] > floor ? W[0] : most > 0.0 ? most : 1.0);
  kn_two units = {unit, wt > floor ? sqrt(wt) : unit}, d = 1.0 / units, f = {rn, rt}, u = {un, ut},
         p = {qn, qt};
  kn_two rs = f * units, us = u * d, ps = p * d;
  kn_two e2 = plane_maps((kn_two){mu, mu * (d[0] * units[1])}, __builtin_shufflevector(f, rs, 0, 2),
                         __builtin_shufflevector(f, rs, 1, 3), __builtin_shufflevector(u, us, 0, 2),
                         __builtin_shufflevector(u, us, 1, 3));
  if (!(0.0 * un + 0.0 * ut == 0.0 && e2[0] < INFINITY && e2[1] < INFINITY))
    return (kn_judgement){INFINITY, INFINITY};
  kn_two two = plane_sums(f * f, u * u), largest = plane_largest(kn_two_size(rs), kn_two_size(us));
  ps = kn_two_size(ps), p *= p;
  return kn_judge_relative(
      e2[0], sqrt(e2[1]),
      (kn_judge_sizes){p[0] + p[1], two[0], two[1], kn_max(ps[1], ps[0]), largest[0], largest[1]});
}
