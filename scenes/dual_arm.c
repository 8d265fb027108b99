/* The dual-arm robot of jain-2014, Table 1: a 4-link sensor head, two 7-link arms, two 3-finger hands with 4
   dofs each (a spread link that carries two fingers, and a thumb): 26 links, 26 dofs, no loops. The paper
   gives no masses: ours are a human-sized upper body. In the reference position the upper arms point forward,
   the forearms down, and the two fingers of each hand touch a table: 4 contacts. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

enum { MU, KP, KV };

typedef struct part {
  const char* name;
  kn_v3 pos, axis, com;
  double mass, hx, hy, hz;
} part;

/* clang-format off */
static const part HEAD[] = {
  {"head1", {0, 0, .10},  {0, 0, 1}, {0, 0, .03}, 0.8, .04, .04, .03},
  {"head2", {0, 0, .08},  {0, 1, 0}, {0, 0, .03}, 0.8, .04, .04, .03},
  {"head3", {0, 0, .08},  {1, 0, 0}, {0, 0, .03}, 0.8, .04, .04, .03},
  {"head4", {0, 0, .08},  {0, 1, 0}, {0, 0, .06}, 2.0, .06, .10, .05},
};
/* left arm; the right one is its mirror image */
static const part ARM[] = {
  {"arm1", {0, .20, 0},   {0, 0, 1}, {0, .03, 0},   2.0, .05, .05, .05},
  {"arm2", {0, .06, 0},   {1, 0, 0}, {0, .02, 0},   1.5, .05, .05, .05},
  {"arm3", {0, .04, 0},   {0, 1, 0}, {.12, 0, 0},   2.5, .15, .04, .04},
  {"arm4", {.30, 0, 0},   {0, 1, 0}, {0, 0, -.06},  1.5, .04, .04, .07},
  {"arm5", {0, 0, -.12},  {0, 0, 1}, {0, 0, -.07},  1.2, .04, .04, .08},
  {"arm6", {0, 0, -.16},  {0, 1, 0}, {0, 0, -.02},  0.6, .03, .03, .03},
  {"arm7", {0, 0, -.05},  {1, 0, 0}, {0, 0, -.02},  0.6, .04, .04, .02},
};
static const part SPREAD = {"spread", {0, 0, -.04}, {0, 0, 1}, {0, 0, -.01}, 0.2, .03, .03, .01};
static const part FINGER[] = {
  {"finger1", {.03, .02, -.02},  {0, 1, 0}, {0, 0, -.04}, 0.10, .010, .010, .04},
  {"finger2", {.03, -.02, -.02}, {0, 1, 0}, {0, 0, -.04}, 0.10, .010, .010, .04},
};
static const part THUMB = {"thumb", {-.03, 0, -.06}, {0, 1, 0}, {0, 0, -.03}, 0.10, .010, .010, .03};
/* clang-format on */
static const double TIP = 0.008, FINGER_LONG = 0.08, SHOULDER = 0.40;

static kn_body add(kn_build* b, kn_body parent, const part* t, int side, const double* p) {
  double y = side < 0 ? -1.0 : 1.0;
  char name[32];
  snprintf(name, sizeof name, "%s%s", t->name, side > 0 ? "_L" : side < 0 ? "_R" : "");
  kn_v3 root = parent == KN_WORLD ? kn_at(0, 0, SHOULDER) : kn_at(0, 0, 0);
  kn_body body =
      kn_body_solid(b, name, parent, kn_at(root.x + t->pos.x, y * t->pos.y, root.z + t->pos.z), t->mass,
                    kn_at(t->com.x, y * t->com.y, t->com.z), kn_box_moments(t->mass, t->hx, t->hy, t->hz));
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  j.name = name;
  j.body = body;
  kn_put(j.axis, kn_at(y * t->axis.x, t->axis.y, y * t->axis.z));
  j.damping = 0.05;
  j.armature = 0.002;
  kn_joint joint = kn_make_joint(b, &j);
  kn_actuator_def a = kn_actuator_position(joint, p[KP], p[KV]);
  a.name = name;
  kn_make_actuator(b, &a);
  kn_geom_def g = kn_box(body, t->hx, t->hy, t->hz);
  kn_put(g.pos, kn_at(t->com.x, y * t->com.y, t->com.z));
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.60f, 0.62f, 0.66f);
  kn_make_geom(b, &g);
  return body;
}

static void add_tip(kn_build* b, kn_body finger, int index, int side, const double* p) {
  char name[32];
  snprintf(name, sizeof name, "tip%d_%c", index, side > 0 ? 'L' : 'R');
  kn_geom_def g = kn_sphere(finger, TIP);
  g.name = name;
  g.pos[2] = -FINGER_LONG;
  g.contype = 0; /* touches the table only */
  g.material.mu = p[MU];
  kn_paint(&g, 0.15f, 0.15f, 0.18f);
  kn_make_geom(b, &g);
}

static kn_status build(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  double table = SHOULDER - .12 - .16 - .05 - .04 - .02 - FINGER_LONG - TIP;
  kn_geom_def plane = kn_plane(kn_at(0, 0, table), kn_at(0, 0, 1));
  plane.name = "table";
  plane.material.mu = p[MU];
  kn_make_geom(&b, &plane);
  kn_body at = KN_WORLD;
  for (int i = 0; i < 4; i++) at = add(&b, at, &HEAD[i], 0, p);
  for (int side = 1; side >= -1; side -= 2) {
    at = KN_WORLD;
    for (int i = 0; i < 7; i++) at = add(&b, at, &ARM[i], side, p);
    kn_body spread = add(&b, at, &SPREAD, side, p);
    for (int i = 0; i < 2; i++) add_tip(&b, add(&b, spread, &FINGER[i], side, p), i + 1, side, p);
    add(&b, at, &THUMB, side, p);
  }
  return b.status;
}

static const kn_scene_param param[] = {{"mu", 0.5, 0, 1e6, false, "friction coefficient"},
                                       {"kp", 200, 0, 1e6, false, "servo stiffness, N m/rad"},
                                       {"kv", 5, 0, 1e6, false, "servo damping, N m s/rad"},
                                       {0}};
const kn_scene kn_scene_dual_arm = {
    .name = "dual-arm",
    .watch = "the sizes of the problems that each formulation sets up (`compare dual-arm`): they agree to "
             "rounding and differ in rows",
    .purpose = "26 links, 26 dofs, fingertips on a table: sizes of the formulations' problems",
    .citation = "Jain, 2014, Figure 1 and Table 1 (masses and dimensions are ours)",
    .param = param,
    .build = build,
    .dt = 1e-3,
    .duration = 2.0,
};
