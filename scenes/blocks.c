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
    .purpose = "boxes on top of each other stand still",
    .citation = "",
    .param = stack_param,
    .build = build_stack,
    .dt = 1e-3,
    .duration = 5.0,
};
