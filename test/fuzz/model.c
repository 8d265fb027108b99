/* Any bytes as a saved model (knuckle/archive.h), its size and checksum put right first: behind them lies the reader. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "knuckle/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  uint64_t head[3]; /* magic, size, checksum, as src/record/write/archive.c writes them */
  uint8_t* copy = malloc(size + 1);
  kn_model* model = NULL;
  if (copy && size >= sizeof head) {
    memcpy(copy, bytes, size);
    memcpy(head, copy, sizeof head);
    head[1] = size;
    head[2] = kn_hash_bytes(0, copy + sizeof head, size - sizeof head);
    memcpy(copy, head, sizeof head);
    kn_model_load(&model, copy, size);
  }
  kn_model_destroy(model);
  free(copy);
  return 0;
}
