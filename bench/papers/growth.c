/* Growth with the number of links at four fixed contacts: a hanging chain of hinges whose last link, a plate
   on a slide, lies on the floor with its four corners. Nothing moves, so every step does the same work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "output/plot.h"
#include "papers.h"
#include "scene.h"

static const int sizes[GROWTH_SIZES] = {3, 6, 12, 30, 60, 120, 250, 500, 1000};
static const double reach = 6.0, half = 0.1; /* m: length of the chain, half size of the plate */

static kn_status add_link(kn_spec* spec, kn_body* body, kn_body parent, double length, bool last) {
  kn_body_def d = kn_body_default();
  d.parent = parent;
  d.mass = last ? 1.0 : length; /* 1 kg/m */
  d.pos[2] = parent == KN_WORLD ? reach + half : -length;
  if (!last) d.com[2] = -0.5 * length;
  for (int k = 0; k < 3; k++) d.inertia[k] = last ? 0.01 : d.mass * length * length / 12.0 + 1e-4;
  kn_status status = kn_spec_add_body(body, spec, &d);
  if (status != KN_OK) return status;
  kn_joint_def j = kn_joint_default(last ? KN_JOINT_SLIDE : KN_JOINT_HINGE);
  kn_joint joint;
  j.body = *body;
  j.axis[0] = 0.0, j.axis[1] = last ? 0.0 : 1.0, j.axis[2] = last ? 1.0 : 0.0;
  return kn_spec_add_joint(&joint, spec, &j);
}

static kn_status make_chain(kn_model** model, int links) {
  kn_spec* spec;
  kn_body body = KN_WORLD;
  kn_geom geom;
  kn_status status = kn_spec_create(&spec);
  if (status != KN_OK) return status;
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE), plate = kn_geom_default(KN_SHAPE_BOX);
  status = kn_spec_add_geom(&geom, spec, &floor);
  for (int i = 0; i < links && status == KN_OK; i++)
    status = add_link(spec, &body, body, reach / (links - 1), i == links - 1);
  plate.body = body;
  for (int k = 0; k < 3; k++) plate.shape.size[k] = half;
  if (status == KN_OK) status = kn_spec_add_geom(&geom, spec, &plate);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return status;
}

static int ascending(const void* a, const void* b) {
  double d = *(const double*)a - *(const double*)b;
  return d < 0 ? -1 : d > 0;
}

static double median(double* list, int n) {
  qsort(list, (size_t)n, sizeof *list, ascending);
  return list[n / 2];
}

/* After the first few steps: the median CPU time of a step; the shortest set-up (that stage has a wall clock
   only, and other work on the machine adds to it). */
static bool measure(double* setup, double* step, kn_model* model, const char* formulation) {
  enum { STEPS = 31 };
  double a[STEPS], b[STEPS];
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings s = kn_sim_default();
  s.formulation = formulation;
  s.stage_times = true;
  s.max_contacts = 8;
  bool ok = kn_state_create(&x, model) == KN_OK && kn_sim_create(&sim, model, &s) == KN_OK;
  double budget = cpu_now() + 5.0; /* s */
  int n = 0;
  for (int k = -4; k < STEPS && ok && (k < 3 || cpu_now() < budget); k++) {
    double t0 = cpu_now();
    ok = kn_step(sim, x) == KN_OK;
    const kn_report* r = kn_sim_report(sim);
    ok = ok && r->contacts == 4;
    if (k < 0) continue;
    b[n] = cpu_now() - t0;
    a[n++] = r->time.problem;
  }
  for (int i = 1; i < n; i++) a[0] = fmin(a[0], a[i]);
  if (ok) *setup = a[0], *step = median(b, n);
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  return ok;
}

bool grow(growth* g, const char* formulation, int largest) {
  *g = (growth){.formulation = formulation};
  for (int i = 0; i < GROWTH_SIZES && sizes[i] <= largest; i++) {
    kn_model* model = NULL;
    bool ok = make_chain(&model, sizes[i]) == KN_OK && measure(&g->setup[i], &g->step[i], model, formulation);
    kn_model_destroy(model);
    if (!ok) return false;
    g->links[i] = sizes[i];
    g->x[i] = sizes[i];
    g->count++;
  }
  int from = g->count / 2 < g->count - 2 ? g->count / 2 : g->count - 2;
  g->setup_exponent = exponent(g->x + from, g->setup + from, g->count - from);
  g->step_exponent = exponent(g->x + from, g->step + from, g->count - from);
  return true;
}

void growth_figure(const char* folder, const growth* list, int count) {
  enum { MOST = 8 };
  char path[512];
  kn_plot_series step[MOST], setup[MOST];
  for (int i = 0; i < count && i < MOST; i++) {
    kn_plot_series s = {.name = list[i].formulation,
                        .style = KN_PLOT_LINE_POINTS,
                        .x = list[i].x,
                        .y = list[i].step,
                        .n = (size_t)list[i].count};
    step[i] = setup[i] = s;
    setup[i].y = list[i].setup;
  }
  kn_plot panel[2] = {{.title = "one step, four contacts",
                       .x_label = "links",
                       .y_label = "s",
                       .log_x = true,
                       .log_y = true,
                       .series = step,
                       .series_count = (size_t)count},
                      {.title = "setting up the problem",
                       .x_label = "links",
                       .y_label = "s",
                       .log_x = true,
                       .log_y = true,
                       .series = setup,
                       .series_count = (size_t)count}};
  snprintf(path, sizeof path, "%s/papers-growth.svg", folder);
  kn_plot_save(path, panel, 2, 2, 0, 0);
}
