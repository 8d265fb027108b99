/* Any bytes as an URDF file, then compiled: a status, never a crash, a leak or a hang. */
#include <stdint.h>

#include "knuckle/load.h"
#include "knuckle/model.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_model* model = NULL;
  kn_load_settings settings = kn_load_default();
  settings.base = size % 2 ? KN_BASE_FIXED : KN_BASE_FLOATING;
  if (kn_load_text(&spec, &report, "fuzz.urdf", (const char*)bytes, size, &settings) == KN_OK)
    kn_compile(&model, spec);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  kn_load_report_free(report);
  return 0;
}
