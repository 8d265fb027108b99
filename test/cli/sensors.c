/* Sensors on the command line: check lists them, runs record them, export and plot find them by name. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

#define ROBOT KN_SOURCE_DIR "/examples/robot.xml"
#define ALL   KN_SOURCE_DIR "/test/step/sensors/all.xml"

TEST(check_lists_sensors_with_values_and_units) {
  kn_test_result* r = kn_test_knuckle("check " ALL " --json");
  CHECK_INT(r->status, 0);
  json_t *root = json_loads(r->out, 0, NULL), *list = json_object_get(root, "sensor"), *one;
  CHECK_INT(json_integer_value(json_object_get(root, "sensors")), 93);
  CHECK_INT(json_array_size(list), 93);
  CHECK_INT(json_array_size(json_object_get(root, "unsupported")), 0);
  one = json_array_get(list, 3); /* at rest in the world: less gravity (0.3, -0.2, -9.7), whatever its axes */
  CHECK(strcmp(json_string_value(json_object_get(one, "name")), "acc_world") == 0);
  CHECK(strcmp(json_string_value(json_object_get(one, "type")), "accelerometer") == 0);
  CHECK(strcmp(json_string_value(json_object_get(one, "unit")), "m/s²") == 0);
  double sum = 0.0;
  for (size_t k = 0; k < 3; k++) {
    double x = json_number_value(json_array_get(json_object_get(one, "value"), k));
    sum += x * x;
  }
  CHECK_NEAR(sqrt(sum), sqrt(0.09 + 0.04 + 94.09), 1e-12);
  json_decref(root);
  r = kn_test_knuckle("check " ROBOT);
  CHECK_TEXT(r->out, "sensors\n  imu_acc");
  r = kn_test_knuckle("check " ROBOT " --quiet");
  CHECK(strstr(r->out, "imu_acc") == NULL);
}

TEST(export_and_plot_know_sensors_by_name) {
  char folder[] = "/tmp/knuckle-sensors-XXXXXX", command[400];
  if (!CHECK(mkdtemp(folder) != NULL)) return;
  snprintf(command, sizeof command, "run " ROBOT " --time 0.05 -o %s/run.mcap", folder);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  snprintf(command, sizeof command, "export %s/run.mcap --only sensor:imu_acc,sensor.elbow_pos", folder);
  kn_test_result* r = kn_test_knuckle(command);
  CHECK_INT(r->status, 0);
  CHECK(strncmp(r->out, "t,sensor.imu_acc.x,sensor.imu_acc.y,sensor.imu_acc.z,sensor.elbow_pos\n", 70) == 0);
  snprintf(command, sizeof command, "export %s/run.mcap --only q.elbow,sensor.elbow_pos", folder);
  r = kn_test_knuckle(command);
  const char* row = strrchr(r->out, ',');
  double q = 0.0, t = 0.0;
  if (CHECK(row != NULL)) {
    while (row > r->out && row[-1] != '\n') row--;
    char text[100];
    snprintf(text, sizeof text, "%s", row);
    CHECK(sscanf(text, "%lf,%lf", &t, &q) == 2);
    CHECK_NEAR(strtod(strrchr(text, ',') + 1, NULL), q, 0.0); /* the joint's own coordinate */
    CHECK_NEAR(t, 0.05, 1e-12);
  }
  snprintf(command, sizeof command, "plot %s/run.mcap sensor:imu_acc -o %s/acc.svg", folder, folder);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  snprintf(command, sizeof command, "plot %s/run.mcap sensor:imu_akk -o %s/akk.svg", folder, folder);
  r = kn_test_knuckle(command);
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean sensor.imu_acc");
  snprintf(command, sizeof command, "verify %s/run.mcap", folder);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
}
