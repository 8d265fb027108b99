/* Knuckle as a contender.

   Planar: an ellipse on two slides and a hinge, 10 µm above the plane, one step of the stepper `event` without gravity; friction,
   restitution, and the tilt of the plane. One contender per impact law; the law is chosen on the training part.

   Tosses: the cube is what it is in reality, a cube with rounded corners: the sum of a smaller cube and a ball, which touches a
   plane exactly where eight balls in its corners do. Friction, restitution, height of the table, radius of the corners. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/elementary.h"
#include "real.h"

enum { STEPS = 3 }; /* of the engine from frame to frame: 2.25 ms */

typedef struct world {
  kn_fit_world fit; /* tosses */
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
  double tilt;
} world;

static void close_world(void* self) {
  world* w = self;
  if (!w) return;
  kn_state_destroy(w->state);
  kn_sim_destroy(w->sim);
  kn_model_destroy(w->model);
  free(w);
}

/* A model from MJCF, with e on all surfaces. */
static world* open_world(const char* xml, double e, const kn_sim_settings* settings) {
  kn_spec* spec = NULL;
  kn_study* study = NULL;
  char yaml[128];
  world* w = calloc(1, sizeof *w);
  snprintf(yaml, sizeof yaml, "materials:\n  - {geom: '*', restitution: %.17g}\n", e);
  bool good = w && kn_load_text(&spec, NULL, "real.xml", xml, strlen(xml), NULL) == KN_OK &&
              kn_study_read(&study, "real.yaml", yaml, strlen(yaml)) == KN_OK &&
              kn_study_apply(spec, study) == KN_OK && kn_compile(&w->model, spec) == KN_OK &&
              kn_sim_create(&w->sim, w->model, settings) == KN_OK &&
              kn_state_create(&w->state, w->model) == KN_OK && kn_sim_prepare(w->sim, w->state) == KN_OK;
  kn_spec_destroy(spec);
  kn_study_free(study);
  if (!good) {
    fprintf(stderr, "%s\n", kn_last_error());
    close_world(w);
    return NULL;
  }
  w->fit = (kn_fit_world){.model = w->model, .settings = *settings};
  return w;
}

/* ---- planar impacts ---- */

static const double gap = 1e-5; /* m */

static void* open_planar(const double* x, const char* law) {
  char xml[1200];
  double s, c;
  kn_sincos(&s, &c, x[2]);
  snprintf(
      xml, sizeof xml,
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='1 1 1' zaxis='%.17g %.17g 0' "
      "friction='%.17g'/><body><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint "
      "type='hinge' axis='0 0 1'/><inertial pos='0 0 0' mass='%.17g' diaginertia='%.17g %.17g %.17g'/><geom "
      "type='ellipsoid' size='%.17g %.17g 0.02' friction='0'/></body></worldbody></mujoco>",
      -s, c, x[0], REAL_MASS, REAL_MASS * REAL_GYRATION * REAL_GYRATION,
      REAL_MASS * REAL_GYRATION * REAL_GYRATION, REAL_MASS * REAL_GYRATION * REAL_GYRATION, REAL_A, REAL_B);
  kn_sim_settings settings = kn_sim_default();
  settings.stepper = "event";
  settings.law = law;
  world* w = open_world(xml, x[1], &settings);
  if (w) w->tilt = x[2];
  return w;
}

static void* open_newton(const double* x) { return open_planar(x, "newton"); }
static void* open_poisson(const double* x) { return open_planar(x, "poisson"); }
static void* open_stronge(const double* x) { return open_planar(x, "stronge"); }

static bool run_impact(double* out, void* self, const real_data* data, int item) {
  world* w = self;
  const real_impact* i = &data->impact[item];
  double s, c;
  kn_sincos(&s, &c, w->tilt);
  if (kn_state_reset(w->state) != KN_OK) return false;
  double *q = kn_state_q(w->state), *v = kn_state_v(w->state), height = real_support(i->theta, w->tilt) + gap;
  q[0] = -s * height, q[1] = c * height, q[2] = i->theta;
  memcpy(v, i->before, sizeof i->before);
  if (kn_step_for(w->sim, w->state, 2e-5) != KN_OK) return false;
  out[0] = REAL_MASS * (v[0] - i->before[0]);
  out[1] = REAL_MASS * (v[1] - i->before[1]);
  return true;
}

#define PLANAR(law)                                                                                          \
  {                                                                                                          \
    .name = "knuckle " #law, .parameter = {"mu", "e", "tilt", NULL},                                         \
    .range = {{0.01, 0.6, 0.2, false}, {0.1, 0.9, 0.5, false}, {-0.1, 0.1, 0.0, false}}, .open = open_##law, \
    .run = run_impact, .close = close_world                                                                  \
  }
const real_contender real_planar[] = {PLANAR(poisson), PLANAR(newton), PLANAR(stronge), {0}};

/* ---- tosses ---- */

static void* open_toss(const double* x) {
  char xml[4096];
  double mu = x[0], ground = x[2], radius = x[3], at = REAL_CUBE_HALF - radius;
  int n = snprintf(
      xml, sizeof xml,
      "<mujoco><option gravity='0 0 -%.17g'/><worldbody><geom type='plane' size='5 5 1' pos='0 0 %.17g' "
      "friction='%.17g'/><body><freejoint/><inertial pos='0 0 0' mass='%.17g' diaginertia='%.17g "
      "%.17g %.17g'/>",
      REAL_GRAVITY, ground, mu, REAL_CUBE_MASS, REAL_CUBE_INERTIA, REAL_CUBE_INERTIA, REAL_CUBE_INERTIA);
  for (int k = 0; k < 8; k++)
    n += snprintf(xml + n, sizeof xml - (size_t)n,
                  "<geom type='sphere' size='%.17g' pos='%.17g %.17g %.17g' friction='0'/>", radius,
                  k & 1 ? at : -at, k & 2 ? at : -at, k & 4 ? at : -at);
  snprintf(xml + n, sizeof xml - (size_t)n, "</body></worldbody></mujoco>");
  kn_sim_settings settings = kn_sim_default();
  settings.dt = 1.0 / (REAL_RATE * STEPS);
  return open_world(xml, x[1], &settings);
}

static bool run_toss(double* out, void* self, const real_data* data, int item) {
  const world* w = self;
  return kn_track_follow(out, &w->fit, &data->tosses.at[item]) == KN_OK;
}

const real_contender real_tosses[] = {{.name = "knuckle",
                                       .parameter = {"mu", "e", "ground", "radius", NULL},
                                       .range = {{0.1, 0.3, 0.18, false},
                                                 {0.0, 0.6, 0.2, false},
                                                 {-0.004, 0.002, -0.0019, false},
                                                 {1e-4, 0.015, 0.004, false}},
                                       .open = open_toss,
                                       .run = run_toss,
                                       .close = close_world},
                                      {0}};
