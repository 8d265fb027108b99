#include "base/arena.h"

#include "test.h"

TEST(measure_then_take) {
  kn_arena a = {0};
  CHECK(KN_TAKE(&a, double, 3) == NULL);
  CHECK(KN_TAKE(&a, char, 1) == NULL);
  CHECK_INT(a.used, 128);
  size_t need = a.used;
  size_t before = kn_test_allocations();
  CHECK_OK(kn_arena_create(&a, need));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK_INT(kn_test_allocations() - before, 1);
#endif
  double* x = KN_TAKE(&a, double, 3);
  char* c = KN_TAKE(&a, char, 1);
  CHECK(x && c && (char*)x + 64 == c);
  CHECK_NEAR(x[2], 0.0, 0.0);
  CHECK(KN_TAKE(&a, char, 1) == NULL);
  kn_arena_destroy(&a);
}
