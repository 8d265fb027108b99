/* Tops: bodies of revolution on spherical tips. */
#include "build.h"
#include "scene.h"

enum { TOP_SPIN, TOP_TILT, TOP_MU, TOP_UPRIGHT };

/* A symmetric body; spheres on its axis touch the floor. Its origin is the centre of mass. */
static kn_body add_top(kn_build* b, double mass, double I1, double I3) {
  kn_body body = kn_body_solid(b, "top", KN_WORLD, kn_at(0, 0, 1), mass, kn_at(0, 0, 0), kn_at(I1, I1, I3));
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.name = "top";
  j.body = body;
  kn_make_joint(b, &j);
  return body;
}

static void add_knob(kn_build* b, kn_body body, const char* name, double z, double radius, double mu) {
  kn_geom_def g = kn_sphere(body, radius);
  g.name = name;
  g.pos[2] = z;
  g.material.mu = mu;
  kn_paint(&g, 0.75f, 0.35f, 0.55f);
  kn_make_geom(b, &g);
}

/* Leine and Glocker's tippe top: sphere R1 with its centre a1 above the centre of mass, stem R2 at a2. */
static const double TIPPE_R1 = 0.015, TIPPE_R2 = 0.005, TIPPE_A1 = 0.003, TIPPE_A2 = 0.016;

static kn_status build_tippe(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[TOP_MU], 0.0);
  kn_make_geom(&b, &ground);
  kn_body body = add_top(&b, 0.006, 8e-7, 7e-7);
  add_knob(&b, body, "sphere", TIPPE_A1, TIPPE_R1, p[TOP_MU]);
  add_knob(&b, body, "stem", TIPPE_A2, TIPPE_R2, p[TOP_MU]);
  return b.status;
}

static void spin_up(kn_state* state, double height, const double* p) {
  double *q = kn_state_q(state), *v = kn_state_v(state);
  q[2] = height;
  kn_quat_about(q + 3, kn_at(1, 0, 0), p[TOP_TILT]);
  double s, c, upright = p[TOP_UPRIGHT];
  kn_sincos_exact(&s, &c, p[TOP_TILT]);
  v[4] = upright * p[TOP_SPIN] * s; /* body axes: about the axis of symmetry, or about the vertical */
  v[5] = p[TOP_SPIN] * (upright * c + 1.0 - upright);
}

static kn_status setup_tippe(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double s, c;
  kn_sincos_exact(&s, &c, p[TOP_TILT]);
  spin_up(state, TIPPE_R1 - TIPPE_A1 * c, p);
  return KN_OK;
}

static const kn_scene_param tippe_param[] = {
    {"spin", 180, -1e4, 1e4, false, "first rate about the axis, rad/s"},
    {"tilt", 0.1, 0, 3, false, "first angle of the axis, rad"},
    {"mu", 0.3, 0, 1e6, false, "friction coefficient"},
    {"upright", 1, 0, 1, true, "1: first rate about the vertical, 0: about the axis"},
    {0}};
const kn_scene kn_scene_tippe_top = {
    .name = "tippe-top",
    .purpose = "a top turns over onto its stem by sliding friction",
    .citation = "Leine and Glocker 2003: m 6 g, R 15 and 5 mm, a 3 and 16 mm, I1 8e-7, I3 7e-7 kg m^2",
    .param = tippe_param,
    .build = build_tippe,
    .setup = setup_tippe,
    .dt = 1e-4,
    .duration = 4.0,
};

/* A heavy top on a small spherical tip, 0.1 kg, tip 40 mm below the centre of mass. */
static const double TIP = 0.04, TIP_R = 0.002;

static kn_status build_spinning(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[TOP_MU], 0.0);
  kn_make_geom(&b, &ground);
  kn_body body = add_top(&b, 0.1, 3e-5, 5e-5);
  add_knob(&b, body, "tip", -TIP, TIP_R, p[TOP_MU]);
  kn_geom_def disc = kn_geom_default(KN_SHAPE_CYLINDER);
  disc.body = body;
  disc.name = "disc";
  disc.shape.size[0] = 0.03;
  disc.shape.size[1] = 0.005;
  disc.material.mu = p[TOP_MU];
  kn_paint(&disc, 0.30f, 0.50f, 0.70f);
  kn_make_geom(&b, &disc);
  kn_geom_def stem =
      kn_capsule_between(body, 0.0019, kn_at(0, 0, -TIP), kn_at(0, 0, 0.03)); /* only to look at */
  stem.contype = stem.conaffinity = 0;
  kn_make_geom(&b, &stem);
  return b.status;
}

static kn_status setup_spinning(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double s, c;
  kn_sincos_exact(&s, &c, p[TOP_TILT]);
  spin_up(state, TIP_R + TIP * c, p);
  return KN_OK;
}

static const kn_scene_param spinning_param[] = {
    {"spin", 200, -1e4, 1e4, false, "first rate about the axis, rad/s"},
    {"tilt", 0.2, 0, 1.2, false, "first angle of the axis, rad"},
    {"mu", 0.5, 0, 1e6, false, "friction coefficient"},
    {"upright", 0, 0, 1, true, "1: first rate about the vertical, 0: about the axis"},
    {0}};
const kn_scene kn_scene_spinning_top = {
    .name = "spinning-top",
    .purpose = "a fast top precesses on its tip",
    .citation = "slow precession near m g l / (I3 omega)",
    .param = spinning_param,
    .build = build_spinning,
    .setup = setup_spinning,
    .dt = 5e-4,
    .duration = 3.0,
};
