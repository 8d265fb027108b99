/* Every real MJCF robot loads and compiles. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/model.h"
#include "test.h"

TEST(every_mjcf_robot_loads) {
  const char* root = kn_test_data("models/mjcf");
  if (!root) SKIP("no shared data");
  char pattern[512];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/*/*.xml", root);
  if (!CHECK(glob(pattern, 0, NULL, &found) == 0)) return;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    const char* path = found.gl_pathv[i];
    if (strstr(path, "keyframes.xml")) continue; /* made to be included */
    kn_spec* spec = NULL;
    kn_model* model = NULL;
    kn_load_report* report = NULL;
    kn_status status = kn_load(&spec, &report, path, NULL);
    if (status == KN_OK) status = kn_compile(&model, spec);
    if (!CHECK(status == KN_OK)) printf("  %s: %s\n", path, kn_last_error());
    if (model) CHECK(kn_model_mass(model) > 0.0);
    kn_model_destroy(model);
    kn_spec_destroy(spec);
    kn_load_report_free(report);
  }
  globfree(&found);
}
