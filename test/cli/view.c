/* knuckle view: what goes into the page, and wrong wishes. The page itself is tested in a browser (viewer/test); here a
   small one stands for it. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static const char page[] = "<p>before</p><script id=\"run\" type=\"application/json\"></script><p>after</p>";

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static char* whole_file(const char* path) {
  FILE* f = fopen(path, "rb");
  char* text = calloc(1, 1 << 22);
  if (f && text && fread(text, 1, (1 << 22) - 1, f) == 0) text[0] = '\0';
  if (f) fclose(f);
  return text;
}

/* Runs `knuckle view LINE --html FILE --json` with the small page; the JSON inside it, and what was told. */
static json_t* run_of(const char* line, json_t** told) {
  char words[512];
  write_text("/tmp/kn-view-page.html", page);
  setenv("KNUCKLE_VIEW_PAGE", "/tmp/kn-view-page.html", 1);
  snprintf(words, sizeof words, "view %s --html /tmp/kn-view.html --json", line);
  kn_test_result* r = kn_test_knuckle(words);
  CHECK_INT(r->status, 0);
  *told = json_loads(r->out, 0, NULL);
  char* text = whole_file("/tmp/kn-view.html");
  CHECK(strncmp(text, page, strlen("<p>before</p>")) == 0 && strstr(text, "</script><p>after</p>"));
  char *start = strchr(strstr(text, "<script"), '>') + 1, *end = strstr(start, "</script>");
  json_t* run = json_loadb(start, (size_t)(end - start), 0, NULL);
  CHECK(json_is_object(run));
  free(text);
  return run;
}

static const char* word(json_t* run, size_t i) {
  const char* text = json_string_value(json_array_get(json_object_get(run, "words"), i));
  return text ? text : "";
}

TEST(recipe_of_a_scene_has_its_options_and_hashes) {
  json_t *told, *run = run_of("pendulum-2014 --time 0.5 --set links=5 --mu 0.2 --gravity 0,0,-5", &told);
  const char* wanted[] = {"pendulum-2014", "--mu", "0.2", "--gravity", "0,0,-5", "--set", "links=5"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) CHECK(strcmp(word(run, i), wanted[i]) == 0);
  CHECK_INT(json_array_size(json_object_get(run, "files")), 0);
  json_t* checks = json_object_get(run, "checks");
  json_t* last = json_array_get(checks, json_array_size(checks) - 1);
  CHECK_INT(json_integer_value(json_array_get(last, 0)), 500);
  kn_test_result* r =
      kn_test_knuckle("run pendulum-2014 --time 0.5 --set links=5 --mu 0.2 --gravity 0,0,-5 --json");
  CHECK(strstr(r->out, json_string_value(json_array_get(last, 1))) != NULL);
  CHECK(strstr(r->out, json_string_value(json_object_get(told, "state_hash"))) != NULL);
  json_decref(told);
  json_decref(run);
}

TEST(files_of_a_model_go_along_without_the_folders_above) {
  CHECK_INT(system("mkdir -p /tmp/kn-view-model/sub"), 0);
  write_text("/tmp/kn-view-model/robot.xml",
             "<mujoco model='&lt;/script&gt;'><include file='sub/part.xml'/></mujoco>");
  write_text("/tmp/kn-view-model/sub/part.xml",
             "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
  json_t *told, *run = run_of("/tmp/kn-view-model/robot.xml --time 0.1", &told);
  CHECK(strcmp(word(run, 0), "/robot.xml") == 0);
  json_t* files = json_object_get(run, "files");
  CHECK_INT(json_array_size(files), 2);
  CHECK(strcmp(json_string_value(json_object_get(json_array_get(files, 0), "path")), "/robot.xml") == 0);
  CHECK(strcmp(json_string_value(json_object_get(json_array_get(files, 1), "path")), "/sub/part.xml") == 0);
  CHECK(strcmp(json_string_value(json_object_get(told, "kind")), "recipe") == 0);
  json_decref(told);
  json_decref(run);
}

TEST(recording_goes_in_as_it_is) {
  CHECK_INT(kn_test_knuckle("run bouncing-ball --time 0.2 -o /tmp/kn-view.mcap")->status, 0);
  json_t *told, *run = run_of("/tmp/kn-view.mcap", &told);
  CHECK(strcmp(json_string_value(json_object_get(told, "kind")), "recording") == 0);
  CHECK(strcmp(word(run, 0), "/kn-view.mcap") == 0);
  CHECK_INT(json_array_size(json_object_get(run, "files")), 1);
  json_decref(told);
  json_decref(run);
}

TEST(wrong_wishes_are_refused_by_name) {
  setenv("KNUCKLE_VIEW_PAGE", "/tmp/kn-view-nowhere.html", 1);
  kn_test_result* r = kn_test_knuckle("view stack --time 0.01 --html /tmp/kn-view.html");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "/tmp/kn-view-nowhere.html (KNUCKLE_VIEW_PAGE)");
  write_text("/tmp/kn-view-page.html", "<p>another page</p>");
  setenv("KNUCKLE_VIEW_PAGE", "/tmp/kn-view-page.html", 1);
  CHECK_TEXT(kn_test_knuckle("view stack --time 0.01 --html /tmp/kn-view.html")->err, "no place for a run");
  CHECK_TEXT(kn_test_knuckle("view stak")->err, "did you mean stack?");
  CHECK_TEXT(kn_test_knuckle("view stack --html /tmp/kn-view.txt")->err, ".html");
  CHECK_TEXT(kn_test_knuckle("view stack --screenshot /tmp/kn-view.gif")->err, ".png");
  CHECK_TEXT(kn_test_knuckle("view stack --video /tmp/kn-view.gif")->err, ".mp4 or .webm");
  CHECK_TEXT(kn_test_knuckle("view stack --video /tmp/kn-view.mp4 --size 641,400")->err, "even numbers");
  CHECK_TEXT(kn_test_knuckle("view stack --screenshot /tmp/kn-view.png --size wide")->err, "WIDTH,HEIGHT");
  CHECK_INT(kn_test_knuckle("view /tmp/kn-view-none.mcap")->status, 3);
  unsetenv("KNUCKLE_VIEW_PAGE");
}

TEST(surfaces_and_gravity_change_the_run_of_every_command) {
  kn_test_result* r = kn_test_knuckle("run sliding-block --mu 0 --time 0.2 --json");
  CHECK_INT(r->status, 0);
  json_t* told = json_loads(r->out, 0, NULL);
  /* without friction the block keeps its speed, hence all its kinetic energy */
  CHECK_NEAR(json_number_value(json_object_get(json_object_get(told, "ledger"), "friction")), 0.0, 0.0);
  json_decref(told);
  CHECK_INT(kn_test_knuckle("run stack --gravity 0,0 --time 0.1")->status, 3);
  CHECK_INT(kn_test_knuckle("run stack --mu -1 --time 0.1")->status, 2);
}
