/* Forces of servos, also on ball and free joints, as MuJoCo has them: the length of a ball joint is the
   rotation vector times the gear, a free joint has none. One function serves dynamics and steps. */
#include <math.h>
#include <string.h>

#include "dynamics/tree/dynamics.h"
#include "floor.h"
#include "test.h"

/* A ball joint with its box, and a free box. */
static kn_spec* two_boxes(kn_joint* ball, kn_joint* free_joint) {
  kn_spec* spec;
  kn_spec_create(&spec);
  kn_spec_set_gravity(spec, (double[3]){0, 0, 0});
  for (int i = 0; i < 2; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(i ? KN_JOINT_FREE : KN_JOINT_BALL);
    kn_geom_def g = kn_geom_default(KN_SHAPE_BOX);
    kn_geom geom;
    b.pos[0] = 3.0 * i, b.pos[2] = 1.0;
    b.inertia_from_geoms = true;
    g.shape.size[0] = 0.1, g.shape.size[1] = 0.2, g.shape.size[2] = 0.3;
    g.mass = 1.0;
    kn_spec_add_body(&j.body, spec, &b);
    g.body = j.body;
    kn_spec_add_joint(i ? free_joint : ball, spec, &j);
    kn_spec_add_geom(&geom, spec, &g);
  }
  return spec;
}

static void add(kn_spec* spec, kn_joint joint, int n, const double* gear, double kp, double kv) {
  kn_actuator_def a = kn_actuator_default();
  kn_actuator id;
  a.joints = 0;
  for (int i = 0; i < n; i++) {
    if (gear[i] == 0.0) continue;
    a.joint[a.joints] = joint, a.dof[a.joints] = i;
    a.gear[a.joints++] = gear[i];
  }
  a.gain = kp, a.bias[1] = -kp, a.bias[2] = -kv;
  CHECK_OK(kn_spec_add_actuator(&id, spec, &a));
}

/* q = (-0.6, 0.2, -0.5, 0.3) is a turn by φ = 2 atan2(s, -0.6) - 2π, s = |(0.2, -0.5, 0.3)|, about that axis:
   length (g·axis) φ/s, force kp (ctrl - length) - kv g·ω, torque g times that. MuJoCo 3.3 gives
   -0.2592017091155161 and 2.0960085455775808 N m. */
TEST(servos_on_ball_and_free_joints_match_mujoco) {
  static const double gear[6] = {1, 2, 3, 4, 5, 6};
  static const double q[11] = {-0.6, 0.2, -0.5, 0.3, 3, 0.5, 1.2, 0.5, -0.5, 0.5, 0.5};
  static const double v[9] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, ctrl[2] = {0.3, 0.2};
  kn_joint ball, free_joint;
  kn_spec* spec = two_boxes(&ball, &free_joint);
  add(spec, ball, 3, gear, 5.0, 0.5);
  add(spec, free_joint, 6, gear, 7.0, 0.5);
  kn_model* m = NULL;
  CHECK_OK(kn_compile(&m, spec));
  double tau[9] = {0}, s = sqrt(0.04 + 0.25 + 0.09), phi = 2 * atan2(s, -0.6) - 2 * M_PI;
  double length = (0.2 - 1.0 + 0.9) / s * phi;
  CHECK_NEAR(length, -0.2592017091155161, 1e-15);
  double force = 5.0 * (0.3 - length) - 0.5 * (0.1 + 0.4 + 0.9);
  CHECK_NEAR(force, 2.0960085455775808, 1e-14);
  double other = 7.0 * 0.2 - 0.5 * (0.4 + 1.0 + 1.8 + 2.8 + 4.0 + 5.4); /* a free joint has no length */
  CHECK_NEAR(other, -6.3, 1e-14);
  kn_dyn_actuate(tau, m, q, v, ctrl);
  for (int i = 0; i < 3; i++) CHECK_NEAR(tau[i], gear[i] * force, 1e-13); /* rounding of some N m */
  for (int i = 0; i < 6; i++) CHECK_NEAR(tau[3 + i], gear[i] * other, 1e-13);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
}

/* The step applies the same: a turn about x under kp alone is an oscillator, φ'' = -(kp/I) φ. */
TEST(a_step_with_a_servo_on_a_ball_joint) {
  static const char* const stepper[] = {"time", "theta", "event"};
  static const double gear[3] = {1, 0, 0};
  const double I = (0.2 * 0.2 + 0.3 * 0.3) / 3.0, kp = 5.0, phi = 2 * atan2(0.1, 0.9), dt = 1e-4;
  for (int k = 0; k < 3; k++) {
    kn_joint ball, free_joint;
    kn_spec* spec = two_boxes(&ball, &free_joint);
    add(spec, ball, 3, gear, kp, 0.0);
    kn_sim_settings set = kn_sim_default();
    kn_floor w;
    set.stepper = stepper[k], set.dt = dt;
    if (!kn_floor_open(&w, spec, &set)) return kn_floor_close(&w);
    double n = sqrt(0.82), *q = kn_state_q(w.state), *v = kn_state_v(w.state);
    q[0] = 0.9 / n, q[1] = 0.1 / n, q[2] = q[3] = 0.0;
    for (int i = 0; i < 1000; i++) CHECK_OK(kn_step(w.sim, w.state));
    double omega = sqrt(kp / I), t = 1000 * dt;
    /* theta and the midpoint err by (ω dt)²/24 of the phase, theta's first step by more: 1e-5 covers both */
    CHECK_NEAR(2 * atan2(q[1], q[0]), phi * cos(omega * t), 1e-5);
    CHECK_NEAR(v[0], -phi * omega * sin(omega * t), 2e-4);
    kn_floor_close(&w);
  }
}
