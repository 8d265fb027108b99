/* The papers' tables beside ours: jain-2014 Tables 1 and 2 (and jain-2012 Table I, the same experiment), and
   the height and velocity of the last link as in their figures. Sizes are those of the problems actually set
   up; times are ours on this machine, so only ratios and exponents can be compared. Polyhedral friction with
   four directions, Lemke's method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/harness/bench.h"
#include "knuckle/step.h"
#include "output/plot.h"
#include "scene.h"

typedef struct paper_row {
  int n, os, nmc_os, nmc;
  double os_s, nmc_os_s;
} paper_row;

static const paper_row paper[] = {{3, 24, 39, 57, 0.63, 2.20},      {6, 24, 54, 90, 1.0, 4.44},
                                  {12, 24, 84, 156, 1.88, 15.7},    {15, 24, 99, 189, 2.91, 33.59},
                                  {24, 24, 144, 288, 4.76, 127.94}, {30, 24, 174, 354, 5.13, 257.72}};
enum { PAPER_ROWS = sizeof paper / sizeof *paper, MAX_ROWS = 16, SAMPLES = 5001 };

typedef struct run {
  double cpu, problem, solve; /* s in all */
  long steps, contacts, impacts;
  double residual, penetration, gain;
  double t[SAMPLES], height[SAMPLES], speed[SAMPLES];
} run;

typedef struct ours_row {
  int n, os, nmc_os, nmc;
  run *o, *f;
} ours_row;

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool simulate(run* r, const char* scene, int links, const char* formulation, double duration,
                     int friction, const char* solver) {
  char text[32];
  const char* set[] = {text};
  kn_scene_opened* o;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  memset(r, 0, sizeof *r);
  snprintf(text, sizeof text, "links=%d", links);
  if (kn_scene_open(&o, scene, set, 1) != KN_OK) return false;
  kn_sim_settings s = kn_scene_settings(o->scene);
  s.formulation = formulation;
  s.friction = friction;
  s.solver = solver;
  s.ledger = false;
  s.stage_times = true;
  bool ok = kn_state_create(&x, o->model) == KN_OK && kn_scene_start(o, x) == KN_OK &&
            kn_sim_create(&sim, o->model, &s) == KN_OK;
  long steps = ok ? lround(duration / s.dt) : 0;
  for (long k = 0; k < steps && ok; k++) {
    double t0 = cpu_now();
    ok = kn_step(sim, x) == KN_OK;
    r->cpu += cpu_now() - t0;
    const kn_report* p = kn_sim_report(sim);
    r->problem += p->time.problem;
    r->solve += p->time.solve;
    r->steps++;
    r->contacts += p->contacts;
    r->residual = fmax(r->residual, p->residual);
    r->penetration = fmax(r->penetration, p->penetration);
    r->gain = p->gain_rel;
    for (int e = 0; e < p->events; e++) r->impacts += p->event[e].kind == KN_EVENT_IMPACT;
    kn_pose pose;
    double v[6];
    kn_kinematics(o->model, x, kn_sim_data(sim));
    kn_body last = kn_model_bodies(o->model) - 1;
    kn_geom_pose(&pose, o->model, kn_sim_data(sim), kn_model_geoms(o->model) - 1);
    kn_body_velocity(v, o->model, kn_sim_data(sim), last, pose.p);
    if (k < SAMPLES) r->t[k] = kn_state_time(x), r->height[k] = pose.p[2], r->speed[k] = v[5];
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}

static int size_of(const char* scene, int links, const char* formulation) {
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

/* Slope of log y over log x. */
static double exponent(const double* x, const double* y, int n) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < n; i++) {
    double a = log(x[i]), b = log(y[i]);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

typedef struct tables {
  ours_row row[MAX_ROWS];
  int rows;
  double exponent_os, exponent_nmc_os;
} tables;

static void write_members(kn_json* j, void* context) {
  static const char* const name[] = {"nmc", "mc", "rmc", "os"};
  static const int published[] = {310, 50, 24, 24};
  static const char* const complexity[] = {"O(n)", "O(N^2)", "O(N^3)", "O(N) + O(nc^2)"};
  const tables* t = context;
  kn_json_array(j, "table1");
  for (int i = 0; i < 4; i++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "formulation", name[i]);
    kn_json_int(j, "dual_arm_lcp", size_of("dual-arm", 0, name[i]));
    kn_json_int(j, "paper_dual_arm_lcp", published[i]);
    kn_json_text(j, "paper_assembly", complexity[i]);
    kn_json_end(j);
  }
  kn_json_end(j);
  kn_json_array(j, "table2");
  for (int i = 0; i < t->rows; i++) {
    const ours_row* r = &t->row[i];
    kn_json_begin(j, NULL);
    kn_json_int(j, "n", r->n);
    kn_json_int(j, "lcp_os", r->os);
    kn_json_int(j, "lcp_nmc_os", r->nmc_os);
    kn_json_int(j, "lcp_nmc", r->nmc);
    kn_json_number(j, "os_s", r->o->cpu);
    kn_json_number(j, "nmc_os_s", r->f ? r->f->cpu : NAN);
    kn_json_number(j, "ratio", r->f ? r->f->cpu / r->o->cpu : NAN);
    bool have = i < PAPER_ROWS;
    kn_json_number(j, "paper_ratio", have ? paper[i].nmc_os_s / paper[i].os_s : NAN);
    kn_json_int(j, "paper_lcp_os", have ? paper[i].os : -1);
    kn_json_int(j, "paper_lcp_nmc_os", have ? paper[i].nmc_os : -1);
    kn_json_int(j, "paper_lcp_nmc", have ? paper[i].nmc : -1);
    kn_json_end(j);
  }
  kn_json_end(j);
  kn_json_number(j, "exponent_os", t->exponent_os);
  kn_json_number(j, "exponent_nmc_os", t->exponent_nmc_os);
}

static void figures(const char* folder, const ours_row* r) {
  char path[512], title[2][64];
  kn_plot panel[2] = {0};
  kn_plot_series series[2][2] = {0};
  snprintf(path, sizeof path, "%s/papers-%d-links.svg", folder, r->n);
  for (int k = 0; k < 2; k++) {
    for (int f = 0; f < 2; f++) {
      const run* u = f ? r->f : r->o;
      series[k][f] = (kn_plot_series){.name = f ? "NMC/OS" : "OS",
                                      .x = u->t,
                                      .y = k ? u->speed : u->height,
                                      .n = (size_t)(u->steps < SAMPLES ? u->steps : SAMPLES),
                                      .dashed = f};
    }
    snprintf(title[k], sizeof title[k], "%s of the last link, %d links", k ? "vertical velocity" : "height",
             r->n);
    panel[k] = (kn_plot){.title = title[k],
                         .x_label = "time, s",
                         .y_label = k ? "m/s" : "m",
                         .series = series[k],
                         .series_count = 2};
  }
  kn_plot_save(path, panel, 2, 2, 0, 0);
}

int main(int argc, char** argv) {
  kn_bench* b =
      kn_bench_open("papers", "the papers' pendulum, 5 s at 1 ms, poly4 friction, Lemke", argc, argv);
  static tables t;
  double duration = kn_bench_quick(b) ? 0.5 : 5.0;
  const char* folder = kn_bench_argument(b, "--results", "bench/results");
  static const int links[] = {3, 6, 12, 15, 24, 30, 60, 120};
  double x[MAX_ROWS], yo[MAX_ROWS], yf[MAX_ROWS];
  int nf = 0;
  kn_bench_unit(b, "s", 1);
  kn_bench_group(b, "pendulum-2014, 5 s", "links", KN_BENCH_LOG);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    ours_row* r = &t.row[t.rows];
    r->n = links[i];
    if (!kn_bench_row(b, "pendulum-%d", r->n)) continue;
    kn_bench_x(b, r->n);
    r->os = size_of("pendulum-2014", r->n, "os");
    r->nmc_os = size_of("pendulum-2014", r->n, "nmc-os");
    r->nmc = size_of("pendulum-2014", r->n, "nmc");
    r->o = malloc(sizeof *r->o);
    r->f = r->n <= 30 ? malloc(sizeof *r->f) : NULL; /* larger ones cost minutes and show nothing new */
    if (!r->o || !simulate(r->o, "pendulum-2014", r->n, "os", duration, 4, "lemke"))
      kn_bench_fail(b, "n = %d: os failed", r->n);
    if (r->f && !simulate(r->f, "pendulum-2014", r->n, "nmc-os", duration, 4, "lemke"))
      kn_bench_fail(b, "n = %d: nmc-os failed", r->n);
    kn_bench_ours_value(b, "os", r->o->cpu);
    if (r->f) kn_bench_extra_value(b, "nmc-os", r->f->cpu);
    kn_bench_number(b, "lcp_os", r->os);
    kn_bench_number(b, "lcp_nmc_os", r->nmc_os);
    kn_bench_number(b, "lcp_nmc", r->nmc);
    if (r->f) kn_bench_number(b, "ratio_nmc_os", r->f->cpu / r->o->cpu);
    if (i < PAPER_ROWS) {
      kn_bench_number(b, "paper_ratio", paper[i].nmc_os_s / paper[i].os_s);
      if (r->os != paper[i].os || r->nmc_os != paper[i].nmc_os || r->nmc != paper[i].nmc)
        kn_bench_fail(b, "n = %d: LCP sizes differ from the paper's", r->n);
    }
    kn_bench_number(b, "impacts", (double)r->o->impacts);
    kn_bench_number(b, "residual", r->o->residual);
    x[t.rows] = r->n;
    yo[t.rows] = r->o->cpu;
    if (r->f) yf[nf++] = r->f->cpu;
    if (r->f && (r->n == 3 || r->n == 12)) figures(folder, r);
    t.rows++;
  }
  if (t.rows > 2) t.exponent_os = exponent(x, yo, t.rows);
  if (nf > 3) t.exponent_nmc_os = exponent(x + 2, yf + 2, nf - 2);
  kn_bench_note(b, "time grows like n^%.2f (OS), n^%.2f (NMC/OS from 12 links)", t.exponent_os,
                t.exponent_nmc_os);
  kn_bench_members(b, write_members, &t);
  return kn_bench_close(b);
}
