/* knuckle plot: what is drawn, in which frames, with which units. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "test.h"

static const char* recording(void) {
  static char path[] = "/tmp/kn-plot-XXXXXX.mcap", line[256];
  static bool done;
  if (!done) {
    if (mkstemps(path, 5) < 0) abort();
    snprintf(line, sizeof line, "run quadruped --time 0.2 -o %s", path);
    if (kn_test_knuckle(line)->status != 0) abort();
  }
  done = true;
  return path;
}

static kn_test_result* plot(const char* what) {
  char line[512];
  snprintf(line, sizeof line, "plot %s %s", recording(), what);
  return kn_test_knuckle(line);
}

static json_t* panels(const char* what, json_t** root) {
  char line[256];
  snprintf(line, sizeof line, "%s --json -o /tmp/kn-plot.svg", what);
  *root = json_loads(plot(line)->out, 0, NULL);
  return json_object_get(*root, "panels");
}

static const char* text_of(json_t* panel, const char* key) {
  const char* text = json_string_value(json_object_get(panel, key));
  return text ? text : "";
}

TEST(every_unit_has_its_own_axis_and_many_curves_their_own_frames) {
  json_t *root, *list = panels("q energy", &root);
  /* three lengths, four numbers of a quaternion, twelve angles of more than eight: a frame each; energies */
  CHECK_INT(json_array_size(list), 1 + 1 + 12 + 1);
  CHECK(strcmp(text_of(json_array_get(list, 0), "unit"), "m") == 0);
  CHECK(strcmp(text_of(json_array_get(list, 2), "unit"), "rad") == 0);
  CHECK(strcmp(text_of(json_array_get(list, 14), "unit"), "J") == 0);
  json_decref(root);
  list = panels("v.root tau", &root);
  CHECK(strcmp(text_of(json_array_get(list, 0), "unit"), "m/s") == 0);
  CHECK(strcmp(text_of(json_array_get(list, 1), "unit"), "rad/s") == 0);
  json_decref(root);
}

/* The same units wherever a quantity is named: a free joint, a hinge; quaternions have none. */
TEST(the_list_of_quantities_has_their_units) {
  char line[256];
  snprintf(line, sizeof line, "export %s --list", recording());
  const char* out = kn_test_knuckle(line)->out;
  static const char* const said[] = {"q.root.x m\n",      "q.root.qw\n",     "v.root.vx m/s\n",
                                     "v.root.wz rad/s\n", "tau.root.vx N\n", "tau.root.wx N m\n",
                                     "energy.total J\n"};
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) CHECK_TEXT(out, said[i]);
}

TEST(what_is_zero_throughout_does_not_fill_the_ledger) {
  json_t *root, *list = panels("ledger", &root);
  CHECK_INT(json_array_size(list), 1);
  CHECK_TEXT(text_of(json_array_get(list, 0), "title"), "zero throughout");
  CHECK(json_array_size(json_object_get(json_array_get(list, 0), "quantities")) < 9);
  json_decref(root);
}

TEST(from_to_and_range) {
  json_t* root = json_loads(plot("energy --from 0.05 --to 0.1 --json")->out, 0, NULL);
  CHECK_INT(json_integer_value(json_object_get(root, "rows")), 51); /* steps of 1 ms, both ends */
  json_decref(root);
  CHECK_INT(plot("energy --range 5,1")->status, 2);
  CHECK_INT(plot("energy --range 5")->status, 2);
  CHECK_INT(plot("energy --from 7")->status, 3);
  CHECK_TEXT(plot("energy --from 7")->err, "it ends at 0.2 s");
  CHECK_TEXT(plot("energy -o /no/such/folder/a.svg")->err, "cannot be written");
  CHECK_TEXT(plot("energy.kinetic --range 0,1000")->out, ">800<");
}
