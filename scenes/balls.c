/* Single round bodies. */
#include "build.h"
#include "scene.h"

static kn_body add_ball(kn_build* b, const char* name, kn_v3 pos, double radius, double mass, double mu,
                        double e) {
  kn_body body = kn_body_shaped(b, name, KN_WORLD, pos);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.name = name;
  j.body = body;
  kn_make_joint(b, &j);
  kn_geom_def g = kn_sphere(body, radius);
  g.name = name;
  g.mass = mass;
  g.material.mu = mu;
  g.material.e = e;
  kn_paint(&g, 0.75f, 0.25f, 0.25f);
  kn_make_geom(b, &g);
  return body;
}

/* ---- bouncing ball ---- */

enum { HEIGHT, RADIUS, MASS, E, MU, VX };

static kn_status build_bouncing(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_geom_def ground = kn_floor(p[MU], p[E]);
  kn_make_geom(&b, &ground);
  add_ball(&b, "ball", kn_at(0, 0, p[RADIUS] + p[HEIGHT]), p[RADIUS], p[MASS], p[MU], p[E]);
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
    .purpose = "a ball bounces to rest: restitution and the end of a Zeno sequence",
    .citation = "h = 1, e = 0.9, g = 9.81: first impact 0.4515236410 s, rest at 8.578949179 s",
    .param = bouncing_param,
    .build = build_bouncing,
    .setup = setup_bouncing,
    .dt = 1e-3,
    .duration = 10.0,
};
