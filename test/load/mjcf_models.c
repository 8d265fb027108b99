/* Real MJCF robots against MuJoCo's values (test/load/mjcf_reference.txt, written by
   test/oracle/mujoco_models.py): bodies, coordinates, dofs, mass, and trace and determinant of M and norm of
   the bias force at the reference position. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "model_table.h"
#include "test.h"

TEST(every_mjcf_robot_agrees_with_mujoco) {
  /* Where inertia comes from meshes the vertices there are single precision: 1e-6; elsewhere both programs
     round in double: 1e-9. The determinant is a product of up to 93 pivots. */
  int rows = kn_check_table("models/mjcf", KN_SOURCE_DIR "/test/load/mjcf_reference.txt", NULL, 1e-6);
  if (rows < 0) SKIP("no shared data");
  CHECK_INT(rows, 44);
}

/* Small models of our own that use what the robots do not: frames, replicas, attached models, damping ratios,
   spring-dampers, total mass, bounds, balancing, groups, point clouds. Double against double: 1e-9. */
TEST(features_beyond_the_robots_agree_with_mujoco) {
  CHECK_INT(kn_check_table(KN_SOURCE_DIR "/test/load", KN_SOURCE_DIR "/test/load/features_reference.txt",
                           NULL, 1e-9),
            4);
}
