/* Many spheres: a heap in a box, and tasks of the public comparison SimBenchmark. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

/* ---- piles ---- */

enum { PILE_N, PILE_R, PILE_MU, PILE_E };

/* Layers of a square grid, a little shifted, falling into a box of four walls. */
static kn_status build_pile(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  double r = p[PILE_R], pitch = 2.1 * r;
  int n = (int)p[PILE_N], side = 1;
  while (side * side * side < n) side++;
  double half = side * pitch / 2 + r;
  kn_geom_def ground = kn_floor(p[PILE_MU], p[PILE_E]);
  kn_make_geom(&b, &ground);
  for (int k = 0; k < 4; k++) {
    double x = k == 0 ? -half : k == 1 ? half : 0.0, y = k == 2 ? -half : k == 3 ? half : 0.0;
    kn_geom_def wall = kn_plane(kn_at(x, y, 0), kn_at(-x / half, -y / half, 0));
    wall.material.mu = p[PILE_MU];
    wall.material.e = p[PILE_E];
    wall.rgba[3] = 0.2f;
    kn_make_geom(&b, &wall);
  }
  uint64_t seed = 666;
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "ball%d", i);
    int ix = i % side, iy = i / side % side, iz = i / (side * side);
    double x = (ix - (side - 1) / 2.0) * pitch, y = (iy - (side - 1) / 2.0) * pitch;
    y += kn_jitter(&seed, 0, 0.1 * r); /* statements of their own: arguments have no order of evaluation */
    x += kn_jitter(&seed, 0, 0.1 * r);
    kn_ball_free(&b, name, kn_at(x, y, r + iz * pitch), r, 1.0, p[PILE_MU], p[PILE_E]);
  }
  return b.status;
}

static const kn_scene_param pile_param[] = {{"balls", 100, 1, 100000, true, "number of spheres"},
                                            {"radius", 0.05, 1e-3, 10, false, "m"},
                                            {"mu", 0.5, 0, 1e6, false, "friction coefficient"},
                                            {"e", 0, 0, 1, false, "restitution coefficient"},
                                            {0}};
/* A heap of equal balls has fewer than six contacts a ball. */
static void room_for_contacts(kn_sim_settings* s, const double* p) {
  int contacts = 6 * (int)p[PILE_N];
  if (contacts > s->contact_room) s->contact_room = contacts;
}

const kn_scene kn_scene_sphere_pile = {
    .name = "sphere-pile",
    .watch = "spheres fall onto a heap and come to rest",
    .purpose = "spheres collapse into a heap: many contacts, redundant forces",
    .citation = "",
    .param = pile_param,
    .build = build_pile,
    .dt = 1e-3,
    .duration = 2.0,
    .contacts = 400,
    .tune = room_for_contacts,
};

/* ---- SimBenchmark: tasks of the public comparison of simulators (leggedrobotics/SimBenchmark) ---- */

enum { OBLIQUE };

/* A 20 x 20 x 1 m board of 10 kg pulled over the ground, 25 spheres of 1 kg on it. */
static kn_status build_bench_rolling(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(0.4, 0.0);
  kn_make_geom(&b, &ground);
  kn_body board = kn_body_shaped(&b, "board", KN_WORLD, kn_at(0, 0, 0.5));
  kn_joint_free_on(&b, board);
  kn_geom_def g = kn_box(board, 10, 10, 0.5);
  g.name = "board";
  g.mass = 10.0;
  g.material.mu = 0.4; /* with the spheres' 0.8 the larger one holds */
  kn_make_geom(&b, &g);
  for (int i = 0; i < 25; i++) {
    char name[32];
    snprintf(name, sizeof name, "ball%d", i);
    kn_ball_free(&b, name, kn_at(2.0 * (i % 5 - 2), 2.0 * (i / 5 - 2), 1.5), 0.5, 1.0, 0.8, 0.0);
  }
  return b.status;
}

static kn_status setup_bench_rolling(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_force(state)[0] = p[OBLIQUE] != 0.0 ? 150.0 * 0.5 : 0.0;
  kn_state_force(state)[1] = p[OBLIQUE] != 0.0 ? 150.0 * 0.86602540378443864676 : 150.0;
  return KN_OK;
}

static const kn_scene_param bench_rolling_param[] = {
    {"oblique", 0, 0, 1, true, "1: the force points along (0.5, 0.866), otherwise along y"}, {0}};
const kn_scene kn_scene_bench_rolling = {
    .name = "simbench-rolling",
    .watch = "spheres on a pulled board go straight: friction does not prefer a direction",
    .purpose = "a pulled board with rolling spheres: isotropy of friction",
    .citation = "SimBenchmark rolling: exact accelerations 0.7385 (board), 0.211 m/s^2 (spheres)",
    .param = bench_rolling_param,
    .build = build_bench_rolling,
    .setup = setup_bench_rolling,
    .dt = 1e-3,
    .duration = 4.0,
};

static kn_status build_bench_bouncing(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(0.0, 1.0);
  kn_make_geom(&b, &ground);
  for (int i = 0; i < 49; i++) {
    char name[32];
    snprintf(name, sizeof name, "ball%d", i);
    kn_ball_free(&b, name, kn_at(i % 7 - 3.0, i / 7 - 3.0, 5.0), 0.1, 10.0, 0.0, 1.0);
  }
  return b.status;
}

const kn_scene kn_scene_bench_bouncing = {
    .name = "simbench-bouncing",
    .watch = "49 elastic spheres: the energy after 20 s",
    .purpose = "49 elastic spheres bounce for 20 s: energy",
    .citation = "SimBenchmark bouncing: error mean (E - E0)^2",
    .build = build_bench_bouncing,
    .dt = 1e-3,
    .duration = 20.0,
};

enum { ELASTIC };

static kn_status build_bench_666(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  double e = p[ELASTIC] != 0.0 ? 1.0 : 0.0, base = p[ELASTIC] != 0.0 ? 1.101 : 0.101;
  kn_geom_def ground = kn_floor(0.0, e);
  kn_make_geom(&b, &ground);
  uint64_t seed = 216;
  for (int i = 0; i < 216; i++) {
    char name[32];
    snprintf(name, sizeof name, "ball%d", i);
    double x = i % 6 * 0.21 + kn_jitter(&seed, 0, 1e-3), y = i / 6 % 6 * 0.21 + kn_jitter(&seed, 0, 1e-3);
    kn_ball_free(&b, name, kn_at(x, y, base + i / 36 * 0.21 + kn_jitter(&seed, 0, 1e-3)), 0.1, 10.0, 0.0, e);
  }
  return b.status;
}

static const kn_scene_param bench_666_param[] = {
    {"elastic", 0, 0, 1, true, "1: e = 1, dropped from 1 m higher"}, {0}};
const kn_scene kn_scene_bench_666 = {
    .name = "simbench-666",
    .watch = "216 spheres fall without friction: penetration and time per step while they spread",
    .purpose = "6 x 6 x 6 spheres drop onto the floor without friction",
    .citation = "SimBenchmark 666 and elastic 666",
    .param = bench_666_param,
    .build = build_bench_666,
    .dt = 1e-3,
    .duration = 10.0,
    .contacts = 500,
    .sequential = true, /* all at once, a contact hit only by the rebound of another would be plastic */
};
