/* Many worlds on all cores: kn_pool against mujoco.rollout with the same threads, models, starts and steps, and
   against ourselves: one thread, and two processes with one thread each in the same run.

     build/bench/pool [--worlds N] [--steps N] [--threads N]

   Both write the state after every step. Times are wall times, the runs of a repeat follow each other; the
   table's unit is microseconds of wall time a step, all worlds together. The times of all threads are compared
   too (cpu_of_one, times_rollout_cpu): on a busy machine they say more. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/timer.h"
#include "bench.h"
#include "knuckle/load.h"
#include "knuckle/pool.h"
#include "mjcf.h"
#include "scene.h"

enum { REPEATS = 15 };

typedef struct race {
  const char* name;
  const char* scene; /* or */
  const char* file;  /* below ../shared/data/models */
} race;

static const race races[] = {{"humanoid", "humanoid", NULL},
                             {"quadruped", "quadruped", NULL},
                             {"barkour", NULL, "mjcf/google_barkour_vb/scene.xml"},
                             {"anymal", NULL, "mjcf/anybotics_anymal_c/scene.xml"}};

typedef struct entrant {
  kn_scene_opened* scene;
  kn_model* model;
  kn_load_report* report;
  kn_sim_settings settings;
  kn_state* start;
  char path[512]; /* the model for the peer */
  bool made;      /* path is a file of ours */
  int worlds, steps, threads;
  double *state, *from, *ctrl, *q, *v, *t; /* rows, kept rows */
  double cpu;                              /* of the last run, s: all threads */
  kn_pool_summary sum;
} entrant;

static bool open_scene(entrant* e, const char* name) {
  if (kn_scene_open(&e->scene, name, NULL, 0) != KN_OK) return false;
  e->model = e->scene->model;
  e->settings = kn_scene_settings_of(e->scene);
  kn_mjcf_settings settings = kn_mjcf_default();
  settings.timestep = e->settings.dt;
  strcpy(e->path, "/tmp/knuckle-pool-XXXXXX.xml");
  int fd = mkstemps(e->path, 4);
  if (fd < 0) return false;
  close(fd);
  e->made = true;
  return kn_mjcf_save(e->path, e->model, &settings) == KN_OK &&
         kn_state_create(&e->start, e->model) == KN_OK && kn_scene_start(e->scene, e->start) == KN_OK;
}

static bool open_file(entrant* e, const char* file) {
  kn_spec* spec = NULL;
  kn_load_settings load = kn_load_default();
  snprintf(e->path, sizeof e->path, KN_SHARED_DATA "/models/%s", file);
  if (kn_load(&spec, &e->report, e->path, &load) != KN_OK) return false;
  kn_status status = kn_compile(&e->model, spec);
  kn_spec_destroy(spec);
  e->settings = kn_sim_default();
  e->settings.dt = kn_load_timestep(e->report) > 0.0 ? kn_load_timestep(e->report) : 0.002;
  if (status == KN_OK) status = kn_state_create(&e->start, e->model);
  if (status == KN_OK && kn_model_keyframes(e->model)) status = kn_state_keyframe(e->start, 0);
  return status == KN_OK;
}

static double* take(size_t count) { return calloc(count ? count : 1, sizeof(double)); }

/* Starts with a little noise in the velocities, the same for everybody. */
static void fill(entrant* e) {
  size_t nq = (size_t)kn_model_nq(e->model), nv = (size_t)kn_model_nv(e->model),
         nu = (size_t)kn_model_nu(e->model), worlds = (size_t)e->worlds, kept = worlds * (size_t)e->steps;
  size_t width = 1 + nq + nv;
  kn_rng rng = kn_rng_seed(1);
  e->state = take(worlds * width), e->from = take(worlds * width), e->ctrl = take(worlds * nu);
  e->q = take(kept * nq), e->v = take(kept * nv), e->t = take(kept);
  for (size_t w = 0; w < worlds; w++) {
    double* row = e->from + w * width;
    memcpy(row + 1, kn_state_q(e->start), nq * sizeof(double));
    for (size_t i = 0; i < nv; i++)
      row[1 + nq + i] = kn_state_v(e->start)[i] + kn_rng_range(&rng, -0.05, 0.05);
    memcpy(e->ctrl + w * nu, kn_state_ctrl(e->start), nu * sizeof(double));
  }
}

static double process_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All worlds from their starts: wall seconds, or a negative number. */
static double run_pool(entrant* e, kn_pool* pool, int first, int worlds) {
  size_t width = (size_t)kn_pool_width(pool), at = (size_t)first * width;
  size_t nq = (size_t)kn_model_nq(e->model), nv = (size_t)kn_model_nv(e->model),
         kept = (size_t)first * (size_t)e->steps;
  memcpy(e->state + at, e->from + at, (size_t)worlds * width * sizeof(double));
  kn_pool_reset reset = {.keyframe = -1};
  if (kn_pool_begin(pool, &reset) != KN_OK) return -1.0;
  kn_pool_run run = {.steps = e->steps,
                     .state = e->state + at,
                     .ctrl = e->ctrl + (size_t)first * (size_t)kn_model_nu(e->model),
                     .every = 1,
                     .q = e->q + kept * nq,
                     .v = e->v + kept * nv,
                     .t = e->t + kept};
  double begin = kn_wall_seconds(), cpu = process_seconds();
  if (kn_pool_step(&e->sum, pool, &run) != KN_OK || e->sum.failed) return -1.0;
  e->cpu = process_seconds() - cpu;
  return kn_wall_seconds() - begin;
}

/* The worlds shared by as many processes as there are threads, each with a pool of one thread: seconds from the
   first start to the last end. */
static double run_processes(entrant* e) {
  int ready[2], go[2], n = e->threads;
  if (pipe(ready) || pipe(go)) return -1.0;
  pid_t child[64];
  for (int k = 0; k < n; k++) {
    child[k] = fork();
    if (child[k] != 0) continue;
    int first = e->worlds * k / n, worlds = e->worlds * (k + 1) / n - first;
    kn_pool* pool = NULL;
    bool ok = kn_pool_create(&pool, e->model, &e->settings, worlds, 1) == KN_OK;
    int steps = e->steps;
    e->steps = steps < 20 ? steps : 20; /* pages and caches */
    ok = ok && run_pool(e, pool, first, worlds) >= 0.0;
    e->steps = steps;
    char c = 0;
    ok = write(ready[1], &c, 1) == 1 && read(go[0], &c, 1) == 1 && ok;
    _exit(ok && run_pool(e, pool, first, worlds) >= 0.0 ? 0 : 1);
  }
  char c = 0;
  for (int k = 0; k < n; k++)
    if (read(ready[0], &c, 1) != 1) return -1.0;
  double begin = kn_wall_seconds();
  for (int k = 0; k < n; k++)
    if (write(go[1], &c, 1) != 1) return -1.0;
  bool ok = true;
  for (int k = 0, status; k < n; k++) ok &= waitpid(child[k], &status, 0) > 0 && status == 0;
  close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
  return ok ? kn_wall_seconds() - begin : -1.0;
}

/* ---- mujoco.rollout in its own process ---- */

typedef struct peer {
  FILE *in, *out;
  pid_t child;
  char states[64], version[64];
  double cpu, contacts, overlap, bad; /* of the last run; states that were not finite */
  double unstable[2];                 /* per variant, of all runs */
} peer;

static bool save_states(const entrant* e, const char* path) {
  FILE* f = fopen(path, "wb");
  size_t nq = (size_t)kn_model_nq(e->model), nv = (size_t)kn_model_nv(e->model),
         nu = (size_t)kn_model_nu(e->model);
  bool ok = f != NULL;
  for (size_t w = 0; ok && w < (size_t)e->worlds; w++)
    ok = fwrite(e->from + w * (1 + nq + nv) + 1, sizeof(double), nq + nv, f) == nq + nv &&
         fwrite(e->ctrl + w * nu, sizeof(double), nu, f) == nu;
  return f && fclose(f) == 0 && ok;
}

static bool peer_open(peer* p, const entrant* e) {
  int to[2], from[2];
  *p = (peer){.states = "/tmp/knuckle-pool-XXXXXX"};
  int fd = mkstemp(p->states);
  if (access(KN_PEERS_PYTHON, X_OK) != 0 || fd < 0) return false;
  close(fd);
  if (!save_states(e, p->states) || pipe(to) || pipe(from)) return false;
  char worlds[16], steps[16], dt[32];
  snprintf(worlds, sizeof worlds, "%d", e->worlds);
  snprintf(steps, sizeof steps, "%d", e->steps);
  snprintf(dt, sizeof dt, "%.17g", e->settings.dt);
  p->child = fork();
  if (p->child == 0) {
    dup2(to[0], 0), dup2(from[1], 1);
    if (!freopen("/dev/null", "w", stderr)) _exit(127); /* its warnings are counted */
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execl(KN_PEERS_PYTHON, KN_PEERS_PYTHON, KN_SOURCE_DIR "/bench/pool/rollout.py", e->path, p->states,
          worlds, steps, dt, (char*)NULL);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  p->in = fdopen(to[1], "w"), p->out = fdopen(from[0], "r");
  return p->in && p->out && fgets(p->version, sizeof p->version, p->out);
}

static double peer_run(peer* p, int threads, int variant) {
  double seconds;
  fprintf(p->in, "%d %d\n", threads, variant);
  fflush(p->in);
  if (fscanf(p->out, "%lf %lf %lf %lf %lf", &seconds, &p->cpu, &p->contacts, &p->overlap, &p->bad) != 5)
    return -1.0;
  p->unstable[variant] += p->bad;
  return seconds;
}

static void peer_close(peer* p) {
  if (p->in) fclose(p->in);
  if (p->out) fclose(p->out);
  if (p->child > 0) waitpid(p->child, NULL, 0);
  remove(p->states);
}

/* ---- a row ---- */

typedef struct samples {
  double one[REPEATS], all[REPEATS], processes[REPEATS], rollout[2][REPEATS]; /* wall, s */
  double cpu_one[REPEATS], cpu_all[REPEATS], cpu_rollout[2][REPEATS];         /* of all threads, s */
} samples;

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double middle(const double* x, int n) {
  double sorted[REPEATS];
  memcpy(sorted, x, (size_t)n * sizeof *x);
  qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  return sorted[n / 2];
}

/* Median over the repeats of a / b. */
static double middle_ratio(const double* a, const double* b, int n) {
  double ratio[REPEATS];
  for (int i = 0; i < n; i++) ratio[i] = a[i] / b[i];
  return middle(ratio, n);
}

static void report(kn_bench* b, const entrant* e, const samples* s, const peer* p, int n) {
  double work = (double)e->worlds * e->steps, us[REPEATS];
  for (int i = 0; i < n; i++) us[i] = 1e6 * s->all[i] / work;
  kn_bench_ours_samples(b, "knuckle", us, n);
  double wall = INFINITY, cpu = INFINITY;
  for (int v = 0; p && v < 2; v++) {
    const char* name = v ? "mujoco.rollout implicitfast" : "mujoco.rollout";
    if (p->unstable[v] > 0) {
      kn_bench_note(b, "%s is unstable: %g states were not finite", name, p->unstable[v]);
      continue;
    }
    for (int i = 0; i < n; i++) us[i] = 1e6 * s->rollout[v][i] / work;
    kn_bench_peer_samples(b, name, us, n);
    wall = fmin(wall, middle_ratio(s->rollout[v], s->all, n));
    cpu = fmin(cpu, middle_ratio(s->cpu_rollout[v], s->cpu_all, n));
  }
  for (int i = 0; i < n; i++) us[i] = 1e6 * s->one[i] / work;
  kn_bench_extra_samples(b, "one thread", us, n);
  kn_bench_number(b, "steps_s", work / middle(s->all, n));
  kn_bench_number(b, "steps_s_core", work / middle(s->one, n));
  kn_bench_number(b, "times_one_thread", middle_ratio(s->one, s->all, n));
  kn_bench_number(b, "cpu_of_one", middle_ratio(s->cpu_one, s->cpu_all, n));
  kn_bench_number(b, "of_processes", middle_ratio(s->processes, s->all, n));
  if (p && wall < INFINITY) {
    kn_bench_number(b, "times_rollout", wall);
    kn_bench_number(b, "times_rollout_cpu", cpu);
    kn_bench_number(b, "peer_contacts", p->contacts);
    kn_bench_number(b, "peer_overlap", p->overlap);
  }
  kn_bench_number(b, "contacts", (double)e->sum.contacts / work);
  kn_bench_number(b, "residual", e->sum.residual);
  kn_bench_number(b, "overlap", e->sum.penetration);
}

static bool measure(entrant* e, samples* s, peer* p, int n) {
  kn_pool *one, *all;
  if (kn_pool_create(&one, e->model, &e->settings, e->worlds, 1) != KN_OK) return false;
  bool ok = kn_pool_create(&all, e->model, &e->settings, e->worlds, e->threads) == KN_OK;
  for (int i = -1; ok && i < n; i++) { /* the first time does not count */
    int at = i < 0 ? 0 : i;
    s->one[at] = run_pool(e, one, 0, e->worlds), s->cpu_one[at] = e->cpu;
    s->all[at] = run_pool(e, all, 0, e->worlds), s->cpu_all[at] = e->cpu;
    s->processes[at] = run_processes(e);
    for (int v = 0; p && v < 2; v++)
      s->rollout[v][at] = peer_run(p, e->threads, v), s->cpu_rollout[v][at] = p->cpu;
    ok = s->one[at] > 0.0 && s->all[at] > 0.0 && s->processes[at] > 0.0;
    ok = ok && (!p || (s->rollout[0][at] > 0.0 && s->rollout[1][at] > 0.0));
  }
  kn_pool_destroy(one);
  kn_pool_destroy(all);
  return ok;
}

static void leave(entrant* e) {
  free(e->state), free(e->from), free(e->ctrl), free(e->q), free(e->v), free(e->t);
  kn_state_destroy(e->start);
  if (!e->scene) kn_model_destroy(e->model);
  if (e->scene) kn_scene_close(e->scene);
  kn_load_report_free(e->report);
  if (e->made) remove(e->path);
}

static void row(kn_bench* b, const race* r, entrant e, int repeats) {
  samples s;
  peer p;
  if (!kn_bench_row(b, "%s", r->name)) return;
  if (!(r->scene ? open_scene(&e, r->scene) : open_file(&e, r->file))) {
    kn_bench_note(b, "%s: %s", r->name, kn_last_error());
    leave(&e);
    return;
  }
  fill(&e);
  bool there = peer_open(&p, &e);
  if (measure(&e, &s, there ? &p : NULL, repeats))
    report(b, &e, &s, there ? &p : NULL, repeats);
  else
    kn_bench_fail(b, "%s: a run failed: %s", r->name, kn_last_error());
  kn_bench_note(b, "%s: %d worlds, %d steps of %g s, mujoco %s", r->name, e.worlds, e.steps, e.settings.dt,
                there ? strtok(p.version, "\n") : "not installed");
  peer_close(&p);
  leave(&e);
}

int main(int argc, char** argv) {
  kn_bench* b = kn_bench_open("pool", "many worlds on all cores", argc, argv);
  bool quick = kn_bench_quick(b);
  entrant e = {.worlds = atoi(kn_bench_argument(b, "--worlds", quick ? "16" : "256")),
               .steps = atoi(kn_bench_argument(b, "--steps", quick ? "20" : "200")),
               .threads = atoi(kn_bench_argument(b, "--threads", "2"))};
  if (e.worlds < 1 || e.steps < 1 || e.threads < 1 || e.threads > 64)
    kn_bench_fail(b, "worlds, steps and threads (at most 64) must be positive");
  int repeats = kn_bench_repeats(b, quick ? 1 : 5);
  repeats = repeats < REPEATS ? repeats : REPEATS;
  kn_bench_group(b, "worlds of one model", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof races / sizeof *races && e.threads > 0; i++) row(b, &races[i], e, repeats);
  return kn_bench_close(b);
}
