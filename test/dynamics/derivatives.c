/* Analytic against finite differences: Jacobians, bias accelerations, energy and its gradient, power balance,
   momentum, springs, gravity compensation, actuators, and the manifold operations. */
#include "dynamics/tree/dynamics.h"
#include "spatial/spatial.h"
#include "trees.h"

typedef struct setup {
  kn_model* m;
  kn_state *s, *p;
  kn_data *d, *e;
  int nv, nq;
  double *a, *b, *c;
} setup;

static setup open_setup(kn_model* m) {
  setup t = {.m = m, .nv = kn_model_nv(m), .nq = kn_model_nq(m)};
  CHECK_OK(kn_state_create(&t.s, m));
  CHECK_OK(kn_state_create(&t.p, m));
  CHECK_OK(kn_data_create(&t.d, m));
  CHECK_OK(kn_data_create(&t.e, m));
  size_t n = (size_t)t.nv + 1;
  t.a = calloc(n, 8), t.b = calloc(n, 8), t.c = calloc(n, 8);
  return t;
}
static void close_setup(setup* t) {
  free(t->a), free(t->b), free(t->c);
  kn_data_destroy(t->d), kn_data_destroy(t->e);
  kn_state_destroy(t->s), kn_state_destroy(t->p), kn_model_destroy(t->m);
}

static kn_model* some_tree(kn_rng* rng, int i, bool gravity, double stiffness) {
  tree_options o = {.bodies = 1 + kn_rng_int(rng, 12),
                    .branch = 0.4,
                    .forest = 0.1,
                    .floating = i % 2 == 0,
                    .armature = i % 3 ? 0.0 : 0.2,
                    .stiffness = stiffness,
                    .gravity = gravity};
  return random_tree(rng, &o);
}

/* p = s moved by h along v (position), velocity kept. */
static void move(setup* t, const double* v, double h) {
  kn_state_copy(t->p, t->s);
  kn_integrate(kn_state_q(t->p), t->m, kn_state_q(t->s), v, h);
}

TEST(jacobian_is_the_derivative_of_the_pose) {
  kn_rng rng = kn_rng_seed(21);
  for (int i = 0; i < 60; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 0));
    if (t.nv == 0) {
      close_setup(&t);
      continue;
    }
    random_state(&rng, t.m, t.s, 2.0);
    kn_body body = kn_rng_int(&rng, kn_model_bodies(t.m));
    double local[3] = {0.3, -0.2, 0.5}, point[3], vel[6], *J = calloc((size_t)(6 * t.nv), 8);
    kn_pose T, Tp, Tm;
    CHECK_OK(kn_kinematics(t.m, t.s, t.d));
    CHECK_OK(kn_body_pose(&T, t.m, t.d, body));
    kn_pose_apply(point, &T, local);
    CHECK_OK(kn_jacobian(J, t.m, t.d, body, point));
    CHECK_OK(kn_body_velocity(vel, t.m, t.d, body, point));
    const double h = 1e-5; /* error h² times third derivatives of order 10, round-off 1e-16/h */
    for (int j = 0; j < t.nv; j++) {
      double pp[3], pm[3], dR[9], w[3];
      memset(t.a, 0, sizeof(double) * (size_t)t.nv), t.a[j] = 1.0;
      move(&t, t.a, h), kn_kinematics(t.m, t.p, t.e), kn_body_pose(&Tp, t.m, t.e, body);
      move(&t, t.a, -h), kn_kinematics(t.m, t.p, t.e), kn_body_pose(&Tm, t.m, t.e, body);
      kn_pose_apply(pp, &Tp, local), kn_pose_apply(pm, &Tm, local);
      kn_mul33t(dR, Tp.R, Tm.R); /* exp(2 h w) */
      w[0] = dR[7] - dR[5], w[1] = dR[2] - dR[6], w[2] = dR[3] - dR[1];
      for (int k = 0; k < 3; k++) {
        CHECK_NEAR(J[k * t.nv + j], w[k] / (4 * h), 1e-8);
        CHECK_NEAR(J[(3 + k) * t.nv + j], (pp[k] - pm[k]) / (2 * h), 1e-8);
      }
    }
    for (int k = 0; k < 6; k++) {
      double s = 0;
      for (int j = 0; j < t.nv; j++) s += J[k * t.nv + j] * kn_state_v(t.s)[j];
      CHECK_NEAR(vel[k], s, 1e-12 * (1 + fabs(s)));
    }
    free(J);
    close_setup(&t);
  }
}

TEST(bias_acceleration_is_the_derivative_of_the_velocity) {
  kn_rng rng = kn_rng_seed(22);
  for (int i = 0; i < 80; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 0));
    random_state(&rng, t.m, t.s, 1.0);
    kn_body body = kn_rng_int(&rng, kn_model_bodies(t.m));
    double local[3] = {0.3, -0.2, 0.5}, point[3], vp[6], vm[6], bias[6];
    kn_pose T;
    CHECK_OK(kn_kinematics(t.m, t.s, t.d));
    CHECK_OK(kn_body_pose(&T, t.m, t.d, body));
    kn_pose_apply(point, &T, local);
    CHECK_OK(kn_jacobian_bias(bias, t.m, t.d, body, point));
    const double h = 1e-5;
    for (int side = 0; side < 2; side++) {
      double x[3];
      move(&t, kn_state_v(t.s), side ? -h : h);
      kn_kinematics(t.m, t.p, t.e), kn_body_pose(&T, t.m, t.e, body);
      kn_pose_apply(x, &T, local);
      kn_body_velocity(side ? vm : vp, t.m, t.e, body, x);
    }
    for (int k = 0; k < 6; k++) CHECK_NEAR(bias[k], (vp[k] - vm[k]) / (2 * h), 2e-7 * (1 + max_abs(bias, 6)));
    int link = t.m->place[body].link;
    kn_row_block lin = {.link_a = link, .link_b = -1, .rows = 3, .dir = {{1}, {0, 1}, {0, 0, 1}}}, ang = lin;
    kn_copy3(lin.point, point), ang.angular = 1;
    double rl[3], ra[3];
    kn_rows_bias(rl, t.d, t.m, &lin, 1, kn_state_v(t.s));
    kn_rows_bias(ra, t.d, t.m, &ang, 1, kn_state_v(t.s));
    CHECK_ARRAY(ra, bias, 3, 1e-14);
    CHECK_ARRAY(rl, bias + 3, 3, 1e-13);
    close_setup(&t);
  }
}

TEST(kinetic_energy_is_half_v_M_v_and_gravity_is_the_gradient) {
  kn_rng rng = kn_rng_seed(23);
  for (int i = 0; i < 60; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 0));
    random_state(&rng, t.m, t.s, 2.0);
    kn_energy e, ep, em;
    CHECK_OK(kn_energy_of(&e, t.m, t.s, t.d));
    CHECK_OK(kn_kinematics(t.m, t.s, t.d));
    kn_dyn_multiply(t.a, t.d, t.m, kn_state_v(t.s));
    double K = 0;
    for (int j = 0; j < t.nv; j++) K += 0.5 * t.a[j] * kn_state_v(t.s)[j];
    CHECK_NEAR(e.kinetic, K, 1e-12 * (1 + K));
    memset(kn_state_v(t.s), 0, sizeof(double) * (size_t)t.nv);
    CHECK_OK(kn_bias_force(t.b, t.m, t.s, t.d));
    for (int j = 0; j < t.nv; j++) {
      memset(t.a, 0, sizeof(double) * (size_t)t.nv), t.a[j] = 1.0;
      move(&t, t.a, 1e-5), kn_energy_of(&ep, t.m, t.p, t.e);
      move(&t, t.a, -1e-5), kn_energy_of(&em, t.m, t.p, t.e);
      CHECK_NEAR(t.b[j], (ep.potential - em.potential) / 2e-5, 1e-7 * (1 + fabs(e.potential)));
    }
    close_setup(&t);
  }
}

/* dE/dt = v.(tau - D v) along the motion; E includes springs. */
TEST(power_balance) {
  kn_rng rng = kn_rng_seed(24);
  for (int i = 0; i < 80; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 20.0));
    random_state(&rng, t.m, t.s, 1.5);
    double power = 0, *v = kn_state_v(t.s), h = 1e-5;
    for (int j = 0; j < t.nv; j++) t.a[j] = kn_rng_range(&rng, -3, 3), power += t.a[j] * v[j];
    CHECK_OK(kn_passive_force(t.b, t.m, t.s, t.d));
    for (int j = 0; j < t.nv; j++) t.b[j] += t.a[j];
    CHECK_OK(kn_forward_dynamics(t.c, t.m, t.s, t.d, t.b));
    kn_energy e[2];
    for (int side = 0; side < 2;
         side++) { /* q and v to first order: the energy's first derivative is exact */
      double k = side ? -h : h;
      move(&t, v, k);
      for (int j = 0; j < t.nv; j++) kn_state_v(t.p)[j] = v[j] + k * t.c[j];
      CHECK_OK(kn_energy_of(&e[side], t.m, t.p, t.e));
    }
    double dE = 0;
    dE += e[0].kinetic - e[1].kinetic;
    dE += e[0].potential - e[1].potential;
    dE += e[0].spring - e[1].spring;
    double size = 1 + fabs(e[0].kinetic) + fabs(e[0].potential) + fabs(e[0].spring) + fabs(power);
    double rate = max_abs(t.c, t.nv);
    CHECK_NEAR(dE / (2 * h), power, 1e-8 * size * (1 + rate) + 1e-9 * rate * rate * rate);
    close_setup(&t);
  }
}

TEST(momentum_of_a_floating_tree_is_kept) {
  kn_rng rng = kn_rng_seed(25);
  for (int i = 0; i < 60; i++) {
    tree_options o = {.bodies = 1 + kn_rng_int(&rng, 10), .branch = 0.5, .floating = true};
    setup t = open_setup(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 1.0);
    double *v = kn_state_v(t.s), P[2][3], L[2][3], c[2][3], P0[3], L0[3], c0[3];
    CHECK_OK(kn_forward_dynamics(t.a, t.m, t.s, t.d, NULL));
    CHECK_OK(kn_momentum(P0, L0, c0, t.m, t.s, t.d));
    double h = 1e-5;
    for (int side = 0; side < 2; side++) {
      double k = side ? -h : h;
      move(&t, v, k);
      for (int j = 0; j < t.nv; j++) kn_state_v(t.p)[j] = v[j] + k * t.a[j];
      CHECK_OK(kn_momentum(P[side], L[side], c[side], t.m, t.p, t.e));
    }
    double tol = 1e-8 * (1 + max_abs(t.a, t.nv)) * (1 + max_abs(L0, 3) + max_abs(P0, 3));
    for (int k = 0; k < 3; k++) {
      CHECK_NEAR((P[0][k] - P[1][k]) / (2 * h), 0.0, tol);
      CHECK_NEAR((L[0][k] - L[1][k]) / (2 * h), 0.0, tol);
      CHECK_NEAR((c[0][k] - c[1][k]) / (2 * h) * kn_model_mass(t.m), P0[k], tol);
    }
    close_setup(&t);
  }
}

TEST(springs_are_gradients) {
  kn_rng rng = kn_rng_seed(26);
  for (int i = 0; i < 60; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 20.0));
    random_state(&rng, t.m, t.s, 1.0);
    memset(kn_state_v(t.s), 0, sizeof(double) * (size_t)t.nv);
    CHECK_OK(kn_passive_force(t.b, t.m, t.s, t.d));
    for (int j = 0; j < t.nv; j++) {
      kn_energy ep, em;
      memset(t.a, 0, sizeof(double) * (size_t)t.nv), t.a[j] = 1.0;
      move(&t, t.a, 1e-5), kn_energy_of(&ep, t.m, t.p, t.e);
      move(&t, t.a, -1e-5), kn_energy_of(&em, t.m, t.p, t.e);
      CHECK_NEAR(-t.b[j], (ep.spring - em.spring) / 2e-5, 1e-7 * (1 + ep.spring));
    }
    close_setup(&t);
  }
}

TEST(full_gravity_compensation_cancels_the_weight) {
  kn_rng rng = kn_rng_seed(27);
  kn_spec* spec;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < 6; i++) {
    kn_body_def b = kn_body_default();
    kn_body id;
    b.parent = i - 1, b.gravcomp = 1.0, b.pos[0] = 0.3;
    random_inertia(&rng, &b);
    CHECK_OK(kn_spec_add_body(&id, spec, &b));
    tree_options o = {0};
    add_random_joint(&rng, spec, id, i == 0 ? KN_JOINT_FREE : i == 2 ? KN_JOINT_BALL : KN_JOINT_HINGE, &o);
  }
  kn_model* m;
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  setup t = open_setup(m);
  random_state(&rng, m, t.s, 0.0);
  kn_energy e;
  CHECK_OK(kn_bias_force(t.a, m, t.s, t.d));
  CHECK_OK(kn_passive_force(t.b, m, t.s, t.d));
  CHECK(max_abs(t.a, t.nv) > 1.0);
  CHECK_ARRAY(t.b, t.a, (size_t)t.nv, 1e-13);
  CHECK_OK(kn_energy_of(&e, m, t.s, t.d));
  CHECK_NEAR(e.potential, 0.0, 1e-12);
  close_setup(&t);
}

TEST(actuators_clamp_and_transmit) {
  kn_spec* spec;
  kn_model* m;
  kn_joint j[2];
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < 2; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def h = kn_joint_default(KN_JOINT_HINGE);
    b.parent = i - 1, b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.1, b.pos[0] = 1;
    CHECK_OK(kn_spec_add_body(&h.body, spec, &b));
    h.axis[1] = 1, h.axis[2] = 0;
    CHECK_OK(kn_spec_add_joint(&j[i], spec, &h));
  }
  kn_actuator_def a = kn_actuator_default();
  kn_actuator id;
  a.joints = 2, a.joint[0] = j[0], a.joint[1] = j[1], a.gear[0] = 2, a.gear[1] = -0.5;
  a.ctrl_limited = true, a.ctrl_range[0] = -1, a.ctrl_range[1] = 1;
  CHECK_OK(kn_spec_add_actuator(&id, spec, &a));
  kn_actuator_def p = kn_actuator_position(j[1], 10, 3);
  p.force_limited = true, p.force_range[0] = -4, p.force_range[1] = 4;
  CHECK_OK(kn_spec_add_actuator(&id, spec, &p));
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  setup t = open_setup(m);
  kn_state_q(t.s)[1] = 0.3, kn_state_v(t.s)[1] = -0.2;
  kn_state_ctrl(t.s)[0] = 5.0, kn_state_ctrl(t.s)[1] = 0.5;
  CHECK_OK(kn_actuator_force(t.a, m, t.s, t.d));
  CHECK_NEAR(t.a[0], 2.0, 1e-15); /* control clamped to 1, gear 2 */
  CHECK_NEAR(t.a[1], -0.5 + 10 * (0.5 - 0.3) + 3 * 0.2, 1e-14);
  kn_state_ctrl(t.s)[1] = 50;
  CHECK_OK(kn_actuator_force(t.a, m, t.s, t.d));
  CHECK_NEAR(t.a[1], -0.5 + 4.0, 1e-14); /* force clamped */
  close_setup(&t);
}

TEST(difference_inverts_integrate) {
  kn_rng rng = kn_rng_seed(28);
  for (int i = 0; i < 60; i++) {
    setup t = open_setup(some_tree(&rng, i, true, 0));
    random_state(&rng, t.m, t.s, 1.0);
    for (int j = 0; j < t.nv; j++) t.a[j] = kn_rng_range(&rng, -1, 1);
    CHECK_OK(kn_integrate(kn_state_q(t.p), t.m, kn_state_q(t.s), t.a, 1.5));
    CHECK_OK(kn_difference(t.b, t.m, kn_state_q(t.s), kn_state_q(t.p)));
    for (int j = 0; j < t.nv; j++) CHECK_NEAR(t.b[j], 1.5 * t.a[j], 2e-14);
    close_setup(&t);
  }
}

TEST(bad_arguments_are_refused) {
  setup t = open_setup(chain(3, false));
  kn_model* other = chain(2, false);
  kn_pose T;
  double x[36];
  kn_node node = {.body = 7};
  CHECK_STATUS(kn_data_create(NULL, t.m), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_kinematics(NULL, t.s, t.d), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_kinematics(t.m, NULL, t.d), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_kinematics(t.m, t.s, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_kinematics(other, t.s, t.d), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_body_pose(&T, t.m, t.d, 3), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_body_pose(&T, t.m, t.d, -2), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_geom_pose(&T, t.m, t.d, 0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_frame_pose(&T, t.m, t.d, 0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_jacobian(NULL, t.m, t.d, 0, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_compliance(x, t.m, t.d, &node, 1), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "node 0");
  CHECK_STATUS(kn_solve_mass(NULL, t.m, t.d, 1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_integrate_smooth(t.s, t.m, t.d, NAN, NULL, NULL, NULL), KN_BAD_ARGUMENT);
  kn_state_v(t.s)[1] = NAN;
  CHECK_STATUS(kn_kinematics(t.m, t.s, t.d), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "v[1]");
  CHECK_STATUS(kn_forward_dynamics(t.a, t.m, t.s, t.d, NULL), KN_NOT_FINITE);
  for (int i = 0; i < 3; i++) CHECK(t.a[i] == 0.0);
  kn_model_destroy(other);
  close_setup(&t);
}
