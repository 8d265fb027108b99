/* The quadruped of all tests and benches: 18 dofs, four spherical feet, position servos.

   Dimensions and masses are our own, of the size of a small research robot: trunk 0.40 x 0.20 x 0.10 m, 9 kg;
   per leg hip 0.7 kg, thigh 1.0 kg (0.2 m), shank 0.25 kg (0.2 m) with a foot of radius 0.02 m. 16.8 kg in
   all. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

enum { MU, E, KP, KV, HEIGHT, DAMPING, LIMITS, FLOOR };

static const char* const LEG[4] = {"fl", "fr", "hl", "hr"};
static const double THIGH = 0.2, SHANK = 0.2, FOOT = 0.02, HIP_ANGLE = 0.8, KNEE_ANGLE = -1.6;

static kn_joint add_joint(kn_build* b, kn_body body, const char* leg, const char* part, kn_v3 axis, double lo,
                          double hi, const double* p) {
  char name[32];
  snprintf(name, sizeof name, "%s_%s", leg, part);
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  j.name = name;
  j.body = body;
  kn_put(j.axis, axis);
  j.limited = p[LIMITS] != 0.0;
  j.range[0][0] = lo;
  j.range[0][1] = hi;
  j.damping = p[DAMPING];
  j.armature = 0.01;
  return kn_make_joint(b, &j);
}

static void add_servo(kn_build* b, kn_joint joint, const char* leg, const char* part, const double* p) {
  char name[32];
  snprintf(name, sizeof name, "%s_%s", leg, part);
  kn_actuator_def a = kn_actuator_position(joint, p[KP], p[KV]);
  a.name = name;
  a.force_limited = true;
  a.force_range[0] = -33.0;
  a.force_range[1] = 33.0;
  kn_make_actuator(b, &a);
}

/* Robot parts touch the floor but not each other. */
static void add_shape(kn_build* b, kn_geom_def g, const char* name, const double* p, bool foot) {
  g.name = name;
  g.contype = 0;
  g.material.mu = p[MU];
  g.material.e = p[E];
  if (foot)
    kn_paint(&g, 0.10f, 0.10f, 0.12f);
  else
    kn_paint(&g, 0.85f, 0.55f, 0.20f);
  kn_make_geom(b, &g);
}

static void add_leg(kn_build* b, kn_body trunk, int k, const double* p) {
  double front = k < 2 ? 1.0 : -1.0, left = k % 2 ? -1.0 : 1.0;
  char name[32];
  const char* leg = LEG[k];
  snprintf(name, sizeof name, "%s_hip", leg);
  kn_body hip = kn_body_solid(b, name, trunk, kn_at(0.18 * front, 0.05 * left, 0), 0.7,
                              kn_at(0, 0.04 * left, 0), kn_at(6e-4, 5e-4, 6e-4));
  snprintf(name, sizeof name, "%s_thigh", leg);
  kn_body thigh =
      kn_body_solid(b, name, hip, kn_at(0, 0.08 * left, 0), 1.0, kn_at(0, 0, -0.04), kn_at(5e-3, 5e-3, 1e-3));
  snprintf(name, sizeof name, "%s_shank", leg);
  kn_body shank =
      kn_body_solid(b, name, thigh, kn_at(0, 0, -THIGH), 0.25, kn_at(0, 0, -0.11), kn_at(2e-3, 2e-3, 5e-5));
  kn_joint j0 = add_joint(b, hip, leg, "abduct", kn_at(1, 0, 0), -0.8, 0.8, p);
  kn_joint j1 = add_joint(b, thigh, leg, "flex", kn_at(0, 1, 0), -1.5, 3.0, p);
  kn_joint j2 = add_joint(b, shank, leg, "knee", kn_at(0, 1, 0), -2.7, -0.2, p);
  add_servo(b, j0, leg, "abduct", p);
  add_servo(b, j1, leg, "flex", p);
  add_servo(b, j2, leg, "knee", p);
  snprintf(name, sizeof name, "%s_upper", leg);
  add_shape(b, kn_capsule_between(thigh, 0.02, kn_at(0, 0, 0), kn_at(0, 0, -THIGH)), name, p, false);
  snprintf(name, sizeof name, "%s_lower", leg);
  add_shape(b, kn_capsule_between(shank, 0.012, kn_at(0, 0, 0), kn_at(0, 0, -SHANK + 0.03)), name, p, false);
  kn_geom_def foot = kn_sphere(shank, FOOT);
  foot.pos[2] = -SHANK;
  snprintf(name, sizeof name, "%s_foot", leg);
  add_shape(b, foot, name, p, true);
}

static kn_status build(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[MU], p[E]);
  if (p[FLOOR] != 0.0) kn_make_geom(&b, &ground);
  kn_body trunk = kn_body_solid(&b, "trunk", KN_WORLD, kn_at(0, 0, 0.5), 9.0, kn_at(0, 0, 0),
                                kn_box_moments(9.0, 0.2, 0.1, 0.05));
  kn_joint_def root = kn_joint_default(KN_JOINT_FREE);
  root.name = "root";
  root.body = trunk;
  kn_make_joint(&b, &root);
  add_shape(&b, kn_box(trunk, 0.2, 0.1, 0.05), "trunk", p, false);
  for (int k = 0; k < 4; k++) add_leg(&b, trunk, k, p);
  return b.status;
}

/* Standing with the feet HEIGHT above the floor. */
static kn_status setup(kn_state* state, const kn_model* model, const double* p) {
  double s1, c1, s2, c2;
  kn_sincos_exact(&s1, &c1, HIP_ANGLE);
  kn_sincos_exact(&s2, &c2, HIP_ANGLE + KNEE_ANGLE);
  kn_state_q(state)[2] = THIGH * c1 + SHANK * c2 + FOOT + p[HEIGHT];
  for (int k = 0; k < 4; k++) {
    kn_joint abduct;
    int q;
    char name[32];
    snprintf(name, sizeof name, "%s_abduct", LEG[k]);
    kn_status status = kn_model_find_joint(&abduct, model, name);
    if (status == KN_OK) status = kn_model_joint_address(&q, NULL, NULL, NULL, model, abduct);
    if (status != KN_OK) return status;
    double* leg = kn_state_q(state) + q; /* abduct, flex, knee follow each other */
    leg[1] = kn_state_ctrl(state)[3 * k + 1] = HIP_ANGLE;
    leg[2] = kn_state_ctrl(state)[3 * k + 2] = KNEE_ANGLE;
  }
  return KN_OK;
}

static const kn_scene_param param[] = {{"mu", 0.8, 0, 1e6, false, "friction coefficient"},
                                       {"e", 0, 0, 1, false, "restitution coefficient"},
                                       {"kp", 100, 0, 1e6, false, "servo stiffness, N m/rad"},
                                       {"kv", 2, 0, 1e6, false, "servo damping, N m s/rad"},
                                       {"height", 0, 0, 10, false, "first height of the feet, m"},
                                       {"damping", 0.1, 0, 1e3, false, "damping of the joints, N m s/rad"},
                                       {"limits", 1, 0, 1, true, "0: joints without limits"},
                                       {"floor", 1, 0, 1, true, "0: no floor"},
                                       {0}};
const kn_scene kn_scene_quadruped = {
    .name = "quadruped",
    .watch =
        "the legs bend and the four feet carry the weight: forces of each pair of feet become equal and stay",
    .purpose = "an 18-dof robot dog stands on four spherical feet under position control",
    .citation = "",
    .param = param,
    .build = build,
    .setup = setup,
    .dt = 1e-3,
    .duration = 5.0,
};

/* ---- SimBenchmark's tasks for a legged robot ---- */

/* mu, e, kp, kv, height, damping, limits, floor */
static const double PASSIVE[] = {0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
static const double SERVO[] = {0.8, 0.0, 40.0, 1.0, 0.0, 0.0, 1.0, 1.0};

static kn_status build_energy(kn_spec* spec, const double* p) {
  (void)p;
  return build(spec, PASSIVE);
}

static kn_status setup_energy(kn_state* state, const kn_model* model, const double* p) {
  (void)p;
  return setup(state, model, PASSIVE);
}

/* Twice the weight upwards on the trunk for one second. Context: the force. */
static kn_status lift(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                      void* context) {
  (void)ctrl, (void)q, (void)v, (void)memory;
  if (t < 1.0 - 1e-9) tau[2] += *(const double*)context;
  return KN_OK;
}

static kn_status control_energy(kn_controller* controller, double* context, const kn_model* model,
                                const double* p) {
  (void)p;
  context[0] = 2.0 * kn_model_mass(model) * 9.81;
  *controller = (kn_controller){.fn = lift, .context = context};
  return KN_OK;
}

const kn_scene kn_scene_bench_energy = {
    .name = "simbench-energy",
    .watch = "the robot is in free flight: its energy stays",
    .purpose = "the passive quadruped is thrown up and falls: energy without contact",
    .citation = "SimBenchmark, energy task: 1 s with twice the weight upwards, then free",
    .build = build_energy,
    .setup = setup_energy,
    .control = control_energy,
    .dt = 1e-3,
    .duration = 3.0,
};

enum { HIT_E };

static kn_status build_momentum(kn_spec* spec, const double* p) {
  double robot[sizeof PASSIVE / sizeof *PASSIVE];
  for (size_t i = 0; i < sizeof PASSIVE / sizeof *PASSIVE; i++) robot[i] = i == E ? p[HIT_E] : PASSIVE[i];
  kn_status status = build(spec, robot);
  if (status != KN_OK) return status;
  kn_build b = {spec, KN_OK};
  kn_gravity(&b, 0, 0, 0);
  kn_ball_free(&b, "ball", kn_at(-2.0, 0.02, 0.31), 0.2, 10.0, 0.8, p[HIT_E]);
  return b.status;
}

static kn_status setup_momentum(kn_state* state, const kn_model* model, const double* p) {
  (void)p;
  kn_status status = setup(state, model, PASSIVE);
  if (status == KN_OK) kn_joint_v(state, model, "ball")[0] = 5.0;
  return status;
}

static const kn_scene_param momentum_param[] = {
    {"e", 0.5, 0, 1, false, "restitution coefficient (the comparison does not say)"}, {0}};
const kn_scene kn_scene_bench_momentum = {
    .name = "simbench-momentum",
    .watch = "a ball hits the robot without gravity: the momentum of both together stays",
    .purpose = "a ball hits the passive quadruped without gravity: momentum",
    .citation = "SimBenchmark, momentum task: ball of 10 kg, radius 0.2 m, 5 m/s",
    .param = momentum_param,
    .build = build_momentum,
    .setup = setup_momentum,
    .dt = 1e-3,
    .duration = 2.0,
};

static kn_status build_pd(kn_spec* spec, const double* p) {
  (void)p;
  return build(spec, SERVO);
}

static kn_status setup_pd(kn_state* state, const kn_model* model, const double* p) {
  (void)p;
  return setup(state, model, SERVO);
}

const kn_scene kn_scene_bench_pd = {
    .name = "simbench-pd",
    .watch = "soft servos with long steps: the time a step takes, and that the robot stays standing",
    .purpose = "the quadruped stands under soft servos with long steps: speed",
    .citation = "SimBenchmark, PD task: kp 40, kd 1, step 5 ms",
    .build = build_pd,
    .setup = setup_pd,
    .dt = 5e-3,
    .duration = 250.0,
};
