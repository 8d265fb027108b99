/* Larger and smaller of two numbers in one instruction; fmax and fmin are calls. A NaN in b is ignored, so
   that kn_max(most, x) and kn_min(least, x) collect as fmax and fmin do; a NaN in a is returned, so that
   kn_max(x, most) lets it show. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline double kn_max(double a, double b) { return b > a ? b : a; }
static inline double kn_min(double a, double b) { return b < a ? b : a; }
/* x within [lo, hi]; a NaN stays. */
static inline double kn_clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

/* 0 x is 0 for finite numbers only; four sums, since in one chain every addition waits for the last. */
static inline bool kn_all_finite(const double* x, size_t n) {
  double s[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; k++) s[k] += 0.0 * x[i + k];
  for (; i < n; i++) s[0] += 0.0 * x[i];
  return (s[0] + s[1]) + (s[2] + s[3]) == 0.0;
}
