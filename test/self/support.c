/* The test support itself: a check that should fail must fail, print what it promises and make the program
   fail. The failing checks run in a child process: this program again with KN_CHILD set, which then
   also has the tests below. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static const double one_two[] = {1, 2}, one_nan[] = {1, NAN}, zero[] = {0.0}, minus_zero[] = {-0.0};

static void fail_near(void) { CHECK_NEAR(1.5, 1.0, 0.25); }
static void fail_nan(void) { CHECK_NEAR(NAN, 1.0, 1e300); }
static void fail_rel(void) { CHECK_REL(100.0, 102.0, 0.01); }
static void fail_array(void) { CHECK_ARRAY(one_nan, one_two, 2, 1e300); }
static void fail_below(void) { CHECK_BELOW(NAN, 1.0); }
static void fail_bits(void) { CHECK_BITS(minus_zero, zero, 1); }
static void fail_int(void) { CHECK_INT(3, 4); }
static void fail_text(void) { CHECK_TEXT("abc", "x"); }
static void fail_status(void) { CHECK_STATUS(KN_OK, KN_IO); }
static void fail_condition(void) { CHECK(1 + 1 == 3); }
static void fail_empty(void) {}
static void skip_one(void) { SKIP("no data"); }
static void pass_one(void) { CHECK(true); }

static const struct {
  const char* name;
  kn_test_fn fn;
  const char* prints; /* what the child must print */
} children[] = {
    {"child-near", fail_near, "got 1.5, expected 1, error 0.5, tolerance 0.25"},
    {"child-nan", fail_nan, "got nan, expected 1"},
    {"child-rel", fail_rel, "error 2, tolerance 1.02"},
    {"child-array", fail_array, "one_nan[1]: got nan, expected 2"},
    {"child-below", fail_below, "expected at most 1"},
    {"child-bits", fail_bits, "minus_zero[0]: got -0x0p+0, expected the same bits as 0x0p+0"},
    {"child-int", fail_int, "got 3, expected 4"},
    {"child-text", fail_text, "got \"abc\", expected it to contain \"x\""},
    {"child-status", fail_status, "expected IO"},
    {"child-condition", fail_condition, "failed: 1 + 1 == 3"},
    {"child-empty", fail_empty, "it checked nothing"},
};
enum { CHILDREN = sizeof children / sizeof *children };

__attribute__((constructor)) static void register_children(void) {
  if (!getenv("KN_CHILD")) return;
  for (int i = 0; i < CHILDREN; i++) kn_test_register(children[i].name, children[i].fn);
  kn_test_register("child-skip", skip_one);
  kn_test_register("child-pass", pass_one);
}

/* Exit status of this program with the one test; its output in text. */
static int child(const char* name, char* text, size_t room) {
  char command[4200], self[4000] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return -1;
  snprintf(command, sizeof command, "KN_CHILD=1 '%s' %s", self, name);
  FILE* pipe = popen(command, "r");
  if (!pipe) return -1;
  size_t n = fread(text, 1, room - 1, pipe);
  text[n] = '\0';
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(every_check_can_fail) {
  char text[4096];
  for (int i = 0; i < CHILDREN; i++) {
    CHECK_INT(child(children[i].name, text, sizeof text), 1);
    CHECK_TEXT(text, children[i].prints);
    CHECK_TEXT(text, "0 passed, 1 failed, 0 skipped");
    if (strcmp(children[i].name, "child-empty") != 0) CHECK_TEXT(text, "support.c:");
  }
}

TEST(skips_are_counted_and_seen_by_ctest) {
  char text[4096];
  CHECK_INT(child("child-skip", text, sizeof text), 77);
  CHECK_TEXT(text, "0 passed, 0 failed, 1 skipped");
  CHECK_INT(child("child-pass", text, sizeof text), 0);
  CHECK_TEXT(text, "1 passed, 0 failed, 0 skipped");
}

TEST(checks_hold_at_the_tolerance) {
  CHECK_NEAR(1.25, 1.0, 0.25);
  CHECK_REL(101.0, 100.0, 0.01);
  CHECK_BELOW(1.0, 1.0);
  CHECK_ARRAY(one_two, one_two, 2, 0);
  CHECK_BITS(one_nan, one_nan, 2);
}

TEST(allocations_are_counted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers bring their own allocator");
#else
  void* p[5] = {0};
  size_t before = kn_test_allocations();
  p[0] = malloc(8);
  p[1] = calloc(1, 8);
  p[2] = realloc(NULL, 8);
  p[3] = aligned_alloc(64, 64);
  CHECK_INT(posix_memalign(&p[4], 64, 64), 0);
  CHECK_INT(kn_test_allocations() - before, 5);
  for (int i = 0; i < 5; i++) free(p[i]);
  CHECK_INT(kn_test_allocations() - before, 5);
#endif
}
