/* Verdicts: existence, uniqueness of motion and forces, determinate multipliers. */
#include <string.h>

#include "contact_gen.h"
#include "knuckle/comp.h"
#include "test.h"

static kn_lcp_work* work;

static kn_verdict judged(const kn_lcp* lcp, double* z) {
  kn_verdict v;
  kn_status status = kn_lcp_solve(z, NULL, lcp, NULL, work);
  CHECK(status == KN_OK || status == KN_NO_SOLUTION);
  CHECK_OK(kn_lcp_verdict(&v, lcp, z, NULL, work));
  return v;
}

/* W_NN of a square table (mass 1, inertia 1/6 about the horizontal axes) with contacts at (x, y): 1 + 6 (x x'
 * + y y'). */
static void table(int n, const double (*at)[2], double* W) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) W[i * n + j] = 1 + 6 * (at[i][0] * at[j][0] + at[i][1] * at[j][1]);
}

TEST(tables_on_three_and_four_legs) {
  static const double legs[4][2] = {{.5, .5}, {-.5, .5}, {-.5, -.5}, {.5, -.5}};
  double W[16], q[4] = {-1, -1, -1, -1}, z[4], least[4];
  bool fixed[4];
  int rank;
  CHECK_OK(kn_lcp_work_create(&work, 16));
  table(3, legs, W);
  kn_lcp lcp = {3, W, q, NULL, NULL};
  kn_verdict v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_UNIQUE);
  CHECK(v.matrix_class & KN_CLASS_PD && v.matrix_class & KN_CLASS_P);
  table(4, legs, W);
  lcp.n = 4;
  v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_MOTION_UNIQUE);
  CHECK(v.matrix_class & KN_CLASS_PSD && !(v.matrix_class & (KN_CLASS_PD | KN_CLASS_P)));
  CHECK_OK(kn_lcp_determinate(fixed, least, &rank, &lcp, z, work));
  CHECK_INT(rank, 3);
  for (int i = 0; i < 4; i++) {
    CHECK(!fixed[i]);
    CHECK_NEAR(least[i], 0.25, 1e-9); /* by symmetry the least norm shares the weight */
  }
  kn_lcp_work_destroy(work);
}

/* A fourth leg in the middle of an edge between two loaded ones is redundant; a leg that lifts off is
 * determinate. */
TEST(only_the_redundant_legs_are_flagged) {
  static const double legs[4][2] = {{.5, .5}, {0, .5}, {-.5, .5}, {0, -.5}};
  double W[16], q[4] = {-1, -1, -1, -1}, z[4];
  bool fixed[4];
  CHECK_OK(kn_lcp_work_create(&work, 16));
  table(4, legs, W);
  kn_lcp lcp = {4, W, q, NULL, NULL};
  kn_verdict v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_MOTION_UNIQUE);
  CHECK_OK(kn_lcp_determinate(fixed, NULL, NULL, &lcp, z, work));
  CHECK(!fixed[0] && !fixed[1] && !fixed[2] && fixed[3]); /* moment balance fixes the single leg opposite */
  CHECK_NEAR(z[3], 0.5, 1e-12);
  kn_lcp_work_destroy(work);
}

TEST(one_row_with_negative_mobility_has_two_motions_or_none) {
  double M = -1, q = 1, z;
  CHECK_OK(kn_lcp_work_create(&work, 4));
  kn_lcp lcp = {1, &M, &q, NULL, NULL};
  kn_verdict v = judged(&lcp, &z);
  CHECK_INT(v.kind, KN_VERDICT_SEVERAL);
  CHECK_INT(v.solutions, 2);
  CHECK(v.matrix_class & KN_CLASS_NOT_P && v.failing_minor == 1);
  q = -1;
  v = judged(&lcp, &z);
  CHECK_INT(v.kind, KN_VERDICT_NONE);
  CHECK_INT(v.exists, KN_ANSWER_NO);
  CHECK(v.certificate != KN_CERTIFICATE_NONE);
  CHECK_TEXT(kn_verdict_name(v.kind), "none");
  kn_lcp_work_destroy(work);
}

/* w_0 = q_0 = -1 whatever z: nothing solves it. Scaling that row by its large column once made -1 look like
   rounding. The same with the rows in other units (w_0 by a, z_0 by b: neither may matter). */
TEST(a_row_of_zeros_with_a_negative_offset_has_no_solution) {
  static const double units[] = {1e-6, 1.0, 1e6};
  CHECK_OK(kn_lcp_work_create(&work, 8));
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      double M[9] = {0, 0, 0, 499951 * units[b], 1e-4, 0, 0, 7, 169}, q[3] = {-units[a], -2, 0}, z[3];
      kn_lcp lcp = {3, M, q, NULL, NULL};
      double guess[3] = {2 / (499951 * units[b]), 0, 0}; /* satisfies the other rows exactly */
      CHECK(kn_lcp_residual_scaled(&lcp, guess) > 1e-10);
      CHECK_INT(kn_lcp_solve(z, NULL, &lcp, NULL, work), KN_NO_SOLUTION);
      kn_verdict v;
      CHECK_OK(kn_lcp_verdict(&v, &lcp, NULL, NULL, work));
      CHECK_INT(v.kind, KN_VERDICT_NONE);
    }
  kn_lcp_work_destroy(work);
}

/* Two walls that push at one another, offsets -2e-15 beside one of 10: rounding, so that z = 0 is a solution. By
   themselves the same offsets are the data, and then none exists. A negative mobility with an offset of rounding:
   0 and 1e-12 both solve it, which is neither one motion nor two. */
TEST(offsets_within_rounding_decide_nothing) {
  double walls[9] = {1, -1, 0, -1, 1, 0, 0, 0, 1}, q[3] = {-2e-15, -2e-15, 10}, z[3];
  CHECK_OK(kn_lcp_work_create(&work, 8));
  kn_lcp lcp = {3, walls, q, NULL, NULL};
  kn_verdict v = judged(&lcp, z);
  CHECK_INT(v.exists, KN_ANSWER_YES);
  CHECK_INT(v.kind, KN_VERDICT_MOTION_UNIQUE);
  q[0] = q[1] = -1e-6; /* 1e-7 of the largest: beyond rounding */
  v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_NONE);
  double two[4] = {1, -1, -1, 1}, alone[2] = {-2e-15, -2e-15};
  lcp = (kn_lcp){2, two, alone, NULL, NULL};
  v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_NONE);
  double minus[4] = {-1, 0, 0, 1}, small[2] = {1e-12, 10};
  lcp = (kn_lcp){2, minus, small, NULL, NULL};
  v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_UNDECIDED);
  CHECK(v.within_rounding);
  CHECK_TEXT(kn_verdict_text(&v), "undecided within rounding");
  small[0] = 1e-5;
  v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_SEVERAL);
  CHECK(!v.within_rounding);
  kn_lcp_work_destroy(work);
}

/* Column adequate, not symmetric, singular: two contacts that are copies of one another with friction
 * coupling. */
TEST(copies_of_a_sliding_contact_leave_the_motion_unique) {
  double A[9] = {1, 1, .3, 1, 1, .3, -.2, -.2, 1}, q[3] = {-1, -1, -.5}, z[3];
  bool fixed[3];
  CHECK_OK(kn_lcp_work_create(&work, 6));
  kn_lcp lcp = {3, A, q, NULL, NULL};
  kn_verdict v = judged(&lcp, z);
  CHECK_INT(v.kind, KN_VERDICT_MOTION_UNIQUE);
  CHECK_OK(kn_lcp_determinate(fixed, NULL, NULL, &lcp, z, work));
  CHECK(!fixed[0] && !fixed[1] && fixed[2]);
  kn_lcp_work_destroy(work);
}

/* Against enumeration: for symmetric semidefinite problems the vertices of the solution set are complementary
   bases, so an entry is determinate iff all enumerated solutions agree in it. */
TEST(flags_agree_with_all_enumerated_solutions) {
  enum { NC = 8, MAX = 64 };
  double W[9 * NC * NC], q3[3 * NC], mu[NC], M[NC * NC], q[NC], z[NC], all[MAX * NC], least[NC];
  bool fixed[NC];
  int compared = 0, loose = 0;
  kn_lcp_settings settings = kn_lcp_settings_default();
  CHECK_OK(kn_lcp_work_create(&work, NC));
  for (int k = 0; k < 200 * kn_test_effort(); k++) {
    kn_rng rng = kn_rng_seed((uint64_t)k + 11);
    int nc = 2 + kn_rng_int(&rng, NC - 1);
    kn_gen_contacts(W, q3, mu, nc, k % 2 ? KN_GEN_COPIES : KN_GEN_STACK, k % 3 ? 1 : 10, &rng);
    kn_gen_normal(M, q, nc, W, q3);
    if (k % 5 == 0)
      for (int i = 0; i < nc; i++) q[i] = -W[3 * i]; /* consistent with z = e_0: many degenerate rows */
    if (k % 5 == 0)
      for (int i = 0; i < nc; i++) q[i] = -M[i * nc];
    kn_lcp lcp = {nc, M, q, NULL, NULL};
    kn_lcp_enumeration found;
    if (!CHECK_OK(kn_lcp_solve(z, NULL, &lcp, NULL, work))) continue;
    CHECK_OK(kn_lcp_enumerate(all, MAX, &found, &lcp, &settings, work));
    if (!found.complete) continue;
    CHECK(!found.motions_differ);
    CHECK_OK(kn_lcp_determinate(fixed, least, NULL, &lcp, z, work));
    double norm = 0, norm_least = 0;
    for (int i = 0; i < nc; i++) {
      double lo = INFINITY, hi = -INFINITY, size = 0;
      for (int s = 0; s < found.count; s++) {
        lo = fmin(lo, all[s * nc + i]), hi = fmax(hi, all[s * nc + i]);
        for (int j = 0; j < nc; j++) size = fmax(size, fabs(all[s * nc + j]));
      }
      bool same = hi - lo <= 1e-6 * size;
      CHECK(same == fixed[i]);
      compared++, loose += !fixed[i];
      norm += z[i] * z[i] * M[i * nc + i], norm_least += least[i] * least[i] * M[i * nc + i];
    }
    CHECK(norm_least <= norm * (1 + 1e-9)); /* in scaled units, as documented */
    CHECK(kn_lcp_residual_scaled(&lcp, least) <= 1e-9);
  }
  CHECK(loose > compared / 20 && loose < compared);
  kn_lcp_work_destroy(work);
}

/* Unit box (mass 1, inertia 1/6) on corner contacts with friction, at rest under gravity for one step: u = 0.
 */
static void box_problem(int nc, const double (*at)[2], double* W, double* q, kn_block* blocks, double mu) {
  int n = 3 * nc;
  for (int a = 0; a < nc; a++) {
    blocks[a] = (kn_block){.set = KN_SET_CONE3, .row = 3 * a, .mu = mu};
    q[3 * a] = -0.1, q[3 * a + 1] = q[3 * a + 2] = 0;
    for (int b = 0; b < nc; b++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          /* directions z, x, y; arm (x, y, -1/2); W = d.d' + 6 (r x d).(r' x d') */
          double ra[3] = {at[a][0], at[a][1], -.5}, rb[3] = {at[b][0], at[b][1], -.5}, da[3] = {0},
                 db[3] = {0}, ca[3], cb[3];
          da[(i + 2) % 3] = 1, db[(j + 2) % 3] = 1;
          for (int k = 0; k < 3; k++) {
            ca[k] = ra[(k + 1) % 3] * da[(k + 2) % 3] - ra[(k + 2) % 3] * da[(k + 1) % 3];
            cb[k] = rb[(k + 1) % 3] * db[(k + 2) % 3] - rb[(k + 2) % 3] * db[(k + 1) % 3];
          }
          double s = 0;
          for (int k = 0; k < 3; k++) s += da[k] * db[k] + 6 * ca[k] * cb[k];
          W[(3 * a + i) * n + 3 * b + j] = s;
        }
  }
}

TEST(contact_forces_of_a_resting_box) {
  static const double corners[4][2] = {{.5, .5}, {-.5, .5}, {-.5, -.5}, {.5, -.5}};
  double W[144], q[12], r[12] = {0}, least[12];
  kn_block blocks[4];
  bool fixed[4];
  int rank;
  CHECK_OK(kn_lcp_work_create(&work, 12));
  for (int nc = 1; nc <= 4; nc++)
    for (int rough = 0; rough < 2; rough++) {
      box_problem(nc, corners, W, q, blocks, rough ? 0.8 : 0.0);
      if (nc == 1) q[1] = q[2] = 0.02;
      kn_problem p = {.rows = 3 * nc, .blocks = nc, .block = blocks, .W = W, .q = q};
      kn_solver_work* cones;
      kn_solve_settings settings = kn_solve_default();
      CHECK_OK(kn_solver_work_for(&cones, &p));
      memset(r, 0, sizeof r);
      if (!CHECK_OK(kn_problem_solve(r, NULL, &p, &settings, cones))) continue;
      CHECK_OK(kn_problem_determinate(fixed, least, &rank, &p, r, work));
      /* one contact: determinate; three without friction too. With friction two can squeeze one another, but
         the third corner, off the diagonal that carries the centre of mass, carries nothing. Four: nothing is
         fixed. */
      if (nc != 2) /* two corners of one edge: the box tips over; depends on the slip that follows */
        for (int c = 0; c < nc; c++) CHECK(fixed[c] == (nc == 1 || (nc == 3 && (!rough || c == 1))));
      CHECK(kn_problem_error_scaled(&p, least) <= 1e-8);
      if (nc == 4)
        for (int c = 0; c < 4; c++) CHECK_NEAR(least[3 * c], 0.025, 1e-7); /* shared alike by symmetry */
      kn_solver_work_destroy(cones);
    }
  kn_lcp_work_destroy(work);
}

/* A vertex solution (two opposite legs carry all) must not be mistaken for a determinate one. */
TEST(resting_contacts_without_load_still_count) {
  static const double corners[4][2] = {{.5, .5}, {-.5, .5}, {-.5, -.5}, {.5, -.5}};
  double W[144], q[12], r[12] = {0};
  kn_block blocks[4];
  bool fixed[4];
  CHECK_OK(kn_lcp_work_create(&work, 12));
  box_problem(4, corners, W, q, blocks, 0.8);
  r[0] = r[6] = 0.05;
  kn_problem p = {.rows = 12, .blocks = 4, .block = blocks, .W = W, .q = q};
  CHECK(kn_problem_error(&p, r) <= 1e-14);
  CHECK_OK(kn_problem_determinate(fixed, NULL, NULL, &p, r, work));
  for (int c = 0; c < 4; c++) CHECK(!fixed[c]);
  kn_lcp_work_destroy(work);
}
