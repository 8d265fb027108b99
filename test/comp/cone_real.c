/* Published friction problems (../shared/data/friction): every one solved to 1e-8 by the default driver. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/fclib.h"
#include "test.h"

static void solve_file(const char* path, int* solved) {
  kn_fclib f;
  kn_solver_work* work = NULL;
  kn_solve_info info;
  if (!CHECK_OK(kn_fclib_read(&f, path))) return;
  CHECK_OK(kn_solver_work_for(&work, &f.problem));
  double* r = calloc((size_t)f.problem.rows + 1, sizeof *r);
  size_t before = kn_test_allocations();
  kn_problem_solve(r, &info, &f.problem, NULL, work);
  CHECK_INT(kn_test_allocations() - before, 0);
  double error = kn_problem_error(&f.problem, r), scaled = kn_problem_error_scaled(&f.problem, r);
  bool ok = error <= 1e-8 && scaled <= 1e-8;
  if (!ok) printf("%s: error %.2e scaled %.2e by %s\n", path, error, scaled, info.solver);
  CHECK(ok);
  *solved += ok;
  free(r);
  kn_solver_work_destroy(work);
  kn_fclib_free(&f);
}

TEST(every_published_problem_is_solved) {
  const char* folder = kn_test_data("friction");
  if (!folder) SKIP("no shared data");
  DIR* dir = opendir(folder);
  if (!CHECK(dir != NULL)) return;
  int files = 0, solved = 0;
  for (struct dirent* e; (e = readdir(dir));) {
    char path[1024];
    const char* dot = strrchr(e->d_name, '.');
    if (!dot || strcmp(dot, ".hdf5")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    files++;
    solve_file(path, &solved);
  }
  closedir(dir);
  printf("%d of %d solved\n", solved, files);
  CHECK(files >= 41);
}

/* y . W x, both given. */
static double form(const kn_problem* p, const double* y, const double* x, double* u) {
  double sum = 0.0;
  kn_problem_velocity(u, p, x);
  for (int i = 0; i < p->rows; i++) sum += y[i] * (u[i] - p->q[i]);
  return sum;
}

/* M of these two is not symmetric and the published local form was condensed with its transpose: W_local =
 * W_global^T. */
TEST(global_form_condenses_to_the_published_local_one) {
  static const char* const names[] = {"sic_CubeH8", "sic_LMGC_GlobalFrictionContactProblem00046"};
  for (int i = 0; i < 2; i++) {
    char name[128];
    kn_fclib local, global;
    snprintf(name, sizeof name, "friction/%s.hdf5", names[i]);
    const char* path = kn_test_data(name);
    if (!path) SKIP("no shared data");
    if (!CHECK_OK(kn_fclib_read(&local, path))) continue;
    snprintf(name, sizeof name, "friction/original/%s.hdf5", names[i]);
    if (!CHECK_OK(kn_fclib_read(&global, kn_test_data(name)))) continue;
    CHECK(global.global && !local.global);
    int n = local.problem.rows;
    CHECK_INT(global.problem.rows, n);
    double* x = calloc(3 * (size_t)n, sizeof *x);
    for (int k = 0; k < n; k++) x[k] = cos(k), x[n + k] = sin(2.0 * k);
    double a = form(&global.problem, x, x + n, x + 2 * n), b = form(&local.problem, x + n, x, x + 2 * n);
    CHECK_NEAR(a, b, 1e-12); /* entries 0.06, two factorisations of M with condition 1e8 */
    free(x);
    kn_fclib_free(&local);
    kn_fclib_free(&global);
  }
}
