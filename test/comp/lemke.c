/* Lemke on generated contact problems, hand-made ones and across instruction sets. */
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "contact_gen.h"
#include "knuckle/comp.h"
#include "test.h"

enum { NC = 64, N = 6 * NC };
static double W[9 * NC * NC], q3[3 * NC], mu[NC], M[N * N], b[N], z[N], z2[N];

static const double ratios[3] = {1, 1e3, 1e6};

static kn_lcp generated(int nc, int family, int ratio, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed * 1009 + (uint64_t)(family * 17 + ratio * 3 + nc * 77));
  kn_gen_contacts(W, q3, mu, nc, (kn_gen_family)family, ratios[ratio], &rng);
  kn_gen_pyramid(M, b, nc, W, q3, mu);
  return (kn_lcp){6 * nc, M, b, NULL, NULL};
}

TEST(every_generated_contact_problem_is_solved) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("driver");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  int total = 0;
  if (!CHECK_OK(kn_lcp_work_create(&work, N))) return;
  for (int nc = 2; nc <= NC; nc *= 2)
    for (int family = 0; family < KN_GEN_FAMILIES; family++)
      for (int ratio = 0; ratio < 3; ratio++)
        for (int k = 0; k < (nc <= 16 ? 10 : 1) * kn_test_effort(); k++) {
          kn_lcp lcp = generated(nc, family, ratio, (uint64_t)k);
          kn_solve_info info;
          total++;
          CHECK_OK(lemke->solve(z, &info, &lcp, &settings, work));
          CHECK(info.residual_scaled <= 1e-10 && kn_lcp_residual_scaled(&lcp, z) == info.residual_scaled);
        }
  printf("  %d problems of 12 to %d rows\n", total, N);
  kn_lcp_work_destroy(work);
}

TEST(every_instruction_set_gives_the_same_bits) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  if (!CHECK_OK(kn_lcp_work_create(&work, N))) return;
  for (int nc = 1; nc <= 16; nc++) {
    kn_lcp lcp = generated(nc, nc % 4, nc % 3, 5);
    kn_solve_info info, first;
    for (int isa = KN_CPU_BASE; isa <= KN_CPU_AVX512; isa++) {
      if (kn_cpu_limit(isa) != isa) continue;
      lemke->solve(z2, &info, &lcp, &settings, work);
      if (isa == KN_CPU_BASE) memcpy(z, z2, sizeof z), first = info;
      CHECK(memcmp(z, z2, sizeof(double) * (size_t)lcp.n) == 0);
      CHECK(info.residual == first.residual && info.residual_scaled == first.residual_scaled);
    }
  }
  kn_cpu_limit(KN_CPU_AVX512);
  kn_lcp_work_destroy(work);
}

TEST(solving_does_not_allocate) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  if (!CHECK_OK(kn_lcp_work_create(&work, 24))) return;
  kn_lcp lcp = generated(4, KN_GEN_COPIES, 2, 1);
  kn_solve_info info;
  size_t before = kn_test_allocations();
  CHECK_OK(lemke->solve(z, &info, &lcp, &settings, work));
  CHECK_INT(kn_test_allocations(), before);
  kn_lcp_work_destroy(work);
}

/* Mixed and boxed rows: the natural map of the original problem decides. */
TEST(free_and_boxed_rows_are_solved) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  double lo[24], hi[24];
  if (!CHECK_OK(kn_lcp_work_create(&work, 48))) return;
  for (int k = 0; k < 300 * kn_test_effort(); k++) {
    kn_rng rng = kn_rng_seed((uint64_t)k);
    int nc = 1 + kn_rng_int(&rng, 8), n = 3 * nc;
    kn_gen_contacts(W, q3, mu, nc, (kn_gen_family)(k % 4), ratios[k % 3], &rng);
    for (int i = 0; i < n; i++) {
      static const double los[5] = {0, -INFINITY, -0.3, -INFINITY, 0.1},
                          his[5] = {INFINITY, INFINITY, 0.4, 0.2, 0.1};
      int kind = kn_rng_int(&rng, 5);
      lo[i] = los[kind], hi[i] = his[kind];
    }
    kn_lcp lcp = {n, W, q3, lo, hi};
    kn_solve_info info;
    CHECK_OK(lemke->solve(z, &info, &lcp, &settings, work));
  }
  kn_lcp_work_destroy(work);
}

TEST(bad_arguments_are_named) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  kn_solve_info info;
  if (!CHECK_OK(kn_lcp_work_create(&work, 2))) return;
  double A[4] = {1, 0, NAN, 1}, p[3] = {-1, -1, -1}, lo[2] = {0, 1}, hi[2] = {1, 0};
  kn_lcp lcp = {2, A, p, NULL, NULL};
  CHECK_STATUS(lemke->solve(z, &info, &lcp, &settings, work), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "M[1][0]");
  A[2] = 0, p[1] = INFINITY;
  CHECK_STATUS(lemke->solve(z, &info, &lcp, &settings, work), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "q[1]");
  p[1] = -1, lcp.lo = lo, lcp.hi = hi;
  CHECK_STATUS(lemke->solve(z, &info, &lcp, &settings, work), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "row 1");
  lcp = (kn_lcp){3, A, p, NULL, NULL};
  CHECK_STATUS(lemke->solve(z, &info, &(kn_lcp){3, M, p, NULL, NULL}, &settings, work), KN_NO_ROOM);
  lcp.n = -1;
  CHECK_STATUS(lemke->solve(z, &info, &lcp, &settings, work), KN_BAD_ARGUMENT);
  lcp = (kn_lcp){0, NULL, NULL, NULL, NULL};
  CHECK_OK(lemke->solve(NULL, &info, &lcp, &settings, work));
  kn_lcp_work* none;
  CHECK_STATUS(kn_lcp_work_create(&none, -1), KN_BAD_ARGUMENT);
  kn_lcp_work_destroy(work);
}

TEST(hand_made_answers) {
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  kn_solve_info info;
  if (!CHECK_OK(kn_lcp_work_create(&work, 6))) return;
  kn_lcp lcp = {2, (double[]){2, 1, 1, 2}, (double[]){-5, -6}, NULL, NULL};
  CHECK_OK(lemke->solve(z, &info, &lcp, &settings, work));
  CHECK_ARRAY(z, ((double[]){4.0 / 3, 7.0 / 3}), 2, 1e-15);
  /* zero matrix, non-negative q: only z = 0 is complementary where q > 0 */
  lcp = (kn_lcp){2, (double[]){0, 0, 0, 0}, (double[]){1, 0}, NULL, NULL};
  CHECK_OK(lemke->solve(z, &info, &lcp, &settings, work));
  CHECK(z[0] == 0.0);
  /* zero matrix, negative q: infeasible, and never called solved */
  lcp.q = (double[]){-1, 1};
  CHECK(lemke->solve(z, &info, &lcp, &settings, work) != KN_OK);
  CHECK(info.residual >= 0.99);
  kn_lcp_work_destroy(work);
}

/* Found by the random campaign: a ray of size 1e202 against an entry of 1e200 overflowed the check of the
   certificate. The second row alone (z_1 > 0) is a solution. */
TEST(an_overflowing_certificate_proves_nothing) {
  double A[25] = {-0.52860482335124481, 0.33826124750203923,   0.48802012957021401,    -0.59949636394896233,
                  -0.33703017488117903, -0.67706262305151399,  -0.0093618347586674755, -0.18285677761010199,
                  0.066856276502966994, 0.2879710915949254,    -0.75032347111878095,   1e200,
                  -0.67502993653948451, -0.058038757733068103, -0.25619686762791649,   -0.53891067766134215,
                  0.16419625963465667,  -0.17581752478705059,  0.034077794480356527,   0.4471857355697213,
                  0.85495802668854681,  0.2355018287786339,    -0.64782787059630431,   -0.6032339654052925,
                  0.28022471401113447};
  double p[5] = {-0.26630079832769904, 0.96964253754925678, -0.79826290750714413, -0.73993487102191557,
                 -0.97991830251714962};
  kn_lcp lcp = {5, A, p, NULL, NULL};
  CHECK(kn_lcp_solve(z, NULL, &lcp, NULL, NULL) != KN_NO_SOLUTION);
}
