/* Growth with the number of bodies, to 10 000: what a model costs to compile and to hold, and a step per body. Three
   worlds: balls on a floor (an island each), boxes on a floor (four contacts each) and layers of balls that fall onto
   each other in a box. Every case runs in a process of its own, whose peak of memory is asked of the system.
   The field `exponent` is that of the step's time between this size and the one before: 1 is linear. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "knuckle/step.h"
#include "scene.h"

enum { STEPS = 21, SETTLE = 30 };

typedef struct figures {
  double compile, first, step; /* s: spec to model; simulator and first step; median step */
  double memory;               /* bytes, peak of the process less that of one without a model */
  int contacts;
} figures;

typedef enum world { BALLS, BOXES, FALLING, WORLDS } world;
static const char* const titles[WORLDS] = {"balls on a floor", "boxes on a floor", "falling balls"};
static const char* const names[WORLDS] = {"balls", "boxes", "falling"};

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static kn_status add_body(kn_spec* spec, int i, int side, kn_shape_type type) {
  kn_body_def d = kn_body_default();
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  kn_geom_def g = kn_geom_default(type);
  kn_joint joint;
  kn_geom geom;
  d.mass = 1.0;
  for (int k = 0; k < 3; k++) d.inertia[k] = 0.4 * 0.1 * 0.1, g.shape.size[k] = 0.1;
  d.pos[0] = 0.3 * (i % side), d.pos[1] = 0.3 * (i / side), d.pos[2] = 0.1;
  kn_status status = kn_spec_add_body(&j.body, spec, &d);
  g.body = j.body;
  if (status == KN_OK) status = kn_spec_add_joint(&joint, spec, &j);
  return status == KN_OK ? kn_spec_add_geom(&geom, spec, &g) : status;
}

static kn_status lay_out(kn_model** model, int n, kn_shape_type type) {
  kn_spec* spec;
  kn_geom geom;
  kn_geom_def ground = kn_geom_default(KN_SHAPE_PLANE);
  int side = 1;
  while (side * side < n) side++;
  kn_status status = kn_spec_create(&spec);
  if (status != KN_OK) return status;
  status = kn_spec_add_geom(&geom, spec, &ground);
  for (int i = 0; i < n && status == KN_OK; i++) status = add_body(spec, i, side, type);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return status;
}

static kn_status build(kn_model** model, world w, int n) {
  char balls[32];
  const char* set[] = {balls};
  snprintf(balls, sizeof balls, "balls=%d", n);
  if (w == FALLING) return kn_scene_model(model, "sphere-pile", set, 1);
  return lay_out(model, n, w == BALLS ? KN_SHAPE_SPHERE : KN_SHAPE_BOX);
}

static int ascending(const void* a, const void* b) {
  double d = *(const double*)a - *(const double*)b;
  return (d > 0) - (d < 0);
}

/* In the child: nothing is freed, the process ends. */
static bool measure(figures* f, world w, int n) {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
  double time[STEPS], start = cpu();
  if (build(&model, w, n) != KN_OK) return false;
  f->compile = cpu() - start;
  start = cpu();
  if (kn_state_create(&state, model) != KN_OK || kn_sim_create(&sim, model, NULL) != KN_OK) return false;
  if (kn_step(sim, state) != KN_OK) return false;
  f->first = cpu() - start;
  for (int k = 0; k < SETTLE; k++)
    if (kn_step(sim, state) != KN_OK) return false;
  for (int k = 0; k < STEPS; k++) {
    start = cpu();
    if (kn_step(sim, state) != KN_OK) return false;
    time[k] = cpu() - start;
  }
  qsort(time, STEPS, sizeof *time, ascending);
  f->step = time[STEPS / 2];
  f->contacts = kn_sim_report(sim)->contacts;
  return true;
}

/* n = 0: a process that does nothing. */
static bool in_child(figures* f, world w, int n) {
  int ends[2], status;
  struct rusage use;
  *f = (figures){0};
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool ok = n == 0 || measure(f, w, n);
    ok = ok && write(ends[1], f, sizeof *f) == (ssize_t)sizeof *f;
    _exit(ok ? 0 : 1);
  }
  close(ends[1]);
  bool got = child > 0 && read(ends[0], f, sizeof *f) == (ssize_t)sizeof *f;
  close(ends[0]);
  if (child <= 0 || wait4(child, &status, 0, &use) != child) return false;
  f->memory = 1024.0 * (double)use.ru_maxrss;
  return got && status == 0;
}

int main(int argc, char** argv) {
  static const int sizes[] = {100, 300, 1000, 3000, 10000};
  kn_bench* b = kn_bench_open("growth", "time and memory with the number of bodies", argc, argv);
  int count = kn_bench_quick(b) ? 3 : 5, failed = 0;
  figures nothing;
  in_child(&nothing, BALLS, 0);
  for (world w = 0; w < WORLDS; w++) {
    figures last = {0};
    kn_bench_group(b, titles[w], "bodies", KN_BENCH_LOG);
    for (int i = 0; i < count; i++) {
      figures f;
      int n = sizes[i];
      if (!kn_bench_row(b, "%s-%d", names[w], n)) continue;
      if (!in_child(&f, w, n)) {
        fprintf(stderr, "%s-%d failed\n", names[w], n);
        failed++;
        continue;
      }
      kn_bench_x(b, n);
      kn_bench_ours_value(b, "knuckle", 1e6 * f.step / n);
      kn_bench_number(b, "contacts", f.contacts);
      kn_bench_number(b, "step_ms", 1e3 * f.step);
      kn_bench_number(b, "compile_ms", 1e3 * f.compile);
      kn_bench_number(b, "first_ms", 1e3 * f.first);
      kn_bench_number(b, "kB_per_body", (f.memory - nothing.memory) / 1024.0 / n);
      if (last.step > 0.0)
        kn_bench_number(b, "exponent", log(f.step / last.step) / log((double)n / sizes[i - 1]));
      last = f;
    }
  }
  int code = kn_bench_close(b);
  return code ? code : failed > 0;
}
