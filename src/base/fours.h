/* Short vectors from arenas, four numbers at a time. What an arena or a state hands out starts at 64 bytes,
   has room for whole eights and zeros behind its end, so that a loop over fours has no remainder: zeros stay
   zeros, and nobody looks at them. Only for arrays with such room. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/extreme.h"

typedef double kn_two __attribute__((vector_size(16), may_alias));
typedef int64_t kn_two_bits __attribute__((vector_size(16), may_alias));

/* A load that spans two stores of a moment ago has to wait until both are in the cache: numbers written one
   by one are read one by one. kn_apart keeps the compiler from reading x together with its neighbours. */
static inline double kn_apart(double x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
#endif
  return x;
}

static inline kn_two kn_two_fresh(const double* x) { return (kn_two){kn_apart(x[0]), x[1]}; }

static inline kn_two kn_two_size(kn_two a) { return (kn_two)((kn_two_bits)a & INT64_MAX); }

/* as a > b ? a : b */
static inline kn_two kn_two_larger(kn_two a, kn_two b) {
#if defined(__SSE2__)
  return (kn_two)_mm_max_pd((__m128d)a, (__m128d)b);
#else
  return (kn_two){kn_max(a[0], b[0]), kn_max(a[1], b[1])};
#endif
}

static inline void kn_few_copy(double* to, const double* from, int n) {
  int i = 0;
  for (; i + 3 <= n; i += 3) { /* mostly rows of contacts */
    double a = kn_apart(from[i]), b = kn_apart(from[i + 1]), c = kn_apart(from[i + 2]);
    to[i] = a, to[i + 1] = b, to[i + 2] = c;
  }
  for (; i < n; i++) to[i] = kn_apart(from[i]);
}

static inline void kn_fours_copy(double* to, const double* from, int n) {
  for (int i = 0; i < n; i += 4) {
    kn_two a = *(const kn_two*)(from + i), b = *(const kn_two*)(from + i + 2);
    *(kn_two*)(to + i) = a, *(kn_two*)(to + i + 2) = b;
  }
}

static inline void kn_fours_clear(double* to, int n) {
  for (int i = 0; i < n; i += 4) *(kn_two*)(to + i) = *(kn_two*)(to + i + 2) = (kn_two){0.0, 0.0};
}

/* to = x + s y; y may be fresh */
static inline void kn_fours_add(double* to, const double* x, double s, const double* y, int n) {
  for (int i = 0; i < n; i += 4) {
    kn_two a = *(const kn_two*)(x + i) + s * kn_two_fresh(y + i),
           b = *(const kn_two*)(x + i + 2) + s * kn_two_fresh(y + i + 2);
    *(kn_two*)(to + i) = a, *(kn_two*)(to + i + 2) = b;
  }
}

/* to = (x + y) / 2; y may be fresh */
static inline void kn_fours_mean(double* to, const double* x, const double* y, int n) {
  for (int i = 0; i < n; i += 4) {
    kn_two a = 0.5 * (*(const kn_two*)(x + i) + kn_two_fresh(y + i)),
           b = 0.5 * (*(const kn_two*)(x + i + 2) + kn_two_fresh(y + i + 2));
    *(kn_two*)(to + i) = a, *(kn_two*)(to + i + 2) = b;
  }
}

/* mean = (v + w) / 2, to = q + dt mean; w may be fresh */
static inline void kn_fours_advance(double* mean, double* to, const double* q, const double* v,
                                    const double* w, double dt, int n) {
  for (int i = 0; i < n; i += 2) {
    kn_two a = 0.5 * (*(const kn_two*)(v + i) + kn_two_fresh(w + i));
    *(kn_two*)(mean + i) = a;
    *(kn_two*)(to + i) = *(const kn_two*)(q + i) + dt * a;
  }
}

/* The same bits? */
static inline bool kn_fours_same(const double* x, const double* y, int n) {
  kn_two_bits differ = {0, 0};
  for (int i = 0; i < n; i += 4)
    differ |= (*(const kn_two_bits*)(x + i) ^ *(const kn_two_bits*)(y + i)) |
              (*(const kn_two_bits*)(x + i + 2) ^ *(const kn_two_bits*)(y + i + 2));
  return (differ[0] | differ[1]) == 0;
}

/* 0 x is 0 unless x is infinite or not a number. */
static inline double kn_fours_nothing(const double* x, int n) {
  kn_two a = {0.0, 0.0}, b = a;
  for (int i = 0; i < n; i += 4) a += 0.0 * *(const kn_two*)(x + i), b += 0.0 * *(const kn_two*)(x + i + 2);
  a += b;
  return a[0] + a[1];
}

static inline double kn_fours_largest(const double* x, int n) {
  kn_two most = {0.0, 0.0};
  for (int i = 0; i < n; i += 2) most = kn_two_larger(kn_two_size(*(const kn_two*)(x + i)), most);
  return kn_max(most[0], most[1]);
}
