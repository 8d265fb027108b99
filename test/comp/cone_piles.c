/* Heaps with block-sparse W: solved, allocation-free, and quicker from the last answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cone_problems.h"
#include "test.h"

static void heap(kn_heap kind, int contacts, double noise, double tol) {
  kn_rng rng = kn_rng_seed(3);
  kn_pile p;
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_pile_make(&p, &rng, kind, contacts, 0.5, noise);
  CHECK_OK(kn_solver_work_for(&work, &p.problem));
  double* r = calloc((size_t)p.problem.rows, sizeof *r);
  kn_solve_settings settings = kn_solve_default();
  settings.tol = tol;
  size_t before = kn_test_allocations();
  CHECK_OK(kn_problem_solve(r, &info, &p.problem, &settings, work));
  int cold = info.iterations;
  printf("%d contacts: %s, %d iterations, error %.1e, %.1f ms;", p.contacts, info.solver, cold, info.residual,
         1e3 * info.time);
  for (int i = 0; i < 6 * p.bodies; i++) p.v[i] += 9.81e-6 * kn_rng_normal(&rng);
  kn_pile_offset(&p);
  settings.warm_start = true;
  CHECK_OK(kn_problem_solve(r, &info, &p.problem, &settings, work));
  printf(" warm: %s, %d, %.1f ms\n", info.solver, info.iterations, 1e3 * info.time);
  CHECK(info.iterations <= cold);
  CHECK_INT(kn_test_allocations() - before, 0);
  CHECK(kn_problem_error(&p.problem, r) <= tol && kn_problem_error_scaled(&p.problem, r) <= tol);
  free(r);
  kn_solver_work_destroy(work);
  kn_pile_free(&p);
}

static double farthest(const double* a, const double* b, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

/* Redundant heaps under small random pushes (1e-3 of g dt), each solved from the last answer. Coulomb's law
   at 1e-6 every time; of the many answers one near the last is taken: the impulses have no reason to move by
   more than a share of the largest, ten times that of the pushes on a whole column of some ten bodies. */
static void shaken(kn_heap kind, int contacts, bool pairs) {
  kn_rng rng = kn_rng_seed(5);
  kn_pile p;
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_pile_make(&p, &rng, kind, contacts, 0.5, 0.01);
  if (!pairs) p.problem.pairs = NULL;
  CHECK_OK(kn_solver_work_for(&work, &p.problem));
  int n = p.problem.rows, iterations = 0;
  double *r = calloc((size_t)n, sizeof *r), *last = calloc((size_t)n, sizeof *last), moved = 0.0, size = 0.0;
  kn_solve_settings settings = kn_solve_default();
  settings.tol = 1e-6;
  CHECK_OK(kn_problem_solve(r, &info, &p.problem, &settings, work));
  settings.warm_start = true;
  for (int k = 0; k < 10; k++) {
    for (int i = 0; i < 6 * p.bodies; i++) p.v[i] += 9.81e-6 * kn_rng_normal(&rng);
    kn_pile_offset(&p);
    memcpy(last, r, (size_t)n * sizeof *r);
    CHECK_OK(kn_problem_solve(r, &info, &p.problem, &settings, work));
    CHECK(kn_problem_error(&p.problem, r) <= 1e-6 && kn_problem_error_scaled(&p.problem, r) <= 1e-6);
    moved = fmax(moved, farthest(r, last, n));
    iterations += info.iterations;
  }
  for (int i = 0; i < n; i++) size = fmax(size, fabs(r[i]));
  printf("%d contacts, ten pushes: %d iterations, impulses moved by %.1e of the largest\n", p.contacts,
         iterations, moved / size);
  CHECK(moved <= 0.1 * size);
  free(r);
  free(last);
  kn_solver_work_destroy(work);
  kn_pile_free(&p);
}

TEST(shaken_spheres) { shaken(KN_HEAP_SPHERES, 200, false); }
TEST(shaken_spheres_by_bodies) { shaken(KN_HEAP_SPHERES, 200, true); }
TEST(shaken_bricks) { shaken(KN_HEAP_BRICKS, 200, false); }
TEST(shaken_bricks_by_bodies) { shaken(KN_HEAP_BRICKS, 200, true); }
TEST(shaken_packed) { shaken(KN_HEAP_PACKED, 100, false); }
TEST(shaken_packed_by_bodies) { shaken(KN_HEAP_PACKED, 100, true); }
TEST(spheres_100) { heap(KN_HEAP_SPHERES, 100, 0.01, 1e-10); }
TEST(spheres_1000) { heap(KN_HEAP_SPHERES, 1000, 0.01, 1e-10); }
TEST(spheres_2000) { heap(KN_HEAP_SPHERES, 2000, 1.0, 1e-10); }
TEST(spheres_5000) { heap(KN_HEAP_SPHERES, 5000, 0.01, 1e-6); }
TEST(bricks_300) { heap(KN_HEAP_BRICKS, 300, 0.01, 1e-10); }
TEST(bricks_1000) { heap(KN_HEAP_BRICKS, 1000, 0.01, 1e-10); }
TEST(packed_100) { heap(KN_HEAP_PACKED, 100, 0.01, 1e-10); }
