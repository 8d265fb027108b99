/* Little-endian bytes, written and read with bounds. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are written in the machine's order");

typedef struct kn_bytes { /* growing; failed stays set when memory ran out */
  uint8_t* at;
  size_t n, capacity;
  bool failed;
} kn_bytes;

static inline bool kn_bytes_room(kn_bytes* b, size_t more) {
  if (b->failed) return false;
  if (b->capacity - b->n >= more) return true;
  size_t wanted = b->capacity ? b->capacity : 4096;
  while (wanted - b->n < more) wanted *= 2;
  uint8_t* fresh = realloc(b->at, wanted);
  if (!fresh) {
    b->failed = true;
    return false;
  }
  b->at = fresh;
  b->capacity = wanted;
  return true;
}

static inline void kn_put(kn_bytes* b, const void* data, size_t n) {
  if (n == 0 || !kn_bytes_room(b, n)) return;
  memcpy(b->at + b->n, data, n);
  b->n += n;
}
static inline void kn_put_u8(kn_bytes* b, uint8_t x) { kn_put(b, &x, 1); }
static inline void kn_put_u16(kn_bytes* b, uint16_t x) { kn_put(b, &x, 2); }
static inline void kn_put_u32(kn_bytes* b, uint32_t x) { kn_put(b, &x, 4); }
static inline void kn_put_u64(kn_bytes* b, uint64_t x) { kn_put(b, &x, 8); }
static inline void kn_put_f64(kn_bytes* b, double x) { kn_put(b, &x, 8); }
static inline void kn_put_text(kn_bytes* b, const char* s) {
  size_t n = s ? strlen(s) : 0;
  kn_put_u32(b, (uint32_t)n);
  kn_put(b, s, n);
}

typedef struct kn_view { /* reading; bad stays set after the first read beyond the end */
  const uint8_t* at;
  size_t left;
  bool bad;
} kn_view;

static inline void kn_get(kn_view* v, void* out, size_t n) {
  if (v->bad || v->left < n) {
    v->bad = true;
    memset(out, 0, n);
    return;
  }
  if (n) memcpy(out, v->at, n);
  v->at += n;
  v->left -= n;
}
static inline uint8_t kn_get_u8(kn_view* v) {
  uint8_t x;
  kn_get(v, &x, 1);
  return x;
}
static inline uint16_t kn_get_u16(kn_view* v) {
  uint16_t x;
  kn_get(v, &x, 2);
  return x;
}
static inline uint32_t kn_get_u32(kn_view* v) {
  uint32_t x;
  kn_get(v, &x, 4);
  return x;
}
static inline uint64_t kn_get_u64(kn_view* v) {
  uint64_t x;
  kn_get(v, &x, 8);
  return x;
}
static inline double kn_get_f64(kn_view* v) {
  double x;
  kn_get(v, &x, 8);
  return x;
}
/* A part of n bytes; empty and bad when there are fewer. */
static inline kn_view kn_get_view(kn_view* v, uint64_t n) {
  kn_view part = {v->at, 0, false};
  if (v->bad || n > v->left) {
    v->bad = part.bad = true;
    return part;
  }
  part.left = (size_t)n;
  v->at += n;
  v->left -= (size_t)n;
  return part;
}

uint32_t kn_crc32(uint32_t crc, const void* bytes, size_t n); /* IEEE 802.3; start with 0 */
