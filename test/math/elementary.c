/* Logarithm, exponential and power against the C library's in 64-bit mantissas, and their bits. */
#include "math/elementary.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "test.h"

static double ulps(double got, long double exact) {
  double near = (double)exact, unit = nextafter(fabs(near), INFINITY) - fabs(near);
  return (double)(fabsl(got - exact) / unit);
}

TEST(logarithms_and_exponentials_are_within_two_ulps) {
  kn_rng r = kn_rng_seed(11);
  double log_worst = 0.0, exp_worst = 0.0, near_worst = 0.0;
  for (int i = 0; i < 200000 * kn_test_effort(); i++) {
    double x = ldexp(kn_rng_range(&r, 0.5, 1.0), kn_rng_int(&r, 2100) - 1070);
    double close = 1.0 + kn_rng_range(&r, -1e-3, 1e-3) * kn_rng_unit(&r), y = kn_rng_range(&r, -708.0, 709.0);
    if (x > 0.0 && isfinite(x)) log_worst = fmax(log_worst, ulps(kn_log(x), logl(x)));
    if (close != 1.0) near_worst = fmax(near_worst, ulps(kn_log(close), logl(close)));
    exp_worst = fmax(exp_worst, ulps(kn_exp(y), expl(y)));
  }
  printf("  ulp: log %.2f, near 1 %.2f, exp %.2f\n", log_worst, near_worst, exp_worst);
  CHECK_BELOW(log_worst, 2.0); /* as elementary.h promises */
  CHECK_BELOW(near_worst, 2.0);
  CHECK_BELOW(exp_worst, 2.0);
}

TEST(powers_are_as_close_as_promised) {
  kn_rng r = kn_rng_seed(12);
  double worst = 0.0;
  for (int i = 0; i < 100000; i++) {
    double x = ldexp(kn_rng_range(&r, 0.5, 1.0), kn_rng_int(&r, 60) - 30), y = kn_rng_range(&r, -8.0, 8.0);
    long double exact = powl(x, y);
    worst =
        fmax(worst, (double)(fabsl(kn_pow(x, y) / exact - 1.0L) / (2.3e-16L * (2.0L + fabsl(y * logl(x))))));
  }
  CHECK_BELOW(worst, 1.0);
}

TEST(ends_of_the_range) {
  CHECK(kn_log(1.0) == 0.0 && kn_exp(0.0) == 1.0 && kn_pow(7.5, 0.0) == 1.0 && kn_pow(0.0, 2.0) == 0.0);
  CHECK(kn_log(0.0) == -INFINITY && kn_log(-1.0) == -INFINITY && kn_log(INFINITY) == INFINITY);
  CHECK(kn_exp(-800.0) == 0.0 && kn_exp(800.0) == INFINITY && kn_exp(-INFINITY) == 0.0);
  CHECK(kn_exp(NAN) == 0.0 && kn_log(NAN) == -INFINITY); /* no NaN goes on */
  CHECK_REL(kn_log(5e-324), -744.4400719213812, 1e-15);
  CHECK(isfinite(kn_exp(709.78)) && kn_exp(-745.0) == 5e-324);
}

/* The same on every compiler, level and machine: a hash of the bits. */
TEST(the_bits_are_the_same_everywhere) {
  kn_rng r = kn_rng_seed(13);
  uint64_t h = 0;
  for (int i = 0; i < 20000; i++) {
    double x = ldexp(kn_rng_range(&r, 0.5, 1.0), kn_rng_int(&r, 400) - 200);
    h = kn_hash_double(kn_hash_double(h, kn_log(x)), kn_exp(kn_rng_range(&r, -700.0, 700.0)));
    double normal = kn_rng_normal(&r), y = kn_rng_range(&r, -3.0, 3.0); /* arguments have no order */
    h = kn_hash_double(kn_hash_double(h, kn_pow(x, y)), normal);
  }
  printf("  %016llx\n", (unsigned long long)h);
  CHECK(h == 0xe955893c23135db8u);
}
