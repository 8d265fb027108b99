/* The bench harness: a closure that does four times the work takes four times as long, ours and peers are
   told apart, and what is written is what was measured. */
#define _GNU_SOURCE
#include "bench.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static void spin(void* context) {
  volatile double x = 1;
  for (int i = 0; i < *(const int*)context; i++) x = x * 1.0000001;
}

static void extra_members(kn_json* j, void* context) { kn_json_int(j, "table1", *(const int*)context); }

/* Runs a bench into a folder of its own, with standard output and error put away; returns the JSON it saved.
 */
static json_t* measured(int (*run)(const char* folder), int* status) {
  char folder[] = "/tmp/kn-bench-XXXXXX", path[64];
  if (!CHECK(mkdtemp(folder) != NULL)) return NULL;
  fflush(stdout);
  int out = dup(1), err = dup(2);
  if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) abort();
  *status = run(folder);
  fflush(stdout);
  fflush(stderr);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  snprintf(path, sizeof path, "%s/self.json", folder);
  json_t* root = json_load_file(path, 0, NULL);
  remove(path);
  snprintf(path, sizeof path, "%s/self.svg", folder);
  CHECK(access(path, R_OK) == 0);
  remove(path);
  rmdir(folder);
  return root;
}

static int four_to_one(const char* folder) {
  static const int little = 2000, much = 8000, tiny = 100;
  char* argv[] = {(char*)(size_t) "self", (char*)(size_t) "--quick", (char*)(size_t) "--results",
                  (char*)(size_t)folder, NULL};
  kn_bench* b = kn_bench_open("self", "test", 4, argv);
  kn_bench_group(b, "spin", "n", KN_BENCH_LOG);
  kn_bench_row(b, "row-%d", 1);
  kn_bench_x(b, 1);
  kn_bench_ours(b, "knuckle", spin, (void*)(size_t)&little);
  kn_bench_peer(b, "slow", spin, (void*)(size_t)&much);
  kn_bench_peer_value(b, "broken", NAN);
  kn_bench_extra(b, "other work", spin, (void*)(size_t)&tiny);
  kn_bench_measure(b);
  kn_bench_number(b, "error", 0.25);
  kn_bench_members(b, extra_members, (void*)(size_t)&much);
  return kn_bench_close(b);
}

TEST(four_times_the_work_is_a_ratio_of_a_quarter) {
  int status = -1;
  json_t *root = measured(four_to_one, &status), *row = json_array_get(json_object_get(root, "rows"), 0);
  CHECK_INT(status, 0);
  CHECK_TEXT(json_string_value(json_object_get(row, "name")), "row-1");
  CHECK_TEXT(json_string_value(json_object_get(row, "best_peer_name")),
             "slow"); /* neither the extra nor the NaN */
  double ours = json_number_value(json_object_get(row, "knuckle")),
         peer = json_number_value(json_object_get(row, "best_peer"));
  CHECK_NEAR(json_number_value(json_object_get(row, "ratio")), ours / peer, 1e-12);
  CHECK_NEAR(ours / peer, 0.25, 0.1); /* CPU time of the thread: a busy machine changes it by some per cent */
  CHECK(ours > 0.5 && ours < 500);    /* microseconds for 2000 dependent multiplications */
  CHECK_NEAR(json_number_value(json_object_get(row, "error")), 0.25, 0);
  CHECK_INT(json_integer_value(json_object_get(root, "table1")), 8000);
  CHECK(json_string_value(json_object_get(root, "machine")) != NULL);
  json_decref(root);
}

static int wrong_answers(const char* folder) {
  char* argv[] = {(char*)(size_t) "self", (char*)(size_t) "--results", (char*)(size_t)folder, NULL};
  kn_bench* b = kn_bench_open("self", "test", 3, argv);
  kn_bench_row(b, "wrong");
  kn_bench_ours_value(b, "knuckle", 1);
  kn_bench_peer_value(b, "peer", 2);
  kn_bench_fail(b, "answers differ by %g", 0.5);
  return kn_bench_close(b);
}

TEST(wrong_answers_fail_the_bench) {
  int status = 0;
  json_t* root = measured(wrong_answers, &status);
  CHECK_INT(status, 1);
  CHECK_TEXT(json_string_value(json_array_get(json_object_get(root, "notes"), 0)), "answers differ by 0.5");
  json_decref(root);
}

/* A peer that is not there costs its rows only. */
TEST(missing_peers_are_notes) {
  char* argv[] = {(char*)(size_t) "self", (char*)(size_t) "--no-save", NULL};
  kn_bench* b = kn_bench_open("self", "test", 2, argv);
  CHECK(kn_bench_load_peer(b, "nosuchpeer") == NULL);
  kn_bench_row(b, "row");
  kn_bench_ours_value(b, "knuckle", 1);
  CHECK(isnan(kn_bench_ratio(b)));
  CHECK(!isnan(kn_bench_median(b, "knuckle")));
  int out = dup(1);
  fflush(stdout);
  if (!freopen("/dev/null", "w", stdout)) abort();
  CHECK_INT(kn_bench_close(b), 0);
  fflush(stdout);
  dup2(out, 1);
  close(out);
}
