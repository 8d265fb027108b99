/* What a model asks for and the engine ignores is said by every command that runs it, once, with lines. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "test.h"

/* unsup.xml of the attacks: two actuators that no engine here can do. */
static const char muscles[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/>\n<body pos='0 0 .5'><joint name='j'/><geom "
    "size='.1' pos='.3 0 0'/></body></worldbody>\n<actuator><muscle joint='j' lengthrange='0 1'/>\n"
    "<damper joint='j' kv='3' ctrlrange='0 1'/></actuator></mujoco>";
static const char bare[] =
    "<robot name='bare'><link name='base'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' "
    "ixy='0' ixz='0' iyz='0'/></inertial><visual><geometry><box size='1 1 1'/></geometry></visual></link>"
    "</robot>";

static char folder[64];

static const char* file(const char* name, const char* text) {
  static char path[128];
  if (!folder[0]) strcpy(folder, "/tmp/kn-ignored-XXXXXX");
  if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) abort();
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
  return path;
}

static kn_test_result* ask(const char* before, const char* path, const char* after) {
  char line[512];
  snprintf(line, sizeof line, "%s %s %s", before, path, after);
  return kn_test_knuckle(line);
}

static int times(const char* text, const char* word) {
  int n = 0;
  for (const char* at = text; (at = strstr(at, word)); at++) n++;
  return n;
}

static void check_listed(const char* json, const char* key, const char* where, const char* what) {
  json_t *root = json_loads(json, 0, NULL), *list = json_object_get(root, key);
  bool found = false;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char* w = json_string_value(json_object_get(json_array_get(list, i), "where"));
    const char* t = json_string_value(json_object_get(json_array_get(list, i), "what"));
    found = found || (w && t && strstr(w, where) && strstr(t, what));
  }
  CHECK(found);
  json_decref(root);
}

TEST(unsupported_actuators_are_listed_by_run_and_demo_and_in_json) {
  const char* path = file("muscles.xml", muscles);
  kn_test_result* r = ask("run", path, "--time 0.01");
  CHECK_INT(r->status, 0);
  CHECK_INT(times(r->out, "muscles.xml:3:"), 1);
  CHECK_INT(times(r->out, "muscles.xml:4:"), 1);
  r = ask("run", path, "--time 0.01 --json");
  check_listed(r->out, "unsupported", "muscles.xml:3:", "muscle");
  check_listed(r->out, "unsupported", "muscles.xml:4:", "damper");
  char page[128];
  snprintf(page, sizeof page, "--time 0.01 -o %s/page.html", folder);
  r = ask("demo", path, page);
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "muscles.xml:3:");
  snprintf(page, sizeof page, "--time 0.01 --json -o %s/page.html", folder);
  check_listed(ask("demo", path, page)->out, "unsupported", "muscles.xml:4:", "damper");
  check_listed(ask("compare", path, "--time 0.01 --json")->out, "unsupported", ":3:", "muscle");
  check_listed(ask("diagnose", path, "--json")->out, "unsupported", ":3:", "muscle");
  CHECK_INT(ask("run", path, "--time 0.01 --strict")->status, 3);
}

TEST(a_urdf_without_collision_shapes_says_that_nothing_can_touch) {
  const char* path = file("bare.urdf", bare);
  kn_test_result* r = ask("run", path, "--base floating --drop 0.1 --time 0.01");
  CHECK_TEXT(r->out, "bare.urdf:1:");
  CHECK_TEXT(r->out, "has a <collision> shape");
  r = ask("run", path, "--base floating --drop 0.1 --time 0.01 --json");
  check_listed(r->out, "warnings", "bare.urdf:1:", "collision");
}

TEST(a_drop_that_does_nothing_is_said) {
  const char* path = file("bare.urdf", bare);
  kn_test_result* r = ask("run", path, "--time 0.01 --drop 0.1 --json");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->err, "--drop does nothing: no body of");
  CHECK_TEXT(r->err, "--base floating");
  json_t* root = json_loads(r->out, 0, NULL); /* standard output stays one object */
  CHECK(root != NULL);
  json_decref(root);
  CHECK_TEXT(kn_test_knuckle("run stack --time 0.01 --drop 1")->err, "does nothing to a built-in scene");
  r = ask("run", path, "--time 0.01 --drop 0.1 --base floating");
  CHECK(!strstr(r->err, "--drop"));
}

TEST(an_mjcf_without_a_timestep_uses_mujocos) {
  json_t* root = json_loads(ask("run", file("muscles.xml", muscles), "--time 1 --json")->out, 0, NULL);
  CHECK_INT(json_integer_value(json_object_get(root, "steps")), 500); /* 1 s of 0.002 s */
  json_decref(root);
}

TEST(skydio_keeps_no_silence_about_its_propellers) {
  const char* path = kn_test_data("models/mjcf/skydio_x2/scene.xml");
  if (!path) SKIP("no models here");
  kn_test_result* r = ask("run", path, "--time 0.02");
  CHECK_TEXT(r->out, "ignored");
  CHECK_TEXT(r->out, "x2.xml:");
}
