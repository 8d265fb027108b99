/* Any bytes as a recording: every step that the reader offers can be read. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "knuckle/record.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-fuzz-%d.mcap", (int)getpid());
  FILE* f = fopen(path, "wb");
  if (!f) return 0;
  if (size) fwrite(bytes, 1, size, f);
  fclose(f);
  kn_recording* in = NULL;
  kn_recorded step;
  if (kn_recording_open(&in, path) == KN_OK)
    for (int i = 0; i < kn_recording_steps(in) && i < 20; i++) kn_recording_read(&step, in, i);
  kn_recording_close(in);
  unlink(path);
  return 0;
}
