/* CRC-32 (IEEE 802.3, reflected polynomial 0xEDB88320), eight bytes at a time by table. */
#include "record/bytes.h"

static uint32_t table[8][256];

__attribute__((constructor)) static void fill(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[0][i] = c;
  }
  for (int t = 1; t < 8; t++)
    for (int i = 0; i < 256; i++) table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 255];
}

uint32_t kn_crc32(uint32_t crc, const void* bytes, size_t n) {
  const uint8_t* p = bytes;
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t a, b;
    memcpy(&a, p, 4);
    memcpy(&b, p + 4, 4);
    a ^= crc;
    crc = table[7][a & 255] ^ table[6][(a >> 8) & 255] ^ table[5][(a >> 16) & 255] ^ table[4][a >> 24] ^
          table[3][b & 255] ^ table[2][(b >> 8) & 255] ^ table[1][(b >> 16) & 255] ^ table[0][b >> 24];
  }
  for (; n; n--, p++) crc = (crc >> 8) ^ table[0][(crc ^ *p) & 255];
  return ~crc;
}
