/* Time of a whole step on fixed scenes, with the stage table of docs/performance.md.

     build/bench/step                        table of all scenes
     build/bench/step --count NAME [PATHS]   runs the fixed steps of one scene once, for callgrind
                                             (scripts/callgrind.sh, test/bench/instructions.c); PATHS: fast
                                             paths that are off then (scripts/fast-paths.sh)
     build/bench/step --kinds [SCENE [PARAMETER]]
                                             kinds of steps and their cost, impacts as bench peers has them;
                                             default: the papers' pendulums
     build/bench/step --fast [NAME ...]      what each fast path buys: processor time of a step with the path
                                             off over that with all paths on, from the same state

   Every scene first runs `settle` steps; then `steps` steps are timed, starting from the same saved state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/timer.h"
#include "bench/harness/bench.h"
#include "knuckle/step.h"
#include "scene.h"

typedef struct fixed {
  const char *name, *scene, *parameter;
  int settle, steps, counted; /* counted: steps under callgrind */
  double tolerance;           /* of the solver; 0: the library's */
  bool split;                 /* impacts, as bench peers has them */
  double shaken; /* start velocities are moved by up to so much (m/s, rad/s), as bench pool has them */
} fixed;

static const fixed list[] = {
    {"quadruped", "quadruped", NULL, 200, 1000, 40, 0, false, 0},
    {"humanoid", "humanoid", NULL, 200, 500, 20, 0, false, 0},
    {"humanoid-shaken", "humanoid", NULL, 0, 200, 60, 0, false, 0.05},
    {"pendulum-3", "pendulum-2014", "links=3", 0, 5000, 600, 0, false, 0},
    {"pendulum-12", "pendulum-2014", "links=12", 0, 5000, 600, 0, false, 0},
    {"pendulum-30", "pendulum-2014", "links=30", 0, 5000, 400, 0, false, 0},
    {"pendulum-2012-12", "pendulum-2012", "links=12", 0, 5000, 600, 0, false, 0},
    {"contact-3", "pendulum-2012", "links=3", 2250, 1500, 400, 0, true, 0},
    {"rest-3", "pendulum-2012", "links=3", 4400, 600, 400, 0, true, 0},
    {"contact-6", "pendulum-2012", "links=6", 2500, 750, 400, 0, true, 0},
    {"contact-30", "pendulum-2012", "links=30", 3250, 750, 250, 0, true, 0},
    {"jam-12", "pendulum-2014", "links=12", 4500, 500, 400, 0, true, 0},
    {"jam-30", "pendulum-2012", "links=30", 2250, 750, 250, 0, true, 0},
    {"run-2012-3", "pendulum-2012", "links=3", 0, 5000, 5000, 0, true, 0},
    {"run-2012-6", "pendulum-2012", "links=6", 0, 5000, 5000, 0, true, 0},
    {"run-2012-12", "pendulum-2012", "links=12", 0, 5000, 5000, 0, true, 0},
    {"run-2012-30", "pendulum-2012", "links=30", 0, 5000, 5000, 0, true, 0},
    {"run-2014-3", "pendulum-2014", "links=3", 0, 5000, 5000, 0, true, 0},
    {"run-2014-6", "pendulum-2014", "links=6", 0, 5000, 5000, 0, true, 0},
    {"run-2014-12", "pendulum-2014", "links=12", 0, 5000, 5000, 0, true, 0},
    {"run-2014-30", "pendulum-2014", "links=30", 0, 5000, 5000, 0, true, 0},
    {"wall", "wall", NULL, 50, 200, 10, 0, false, 0},
    {"pile-64", "sphere-pile", "balls=64", 120, 300, 5, 1e-6, false, 0},
    {"pile-100", "sphere-pile", "balls=100", 500, 300, 5, 1e-6, false, 0},
    {"pile-300", "sphere-pile", "balls=300", 400, 60, 2, 1e-6, false, 0},
    {"pile-666", "sphere-pile", "balls=666", 500, 30, 2, 1e-6, false, 0},
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

/* A simulator and its states. off: fast paths that are not taken (kn_sim_settings.fast). */
static bool create(runner* r, const fixed* f, bool timers, const char* off) {
  *r = (runner){.f = f};
  if (kn_scene_open(&r->scene, f->scene, &f->parameter, f->parameter ? 1 : 0) != KN_OK) return false;
  kn_sim_settings s = kn_scene_settings(r->scene->scene);
  s.fast = off;
  s.stage_times = timers;
  s.split_impacts = f->split;
  if (f->tolerance > 0.0) s.tolerance = f->tolerance;
  if (strncmp(f->name, "pile", 4) == 0) s.max_contacts = 5 * atoi(f->name + 5);
  if (kn_sim_create(&r->sim, r->scene->model, &s) != KN_OK) return false;
  kn_sim_set_controller(r->sim, r->scene->controller.fn ? &r->scene->controller : NULL);
  if (kn_state_create(&r->x, r->scene->model) != KN_OK ||
      kn_state_create(&r->start, r->scene->model) != KN_OK)
    return false;
  if (kn_scene_start(r->scene, r->x) != KN_OK) return false;
  kn_rng rng = kn_rng_seed(1);
  for (int i = 0; i < kn_model_nv(r->scene->model) && f->shaken > 0.0; i++)
    kn_state_v(r->x)[i] += kn_rng_range(&rng, -f->shaken, f->shaken);
  return kn_sim_prepare(r->sim, r->x) == KN_OK && kn_sim_prepare(r->sim, r->start) == KN_OK;
}

/* Settled: the state that all runs of the fixed steps begin with. */
static bool prepare(runner* r, const fixed* f, bool timers) {
  if (!create(r, f, timers, NULL)) return false;
  advance(r, f->settle, false);
  return kn_state_copy(r->start, r->x) == KN_OK;
}

/* At the settled state of another, with some fast paths off. */
static bool prepare_without(runner* r, const runner* settled, const char* off) {
  return create(r, settled->f, false, off) && kn_state_copy(r->start, settled->start) == KN_OK &&
         kn_state_copy(r->x, settled->start) == KN_OK;
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
  runner with, stages;
  if (!kn_bench_row(b, "%s", f->name)) return;
  if (!prepare(&with, f, false) || !prepare(&stages, f, true)) {
    kn_bench_fail(b, "%s: %s", f->name, kn_scene_error());
    return;
  }
  kn_bench_ours(b, "step", timed, &with);
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
  finish(&stages);
}

/* Callgrind collects inside this function. */
__attribute__((noinline)) void kn_counted_steps(runner* r);
void kn_counted_steps(runner* r) { advance(r, r->f->counted, false); }

static int count(const char* name, const char* off) {
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    runner settled, r;
    if (strcmp(list[i].name, name) != 0) continue;
    if (!prepare(&settled, &list[i], false)) return 1;
    if (!off) {
      kn_counted_steps(&settled);
    } else {
      if (!prepare_without(&r, &settled, off)) return 1;
      kn_counted_steps(&r);
      finish(&r);
    }
    finish(&settled);
    return 0;
  }
  fprintf(stderr, "step: no scene \"%s\"\n", name);
  return 2;
}

/* ---- what fast paths buy ---- */

/* Least of a few runs of the same steps, s of the processor per step. */
static double seconds_of(runner* r) {
  double least = INFINITY;
  for (int k = 0; k < 5; k++) {
    kn_state_copy(r->x, r->start);
    double t0 = kn_cpu_seconds();
    advance(r, r->f->steps, false);
    least = fmin(least, kn_cpu_seconds() - t0);
  }
  return least / r->f->steps;
}

/* Prints what a step without these paths takes, over that with all; NaN: it failed. */
static void print_without(const runner* settled, double all, const char* off) {
  runner r;
  double without = prepare_without(&r, settled, off) ? seconds_of(&r) : NAN;
  printf(" %.2f |", without / all);
  fflush(stdout);
  finish(&r);
}

static int fast(int argc, char** argv) {
  const kn_fast_path* path = kn_fast_paths();
  int shown = 0;
  printf("| scene | us per step |");
  for (const kn_fast_path* p = path; p->name; p++) printf(" %s |", p->name);
  printf(" none |\n|---|---:|");
  for (const kn_fast_path* p = path; p->name; p++) printf("---:|");
  printf("---:|\n");
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    bool asked = argc == 0;
    for (int k = 0; k < argc; k++) asked |= strcmp(argv[k], list[i].name) == 0;
    if (!asked) continue;
    runner settled;
    if (!prepare(&settled, &list[i], false))
      return fprintf(stderr, "step: %s: %s\n", list[i].name, kn_scene_error()), 1;
    double all = seconds_of(&settled);
    printf("| %s | %.2f |", list[i].name, 1e6 * all);
    for (const kn_fast_path* p = path; p->name; p++) print_without(&settled, all, p->name);
    print_without(&settled, all, "none");
    printf("\n");
    finish(&settled);
    shown++;
  }
  if (!shown) fprintf(stderr, "step: no scene \"%s\"\n", argv[0]);
  return shown ? 0 : 2;
}

/* ---- kinds of steps ----

   The same run several times; of each step the least time, so that what else runs does not show. */

enum { RUN = 5000, REPEATS = 5 };
#define KINDS(X)                                                                                             \
  X(FREE, "free")                                                                                            \
  X(NEAR, "near, unloaded") X(KEPT, "contact kept") X(REPAIRED, "contact, repaired") X(IMPACT, "impact")
typedef enum kind {
#define X(name, text) name,
  KINDS(X)
#undef X
      KIND_COUNT
} kind;
static const char* const kind_name[] = {
#define X(name, text) text,
    KINDS(X)
#undef X
};

static kind kind_of(const kn_report* r) {
  bool loaded = false;
  for (int i = 0; i < r->contacts; i++) loaded |= r->contact[i].mode != KN_MODE_OPEN;
  if (r->impact.islands) return IMPACT;
  return !r->contacts ? FREE : !loaded ? NEAR : r->correction > 0.0 ? REPAIRED : KEPT;
}

static void print_kinds(const char* name, const double* seconds, const unsigned char* of, const int* solves) {
  double all = 0.0;
  for (int i = 0; i < RUN; i++) all += seconds[i];
  printf("%-24s %8.3f us per step\n", name, 1e6 * all / RUN);
  for (int k = 0; k < KIND_COUNT; k++) {
    double sum = 0.0, most = 0.0;
    int n = 0, solved = 0;
    for (int i = 0; i < RUN; i++)
      if (of[i] == k) sum += seconds[i], most = fmax(most, seconds[i]), n++, solved += solves[i];
    if (n)
      printf("  %-20s %5d steps %8.3f us, most %8.2f us, %5.2f solves, %5.1f %%\n", kind_name[k], n,
             1e6 * sum / n, 1e6 * most, (double)solved / n, 100.0 * sum / all);
  }
}

static bool kinds_of_run(const char* scene, const char* parameter) {
  static double seconds[RUN];
  static unsigned char of[RUN];
  static int solves[RUN];
  const fixed f = {scene, scene, parameter, 0, RUN, 0, 0, true, 0};
  char name[64];
  runner r;
  if (!prepare(&r, &f, false)) return false;
  for (int k = 0; k < REPEATS; k++) {
    kn_state_copy(r.x, r.start);
    for (int i = 0; i < RUN; i++) {
      double t0 = kn_wall_seconds();
      kn_step(r.sim, r.x);
      double t = kn_wall_seconds() - t0;
      const kn_report* p = kn_sim_report(r.sim);
      seconds[i] = k ? fmin(seconds[i], t) : t;
      of[i] = (unsigned char)kind_of(p), solves[i] = p->solves;
    }
  }
  snprintf(name, sizeof name, "%s%s%s", scene, parameter ? ", " : "", parameter ? parameter : "");
  print_kinds(name, seconds, of, solves);
  finish(&r);
  return true;
}

static int kinds(int argc, char** argv) {
  static const char* const links[] = {"links=3", "links=6", "links=12", "links=30"};
  static const char* const scenes[] = {"pendulum-2012", "pendulum-2014"};
  if (argc > 0) return kinds_of_run(argv[0], argc > 1 ? argv[1] : NULL) ? 0 : 1;
  for (int i = 0; i < 8; i++)
    if (!kinds_of_run(scenes[i / 4], links[i % 4])) return 1;
  return 0;
}

int main(int argc, char** argv) {
  if (argc >= 2 && strcmp(argv[1], "--kinds") == 0) return kinds(argc - 2, argv + 2);
  if (argc >= 2 && strcmp(argv[1], "--fast") == 0) return fast(argc - 2, argv + 2);
  if (argc >= 3 && argc <= 4 && strcmp(argv[1], "--count") == 0)
    return count(argv[2], argc == 4 ? argv[3] : NULL);
  kn_bench* b = kn_bench_open("step", "one step of fixed scenes, whole", argc, argv);
  kn_bench_group(b, "time per step", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) measure(b, &list[i]);
  return kn_bench_close(b);
}
