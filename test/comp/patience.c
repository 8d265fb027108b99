/* A solve may cost so much and no more (kn_solver_work.patience, which steps set): beyond it the best point so far is
   the answer, judged like any other, and the status says that it is not within the tolerance. Work is counted, not
   timed: the same bits on a busy machine. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "comp/cone/driver.h"
#include "comp/lcp/lcp.h"
#include "comp/verdict/pmatrix.h"
#include "knuckle/comp.h"
#include "test.h"

enum { CONTACTS = 24, ROWS = 3 * CONTACTS };

/* Contacts in pairs that push against each other: W = D + Bᵀ B couples all of them, and in every pair the two normal
   velocities add up to q_a + q_b < 0 whatever the impulses are. No answer exists, so that every method is tried. */
typedef struct clamp {
  double W[ROWS * ROWS], q[ROWS], r[ROWS];
  kn_block block[CONTACTS];
  kn_problem p;
} clamp;

static double wave(int i, int j) { return 0.3 * ((double)((7 * i + 3 * j) % 11) - 5.0) / 5.0; }

static void build(clamp* c) {
  memset(c, 0, sizeof *c);
  for (int b = 0; b < CONTACTS; b++) c->block[b] = (kn_block){.set = KN_SET_CONE3, .row = 3 * b, .mu = 0.5};
  for (int k = 0; k < ROWS;
       k++) { /* W = sum of a aᵀ; both normals of a pair have opposite entries in every a */
    double a[ROWS];
    for (int i = 0; i < ROWS; i++) {
      int pair = i / 6, normal = i % 3 == 0;
      a[i] = normal ? (i % 6 ? -1.0 : 1.0) * (wave(k, pair) + (k % (CONTACTS / 2) == pair))
                    : wave(i, k) + (i == k);
    }
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < ROWS; j++) c->W[i * ROWS + j] += a[i] * a[j];
  }
  for (int i = 0; i < ROWS; i++) c->q[i] = i % 3 == 0 ? -1.0 : wave(i, 5);
  c->p = (kn_problem){.rows = ROWS, .blocks = CONTACTS, .block = c->block, .W = c->W, .q = c->q};
}

static kn_status solve(clamp* c, kn_solve_info* info, double patience) {
  kn_solver_work* work = NULL;
  kn_solve_settings settings = kn_solve_default();
  if (!CHECK_OK(kn_solver_work_for(&work, &c->p))) return KN_OUT_OF_MEMORY;
  work->patience = patience;
  memset(c->r, 0, sizeof c->r);
  kn_status status = kn_problem_solve(c->r, info, &c->p, &settings, work);
  kn_solver_work_destroy(work);
  return status;
}

TEST(no_solve_goes_on_beyond_its_patience) {
  static clamp c, again;
  kn_solve_info all, few, same;
  build(&c);
  build(&again);
  CHECK_STATUS(solve(&c, &all, 0.0), KN_NOT_CONVERGED);
  CHECK_STATUS(solve(&c, &few, 50.0), KN_NOT_CONVERGED);
  printf("  %d iterations with any patience (residual %.3g), %d with 50 steps (%.3g)\n", all.iterations,
         all.residual_scaled, few.iterations, few.residual_scaled);
  /* 50 steps and 2e6 multiplications, 15 more steps of n²(n/3 + 4) at 72 rows; a method ends its round of at most
     100 steps; sweeps cost a 28th of a step */
  CHECK(few.iterations < 50 + 15 + 100 + 28 * 65 && 4 * few.iterations < all.iterations);
  /* what is returned is what the judge saw */
  CHECK_NEAR(kn_problem_error_scaled(&c.p, c.r), few.residual_scaled, 1e-15);
  CHECK(isfinite(few.residual) && few.residual_scaled > 1e-10);
  CHECK_STATUS(solve(&again, &same, 50.0), KN_NOT_CONVERGED);
  CHECK_BITS(again.r, c.r, ROWS);
  CHECK_INT(same.iterations, few.iterations);
}

/* However much was spent before: the last method, a thousand sweeps, went on for 2 ms when nothing was left. */
TEST(every_method_ends_with_the_work) {
  static clamp c;
  double step = ROWS * (ROWS * (ROWS / 3.0 + 4.0) + 800.0), most = 0.0;
  build(&c);
  for (double before = 0.0; before <= 24e6; before += 1e6) {
    kn_solver_work* work = NULL;
    kn_solve_info info;
    kn_solve_settings settings = kn_solve_default();
    if (!CHECK_OK(kn_solver_work_for(&work, &c.p))) return;
    work->patience = 50.0;
    *kn_solver_work_used(work) = before;
    memset(c.r, 0, sizeof c.r);
    CHECK_STATUS(kn_problem_solve(c.r, &info, &c.p, &settings, work), KN_NOT_CONVERGED);
    /* 24e6 for all solves, 20 steps of its own */
    most = fmax(most, work->work - (24e6 - before) - 20.0 * step);
    kn_solver_work_destroy(work);
  }
  printf("  at most %.3g steps beyond what is left\n", most / step);
  CHECK_BELOW(most, 10.0 * step); /* a method ends what it has begun */
}

/* Nearly skew with a small diagonal: neither definite nor dominant, so that only minors decide. 24 rows have 1.7e7. */
static void fill(double* A, int n, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double x = kn_rng_range(&rng, -1.0, 1.0);
      A[i * n + j] = i == j ? 0.1 : x, A[j * n + i] = i == j ? 0.1 : -0.7 * x;
    }
}

/* Few minors or all: the same answer where the few are enough, otherwise none. */
TEST(a_verdict_looks_at_so_many_minors_and_no_more) {
  static double A[24 * 24];
  int decided = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    int n = 4 + (int)(seed % 7);
    kn_pmatrix all, few;
    fill(A, n, seed);
    CHECK_OK(kn_pmatrix_test(&all, n, A, n));
    CHECK_OK(kn_pmatrix_test_within(KN_BRIEF_MINORS, &few, n, A, n));
    CHECK_INT(few.is_p, all.is_p); /* 2^10 minors */
    CHECK_OK(kn_pmatrix_test_within(5, &few, n, A, n));
    CHECK(few.is_p == all.is_p || few.is_p == KN_ANSWER_UNDECIDED);
    decided += few.is_p != KN_ANSWER_UNDECIDED;
  }
  CHECK(decided < 40);
  kn_pmatrix large;
  fill(A, 24, 3);
  CHECK_OK(kn_pmatrix_test_within(KN_BRIEF_MINORS, &large, 24, A, 24)); /* ends at once, whatever it says */
  CHECK(large.is_p != KN_ANSWER_YES);
}

/* Murty's problems (K. G. Murty, Mathematical Programming 15, 1978): M lower triangular, 1 on the diagonal, 2 below; the choice of
   the first covering vector takes 2^n pivots. */
TEST(lemke_ends_with_the_work) {
  enum { N = 16, PIVOTS = 40 };
  double M[N * N] = {0}, q[N], z[N];
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++) M[i * N + j] = i == j ? 1.0 : 2.0;
    q[i] = -((1 << N) - (1 << (N - 1 - i)));
  }
  kn_lcp lcp = {.n = N, .M = M, .q = q};
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work = NULL;
  kn_solve_info all, few;
  if (!CHECK_OK(kn_lcp_work_create(&work, N))) return;
  const kn_lcp_solver* lemke = kn_lcp_solver_find("lemke");
  CHECK_OK(lemke->solve(z, &all, &lcp, &settings, work));
  CHECK(all.iterations > 10 * PIVOTS);
  kn_lcp_work_allow(work, PIVOTS * N * N);
  CHECK_STATUS(lemke->solve(z, &few, &lcp, &settings, work), KN_NOT_CONVERGED);
  CHECK(few.iterations >= PIVOTS && few.iterations <= PIVOTS + 2);
  kn_lcp_work_allow(work, PIVOTS * N * N);
  kn_lcp_solve(z, &few, &lcp, &settings, work); /* with all that would come after Lemke */
  CHECK(few.iterations <= 3 * PIVOTS);
  kn_lcp_work_allow(work, INFINITY);
  CHECK_OK(lemke->solve(z, &few, &lcp, &settings, work));
  CHECK_INT(few.iterations, all.iterations);
  kn_lcp_work_destroy(work);
}
