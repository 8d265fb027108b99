/* Boxes on boxes: stack, wall, dominoes. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

static kn_body add_block(kn_build* b, const char* name, kn_v3 pos, kn_v3 half, double mass, double mu,
                         double e, int shade) {
  kn_body body = kn_body_shaped(b, name, KN_WORLD, pos);
  kn_joint_free_on(b, body);
  kn_geom_def g = kn_box(body, half.x, half.y, half.z);
  g.name = name;
  g.mass = mass;
  g.material.mu = mu;
  g.material.e = e;
  kn_paint(&g, shade % 2 ? 0.80f : 0.70f, shade % 2 ? 0.50f : 0.62f, shade % 2 ? 0.30f : 0.45f);
  kn_make_geom(b, &g);
  return body;
}

/* ---- stack ---- */

enum { BOXES, SIZE, MASS, RATIO, MU, E, GAP, JITTER };

static kn_status build_stack(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[MU], p[E]);
  kn_make_geom(&b, &ground);
  uint64_t seed = 1;
  int n = (int)p[BOXES];
  double h = p[SIZE] / 2;
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "box%d", i);
    double mass = i == n - 1 && n > 1 ? p[MASS] * p[RATIO] : p[MASS];
    double x = kn_jitter(&seed, -p[JITTER], p[JITTER]), y = kn_jitter(&seed, -p[JITTER], p[JITTER]);
    add_block(&b, name, kn_at(x, y, h + i * (2 * h + p[GAP])), kn_at(h, h, h), mass, p[MU], p[E], i);
  }
  return b.status;
}

static const kn_scene_param stack_param[] = {
    {"boxes", 10, 1, 1000, true, "number of boxes"},
    {"size", 0.1, 1e-3, 100, false, "edge length, m"},
    {"mass", 1, 1e-6, 1e9, false, "mass of a box, kg"},
    {"ratio", 1, 1e-6, 1e6, false, "mass of the top box relative to the others"},
    {"mu", 0.5, 0, 1e6, false, "friction coefficient"},
    {"e", 0, 0, 1, false, "restitution coefficient"},
    {"gap", 0, 0, 1, false, "first gap between boxes, m"},
    {"jitter", 0, 0, 1, false, "largest sideways shift, m"},
    {0}};
const kn_scene kn_scene_stack = {
    .name = "stack",
    .watch =
        "boxes at rest stay at rest: no drift of q, no sliding, force of the lowest pair the weight of all",
    .purpose = "boxes on top of each other stand still",
    .citation = "",
    .param = stack_param,
    .build = build_stack,
    .dt = 1e-3,
    .duration = 5.0,
};

/* ---- wall and dominoes ---- */

enum { WIDE, HIGH, WALL_MU, WALL_E, JOINT };

/* Bricks in bond: every other row begins and ends with half a brick. */
static kn_status build_wall(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[WALL_MU], p[WALL_E]);
  kn_make_geom(&b, &ground);
  const double hy = 0.05, hz = 0.05, brick = 0.2;
  for (int row = 0, n = 0; row < (int)p[HIGH]; row++) {
    int count = (int)p[WIDE] + row % 2;
    double left = -p[WIDE] * brick / 2;
    for (int i = 0; i < count; i++, n++) {
      char name[32];
      double length = row % 2 && (i == 0 || i == count - 1) ? brick / 2 : brick;
      snprintf(name, sizeof name, "brick%d", n);
      add_block(&b, name, kn_at(left + length / 2, 0, hz + 2 * hz * row),
                kn_at((length - p[JOINT]) / 2, hy, hz), 5.0 * length, p[WALL_MU], p[WALL_E], n);
      left += length;
    }
  }
  return b.status;
}

static const kn_scene_param wall_param[] = {{"wide", 6, 1, 200, true, "bricks in a row"},
                                            {"high", 6, 1, 200, true, "rows"},
                                            {"mu", 0.6, 0, 1e6, false, "friction coefficient"},
                                            {"e", 0, 0, 1, false, "restitution coefficient"},
                                            {"joint", 0.002, 0, 0.05, false, "gap between neighbours, m"},
                                            {0}};
const kn_scene kn_scene_wall = {
    .name = "wall",
    .watch = "no brick moves although many forces are not determined by the motion",
    .purpose = "a wall of bricks in bond stands still: many contacts, indeterminate forces",
    .citation = "",
    .param = wall_param,
    .build = build_wall,
    .dt = 1e-3,
    .duration = 2.0,
    .contacts = 400,
};

enum { TILES, PITCH, PUSH, TILE_MU };

static kn_status build_dominoes(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[TILE_MU], 0.0);
  kn_make_geom(&b, &ground);
  const double hx = 0.004, hy = 0.012, hz = 0.024; /* a common tile, 8 x 24 x 48 mm, 8 g */
  for (int i = 0; i < (int)p[TILES]; i++) {
    char name[32];
    snprintf(name, sizeof name, "tile%d", i);
    add_block(&b, name, kn_at(i * p[PITCH], 0, hz), kn_at(hx, hy, hz), 0.008, p[TILE_MU], 0.0, i);
  }
  return b.status;
}

/* The first tile turns about its front lower edge. */
static kn_status setup_dominoes(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_v(state)[0] = p[PUSH] * 0.024; /* of the centre: omega x r, r = (-0.004, 0, 0.024) */
  kn_state_v(state)[2] = p[PUSH] * 0.004;
  kn_state_v(state)[4] = p[PUSH];
  return KN_OK;
}

static const kn_scene_param domino_param[] = {
    {"tiles", 20, 2, 1000, true, "number of tiles"},
    {"pitch", 0.024, 0.009, 0.05, false, "distance of the tiles, m"},
    {"push", 3, 0, 50, false, "first rate of the first tile, rad/s"},
    {"mu", 0.4, 0, 1e6, false, "friction coefficient"},
    {0}};
const kn_scene kn_scene_dominoes = {
    .name = "dominoes",
    .watch = "the wave of falling pieces runs at a constant speed after the first few",
    .purpose = "a row of tiles falls one after the other",
    .citation = "",
    .param = domino_param,
    .build = build_dominoes,
    .setup = setup_dominoes,
    .dt = 5e-4,
    .duration = 1.5,
    .contacts = 200,
};

/* ---- a block on a plane ---- */

enum { SPEED, BLOCK_MU, EDGE, TALL };

static kn_status build_sliding(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[BLOCK_MU], 0.0);
  double h = p[EDGE] / 2, tall = h * p[TALL];
  kn_make_geom(&b, &ground);
  add_block(&b, "block", kn_at(0, 0, tall), kn_at(h, h, tall), 1.0, p[BLOCK_MU], 0.0, 0);
  return b.status;
}

static kn_status setup_sliding(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_v(state)[0] = p[SPEED];
  return KN_OK;
}

static const kn_scene_param sliding_param[] = {
    {"speed", 6, -1000, 1000, false, "first speed, m/s"},
    {"mu", 0.5, 0, 1e6, false, "friction coefficient"},
    {"edge", 0.2, 1e-3, 10, false, "edge length, m"},
    {"tall", 1, 0.01, 100, false, "height relative to the edge; above 1/mu the block tips over"},
    {0}};
const kn_scene kn_scene_sliding_block = {
    .name = "sliding-block",
    .watch = "it stops after v^2/(2 mu g) and stays; a tall block tips instead",
    .purpose = "a block slides to a stop without lifting, or tips over when it is tall",
    .citation = "stops after v0^2 / (2 mu g)",
    .param = sliding_param,
    .build = build_sliding,
    .setup = setup_sliding,
    .dt = 1e-3,
    .duration = 3.0,
};

enum { SLOPE, MARGIN, DOWN };

/* The plane is tilted about y, so that the block tends towards +x along the slope. */
static void tilt(double* s, double* c, const double* p) {
  kn_sincos_exact(s, c, p[SLOPE] * (3.14159265358979323846 / 180.0));
}

static kn_status build_incline(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  double s, c, h = 0.1;
  tilt(&s, &c, p);
  double mu = p[MARGIN] * s / c;
  kn_geom_def plane = kn_plane(kn_at(0, 0, 0), kn_at(s, 0, c));
  plane.name = "slope";
  plane.material.mu = mu;
  kn_make_geom(&b, &plane);
  kn_body_def d = kn_body_default();
  d.name = "block";
  d.inertia_from_geoms = true;
  kn_put(d.pos, kn_at(h * s, 0, h * c));
  kn_quat_about(d.quat, kn_at(0, 1, 0), p[SLOPE] * (3.14159265358979323846 / 180.0));
  kn_body body = kn_make_body(&b, &d);
  kn_joint_free_on(&b, body);
  kn_geom_def g = kn_box(body, h, h, h);
  g.name = "block";
  g.mass = 1.0;
  g.material.mu = mu;
  kn_paint(&g, 0.70f, 0.62f, 0.45f);
  kn_make_geom(&b, &g);
  return b.status;
}

static kn_status setup_incline(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double s, c;
  tilt(&s, &c, p);
  kn_state_v(state)[0] = p[DOWN] * c;
  kn_state_v(state)[2] = -p[DOWN] * s;
  return KN_OK;
}

static const kn_scene_param incline_param[] = {
    {"slope", 20, 0, 80, false, "angle, degrees"},
    {"margin", 1.01, 0, 100, false, "friction coefficient relative to the tangent of the angle"},
    {"speed", 0, -100, 100, false, "first speed down the slope, m/s"},
    {0}};
const kn_scene kn_scene_incline = {
    .name = "incline",
    .watch = "below the friction angle (margin < 1) it stays for good, above it slides with g (sin - mu cos)",
    .purpose = "a block just sticks (margin > 1) or slides (margin < 1) on a slope",
    .citation = "a = g (sin - mu cos) when sliding",
    .param = incline_param,
    .build = build_incline,
    .setup = setup_incline,
    .dt = 1e-3,
    .duration = 10.0,
};

/* ---- rocking block: half width b, half height h, turning about a lower edge ---- */

enum { HALF_WIDE, HALF_HIGH, LEAN, ROCK_E };

static kn_status build_rocking(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(10.0, p[ROCK_E]); /* enough friction to stick at the corner */
  kn_make_geom(&b, &ground);
  add_block(&b, "block", kn_at(0, 0, p[HALF_HIGH]), kn_at(p[HALF_WIDE], p[HALF_WIDE], p[HALF_HIGH]), 1.0,
            10.0, p[ROCK_E], 0);
  return b.status;
}

/* Leaning by an angle about its right edge, which stays at x = b on the floor. */
static kn_status setup_rocking(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double s, c, x = -p[HALF_WIDE], z = p[HALF_HIGH];
  kn_sincos_exact(&s, &c, p[LEAN]);
  double* q = kn_state_q(state);
  q[0] = p[HALF_WIDE] + c * x + s * z;
  q[2] = -s * x + c * z;
  kn_quat_about(q + 3, kn_at(0, 1, 0), p[LEAN]);
  return KN_OK;
}

static const kn_scene_param rocking_param[] = {{"width", 0.1, 1e-3, 10, false, "half width b, m"},
                                               {"height", 0.4, 1e-3, 10, false, "half height h, m"},
                                               {"lean", 0.1, -1, 1, false, "first angle, rad"},
                                               {"e", 0, 0, 1, false, "restitution coefficient"},
                                               {0}};
const kn_scene kn_scene_rocking_block = {
    .name = "rocking-block",
    .watch = "it rocks from edge to edge, each impact takes a known part of the rate; at 0.3 s `diagnose` "
             "finds several solutions",
    .purpose = "a tall block rocks from edge to edge and loses energy at each impact",
    .citation = "Housner 1963: omega+/omega- = 1 - 1.5 b^2 / (b^2 + h^2)",
    .param = rocking_param,
    .build = build_rocking,
    .setup = setup_rocking,
    .dt = 1e-3,
    .duration = 3.0,
};

/* ---- a box between two walls, touching both ---- */

enum { WEDGE_MU, WEDGE_GAP };

static kn_status build_wedged(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double h = 0.1;
  for (int k = 0; k < 2; k++) {
    double side = k ? 1.0 : -1.0;
    kn_geom_def wall = kn_plane(kn_at(side * (h + p[WEDGE_GAP]), 0, 0), kn_at(-side, 0, 0));
    wall.name = k ? "right" : "left";
    wall.material.mu = p[WEDGE_MU];
    kn_make_geom(&b, &wall);
  }
  add_block(&b, "box", kn_at(0, 0, 1), kn_at(h, h, h), 1.0, p[WEDGE_MU], 0.0, 0);
  return b.status;
}

static const kn_scene_param wedged_param[] = {
    {"mu", 0.6, 0, 1e6, false, "friction coefficient"},
    {"gap", 0, -0.001, 0.01, false, "clearance on each side, m; negative: pressed in, for compliant contact"},
    {0}};
const kn_scene kn_scene_wedged_box = {
    .name = "wedged-box",
    .watch = "whether it falls or sticks: rigid contact leaves the forces between the walls open",
    .purpose =
        "a box touches two walls: it may fall or stick, the forces between the walls are not determined",
    .citation = "",
    .param = wedged_param,
    .build = build_wedged,
    .dt = 1e-3,
    .duration = 0.5,
};
