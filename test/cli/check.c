/* knuckle check on built-in scenes: the numbers, MJCF out and in again, and what goes wrong. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "command.h"
#include "test.h"

static double number(const char* json, const char* key) {
  json_t* root = json_loads(json, 0, NULL);
  json_t* value = json_object_get(root, key);
  double x = json_is_number(value) ? json_number_value(value) : NAN;
  json_decref(root);
  return x;
}

TEST(a_scene_and_its_mjcf_are_the_same_model) {
  char path[] = "/tmp/knuckle-check-XXXXXX.xml", command[256];
  int fd = mkstemps(path, 4);
  if (!CHECK(fd >= 0)) return;
  snprintf(command, sizeof command, "check humanoid --json --mjcf %s", path);
  kn_test_result* r = kn_test_knuckle(command);
  CHECK_INT(r->status, 0);
  CHECK_NEAR(number(r->out, "nv"), 34, 0);
  CHECK_NEAR(number(r->out, "mass"), 67.8, 1e-12);
  double trace = number(r->out, "trace_M"), logdet = number(r->out, "logdet_M"),
         bias = number(r->out, "bias_norm");
  snprintf(command, sizeof command, "check %s --json", path);
  r = kn_test_knuckle(command);
  CHECK_INT(r->status, 0);
  CHECK_REL(number(r->out, "trace_M"), trace, 1e-13);
  CHECK_REL(number(r->out, "logdet_M"), logdet, 1e-13);
  CHECK_REL(number(r->out, "bias_norm"), bias, 1e-13);
  remove(path);
}

/* 18 000 dofs: M alone would take 2.6 GB and its factor minutes. Every ball of mass m and radius r gives
   3 log m + 3 log(2/5 m r²) to log det M. */
TEST(many_bodies_need_no_matrix) {
  struct rusage use;
  kn_test_result* r = kn_test_knuckle("check sphere-pile --set balls=3000 --json --quiet");
  CHECK_INT(r->status, 0);
  CHECK_NEAR(number(r->out, "nv"), 18000, 0);
  CHECK_REL(number(r->out, "logdet_M"), 3000 * 3 * log(0.4 * 0.05 * 0.05), 1e-12);
  CHECK_INT(getrusage(RUSAGE_CHILDREN, &use), 0);
  CHECK_BELOW(1024.0 * (double)use.ru_maxrss, 0.5e9); /* 40 MB; sanitizers take several times as much */
}

TEST(parameters_and_mistakes) {
  kn_test_result* r = kn_test_knuckle("check stack --set boxes=3 --json");
  CHECK_INT(r->status, 0);
  CHECK_NEAR(number(r->out, "nv"), 18, 0);
  r = kn_test_knuckle("check stakk");
  CHECK(r->status != 0);
  CHECK_TEXT(r->err, "did you mean stack?");
  r = kn_test_knuckle("check stack --set boxs=3");
  CHECK(r->status != 0);
  CHECK_TEXT(r->err, "did you mean boxes?");
  r = kn_test_knuckle("check missing.xml");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "missing.xml");
  r = kn_test_knuckle("check stack --mjcf /no/such/folder/x.xml");
  CHECK_INT(r->status, 4);
  r = kn_test_knuckle("check gripper --mjcf /tmp/knuckle-never.xml"); /* prescribed motion */
  CHECK(r->status != 0);
  CHECK_TEXT(r->err, "prescribed motion");
  CHECK(remove("/tmp/knuckle-never.xml") != 0); /* no half file */
}
