/* Real URDF robots against Pinocchio's values (test/load/urdf_fixed.txt and urdf_floating.txt, written by
   test/oracle/pinocchio_models.py). */
#include <string.h>

#include "knuckle/load.h"
#include "model_table.h"
#include "test.h"

TEST(every_urdf_robot_agrees_with_pinocchio) {
  /* Both programs round in double; the determinant is a product of up to 50 pivots. */
  kn_load_settings s = kn_load_default();
  s.skip_meshes = true; /* meshes have no part in URDF inertia */
  int rows = kn_check_table("models", KN_SOURCE_DIR "/test/load/urdf_fixed.txt", &s, 1e-9);
  if (rows < 0) SKIP("no shared data");
  CHECK_INT(rows, 29);
  s.base = KN_BASE_FLOATING;
  CHECK_INT(kn_check_table("models", KN_SOURCE_DIR "/test/load/urdf_floating.txt", &s, 1e-9), 29);
}

TEST(collision_meshes_are_found_by_walking_up_from_the_file) {
  const char* path =
      kn_test_data("models/urdf/example-robot-data/robots/solo_description/robots/solo12.urdf");
  if (!path) SKIP("no shared data");
  kn_spec* spec;
  kn_load_report* report;
  if (CHECK_OK(kn_load(&spec, &report, path, NULL))) {
    int meshes = 0;
    for (int i = 0; i < kn_load_visuals(report); i++) meshes += kn_load_visual(report, i)->geom >= 0;
    CHECK(meshes >= 13);
  }
  kn_spec_destroy(spec);
  kn_load_report_free(report);
}

TEST(a_moving_link_without_inertia_is_refused_at_its_joint) {
  const char* path =
      kn_test_data("models/urdf/example-robot-data/robots/bravo7_description/urdf/bravo7_gripper.urdf");
  if (!path) SKIP("no shared data");
  kn_spec* spec;
  kn_load_settings s = kn_load_default();
  s.skip_meshes = true;
  CHECK_STATUS(kn_load(&spec, NULL, path, &s), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), ":264:21: joint \"bravo_finger1_joint\" moves nothing");
}
