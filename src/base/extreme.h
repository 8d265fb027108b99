/* Larger and smaller of two numbers in one instruction; fmax and fmin are calls. A NaN in b is ignored, so
   that kn_max(most, x) and kn_min(least, x) collect as fmax and fmin do; a NaN in a is returned, so that
   kn_max(x, most) lets it show. */
#ifndef KN_BASE_EXTREME_H
#define KN_BASE_EXTREME_H

static inline double kn_max(double a, double b) { return b > a ? b : a; }
static inline double kn_min(double a, double b) { return b < a ? b : a; }
/* x within [lo, hi]; a NaN stays. */
static inline double kn_clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

#endif
