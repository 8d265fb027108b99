/* What a run says of its troubles: run, verify and demo agree, as text, as JSON and by exit status. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "knuckle/step.h"
#include "test.h"

#define TROUBLED "pendulum-2012 --links 40 --dt 0.004 --time 0.9" /* far too long for its step */
#define PLAIN    "bouncing-ball --time 0.2"

static const char* temporary(const char* ending) {
  static char path[2][128];
  static int which;
  which = !which;
  snprintf(path[which], sizeof *path, "/tmp/knuckle-troubles-%d.%s", (int)getpid(), ending);
  return path[which];
}

static const char* text_at(const json_t* j, const char* key) {
  const char* text = json_string_value(json_object_get(j, key));
  return text ? text : "";
}

/* Every field of the promise, and sentences from the table. */
static void check_list(const json_t* root) {
  static const char* const keys[] = {"kind", "t", "bodies", "value", "limit", "text", "count"};
  const json_t* list = json_object_get(root, "troubles");
  CHECK(json_array_size(list) > 0);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t* t = json_array_get(list, i);
    kn_trouble_kind kind;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) CHECK(json_object_get(t, keys[k]) != NULL);
    if (!CHECK(kn_trouble_find(&kind, text_at(t, "kind")))) continue;
    CHECK(strstr(text_at(t, "text"), kn_trouble_meaning(kind)) != NULL);
    CHECK(strstr(text_at(t, "text"), kn_trouble_advice(kind)) != NULL);
    CHECK(json_number_value(json_object_get(t, "value")) >= json_number_value(json_object_get(t, "limit")));
    CHECK(json_integer_value(json_object_get(t, "count")) >= 1);
    for (size_t b = 0; b < json_array_size(json_object_get(t, "bodies")); b++)
      CHECK(json_string_length(json_array_get(json_object_get(t, "bodies"), b)) > 0);
  }
}

/* Of the events those that are troubles: kind by name, and bodies that have one. */
static void check_events(const json_t* root) {
  const json_t* list = json_object_get(root, "events");
  size_t troubles = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *e = json_array_get(list, i), *bodies = json_object_get(e, "bodies");
    CHECK(json_is_array(bodies));
    for (size_t b = 0; b < json_array_size(bodies); b++)
      CHECK(json_string_length(json_array_get(bodies, b)) > 0);
    if (strcmp(text_at(e, "kind"), "trouble") != 0) continue;
    CHECK(kn_trouble_find(NULL, text_at(e, "trouble")));
    troubles++;
  }
  CHECK(troubles > 0);
}

static json_t* told(const char* command, int status) {
  json_error_t error;
  static char whole[4 << 20]; /* lists of events are long */
  char line[512];
  snprintf(line, sizeof line, "'" KN_BINARY_DIR "/knuckle' %s --json 2> /dev/null", command);
  FILE* f = popen(line, "r");
  size_t n = f ? fread(whole, 1, sizeof whole - 1, f) : 0;
  whole[n] = '\0';
  int code = f ? pclose(f) >> 8 : -1;
  CHECK_INT(code, status);
  return json_loads(whole, 0, &error);
}

TEST(run_verify_and_demo_agree_about_trouble) {
  char command[512];
  const char *file = temporary("mcap"), *page = temporary("html");
  for (int k = 0; k < 2; k++) {
    const char* scene = k ? PLAIN : TROUBLED;
    int status = k ? 0 : 1;
    snprintf(command, sizeof command, "run %s -o %s", scene, file);
    json_t* run = told(command, status);
    snprintf(command, sizeof command, "verify %s", file);
    json_t* verify = told(command, status);
    snprintf(command, sizeof command, "demo %s -o %s", scene, page);
    json_t* demo = told(command, status);
    CHECK(strcmp(text_at(run, "status"), k ? "ok" : "trouble") == 0);
    CHECK(strcmp(text_at(demo, "status"), k ? "ok" : "trouble") == 0);
    CHECK(json_is_true(json_object_get(verify, "ok")) == k);
    if (!k) check_events(run);
    const json_t* list = json_object_get(run, "troubles");
    CHECK(json_is_array(list) && json_equal(list, json_object_get(verify, "troubles")));
    CHECK(json_equal(list, json_object_get(demo, "troubles")));
    if (!k) check_list(run);
    json_decref(run), json_decref(verify), json_decref(demo);
  }
  remove(file), remove(page);
}

TEST(a_thinned_recording_keeps_the_steps_in_trouble) {
  char command[512];
  const char* file = temporary("mcap");
  snprintf(command, sizeof command, "run %s --record-every 50 -o %s", TROUBLED, file);
  json_t* run = told(command, 1);
  snprintf(command, sizeof command, "verify %s", file);
  json_t* verify = told(command, 1);
  CHECK(json_equal(json_object_get(run, "troubles"), json_object_get(verify, "troubles")));
  json_decref(run), json_decref(verify);
  remove(file);
}

TEST(text_names_kind_place_meaning_and_advice) {
  kn_test_result* r = kn_test_knuckle("run " TROUBLED);
  CHECK_INT(r->status, 1);
  CHECK(strstr(r->out, "  trouble     integration-energy in ") != NULL);
  CHECK(strstr(r->out, "joint hinge") != NULL);
  CHECK(strstr(r->out, kn_trouble_meaning(KN_TROUBLE_INTEGRATION_ENERGY)) != NULL);
  CHECK(strstr(r->out, kn_trouble_advice(KN_TROUBLE_INTEGRATION_ENERGY)) != NULL);
}

/* "largest gain 0" beside a rise of 16.6 kJ was the defect. */
TEST(the_rise_of_a_long_pendulum_is_the_headline) {
  json_t* run = told("run pendulum-2012 --links 120", 1);
  const json_t* e = json_object_get(run, "energy");
  static const char* const keys[] = {"initial",  "final",   "scale",       "rise",
                                     "rise_rel", "work_in", "max_gain_rel"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) CHECK(json_is_number(json_object_get(e, keys[k])));
  const json_t* by = json_object_get(e, "by");
  double rise = json_number_value(json_object_get(e, "rise")), sum = 0.0;
  static const char* const causes[] = {"contact", "integration", "correction", "damping"};
  for (int k = 0; k < 4; k++) sum += json_number_value(json_object_get(by, causes[k]));
  CHECK_NEAR(sum, rise, 1e-9 * json_number_value(json_object_get(e, "scale")));
  CHECK_NEAR(json_number_value(json_object_get(e, "rise_rel")),
             rise / json_number_value(json_object_get(e, "scale")), 1e-12);
  bool listed = false;
  for (size_t i = 0; i < json_array_size(json_object_get(run, "troubles")); i++)
    listed |=
        strcmp(text_at(json_array_get(json_object_get(run, "troubles"), i), "kind"), "energy-rise") == 0;
  CHECK(listed == (json_number_value(json_object_get(e, "rise_rel")) > 1e-3));
  json_decref(run);
}

TEST(the_page_of_the_troubles_is_up_to_date) {
  static char page[65536];
  FILE* f = fopen(KN_SOURCE_DIR "/docs/troubles.md", "r");
  if (!CHECK(f != NULL)) return;
  page[fread(page, 1, sizeof page - 1, f)] = '\0';
  fclose(f);
  if (!CHECK(strcmp(kn_test_knuckle("help --troubles")->out, page) == 0))
    puts("renew it: make docs   (or build-dev/knuckle help --troubles > docs/troubles.md)");
}

static const char* model_of(const char* text) {
  const char* path = temporary("xml");
  FILE* f = fopen(path, "w");
  CHECK(f && fputs(text, f) >= 0);
  if (f) fclose(f);
  return path;
}

/* A ball that begins .3 m in the floor is lifted before the run: K + V rises by nothing in it, and what was done is said. */
TEST(a_start_that_is_not_allowed_is_moved_before_the_run) {
  char command[300];
  const char* path = model_of(
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='ball' pos='0 0 .2'>"
      "<freejoint/><geom type='sphere' size='.5' mass='2'/></body></worldbody></mujoco>");
  snprintf(command, sizeof command, "run %s --time 0.1", path);
  kn_test_result* run = kn_test_knuckle(command);
  CHECK_INT(run->status, 0);
  CHECK(strstr(run->out, "start       moved before the run, 5.89 J higher (ball on floor)") != NULL);
  snprintf(command, sizeof command, "run %s --time 0.1 --json", path);
  json_t* root = json_loads(kn_test_knuckle(command)->out, 0, NULL);
  const json_t *start = json_object_get(root, "start"), *energy = json_object_get(root, "energy");
  CHECK_NEAR(json_number_value(json_object_get(start, "raised")), 2.0 * 9.81 * 0.3, 1e-9);
  CHECK_NEAR(json_number_value(json_object_get(energy, "initial")), 2.0 * 9.81 * 0.5, 1e-9);
  CHECK_BELOW(json_number_value(json_object_get(energy, "rise_rel")), 1e-9);
  json_decref(root);
}

/* A repair turned feet that stood on one edge onto the other, because that one had carried load: half a joule, which the robot had
   not, and 900 steps that stopped (barkour_vb). Hulls that rocked onto a vertex that was no contact yet were lifted back in
   every step for ever (its revision 1.0). */
TEST(feet_on_the_floor_are_not_lifted_by_repairs) {
  static const char* const runs[] = {
      "google_barkour_vb/barkour_vb.xml' --drop 0.1 --time 1", "google_barkour_vb/scene.xml' --time 1",
      "google_barkour_vb/barkour_vb_rev_1_0_head_straight.urdf' --base floating "
      "--drop 0.1 --time 2"};
  char command[1200];
  if (!kn_test_data("models/mjcf")) SKIP("no shared data");
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    snprintf(command, sizeof command, "run '%s/%s --passive", kn_test_data("models/mjcf"), runs[i]);
    kn_test_result* run = kn_test_knuckle(command);
    if (!CHECK_INT(run->status, 0)) printf("  %s\n%s%s", command, run->out, run->err);
  }
}
