#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "knuckle/step.h"
#include "papers.h"
#include "scene.h"

double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double exponent(const double* x, const double* y, int n) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < n; i++) {
    double a = log(x[i]), b = log(y[i]);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

int size_of(const char* scene, int links, const char* formulation) {
  char text[32];
  const char* set[] = {text};
  kn_model* model;
  int rows = -1;
  snprintf(text, sizeof text, "links=%d", links);
  if (kn_scene_model(&model, scene, set, links ? 1 : 0) != KN_OK) return -1;
  kn_formulation_size(&rows, formulation, model, 4, 4);
  kn_model_destroy(model);
  return rows;
}

static void sample(run* r, long k, kn_scene_opened* o, kn_state* x, kn_sim* sim) {
  kn_pose pose;
  double v[6];
  if (k >= SAMPLES) return;
  kn_kinematics(o->model, x, kn_sim_data(sim));
  kn_geom_pose(&pose, o->model, kn_sim_data(sim), kn_model_geoms(o->model) - 1);
  kn_body_velocity(v, o->model, kn_sim_data(sim), kn_model_bodies(o->model) - 1, pose.p);
  r->t[k] = kn_state_time(x), r->height[k] = pose.p[2], r->speed[k] = v[5];
}

static void note(run* r, const kn_report* p) {
  r->steps++;
  r->contacts += p->contacts;
  r->residual = fmax(r->residual, p->residual);
  r->drift = fmax(r->drift, p->drift);
  r->gain = p->gain_rel;
  for (int e = 0; e < p->events; e++) r->impacts += p->event[e].kind == KN_EVENT_IMPACT;
}

bool simulate(run* r, const run_settings* want) {
  char text[32];
  const char* set[] = {text};
  kn_scene_opened* o;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  memset(r, 0, sizeof *r);
  r->duration = want->duration;
  snprintf(text, sizeof text, "links=%d", want->links);
  if (kn_scene_open(&o, want->scene, set, 1) != KN_OK) return false;
  kn_sim_settings s = kn_scene_settings(o->scene);
  s.formulation = want->formulation;
  s.hinge_bias = want->hinge_bias;
  s.friction = 4;
  s.solver = "lemke";
  if (want->general) s.fast = "none";
  bool ok = kn_state_create(&x, o->model) == KN_OK && kn_scene_start(o, x) == KN_OK &&
            kn_sim_create(&sim, o->model, &s) == KN_OK;
  long steps = ok ? lround(want->duration / s.dt) : 0;
  for (long k = 0; k < steps && ok; k++) {
    double t0 = cpu_now();
    ok = kn_step(sim, x) == KN_OK;
    r->cpu += cpu_now() - t0;
    note(r, kn_sim_report(sim));
    sample(r, k, o, x, sim);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}
