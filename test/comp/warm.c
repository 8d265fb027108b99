/* Warm starts near the old answer: answered by warm_modes.c or the driver, judged alike, the same bits on every
   instruction set, nothing allocated, and no entry that is not a number slips through. */
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "cone_problems.h"
#include "test.h"

enum { CONTACTS = 32, ROWS = 3 * CONTACTS };

static const kn_solve_settings warm = {.solver = "driver", .tol = 1e-10, .warm_start = true};

static void move(kn_generated* g, kn_rng* rng, double much) {
  for (int i = 0; i < g->dofs; i++) g->v[i] *= 1.0 + much * kn_rng_normal(rng);
  kn_generated_offset(g);
}

/* A change of configuration: J becomes D J, W becomes D W D. */
static void turn(kn_generated* g, int step) {
  double* W = (double*)(uintptr_t)g->problem.W;
  int n = g->problem.rows;
  for (int i = 0; i < n; i++) {
    double d = 1.0 + 1e-3 * sin(i + step);
    for (int k = 0; k < g->dofs; k++) g->J[i * g->dofs + k] *= d;
    for (int j = 0; j < n; j++) W[i * n + j] *= d * (1.0 + 1e-3 * sin(j + step));
  }
}

/* W positive definite and little friction: one answer, so a warm start must find that of a cold one. */
TEST(warm_and_cold_agree_where_the_answer_is_unique) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, CONTACTS, 0));
  kn_rng rng = kn_rng_seed(31);
  int by_warm = 0, total = 0;
  for (int k = 0; k < 60 * kn_test_effort(); k++) {
    kn_generated g = kn_generate(&rng, (kn_family)(k % KN_FAMILY_COUNT), 1 + k % CONTACTS, 1.0);
    double *W = (double*)(uintptr_t)g.problem.W, r[ROWS], cold[ROWS], most = 0.0, size = 0.0;
    kn_block* block = (kn_block*)(uintptr_t)g.problem.block;
    int n = g.problem.rows;
    for (int i = 0; i < n; i++) W[i * n + i] *= 1.5;
    for (int b = 0; b < g.problem.blocks; b++) block[b].mu = fmin(block[b].mu, 0.2);
    CHECK_OK(kn_problem_solve(r, NULL, &g.problem, NULL, work));
    move(&g, &rng, 1e-2);
    kn_solve_info info;
    size_t before = kn_test_allocations();
    CHECK_OK(kn_problem_solve(r, &info, &g.problem, &warm, work));
    CHECK_INT(kn_test_allocations() - before, 0);
    CHECK_OK(kn_problem_solve(cold, NULL, &g.problem, NULL, work));
    for (int i = 0; i < n; i++) most = fmax(most, fabs(r[i] - cold[i])), size = fmax(size, fabs(cold[i]));
    CHECK_BELOW(most, 1e-7 * size + 1e-12); /* residuals of 1e-10 at condition numbers of some hundred */
    by_warm += !strcmp(info.solver, "warm"), total++;
    kn_generated_free(&g);
  }
  printf("%d of %d answered near the guess\n", by_warm, total);
  CHECK(by_warm * 10 >= total * 7); /* the shortcut is taken, not only tried */
  kn_solver_work_destroy(work);
}

TEST(same_bits_on_every_instruction_set) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, CONTACTS, 0));
  kn_rng rng = kn_rng_seed(32);
  int level = kn_cpu_level();
  for (int k = 0; k < 80; k++) {
    kn_generated g = k % 3 ? kn_generate(&rng, (kn_family)(k % KN_FAMILY_COUNT), 1 + k % CONTACTS, 1e3)
                           : kn_generate_mixed(&rng, 1 + k % 20, 10.0, 0.2);
    double first[ROWS], r[ROWS], expected[ROWS] = {0};
    kn_solve_info info, other;
    kn_status status = kn_problem_solve(first, NULL, &g.problem, NULL, work), again;
    if (status == KN_OK) {
      move(&g, &rng, 1e-3);
      memcpy(expected, first, sizeof expected);
      kn_cpu_limit(KN_CPU_BASE);
      status = kn_problem_solve(expected, &info, &g.problem, &warm, work);
      for (int l = KN_CPU_AVX2; l <= level; l++) {
        memcpy(r, first, sizeof r);
        kn_cpu_limit(l);
        again = kn_problem_solve(r, &other, &g.problem, &warm, work);
        CHECK_INT(again, status);
        CHECK_TEXT(other.solver, info.solver);
        CHECK_BITS(r, expected, (size_t)g.problem.rows);
      }
      kn_cpu_limit(level);
    }
    kn_generated_free(&g);
  }
  kn_solver_work_destroy(work);
}

/* W and q drift, contacts open, close, stick and slip: with kept factors every answer is judged as good as
   without, most begin with an old factor, and the sequence has the same bits on every instruction set. */
TEST(sequences_with_kept_factors) {
  static const int contacts[] = {1, 2, 4, 8, 16, 32};
  kn_solve_settings kept = warm;
  kept.keep = true;
  kn_solver_work* work[KN_CPU_AVX512 + 1] = {NULL};
  int level = kn_cpu_level(), solved = 0, total = 0, by_warm = 0;
  for (int c = 0; c < 6; c++)
    for (int k = 0; k < 4 * kn_test_effort(); k++) {
      kn_rng rng = kn_rng_seed(100 + (uint64_t)(6 * k + c));
      kn_generated g = kn_generate(&rng, (kn_family)(k % KN_FAMILY_COUNT), contacts[c], 10.0);
      double r[KN_CPU_AVX512 + 1][ROWS] = {{0}};
      int n = g.problem.rows;
      for (int l = 0; l <= level; l++) CHECK_OK(kn_solver_work_create(&work[l], n, contacts[c], 0));
      for (int step = 0; step < 20; step++) {
        kn_solve_info info[KN_CPU_AVX512 + 1];
        kept.warm_start = step > 0;
        for (int l = 0; l <= level; l++) {
          kn_cpu_limit(l);
          size_t before = kn_test_allocations();
          kn_problem_solve(r[l], &info[l], &g.problem, &kept, work[l]);
          CHECK_INT(kn_test_allocations() - before, 0);
          CHECK_INT(info[l].status, info[0].status);
          CHECK_BITS(r[l], r[0], (size_t)n);
        }
        double error = kn_problem_error(&g.problem, r[0]), scaled = kn_problem_error_scaled(&g.problem, r[0]);
        if (info[0].status == KN_OK) CHECK(error <= 1e-10 && scaled <= 1e-10);
        solved += info[0].status == KN_OK, total++;
        by_warm += !strcmp(info[0].solver, "warm");
        turn(&g, step);
        move(&g, &rng, pow(10.0, kn_rng_range(&rng, -4.0, -1.0)));
      }
      kn_cpu_limit(level);
      for (int l = 0; l <= level; l++) kn_solver_work_destroy(work[l]);
      kn_generated_free(&g);
    }
  printf("%d of %d solved, %d near the old answer\n", solved, total, by_warm);
  CHECK_INT(solved, total);         /* q = J v stays in the range of W, also where contacts are redundant */
  CHECK(by_warm * 10 >= total * 4); /* the rest: first steps, r = 0, and changes of a tenth */
}

/* A row of an open contact is multiplied by zeros only; with mu = infinity its velocity is not even looked
 * at.
 */
TEST(an_entry_that_is_no_number_is_named) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, 6, 2, 0));
  for (int entry = 0; entry < 36; entry++)
    for (int kind = 0; kind < 4; kind++) {
      double W[36] = {0}, q[6] = {-1, 0.1, 0, kind & 1 ? 1.0 : -1.0, 0, 0}, r[6] = {1, 0, 0, 0, 0, 0};
      kn_block block[2] = {{.set = KN_SET_CONE3, .row = 0, .mu = 0.5},
                           {.set = KN_SET_CONE3, .row = 3, .mu = kind & 2 ? INFINITY : 0.5}};
      for (int i = 0; i < 6; i++) W[7 * i] = 1.0;
      kn_problem p = {6, 2, block, W, NULL, q, NULL};
      CHECK_OK(kn_problem_solve(r, NULL, &p, &warm, work));
      W[entry] = kind & 1 ? NAN : INFINITY;
      CHECK_STATUS(kn_problem_solve(r, NULL, &p, &warm, work), KN_NOT_FINITE);
      CHECK_TEXT(kn_last_error(), "W(");
      CHECK_STATUS(kn_problem_solve(r, NULL, &p, NULL, work), KN_NOT_FINITE);
    }
  kn_solver_work_destroy(work);
}
