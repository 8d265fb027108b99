/* Every LCP solver in the list keeps the same promises: named and cited, refuses what it cannot take,
   allocates nothing, gives the same bits twice and on every instruction set, tells the truth about its
   residual, and profits from a guess. */
#include <string.h>

#include "base/isa.h"
#include "contact_gen.h"
#include "knuckle/comp.h"
#include "test.h"

enum { NC = 8 };
static double W[9 * NC * NC], q3[3 * NC], mu[NC], M[NC * NC], q[NC];

/* Frictionless contact: symmetric semidefinite with positive diagonal, which every solver takes. */
static kn_lcp frictionless(int family, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  kn_gen_contacts(W, q3, mu, NC, (kn_gen_family)family, 1, &rng);
  kn_gen_normal(M, q, NC, W, q3);
  return (kn_lcp){NC, M, q, NULL, NULL};
}

TEST(entries_are_named_documented_and_found) {
  int count;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  CHECK(count >= 6);
  for (int s = 0; s < count; s++) {
    CHECK(list[s]->name && list[s]->doc && list[s]->citation && list[s]->settings && list[s]->solve);
    CHECK(kn_lcp_solver_find(list[s]->name) == list[s]);
    CHECK(list[s]->kinds & KN_LCP_STANDARD);
  }
  CHECK(kn_lcp_solver_find("no such solver") == NULL && kn_lcp_solver_find(NULL) == NULL);
}

/* Gauss-Seidel may give up on redundant stacks; all others must reach 1e-10 on such problems. */
TEST(frictionless_contact_is_solved_by_all) {
  int count, relaxed = 0;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  if (!CHECK_OK(kn_lcp_work_create(&work, 2 * NC))) return;
  for (int k = 0; k < 40; k++)
    for (int s = 0; s < count; s++) {
      kn_lcp lcp = frictionless(k % KN_GEN_FAMILIES, (uint64_t)k);
      double z[NC], again[NC];
      kn_solve_info info;
      size_t before = kn_test_allocations();
      kn_status status = list[s]->solve(z, &info, &lcp, &settings, work);
      CHECK_INT(kn_test_allocations(), before);
      CHECK(info.residual == kn_lcp_residual(&lcp, z) &&
            info.residual_scaled == kn_lcp_residual_scaled(&lcp, z));
      CHECK(info.status == status && (status == KN_OK) == (info.residual_scaled <= settings.tol));
      if (strcmp(list[s]->name, "psor") == 0)
        relaxed += status == KN_OK;
      else
        CHECK_OK(status);
      for (int isa = KN_CPU_BASE; isa <= KN_CPU_AVX512; isa++) {
        if (kn_cpu_limit(isa) != isa) continue;
        list[s]->solve(again, &info, &lcp, &settings, work);
        CHECK(memcmp(z, again, sizeof z) == 0);
      }
    }
  CHECK(relaxed >= 10);
  kn_cpu_limit(KN_CPU_AVX512);
  kn_lcp_work_destroy(work);
}

TEST(what_cannot_be_taken_is_refused) {
  int count;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  kn_lcp_settings settings = kn_lcp_settings_default();
  double A[4] = {2, 0, 0, 2}, b[2] = {-1, -1}, lo[2] = {-INFINITY, 0}, hi[2] = {INFINITY, 0.25}, z[2];
  kn_lcp_work* work;
  kn_solve_info info;
  if (!CHECK_OK(kn_lcp_work_create(&work, 4))) return;
  for (int s = 0; s < count; s++) {
    kn_lcp lcp = {2, A, b, lo, hi};
    bool able = list[s]->kinds & KN_LCP_FREE && list[s]->kinds & KN_LCP_BOX;
    if (CHECK_STATUS(list[s]->solve(z, &info, &lcp, &settings, work), able ? KN_OK : KN_UNSUPPORTED) && able)
      CHECK_ARRAY(z, ((double[]){0.5, 0.25}), 2, 1e-12);
    lcp = (kn_lcp){2, (double[]){NAN, 0, 0, 1}, b, NULL, NULL};
    CHECK_STATUS(list[s]->solve(z, &info, &lcp, &settings, work), KN_NOT_FINITE);
    lcp = (kn_lcp){0, NULL, NULL, NULL, NULL};
    CHECK_OK(list[s]->solve(NULL, &info, &lcp, &settings, work));
    kn_lcp_settings wrong = settings;
    wrong.tol = 0;
    lcp = (kn_lcp){2, A, b, NULL, NULL};
    CHECK_STATUS(list[s]->solve(z, &info, &lcp, &wrong, work), KN_BAD_ARGUMENT);
  }
  kn_lcp_work_destroy(work);
}

/* From the answer of a nearby problem block pivoting needs one or two factorisations. */
TEST(a_near_guess_costs_about_one_factorisation) {
  const kn_lcp_solver* pivot = kn_lcp_solver_find("pivot");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  int steps = 0, runs = 0;
  if (!CHECK_OK(kn_lcp_work_create(&work, NC))) return;
  for (int k = 0; k < 40; k++) {
    kn_lcp lcp = frictionless(k % 2 ? KN_GEN_FREE : KN_GEN_CHAIN, (uint64_t)k + 500);
    double z[NC];
    kn_solve_info info;
    settings.warm = false;
    CHECK_OK(pivot->solve(z, &info, &lcp, &settings, work));
    for (int i = 0; i < NC; i++) q[i] *= 1 + 1e-3 * (i % 3);
    settings.warm = true;
    if (pivot->solve(z, &info, &lcp, &settings, work) != KN_OK)
      continue; /* no globalisation: the driver goes on */
    steps += info.iterations, runs++;
  }
  CHECK(runs >= 36 && steps <= 2 * runs);
  printf("  %.2f factorisations per warm start\n", (double)steps / runs);
  kn_lcp_work_destroy(work);
}
