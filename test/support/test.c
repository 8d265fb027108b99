#define _GNU_SOURCE
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TESTS = 512 };

static struct {
  const char* name;
  kn_test_fn fn;
} tests[MAX_TESTS];
static int test_count, failures_here, checks_here;
static bool skipped_here;

void kn_test_register(const char* name, kn_test_fn fn) {
  if (test_count == MAX_TESTS) abort();
  tests[test_count].name = name;
  tests[test_count++].fn = fn;
}

bool kn_check(bool ok, const char* text, const char* file, int line) {
  checks_here++;
  if (!ok) printf("%s:%d: failed: %s\n", file, line, text), failures_here++;
  return ok;
}

bool kn_check_near(double got, double expected, double tol, const char* text, const char* file, int line) {
  checks_here++;
  double error = fabs(got - expected);
  bool ok = error <= tol; /* false for NaN */
  if (!ok) {
    printf("%s:%d: %s: got %.17g, expected %.17g, error %.3g, tolerance %.3g\n", file, line, text, got,
           expected, error, tol);
    failures_here++;
  }
  return ok;
}

bool kn_check_array(const double* got, const double* expected, size_t n, double tol, const char* text,
                    const char* file, int line) {
  checks_here++;
  double scale = 1.0, worst = -1.0;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(expected[i]));
  for (size_t i = 0; i < n; i++) {
    double error = fabs(got[i] - expected[i]);
    if (!(error <= worst)) {
      at = i;
      worst = isnan(error) ? INFINITY : error;
    }
  }
  if (n == 0 || worst <= tol * scale) return true;
  printf("%s:%d: %s[%zu]: got %.17g, expected %.17g, error %.3g, tolerance %.3g\n", file, line, text, at,
         got[at], expected[at], worst, tol * scale);
  failures_here++;
  return false;
}

bool kn_check_status(kn_status got, kn_status expected, const char* text, const char* file, int line) {
  checks_here++;
  if (got == expected) return true;
  printf("%s:%d: %s: got %s (%s), expected %s\n", file, line, text, kn_status_name(got), kn_last_error(),
         kn_status_name(expected));
  failures_here++;
  return false;
}

bool kn_check_int(long long got, long long expected, const char* text, const char* file, int line) {
  checks_here++;
  if (got == expected) return true;
  printf("%s:%d: %s: got %lld, expected %lld\n", file, line, text, got, expected);
  failures_here++;
  return false;
}

bool kn_check_text(const char* got, const char* part, const char* text, const char* file, int line) {
  checks_here++;
  if (got && strstr(got, part)) return true;
  printf("%s:%d: %s: got \"%s\", expected it to contain \"%s\"\n", file, line, text, got ? got : "NULL",
         part);
  failures_here++;
  return false;
}

bool kn_check_below(double got, double limit, const char* text, const char* file, int line) {
  checks_here++;
  if (got <= limit) return true; /* false for NaN */
  printf("%s:%d: %s: got %.17g, expected at most %.17g\n", file, line, text, got, limit);
  failures_here++;
  return false;
}

bool kn_check_bits(const double* got, const double* expected, size_t n, const char* text, const char* file,
                   int line) {
  checks_here++;
  for (size_t i = 0; i < n; i++)
    if (memcmp(&got[i], &expected[i], sizeof *got) != 0) {
      printf("%s:%d: %s[%zu]: got %a, expected the same bits as %a\n", file, line, text, i, got[i],
             expected[i]);
      failures_here++;
      return false;
    }
  return true;
}

void kn_test_skip(const char* reason) {
  printf("  skipped: %s\n", reason);
  skipped_here = true;
}

int kn_test_effort(void) {
  const char* text = getenv("KN_EFFORT");
  int effort = text ? atoi(text) : 1;
  return effort > 0 ? effort : 1;
}

int kn_test_steps(int steps) {
#ifdef __SANITIZE_ADDRESS__
  steps = (steps + 4) / 5;
#endif
  return steps * kn_test_effort();
}

const char* kn_test_data(const char* relative) {
  static char path[8][1024];
  static int turn;
  char* p = path[turn++ % 8];
  snprintf(p, sizeof path[0], "%s/%s", KN_SHARED_DATA, relative);
  return access(p, R_OK) == 0 ? p : NULL;
}

static bool selected(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    if (strstr(name, argv[i])) return true;
  return argc < 2;
}

int main(int argc, char** argv) {
  int passed = 0, failed = 0, skipped = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < test_count; i++) {
    if (!selected(tests[i].name, argc, argv)) continue;
    failures_here = checks_here = 0;
    skipped_here = false;
    tests[i].fn();
    if (failures_here)
      failed++, printf("FAILED %s (%d checks)\n", tests[i].name, failures_here);
    else if (skipped_here)
      skipped++;
    else if (checks_here == 0)
      failed++, printf("FAILED %s (it checked nothing)\n", tests[i].name);
    else
      passed++;
  }
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed ? 1 : passed == 0 && skipped > 0 ? 77 : 0; /* 77: ctest counts the program as skipped */
}
