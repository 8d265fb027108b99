/* Every solver in the list: honest status, same answer as the driver's motion, no allocation, the same bits
   on every instruction set and in every run, warm starts, ordinary degeneracies. */
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "cone_problems.h"
#include "test.h"

enum { MOST = 3 * 40 };

static bool good(const kn_problem* p, const double* r, double tol) {
  return kn_problem_error(p, r) <= tol && kn_problem_error_scaled(p, r) <= tol;
}

/* KN_OK exactly when the judge agrees. */
static void check_honest(const kn_problem* p, const double* r, kn_status status, const kn_solve_info* info,
                         double tol) {
  CHECK(status == KN_OK || status == KN_NOT_CONVERGED);
  CHECK(info->status == status);
  CHECK((status == KN_OK) == good(p, r, tol));
  for (int i = 0; i < p->rows; i++)
    if (!CHECK(isfinite(r[i]))) return;
}

TEST(descriptors_are_complete) {
  int count = 0;
  for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++, count++) {
    CHECK(s->doc && s->citation && s->iterations && s->solve);
    CHECK(kn_cone_solver_find(s->name) == s);
  }
  CHECK(count >= 8);
  CHECK_TEXT(kn_cone_solvers()->name, "driver");
  CHECK(kn_cone_solver_find("no such") == NULL);
}

TEST(status_is_honest_and_nothing_is_allocated) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, MOST, 40, 0));
  for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++) {
    kn_rng rng = kn_rng_seed(77);
    int solved = 0, total = 0;
    for (int k = 0; k < 40 * kn_test_effort(); k++) {
      kn_generated g = k % 2 ? kn_generate_mixed(&rng, 1 + k % 9, 10.0, 0.2)
                             : kn_generate(&rng, k / 2 % KN_FAMILY_COUNT, 1 + k % 7, 100.0);
      kn_solve_settings settings = kn_solve_default();
      kn_solve_info info;
      double r[MOST];
      settings.solver = s->name;
      size_t before = kn_test_allocations();
      kn_status status = kn_problem_solve(r, &info, &g.problem, &settings, work);
      CHECK_INT(kn_test_allocations() - before, 0);
      check_honest(&g.problem, r, status, &info, settings.tol);
      solved += status == KN_OK, total++;
      kn_generated_free(&g);
    }
    printf("%-10s %d of %d\n", s->name, solved, total);
    CHECK(solved * 2 > total);                      /* each is a method, not a decoration */
    if (s->exact) CHECK(solved * 20 >= total * 19); /* misses: mu = inf where no solution exists */
  }
  kn_solver_work_destroy(work);
}

/* One motion: where W is positive definite and friction small the solution is unique, so all solvers must
 * agree. */
TEST(solvers_agree_on_well_posed_problems) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, MOST, 40, 0));
  kn_rng rng = kn_rng_seed(5);
  for (int k = 0; k < 20; k++) {
    kn_generated g = kn_generate(&rng, KN_FAMILY_STACK, 1 + k % 4, 1.0);
    int n = g.problem.rows;
    double* W = (double*)(uintptr_t)g.problem.W;
    kn_block* block = (kn_block*)(uintptr_t)g.problem.block;
    for (int i = 0; i < n; i++) W[i * n + i] += 0.5;
    for (int b = 0; b < g.problem.blocks; b++) block[b].mu = fmin(block[b].mu, 0.2);
    double first[MOST], r[MOST];
    CHECK_OK(kn_problem_solve(first, NULL, &g.problem, NULL, work));
    for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++) {
      kn_solve_settings settings = kn_solve_default();
      settings.solver = s->name;
      if (CHECK_OK(kn_problem_solve(r, NULL, &g.problem, &settings, work)))
        CHECK_ARRAY(r, first, (size_t)n, 1e-8); /* residual 1e-10 times the condition number, below 100 */
    }
    kn_generated_free(&g);
  }
  kn_solver_work_destroy(work);
}

TEST(same_bits_on_every_instruction_set_and_run) {
  kn_solver_work *work = NULL, *other = NULL;
  CHECK_OK(kn_solver_work_create(&work, MOST, 40, 0));
  CHECK_OK(kn_solver_work_create(&other, MOST + 60, 60, 0));
  int best = kn_cpu_limit(KN_CPU_AVX512);
  kn_rng rng = kn_rng_seed(9);
  for (int k = 0; k < 60; k++) {
    kn_generated g = kn_generate(&rng, k % KN_FAMILY_COUNT, 1 + k % 40, k % 3 ? 1e3 : 1.0);
    for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++) {
      double r[3][MOST];
      kn_solve_settings settings = kn_solve_default();
      settings.solver = s->name;
      settings.max_iterations = 50;
      for (int level = 0; level <= best; level++) {
        kn_cpu_limit(level);
        kn_problem_solve(r[level], NULL, &g.problem, &settings, level ? work : other);
        if (level) CHECK(!memcmp(r[level], r[0], (size_t)g.problem.rows * sizeof(double)));
      }
    }
    kn_generated_free(&g);
  }
  kn_cpu_limit(KN_CPU_AVX512);
  kn_solver_work_destroy(work);
  kn_solver_work_destroy(other);
}

static void sparse_copy(kn_sparse* s, const kn_problem* p, int* start, int* col, int64_t* at, double* value) {
  int nb = p->blocks;
  for (int b = 0, k = 0; b < nb; b++) {
    start[b] = k;
    for (int c = 0; c < nb; c++) {
      for (int i = 0; i < 9; i++)
        value[9 * k + i] = p->W[(size_t)(3 * b + i / 3) * (size_t)p->rows + (size_t)(3 * c + i % 3)];
      col[k] = c, at[k] = 9 * k;
      k++;
    }
    start[b + 1] = k;
  }
  *s = (kn_sparse){start, col, at, value};
}

TEST(sparse_and_dense_storage_give_the_same_errors) {
  kn_rng rng = kn_rng_seed(13);
  for (int k = 0; k < 10; k++) {
    kn_generated g = kn_generate(&rng, k % KN_FAMILY_COUNT, 10, 10.0);
    int start[11], col[100];
    int64_t at[100];
    double value[900], r[30];
    kn_sparse s;
    sparse_copy(&s, &g.problem, start, col, at, value);
    kn_problem p = g.problem;
    p.W = NULL, p.sparse = &s;
    kn_solver_work* work = NULL;
    CHECK_OK(kn_solver_work_for(&work, &p));
    CHECK_OK(kn_problem_solve(r, NULL, &p, NULL, work));
    CHECK(good(&g.problem, r, 2e-10));
    kn_solver_work_destroy(work);
    kn_generated_free(&g);
  }
}

/* Degeneracies that a simulation meets every day. */
TEST(ordinary_degeneracies) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, MOST, 40, 0));
  kn_rng rng = kn_rng_seed(21);
  for (int kind = 0; kind < 7; kind++)
    for (int k = 0; k < 30; k++) {
      kn_generated g =
          kn_generate(&rng, kind == 0 ? KN_FAMILY_DUP : KN_FAMILY_FREE, 8, kind == 5 ? 1e9 : 1.0);
      int n = g.problem.rows;
      double *q = (double*)(uintptr_t)g.problem.q, *W = (double*)(uintptr_t)g.problem.W, r[MOST];
      kn_block* block = (kn_block*)(uintptr_t)g.problem.block;
      if (kind == 1) /* frictionless */
        for (int b = 0; b < 8; b++) block[b].mu = 0.0;
      if (kind == 2) memset(q, 0, (size_t)n * sizeof *q);
      if (kind == 3) /* grazing */
        for (int b = 0; b < 8; b++) q[3 * b] = 0.0;
      if (kind == 4) { /* two fixed bodies touching: a zero block that separates */
        for (int i = 0; i < n; i++)
          for (int j = 0; j < 3; j++) W[i * n + j] = W[j * n + i] = 0.0;
        q[0] = fabs(q[0]);
      }
      if (kind == 6) /* indefinite by rounding */
        for (int i = 0; i < n; i++)
          for (int j = 0; j <= i; j++) W[i * n + j] = W[j * n + i] += 1e-13 * kn_rng_normal(&rng);
      CHECK_OK(kn_problem_solve(r, NULL, &g.problem, NULL, work));
      kn_generated_free(&g);
    }
  kn_solver_work_destroy(work);
}

/* From the answer itself nothing is left to do; from a near answer little. */
TEST(warm_start_sequences) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, MOST, 40, 0));
  kn_rng rng = kn_rng_seed(31);
  int cold = 0, warm = 0;
  for (int k = 0; k < 40; k++) {
    kn_generated g = kn_generate(&rng, k % KN_FAMILY_COUNT, 8, k % 2 ? 1e3 : 1.0);
    double r[MOST], w[MOST];
    kn_solve_info info;
    kn_solve_settings settings = kn_solve_default();
    CHECK_OK(kn_problem_solve(r, &info, &g.problem, &settings, work));
    for (int step = 0; step < 10; step++) {
      for (int i = 0; i < g.dofs; i++) g.v[i] *= 1.0 + 1e-3 * kn_rng_normal(&rng);
      kn_generated_offset(&g);
      memcpy(w, r, sizeof w);
      settings.warm_start = false;
      CHECK_OK(kn_problem_solve(w, &info, &g.problem, &settings, work));
      cold += info.iterations;
      settings.warm_start = true;
      CHECK_OK(kn_problem_solve(r, &info, &g.problem, &settings, work));
      warm += info.iterations;
      memcpy(w, r, sizeof w);
      CHECK_OK(kn_problem_solve(w, &info, &g.problem, &settings, work));
      if (!CHECK(info.iterations <= 2))
        printf("  %d by %s, family %d\n", info.iterations, info.solver, k % KN_FAMILY_COUNT);
    }
    kn_generated_free(&g);
  }
  printf("iterations cold %d warm %d\n", cold, warm);
  CHECK(2 * warm < cold);
  kn_solver_work_destroy(work);
}
