/* Series with rational coefficients after exact reductions.

     ln x = k ln 2 + 2 artanh s,   x = 2^k m, m in [√½, √2), s = (m - 1)/(m + 1), |s| <= 0.172
     artanh s = s + s³/3 + s⁵/5 + …          (12 terms: the next is 3e-19 of the sum)
     e^x = 2^k e^r,   r = x - k ln 2, |r| <= 0.347;   e^r by its Taylor series (14 terms: the next is 4e-18)

   ln 2 is split in a part of 33 bits, whose multiples by k are exact, and the rest. */
#include "math/elementary.h"

#include <math.h>

#include "base/rng.h"

static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33,
                    PER_LN2 = 0x1.71547652b82fep0;

double kn_log(double x) {
  int k;
  if (!(x > 0.0)) return -INFINITY;
  if (x > 0x1.fffffffffffffp1023) return INFINITY;
  double m = frexp(x, &k); /* [1/2, 1) */
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2.0, k--;
  double f = m - 1.0, s = f / (2.0 + f), s2 = s * s, sum = 0.0; /* f is exact */
  for (int i = 25; i >= 3; i -= 2) sum = s2 * (sum + 1.0 / i);
  /* 2s = f - s f, and that difference keeps the digits that 2s alone would round away */
  double rest = (2.0 * s) * sum - s * f;
  return k * LN2_HIGH + (f + (rest + k * LN2_LOW));
}

double kn_exp(double x) {
  if (x != x) return 0.0; /* no NaN goes on from here */
  if (x > 709.79) return INFINITY;
  if (x < -745.14) return 0.0;
  double k = nearbyint(x * PER_LN2), high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low, sum = 0.0;
  double lost = (high - r) - low; /* of r by its rounding */
  for (int i = 14; i >= 2; i--) sum = (r / i) * (1.0 + sum);
  return ldexp(1.0 + (r + (r * sum + lost)), (int)k);
}

double kn_pow(double x, double y) { return x > 0.0 ? kn_exp(y * kn_log(x)) : 0.0; }

/* Box-Muller. */
double kn_rng_normal(kn_rng* r) {
  double u = 1.0 - kn_rng_unit(r), v = kn_rng_unit(r), s, c;
  kn_sincos(&s, &c, 6.283185307179586 * v);
  return sqrt(-2.0 * kn_log(u)) * c;
}
