/* Sine, cosine and arc tangent against libm in long double, and bit for bit across variants. */
#include "math/elementary.h"

#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "test.h"

static double ulp(double x) {
  double a = fabs(x);
  return nextafter(a, INFINITY) - a;
}

static double worst_ulp(double range, int count, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  double worst = 0;
  for (int i = 0; i < count; i++) {
    double x = kn_rng_range(&rng, -range, range), s, c;
    if (i % 8 == 0) x = (double)kn_rng_int(&rng, 2 + (int)fmin(range, 1e6)) * 1.5707963267948966;
    kn_sincos(&s, &c, x);
    long double es = sinl((long double)x), ec = cosl((long double)x);
    worst =
        fmax(worst, fmax((double)fabsl(s - es) / ulp((double)es), (double)fabsl(c - ec) / ulp((double)ec)));
  }
  return worst;
}

TEST(sine_and_cosine_are_within_an_ulp) {
  const double range[] = {1e-3, 1.0, 6.3, 100.0, 1e4, 6e5};
  for (int i = 0; i < 6; i++) {
    double w = worst_ulp(range[i], 100000 * kn_test_effort(), (uint64_t)i);
    printf("  |x| <= %g: %.3f ulp\n", range[i], w);
    CHECK(w <= 0.85); /* half an ulp of the last rounding and the polynomial's own */
  }
}

TEST(wide_arguments_keep_absolute_accuracy) {
  kn_rng rng = kn_rng_seed(3);
  for (int i = 0; i < 20000; i++) {
    double x = exp(kn_rng_range(&rng, log(1e6), log(1e15))) * (i % 2 ? 1 : -1), s, c;
    kn_sincos(&s, &c, x);
    CHECK_NEAR(s, (double)sinl((long double)x), 1e-15);
    CHECK_NEAR(c, (double)cosl((long double)x), 1e-15);
  }
  double s, c;
  const double odd[] = {1e300, -3e18, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 5; i++) {
    kn_sincos(&s, &c, odd[i]);
    CHECK_NEAR(s * s + c * c, 1.0, 1e-15);
  }
}

TEST(arrays_have_the_same_bits_on_every_instruction_set) {
  enum { N = 1003 };
  static double x[N], s[N], c[N], s1[N], c1[N];
  kn_rng rng = kn_rng_seed(4);
  int top = kn_cpu_level();
  for (int i = 0; i < N; i++) x[i] = kn_rng_range(&rng, -1, 1) * (i % 7 == 0 ? 1e7 : i % 5 == 0 ? 1e3 : 4);
  x[500] = NAN;
  for (int i = 0; i < N; i++) kn_sincos(s + i, c + i, x[i]);
  for (int level = 0; level <= top; level++) {
    kn_cpu_limit(level);
    for (int n = N - 9; n <= N; n++) {
      memset(s1, 0, sizeof s1), memset(c1, 0, sizeof c1);
      kn_sincos_array(n, s1, c1, x);
      CHECK(memcmp(s, s1, sizeof(double) * (size_t)n) == 0);
      CHECK(memcmp(c, c1, sizeof(double) * (size_t)n) == 0);
    }
  }
  kn_cpu_limit(top);
}

TEST(atan2_in_all_octants) {
  kn_rng rng = kn_rng_seed(5);
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    double y = kn_rng_range(&rng, -1, 1), x = kn_rng_range(&rng, -1, 1) * (i % 3 ? 1.0 : 1e-6);
    double e = (double)atan2l((long double)y, (long double)x);
    worst = fmax(worst, fabs(kn_atan2(y, x) - e) / ulp(e));
  }
  printf("  atan2: %.3f ulp\n", worst);
  CHECK(worst <= 2.0);
  CHECK(kn_atan2(0, 0) == 0 && kn_atan2(0, 1) == 0);
  CHECK_NEAR(kn_atan2(0, -1), 3.141592653589793, 0);
  CHECK_NEAR(kn_atan2(1, 0), 1.5707963267948966, 0);
}
