/* Smooth integrators: observed orders against the adaptive one, energy and momentum kept, the long pendulum.
 */
#include "trees.h"

/* A floating tree with ball, slide and hinge joints, no gravity; or a hanging one with gravity and springs.
 */
static kn_model* test_tree(bool floating) {
  kn_rng rng = kn_rng_seed(31);
  tree_options o = {.bodies = 6,
                    .branch = 0.4,
                    .floating = floating,
                    .gravity = !floating,
                    .stiffness = floating ? 0.0 : 5.0};
  return random_tree(&rng, &o);
}

static void start(const kn_model* m, kn_state* s) {
  kn_rng rng = kn_rng_seed(32);
  CHECK_OK(kn_state_reset(s));
  for (int j = 0; j < kn_model_nv(m); j++) kn_state_v(s)[j] = kn_rng_range(&rng, -1.5, 1.5);
}

static void run(kn_state* s, const kn_model* m, kn_data* d, kn_integrator method, double dt, double T) {
  kn_integrate_settings set = kn_integrate_default();
  set.method = method, set.rtol = 1e-12, set.atol = 1e-14, set.iterations = 12;
  int steps = (int)floor(T / dt + 0.5);
  for (int i = 0; i < steps; i++)
    if (!CHECK_OK(kn_integrate_smooth(s, m, d, dt, &set, NULL, NULL))) return;
}

TEST(observed_orders) {
  static const struct {
    kn_integrator method;
    const char* name;
    double order, dt;
  } row[] = {{KN_INTEGRATE_EULER, "semi-implicit Euler", 1, 1e-3},
             {KN_INTEGRATE_RK4, "RK4", 4, 2e-2},
             {KN_INTEGRATE_MIDPOINT, "midpoint", 2, 5e-3}};
  for (int floating = 0; floating < 2; floating++) {
    kn_model* m = test_tree(floating);
    kn_state *s, *ref;
    kn_data* d;
    CHECK_OK(kn_state_create(&s, m)), CHECK_OK(kn_state_create(&ref, m)), CHECK_OK(kn_data_create(&d, m));
    int nv = kn_model_nv(m);
    double T = 0.4, *diff = calloc((size_t)nv, 8);
    start(m, ref), run(ref, m, d, KN_INTEGRATE_ADAPTIVE, T, T);
    for (int i = 0; i < 3; i++) {
      double err[3];
      for (int k = 0; k < 3; k++) {
        start(m, s), run(s, m, d, row[i].method, row[i].dt / (1 << k), T);
        CHECK_NEAR(kn_state_time(s), T, 1e-12);
        CHECK_OK(kn_difference(diff, m, kn_state_q(ref), kn_state_q(s)));
        err[k] = max_abs(diff, nv) + max_diff(kn_state_v(ref), kn_state_v(s), nv);
      }
      double order = log2(err[1] / err[2]);
      printf("  %s, %s tree: errors %.2e %.2e %.2e, order %.3f\n", row[i].name,
             floating ? "floating" : "hanging", err[0], err[1], err[2], order);
      CHECK_NEAR(order, row[i].order, 0.25); /* not yet asymptotic */
    }
    free(diff);
    kn_data_destroy(d), kn_state_destroy(s), kn_state_destroy(ref), kn_model_destroy(m);
  }
}

TEST(energy_and_momentum_drift_at_the_order_of_the_method) {
  static const struct {
    kn_integrator method;
    const char* name;
    double least_energy, least_momentum; /* orders */
  } row[] = {{KN_INTEGRATE_EULER, "semi-implicit Euler", 0.8, 0.8},
             {KN_INTEGRATE_RK4, "RK4", 3.7, 3.7},
             {KN_INTEGRATE_MIDPOINT, "midpoint", 0, 1.8}};
  kn_model* m = test_tree(true);
  kn_state* s;
  kn_data* d;
  CHECK_OK(kn_state_create(&s, m)), CHECK_OK(kn_data_create(&d, m));
  for (int i = 0; i < 3; i++) {
    double dE[2], dP[2];
    for (int k = 0; k < 2; k++) {
      kn_energy e0, e;
      double P0[3], L0[3], c[3], P[3], L[3];
      start(m, s);
      CHECK_OK(kn_energy_of(&e0, m, s, d)), CHECK_OK(kn_momentum(P0, L0, c, m, s, d));
      run(s, m, d, row[i].method, k ? 5e-3 : 1e-2, 1.0);
      CHECK_OK(kn_energy_of(&e, m, s, d)), CHECK_OK(kn_momentum(P, L, c, m, s, d));
      dE[k] = fabs(e.kinetic - e0.kinetic) / e0.kinetic;
      dP[k] = max_diff(P, P0, 3) + max_diff(L, L0, 3);
    }
    double oe = log2(dE[0] / dE[1]), op = log2(dP[0] / dP[1]);
    printf("  %s: energy %.2e -> %.2e (order %.2f), momentum %.2e -> %.2e (order %.2f)\n", row[i].name, dE[0],
           dE[1], oe, dP[0], dP[1], op);
    if (row[i].least_energy > 0)
      CHECK(oe >= row[i].least_energy);
    else
      CHECK(dE[0] <= 1e-12 && dE[1] <= 1e-12); /* kept to round-off, at any step */
    CHECK(op >= row[i].least_momentum);
  }
  kn_data_destroy(d), kn_state_destroy(s), kn_model_destroy(m);
}

static kn_model* pendulum(int n) {
  kn_spec* spec;
  kn_model* m;
  double len = 12.0 / n, r = 6.0 / n;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < n; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    b.parent = i - 1, b.pos[2] = i ? -len : 0.0, b.mass = 1.0, b.com[2] = -len / 2;
    for (int k = 0; k < 3; k++) b.inertia[k] = 0.4 * r * r;
    j.axis[0] = 0, j.axis[1] = 1, j.axis[2] = 0;
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    kn_joint id;
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
  }
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  return m;
}

static int evaluations;
static void count_calls(double* tau, double t, const double* q, const double* v, void* context) {
  (void)tau, (void)t, (void)q, (void)v, (void)context;
  evaluations++;
}

/* 12 m in all, straight, at rest, pi/4 from the vertical, 1 ms; gain relative to V0 - V_min. */
TEST(long_pendulum_keeps_its_energy) {
  int seconds = kn_test_effort() > 1 ? 60 : 20;
  for (int n = 60; n <= 120; n += 60) {
    kn_model* m = pendulum(n);
    kn_state* s;
    kn_data* d;
    kn_energy e, e0, low;
    CHECK_OK(kn_state_create(&s, m)), CHECK_OK(kn_data_create(&d, m));
    CHECK_OK(kn_energy_of(&low, m, s, d));
    kn_state_q(s)[0] = 0.78539816339744831;
    CHECK_OK(kn_energy_of(&e0, m, s, d));
    kn_integrate_settings set = kn_integrate_default();
    set.method = KN_INTEGRATE_MIDPOINT;
    double gain = 0, loss = 0, ref = e0.potential - low.potential;
    evaluations = 0;
    for (int i = 0; i < 1000 * seconds; i++) {
      if (!CHECK_OK(kn_integrate_smooth(s, m, d, 1e-3, &set, count_calls, NULL))) break;
      if (i % 20) continue;
      CHECK_OK(kn_energy_of(&e, m, s, d));
      double g = (e.kinetic + e.potential - e0.potential) / ref;
      gain = fmax(gain, g), loss = fmin(loss, g);
    }
    double per_step = evaluations / (1000.0 * seconds);
    printf("  %d links, %d s: gain %.2e, loss %.2e, %.2f evaluations a step\n", n, seconds, gain, -loss,
           per_step);
    CHECK(gain <= 1e-5 && loss >= -1e-5);
    CHECK(per_step <= 4.0);
    kn_data_destroy(d), kn_state_destroy(s), kn_model_destroy(m);
  }
}

/* Free rigid body: angular momentum in closed form is constant; a symmetric top precesses at L / I1. */
TEST(symmetric_top_precesses) {
  kn_spec* spec;
  kn_model* m;
  double zero[3] = {0, 0, 0};
  CHECK_OK(kn_spec_create(&spec));
  CHECK_OK(kn_spec_set_gravity(spec, zero));
  kn_body_def b = kn_body_default();
  b.mass = 2, b.inertia[0] = b.inertia[1] = 0.3, b.inertia[2] = 0.5;
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  kn_joint id;
  CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
  CHECK_OK(kn_spec_add_joint(&id, spec, &j));
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  kn_state* s;
  kn_data* d;
  CHECK_OK(kn_state_create(&s, m)), CHECK_OK(kn_data_create(&d, m));
  double* v = kn_state_v(s);
  v[3] = 0.8, v[4] = 0.0, v[5] = 2.0;
  double L0[3], P[3], c[3], T = 3.0;
  CHECK_OK(kn_momentum(P, L0, c, m, s, d));
  run(s, m, d, KN_INTEGRATE_ADAPTIVE, 0.1, T);
  /* body axes: w1 + i w2 turns at (I3 - I1)/I1 w3 */
  double rate = (0.5 - 0.3) / 0.3 * 2.0;
  CHECK_NEAR(v[3], 0.8 * cos(rate * T), 1e-9);
  CHECK_NEAR(v[4], 0.8 * sin(rate * T), 1e-9);
  CHECK_NEAR(v[5], 2.0, 1e-9);
  double L[3];
  CHECK_OK(kn_momentum(P, L, c, m, s, d));
  CHECK_ARRAY(L, L0, 3, 1e-9);
  kn_data_destroy(d), kn_state_destroy(s), kn_model_destroy(m);
}
