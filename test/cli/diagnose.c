/* knuckle diagnose: forces that are shown, and what is said of them. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "test.h"

static json_t* contacts(const char* line, json_t** root) {
  kn_test_result* r = kn_test_knuckle(line);
  CHECK_INT(r->status, 0);
  *root = json_loads(r->out, 0, NULL);
  return json_object_get(*root, "contacts");
}

static double force(json_t* contact, size_t k) {
  return json_number_value(json_array_get(json_object_get(contact, "force"), k));
}

TEST(the_map_of_friction_coefficients_leaves_the_forces_as_they_were) {
  json_t *plain, *mapped;
  json_t* a = contacts("diagnose grasp-2 --set path=quintic --at 0.2 --json", &plain);
  json_t* b = contacts("diagnose grasp-2 --set path=quintic --at 0.2 --mu-map link1,link3 link2,link4 -o "
                       "/tmp/kn-test-forces.svg --json",
                       &mapped);
  CHECK_INT(json_array_size(a), 4);
  CHECK_INT(json_array_size(b), 4);
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < 3; k++) {
      CHECK_NEAR(force(json_array_get(b, i), k), force(json_array_get(a, i), k), 0); /* the same bits */
      if (k == 0) CHECK(force(json_array_get(b, i), k) > 0.01);
    }
  json_decref(plain);
  json_decref(mapped);
  remove("/tmp/kn-test-forces.svg");
}

TEST(forces_that_differ_between_several_solutions_are_not_determinate) {
  json_t *root, *list = contacts("diagnose rocking-block --at 0.3 --json", &root);
  CHECK(strcmp(json_string_value(json_object_get(root, "verdict")), "several") == 0);
  CHECK(json_integer_value(json_object_get(root, "solutions")) > 1);
  CHECK_INT(json_array_size(list), 2);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char* d = json_string_value(json_object_get(json_array_get(list, i), "determinate"));
    CHECK(d && strcmp(d, "no") == 0);
  }
  json_decref(root);
  CHECK_TEXT(kn_test_knuckle("diagnose rocking-block --at 0.3")->out, "the solutions differ");
}

/* Painlevé's rod has no solution, hence no rows of which a rank could be told. */
TEST(a_rank_that_was_not_computed_is_not_shown) {
  const char* out = kn_test_knuckle("diagnose painleve-rod")->out;
  CHECK_TEXT(out, "matrix      not P; minor of rows 0 is -1");
  CHECK_TEXT(kn_test_knuckle("diagnose stack --at 0.1")->out, "rank 60 on the active of 120 rows");
}

/* As `knuckle list painleve-rod` has it. */
TEST(the_instants_of_painleves_rod) {
  static const char* const said[][2] = {{"", "verdict     none "},
                                        {"--at 0.0001", "verdict     unique "},
                                        {"--set rate=6", "verdict     several "},
                                        {"--set rate=-6", "verdict     several "},
                                        {"--set mu=1.2", "verdict     unique "}};
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
    char line[80];
    snprintf(line, sizeof line, "diagnose painleve-rod %s", said[i][0]);
    CHECK_TEXT(kn_test_knuckle(line)->out, said[i][1]);
  }
}

TEST(times_print_as_people_write_them) {
  kn_test_result* r = kn_test_knuckle("run stack --time 0.01");
  CHECK_TEXT(r->out, "10 steps of 1 ms in ");
  CHECK(strstr(r->out, "e-05") == NULL && strstr(r->out, "e+0") == NULL);
}

TEST(left_out_overlaps_are_explained) {
  static const char two[] =
      "<mujoco><worldbody><body><freejoint/><geom size='.1'/><body pos='0 0 .3'><joint/><geom size='.1'/>"
      "<body pos='0 0 -.25'><joint axis='1 0 0'/><geom size='.1'/></body></body></body></worldbody></mujoco>";
  char path[] = "/tmp/kn-overlap-XXXXXX.xml", line[128];
  int fd = mkstemps(path, 4);
  FILE* f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (!CHECK(f != NULL)) return;
  fputs(two, f);
  fclose(f);
  snprintf(line, sizeof line, "run %s --time 0.01", path);
  kn_test_result* r = kn_test_knuckle(line);
  CHECK_TEXT(r->out, "left out of contact");
  CHECK_TEXT(r->out, "--overlaps keep");
  remove(path);
}
