/* Energetic restitution at one contact: closed forms in the plane, a brute-force integration that shares
   nothing with the law, and the energy balance. */
#include "law/stronge.h"

#include <math.h>

#include "base/rng.h"
#include "test.h"

/* L = Gᵀ G of a random 3 x n G: rank n. */
static void compliance(double L[9], kn_rng* rng, int n) {
  double G[9];
  for (int i = 0; i < 9; i++) G[i] = i < 3 * n ? kn_rng_normal(rng) : 0.0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      L[3 * i + j] = 0.0;
      for (int k = 0; k < 3; k++) L[3 * i + j] += G[3 * k + i] * G[3 * k + j];
    }
}

static void approach(double u[3], kn_rng* rng) {
  for (int k = 0; k < 3; k++) u[k] = kn_rng_normal(rng);
  u[0] = -fabs(u[0]);
}

/* ΔK = pᵀ u + ½ pᵀ L p. */
static double energy(const double L[9], const double u[3], const double p[3]) {
  double k = 0.0;
  for (int i = 0; i < 3; i++) {
    k += p[i] * u[i];
    for (int j = 0; j < 3; j++) k += 0.5 * p[i] * L[3 * i + j] * p[j];
  }
  return k;
}

TEST(without_friction_it_is_newtons_law) {
  kn_rng rng = kn_rng_seed(1);
  for (int i = 0; i < 1000; i++) {
    double L[9], u[3], e = kn_rng_unit(&rng);
    kn_stronge s;
    compliance(L, &rng, 3);
    approach(u, &rng);
    kn_stronge_impact(&s, L, u, 0.0, e);
    CHECK_REL(s.p[0], -(1 + e) * u[0] / L[0], 1e-14);
    CHECK_REL(s.compression, -u[0] / L[0], 1e-14);
    CHECK(s.p[1] == 0.0 && s.p[2] == 0.0);
  }
}

/* L_nt = 0: normal and tangential do not mix. A sphere (L_tt = 7/2 / m) sliding at w stops when
   mu p = 2 w m / 7, before or after compression ends, and then sticks. */
TEST(sphere_slides_or_stops) {
  static const double m = 2.0, e = 0.5, L[9] = {0.5, 0, 0, 0, 1.75, 0, 0, 0, 1.75};
  kn_stronge s;
  kn_stronge_impact(&s, L, (double[]){-3, 10, 0}, 0.1, e); /* slides all through */
  CHECK_REL(s.p[0], 3 * m * (1 + e), 1e-14);
  CHECK_REL(s.p[1], -0.1 * 3 * m * (1 + e), 1e-14);
  kn_stronge_impact(&s, L, (double[]){-3, 0.6, 0.8}, 0.5, e); /* stops in compression: p = 2/7 m w / mu < 6 */
  CHECK_REL(s.p[0], 3 * m * (1 + e), 1e-14);
  CHECK_REL(s.p[1], -0.6 / 1.75, 1e-12); /* stops at 1e-12 of the speed */
  CHECK_REL(s.p[2], -0.8 / 1.75, 1e-12);
}

/* Planar, slip that stops in compression and reverses. L_nn = a, L_nt = b, L_tt = c:
     slip w > 0:   du_n = a - mu b, du_t = b - mu c, stops at p1 = w / (mu c - b)
     reversed:     du_n = a + mu b, du_t = b + mu c < 0 (needs -b > mu c)
   u_n(p1) = u0 + (a - mu b) p1 < 0;  p2 = p1 - u_n(p1) / (a + mu b);
   W_c = ∫ u_n dp by triangles and trapezia;  ½ (a + mu b) p3² = e² W_c. */
TEST(slip_reverses_in_compression) {
  const double a = 3.0, b = -1.0, c = 1.0, mu = 0.5, w = 0.6, u0 = -2.0, e = 0.7;
  const double L[9] = {a, b, 0, b, c, 0, 0, 0, 1};
  double p1 = w / (mu * c - b), u1 = u0 + (a - mu * b) * p1, p2 = p1 - u1 / (a + mu * b);
  double work = -0.5 * (u0 + u1) * p1 - 0.5 * u1 * (p2 - p1), p3 = e * sqrt(2 * work / (a + mu * b));
  kn_stronge s;
  kn_stronge_impact(&s, L, (double[]){u0, w, 0}, mu, e);
  CHECK(u1 < 0);
  CHECK_REL(s.compression, p2, 1e-11);
  CHECK_REL(s.work_in, work, 1e-11);
  CHECK_REL(s.p[0], p2 + p3, 1e-11);
  CHECK_REL(s.p[1], -mu * p1 + mu * (p2 - p1 + p3), 1e-11); /* slip < 0 is pushed forward */
}

/* Planar, slip that stops in restitution and sticks: du_n changes from a - mu b to a - b²/c at p_s. Newton's
   and Poisson's e would be different numbers here. */
TEST(slip_stops_in_restitution) {
  const double a = 2.0, b = 0.5, c = 1.0, mu = 0.8, u0 = -1.0, w = 0.25, e = 0.9;
  const double L[9] = {a, 0, b, 0, 1, 0, b, 0, c}; /* second tangent */
  double f = a - mu * b, p1 = -u0 / f, ps = w / (mu * c - b), us = u0 + f * ps, g = a - b * b / c;
  double left = e * e * 0.5 * p1 * -u0 - 0.5 * us * (ps - p1);
  double p3 = (-us + sqrt(us * us + 2 * g * left)) / g;
  kn_stronge s;
  kn_stronge_impact(&s, L, (double[]){u0, 0, w}, mu, e);
  CHECK(ps > p1 && left > 0);
  CHECK_REL(s.p[0], ps + p3, 1e-11);
  CHECK_REL(s.p[2], -mu * ps - b / c * p3, 1e-11);
}

/* Slip so steep that friction presses the bodies together first: du_n < 0 until slip stops. */
TEST(jam_ends_when_slip_stops) {
  const double a = 1.0, b = 1.0, c = 1.5, mu = 2.0, u0 = -1.0, w = 1.0;
  const double L[9] = {a, b, 0, b, c, 0, 0, 0, 1};
  double p1 = w / (mu * c - b), u1 = u0 + (a - mu * b) * p1, p2 = p1 - u1 / (a - b * b / c);
  kn_stronge s;
  kn_stronge_impact(&s, L, (double[]){u0, w, 0}, mu, 0.0);
  CHECK(u1 < u0);
  CHECK_REL(s.p[0], p2, 1e-11);
  CHECK_REL(s.p[1], -mu * p1 - b / c * (p2 - p1), 1e-11);
}

/* Euler's method with a friction law smoothed at 1e-5 m/s: wrong by its step and by the smoothing only. */
static void brute(double p[3], const double L[9], const double u0[3], double mu, double e, double dp) {
  double u[3] = {u0[0], u0[1], u0[2]}, in = 0.0, out = 0.0;
  p[0] = p[1] = p[2] = 0.0;
  for (long k = 0; k < 4000000 && !(u[0] >= 0.0 && out >= e * e * in); k++) {
    double r = sqrt(u[1] * u[1] + u[2] * u[2] + 1e-10), d[3] = {dp, -mu * u[1] / r * dp, -mu * u[2] / r * dp};
    if (u[0] < 0.0)
      in -= u[0] * dp;
    else
      out += u[0] * dp;
    for (int i = 0; i < 3; i++) {
      p[i] += d[i];
      for (int j = 0; j < 3; j++) u[i] += L[3 * i + j] * d[j];
    }
  }
}

TEST(agrees_with_brute_force) {
  kn_rng rng = kn_rng_seed(5);
  double worst = 0.0;
  int seen = 0;
  for (int i = 0; seen < 30; i++) {
    double L[9], u[3], p[3], mu = kn_rng_range(&rng, 0.1, 1.0), e = kn_rng_unit(&rng);
    kn_stronge s;
    compliance(L, &rng, 3);
    for (int k = 0; k < 9; k++) L[k] += k % 4 == 0 ? 0.3 : 0.0;
    for (int k = 0; k < 3; k++) u[k] = kn_rng_normal(&rng);
    u[0] = -0.3 - fabs(u[0]);
    kn_stronge_impact(&s, L, u, mu, e);
    if (s.p[0] > 4.0) continue; /* long impacts take brute force too long */
    seen++;
    brute(p, L, u, mu, e, 2e-6);
    for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(p[k] - s.p[k]));
  }
  printf("  largest difference %.2g N s\n", worst);
  CHECK_BELOW(worst, 2e-4); /* smoothing 1e-5 m/s and the end of restitution, sqrt of dp */
}

TEST(no_energy_is_gained_and_the_work_ratio_is_e_squared) {
  kn_rng rng = kn_rng_seed(9);
  double gain = -INFINITY, excess = -INFINITY, ratio = 0.0, cone = 0.0;
  int locked = 0, most = 0;
  for (int i = 0; i < 100000 * kn_test_effort(); i++) {
    double L[9], u[3], p[3] = {0}, mu = kn_rng_range(&rng, 0, 2), e = kn_rng_unit(&rng);
    kn_stronge s;
    compliance(L, &rng, i % 10 == 0 ? 1 : i % 10 == 1 ? 2 : 3); /* links with few freedoms too */
    for (int k = 0; k < 3; k++) p[k] = kn_rng_normal(&rng);
    for (int k = 0; k < 3; k++) u[k] = L[3 * k] * p[0] + L[3 * k + 1] * p[1] + L[3 * k + 2] * p[2];
    if (u[0] > 0)
      for (int k = 0; k < 3; k++) u[k] = -u[k];
    kn_stronge_impact(&s, L, u, mu, e);
    double before = 0.5 * fabs(p[0] * u[0] + p[1] * u[1] + p[2] * u[2]); /* K in the contact's motion */
    if (!CHECK(isfinite(s.p[0]) && isfinite(s.p[1]) && isfinite(s.p[2]))) break;
    gain = fmax(gain, energy(L, u, s.p) / before);
    excess = fmax(excess, (energy(L, u, s.p) + (1 - e * e) * s.work_in) / before);
    cone = fmax(cone, sqrt(s.p[1] * s.p[1] + s.p[2] * s.p[2]) - mu * s.p[0]);
    locked += s.locked;
    if (s.steps > most) most = s.steps;
    if (!s.locked) ratio = fmax(ratio, fabs(s.work_out / s.work_in - e * e));
  }
  printf("  above -(1 - e²) W: %.2g of K\n", excess);
  printf("  largest gain %.2g of K, |work ratio - e²| %.2g, outside the cone %.2g, %d locked, %d steps at "
         "most\n",
         gain, ratio, cone, locked, most);
  CHECK_BELOW(gain, 1e-10);   /* the work balance holds to rounding; slip of 1e-12 is taken as none */
  CHECK_BELOW(excess, 1e-10); /* at least (1 - e²) of the normal work is lost, friction takes the rest */
  CHECK_BELOW(ratio, 1e-9);
  CHECK_BELOW(cone, 1e-9);
}

/* The result does not depend on how the tangential axes are chosen. */
TEST(turning_the_axes_turns_the_impulse) {
  kn_rng rng = kn_rng_seed(11);
  const double c = 0.6, s = 0.8;
  for (int i = 0; i < 200; i++) {
    double L[9], T[9], u[3], mu = kn_rng_range(&rng, 0, 1);
    kn_stronge x, y;
    compliance(L, &rng, 3);
    approach(u, &rng);
    const double R[9] = {1, 0, 0, 0, c, s, 0, -s, c};
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        T[3 * a + b] = 0;
        for (int j = 0; j < 9; j++) T[3 * a + b] += R[3 * a + j / 3] * L[j] * R[3 * b + j % 3];
      }
    kn_stronge_impact(&x, L, u, mu, 0.5);
    kn_stronge_impact(&y, T, (double[]){u[0], c * u[1] + s * u[2], c * u[2] - s * u[1]}, mu, 0.5);
    double scale = fabs(x.p[0]) + 1;
    CHECK_NEAR(y.p[0] / scale, x.p[0] / scale, 1e-8);
    CHECK_NEAR(y.p[1] / scale, (c * x.p[1] + s * x.p[2]) / scale, 1e-8);
  }
}

/* Infinite friction stops the slip at once and keeps it so: p_t = -L_tt⁻¹ (u_t + L_tn p_n), and the normal motion is that of one
   dimension with a = L_nn - L_nt L_tt⁻¹ L_tn and w = u_n - L_nt L_tt⁻¹ u_t: p_n = -(1 + e) w / a where that still approaches. */
TEST(friction_without_bound_sticks) {
  kn_rng rng = kn_rng_seed(31);
  int separate = 0;
  for (int i = 0; i < 1000; i++) {
    double L[9], u[3], e = kn_rng_unit(&rng);
    kn_stronge s;
    compliance(L, &rng, 3);
    approach(u, &rng);
    double det = L[4] * L[8] - L[5] * L[7];
    if (!(det > 1e-2 * L[4] * L[8])) continue; /* digits are lost with the condition of L_tt */
    double x[2] = {(L[8] * L[3] - L[5] * L[6]) / det, (L[4] * L[6] - L[7] * L[3]) / det}; /* L_tt⁻¹ L_tn */
    double y[2] = {(L[8] * u[1] - L[5] * u[2]) / det, (L[4] * u[2] - L[7] * u[1]) / det};
    double a = L[0] - L[1] * x[0] - L[2] * x[1], un = u[0] - L[1] * y[0] - L[2] * y[1];
    if (!(a > 1e-3 * L[0])) continue;
    double p = un < 0.0 ? -(1.0 + e) * un / a : 0.0;
    separate += un >= 0.0;
    kn_stronge_impact(&s, L, u, INFINITY, e);
    CHECK_NEAR(s.p[0], p, 1e-8 * (fabs(un) / a + 1.0));
    for (int k = 0; k < 2; k++)
      CHECK_NEAR(s.p[1 + k], -y[k] - x[k] * p, 1e-8 * (fabs(y[k]) + fabs(x[k] * p) + 1.0));
  }
  CHECK(separate > 10);
}
