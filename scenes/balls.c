/* Single round bodies and Newton's cradle. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

/* ---- bouncing ball ---- */

enum { HEIGHT, RADIUS, MASS, E, MU, VX };

static kn_status build_bouncing(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[MU], p[E]);
  kn_make_geom(&b, &ground);
  kn_ball_free(&b, "ball", kn_at(0, 0, p[RADIUS] + p[HEIGHT]), p[RADIUS], p[MASS], p[MU], p[E]);
  return b.status;
}

static kn_status setup_bouncing(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_v(state)[0] = p[VX];
  return KN_OK;
}

static const kn_scene_param bouncing_param[] = {{"height", 1, 0, 1e3, false, "first gap to the floor, m"},
                                                {"radius", 0.1, 1e-4, 100, false, "m"},
                                                {"mass", 1, 1e-6, 1e6, false, "kg"},
                                                {"e", 0.9, 0, 1, false, "restitution coefficient"},
                                                {"mu", 0, 0, 1e6, false, "friction coefficient"},
                                                {"vx", 0, -100, 100, false, "first sideways velocity, m/s"},
                                                {0}};
const kn_scene kn_scene_bouncing_ball = {
    .name = "bouncing-ball",
    .watch = "each rebound reaches e^2 of the height before; impacts come ever closer and end at 8.579 s, "
             "then it rests",
    .purpose = "a ball bounces to rest: restitution and the end of a Zeno sequence",
    .citation = "h = 1, e = 0.9, g = 9.81: first impact 0.4515236410 s, rest at 8.578949179 s",
    .param = bouncing_param,
    .build = build_bouncing,
    .setup = setup_bouncing,
    .dt = 1e-3,
    .duration = 10.0,
};

/* ---- superball: thrown with backspin it comes back ----

   At a bounce friction stops the contact point (mu large enough): m (v' - v) = p, (2/5) m r² (w' - w) = -r p and
   v' = r w' give v' = (5 v + 2 r w)/7. With w < -5 v/(2 r) the ball turns round. */

enum { SUPER_HEIGHT, SUPER_V, SUPER_SPIN, SUPER_E, SUPER_MU, SUPER_R };

static kn_status build_super(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[SUPER_MU], p[SUPER_E]);
  kn_make_geom(&b, &ground);
  kn_ball_free(&b, "ball", kn_at(0, 0, p[SUPER_R] + p[SUPER_HEIGHT]), p[SUPER_R], 0.05, p[SUPER_MU],
               p[SUPER_E]);
  return b.status;
}

static kn_status setup_super(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_v(state)[0] = p[SUPER_V];
  kn_state_v(state)[4] = p[SUPER_SPIN]; /* about y: rolling when v = spin r */
  return KN_OK;
}

static const kn_scene_param super_param[] = {
    {"height", 1, 0, 1e3, false, "first gap to the floor, m"},
    {"speed", 1, -100, 100, false, "first sideways velocity, m/s"},
    {"spin", -150, -1e4, 1e4, false, "first rate about y, rad/s; negative: backspin"},
    {"e", 0.9, 0, 1, false, "restitution coefficient"},
    {"mu", 1, 0, 1e6, false, "friction coefficient"},
    {"radius", 0.03, 1e-3, 10, false, "m"},
    {0}};
const kn_scene kn_scene_superball = {
    .name = "superball",
    .purpose = "a bouncing ball with backspin turns round at its first bounce",
    .citation = "friction stops the contact point: v' = (5 v + 2 r w)/7 = -0.571428571 m/s with the defaults",
    .watch =
        "the sign of v.ball.vx at 0.4515 s: -0.5714 m/s from there on (`plot run.mcap v.ball`); the contact "
        "point does not slide at later bounces, so they change vx no more. With mu=0.1 the ball slides at "
        "several bounces before it rolls off each",
    .param = super_param,
    .build = build_super,
    .setup = setup_super,
    .dt = 1e-3,
    .duration = 4.0,
};

/* ---- rolling sphere ---- */

enum { ROLL_V, ROLL_MU, ROLL_R, ROLL_SPIN };

static kn_status build_rolling(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[ROLL_MU], 0.0);
  kn_make_geom(&b, &ground);
  kn_ball_free(&b, "ball", kn_at(0, 0, p[ROLL_R]), p[ROLL_R], 1.0, p[ROLL_MU], 0.0);
  return b.status;
}

static kn_status setup_rolling(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_v(state)[0] = p[ROLL_V];
  kn_state_v(state)[4] = p[ROLL_SPIN]; /* about y: rolling when v = spin r */
  return KN_OK;
}

static const kn_scene_param rolling_param[] = {{"speed", 1, -1000, 1000, false, "first speed, m/s"},
                                               {"mu", 0.2, 0, 1e6, false, "friction coefficient"},
                                               {"radius", 0.1, 1e-3, 10, false, "m"},
                                               {"spin", 0, -1e4, 1e4, false, "first rate about y, rad/s"},
                                               {0}};
const kn_scene kn_scene_rolling_sphere = {
    .name = "rolling-sphere",
    .watch = "it slides until 0.1456 s, then rolls at 5/7 of its first speed and friction is zero",
    .purpose = "a sphere slides, then rolls",
    .citation = "v0 = 1, mu = 0.2: rolls from t = 0.145623999 s, v = 5/7, s = 0.124820570 m",
    .param = rolling_param,
    .build = build_rolling,
    .setup = setup_rolling,
    .dt = 1e-3,
    .duration = 1.0,
};

/* ---- Newton's cradle: pendulums of length 1 m, the first ones swing into the row ---- */

enum { BALLS, GAP, SPEED, CRADLE_E, MOVING };

static kn_status build_cradle(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double r = 0.05, m = 1.0, I = 0.4 * m * r * r;
  for (int i = 0; i < (int)p[BALLS]; i++) {
    char name[32];
    snprintf(name, sizeof name, "ball%d", i);
    kn_body body = kn_body_solid(&b, name, KN_WORLD, kn_at(i * (2 * r + p[GAP]), 0, 1), m, kn_at(0, 0, -1),
                                 kn_at(I, I, I));
    kn_joint_on(&b, body, KN_JOINT_HINGE, name, kn_at(0, -1, 0)); /* positive: towards +x */
    kn_geom_def g = kn_sphere(body, r);
    g.name = name;
    g.pos[2] = -1.0;
    g.material.mu = 0.0;
    g.material.e = p[CRADLE_E];
    kn_paint(&g, 0.65f, 0.68f, 0.72f);
    kn_make_geom(&b, &g);
    kn_geom_def string = kn_capsule_between(body, 0.003, kn_at(0, 0, 0), kn_at(0, 0, -1 + r));
    string.contype = string.conaffinity = 0;
    kn_make_geom(&b, &string);
  }
  return b.status;
}

static kn_status setup_cradle(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  for (int i = 0; i < (int)p[MOVING] && i < (int)p[BALLS]; i++) kn_state_v(state)[i] = p[SPEED];
  return KN_OK;
}

static const kn_scene_param cradle_param[] = {
    {"balls", 5, 2, 100, true, "number of balls"},
    {"gap", 1e-3, 0, 0.1, false, "first gap between balls, m; 0: they touch"},
    {"speed", 1, -10, 10, false, "first speed of the first ball, m/s"},
    {"e", 1, 0, 1, false, "restitution coefficient"},
    {"moving", 1, 1, 100, true, "balls that come with this speed"},
    {0}};
const kn_scene kn_scene_newton_cradle = {
    .name = "newton-cradle",
    .watch =
        "the first ball stops at 1 ms, the last one leaves with 1 m/s at 5 ms, swings 51 mm high and is "
        "back after a second, when the first one flies. With gap=0 the balls touch, and what leaves is a "
        "matter of the law: --law newton (the scene's) or poisson, all at once: the first rebounds; "
        "sequential, one after the other: as many leave as came (moving=2, moving=3); stronge, springs "
        "between the balls: most of it leaves with the last, the others drift",
    .purpose = "an impact runs through a row of balls: the last one flies off, the others stay",
    .citation = "balls with gaps: velocities (0, ..., 0, 1); 5 touching balls, e = 1: (0, 0, 0, 0, 1) by law "
                "sequential; 3 touching balls, simultaneous Newton law: (-1/3, 2/3, 2/3)",
    .param = cradle_param,
    .build = build_cradle,
    .setup = setup_cradle,
    .dt = 1e-3,
    .duration = 3.0,
    .law = "newton",
};
