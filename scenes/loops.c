/* Closed chains. */
#include <math.h>

#include "build.h"
#include "scene.h"

#define PI 3.14159265358979323846

static kn_body add_rod(kn_build* b, const char* name, kn_body parent, kn_v3 pos, kn_v3 axis, double length,
                       double radius, double mass) {
  kn_body body = kn_body_solid(b, name, parent, pos, mass, kn_at(length / 2, 0, 0),
                               kn_rod_moments(mass, length, radius, 0));
  kn_joint_on(b, body, KN_JOINT_HINGE, name, axis);
  kn_geom_def g = kn_capsule_between(body, radius, kn_at(0, 0, 0), kn_at(length, 0, 0));
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.30f, 0.50f, 0.70f);
  kn_make_geom(b, &g);
  return body;
}

/* ---- four-bar ----

   Crank, coupler and rocker in the x-z plane between two pivots on the ground; a Grashof mechanism by default
   (crank 0.2 turns fully). The reference position puts every rod along x; setup closes the loop. */

enum { CRANK, COUPLER, ROCKER, GROUND, RATE };

static kn_status build_four_bar(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const kn_v3 pin = kn_at(0, -1, 0); /* positive angles turn x towards z */
  kn_body crank = add_rod(&b, "crank", KN_WORLD, kn_at(0, 0, 0), pin, p[CRANK], 0.01, 1.0);
  kn_body coupler = add_rod(&b, "coupler", crank, kn_at(p[CRANK], 0, 0), pin, p[COUPLER], 0.01, 2.0);
  kn_body rocker = add_rod(&b, "rocker", KN_WORLD, kn_at(p[GROUND], 0, 0), pin, p[ROCKER], 0.01, 1.5);
  kn_loop_def l = kn_loop_default(KN_LOOP_CONNECT);
  l.name = "joint";
  l.a = coupler;
  l.b = rocker;
  l.pos_a[0] = p[COUPLER];
  l.pos_b[0] = p[ROCKER];
  kn_make_loop(&b, &l);
  return b.status;
}

/* The crank stands upright; the coupler's end is where the circles about its start and the ground pivot meet.
 */
static kn_status setup_four_bar(kn_state* state, const kn_model* model, const double* p) {
  double ax = 0.0, az = p[CRANK], gx = p[GROUND], dx = gx - ax, dz = -az, d2 = dx * dx + dz * dz;
  double d = sqrt(d2), along = (p[COUPLER] * p[COUPLER] - p[ROCKER] * p[ROCKER] + d2) / (2 * d);
  double h2 = p[COUPLER] * p[COUPLER] - along * along;
  double h = h2 > 0.0 ? sqrt(h2) : 0.0;
  double cx = ax + (along * dx - h * dz) / d, cz = az + (along * dz + h * dx) / d;
  double crank = PI / 2, coupler = kn_angle(cz - az, cx - ax) - crank, rocker = kn_angle(cz, cx - gx);
  *kn_joint_q(state, model, "crank") = crank;
  *kn_joint_q(state, model, "coupler") = coupler;
  *kn_joint_q(state, model, "rocker") = rocker;
  /* The loop stays closed: v + w2 (-rz, rx) = w3 (-sz, sx); multiply by s and by r. */
  double w = p[RATE], rx = cx - ax, rz = cz - az, sx = cx - gx, sz = cz, det = rx * sz - rz * sx;
  double vx = -w * az, vz = w * ax; /* of the crank's end */
  double w2 = det != 0.0 ? -(vx * sx + vz * sz) / det : 0.0,
         w3 = det != 0.0 ? -(vx * rx + vz * rz) / det : 0.0;
  *kn_joint_v(state, model, "crank") = w;
  *kn_joint_v(state, model, "coupler") = w2 - w;
  *kn_joint_v(state, model, "rocker") = w3;
  return KN_OK;
}

static const kn_scene_param four_bar_param[] = {
    {"crank", 0.2, 1e-3, 100, false, "length, m"},
    {"coupler", 0.5, 1e-3, 100, false, "length, m"},
    {"rocker", 0.4, 1e-3, 100, false, "length, m"},
    {"ground", 0.5, 1e-3, 100, false, "distance of the pivots, m"},
    {"rate", 5, -1e3, 1e3, false, "first rate of the crank, rad/s"},
    {0}};
const kn_scene kn_scene_four_bar = {
    .name = "four-bar",
    .watch = "loop closure in the report stays at rounding while the crank turns",
    .purpose = "crank, coupler and rocker: a loop that must stay closed",
    .citation = "",
    .param = four_bar_param,
    .build = build_four_bar,
    .setup = setup_four_bar,
    .dt = 1e-3,
    .duration = 10.0,
};
