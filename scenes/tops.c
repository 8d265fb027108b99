/* Tops on spherical tips, a coin and a rattleback. */
#include <math.h>

#include "build.h"
#include "scene.h"

enum { TOP_SPIN, TOP_TILT, TOP_MU, TOP_UPRIGHT, TOP_TORSION };

static void free_joint(kn_build* b, kn_body body, const char* name) {
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.name = name;
  j.body = body;
  kn_make_joint(b, &j);
}

/* A symmetric body; spheres on its axis touch the floor. Its origin is the centre of mass. */
static kn_body add_top(kn_build* b, double mass, double I1, double I3) {
  kn_body body = kn_body_solid(b, "top", KN_WORLD, kn_at(0, 0, 1), mass, kn_at(0, 0, 0), kn_at(I1, I1, I3));
  free_joint(b, body, "top");
  return body;
}

static void add_knob(kn_build* b, kn_body body, const char* name, double z, double radius, double mu,
                     double torsion) {
  kn_geom_def g = kn_sphere(body, radius);
  g.name = name;
  g.pos[2] = z;
  g.material.mu = mu;
  g.material.torsion = torsion;
  if (torsion > 0.0) g.condim = 4;
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
  add_knob(&b, body, "sphere", TIPPE_A1, TIPPE_R1, p[TOP_MU], p[TOP_TORSION]);
  add_knob(&b, body, "stem", TIPPE_A2, TIPPE_R2, p[TOP_MU], p[TOP_TORSION]);
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
    {"torsion", 0, 0, 1, false, "friction of spin, m: 1e-4 is a patch of half a millimetre"},
    {0}};
const kn_scene kn_scene_tippe_top = {
    .name = "tippe-top",
    .watch = "the axis leans over and the centre of mass rises (q.top.z) although energy is lost: with "
             "torsion=1e-4 the "
             "top ends on its stem, without it at 136 degrees",
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
  add_knob(&b, body, "tip", -TIP, TIP_R, p[TOP_MU], 0.0);
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
    .watch = "the axis circles slowly (precession) with a small quick wobble (nutation)",
    .purpose = "a fast top precesses on its tip",
    .citation = "slow precession near m g l / (I3 omega)",
    .param = spinning_param,
    .build = build_spinning,
    .setup = setup_spinning,
    .dt = 5e-4,
    .duration = 3.0,
};

/* ---- a spinning coin ----

   A thin disc rolls on its rim round a point, its centre at rest: the contact point runs round with the rate W,
   W² sin(tilt) = 4 g/R (H. K. Moffatt 2000; no thickness), and the angular velocity W sin(tilt) lies along the
   diameter to the contact point, which is the body's x axis. */

enum { COIN_TILT, COIN_MU, COIN_R, COIN_H, COIN_RATE };

static kn_status build_coin(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double m = 0.0075, r = p[COIN_R], h = p[COIN_H];
  kn_geom_def ground = kn_floor(p[COIN_MU], 0.0);
  kn_make_geom(&b, &ground);
  double across = m * (3 * r * r + h * h) / 12;
  kn_body coin = kn_body_solid(&b, "coin", KN_WORLD, kn_at(0, 0, 1), m, kn_at(0, 0, 0),
                               kn_at(across, across, 0.5 * m * r * r));
  free_joint(&b, coin, "coin");
  kn_geom_def g = kn_geom_default(KN_SHAPE_CYLINDER);
  g.body = coin;
  g.name = "coin";
  g.shape.size[0] = r;
  g.shape.size[1] = 0.5 * h;
  g.material.mu = p[COIN_MU];
  kn_paint(&g, 0.80f, 0.62f, 0.20f);
  kn_make_geom(&b, &g);
  return b.status;
}

static kn_status setup_coin(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double *q = kn_state_q(state), *v = kn_state_v(state), s, c, r = p[COIN_R];
  kn_sincos_exact(&s, &c, p[COIN_TILT]);
  q[2] = r * s + 0.5 * p[COIN_H] * c;
  kn_quat_about(q + 3, kn_at(0, 1, 0), p[COIN_TILT]);
  v[3] = p[COIN_RATE] * sqrt(4 * 9.81 * s / r);
  return KN_OK;
}

static const kn_scene_param coin_param[] = {
    {"tilt", 0.4, 0.01, 1.5, false, "first angle of the coin to the floor, rad"},
    {"mu", 0.5, 0, 1e6, false, "friction coefficient"},
    {"radius", 0.0116, 1e-3, 1, false, "m (1 euro)"},
    {"thickness", 1e-4, 1e-6, 0.1, false, "m (1 euro: 2.33e-3)"},
    {"rate", 1, -10, 10, false, "rate of the circling, times the steady one"},
    {0}};
const kn_scene kn_scene_spinning_coin = {
    .name = "spinning-coin",
    .purpose = "a coin rolls round on its rim, its centre at rest",
    .citation = "H. K. Moffatt 2000: W^2 sin(tilt) = 4 g/R; with tilt 0.4 and R 11.6 mm the contact point "
                "runs round at "
                "93.2 rad/s",
    .watch = "the height of the centre (q.coin.z) stays, the contact point runs round 14.8 times a second; "
             "nothing slides "
             "and nothing is lost. rate=0.9: the coin nutates; thickness=0.00233: so does a real one",
    .param = coin_param,
    .build = build_coin,
    .setup = setup_coin,
    .dt = 1e-3,
    .duration = 1.0,
    .stepper =
        "event", /* rolls without loss; the time stepper loses of first order where curvatures are strong */
};

/* ---- a rattleback ----

   Half an ellipsoid whose principal axes of inertia are turned against its curvatures by a few degrees: rolling
   couples spin to rocking, with a sign. T. R. Kane, D. A. Levinson 1982: semi-axes 0.2, 0.03, 0.02 m, centre of
   mass 0.01 m below the ellipsoid's centre, 1 kg, moments A 2e-4, B 1.6e-3, C 1.7e-3, product D -2e-5 kg m²
   (D = 0 with skew = 0). */

enum { BACK_SPIN, BACK_ROCK, BACK_SKEW, BACK_MU };

static kn_status build_rattleback(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[BACK_MU], 0.0);
  kn_make_geom(&b, &ground);
  kn_body_def d = kn_body_default();
  d.name = "stone";
  d.mass = 1.0;
  d.inertia[0] = 2e-4, d.inertia[1] = 1.6e-3, d.inertia[2] = 1.7e-3;
  kn_quat_about(d.inertia_quat, kn_at(0, 0, 1), p[BACK_SKEW] * (3.14159265358979323846 / 180));
  kn_body stone = kn_make_body(&b, &d);
  free_joint(&b, stone, "stone");
  kn_geom_def g = kn_geom_default(KN_SHAPE_ELLIPSOID);
  g.body = stone;
  g.name = "stone";
  g.shape.size[0] = 0.2, g.shape.size[1] = 0.03, g.shape.size[2] = 0.02;
  g.pos[2] = 0.01;
  g.material.mu = p[BACK_MU];
  kn_paint(&g, 0.45f, 0.50f, 0.42f);
  kn_make_geom(&b, &g);
  return b.status;
}

static kn_status setup_rattleback(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double *q = kn_state_q(state), *v = kn_state_v(state);
  q[2] = 0.01;
  v[4] = p[BACK_ROCK];
  v[5] = p[BACK_SPIN];
  return KN_OK;
}

static const kn_scene_param rattleback_param[] = {
    {"spin", -5, -100, 100, false, "first rate about the vertical, rad/s"},
    {"rock", 0.1, -10, 10, false, "first rate of rocking along the stone, rad/s"},
    {"skew", 0.82, -45, 45, false, "angle between axes of inertia and curvature, degrees"},
    {"mu", 1, 0, 1e6, false, "friction coefficient"},
    {0}};
const kn_scene kn_scene_rattleback = {
    .name = "rattleback",
    .watch = "the spin v.stone.wz: -5 rad/s, rattling from 1.5 s, zero at 3.8 s, +5 rad/s at 7 s; with "
             "spin=5 it goes on as it is. The energy stays throughout: nothing slides",
    .purpose = "a stone that spins one way only: it rattles and turns round",
    .citation = "T. R. Kane and D. A. Levinson 1982",
    .param = rattleback_param,
    .build = build_rattleback,
    .setup = setup_rattleback,
    .dt = 1e-3,
    .duration = 8.0,
    .stepper = "event",
};
