/* A failure in parts: status, place, sentence. */
#include <pthread.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/model.h"
#include "test.h"

static kn_status load(const char* path, const char* text) {
  kn_spec* spec;
  kn_status status = kn_load_text(&spec, NULL, path, text, strlen(text), NULL);
  kn_spec_destroy(spec);
  return status;
}

TEST(place_of_a_wrong_attribute) {
  CHECK_STATUS(load("a:b/robot.xml", "<mujoco>\n <worldbody>\n  <geom size='x'/>\n </worldbody></mujoco>"),
               KN_BAD_FILE);
  kn_error e = kn_last_error_info();
  CHECK_INT(e.status, KN_BAD_FILE);
  CHECK(strcmp(e.file, "a:b/robot.xml") == 0); /* colons in a path do no harm */
  CHECK_INT(e.line, 3);
  CHECK(e.column > 1 && strcmp(e.text, kn_last_error()) == 0);
  CHECK(strncmp(e.text, "a:b/robot.xml:3:", 16) == 0 && strstr(e.what, "robot.xml") == NULL);
  CHECK(e.what > e.text && strcmp(e.what, e.text + (e.what - e.text)) == 0);
}

TEST(place_of_broken_xml) {
  CHECK_STATUS(load("r.xml", "<mujoco>\n <worldbody>\n</mujoco>"), KN_BAD_FILE);
  kn_error e = kn_last_error_info();
  CHECK(strcmp(e.file, "r.xml") == 0 && e.line == 3 && e.column >= 1);
  CHECK(strncmp(e.what, "mismatched closing tag", 22) == 0);
}

TEST(other_failures_have_no_place) {
  CHECK_STATUS(load("r.xml", "<mujoco"), KN_BAD_FILE);
  CHECK_STATUS(kn_model_body(NULL, NULL, 0), KN_BAD_ARGUMENT);
  kn_error e = kn_last_error_info();
  CHECK(e.status == KN_BAD_ARGUMENT && e.file[0] == 0 && e.line == 0 && e.column == 0 && e.what == e.text);
}

TEST(long_paths_are_cut_and_never_run_over) {
  char path[2000];
  memset(path, 'p', sizeof path);
  path[sizeof path - 1] = 0;
  CHECK_STATUS(load(path, "<mujoco>"), KN_BAD_FILE);
  kn_error e = kn_last_error_info();
  CHECK(strlen(e.file) < sizeof path && strlen(e.text) < 600 && e.line == 1);
}

static void* elsewhere(void* seen) {
  load("other.xml", "<x");
  *(int*)seen = kn_last_error_info().line;
  return NULL;
}

TEST(every_thread_has_its_own) {
  pthread_t thread;
  int line = 0;
  load("r.xml", "<mujoco>\n\n</x>");
  CHECK_INT(pthread_create(&thread, NULL, elsewhere, &line), 0);
  pthread_join(thread, NULL);
  CHECK_INT(line, 1);
  CHECK_INT(kn_last_error_info().line, 3);
}

static const char* no_name(const char* name) {
  static const char robot[] = "<mujoco><worldbody><body name='foot'><joint name='elbow'/><geom "
                              "size='1'/></body></worldbody></mujoco>";
  kn_spec* spec;
  kn_model* model;
  kn_joint id;
  if (!CHECK_OK(kn_load_text(&spec, NULL, "r", robot, strlen(robot), NULL))) return "";
  CHECK_OK(kn_compile(&model, spec));
  CHECK_STATUS(kn_model_find_joint(&id, model, name), KN_NOT_FOUND);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  return kn_last_error();
}

TEST(a_wrong_name_is_answered_with_names) {
  CHECK_TEXT(no_name("elbw"), "nearest: 'elbow'");
  CHECK_TEXT(no_name("nothing like it"), "there is 'elbow'");
}
