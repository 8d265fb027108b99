/* Any bytes as a recording: every step that the reader offers can be read, and the verifier judges it. The
   checksums of chunks that are not compressed are put right first: behind them lies most of the reader. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "knuckle/record.h"
#include "record/write/mcap.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static void mend_chunk(uint8_t* at, size_t size) {
  kn_view v = {at, size, false};
  kn_get_u64(&v), kn_get_u64(&v), kn_get_u64(&v), kn_get_u32(&v);
  uint32_t name = kn_get_u32(&v);
  kn_view data = kn_get_view(&v, name == 0 ? kn_get_u64(&v) : 0);
  if (v.bad || name != 0) return;
  uint32_t crc = kn_crc32(0, data.at, data.left);
  memcpy(at + 24, &crc, sizeof crc);
}

static void mend(uint8_t* bytes, size_t size) {
  kn_view v = {bytes, size, false};
  kn_get_u64(&v);
  while (!v.bad && v.left) {
    uint8_t opcode = kn_get_u8(&v);
    kn_view record = kn_get_view(&v, kn_get_u64(&v));
    if (!v.bad && opcode == KN_MCAP_CHUNK) mend_chunk(bytes + (record.at - bytes), record.left);
  }
}

static void look(const char* path) {
  static kn_verification verdict;
  kn_recording* in = NULL;
  kn_recorded step;
  if (kn_recording_open(&in, path) == KN_OK) {
    for (int i = 0; i < kn_recording_steps(in) && i < 20; i++) kn_recording_read(&step, in, i);
    if (kn_recording_steps(in) <= 20) kn_verify(&verdict, in);
  }
  kn_recording_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-fuzz-%d.mcap", (int)getpid());
  uint8_t* copy = malloc(size + 1);
  FILE* f = copy ? fopen(path, "wb") : NULL;
  if (f) {
    if (size) memcpy(copy, bytes, size), mend(copy, size), fwrite(copy, 1, size, f);
    fclose(f);
    look(path);
    unlink(path);
  }
  free(copy);
  return 0;
}
