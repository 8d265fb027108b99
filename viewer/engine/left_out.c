/* What the page does without: answers in place of the files that need a library which is not in the module.
   Weak, so that the library's own answers win where it has them. */
#include <time.h>

#include "base/error.h"
#include "dynamics/tree/integrators.h"
#include "load/study/yaml.h"

#define WEAK __attribute__((weak))

WEAK kn_status kn_adaptive_step(const kn_smooth* s, double dt, const kn_integrate_settings* settings) {
  (void)s, (void)dt, (void)settings;
  return kn_fail(KN_UNSUPPORTED, "the adaptive integrator is not in the page");
}
WEAK void kn_adaptive_destroy(kn_data* data) { (void)data; }

WEAK kn_status kn_yaml_parse(kn_yaml** root, kn_pool* pool, const char* file, const char* text, size_t size) {
  (void)pool, (void)text, (void)size;
  *root = NULL;
  return kn_fail(KN_UNSUPPORTED, "%s: study files are not read in the page", file);
}
WEAK kn_yaml* kn_yaml_get(const kn_yaml* map, const char* key) {
  (void)map, (void)key;
  return NULL;
}
