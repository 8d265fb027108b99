/* Verdicts on problems with friction: each kind from a problem whose answer is known by hand, and "unique"
   tried against a search from many starts. */
#include <math.h>
#include <string.h>

#include "cone_problems.h"
#include "knuckle/comp.h"
#include "test.h"

static kn_verdict verdict_of(const kn_problem* p) {
  kn_verdict v;
  double r[96];
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_for(&work, p));
  kn_status status = kn_problem_solve(r, NULL, p, NULL, work);
  CHECK_OK(kn_problem_verdict(&v, p, status == KN_OK ? r : NULL, work));
  kn_solver_work_destroy(work);
  return v;
}

/* W = [1 c; c 1], mu c > 1: pushed with q = (1, 3) the contact may open, u = (1, 3), or jam while it slides,
   r_N = q_N / (mu c - 1) = 1.25, u_T = 3 - 1.1 r_N = 1.625. */
TEST(a_jamming_contact_has_several_motions) {
  double W[4] = {1.0, 0.9, 0.9, 1.0}, q[2] = {1.0, 3.0}, jam[2] = {1.25, -2.5};
  kn_block block = {.set = KN_SET_CONE2, .mu = 2.0};
  kn_problem p = {2, 1, &block, W, NULL, q, NULL};
  CHECK_BELOW(kn_problem_error(&p, jam), 1e-15);
  kn_verdict v = verdict_of(&p);
  CHECK_INT(v.kind, KN_VERDICT_SEVERAL);
  CHECK_INT(v.exists, KN_ANSWER_YES);
  block.mu = 0.5; /* mu c < 1 */
  CHECK_INT(verdict_of(&p).kind, KN_VERDICT_UNIQUE);
  q[1] = 0.1, block.mu = 2.0; /* opening at once: q in the dual cone */
  CHECK_INT(verdict_of(&p).kind, KN_VERDICT_UNIQUE);
}

/* The same in space, where nothing is enumerated: whether or not the second motion is found, nothing may call
   the first one unique. */
TEST(a_jamming_contact_in_space_is_not_called_unique) {
  double W[9] = {1.0, 0.9, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 1.0}, q[3] = {1.0, 3.0, 0.0},
         jam[3] = {1.25, -2.5, 0.0};
  kn_block block = {.set = KN_SET_CONE3, .mu = 2.0};
  kn_problem p = {3, 1, &block, W, NULL, q, NULL};
  CHECK_BELOW(kn_problem_error(&p, jam), 1e-15);
  kn_verdict v = verdict_of(&p);
  CHECK(v.kind == KN_VERDICT_SEVERAL || v.kind == KN_VERDICT_UNDECIDED);
}

/* Two walls that close on a point from both sides: y = (1, 1) on the normals. */
TEST(closing_walls_have_no_solution) {
  static const double H[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  double W[36], q[6] = {-1, 0.3, 0, -1, 0.3, 0};
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) W[6 * i + j] = H[i][0] * H[j][0] + H[i][1] * H[j][1] + H[i][2] * H[j][2];
  kn_block block[2] = {{.set = KN_SET_CONE3, .row = 0, .mu = 0.4},
                       {.set = KN_SET_CONE3, .row = 3, .mu = 0.7}};
  kn_problem p = {6, 2, block, W, NULL, q, NULL};
  kn_verdict v = verdict_of(&p);
  CHECK_INT(v.kind, KN_VERDICT_NONE);
  CHECK_INT(v.certificate, KN_CERTIFICATE_FARKAS);
  q[0] = 1.1; /* the left wall recedes faster than the right one follows */
  CHECK(verdict_of(&p).exists == KN_ANSWER_YES);
}

TEST(no_solution_by_enumeration) {
  double W[1] = {-1.0}, q[1] = {-1.0};
  kn_block block = {.set = KN_SET_POSITIVE};
  kn_problem p = {1, 1, &block, W, NULL, q, NULL};
  kn_verdict v = verdict_of(&p);
  CHECK_INT(v.kind, KN_VERDICT_NONE);
  CHECK_INT(v.certificate, KN_CERTIFICATE_ENUMERATION);
}

/* A box of mass 1 on four points of a plane: without friction one motion and loose forces; with friction its
   dependent contacts leave the question open. */
TEST(box_on_four_points) {
  static const double at[4][2] = {{.5, .5}, {-.5, .5}, {-.5, -.5}, {.5, -.5}};
  double H[12][6], W[144], q[12];
  kn_block block[4];
  for (int c = 0; c < 4; c++) {
    double x = at[c][0], y = at[c][1], z = -0.5;
    double rows[3][6] = {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, z, -y}, {0, 1, 0, -z, 0, x}};
    memcpy(H[3 * c], rows, sizeof rows);
    block[c] = (kn_block){.set = KN_SET_CONE3, .row = 3 * c, .mu = 0.0};
  }
  for (int i = 0; i < 12; i++) {
    for (int j = 0; j < 12; j++) {
      W[12 * i + j] = 0.0;
      for (int k = 0; k < 6; k++) W[12 * i + j] += H[i][k] * H[j][k] * (k < 3 ? 1.0 : 6.0);
    }
    q[i] = -H[i][2] + 0.3 * H[i][0];
  }
  kn_problem p = {12, 4, block, W, NULL, q, NULL};
  kn_verdict v = verdict_of(&p);
  CHECK_INT(v.kind, KN_VERDICT_MOTION_UNIQUE);
  CHECK(v.matrix_class & KN_CLASS_PSD);
  for (int c = 0; c < 4; c++) block[c].mu = 0.5;
  v = verdict_of(&p);
  CHECK(v.kind == KN_VERDICT_UNDECIDED || v.kind == KN_VERDICT_MOTION_UNIQUE);
}

/* Where the verdict says unique, starts from random forces end in the same motion. */
TEST(unique_means_unique) {
  kn_rng rng = kn_rng_seed(8);
  int unique = 0, total = 120 * kn_test_effort();
  for (int k = 0; k < total; k++) {
    kn_generated g = kn_generate(&rng, (kn_family)(k % KN_FAMILY_COUNT), 1 + k % 5, 1.0);
    kn_problem* p = &g.problem;
    double *W = (double*)(uintptr_t)p->W, r[96], x[96], u[96], other[96];
    int n = p->rows;
    for (int i = 0; i < n; i++) W[i * n + i] *= 1.0 + 0.3 * (k % 7);
    kn_solver_work* work = NULL;
    CHECK_OK(kn_solver_work_for(&work, p));
    kn_verdict v;
    if (CHECK_OK(kn_problem_solve(r, NULL, p, NULL, work)) && CHECK_OK(kn_problem_verdict(&v, p, r, work)) &&
        (v.kind == KN_VERDICT_UNIQUE || v.kind == KN_VERDICT_MOTION_UNIQUE)) {
      unique++;
      kn_problem_velocity(u, p, r);
      for (int start = 0; start < 10; start++) {
        kn_solve_settings settings = kn_solve_default();
        settings.warm_start = true;
        for (int i = 0; i < n; i++) x[i] = kn_rng_normal(&rng) * pow(10.0, kn_rng_range(&rng, -1.0, 1.0));
        if (kn_problem_solve(x, NULL, p, &settings, work) != KN_OK) continue;
        kn_problem_velocity(other, p, x);
        CHECK_ARRAY(other, u, (size_t)n, 1e-4); /* the residual of 1e-10 enters under a root */
      }
    }
    kn_solver_work_destroy(work);
    kn_generated_free(&g);
  }
  printf("%d of %d shown unique\n", unique, total);
  CHECK(5 * unique > total);
}

TEST(bad_arguments_are_refused) {
  kn_verdict v;
  double W[1] = {NAN}, q[1] = {0.0};
  kn_block block = {.set = KN_SET_POSITIVE};
  kn_problem p = {1, 1, &block, W, NULL, q, NULL}, empty = {0};
  CHECK_STATUS(kn_problem_verdict(NULL, &p, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_problem_verdict(&v, &p, NULL, NULL), KN_NOT_FINITE);
  CHECK_STATUS(kn_problem_verdict(&v, NULL, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_OK(kn_problem_verdict(&v, &empty, NULL, NULL));
  CHECK_INT(v.kind, KN_VERDICT_UNIQUE);
}
