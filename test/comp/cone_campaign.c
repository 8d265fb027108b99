/* Random problems without end: never "solved" with a bad residual, never a crash, a hang or a NaN. Counts
   grow with KN_EFFORT; a test of the driver's honesty, not of its success. */
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "cone_problems.h"
#include "test.h"

enum { ROWS = 36 };

/* Numbers as a fuzzer would choose them. */
static double odd_number(kn_rng* rng) {
  static const double special[] = {0.0,   1.0,    -1.0, 1e-12, -1e-12, 1e-300,
                                   1e300, -1e300, 1e12, 0.5,   1e-6,   3e15};
  switch (kn_rng_int(rng, 6)) {
  case 0: return special[kn_rng_int(rng, (int)(sizeof special / sizeof *special))];
  case 1: return kn_rng_normal(rng) * pow(10.0, kn_rng_range(rng, -9.0, 9.0));
  default: return kn_rng_normal(rng);
  }
}

static int random_blocks(kn_block* block, kn_rng* rng, int* rows) {
  int blocks = 0;
  *rows = 0;
  while (*rows < ROWS - 3 && kn_rng_int(rng, 6)) {
    kn_block* b = &block[blocks++];
    *b = (kn_block){.set = (kn_set)kn_rng_int(rng, 5), .row = *rows};
    b->mu = kn_rng_int(rng, 8) == 0 ? INFINITY : fabs(odd_number(rng));
    double x = odd_number(rng), y = odd_number(rng);
    b->lo = kn_rng_int(rng, 4) ? fmin(x, y) : -INFINITY;
    b->hi = kn_rng_int(rng, 4) ? fmax(x, y) : INFINITY;
    *rows += kn_set_rows(b->set);
  }
  return blocks;
}

static void random_matrix(double* W, int n, kn_rng* rng) {
  int kind = kn_rng_int(rng, 5), rank = 1 + kn_rng_int(rng, n + 1);
  double J[ROWS * ROWS];
  for (int i = 0; i < n * rank; i++) J[i] = kind == 1 ? odd_number(rng) : kn_rng_normal(rng);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0.0;
      for (int k = 0; k < rank; k++) s += J[i * rank + k] * J[j * rank + k];
      if (kind == 2) s += 0.1 * kn_rng_normal(rng); /* not symmetric */
      if (kind == 3) s = odd_number(rng);           /* anything */
      W[i * n + j] = s < 1e305 && s > -1e305 ? s : 1.0;
    }
}

typedef struct tally {
  int problems, solved, refused, warm;
  double slowest;
} tally;

/* One solve; true when it was called solved. */
static bool solve_and_judge(tally* t, double* r, const kn_problem* p, const kn_solve_settings* settings,
                            kn_solver_work* work) {
  kn_solve_info info;
  size_t before = kn_test_allocations();
  double start = kn_cpu_seconds();
  kn_status status = kn_problem_solve(r, &info, p, settings, work);
  t->slowest = fmax(t->slowest, kn_cpu_seconds() - start);
  t->problems++;
  CHECK_INT(kn_test_allocations() - before, 0);
  if (status == KN_NOT_FINITE || status == KN_BAD_ARGUMENT) {
    t->refused++;
    return false;
  }
  CHECK(status == KN_OK || status == KN_NOT_CONVERGED);
  bool finite = true;
  for (int i = 0; i < p->rows; i++) finite = finite && isfinite(r[i]);
  CHECK(finite);
  double error = kn_problem_error(p, r), scaled = kn_problem_error_scaled(p, r);
  if (status == KN_OK) CHECK(error <= 1e-10 && scaled <= 1e-10);
  t->solved += status == KN_OK;
  t->warm += status == KN_OK && !strcmp(info.solver, "warm");
  return status == KN_OK;
}

/* Each problem from a random point or from zero; a solved one again from its answer with q moved a little. */
TEST(never_wrongly_solved) {
  const char* seed = getenv("KN_SEED"); /* other problems: runs can be added up */
  kn_rng rng = kn_rng_seed(2024 + (seed ? strtoull(seed, NULL, 10) : 0));
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, ROWS, 0));
  int count = 3000 * kn_test_effort();
  tally t = {0};
  while (t.problems < count) {
    kn_block block[ROWS];
    double W[ROWS * ROWS], q[ROWS], r[ROWS];
    int n, blocks = random_blocks(block, &rng, &n);
    if (n) random_matrix(W, n, &rng);
    for (int i = 0; i < n; i++) q[i] = odd_number(&rng), r[i] = odd_number(&rng);
    if (n && kn_rng_int(&rng, 50) == 0) W[kn_rng_int(&rng, n * n)] = kn_rng_int(&rng, 2) ? NAN : INFINITY;
    if (n && kn_rng_int(&rng, 50) == 0) q[kn_rng_int(&rng, n)] = NAN;
    kn_problem p = {n, blocks, block, W, NULL, q, NULL};
    kn_solve_settings settings = kn_solve_default();
    settings.warm_start = kn_rng_int(&rng, 2), settings.keep = kn_rng_int(&rng, 2);
    static const int limits[] = {10, 10, 10, 30, 30, 30, 100, 200};
    settings.max_iterations = kn_rng_int(&rng, 20) ? limits[kn_rng_int(&rng, 8)] : 0;
    if (!solve_and_judge(&t, r, &p, &settings, work) || n == 0) continue;
    double much = pow(10.0, kn_rng_range(&rng, -8.0, -1.0));
    for (int i = 0; i < n; i++) q[i] *= 1.0 + much * kn_rng_normal(&rng);
    if (kn_rng_int(&rng, 50) == 0) W[kn_rng_int(&rng, n * n)] = kn_rng_int(&rng, 2) ? NAN : INFINITY;
    settings.warm_start = true;
    solve_and_judge(&t, r, &p, &settings, work);
  }
  printf("%d problems: %d solved (%d near the old answer), %d refused, slowest %.1f ms\n", t.problems,
         t.solved, t.warm, t.refused, 1e3 * t.slowest);
  CHECK(t.solved > count / 3);
  CHECK(t.slowest < 5.0);
  kn_solver_work_destroy(work);
}
