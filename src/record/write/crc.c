/* CRC-32 (IEEE 802.3, reflected polynomial 0xEDB88320).

   Eight bytes at a time by table; long runs, where the machine multiplies polynomials (PCLMULQDQ), sixty-four
   at a time (Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", Intel 2009): a
   128-bit remainder (hi, lo) moved on by D bits is hi x^(D+64) + lo x^D mod P, two products with constants
   that are filled in here from their definition. What is left are 16 bytes with the same CRC as the whole. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "record/bytes.h"

static uint32_t table[8][256];
static uint64_t fold64[2], fold16[2]; /* for the low and the high half, 512 and 128 bits on */
static bool multiplies;

/* x^n mod P in the reflected order of bits, shifted once as a reflected product needs it. */
static uint64_t power(int n) {
  uint32_t r = 0x80000000u; /* x^0 */
  for (int i = 0; i < n; i++) r = r & 1 ? 0xEDB88320u ^ (r >> 1) : r >> 1;
  return (uint64_t)r << 1;
}

__attribute__((constructor)) static void fill(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[0][i] = c;
  }
  for (int t = 1; t < 8; t++)
    for (int i = 0; i < 256; i++) table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 255];
  /* reflected: the low half of a word holds the higher powers */
  fold64[0] = power(512 + 32), fold64[1] = power(512 - 32);
  fold16[0] = power(128 + 32), fold16[1] = power(128 - 32);
#if defined(__x86_64__)
  __builtin_cpu_init();
  multiplies = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif
}

/* On the register itself: without the inversions at either end. */
static uint32_t by_table(uint32_t crc, const uint8_t* p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t a, b;
    memcpy(&a, p, 4);
    memcpy(&b, p + 4, 4);
    a ^= crc;
    crc = table[7][a & 255] ^ table[6][(a >> 8) & 255] ^ table[5][(a >> 16) & 255] ^ table[4][a >> 24] ^
          table[3][b & 255] ^ table[2][(b >> 8) & 255] ^ table[1][(b >> 16) & 255] ^ table[0][b >> 24];
  }
  for (; n; n--, p++) crc = (crc >> 8) ^ table[0][(crc ^ *p) & 255];
  return crc;
}

#if defined(__x86_64__)
#define MULTIPLIES __attribute__((target("pclmul,sse4.1")))

MULTIPLIES static inline __m128i load(const uint8_t* p) { return _mm_loadu_si128((const void*)p); }

/* x moved on, plus next. */
MULTIPLIES static inline __m128i fold(__m128i x, __m128i k, __m128i next) {
  __m128i lo = _mm_clmulepi64_si128(x, k, 0x00), hi = _mm_clmulepi64_si128(x, k, 0x11);
  return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/* n >= 64; takes a multiple of 16 bytes, *used, of them. */
MULTIPLIES static uint32_t by_product(uint32_t crc, const uint8_t* p, size_t n, size_t* used) {
  const uint8_t* start = p;
  __m128i k64 = load((const uint8_t*)fold64), k16 = load((const uint8_t*)fold16), x[4];
  for (int i = 0; i < 4; i++) x[i] = load(p + 16 * i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64)
    for (int i = 0; i < 4; i++) x[i] = fold(x[i], k64, load(p + 16 * i));
  for (int i = 1; i < 4; i++) x[0] = fold(x[0], k16, x[i]);
  for (; n >= 16; p += 16, n -= 16) x[0] = fold(x[0], k16, load(p));
  uint8_t rest[16];
  _mm_storeu_si128((void*)rest, x[0]);
  *used = (size_t)(p - start);
  return by_table(0, rest, sizeof rest);
}
#else
static uint32_t by_product(uint32_t crc, const uint8_t* p, size_t n, size_t* used) {
  *used = n;
  return by_table(crc, p, n);
}
#endif

uint32_t kn_crc32(uint32_t crc, const void* bytes, size_t n) {
  const uint8_t* p = bytes;
  size_t used = 0;
  if (n == 0) return crc;
  crc = ~crc;
  if (multiplies && n >= 64) crc = by_product(crc, p, n, &used);
  return ~by_table(crc, p + used, n - used);
}
