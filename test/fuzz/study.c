/* Any bytes as a study file. */
#include <stdint.h>

#include "knuckle/load.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  kn_study* study = NULL;
  kn_study_read(&study, "fuzz.yaml", (const char*)bytes, size);
  kn_study_free(study);
  return 0;
}
