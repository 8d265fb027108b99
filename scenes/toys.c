/* Painlevé's rod, the woodpecker, and a gripper. */
#include <math.h>

#include "build.h"
#include "scene.h"

#define PI 3.14159265358979323846

static void add_point(kn_build* b, kn_body body, const char* name, kn_v3 pos, double radius, double mu,
                      double e) {
  kn_geom_def g = kn_sphere(body, radius);
  g.name = name;
  kn_put(g.pos, pos);
  g.material.mu = mu;
  g.material.e = e;
  kn_make_geom(b, &g);
}

static void add_picture(kn_build* b, kn_geom_def g) {
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.55f, 0.45f, 0.35f);
  kn_make_geom(b, &g);
}

/* ---- Painlevé: a uniform rod slides with its lower tip on the floor, the tip going ahead ----

   In the x-z plane; phi is the angle to the floor. With W_nn = (1 + 3 cos²phi)/m and W_nt = 3 sin phi cos
   phi/m (rod of half length such that l²/(12 k²) = 1) the contact matrix loses its sign at mu = (1 + 3
   cos²phi)/(3 sin phi cos phi), least 4/3 at 63.4349°. */

enum { PHI, ROD_MU, ROD_V, ROD_W };

static kn_status build_rod(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double half = 0.5, m = 1.0, tip = 1e-6;
  kn_geom_def ground = kn_floor(p[ROD_MU], 0.0);
  kn_make_geom(&b, &ground);
  kn_body rod = kn_body_solid(&b, "rod", KN_WORLD, kn_at(0, 0, 0), m, kn_at(0, 0, 0),
                              kn_rod_moments(m, 2 * half, tip, 0));
  kn_joint_def j = kn_joint_default(KN_JOINT_PLANAR);
  j.name = "rod";
  j.body = rod;
  kn_put(j.axis, kn_at(0, -1, 0)); /* turns x towards z */
  kn_put(j.axis2, kn_at(1, 0, 0));
  kn_make_joint(&b, &j);
  add_point(&b, rod, "tip", kn_at(-half, 0, 0), tip, p[ROD_MU], 0.0);
  add_point(&b, rod, "top", kn_at(half, 0, 0), tip, p[ROD_MU], 0.0);
  add_picture(&b, kn_capsule_between(rod, 0.01, kn_at(-half, 0, 0), kn_at(half, 0, 0)));
  return b.status;
}

/* Coordinates (x, z, angle); slides along axis2 = x and axis × axis2 = (0,-1,0) × (1,0,0) = +z. The rod leans
   backwards: its tip leads in the direction of the speed. */
static kn_status setup_rod(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double s, c, phi = p[PHI] * (PI / 180.0), half = 0.5;
  kn_sincos_exact(&s, &c, phi);
  double *q = kn_state_q(state), *v = kn_state_v(state);
  q[1] = half * s + 1e-6;
  q[2] = phi;
  /* tip velocity (v, 0): centre = tip + half (c, s) */
  v[2] = p[ROD_W];
  v[0] = p[ROD_V] - p[ROD_W] * half * s;
  v[1] = p[ROD_W] * half * c;
  return KN_OK;
}

static const kn_scene_param rod_param[] = {
    {"phi", 63.4349488229, 1, 89, false, "angle to the floor, degrees"},
    {"mu", 1.6, 0, 1e6, false, "friction coefficient"},
    {"speed", -2, -100, 100, false, "first speed of the tip, m/s; negative: the tip leads"},
    {"rate", 0, -100, 100, false, "first rate, rad/s"},
    {0}};
const kn_scene kn_scene_painleve_rod = {
    .name = "painleve-rod",
    .watch = "the instant t = 0: `diagnose painleve-rod` finds no force that obeys the laws (mu above 4/3); "
             "the step answers with an impact that stops the tip, and from 0.1 ms on the force is unique. "
             "With rate=6 or -6 two solutions exist at t = 0 and the tip lifts off by 1 ms; with mu=1.2 the "
             "force is unique from the start. At 0.69 s the rod lies flat",
    .purpose = "a sliding rod for which rigid contact forces do not exist or are not unique",
    .citation = "Painleve 1895; critical friction (1 + 3 cos^2)/(3 sin cos), least 4/3 at 63.4349 degrees",
    .param = rod_param,
    .build = build_rod,
    .setup = setup_rod,
    .dt = 1e-4,
    .duration = 1.0,
};

/* ---- the woodpecker toy (Glocker; Leine, Glocker, van Campen 2003) ----

   Sleeve (slide, hinge) on a pole, woodpecker on a spring hinge. Contacts: beak with the pole, and the
   sleeve's lower and upper edge with the pole, all on the side x = r_O. The papers linearise the geometry;
   here it is exact. */

static const double R_O = .0025, R_M = .0031, H_M = .0058, L_M = .01, L_G = .015, H_S = .02, L_S = .0201;

static kn_status build_woodpecker(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  const double mu = 0.3, r = 1e-6;
  kn_geom_def pole = kn_plane(kn_at(R_O, 0, 0), kn_at(1, 0, 0));
  pole.name = "pole";
  pole.material.mu = mu;
  kn_make_geom(&b, &pole);
  kn_body sleeve =
      kn_body_solid(&b, "sleeve", KN_WORLD, kn_at(0, 0, 0), 3e-4, kn_at(0, 0, 0), kn_at(5e-9, 5e-9, 5e-9));
  kn_joint_on(&b, sleeve, KN_JOINT_SLIDE, "height", kn_at(0, 0, 1));
  kn_joint_on(&b, sleeve, KN_JOINT_HINGE, "sleeve", kn_at(0, -1, 0));
  kn_body bird = kn_body_solid(&b, "woodpecker", sleeve, kn_at(L_M, 0, 0), .0045, kn_at(L_G, 0, 0),
                               kn_at(7e-7, 7e-7, 7e-7));
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  j.name = "woodpecker";
  j.body = bird;
  kn_put(j.axis, kn_at(0, -1, 0));
  j.stiffness = .0056;
  kn_make_joint(&b, &j);
  add_point(&b, bird, "beak", kn_at(L_G - L_S + r, 0, H_S), r, mu, 0.5);
  add_point(&b, sleeve, "lower", kn_at(R_M + r, 0, -H_M), r, mu, 0.0);
  add_point(&b, sleeve, "upper", kn_at(R_M + r, 0, H_M), r, mu, 0.0);
  kn_geom_def body = kn_capsule_between(bird, 0.004, kn_at(L_G, 0, -0.01), kn_at(L_G, 0, 0.015));
  add_picture(&b, body);
  add_picture(&b, kn_capsule_between(bird, 0.001, kn_at(L_G, 0, 0.018), kn_at(L_G - L_S, 0, H_S)));
  add_picture(&b, kn_capsule_between(sleeve, 0.001, kn_at(R_M, 0, -H_M), kn_at(R_M, 0, H_M)));
  return b.status;
}

static kn_status setup_woodpecker(kn_state* state, const kn_model* model, const double* p) {
  (void)model, (void)p;
  double *q = kn_state_q(state), *v = kn_state_v(state);
  q[1] = -.1036, q[2] = -.2788 - q[1]; /* absolute angles in the papers */
  v[0] = -.3411, v[1] = 0.0, v[2] = -7.4583;
  return KN_OK;
}

const kn_scene kn_scene_woodpecker = {
    .name = "woodpecker",
    .watch = "beak and sleeve strike the pole in a fixed order, peck after peck: a limit cycle",
    .purpose = "impacts, sticking and a limit cycle: the woodpecker toy",
    .citation = "Leine, Glocker, van Campen 2003; parameters of Siconos' example",
    .build = build_woodpecker,
    .setup = setup_woodpecker,
    .dt = 2e-5,
    .duration = 0.3,
    .law = "newton",
};

/* ---- gripper: two fingers pinch a capsule and carry it ----

   A palm on a vertical slide, moved as prescribed; two fingers on slides along x, each pushed by a constant
   force; a capsule of 45 g, radius 20 mm, core 60 mm along y between them. The squeeze is MARGIN times what
   friction needs to carry the weight: F = margin m g / (2 mu). */

enum { GRIP_MU, GRIP_MARGIN, SHAKE, SHAKE_HZ };
static const double GRIP_MASS = 0.045, GRIP_R = 0.02, GRIP_HALF = 0.03;

static void add_finger(kn_build* b, kn_body palm, bool left, double squeeze, double mu) {
  double side = left ? -1.0 : 1.0;
  const char* name = left ? "left" : "right";
  kn_body finger = kn_body_shaped(b, name, palm, kn_at(side * (GRIP_R + 0.01), 0, -0.10));
  kn_joint joint = kn_joint_on(b, finger, KN_JOINT_SLIDE, name, kn_at(-side, 0, 0)); /* positive closes */
  kn_geom_def g = kn_box(finger, 0.01, 0.03, 0.03);
  g.name = name;
  g.mass = 0.2;
  g.material.mu = mu;
  kn_paint(&g, 0.35f, 0.40f, 0.50f);
  kn_make_geom(b, &g);
  kn_actuator_def a = kn_actuator_default(); /* motor: a force whatever the control */
  a.name = name;
  a.joint[0] = joint;
  a.bias[0] = squeeze;
  kn_make_actuator(b, &a);
}

static kn_status build_gripper(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  double squeeze = p[GRIP_MARGIN] * GRIP_MASS * 9.81 / (2.0 * p[GRIP_MU]);
  kn_body palm = kn_body_solid(&b, "palm", KN_WORLD, kn_at(0, 0, 0.5), 1.0, kn_at(0, 0, 0),
                               kn_box_moments(1.0, 0.08, 0.04, 0.02));
  kn_joint lift = kn_joint_on(&b, palm, KN_JOINT_SLIDE, "lift", kn_at(0, 0, 1));
  add_picture(&b, kn_box(palm, 0.08, 0.04, 0.02));
  add_finger(&b, palm, true, squeeze, p[GRIP_MU]);
  add_finger(&b, palm, false, squeeze, p[GRIP_MU]);
  kn_body capsule = kn_body_shaped(&b, "capsule", KN_WORLD, kn_at(0, 0, 0.4));
  kn_joint_free_on(&b, capsule);
  kn_geom_def g = kn_capsule_between(capsule, GRIP_R, kn_at(0, -GRIP_HALF, 0), kn_at(0, GRIP_HALF, 0));
  g.name = "capsule";
  g.mass = GRIP_MASS;
  g.material.mu = p[GRIP_MU];
  kn_paint(&g, 0.80f, 0.40f, 0.20f);
  kn_make_geom(&b, &g);
  kn_loop_def l = kn_loop_default(KN_LOOP_COUPLING); /* lift = shake sin(2 pi f t) */
  l.name = "lift";
  l.joint1 = lift;
  l.coef[1] = 0.0;
  l.motion.kind = KN_MOTION_SINE;
  l.motion.c[1] = p[SHAKE];
  l.motion.c[2] = 2.0 * PI * p[SHAKE_HZ];
  kn_make_loop(&b, &l);
  return b.status;
}

static kn_status setup_gripper(kn_state* state, const kn_model* model, const double* p) {
  *kn_joint_v(state, model, "lift") = p[SHAKE] * 2.0 * PI * p[SHAKE_HZ];
  kn_body capsule;
  kn_status status = kn_model_find_body(&capsule, model, "capsule");
  if (status != KN_OK) return status;
  int nv = kn_model_nv(model);
  kn_state_v(state)[nv - 6 + 2] = p[SHAKE] * 2.0 * PI * p[SHAKE_HZ]; /* the capsule's free joint comes last */
  return KN_OK;
}

static const kn_scene_param gripper_param[] = {
    {"mu", 0.8, 1e-3, 1e3, false, "friction coefficient"},
    {"margin", 20, 0, 1e6, false, "squeeze relative to the least that carries the weight"},
    {"shake", 0, 0, 1, false, "amplitude of the palm's motion, m"},
    {"hz", 2, 0, 100, false, "frequency of the palm's motion, 1/s"},
    {0}};
const kn_scene kn_scene_gripper = {
    .name = "gripper",
    .watch = "the object stays between the fingers while they shake: no creep along the pads",
    .purpose = "two fingers hold a 45 g capsule without creep, at rest or shaken",
    .citation = "",
    .dimensions =
        "capsule 45 g, radius 20 mm, core 60 mm across the fingers; two fingers of 0.2 kg on slides, "
        "pads 20 x 60 x 60 mm, pushed by margin m g/(2 mu) each; palm 1 kg on a prescribed vertical slide",
    .param = gripper_param,
    .build = build_gripper,
    .setup = setup_gripper,
    .dt = 1e-3,
    .duration = 5.0,
};
