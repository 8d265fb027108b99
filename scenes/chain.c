/* Serial chains: the bench chain, and the pendulums of jain-2012 and jain-2014. */
#include <stdio.h>

#include "build.h"
#include "scene.h"

#define PI 3.14159265358979323846

/* ---- chain ---- */

/* Slender 1 kg rods of 0.2 m along x with hinges at their ends, axes z, y, z, y, … */
static kn_status build_chain(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double length = 0.2, radius = 0.02, mass = 1.0;
  kn_body parent = KN_WORLD;
  for (int i = 0; i < (int)p[0]; i++) {
    char name[32];
    snprintf(name, sizeof name, "link%d", i);
    parent = kn_body_solid(&b, name, parent, kn_at(i ? length : 0.0, 0, 0), mass, kn_at(length / 2, 0, 0),
                           kn_rod_moments(mass, length, radius, 0));
    snprintf(name, sizeof name, "hinge%d", i);
    kn_joint_on(&b, parent, KN_JOINT_HINGE, name, i % 2 ? kn_at(0, 1, 0) : kn_at(0, 0, 1));
    kn_geom_def g = kn_capsule_between(parent, radius, kn_at(0, 0, 0), kn_at(length, 0, 0));
    g.contype = g.conaffinity = 0;
    kn_make_geom(&b, &g);
  }
  return b.status;
}

static kn_status setup_chain(kn_state* state, const kn_model* model, const double* p) {
  (void)p;
  uint64_t seed = 1;
  for (int i = 0; i < kn_model_nq(model); i++) {
    kn_state_q(state)[i] = kn_jitter(&seed, -1.0, 1.0);
    kn_state_v(state)[i] = kn_jitter(&seed, -1.0, 1.0);
  }
  return KN_OK;
}

static const kn_scene_param chain_param[] = {{"links", 30, 1, 100000, true, "number of links"}, {0}};
const kn_scene kn_scene_chain = {
    .name = "chain",
    .watch =
        "nothing touches: the scene measures the speed of the dynamics; `plot run.mcap energy` stays level",
    .purpose = "serial chain of hinges with alternating axes: speed of the dynamics",
    .citation = "",
    .param = chain_param,
    .build = build_chain,
    .setup = setup_chain,
    .dt = 1e-3,
    .duration = 5.0,
};

/* ---- pendulums ----

   n spheres of 1 kg in a row of 12 m, hinged at their poles (hinge spacing 12/n, radius 6/n), base at 10 m,
   pin axis y, floor and wall with surfaces z = 0.1 and x = 3.9, mu 0.5, g 9.8. Neighbours touch when straight
   and overlap when bent: they are excluded. Angles count from hanging down, positive towards the wall. */

enum { LINKS, ANGLE, RATE, MU, E, BEND };

static double bend_limit(const double* p) { /* degrees; 0: none */
  if (p[BEND] < 0.0) return 0.0;
  return p[BEND] > 0.0 ? p[BEND] : p[LINKS] >= 60.0 ? 150.0 : 0.0;
}

static kn_body add_sphere(kn_build* b, kn_body parent, int i, const double* p) {
  double d = 12.0 / p[LINKS], r = d / 2.0, I = 0.4 * r * r, bend = bend_limit(p) * (PI / 180.0);
  char name[32];
  snprintf(name, sizeof name, "link%d", i);
  kn_body body = kn_body_solid(b, name, parent, i ? kn_at(0, 0, -d) : kn_at(0, 0, 10), 1.0, kn_at(0, 0, -r),
                               kn_at(I, I, I));
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  snprintf(name, sizeof name, "hinge%d", i);
  j.name = name;
  j.body = body;
  kn_put(j.axis, kn_at(0, -1, 0));
  j.limited = i > 0 && bend > 0.0;
  j.range[0][0] = -bend;
  j.range[0][1] = bend;
  kn_make_joint(b, &j);
  kn_geom_def g = kn_sphere(body, r);
  snprintf(name, sizeof name, "ball%d", i);
  g.name = name;
  g.pos[2] = -r;
  g.material.mu = p[MU];
  g.material.e = p[E];
  kn_paint(&g, 0.20f, 0.45f, 0.75f);
  kn_make_geom(b, &g);
  return body;
}

static kn_status build_pendulum(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  kn_gravity(&b, 0, 0, -9.8);
  kn_geom_def floor_geom = kn_plane(kn_at(0, 0, 0.1), kn_at(0, 0, 1));
  kn_geom_def wall = kn_plane(kn_at(3.9, 0, 0), kn_at(-1, 0, 0));
  floor_geom.name = "floor";
  wall.name = "wall";
  floor_geom.material.mu = wall.material.mu = p[MU];
  floor_geom.material.e = wall.material.e = p[E];
  kn_make_geom(&b, &floor_geom);
  kn_make_geom(&b, &wall);
  kn_body parent = KN_WORLD;
  for (int i = 0; i < (int)p[LINKS]; i++) parent = add_sphere(&b, parent, i, p);
  return b.status; /* hinged neighbours never collide: the parent-child rule of the contact filter */
}

static kn_status setup_pendulum(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_state_q(state)[0] = p[ANGLE] * (PI / 180.0);
  kn_state_v(state)[0] = p[RATE];
  return KN_OK;
}

#define PENDULUM_PARAMS(links, angle, e)                                                                     \
  {                                                                                                          \
    {"links", links, 1, 10000, true, "number of spheres"},                                                   \
        {"angle", angle, -180, 180, false, "first angle of the base hinge, degrees"},                        \
        {"rate", 1, -100, 100, false, "first rate of the base hinge, rad/s"},                                \
        {"mu", 0.5, 0, 1e6, false, "friction coefficient"},                                                  \
        {"e", e, 0, 1, false, "restitution coefficient"},                                                    \
        {"bend", 0,                                                                                          \
         -1,     180,                                                                                        \
         false,  "largest bend of a hinge, degrees; 0: 150 from 60 links on, otherwise none; -1: none"},     \
    {                                                                                                        \
      0                                                                                                      \
    }                                                                                                        \
  }

static const kn_scene_param param_2012[] = PENDULUM_PARAMS(15, -90, 0);
const kn_scene kn_scene_pendulum_2012 = {
    .name = "pendulum-2012",
    .watch = "the tip meets the floor and the chain lies down on it link by link; kinetic energy falls in "
             "steps at impacts",
    .purpose = "a chain of spheres swings onto a floor and a wall without bouncing",
    .citation = "Jain, Crean, Kuo, Quadrelli, 2012, section VI, with the 12 m length of the later paper",
    .param = param_2012,
    .build = build_pendulum,
    .setup = setup_pendulum,
    .dt = 1e-3,
    .duration = 5.0,
    .law = "poisson",
};

static const kn_scene_param param_2014[] = PENDULUM_PARAMS(12, -45, 0.5);
const kn_scene kn_scene_pendulum_2014 = {
    .name = "pendulum-2014",
    .watch = "the tip meets the world first at 0.165 s, links strike each other and the wall from 0.67 s on; "
             "kinetic energy falls in steps there and nowhere else",
    .purpose = "a chain of spheres swings onto a floor and a wall and bounces",
    .citation = "Jain, 2014, section 8",
    .param = param_2014,
    .build = build_pendulum,
    .setup = setup_pendulum,
    .dt = 1e-3,
    .duration = 5.0,
    .law = "poisson",
};
