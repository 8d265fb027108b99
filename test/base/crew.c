/* The crew does every number once, whoever does it, and works on when workers are slow. */
#include "base/crew.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

typedef struct tally {
  atomic_int* times; /* per number */
  atomic_int pieces;
  int most; /* size of a piece */
  int slow; /* a number that takes long */
  atomic_int wrong;
} tally;

static void count(int worker, int first, int last, void* context) {
  tally* t = context;
  atomic_fetch_add(&t->pieces, 1);
  if (worker < 0 || first >= last || last - first > t->most) atomic_fetch_add(&t->wrong, 1);
  for (int i = first; i < last; i++) {
    volatile double x = 1.0;
    for (int k = 0; i == t->slow && k < 300000; k++) x = x * 1.0000001;
    atomic_fetch_add(&t->times[i], 1);
  }
}

TEST(every_number_is_done_once) {
  static const int sizes[] = {1, 2, 3, 8}, counts[] = {0, 1, 2, 7, 64, 1000};
  for (int k = 0; k < 4; k++) {
    kn_crew* crew;
    if (!CHECK_OK(kn_crew_create(&crew, sizes[k]))) return;
    CHECK_INT(kn_crew_size(crew), sizes[k]);
    for (int round = 0; round < 60; round++) {
      int n = counts[round % 6], grain = 1 + round % 5;
      tally t = {.times = calloc((size_t)n + 1, sizeof *t.times), .slow = round % 3 ? -1 : n / 3};
      t.most = sizes[k] == 1 || n <= grain ? n : grain; /* one alone does it in one piece */
      kn_crew_run(crew, n, grain, count, &t);
      bool once = true;
      for (int i = 0; i < n; i++) once &= atomic_load(&t.times[i]) == 1;
      CHECK(once);
      CHECK_INT(atomic_load(&t.wrong), 0);
      free(t.times);
    }
    kn_crew_destroy(crew);
  }
}

TEST(wrong_numbers_of_threads_are_refused) {
  kn_crew* crew;
  CHECK_STATUS(kn_crew_create(&crew, -1), KN_BAD_ARGUMENT);
  CHECK(crew == NULL);
  CHECK_STATUS(kn_crew_create(&crew, 100000), KN_BAD_ARGUMENT);
  CHECK_OK(kn_crew_create(&crew, 0));
  CHECK(kn_crew_size(crew) >= 1);
  kn_crew_destroy(crew);
  kn_crew_destroy(NULL);
}

/* A job allocates nothing. */
TEST(jobs_do_not_allocate) {
  kn_crew* crew;
  atomic_int times[16] = {0};
  tally t = {.times = times, .slow = -1, .most = 1};
  if (!CHECK_OK(kn_crew_create(&crew, 3))) return;
  size_t before = kn_test_allocations();
  for (int i = 0; i < 50; i++) kn_crew_run(crew, 16, 1, count, &t);
  CHECK_INT(kn_test_allocations() - before, 0);
  CHECK_INT(atomic_load(&times[7]), 50);
  kn_crew_destroy(crew);
}
