/* Seeded random numbers (xoshiro256**, Blackman and Vigna 2018), the same on every machine. */
#pragma once

#include <math.h>
#include <stdint.h>

typedef struct kn_rng {
  uint64_t s[4];
} kn_rng;

static inline uint64_t kn_rng_mix(uint64_t* x) { /* splitmix64 */
  uint64_t z = (*x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline kn_rng kn_rng_seed(uint64_t seed) {
  kn_rng r;
  for (int i = 0; i < 4; i++) r.s[i] = kn_rng_mix(&seed);
  return r;
}

static inline uint64_t kn_rng_rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t kn_rng_next(kn_rng* r) {
  uint64_t result = kn_rng_rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;
  r->s[2] ^= r->s[0];
  r->s[3] ^= r->s[1];
  r->s[1] ^= r->s[2];
  r->s[0] ^= r->s[3];
  r->s[2] ^= t;
  r->s[3] = kn_rng_rotl(r->s[3], 45);
  return result;
}

/* Uniform in [0, 1). */
static inline double kn_rng_unit(kn_rng* r) { return (double)(kn_rng_next(r) >> 11) * 0x1p-53; }
/* Uniform in [a, b). */
static inline double kn_rng_range(kn_rng* r, double a, double b) { return a + (b - a) * kn_rng_unit(r); }
/* Uniform in {0, …, n-1}; n > 0. */
static inline int kn_rng_int(kn_rng* r, int n) { return (int)(kn_rng_next(r) % (uint64_t)n); }
/* Standard normal; in math/elementary.c, which has the logarithm. */
double kn_rng_normal(kn_rng* r);
