/* MuJoCo from its wheel as a contender, with the same geometry and as many parameters as we have: its restitution is the damping
   ratio of solref, its time constant is fitted for the tosses and short for the impacts. Elliptic cones, impratio 10. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "real.h"

enum { TOSS_STEPS = 7, IMPACT_STEPS = 400 };
static const double impact_dt = 5e-5;

typedef struct world {
  mjModel* m;
  mjData* d;
  double tilt;
} world;

static void silent(const char* text) { (void)text; }

static void close_world(void* self) {
  world* w = self;
  mj_deleteData(w->d);
  mj_deleteModel(w->m);
  free(w);
}

static void* open_xml(const char* xml) {
  char why[300] = "", path[] = "/tmp/knuckle-real-XXXXXX.xml";
  int fd = mkstemps(path, 4);
  FILE* f = fd >= 0 ? fdopen(fd, "w") : NULL;
  world* w = calloc(1, sizeof *w);
  mju_user_warning = silent;
  bool good = f && w && fputs(xml, f) >= 0;
  if (f) good = fclose(f) == 0 && good;
  w->m = good ? mj_loadXML(path, NULL, why, sizeof why) : NULL;
  remove(path);
  if (!w->m) {
    fprintf(stderr, "mujoco: %s\n", why);
    free(w);
    return NULL;
  }
  w->m->opt.cone = mjCONE_ELLIPTIC;
  w->m->opt.impratio = 10.0;
  w->m->opt.jacobian = mjJAC_DENSE;
  w->d = mj_makeData(w->m);
  return w;
}

/* ---- planar impacts ---- */

static void* open_planar(const double* x) {
  char xml[1600];
  snprintf(xml, sizeof xml,
           "<mujoco><option timestep='%.17g' gravity='0 0 0'/><worldbody><geom type='plane' size='1 1 1' "
           "zaxis='%.17g %.17g "
           "0' friction='%.17g' priority='1' solref='5e-4 %.17g' solimp='0.99 0.999 0.001'/><body><joint "
           "type='slide' "
           "axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint type='hinge' axis='0 0 1'/><inertial "
           "pos='0 0 0' "
           "mass='%.17g' diaginertia='%.17g %.17g %.17g'/><geom type='ellipsoid' size='%.17g %.17g "
           "0.02'/></body></worldbody></mujoco>",
           impact_dt, -sin(x[2]), cos(x[2]), x[0], x[1], REAL_MASS, REAL_MASS * REAL_GYRATION * REAL_GYRATION,
           REAL_MASS * REAL_GYRATION * REAL_GYRATION, REAL_MASS * REAL_GYRATION * REAL_GYRATION, REAL_A,
           REAL_B);
  world* w = open_xml(xml);
  if (w) w->tilt = x[2];
  return w;
}

static bool run_impact(double* out, void* self, const real_data* data, int item) {
  world* w = self;
  const real_impact* i = &data->impact[item];
  double s = sin(i->theta - w->tilt), c = cos(i->theta - w->tilt);
  double height = sqrt(REAL_A * REAL_A * s * s + REAL_B * REAL_B * c * c) + 1e-5;
  mj_resetData(w->m, w->d);
  w->d->qpos[0] = -sin(w->tilt) * height, w->d->qpos[1] = cos(w->tilt) * height, w->d->qpos[2] = i->theta;
  memcpy(w->d->qvel, i->before, sizeof i->before);
  bool touched = false;
  for (int k = 0; k < IMPACT_STEPS; k++) {
    mj_step(w->m, w->d);
    touched = touched || w->d->ncon > 0;
    if (touched && w->d->ncon == 0) break;
  }
  out[0] = REAL_MASS * (w->d->qvel[0] - i->before[0]);
  out[1] = REAL_MASS * (w->d->qvel[1] - i->before[1]);
  return isfinite(out[0] + out[1]);
}

/* ---- tosses ---- */

static void* open_toss(const double* x) {
  char xml[4096];
  double mu = x[0], damping = x[1], ground = x[2], radius = x[3], time = x[4], at = REAL_CUBE_HALF - radius;
  int n = snprintf(
      xml, sizeof xml,
      "<mujoco><option timestep='%.17g' gravity='0 0 -%.17g'/><worldbody><geom type='plane' size='5 5 1' "
      "pos='0 0 %.17g' friction='%.17g 0 0' priority='1' condim='3' solref='%.17g "
      "%.17g'/><body><freejoint/><inertial "
      "pos='0 0 0' mass='%.17g' diaginertia='%.17g %.17g %.17g'/>",
      1.0 / (REAL_RATE * TOSS_STEPS), REAL_GRAVITY, ground, mu, time, damping, REAL_CUBE_MASS,
      REAL_CUBE_INERTIA, REAL_CUBE_INERTIA, REAL_CUBE_INERTIA);
  for (int k = 0; k < 8; k++)
    n += snprintf(xml + n, sizeof xml - (size_t)n,
                  "<geom type='sphere' size='%.17g' pos='%.17g %.17g %.17g'/>", radius, k & 1 ? at : -at,
                  k & 2 ? at : -at, k & 4 ? at : -at);
  snprintf(xml + n, sizeof xml - (size_t)n, "</body></worldbody></mujoco>");
  return open_xml(xml);
}

static bool run_toss(double* out, void* self, const real_data* data, int item) {
  world* w = self;
  const kn_track* t = &data->tosses.at[item];
  mj_resetData(w->m, w->d);
  memcpy(w->d->qpos, t->q, 7 * sizeof(double));
  memcpy(w->d->qvel, t->v, 6 * sizeof(double));
  memcpy(out, t->q, 7 * sizeof(double));
  for (int f = 1; f < t->frames; f++) {
    for (int k = 0; k < TOSS_STEPS; k++) mj_step(w->m, w->d);
    memcpy(out + 7 * f, w->d->qpos, 7 * sizeof(double));
  }
  return isfinite(w->d->qpos[0]);
}

KN_PEER_EXPORT const real_peer kn_peer = {
    .name = "mujoco",
    .version = mj_versionString,
    .planar = {.name = "mujoco",
               .parameter = {"mu", "damping", "tilt", NULL},
               .range = {{0.01, 0.6, 0.2, false}, {0.02, 1.0, 0.2, false}, {-0.1, 0.1, 0.0, false}},
               .open = open_planar,
               .run = run_impact,
               .close = close_world},
    .tosses = {.name = "mujoco",
               .parameter = {"mu", "damping", "ground", "radius", "time", NULL},
               .range = {{0.1, 0.3, 0.18, false},
                         {0.2, 2.5, 1.4, false},
                         {-0.004, 0.002, -0.0019, false},
                         {1e-4, 0.015, 0.004, false},
                         {0.004, 0.04, 0.02, true}},
               .open = open_toss,
               .run = run_toss,
               .close = close_world}};
