/* knuckle fit: the example comes back, recordings are trajectories too, the report is one file, mistakes have line and column. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static char folder[] = "/tmp/kn-fit-XXXXXX";

static const char* put(const char* name, const char* text) { return kn_test_put(folder, name, text); }

static kn_test_result* fit(const char* name, const char* after) {
  char line[2400];
  snprintf(line, sizeof line, "fit %s/%s %s", folder, name, after);
  return kn_test_knuckle(line);
}

static double number(const json_t* list, int i, const char* key) {
  return json_number_value(json_object_get(json_array_get(list, (size_t)i), key));
}

/* The example's trajectories were made with these values and a little noise; 2 % of each range is ten times what the
   noise moves them. */
TEST(the_example_comes_back) {
  const double truth[3] = {0.25, 0.3, -0.001}, range[3] = {0.55, 0.8, 0.01};
  char line[600], page[128];
  if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) abort();
  snprintf(page, sizeof page, "%s/toss.html", folder);
  snprintf(line, sizeof line, "fit " KN_SOURCE_DIR "/examples/fit/toss.yaml -o %s --json", page);
  kn_test_result* r = kn_test_knuckle(line);
  CHECK_INT(r->status, 0);
  json_t* root = json_loads(r->out, 0, NULL);
  if (!CHECK(root != NULL)) return;
  const json_t* list = json_object_get(root, "parameters");
  CHECK_INT(json_array_size(list), 3);
  for (int k = 0; k < 3; k++) {
    CHECK_NEAR(number(list, k, "value"), truth[k], 0.02 * range[k]);
    CHECK(number(list, k, "low") <= number(list, k, "value") &&
          number(list, k, "value") <= number(list, k, "high"));
    CHECK(json_is_true(json_object_get(json_array_get(list, (size_t)k), "identifiable")));
  }
  CHECK(json_number_value(json_object_get(root, "cost")) > 0.0);
  CHECK_INT(json_integer_value(json_object_get(root, "trajectories")), 8);
  CHECK(json_is_true(json_object_get(root, "converged"))); /* no warning in the README's tour */
  json_decref(root);
  struct stat info;
  if (!CHECK(stat(page, &info) == 0 && info.st_size > 20000)) return;
  char* text = calloc(1, (size_t)info.st_size + 1);
  FILE* f = fopen(page, "r");
  CHECK(text && f && fread(text, 1, (size_t)info.st_size, f) > 0);
  CHECK_TEXT(text, "</html>");
  CHECK_TEXT(text, "<svg");
  CHECK(!strstr(text, "src=\"http") && !strstr(text, "href=\"http")); /* nothing from elsewhere */
  if (f) fclose(f);
  free(text);
}

static const char ball[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='%s'/>"
    "<body pos='0 0 .3'><freejoint name='root'/><geom name='g' size='.1' mass='1' friction='0'/>"
    "</body></worldbody></mujoco>";

static void put_ball(void) {
  char text[600];
  snprintf(text, sizeof text, ball, "0.3");
  put("ball.xml", text);
}

/* A ball that rolls and bounces, recorded with e = 0.6: the recordings give it back. */
TEST(recordings_are_trajectories) {
  char line[600];
  put_ball();
  for (int i = 0; i < 3; i++) {
    snprintf(line, sizeof line,
             "model: ball.xml\nduration: .5\ndt: .002\nmaterials:\n  - {geom: '*', restitution: 0.6}\n"
             "initial:\n  q: {root: [0, 0, %g, 1, 0, 0, 0]}\n  v: {root: [1, 0, 0, 0, %d, 0]}\n",
             0.25 + 0.05 * i, 3 * i);
    put("make.yaml", line);
    snprintf(line, sizeof line, "run %s/make.yaml -o %s/run%d.mcap", folder, folder, i);
    CHECK_INT(kn_test_knuckle(line)->status, 0);
  }
  put("fit.yaml",
      "model: ball.xml\ndt: .002\nmaterials:\n  - {geom: '*', restitution: 0.2}\nfit:\n  parameters:\n"
      "    e: {field: materials.0.restitution, from: 0, to: 0.9}\n  data:\n    - {file: run0.mcap, every: "
      "5}\n"
      "    - {file: run1.mcap, every: 5}\n    - {file: run2.mcap, every: 5}\n");
  kn_test_result* r = fit("fit.yaml", "--json");
  CHECK_INT(r->status, 0);
  json_t* root = json_loads(r->out, 0, NULL);
  if (!CHECK(root != NULL)) return;
  CHECK_NEAR(number(json_object_get(root, "parameters"), 0, "value"), 0.6, 0.006); /* 1 % */
  CHECK_TEXT(r->err, "intervals of so few are rough");
  json_decref(root);
}

/* The mass of a ball that only falls and bounces changes nothing. */
TEST(warns_of_what_the_data_do_not_determine) {
  put("mass.yaml",
      "model: ball.xml\ndt: .002\nmaterials:\n  - {geom: '*', restitution: 0.2}\nfit:\n  parameters:\n"
      "    e: {field: materials.0.restitution, from: 0, to: 0.9}\n"
      "    mass: {field: model.geom.g.mass, from: 0.5, to: 2}\n  data:\n    - {file: run0.mcap, every: 5}\n"
      "    - {file: run1.mcap, every: 5}\n    - {file: run2.mcap, every: 5}\n");
  kn_test_result* r = fit("mass.yaml", "--json");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->err, "warning: mass is not identifiable");
  json_t* root = json_loads(r->out, 0, NULL);
  if (!CHECK(root != NULL)) return;
  const json_t* mass = json_array_get(json_object_get(root, "parameters"), 1);
  CHECK(json_is_false(json_object_get(mass, "identifiable")));
  json_decref(root);
}

static void refused(const char* fit_section, const char* place, const char* what) {
  char text[2000];
  snprintf(text, sizeof text, "model: ball.xml\nfit:\n%s", fit_section);
  put("bad.yaml", text);
  kn_test_result* r = fit("bad.yaml", "");
  CHECK_INT(r->status, 3 /* bad input */);
  CHECK_TEXT(r->err, place);
  CHECK_TEXT(r->err, what);
}

#define E_OK "  parameters:\n    e: {field: option.restitution, from: 0, to: 1}\n"
TEST(mistakes_have_line_and_column) {
  put_ball();
  put("data.csv", "t,x,y,z,w,i,j,k\n0,0,0,1,1,0,0,0\n0.1,0,0,oops,1,0,0,0\n");
  refused("  data: {file: data.csv}\n", "bad.yaml:2:", "without parameters");
  refused("  parameters:\n    e: {field: option.restitution, from: 1, to: 0}\n", "bad.yaml:4:5", "is empty");
  refused("  parameters:\n    e: {from: 0, to: 1}\n", "bad.yaml:4:5", "has no field");
  refused(E_OK, "bad.yaml:2:", "without data");
  refused(E_OK "  data:\n    - {file: data.csv, q: {root: [x]}}\n", "bad.yaml:6:", "either time");
  refused(E_OK "  data:\n    - {file: data.csv, time: t, q: {root: [x]}}\n",
          "bad.yaml:6:", "expected 7 columns");
  refused(E_OK "  data:\n    - {file: data.csv, time: t, q: {wheel: [x]}}\n",
          "bad.yaml:6:", "no joint \"wheel\"");
  refused(E_OK "  data:\n    - {file: data.csv, time: t, q: {root: [x, y, z, w, i, j, q]}}\n",
          "bad.yaml:6:", "no column \"q\"");
  refused(E_OK "  data:\n    - {file: data.csv, time: t, q: {root: [x, y, z, w, i, j, k*]}}\n",
          "bad.yaml:6:", "NAME*FACTOR");
  refused(E_OK "  data:\n    - {file: data.csv, time: t, q: {root: [x, y, z, w, i, j, k]}}\n", "data.csv:3:9",
          "column z: expected a number");
  refused(E_OK "  data:\n    - {file: nowhere.csv, time: t, q: {root: [x, y, z, w, i, j, k]}}\n",
          "nowhere.csv", "cannot open the file: No such file");
  refused("  parameters:\n    e: {field: colour, from: 0, to: 1}\n  data: {file: run0.mcap}\n",
          "bad.yaml:4:", "unknown key \"colour\"");
  put("none.yaml", "model: ball.xml\n");
  CHECK_INT(fit("none.yaml", "")->status, 3 /* bad input */);
}
