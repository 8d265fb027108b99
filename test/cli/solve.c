/* knuckle solve: answers, verdicts and refusals as scripts see them. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static const char* write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  if (f) fputs(text, f), fclose(f);
  return path;
}

static json_t* solve(const char* arguments, int status) {
  char line[512];
  snprintf(line, sizeof line, "solve %s --json", arguments);
  kn_test_result* r = kn_test_knuckle(line);
  CHECK_INT(r->status, status);
  return json_loads(r->out, 0, NULL);
}

static const char* text_of(json_t* j, const char* key) {
  const char* t = json_string_value(json_object_get(j, key));
  return t ? t : "";
}

TEST(an_lcp_with_several_solutions) {
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[-1]], \"q\": [1]}");
  json_t* j = solve("/tmp/kn-test-solve.json --all", 0);
  CHECK_TEXT(text_of(j, "kind"), "lcp");
  CHECK_TEXT(text_of(j, "status"), "solved");
  CHECK_TEXT(text_of(j, "verdict"), "several");
  CHECK_TEXT(text_of(j, "matrix_class"), "not_P");
  CHECK_INT(json_array_size(json_object_get(j, "solutions")), 2);
  CHECK_INT(json_array_size(json_object_get(j, "z")), 1);
  CHECK(json_number_value(json_object_get(j, "residual")) <= 1e-14);
  CHECK(json_number_value(json_object_get(j, "time_us")) >= 0);
  json_decref(j);
}

TEST(an_lcp_without_solution_has_a_certificate) {
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[0, 0], [0, 1]], \"q\": [-1, 1]}");
  json_t* j = solve("/tmp/kn-test-solve.json", 0);
  CHECK_TEXT(text_of(j, "status"), "no_solution");
  CHECK_TEXT(text_of(j, "verdict"), "none");
  CHECK(strcmp(text_of(j, "certificate"), "none") != 0);
  json_decref(j);
}

TEST(redundant_legs_are_flagged) {
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[1, 1], [1, 1]], \"q\": [-1, -1]}");
  json_t* j = solve("/tmp/kn-test-solve.json -o /tmp/kn-test-solved.json", 0);
  CHECK_TEXT(text_of(j, "verdict"), "motion_unique");
  json_t* flags = json_object_get(j, "determinate");
  CHECK(json_is_false(json_array_get(flags, 0)) && json_is_false(json_array_get(flags, 1)));
  json_t* written = json_load_file("/tmp/kn-test-solved.json", 0, NULL);
  CHECK_INT(json_array_size(json_object_get(written, "z")), 2);
  json_decref(written);
  json_decref(j);
}

TEST(friction_problems_of_fclib) {
  const char* path = kn_test_data("friction/Rover1039.hdf5");
  if (!path) SKIP("no data");
  json_t* j = solve(path, 0);
  CHECK_TEXT(text_of(j, "kind"), "friction");
  CHECK_TEXT(text_of(j, "status"), "solved");
  CHECK(json_number_value(json_object_get(j, "residual")) <= 1e-8);
  CHECK_INT(json_array_size(json_object_get(j, "z")), 12);
  json_decref(j);
}

TEST(wrong_files_are_refused_with_their_place) {
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[1]],\n \"q\": [oops]}");
  kn_test_result* r = kn_test_knuckle("solve /tmp/kn-test-solve.json");
  CHECK_INT(r->status, 3);
  CHECK_TEXT(r->err, "/tmp/kn-test-solve.json:2:8:");
  CHECK_INT(kn_test_knuckle("solve /tmp/no-such-file.json")->status, 3);
  CHECK_INT(kn_test_knuckle("solve /tmp/kn-test-solve.json --tol 0")->status, 2);
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[1]], \"q\": [-1]}");
  CHECK_INT(kn_test_knuckle("solve /tmp/kn-test-solve.json --solver nonsense")->status, 2);
  CHECK_INT(kn_test_knuckle("solve /tmp/kn-test-solve.json -o /nonexistent/x.json")->status, 4);
}

/* A ball of 2 kg pulled sideways on a floor: a = (0.5, 0), force m g; every method with its duality gap. */
TEST(frictionless_contact_three_ways) {
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[2, 0], [0, 2]], \"J\": [[0, 1]], \"Q\": [1, -19.62]}");
  json_t* j = solve("/tmp/kn-test-solve.json --method all", 0);
  json_t* list = json_object_get(j, "methods");
  CHECK_TEXT(text_of(j, "kind"), "frictionless");
  CHECK_INT(json_array_size(list), 3);
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_t* m = json_array_get(list, i);
    CHECK_TEXT(text_of(m, "status"), "solved");
    CHECK_NEAR(json_number_value(json_object_get(m, "gap")), 0, 1e-10);
    CHECK_NEAR(json_number_value(json_array_get(json_object_get(m, "a"), 0)), 0.5, 1e-7);
    CHECK_REL(json_number_value(json_array_get(json_object_get(m, "lambda"), 0)), 19.62, 1e-6);
  }
  json_decref(j);
  json_decref(solve("/tmp/kn-test-solve.json --method ascent", 2));
  json_decref(solve("/tmp/kn-test-solve.json", 2)); /* not an LCP */
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[2, 0], [0, 2]], \"J\": [[0, 1]], \"Q\": [1]}");
  json_decref(solve("/tmp/kn-test-solve.json --method force", 3));
  write_file("/tmp/kn-test-solve.json", "{\"M\": [[1]], \"q\": [1]}");
  json_decref(solve("/tmp/kn-test-solve.json --method force", 3));
}
