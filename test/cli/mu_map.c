/* knuckle diagnose --mu-map: the picture, its numbers, and refusals. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

#define FILE_NAME "/tmp/kn-test-mu-map.svg"

TEST(the_map_of_a_grasp) {
  unlink(FILE_NAME);
  kn_test_result* r = kn_test_knuckle("diagnose grasp-2 --set path=quintic --at 0.2 --mu-map link1,link3 "
                                      "link2,link4 --json -o " FILE_NAME);
  CHECK_INT(r->status, 0);
  json_t *j = json_loads(r->out, 0, NULL), *map = json_object_get(j, "mu_map");
  CHECK(json_is_true(json_object_get(map, "inside")));
  json_t *a = json_object_get(map, "a"), *b = json_object_get(map, "b");
  CHECK_INT(json_integer_value(json_object_get(a, "contacts")), 2);
  CHECK_NEAR(json_number_value(json_object_get(a, "mu")), 0.8, 1e-15);
  /* limits of the planned motion (test scenes/grasp); the run leaves the plan by some 1e-5 m */
  CHECK_NEAR(json_number_value(json_object_get(a, "limit")), 1.14685, 2e-3);
  CHECK_NEAR(json_number_value(json_object_get(b, "limit")), 0.88953, 2e-3);
  json_decref(j);
  FILE* f = fopen(FILE_NAME, "r");
  char text[4096] = "";
  if (CHECK(f != NULL)) {
    size_t n = fread(text, 1, sizeof text - 1, f);
    CHECK(n > 1000 && strstr(text, "<svg"));
    fclose(f);
  }
  unlink(FILE_NAME);
}

TEST(the_map_of_a_rod) { /* one contact with friction: named twice is refused, so is a name without contact */
  kn_test_result* r = kn_test_knuckle("diagnose painleve-rod --mu-map 0 0 -o " FILE_NAME);
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "belongs to both");
  r = kn_test_knuckle("diagnose painleve-rod --mu-map 0 nobody -o " FILE_NAME);
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "no sliding contact");
  r = kn_test_knuckle("diagnose painleve-rod --mu-map 0");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "two values");
  r = kn_test_knuckle("diagnose grasp-2 --at 0.1 --mu-map link1 link2 -o /nonexistent/map.svg");
  CHECK_INT(r->status, 4);
}
