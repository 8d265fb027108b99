/* knuckle demo: the page holds the run, scripts get its figures, and wrong wishes are refused by name. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static char* whole_file(const char* path) {
  FILE* f = fopen(path, "rb");
  char* text = calloc(1, 1 << 22);
  if (f && text && fread(text, 1, (1 << 22) - 1, f) == 0) text[0] = '\0';
  if (f) fclose(f);
  return text;
}

/* The data of the page: the text between "const run = " and the end of its line. */
static json_t* data_of(const char* page) {
  const char* start = page ? strstr(page, "const run = ") : NULL;
  const char* end = start ? strchr(start, '\n') : NULL;
  return end ? json_loadb(start + 12, (size_t)(end - start - 12), JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

TEST(page_and_json_tell_the_same_run) {
  kn_test_result* r = kn_test_knuckle(
      "demo --json --time 0.5 -o /tmp/kn-test-demo/a/page.html --picture /tmp/kn-test-demo/p.svg");
  CHECK_INT(r->status, 0);
  CHECK_INT(strlen(r->err), 0);
  json_t* told = json_loads(r->out, 0, NULL);
  CHECK_INT(json_integer_value(json_object_get(told, "steps")), 500);
  CHECK_NEAR(json_number_value(json_object_get(told, "time")), 0.5, 1e-9); /* 500 sums of 1e-3 */
  CHECK(json_integer_value(json_object_get(told, "impacts")) >= 1);        /* the floor is hit at 0.164 s */
  CHECK_BELOW(json_number_value(json_object_get(json_object_get(told, "energy"), "rise_rel")), 1e-3);
  char* page = whole_file("/tmp/kn-test-demo/a/page.html");
  json_t* data = data_of(page);
  CHECK(json_is_object(data));
  CHECK_INT(json_array_size(json_object_get(data, "times")), 31); /* 60 a second, and the first */
  /* poses: 7 floats for each shape and picture, in base64 */
  size_t numbers = 7 * 31 * json_array_size(json_object_get(data, "shapes"));
  CHECK_INT(strlen(json_string_value(json_object_get(data, "frames"))), (4 * numbers + 2) / 3 * 4);
  CHECK(strstr(page, json_string_value(json_object_get(told, "state_hash"))) != NULL);
  CHECK(strstr(page, "NaN") == NULL);
  CHECK(strstr(page, "KN_PLOTS") == NULL);
  char* picture = whole_file("/tmp/kn-test-demo/p.svg");
  CHECK_TEXT(picture, "</svg>");
  free(picture);
  free(page);
  json_decref(data);
  json_decref(told);
}

TEST(the_same_run_twice_has_the_same_hash) {
  char first[24];
  json_t* a = json_loads(kn_test_knuckle("demo --json --time 0.3 -o /tmp/kn-test-demo/b.html")->out, 0, NULL);
  snprintf(first, sizeof first, "%s", json_string_value(json_object_get(a, "state_hash")));
  json_t* b = json_loads(kn_test_knuckle("demo --json --time 0.3 -o /tmp/kn-test-demo/c.html")->out, 0, NULL);
  json_t* c =
      json_loads(kn_test_knuckle("demo --json --time 0.301 -o /tmp/kn-test-demo/d.html")->out, 0, NULL);
  CHECK_INT(strlen(first), 16);
  CHECK_TEXT(json_string_value(json_object_get(b, "state_hash")), first);
  CHECK(strcmp(json_string_value(json_object_get(c, "state_hash")), first) != 0);
  json_decref(a);
  json_decref(b);
  json_decref(c);
}

TEST(wrong_wishes_are_refused) {
  kn_test_result* r = kn_test_knuckle("demo pendulm-2014");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "pendulum-2014");
  r = kn_test_knuckle("demo --set linkz=3");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "links");
  r = kn_test_knuckle("demo --dt -1");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "--dt: expected a number");
  r = kn_test_knuckle("demo --dt nan");
  CHECK_INT(r->status, 2);
  r = kn_test_knuckle("demo --time 0.01 -o /proc/nowhere/x.html");
  CHECK_INT(r->status, 4);
  CHECK_TEXT(r->err, "/proc/nowhere/x.html");
}
