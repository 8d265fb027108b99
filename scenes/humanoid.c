/* The humanoid of all tests and benches: 34 dofs, four contact spheres under each foot, position servos.

   Dimensions and masses are our own: 1.7 m, 67.8 kg. Every joint has a body of its own with mass, as in real
   robots. x forward, y left, z up; the reference position stands straight with hanging arms. */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "scene.h"

enum { MU, E, KP, KV, HEIGHT };

/* One body with one hinge: where it sits in its parent, its mass as a solid cylinder (or box) about com. */
typedef struct part {
  const char *name, *parent, *joint;
  kn_v3 pos, axis;
  double mass;
  kn_v3 com;
  double hx, hy, hz; /* half extents of the box whose inertia it has */
  double lo, hi;     /* joint range, rad */
  double stiff;      /* servo stiffness relative to KP */
} part;

/* Left side; the right one is its mirror image in y. "L" in names becomes "R". */
/* clang-format off */
static const part MIDDLE[] = {
  {"waist_a", "pelvis",  "waist_yaw",   {0, 0, .10}, {0, 0, 1}, 1.0, {0, 0, .02}, .06, .06, .03, -1.2, 1.2, .5},
  {"waist_b", "waist_a", "waist_roll",  {0, 0, .04}, {1, 0, 0}, 1.0, {0, 0, .02}, .06, .06, .03, -0.5, 0.5, 1},
  {"torso",   "waist_b", "waist_pitch", {0, 0, .04}, {0, 1, 0}, 18., {0, 0, .20}, .11, .16, .22, -0.5, 1.2, 1},
  {"neck_a",  "torso",   "neck_yaw",    {0, 0, .45}, {0, 0, 1}, 0.4, {0, 0, .02}, .04, .04, .02, -1.2, 1.2, .1},
  {"neck_b",  "neck_a",  "neck_roll",   {0, 0, .04}, {1, 0, 0}, 0.4, {0, 0, .02}, .04, .04, .02, -0.5, 0.5, .1},
  {"head",    "neck_b",  "neck_pitch",  {0, 0, .04}, {0, 1, 0}, 4.0, {0, 0, .10}, .08, .07, .11, -0.7, 0.7, .1},
};
static const part LEFT[] = {
  {"hip_a_L",    "pelvis",     "hip_yaw_L",     {0, .09, -.05}, {0, 0, 1}, 1.0, {0, 0, 0},    .05, .05, .05, -0.8, 0.8, 1},
  {"hip_b_L",    "hip_a_L",    "hip_roll_L",    {0, 0, -.04},   {1, 0, 0}, 1.0, {0, 0, 0},    .05, .05, .05, -0.5, 0.8, 1},
  {"thigh_L",    "hip_b_L",    "hip_pitch_L",   {0, 0, 0},      {0, 1, 0}, 6.0, {0, 0, -.18}, .06, .06, .19, -2.0, 0.8, 1},
  {"shank_L",    "thigh_L",    "knee_L",        {0, 0, -.40},   {0, 1, 0}, 3.2, {0, 0, -.17}, .05, .05, .19,  0.0, 2.4, 1},
  {"ankle_L",    "shank_L",    "ankle_pitch_L", {0, 0, -.40},   {0, 1, 0}, 0.4, {0, 0, -.01}, .04, .03, .03, -0.9, 0.9, 1},
  {"foot_L",     "ankle_L",    "ankle_roll_L",  {0, 0, -.02},   {1, 0, 0}, 1.2, {.03, 0, -.03}, .11, .05, .02, -0.5, 0.5, 1},
  {"shoulder_L", "torso",      "shoulder_pitch_L", {0, .20, .38}, {0, 1, 0}, 0.8, {0, 0, 0},  .05, .05, .05, -3.0, 1.5, .3},
  {"arm_a_L",    "shoulder_L", "shoulder_roll_L",  {0, .04, 0},   {1, 0, 0}, 0.6, {0, 0, -.02}, .04, .04, .04, -0.3, 2.8, .3},
  {"arm_b_L",    "arm_a_L",    "shoulder_yaw_L",   {0, 0, -.06},  {0, 0, 1}, 1.6, {0, 0, -.10}, .04, .04, .12, -1.5, 1.5, .2},
  {"forearm_L",  "arm_b_L",    "elbow_L",          {0, 0, -.24},  {0, 1, 0}, 1.2, {0, 0, -.11}, .035, .035, .12, -2.4, 0.0, .2},
  {"hand_L",     "forearm_L",  "wrist_L",          {0, 0, -.24},  {0, 0, 1}, 0.5, {0, 0, -.06}, .03, .02, .07, -1.5, 1.5, .05},
};
/* clang-format on */
enum { MIDDLES = sizeof MIDDLE / sizeof *MIDDLE, LEFTS = sizeof LEFT / sizeof *LEFT };

static const double FOOT_RADIUS = 0.01, BEND = 0.4; /* knee angle when standing, as in setup */

typedef struct robot {
  kn_build b;
  const double* p;
  int count;
  char name[1 + MIDDLES + 2 * LEFTS][24];
  kn_body body[1 + MIDDLES + 2 * LEFTS];
} robot;

static kn_body find(const robot* r, const char* name) {
  for (int i = 0; i < r->count; i++)
    if (strcmp(r->name[i], name) == 0) return r->body[i];
  return KN_WORLD;
}

/* "_L" at the end becomes "_R" on the right side. */
static void sided(char out[24], const char* name, bool right) {
  snprintf(out, 24, "%s", name);
  size_t n = strlen(out);
  if (right && n > 2 && strcmp(out + n - 2, "_L") == 0) out[n - 1] = 'R';
}

static void add_geom(robot* r, kn_geom_def g, const char* name, bool dark) {
  g.name = name;
  g.contype = 0; /* touches the floor, not itself */
  g.material.mu = r->p[MU];
  g.material.e = r->p[E];
  if (dark)
    kn_paint(&g, 0.10f, 0.10f, 0.12f);
  else
    kn_paint(&g, 0.35f, 0.60f, 0.55f);
  kn_make_geom(&r->b, &g);
}

static void add_servo(robot* r, kn_joint joint, const char* name, double stiff) {
  kn_actuator_def a = kn_actuator_position(joint, r->p[KP] * stiff, r->p[KV] * stiff);
  a.name = name;
  kn_make_actuator(&r->b, &a);
}

static void add_feet(robot* r, kn_body foot, bool right) {
  for (int k = 0; k < 4; k++) {
    char name[24];
    kn_geom_def g = kn_sphere(foot, FOOT_RADIUS);
    kn_put(g.pos, kn_at(k < 2 ? 0.13 : -0.07, k % 2 ? 0.045 : -0.045, -0.05));
    snprintf(name, sizeof name, "sole%d_%c", k, right ? 'R' : 'L');
    add_geom(r, g, name, true);
  }
}

static void add_part(robot* r, const part* t, bool right) {
  double side = right ? -1.0 : 1.0;
  char name[24], joint[24], parent[24];
  sided(name, t->name, right);
  sided(joint, t->joint, right);
  sided(parent, t->parent, right);
  kn_body b =
      kn_body_solid(&r->b, name, find(r, parent), kn_at(t->pos.x, side * t->pos.y, t->pos.z), t->mass,
                    kn_at(t->com.x, side * t->com.y, t->com.z), kn_box_moments(t->mass, t->hx, t->hy, t->hz));
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  j.name = joint;
  j.body = b;
  /* mirrored rotations about x and z change sign, so that equal angles are mirror images */
  kn_put(j.axis, kn_at(side * t->axis.x, t->axis.y, side * t->axis.z));
  j.limited = true;
  j.range[0][0] = t->lo;
  j.range[0][1] = t->hi;
  j.damping = 0.2;
  j.armature = 0.02;
  add_servo(r, kn_make_joint(&r->b, &j), joint, t->stiff);
  kn_geom_def g = kn_box(b, t->hx, t->hy, t->hz);
  kn_put(g.pos, kn_at(t->com.x, side * t->com.y, t->com.z));
  if (strncmp(name, "foot", 4) == 0) add_feet(r, b, right);
  add_geom(r, g, name, false);
  snprintf(r->name[r->count], 24, "%s", name);
  r->body[r->count++] = b;
}

/* Depth first, so that coordinates follow the order of the tables. */
static kn_status build(kn_spec* spec, const double* p) {
  robot r = {.b = {spec, KN_OK}, .p = p};
  kn_geom_def ground = kn_floor(p[MU], p[E]);
  kn_make_geom(&r.b, &ground);
  r.body[0] = kn_body_solid(&r.b, "pelvis", KN_WORLD, kn_at(0, 0, 1), 8.0, kn_at(0, 0, 0.02),
                            kn_box_moments(8.0, 0.09, 0.14, 0.08));
  snprintf(r.name[0], 24, "pelvis");
  r.count = 1;
  kn_joint_def root = kn_joint_default(KN_JOINT_FREE);
  root.name = "root";
  root.body = r.body[0];
  kn_make_joint(&r.b, &root);
  add_geom(&r, kn_box(r.body[0], 0.09, 0.14, 0.06), "pelvis", false);
  for (int i = 0; i < MIDDLES; i++) add_part(&r, &MIDDLE[i], false);
  for (int right = 0; right < 2; right++)
    for (int i = 0; i < LEFTS; i++) add_part(&r, &LEFT[i], right);
  return r.b.status;
}

static kn_status set_angle(kn_state* state, const kn_model* model, const char* joint, double angle) {
  kn_joint j;
  kn_actuator a;
  int q;
  kn_status status = kn_model_find_joint(&j, model, joint);
  if (status == KN_OK) status = kn_model_find_actuator(&a, model, joint);
  if (status == KN_OK) status = kn_model_joint_address(&q, NULL, NULL, NULL, model, j);
  if (status != KN_OK) return status;
  kn_state_q(state)[q] = kn_state_ctrl(state)[a] = angle;
  return KN_OK;
}

/* Knees bent, feet flat and below the hips, soles HEIGHT above the floor, elbows a little bent. */
static kn_status setup(kn_state* state, const kn_model* model, const double* p) {
  static const struct {
    const char* joint;
    double angle;
  } pose[] = {{"hip_pitch_L", -0.2}, {"knee_L", 0.4},         {"ankle_pitch_L", -0.2}, {"hip_pitch_R", -0.2},
              {"knee_R", 0.4},       {"ankle_pitch_R", -0.2}, {"elbow_L", -0.3},       {"elbow_R", -0.3}};
  for (size_t i = 0; i < sizeof pose / sizeof *pose; i++) {
    kn_status status = set_angle(state, model, pose[i].joint, pose[i].angle);
    if (status != KN_OK) return status;
  }
  double s, c;
  kn_sincos_exact(&s, &c, BEND / 2);
  kn_state_q(state)[2] = 0.05 + 0.04 + 0.8 * c + 0.02 + 0.05 + FOOT_RADIUS + p[HEIGHT];
  return KN_OK;
}

static const kn_scene_param param[] = {{"mu", 0.8, 0, 1e6, false, "friction coefficient"},
                                       {"e", 0, 0, 1, false, "restitution coefficient"},
                                       {"kp", 2000, 0, 1e6, false, "servo stiffness of the legs, N m/rad"},
                                       {"kv", 60, 0, 1e6, false, "servo damping of the legs, N m s/rad"},
                                       {"height", 0, 0, 10, false, "first height of the soles, m"},
                                       {0}};
const kn_scene kn_scene_humanoid = {
    .name = "humanoid",
    .watch = "it stands on eight contacts: the forces of one foot are not determined one by one, their sum "
             "is (`diagnose`)",
    .purpose = "a 34-dof robot stands on eight contact points under position control",
    .citation = "",
    .param = param,
    .build = build,
    .setup = setup,
    .dt = 1e-3,
    .duration = 5.0,
};
