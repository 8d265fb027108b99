/* The energy certificate: closed forms, an independent solver, trials. */
#include "knuckle/certify.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "law/certificate.h"
#include "test.h"

enum { K = 12 };

/* W = J M⁻¹ Jᵀ of k contacts on a system with n freedoms: rank min(k, n). */
static void compliance(double* W, kn_rng* rng, int k, int n) {
  double J[K * 2 * K];
  for (int i = 0; i < k * n; i++) J[i] = kn_rng_normal(rng);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) {
      W[i * k + j] = 0;
      for (int c = 0; c < n; c++) W[i * k + j] += J[i * n + c] * J[j * n + c];
    }
}

static void random_e(double* e, kn_rng* rng, int k) {
  for (int i = 0; i < k; i++) {
    double x = kn_rng_unit(rng);
    e[i] = x < 0.1 ? 0.0 : x > 0.9 ? 1.0 : kn_rng_unit(rng); /* ends included */
  }
}

/* ½ φᵀ(EQE - Q)φ and ½ φᵀQφ for k = 2, with Q from the 2 x 2 inverse. */
static void invert2(double Q[4], const double W[4]) {
  double d = W[0] * W[3] - W[1] * W[2];
  Q[0] = W[3] / d, Q[3] = W[0] / d, Q[1] = Q[2] = -W[1] / d;
}

TEST(two_contacts_have_a_closed_form) {
  kn_rng rng = kn_rng_seed(1);
  int wrong = 0, near = 0, consistent = 0;
  for (int i = 0; i < 20000 * kn_test_effort(); i++) {
    double W[4], Q[4], e[2], rho;
    compliance(W, &rng, 2, 2 + kn_rng_int(&rng, 4));
    random_e(e, &rng, 2);
    invert2(Q, W);
    CHECK_OK(kn_certify_rho(&rho, 2, W, e));
    /* (1-e1²)(1-e2²) Q11 Q22 >= (1-e1 e2)² Q12² */
    double left = (1 - e[0] * e[0]) * (1 - e[1] * e[1]) * Q[0] * Q[3],
           right = (1 - e[0] * e[1]) * (1 - e[0] * e[1]) * Q[1] * Q[1];
    if (fabs(left - right) <= 1e-9 * (left + right)) { /* e1 = e2 = 1 among others */
      near++;
      continue;
    }
    consistent += left > right;
    wrong += (left > right) != (rho <= 1 + 1e-12);
  }
  printf("  %d consistent, %d on the boundary, %d disagree\n", consistent, near, wrong);
  CHECK_INT(wrong, 0);
}

/* The uniform rod landing flat: contacts at ±.45, E = diag(1, 0) has ρ = 1.21 but no approaching velocity
   gains; at ±.1 one does. */
TEST(rod_of_the_page) {
  double W[4], e[2] = {1, 0}, near[2];
  kn_energy_certificate c;
  CHECK_OK(kn_certify_rod(W, 2, (double[]){-0.45, 0.45}));
  CHECK_OK(kn_certify(&c, near, 2, W, e, KN_REPAIR_NEAREST));
  /* Q12/Q11 = 1.43/3.43: ρ solves (Q11 - ρ Q11)(0 - ρ Q22) = ρ² Q12², ρ = 1/(1 - (1.43/3.43)²) */
  CHECK_NEAR(c.rho, 1 / (1 - 1.43 * 1.43 / 3.43 / 3.43), 1e-12);
  CHECK(!c.consistent && c.approach == KN_APPROACH_NO);
  CHECK(near[0] < 1 && near[1] > 0);
  CHECK_OK(kn_certify_rod(W, 2, (double[]){-0.1, 0.1}));
  CHECK_OK(kn_certify(&c, near, 2, W, e, KN_REPAIR_NEAREST));
  CHECK(!c.consistent && c.approach == KN_APPROACH_YES);
  CHECK(c.approaching[0] <= 0 && c.approaching[1] <= 0);
  double Q[4], before = 0, after = 0;
  invert2(Q, W);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      before += 0.5 * c.approaching[i] * Q[2 * i + j] * c.approaching[j];
      after += 0.5 * e[i] * c.approaching[i] * Q[2 * i + j] * e[j] * c.approaching[j];
    }
  CHECK_NEAR(before, 1, 1e-12);
  CHECK_NEAR(after - before, c.approaching_gain, 1e-12);
  CHECK(c.approaching_gain > 0.01);
  CHECK_OK(kn_certify_rod(W, 2, (double[]){-0.3, 0.3}));
  CHECK_OK(kn_certify(&c, near, 2, W, (double[]){0.5, 0.5}, KN_REPAIR_NEAREST));
  CHECK(c.consistent);
  CHECK_NEAR(c.rho, 0.25, 1e-14);
}

TEST(cutting_planes_agree_with_dsdp) {
  kn_rng rng = kn_rng_seed(7);
  int count = 100 * kn_test_effort(), repaired = 0, most = 0, redundant = 0, full = 0, sum = 0;
  double worst = 0, above = 0;
  for (int i = 0; i < count; i++) {
    int k = 2 + kn_rng_int(&rng, K - 1), n = i % 4 == 0 ? 1 + kn_rng_int(&rng, k) : k + kn_rng_int(&rng, 6);
    double W[K * K], e[K], cuts[K], lmi[K], rho;
    kn_energy_certificate c;
    compliance(W, &rng, k, n);
    random_e(e, &rng, k);
    CHECK_OK(kn_certify(&c, cuts, k, W, e, KN_REPAIR_NEAREST));
    CHECK_INT(c.rank, n < k ? n : k);
    kn_status status = kn_certify_lmi(lmi, k, W, e);
    if (status == KN_UNSUPPORTED) SKIP("built without DSDP");
    if (!CHECK_OK(status)) return;
    CHECK_OK(kn_certify_rho(&rho, k, W, cuts));
    above = fmax(above, rho - 1);
    repaired += !c.consistent;
    redundant += n < k;
    if (c.cuts > most) most = c.cuts;
    full += c.cuts >= KN_CERTIFICATE_CUTS;
    sum += c.cuts;
    double d = 0;
    for (int j = 0; j < k; j++) d = fmax(d, fabs(cuts[j] - lmi[j]));
    worst = fmax(worst, d);
    if (!(d <= 1e-5)) {
      CHECK_BELOW(d, 1e-5);
      printf("  case %d: k %d, rank %d, cuts %d\n", i, k, c.rank, c.cuts);
    }
  }
  printf("  %d cases (%d repaired, %d redundant): |cuts - DSDP| <= %.2g, rho - 1 <= %.2g\n", count, repaired,
         redundant, worst, above);
  printf("  %d cuts on average, at most %d, %d times the limit\n", sum / (repaired + 1), most, full);
  CHECK_BELOW(above, 1e-12);
  CHECK(repaired > count / 2);
}

/* The nearest one is consistent, is itself when repaired again, is no farther than the other repairs, and no
   random consistent E is nearer. */
TEST(nearest_is_nearest) {
  kn_rng rng = kn_rng_seed(3);
  for (int i = 0; i < 300 * kn_test_effort(); i++) {
    int k = 2 + kn_rng_int(&rng, 5);
    double W[K * K], e[K], near[K], other[K], trial[K], rho;
    kn_energy_certificate c, d;
    compliance(W, &rng, k, k + 2);
    random_e(e, &rng, k);
    CHECK_OK(kn_certify(&c, near, k, W, e, KN_REPAIR_NEAREST));
    CHECK_OK(kn_certify(&d, other, k, W, near, KN_REPAIR_NEAREST));
    CHECK_ARRAY(other, near, (size_t)k, 1e-9);
    for (int r = 1; r < 3; r++) {
      CHECK_OK(kn_certify(&d, other, k, W, e, r == 1 ? KN_REPAIR_MEAN : KN_REPAIR_RADIAL));
      CHECK(c.distance <= d.distance + 1e-9);
      CHECK_OK(kn_certify_rho(&rho, k, W, other));
      CHECK_BELOW(rho, 1 + 1e-12);
    }
    for (int t = 0; t < 20 && !c.consistent; t++) { /* (e - near)·(f - near) <= 0 for every consistent f */
      random_e(trial, &rng, k);
      CHECK_OK(kn_certify(&d, trial, k, W, trial, KN_REPAIR_MEAN));
      double dot = 0;
      for (int j = 0; j < k; j++) dot += (e[j] - near[j]) * (trial[j] - near[j]);
      CHECK_BELOW(dot, 1e-8);
    }
  }
}

/* A bilateral row has φ = 0. Keeping it in the matrix inequality with e = 0 refuses E = diag(0, 1), which
   conserves energy exactly; eliminating it after inverting does not (physics of docs/projection.md). */
TEST(bilateral_rows_raise_no_false_alarm) {
  kn_rng rng = kn_rng_seed(11);
  int alarms = 0;
  for (int i = 0; i < 200; i++) {
    double W[9], U[4], e3[3] = {0, 1, 1}, rho;
    compliance(W, &rng, 3, 4); /* row 0 is bilateral */
    for (int a = 0; a < 2; a++)
      for (int b = 0; b < 2; b++)
        U[2 * a + b] =
            W[3 * (a + 1) + b + 1] - W[3 * (a + 1)] * W[b + 1] / W[0]; /* Schur complement = Q_uu⁻¹ */
    CHECK_OK(kn_certify_rho(&rho, 3, W, e3));
    alarms += rho > 1 + 1e-9;
    CHECK_OK(kn_certify_rho(&rho, 2, U, e3 + 1));
    CHECK_NEAR(rho, 1, 1e-11);
  }
  printf("  with the bilateral row kept in: %d false alarms of 200\n", alarms);
  CHECK(alarms > 150);
}

/* Redundant contacts: the paper's inequality over all φ refuses what the range of A accepts. The same contact
   twice with different e has the mean of both and is always consistent. */
TEST(redundant_contacts_raise_no_false_alarm) {
  double W[4] = {2, 2, 2, 2}, e[2] = {1, 0}, rho;
  CHECK_OK(kn_certify_rho(&rho, 2, W, e));
  CHECK_NEAR(rho, 0.25, 1e-14); /* φ = (1, 1): E acts as its mean, ½ */
  /* over all φ: EQE - Q with Q = W⁺ = W/16·…; the vector (1, -1) gives positive */
  double Q = 2.0 / 16, phi[2] = {1, -1}, form = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) form += phi[i] * (e[i] * Q * e[j] - Q) * phi[j];
  CHECK(form > 0.1);
}

/* The field that says whether an approaching velocity gains, against random approaching velocities. */
TEST(approach_against_trials) {
  kn_rng rng = kn_rng_seed(21);
  int yes = 0, no = 0, missed = 0, false_yes = 0;
  for (int i = 0; i < 400 * kn_test_effort(); i++) {
    int k = 2 + i % 3, n = i % 5 == 0 ? k - 1 : k + 1;
    double W[K * K], e[K], near[K], best = -1;
    kn_energy_certificate c;
    static double memory[40000] __attribute__((aligned(64)));
    kn_certificate_work w;
    if (n < 1) n = 1;
    compliance(W, &rng, k, n);
    random_e(e, &rng, k);
    CHECK_OK(kn_certify(&c, near, k, W, e, KN_REPAIR_NEAREST));
    if (c.consistent) continue;
    if (!CHECK(kn_certificate_size(k) <= sizeof memory)) return;
    kn_certificate_init(&w, k, memory);
    kn_certificate_set(&w, k, W);
    for (int t = 0; t < 3000; t++) {
      double x[K], f[K], Qx[K], Qf[K], before = 0, after = 0;
      bool good = true;
      for (int j = 0; j < k; j++) x[j] = kn_rng_int(&rng, 3) ? -fabs(kn_rng_normal(&rng)) : 0.0;
      if (n < k) { /* stay in the range of W */
        double y[K] = {0};
        for (int j = 0; j < k; j++)
          for (int l = 0; l < k; l++) y[j] += W[j * k + l] * x[l];
        memcpy(x, y, sizeof x);
        for (int j = 0; j < k; j++) good &= x[j] <= 0;
      }
      if (!good) continue;
      for (int j = 0; j < k; j++) f[j] = e[j] * x[j];
      kn_certificate_Q(Qx, &w, x);
      kn_certificate_Q(Qf, &w, f);
      for (int j = 0; j < k; j++) before += x[j] * Qx[j], after += f[j] * Qf[j];
      if (before > 0) best = fmax(best, after / before - 1);
    }
    yes += c.approach == KN_APPROACH_YES;
    no += c.approach == KN_APPROACH_NO;
    missed += c.approach == KN_APPROACH_NO && best > 1e-9;
    if (c.approach != KN_APPROACH_YES) continue;
    double Qx[K], Qf[K], f[K], before = 0, after = 0;
    for (int j = 0; j < k; j++) f[j] = e[j] * c.approaching[j], false_yes += c.approaching[j] > 1e-12;
    kn_certificate_Q(Qx, &w, c.approaching);
    kn_certificate_Q(Qf, &w, f);
    for (int j = 0; j < k; j++) before += 0.5 * c.approaching[j] * Qx[j], after += 0.5 * f[j] * Qf[j];
    CHECK_REL(after - before, c.approaching_gain, 1e-9);
    false_yes += !(after > before);
  }
  printf("  %d with an approaching gainer, %d without, %d missed, %d false\n", yes, no, missed, false_yes);
  CHECK_INT(missed, 0);
  CHECK_INT(false_yes, 0);
  CHECK(yes > 20 && no > 20);
}

/* Of more contacts than are decided exactly a gainer that approaches is found or nothing is said: what is found gains as much as it says. */
TEST(many_contacts_are_decided_or_left_open) {
  enum { MANY = 14 };
  kn_rng rng = kn_rng_seed(22);
  static double memory[400000] __attribute__((aligned(64)));
  int yes = 0, open = 0;
  for (int i = 0; i < 200; i++) {
    double W[MANY * MANY], e[MANY], near[MANY], Qx[MANY], Qf[MANY], f[MANY], before = 0, after = 0;
    kn_energy_certificate c;
    kn_certificate_work w;
    compliance(W, &rng, MANY, MANY + 1);
    for (int j = 0; i % 2 && j < MANY * MANY; j++)
      W[j] = (j % (MANY + 1) ? 0.9 : 1.0) + 0.02 * (j % (MANY + 1) == 0) * (j / MANY); /* one body, nearly */
    random_e(e, &rng, MANY);
    CHECK_OK(kn_certify(&c, near, MANY, W, e, KN_REPAIR_NEAREST));
    CHECK(c.approach != KN_APPROACH_NO || c.consistent);
    open += c.approach == KN_APPROACH_UNDECIDED;
    if (c.consistent || c.approach != KN_APPROACH_YES) continue;
    if (!CHECK(kn_certificate_size(MANY) <= sizeof memory)) return;
    kn_certificate_init(&w, MANY, memory);
    kn_certificate_set(&w, MANY, W);
    for (int j = 0; j < MANY; j++) f[j] = e[j] * c.approaching[j], CHECK(c.approaching[j] <= 1e-12);
    kn_certificate_Q(Qx, &w, c.approaching);
    kn_certificate_Q(Qf, &w, f);
    for (int j = 0; j < MANY; j++) before += 0.5 * c.approaching[j] * Qx[j], after += 0.5 * f[j] * Qf[j];
    CHECK(after > before);
    yes++;
  }
  printf("  %d with an approaching gainer, %d left open\n", yes, open);
  CHECK(open > 0);
}

TEST(bad_certificates_get_a_status) {
  double W[4] = {1, 0, 0, 1}, rho;
  CHECK_STATUS(kn_certify_rho(&rho, 2, W, (double[]){0.5, 1.5}), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "restitution 2 is 1.5");
  CHECK_STATUS(kn_certify_rho(&rho, 0, W, W), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_certify_rho(&rho, KN_CERTIFY_CONTACTS + 1, W, W), KN_NO_ROOM);
  W[0] = NAN;
  CHECK_STATUS(kn_certify_rho(&rho, 2, W, (double[]){0.5, 0.5}), KN_NOT_FINITE);
  CHECK_STATUS(kn_certify_rod(W, 1, (double[]){0.7}), KN_BAD_ARGUMENT);
}
