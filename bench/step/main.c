/* Time of a whole step on fixed scenes, with the stage table of docs/performance.md.

     build/bench/step                        table of all scenes
     build/bench/step --count NAME           runs the fixed steps of one scene once, for callgrind
                                             (scripts/callgrind.sh, test/bench/instructions.c)

   Every scene first runs `settle` steps; then `steps` steps are timed, starting from the same saved state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "knuckle/step.h"
#include "scene.h"

typedef struct fixed {
  const char *name, *scene, *parameter;
  int settle, steps, counted; /* counted: steps under callgrind */
  double tolerance;           /* of the solver; 0: the library's */
} fixed;

static const fixed list[] = {
    {"quadruped", "quadruped", NULL, 200, 1000, 40, 0},
    {"humanoid", "humanoid", NULL, 200, 500, 20, 0},
    {"pendulum-3", "pendulum-2014", "links=3", 0, 5000, 600, 0},
    {"pendulum-12", "pendulum-2014", "links=12", 0, 5000, 600, 0},
    {"pendulum-30", "pendulum-2014", "links=30", 0, 5000, 400, 0},
    {"pendulum-2012-12", "pendulum-2012", "links=12", 0, 5000, 600, 0},
    {"pile-64", "sphere-pile", "balls=64", 120, 300, 5, 1e-6},
    {"pile-100", "sphere-pile", "balls=100", 500, 300, 5, 1e-6},
    {"pile-666", "sphere-pile", "balls=666", 500, 30, 2, 1e-6},
};

typedef struct runner {
  const fixed* f;
  kn_scene_opened* scene;
  kn_sim* sim;
  kn_state *start, *x;
  kn_stage_times time;
  double residual, penetration, wall;
  long contacts, iterations, steps;
} runner;

static void add_times(kn_stage_times* to, const kn_stage_times* from) {
  double* a = (double*)to;
  const double* b = (const double*)from;
  for (size_t i = 0; i < sizeof *to / sizeof(double); i++) a[i] += b[i];
}

static void advance(runner* r, int steps, bool note) {
  for (int i = 0; i < steps; i++) {
    kn_step(r->sim, r->x);
    if (!note) continue;
    const kn_report* p = kn_sim_report(r->sim);
    add_times(&r->time, &p->time);
    r->residual = fmax(r->residual, p->residual);
    r->penetration = fmax(r->penetration, p->penetration);
    r->contacts += p->contacts;
    r->iterations += p->iterations;
    r->steps++;
  }
}

static bool prepare(runner* r, const fixed* f, bool ledger, bool timers) {
  *r = (runner){.f = f};
  if (kn_scene_open(&r->scene, f->scene, &f->parameter, f->parameter ? 1 : 0) != KN_OK) return false;
  kn_sim_settings s = kn_scene_settings(r->scene->scene);
  s.ledger = ledger;
  s.stage_times = timers;
  if (f->tolerance > 0.0) s.tolerance = f->tolerance;
  if (strncmp(f->name, "pile", 4) == 0) s.max_contacts = 5 * atoi(f->name + 5);
  if (kn_sim_create(&r->sim, r->scene->model, &s) != KN_OK) return false;
  kn_sim_set_controller(r->sim, r->scene->controller.fn ? &r->scene->controller : NULL);
  if (kn_state_create(&r->x, r->scene->model) != KN_OK ||
      kn_state_create(&r->start, r->scene->model) != KN_OK)
    return false;
  if (kn_scene_start(r->scene, r->x) != KN_OK || kn_sim_prepare(r->sim, r->x) != KN_OK ||
      kn_sim_prepare(r->sim, r->start) != KN_OK)
    return false;
  advance(r, f->settle, false);
  return kn_state_copy(r->start, r->x) == KN_OK;
}

static void finish(runner* r) {
  kn_state_destroy(r->x);
  kn_state_destroy(r->start);
  kn_sim_destroy(r->sim);
  kn_scene_close(r->scene);
}

static void timed(void* context) {
  runner* r = context;
  kn_state_copy(r->x, r->start);
  advance(r, r->f->steps, false);
}

static void measure(kn_bench* b, const fixed* f) {
  runner with, bare, stages;
  if (!kn_bench_row(b, "%s", f->name)) return;
  if (!prepare(&with, f, true, false) || !prepare(&bare, f, false, false) ||
      !prepare(&stages, f, true, true)) {
    kn_bench_fail(b, "%s: %s", f->name, kn_scene_error());
    return;
  }
  kn_bench_ours(b, "step", timed, &with);
  kn_bench_extra(b, "without ledger", timed, &bare);
  kn_bench_per(b, f->steps);
  kn_bench_measure(b);
  advance(&stages, f->steps, true);
  const kn_stage_times* t = &stages.time;
  double n = 1e6 / (double)stages.steps;
  kn_bench_number(b, "kinematics", t->kinematics * n);
  kn_bench_number(b, "collide", t->collide * n);
  kn_bench_number(b, "factor", t->factor * n);
  kn_bench_number(b, "problem", t->problem * n);
  kn_bench_number(b, "solve", t->solve * n);
  kn_bench_number(b, "impact", t->impact * n);
  kn_bench_number(b, "project", t->project * n);
  kn_bench_number(b, "audit", t->audit * n);
  kn_bench_number(b, "contacts", (double)stages.contacts / (double)stages.steps);
  kn_bench_number(b, "iterations", (double)stages.iterations / (double)stages.steps);
  kn_bench_number(b, "residual", stages.residual);
  kn_bench_number(b, "penetration", stages.penetration);
  finish(&with);
  finish(&bare);
  finish(&stages);
}

/* Callgrind collects inside this function. */
__attribute__((noinline)) void kn_counted_steps(runner* r);
void kn_counted_steps(runner* r) { advance(r, r->f->counted, false); }

static int count(const char* name) {
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    runner r;
    if (strcmp(list[i].name, name) != 0) continue;
    if (!prepare(&r, &list[i], true, false)) return 1;
    kn_counted_steps(&r);
    finish(&r);
    return 0;
  }
  fprintf(stderr, "step: no scene \"%s\"\n", name);
  return 2;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--count") == 0) return count(argv[2]);
  kn_bench* b = kn_bench_open("step", "one step of fixed scenes, whole", argc, argv);
  kn_bench_group(b, "time per step", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) measure(b, &list[i]);
  return kn_bench_close(b);
}
