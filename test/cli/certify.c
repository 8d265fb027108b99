/* knuckle certify: the fields that scripts read, the picture, refusals. */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static json_t* certify(const char* arguments, int status) {
  char line[512];
  snprintf(line, sizeof line, "certify %s --json", arguments);
  kn_test_result* r = kn_test_knuckle(line);
  CHECK_INT(r->status, status);
  json_t* j = json_loads(r->out, 0, NULL);
  CHECK(j != NULL);
  return j;
}

static double number(json_t* j, const char* key) { return json_number_value(json_object_get(j, key)); }
static double entry(json_t* j, const char* key, size_t i) {
  return json_number_value(json_array_get(json_object_get(j, key), i));
}

/* Closed form of two contacts, docs/projection.md: W12 / W11 = c gives rho of diag(1, 0) as 1 / (1 - c²). */
TEST(rod_that_can_gain) {
  const char* svg = "/tmp/kn-test-certify.svg";
  unlink(svg);
  json_t* j = certify("rod --contacts -0.45,0.45 --e 1,0 --lmi -o /tmp/kn-test-certify.svg", 0);
  double c = (1 - 12 * 0.45 * 0.45) / (1 + 12 * 0.45 * 0.45);
  CHECK_NEAR(number(j, "rho"), 1 / (1 - c * c), 1e-12);
  CHECK(json_is_false(json_object_get(j, "consistent")));
  CHECK_NEAR(entry(j, "e_requested", 0), 1, 0);
  for (size_t i = 0; i < 2; i++) CHECK_NEAR(entry(j, "e_nearest", i), entry(j, "e_nearest_lmi", i), 1e-5);
  json_t* example = json_object_get(j, "energy_gain_example");
  CHECK_NEAR(number(example, "gain"), number(j, "rho") - 1, 1e-12);
  CHECK(strcmp(json_string_value(json_object_get(example, "approaching_exists")), "no") == 0);
  CHECK(access(svg, R_OK) == 0);
  json_decref(j);
  unlink(svg);
}

TEST(rod_that_cannot) {
  json_t* j = certify("rod --contacts -0.3,0.3 --e 0.9,0.1 -o none", 0);
  CHECK(number(j, "rho") < 1);
  CHECK(json_is_true(json_object_get(j, "consistent")));
  CHECK(json_is_null(json_object_get(j, "energy_gain_example")));
  CHECK_NEAR(entry(j, "e_nearest", 0), 0.9, 0);
  json_decref(j);
}

/* Three contacts under a rod: one too many, tested within what can happen. */
TEST(redundant_contacts) {
  json_t* j = certify("rod --contacts -0.4,0,0.4 --e 0.5,0.5,0.5", 0);
  CHECK_NEAR(number(j, "rho"), 0.25, 1e-12);
  CHECK_INT(json_integer_value(json_object_get(j, "rank")), 2);
  json_decref(j);
}

TEST(a_scene_at_its_impact) {
  json_t* j = certify("woodpecker -o none", 0);
  CHECK(number(j, "t") > 0);
  CHECK(json_is_true(json_object_get(j, "consistent")));
  CHECK_INT(json_integer_value(json_object_get(j, "contacts")), 2);
  json_decref(j);
  j = certify("woodpecker --e 1,0 --check -o none", 1);
  json_t* example = json_object_get(j, "energy_gain_example");
  CHECK(json_array_size(json_object_get(example, "velocity")) == 3);
  json_decref(j);
}

TEST(refusals) {
  CHECK_INT(kn_test_knuckle("certify rod --contacts 0.1 --e 0.5,0.5")->status, 2);
  CHECK_INT(kn_test_knuckle("certify rod --contacts 0.9 --e 0.5")->status, 3);
  CHECK_INT(kn_test_knuckle("certify rod --contacts 0.1 --e 1.5")->status, 3);
  CHECK_INT(kn_test_knuckle("certify no-such-scene")->status, 3);
  CHECK_INT(kn_test_knuckle("certify four-bar --time 1")->status, 2);
  kn_test_result* r = kn_test_knuckle("certify rod --contacts -0.3,0.3 --e 1,0 -o /no/such/folder/x.svg");
  CHECK_INT(r->status, 4);
}
