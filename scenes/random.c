/* Seeded random mechanisms: trees and forests of every joint type, with shapes, springs, motors and loops on
   demand. The same seed and settings give the same model on every machine. */
#include <math.h>
#include <stdlib.h>

#include "build.h"
#include "scene.h"

typedef struct maker {
  kn_build b;
  uint64_t seed;
  const kn_random_settings* s;
  kn_joint driven; /* last scalar joint with a motor, -1: none */
  int* group;      /* bodies with the same number are fixed to each other; -1 to the world */
} maker;

static double uniform(maker* r, double lo, double hi) { return kn_jitter(&r->seed, lo, hi); }
static bool chance(maker* r, double p) { return kn_jitter(&r->seed, 0.0, 1.0) < p; }
static int pick(maker* r, int n) {
  int i = (int)kn_jitter(&r->seed, 0.0, (double)n);
  return i < n ? i : n - 1;
}

static void vector(maker* r, double out[3], double size) {
  for (int i = 0; i < 3; i++) out[i] = uniform(r, -size, size);
}

/* Uniform on the sphere by rejection: no trigonometry. */
static void direction(maker* r, double out[3], int n) {
  double s;
  do {
    s = 0.0;
    for (int i = 0; i < n; i++) {
      out[i] = uniform(r, -1.0, 1.0);
      s += out[i] * out[i];
    }
  } while (s > 1.0 || s < 0.01);
  for (int i = 0; i < n; i++) out[i] /= sqrt(s);
}

/* Second moments a, b, c > 0 give the principal moments b + c, a + c, a + b of a real body. */
static void inertia(maker* r, kn_body_def* d) {
  d->mass = uniform(r, 0.2, 5.0);
  if (r->s->decades > 0.0) d->mass *= pow(10.0, uniform(r, -0.5, 0.5) * r->s->decades);
  vector(r, d->com, 0.2);
  double a = uniform(r, 0.001, 0.02), b = uniform(r, 0.001, 0.02), c = uniform(r, 0.001, 0.02);
  d->inertia[0] = d->mass * (b + c);
  d->inertia[1] = d->mass * (a + c);
  d->inertia[2] = d->mass * (a + b);
  direction(r, d->inertia_quat, 4);
}

static kn_body add_body(maker* r, kn_body parent) {
  kn_body_def d = kn_body_default();
  d.parent = parent;
  vector(r, d.pos, 0.5);
  direction(r, d.quat, 4);
  inertia(r, &d);
  if (r->s->gravcomp && chance(r, 0.4)) d.gravcomp = uniform(r, 0.0, 1.5);
  return kn_make_body(&r->b, &d);
}

static kn_joint_type random_type(maker* r) {
  kn_joint_type list[KN_JOINT_TYPE_COUNT];
  int n = 0;
  for (int t = 0; t < KN_JOINT_TYPE_COUNT; t++)
    if (t != KN_JOINT_FREE && t != KN_JOINT_FIXED && r->s->joints >> t & 1u) list[n++] = (kn_joint_type)t;
  return n ? list[pick(r, n)] : KN_JOINT_HINGE;
}

static void add_extras(maker* r, kn_joint_def* j) {
  if (r->s->limits && chance(r, 0.5) && j->type != KN_JOINT_FREE && j->type != KN_JOINT_FIXED) {
    j->limited = true;
    for (int k = 0; k < 3; k++) {
      j->range[k][0] = j->ref[k] - uniform(r, 0.1, 1.0);
      j->range[k][1] = j->ref[k] + uniform(r, 0.1, 1.0);
    }
    if (j->type == KN_JOINT_BALL) j->range[0][0] = 0.0, j->range[0][1] = uniform(r, 0.3, 2.0);
  }
  if (r->s->springs && chance(r, 0.5)) {
    j->stiffness = uniform(r, 0.0, 20.0);
    vector(r, j->spring_ref, 1.0);
  }
  if (r->s->damping && chance(r, 0.5)) j->damping = uniform(r, 0.0, 2.0);
  if (r->s->armature && chance(r, 0.5)) j->armature = uniform(r, 0.0, 0.5);
  if (r->s->friction && chance(r, 0.3)) j->friction = uniform(r, 0.0, 1.0);
}

static kn_joint add_joint(maker* r, kn_body body, kn_joint_type type) {
  kn_joint_def j = kn_joint_default(type);
  j.body = body;
  if (type != KN_JOINT_FREE) vector(r, j.pos, 0.2);
  direction(r, j.axis, 3);
  do direction(r, j.axis2, 3);
  while (fabs(j.axis[0] * j.axis2[0] + j.axis[1] * j.axis2[1] + j.axis[2] * j.axis2[2]) > 0.9);
  j.pitch = uniform(r, -0.2, 0.2);
  vector(r, j.ref, 0.5);
  add_extras(r, &j);
  return kn_make_joint(&r->b, &j);
}

static int dofs(kn_joint_type type) {
  switch (type) {
  case KN_JOINT_FREE: return 6;
  case KN_JOINT_BALL:
  case KN_JOINT_PLANAR: return 3;
  case KN_JOINT_UNIVERSAL:
  case KN_JOINT_CYLINDRICAL: return 2;
  default: return 1;
  }
}

/* Servos on scalar dofs, sometimes a fixed tendon together with the last driven joint; motors on balls and
   free bodies. */
static void add_motor(maker* r, kn_joint j, kn_joint_type type) {
  kn_actuator_def a = kn_actuator_default();
  bool scalar = type != KN_JOINT_BALL && type != KN_JOINT_FREE;
  if (scalar && chance(r, 0.7)) {
    double kp = uniform(r, 1, 50), kv = uniform(r, 0, 2);
    a = chance(r, 0.5) ? kn_actuator_position(j, kp, kv) : kn_actuator_velocity(j, kv);
  }
  a.joint[0] = j;
  a.dof[0] = pick(r, dofs(type));
  a.gear[0] = uniform(r, -3, 3);
  if (scalar && r->driven >= 0 && chance(r, 0.3)) {
    a.joints = 2;
    a.joint[1] = r->driven;
    a.gear[1] = uniform(r, -3, 3);
  }
  if (scalar) r->driven = j;
  if (chance(r, 0.3)) a.force_limited = true, a.force_range[0] = -2.0, a.force_range[1] = uniform(r, 0, 3);
  if (chance(r, 0.3)) a.ctrl_limited = true, a.ctrl_range[0] = -0.5, a.ctrl_range[1] = uniform(r, 0, 0.5);
  kn_make_actuator(&r->b, &a);
}

/* Whether the body moves against its parent. At most three dofs per body: more would soon be redundant. */
static bool add_joints(maker* r, kn_body body, kn_body parent) {
  if (parent == KN_WORLD && chance(r, r->s->floating) && r->s->joints >> KN_JOINT_FREE & 1u) {
    kn_joint j = add_joint(r, body, KN_JOINT_FREE);
    if (r->s->actuators && chance(r, 0.3)) add_motor(r, j, KN_JOINT_FREE);
    return true;
  }
  if (chance(r, r->s->welded)) {
    if (chance(r, 0.5)) add_joint(r, body, KN_JOINT_FIXED);
    return false;
  }
  int left = 3;
  do {
    kn_joint_type type = random_type(r);
    if (dofs(type) > left || (left < 3 && type == KN_JOINT_BALL)) break;
    left -= dofs(type);
    kn_joint j = add_joint(r, body, type);
    if (r->s->actuators && chance(r, 0.5)) add_motor(r, j, type);
  } while (left > 0 && chance(r, r->s->several));
  return true;
}

static void add_geom(maker* r, kn_body body) {
  static const kn_shape_type types[] = {KN_SHAPE_SPHERE, KN_SHAPE_CAPSULE, KN_SHAPE_CYLINDER,
                                        KN_SHAPE_ELLIPSOID, KN_SHAPE_BOX};
  kn_geom_def g = kn_geom_default(types[pick(r, 5)]);
  g.body = body;
  for (int i = 0; i < 3; i++) g.shape.size[i] = uniform(r, 0.05, 0.2);
  vector(r, g.pos, 0.2);
  direction(r, g.quat, 4);
  g.material.mu = uniform(r, 0.0, 1.2);
  g.material.e = uniform(r, 0.0, 1.0);
  for (int i = 0; i < 3; i++) g.rgba[i] = (float)uniform(r, 0.2, 0.9);
  kn_make_geom(&r->b, &g);
}

/* A loop between two random bodies, closed at the reference position. */
static void add_loop(maker* r) {
  static const kn_loop_type types[] = {KN_LOOP_CONNECT, KN_LOOP_WELD, KN_LOOP_DISTANCE};
  kn_loop_def l = kn_loop_default(types[pick(r, 3)]);
  l.a = pick(r, r->s->bodies);
  l.b = pick(r, r->s->bodies + 1) - 1;
  if (r->group[l.a] == (l.b == KN_WORLD ? -1 : r->group[l.b])) return; /* move as one */
  vector(r, l.pos_a, 0.3);
  direction(r, l.quat_a, 4);
  vector(r, l.pos_b, 0.3);
  l.from_reference = true;
  kn_make_loop(&r->b, &l);
}

kn_random_settings kn_random_default(int bodies) {
  return (kn_random_settings){.bodies = bodies,
                              .branch = 0.5,
                              .roots = 0.1,
                              .floating = 0.5,
                              .joints = ~0u,
                              .several = 0.2,
                              .welded = 0.1,
                              .armature = true};
}

kn_status kn_random_spec(kn_spec* spec, uint64_t seed, const kn_random_settings* settings) {
  if (!spec || !settings || settings->bodies < 1) return KN_BAD_ARGUMENT;
  maker r = {.b = {spec, KN_OK}, .seed = seed * 0x2545f4914f6cdd1du + 1, .s = settings, .driven = -1};
  if (settings->geoms) {
    kn_geom_def ground = kn_floor(0.5, 0.3);
    ground.pos[2] = -1.0;
    kn_make_geom(&r.b, &ground);
  }
  r.group = malloc((size_t)settings->bodies * sizeof *r.group);
  if (!r.group) return KN_OUT_OF_MEMORY;
  for (int i = 0; i < settings->bodies; i++) {
    kn_body parent = i == 0 || chance(&r, settings->roots) ? KN_WORLD : i - 1;
    if (parent != KN_WORLD && chance(&r, settings->branch)) parent = pick(&r, i);
    kn_body body = add_body(&r, parent);
    r.group[i] = add_joints(&r, body, parent) ? i : parent == KN_WORLD ? -1 : r.group[parent];
    if (settings->geoms) add_geom(&r, body);
  }
  for (int i = 0; i < settings->loops; i++) add_loop(&r);
  free(r.group);
  return r.b.status;
}

void kn_random_state(kn_state* state, const kn_model* model, uint64_t seed, double q_size, double v_size) {
  maker r = {.seed = seed * 0x9e3779b97f4a7c15u + 7};
  double *q = kn_state_q(state), *v = kn_state_v(state);
  if (!q || !model) return;
  for (int i = 0; i < kn_model_nq(model); i++) q[i] = uniform(&r, -q_size, q_size);
  for (int i = 0; i < kn_model_nv(model); i++) v[i] = uniform(&r, -v_size, v_size);
  for (int j = 0; j < kn_model_joints(model); j++) {
    kn_joint_def d;
    int at;
    if (kn_model_joint(&d, model, j) != KN_OK ||
        kn_model_joint_address(&at, NULL, NULL, NULL, model, j) != KN_OK)
      continue;
    if (d.type == KN_JOINT_BALL) direction(&r, q + at, 4);
    if (d.type == KN_JOINT_FREE) direction(&r, q + at + 3, 4);
  }
}
