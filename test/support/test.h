/* The test support library. A test file holds TEST(name) { ... } blocks; main() is provided, runs them
   all and ends with a line "N passed, N failed, N skipped". A failed check prints got, expected, error,
   tolerance and file:line, and the test goes on; a test that checked nothing has failed. Arguments of the
   program select tests by name. */
#ifndef KN_TEST_H
#define KN_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "knuckle/status.h"

typedef void (*kn_test_fn)(void);
void kn_test_register(const char* name, kn_test_fn fn);

#define TEST(name)                                                                                           \
  static void test_##name(void);                                                                             \
  __attribute__((constructor)) static void register_##name(void) { kn_test_register(#name, test_##name); }   \
  static void test_##name(void)

bool kn_check(bool ok, const char* text, const char* file, int line);
bool kn_check_near(double got, double expected, double tol, const char* text, const char* file, int line);
bool kn_check_array(const double* got, const double* expected, size_t n, double tol, const char* text,
                    const char* file, int line);
bool kn_check_status(kn_status got, kn_status expected, const char* text, const char* file, int line);
bool kn_check_int(long long got, long long expected, const char* text, const char* file, int line);
bool kn_check_text(const char* got, const char* part, const char* text, const char* file, int line);
bool kn_check_below(double got, double limit, const char* text, const char* file, int line);
bool kn_check_bits(const double* got, const double* expected, size_t n, const char* text, const char* file,
                   int line);
void kn_test_skip(const char* reason);

/* All checks return whether they held, so that a test can stop: if (!CHECK(p)) return; */
#define CHECK(cond) kn_check((cond), #cond, __FILE__, __LINE__)
/* |got - expected| <= tol */
#define CHECK_NEAR(got, exp, tol) kn_check_near((got), (exp), (tol), #got, __FILE__, __LINE__)
/* |got - expected| <= tol * max(1, |expected|) */
#define CHECK_REL(got, exp, tol)                                                                             \
  kn_check_near((got), (exp), (tol)*fmax(1.0, fabs(exp)), #got, __FILE__, __LINE__)
/* max |got_i - expected_i| <= tol * max(1, max |expected|) */
#define CHECK_ARRAY(got, exp, n, tol) kn_check_array((got), (exp), (n), (tol), #got, __FILE__, __LINE__)
/* got <= limit */
#define CHECK_BELOW(got, limit) kn_check_below((got), (limit), #got, __FILE__, __LINE__)
/* The same bit patterns (-0 is not 0 here, and a NaN equals itself). */
#define CHECK_BITS(got, exp, n) kn_check_bits((got), (exp), (n), #got, __FILE__, __LINE__)
#define CHECK_OK(call)          kn_check_status((call), KN_OK, #call, __FILE__, __LINE__)
#define CHECK_STATUS(call, exp) kn_check_status((call), (exp), #call, __FILE__, __LINE__)
#define CHECK_INT(got, exp)     kn_check_int((long long)(got), (long long)(exp), #got, __FILE__, __LINE__)
/* The text contains a part (error messages). */
#define CHECK_TEXT(got, part) kn_check_text((got), (part), #got, __FILE__, __LINE__)
#define SKIP(reason)                                                                                         \
  do {                                                                                                       \
    kn_test_skip(reason);                                                                                    \
    return;                                                                                                  \
  } while (0)

/* Calls of malloc, calloc, realloc and aligned_alloc so far on any thread. */
size_t kn_test_allocations(void);
/* The n-th allocation from now on fails, once; 0: none does. Did it? How many are held and not freed? */
void kn_test_fail_allocation(long n);
bool kn_test_allocation_failed(void);
long kn_test_live_allocations(void);
/* False where the count stays zero (sanitizers bring their own allocator). */
bool kn_test_counts_allocations(void);

/* Test effort: 1 in `make test`, larger in `make soak` (environment KN_EFFORT). Multiplies counts. */
int kn_test_effort(void);
/* So many steps times the effort; a fifth of them under the sanitizers, which look for memory errors of the
   paths taken, not for what a long run adds up to. */
int kn_test_steps(int steps);

/* Path below ../shared/data, or NULL when that folder is not there (then SKIP). */
const char* kn_test_data(const char* relative);

#endif
