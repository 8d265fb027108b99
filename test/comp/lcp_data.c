/* The LCPs that nobody here wrote, with their known answers; every listed solver over the contact ones. */
#include <stdlib.h>
#include <string.h>

#include "knuckle/comp.h"
#include "test.h"

static bool read_dat(kn_lcp* lcp, const char* name) {
  char relative[200];
  snprintf(relative, sizeof relative, "lcp/lcp_%s.dat", name);
  const char* path = kn_test_data(relative);
  FILE* f = path ? fopen(path, "r") : NULL;
  int n = 0, skip;
  if (!f) return false;
  bool ok = fscanf(f, "%d %d %d %d %d %d", &n, &skip, &skip, &skip, &skip, &skip) == 6;
  double *M = malloc(sizeof *M * (size_t)(n * n)), *q = malloc(sizeof *q * (size_t)n);
  for (int j = 0; ok && j < n; j++)
    for (int i = 0; i < n; i++) ok = ok && fscanf(f, "%lf", &M[i * n + j]) == 1;
  for (int i = 0; ok && i < n; i++) ok = fscanf(f, "%lf", &q[i]) == 1;
  fclose(f);
  *lcp = (kn_lcp){n, M, q, NULL, NULL};
  return ok;
}

static void release(kn_lcp* lcp) {
  free((void*)(uintptr_t)lcp->M);
  free((void*)(uintptr_t)lcp->q);
}

TEST(classical_problems_have_their_known_answers) {
  static const struct {
    const char* name;
    int n;
    double z[4];
  } known[] = {
      {"deudeu", 2, {4.0 / 3, 7.0 / 3}},  {"ortiz", 4, {2.0 / 3, 0, 1.0 / 3, 0}}, {"CPS_2", 3, {0, 1, 3}},
      {"CPS_4", 4, {2, 2, 2, 92}},        {"CPS_4bis", 4, {3, 3, 0, 83}},         {"CPS_5", 2, {0, 1}},
      {"Pang_isolated_sol", 3, {1, 0, 0}}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    kn_lcp lcp;
    double z[4];
    if (!read_dat(&lcp, known[k].name)) SKIP("no data");
    CHECK_OK(kn_lcp_solve(z, NULL, &lcp, NULL, NULL));
    CHECK_ARRAY(z, known[k].z, (size_t)known[k].n, 1e-12);
    release(&lcp);
  }
}

TEST(solvable_ones_are_solved) {
  static const char* const names[] = {"CPS_1",     "CPS_3",      "enum_fails",
                                      "exp_murty", "exp_murty2", "inf_sol_perturbed",
                                      "mmc",       "tobenna",    "trivial"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    kn_lcp lcp;
    double z[64];
    kn_solve_info info;
    if (!read_dat(&lcp, names[k])) SKIP("no data");
    CHECK_OK(kn_lcp_solve(z, &info, &lcp, NULL, NULL));
    CHECK(kn_lcp_residual_scaled(&lcp, z) <= 1e-10);
    if (strcmp(names[k], "exp_murty2") == 0) CHECK_INT(info.iterations, 64); /* 2^6 pivots: published */
    release(&lcp);
  }
}

TEST(pang_perturbed_has_no_solution_and_says_why) {
  kn_lcp lcp;
  double z[3];
  kn_lcp_work* work;
  if (!read_dat(&lcp, "Pang_isolated_sol_perturbed")) SKIP("no data");
  CHECK_OK(kn_lcp_work_create(&work, 3));
  CHECK_STATUS(kn_lcp_solve(z, NULL, &lcp, NULL, work), KN_NO_SOLUTION);
  CHECK(kn_lcp_certificate(NULL, work) != KN_CERTIFICATE_NONE);
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_enumeration found;
  CHECK_STATUS(kn_lcp_enumerate(z, 1, &found, &lcp, &settings, work), KN_NO_SOLUTION);
  kn_lcp_work_destroy(work);
  release(&lcp);
}

TEST(enumeration_finds_all_solutions) {
  kn_lcp lcp;
  double z[8 * 4];
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_enumeration found;
  kn_lcp_work* work;
  if (!read_dat(&lcp, "CPS_3")) SKIP("no data"); /* a bimatrix game with two pure and one mixed equilibrium */
  CHECK_OK(kn_lcp_work_create(&work, 4));
  CHECK_OK(kn_lcp_enumerate(z, 8, &found, &lcp, &settings, work));
  CHECK_INT(found.count, 3);
  CHECK(found.complete && !found.continuum);
  release(&lcp);
  if (!CHECK(read_dat(&lcp, "CPS_1"))) return; /* z1 + z2 = 1: a segment */
  CHECK_OK(kn_lcp_enumerate(z, 8, &found, &lcp, &settings, work));
  CHECK(found.complete && found.continuum);
  release(&lcp);
  kn_lcp_work_destroy(work);
}

/* Optimum 1/2 x (w + b) to the ten digits of reference.tsv; every solver that says OK must agree. */
TEST(contact_problems_agree_with_the_reference) {
  const char* table = kn_test_data("lcp/contact/reference.tsv");
  FILE* f = table ? fopen(table, "r") : NULL;
  char line[300], name[100];
  int count, solved = 0, total = 0;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  if (!f) SKIP("no data");
  while (fgets(line, sizeof line, f)) {
    int n, rank;
    double optimum;
    if (sscanf(line, "%99s %d %d %lf", name, &n, &rank, &optimum) != 4) continue;
    char relative[200];
    snprintf(relative, sizeof relative, "lcp/contact/%s.lcp", name);
    FILE* g = fopen(kn_test_data(relative), "rb");
    if (!CHECK(g != NULL)) continue;
    int32_t m;
    double *M = malloc(sizeof *M * (size_t)(n * n)), *q = malloc(sizeof *q * (size_t)n),
           *z = malloc(sizeof *z * (size_t)n);
    CHECK(fread(&m, 4, 1, g) == 1 && m == n);
    CHECK(fread(M, 8, (size_t)(n * n), g) == (size_t)(n * n) && fread(q, 8, (size_t)n, g) == (size_t)n);
    fclose(g);
    kn_lcp lcp = {n, M, q, NULL, NULL};
    kn_lcp_settings settings = kn_lcp_settings_default();
    kn_lcp_work* work;
    CHECK_OK(kn_lcp_work_create(&work, n));
    for (int s = 0; s < count; s++) {
      kn_solve_info info;
      if (strcmp(list[s]->name, "psor") == 0 && n > 120) continue; /* hopeless there and slow */
      kn_status status = list[s]->solve(z, &info, &lcp, &settings, work);
      CHECK(status == KN_OK || status == KN_NOT_CONVERGED);
      if (s == 0 || strcmp(list[s]->name, "lemke") == 0 || strcmp(list[s]->name, "pivot") == 0)
        CHECK_OK(status);
      total++;
      if (status != KN_OK) continue;
      solved++;
      double objective = 0;
      for (int i = 0; i < n; i++) {
        double w = q[i];
        for (int j = 0; j < n; j++) w += M[i * n + j] * z[j];
        objective += 0.5 * z[i] * (w + q[i]);
      }
      CHECK_NEAR(objective, optimum, 1e-9 * fabs(optimum) + 1e-20); /* twelve digits are printed */
    }
    kn_lcp_work_destroy(work);
    free(M), free(q), free(z);
  }
  fclose(f);
  printf("  %d of %d solver runs accepted\n", solved, total);
}
