/* Any bytes as an MJCF file, then compiled: a status, never a crash, a leak or a hang. */
#include <stdint.h>

#include "knuckle/load.h"
#include "knuckle/model.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_model* model = NULL;
  if (kn_load_text(&spec, &report, "fuzz.xml", (const char*)bytes, size, NULL) == KN_OK &&
      kn_compile(&model, spec) == KN_OK) {
    kn_state* state = NULL;
    if (kn_state_create(&state, model) == KN_OK)
      for (int i = 0; i < kn_model_keyframes(model); i++) kn_state_keyframe(state, i);
    kn_state_destroy(state);
  }
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  kn_load_report_free(report);
  return 0;
}
