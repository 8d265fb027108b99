/* Study files as a user writes them: all geoms of a body, patterns of joints, things without names, the root
   link of a URDF, and the commented file that `study init` writes. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static char folder[] = "/tmp/kn-study-XXXXXX";

static const char arm[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .5' name='upper'><joint/><geom "
    "size='.1' pos='.3 0 0'/><geom size='.1' pos='.5 0 0'/><body><joint name='elbow' axis='1 0 0'/><geom "
    "name='hand' size='.05' pos='0 .3 0'/></body></body></worldbody></mujoco>";
static const char box[] =
    "<robot name='box'><link name='base'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' "
    "ixz='0' iyz='0'/></inertial><collision><geometry><box size='1 1 1'/></geometry></collision></link>"
    "</robot>";

static const char* put(const char* name, const char* text) { return kn_test_put(folder, name, text); }

static kn_test_result* knuckle(const char* before, const char* path, const char* after) {
  char line[600];
  snprintf(line, sizeof line, "%s %s %s", before, path, after);
  return kn_test_knuckle(line);
}

static double number(const char* json, const char* list, size_t k) {
  json_t* root = json_loads(json, 0, NULL);
  double x = json_number_value(json_array_get(json_object_get(root, list), k));
  json_decref(root);
  return x;
}

TEST(patterns_of_joints_and_joints_without_names) {
  put("arm.xml", arm);
  const char* path =
      put("arm.yaml", "model: arm.xml\nduration: 0\ninitial: {q: {\"*\": 0.25, joint0: 0.5}, v: {\"*bow\": "
                      "2}}\ncontroller: {\"*\": {kp: 3}, elbow: {kp: 5}}\n");
  kn_test_result* r = knuckle("run", path, "--json");
  CHECK_INT(r->status, 0);
  CHECK_NEAR(number(r->out, "q", 0), 0.5, 0);
  CHECK_NEAR(number(r->out, "q", 1), 0.25, 0);
  CHECK_NEAR(number(r->out, "v", 0), 0, 0);
  CHECK_NEAR(number(r->out, "v", 1), 2, 0);
  CHECK_TEXT(knuckle("check", put("arm.xml", arm), "")->out, "joint0 "); /* the name that the study used */
  r = knuckle("run", put("bad.yaml", "model: arm.xml\ninitial: {q: {elbw: 1}}\n"), "");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "bad.yaml:2:");
  CHECK_TEXT(r->err, "did you mean \"elbow\"?");
  CHECK_INT(knuckle("run", put("bad.yaml", "model: arm.xml\ninitial: {q: {\"x*\": 1}}\n"), "")->status, 3);
}

/* Two of five touching balls strike: (0, 0, 0, 1, 1) one after the other, by option or study, as a law or as a way to
   use one; all at once the first ones rebound. */
TEST(impacts_one_after_the_other_by_option_and_study) {
  static const char head[] = "scene: newton-cradle\nset: {gap: 0, moving: 2}\nduration: 1e-3\n";
  static const char* const lines[] = {"law: sequential\n", "law: newton\nsequential: true\n",
                                      "law: newton\n"};
  for (int k = 0; k < 3; k++)
    for (int options = 0; options < 2; options++) {
      char text[200];
      snprintf(text, sizeof text, "%s%s", head, options ? "" : lines[k]);
      kn_test_result* r = knuckle("run", put("row.yaml", text),
                                  !options ? "--json"
                                  : k == 0 ? "--json --law sequential"
                                  : k == 1 ? "--json --sequential"
                                           : "--json");
      CHECK_INT(r->status, 0);
      for (size_t i = 0; i < 5; i++)
        if (k < 2) CHECK_NEAR(number(r->out, "v", i), i >= 3, 2e-5); /* the weight of pendulums in 1 ms */
      if (k == 2) CHECK(number(r->out, "v", 0) < 0.0);
    }
  CHECK_INT(knuckle("run", put("row.yaml", "scene: newton-cradle\nsequential: maybe\n"), "")->status, 3);
  CHECK_INT(
      knuckle("run",
              put("row.yaml", "scene: newton-cradle\nlaw: projection\ncertificate: refuse\nduration: 0\n"),
              "")
          ->status,
      0);
}

/* A compliant law by option and by study gives the same bits, and another than the usual one's. */
TEST(compliant_law_by_option_and_study) {
  const char* path = put("soft.yaml", "scene: bouncing-ball\nstepper: compliant\nduration: 0.6\n"
                                      "compliant: {law: flores, exponent: 1.4, eps: 1e-4}\n");
  double study = number(knuckle("run", path, "--json")->out, "v", 2);
  const char* base = "--time 0.6 --json --stepper compliant --eps 1e-4";
  char options[200];
  snprintf(options, sizeof options, "%s --compliant-law flores --exponent 1.4", base);
  double option = number(knuckle("run", "bouncing-ball", options)->out, "v", 2);
  double usual = number(knuckle("run", "bouncing-ball", base)->out, "v", 2);
  CHECK_NEAR(study, option, 0.0);
  CHECK(fabs(option - usual) > 1e-3);
  CHECK_TEXT(knuckle("list", "compliant-laws", "")->out, "lankarani-nikravesh");
  kn_test_result* r =
      knuckle("run", put("soft.yaml", "scene: bouncing-ball\ncompliant: {law: florés}\n"), "");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "soft.yaml:2:");
}

/* bias_iterations changes a spinning top's path, the same by option and study. */
TEST(bias_iterations_by_option_and_study) {
  char path[256];
  snprintf(path, sizeof path, "%s",
           put("top.yaml", "scene: spinning-top\nduration: 0.2\nbias_iterations: 2\n"));
  double study = number(knuckle("run", path, "--json")->out, "q", 3);
  double option =
      number(knuckle("run", "spinning-top", "--time 0.2 --bias-iterations 2 --json")->out, "q", 3);
  double usual = number(knuckle("run", "spinning-top", "--time 0.2 --json")->out, "q", 3);
  CHECK_NEAR(study, option, 0.0);
  printf("  with 2 %.17g, with 1 %.17g\n", option, usual);
  CHECK(option != usual);
}

TEST(materials_of_all_geoms_of_a_body_and_of_geoms_without_names) {
  put("arm.xml", arm);
  const char* path =
      put("arm2.yaml", "model: arm.xml\nduration: 0.01\nmaterials:\n  - body: upper\n    friction: 0.125\n"
                       "  - geom: geom0\n    friction: 0.5\n  - body: body1\n    friction: 0.75\n");
  CHECK_INT(knuckle("run", path, "")->status, 0);
  kn_test_result* r =
      knuckle("run", put("bad.yaml", "model: arm.xml\nmaterials:\n  - body: uper\n    friction: 1\n"), "");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "bad.yaml:3:");
  CHECK_TEXT(r->err, "uper");
  r = knuckle(
      "run", put("bad.yaml", "model: arm.xml\nmaterials:\n  - {body: upper, geom: hand, friction: 1}\n"), "");
  CHECK_INT(r->status, 3);
}

TEST(the_base_of_a_urdf) {
  put("box.urdf", box);
  json_t* root =
      json_loads(knuckle("run", put("box.yaml", "base: floating\nduration: 0.01\n"), "--json")->out, 0, NULL);
  CHECK(json_object_get(root, "error") != NULL); /* the study alone names no model */
  json_decref(root);
  kn_test_result* r = knuckle("run", folder, "/box.urdf --json");
  char line[300];
  snprintf(line, sizeof line, "run %s/box.urdf --json", folder);
  r = kn_test_knuckle(line);
  root = json_loads(r->out, 0, NULL);
  CHECK_INT(json_array_size(json_object_get(root, "v")), 6); /* a free joint */
  json_decref(root);
  snprintf(line, sizeof line, "run %s/box.urdf --base fixed --json", folder);
  root = json_loads(kn_test_knuckle(line)->out, 0, NULL);
  CHECK_INT(json_array_size(json_object_get(root, "v")), 0); /* the command line wins */
  json_decref(root);
}

/* The commented file runs as it is, and with every comment taken away. */
/* A box on the floor of --drop, gravity slanted: v = (g_x - mu g_z) t with the coefficient of --mu, or of a study that names all
   geoms or the floor; the floor's own 1 would hold the box (3 < 9.81). */
TEST(friction_that_is_asked_for_is_the_floors_too) {
  static const char* const asked[] = {
      "model: box.urdf\nbase: floating\n",
      "model: box.urdf\nbase: floating\nmaterials:\n  - geom: \"*\"\n    friction: 0.1\n",
      "model: box.urdf\nbase: floating\nmaterials:\n  - pair: [\"geom0\", knuckle-floor]\n    friction: "
      "0.1\n"};
  put("box.urdf", box);
  for (int k = 0; k < 3; k++) {
    const char* options = "--drop 0 --gravity 3,0,-9.81 --time 0.5 --json";
    char line[200];
    snprintf(line, sizeof line, "%s %s", k == 0 ? "--mu 0.1" : "", options);
    kn_test_result* r = knuckle("run", put("slide.yaml", asked[k]), line);
    if (!CHECK_INT(r->status, 0)) puts(r->err);
    CHECK_NEAR(number(r->out, "v", 0), 0.5 * (3 - 0.1 * 9.81), 1e-9);
  }
}

TEST(names_that_nothing_fits_have_a_near_one) {
  put("arm.xml", arm);
  kn_test_result* r =
      knuckle("run", put("bad.yaml", "model: arm.xml\nmaterials:\n  - body: uper\n    friction: 1\n"), "");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "bad.yaml:3:");
  CHECK_TEXT(r->err, "no body with geoms fits \"uper\", did you mean \"upper\"?");
  r = knuckle("run", put("bad.yaml", "model: arm.xml\nmaterials:\n  - geom: hnad\n    friction: 1\n"), "");
  CHECK_TEXT(r->err, "did you mean \"hand\"?");
  r = knuckle("run", put("bad.yaml", "model: arm.xml\nmaterials:\n  - geom: \"wheel*\"\n    friction: 1\n"),
              "");
  CHECK_TEXT(r->err, "no geom fits \"wheel*\", expected a name or pattern");
}

/* A knee that cannot be straight, in a file that starts it so: the advice of `start-repaired` is followed. */
TEST(study_init_starts_joints_within_their_ranges) {
  static const char knee[] =
      "<mujoco><compiler angle='radian'/><worldbody><body><joint name='knee' axis='0 1 0' limited='true' "
      "range='.5 2'/><geom type='capsule' fromto='0 0 0 1 0 0' size='.05'/></body></worldbody></mujoco>";
  char path[300], text[4096] = "";
  put("knee.xml", knee);
  snprintf(path, sizeof path, "%s/knee.xml", folder);
  CHECK_TEXT(knuckle("run", path, "--time 0.1 --gravity 0,0,9.81")->out, "knuckle study init");
  CHECK_INT(knuckle("study init", path, "--force")->status, 0);
  snprintf(path, sizeof path, "%s/knee.yaml", folder);
  FILE* f = fopen(path, "r");
  CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
  if (f) fclose(f);
  CHECK_TEXT(text, "knee: 0.5   # from 0.5 to 2; the model's 0 is outside");
  CHECK_INT(knuckle("run", put("knee.yaml", "model: knee.xml\ninitial: {q: {knee: 0.5}}\n"),
                    "--time 0.1 --gravity 0,0,9.81")
                ->status,
            0);
}

TEST(study_init_elsewhere_finds_its_model) {
  char path[300], line[700];
  put("far.xml", arm);
  snprintf(path, sizeof path, "%s/elsewhere", folder);
  CHECK(mkdir(path, 0700) == 0);
  snprintf(line, sizeof line, "study init %s/far.xml -o %s/elsewhere/near.yaml", folder, folder);
  CHECK_INT(kn_test_knuckle(line)->status, 0);
  snprintf(line, sizeof line, "run %s/elsewhere/near.yaml --time 0.01", folder);
  CHECK_INT(kn_test_knuckle(line)->status, 0);
  snprintf(line, sizeof line, "study init %s/far.xml -o %s/above.yaml", folder, folder);
  CHECK_INT(kn_test_knuckle(line)->status, 0);
  snprintf(line, sizeof line, "%s/above.yaml", folder);
  char text[400] = "";
  FILE* f = fopen(line, "r");
  CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
  if (f) fclose(f);
  CHECK_TEXT(text, "model: far.xml\n"); /* beside it: by name, so that the folder can be moved */
}

TEST(study_init_writes_a_file_that_runs) {
  char path[300], line[900];
  put("own.xml", arm);
  snprintf(path, sizeof path, "%s/own.xml", folder);
  kn_test_result* r = knuckle("study init", path, "");
  CHECK_INT(r->status, 0);
  CHECK_INT(knuckle("study init", path, "")->status, 4); /* nothing is replaced unasked */
  CHECK_INT(knuckle("study init", path, "--force --json")->status, 0);
  snprintf(path, sizeof path, "%s/own.yaml", folder);
  CHECK_INT(knuckle("run", path, "--time 0.01")->status, 0);
  snprintf(
      line, sizeof line,
      "cd %s && sed -E 's/^# ([a-z]+:|  )/\\1/; s/^#(   )/ \\1/' own.yaml | grep -v 'pair:\\|restitution: "
      "0.5\\|geom: pad\\|compliance' > all.yaml",
      folder);
  CHECK_INT(system(line), 0);
  snprintf(path, sizeof path, "%s/all.yaml", folder);
  r = knuckle("run", path, "--time 0.01");
  if (!CHECK_INT(r->status, 0)) puts(r->err);
  CHECK_TEXT(r->out, "run.mcap");
  CHECK_INT(knuckle("study init", "missing.xml", "")->status, 3);
  CHECK_INT(knuckle("study inti", "missing.xml", "")->status, 2);
}
