/* A fast 64-bit hash of bytes for state hashes, model hashes and checksums; not cryptographic. Four lanes of
   multiply and fold, the same on every machine (little-endian words, lanes combined in a fixed order). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t kn_hash_word(const unsigned char* p, size_t n) {
  uint64_t w = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(&w, p, n);
#else
  for (size_t i = 0; i < n; i++) w |= (uint64_t)p[i] << (8 * i);
#endif
  return w;
}

/* Every bit of h and w reaches the upper half of the product; the fold brings it back down. */
static inline uint64_t kn_hash_fold(uint64_t h, uint64_t w) {
  h = (h ^ w) * 0x9fb21c651e98df25u;
  return h ^ (h >> 32);
}

static inline uint64_t kn_hash_finish(uint64_t h) {
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 32)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

/* Chain calls by passing the last result as the seed. */
static inline uint64_t kn_hash_bytes(uint64_t seed, const void* bytes, size_t size) {
  const unsigned char* p = (const unsigned char*)bytes;
  uint64_t lane[4] = {seed ^ 0x243f6a8885a308d3u, seed + 0x13198a2e03707344u, seed ^ 0xa4093822299f31d0u,
                      seed + 0x082efa98ec4e6c89u};
  size_t n = size;
  for (; n >= 32; n -= 32, p += 32)
    for (int i = 0; i < 4; i++) lane[i] = kn_hash_fold(lane[i], kn_hash_word(p + 8 * i, 8));
  for (int i = 0; n > 0; i++) {
    size_t k = n < 8 ? n : 8;
    lane[i] = kn_hash_fold(lane[i], kn_hash_word(p, k));
    p += k;
    n -= k;
  }
  uint64_t h = kn_hash_fold(lane[0], size);
  for (int i = 1; i < 4; i++) h = kn_hash_fold(h, kn_hash_finish(lane[i]));
  return kn_hash_finish(h);
}

static inline uint64_t kn_hash_u64(uint64_t seed, uint64_t x) {
  return kn_hash_finish(kn_hash_fold(seed + 0x9e3779b97f4a7c15u, x));
}

/* Numbers that compare equal hash equal: -0 counts as 0. */
static inline uint64_t kn_hash_double(uint64_t seed, double x) {
  double y = x == 0.0 ? 0.0 : x;
  uint64_t bits;
  memcpy(&bits, &y, sizeof bits);
  return kn_hash_u64(seed, bits);
}

static inline uint64_t kn_hash_doubles(uint64_t seed, const double* x, size_t n) {
  for (size_t i = 0; i < n; i++) seed = kn_hash_double(seed, x[i]);
  return seed;
}

static inline uint64_t kn_hash_text(uint64_t seed, const char* text) {
  return kn_hash_bytes(seed, text ? text : "", text ? strlen(text) : 0);
}
