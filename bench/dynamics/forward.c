#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/isa.h"
#include "base/rng.h"
#include "base/timer.h"
#include "dynamics/tree/dynamics.h"
#include "dynamics_bench.h"
#include "knuckle/batch.h"
#include "mjcf.h"
#include "model/state.h"
#include "scene.h"
#include "spatial/spatial.h"
#include "tree.h"

enum { STATES = 64, PEERS = 4 };
static const char* const peer_name[PEERS] = {"mujoco", "pinocchio", "bullet", "dart"};

typedef struct world { /* one of our models with states to run */
  kn_model* model;
  kn_state* state[STATES];
  kn_data* data;
  double *tau, *qdd, *other;
  int next, level;
} world;

/* Changing the instruction set costs 20 ns: only when another one was timed before. */
static void use(int level) {
  if (kn_cpu_level() != level) kn_cpu_limit(level);
}

static void run_at(void* context, int level) {
  world* w = context;
  use(level);
  kn_forward_dynamics(w->qdd, w->model, w->state[0], w->data, w->tau);
}
static void run_ours(void* context) { run_at(context, ((world*)context)->level); }
static void run_avx2(void* context) { run_at(context, KN_CPU_AVX2); }
static void run_base(void* context) { run_at(context, KN_CPU_BASE); }

static void run_random(void* context) {
  world* w = context;
  use(w->level);
  kn_forward_dynamics(w->qdd, w->model, w->state[w->next++ & (STATES - 1)], w->data, w->tau);
}

/* Not every peer knows armature, damping, springs and servos: without them. */
static void plain(kn_model* m) {
  m->nu = 0;
  for (int i = 0; i < m->njoint; i++)
    m->joint[i].armature = m->joint[i].damping = m->joint[i].stiffness = m->joint[i].friction = 0.0;
  for (int j = 0; j < m->nv; j++) m->armature[j] = m->damping[j] = m->stiffness[j] = m->friction[j] = 0.0;
}

static void open_world(world* w, const char* scene, int links) {
  char setting[32];
  const char* settings[] = {setting};
  snprintf(setting, sizeof setting, "links=%d", links);
  *w = (world){0};
  if (kn_scene_model(&w->model, scene, settings, links > 0 ? 1 : 0) != KN_OK) {
    fprintf(stderr, "%s: %s\n", scene, kn_scene_error());
    exit(1);
  }
  plain(w->model);
  w->level = kn_cpu_limit(KN_CPU_AVX512);
  size_t nv = (size_t)kn_model_nv(w->model);
  kn_rng rng = kn_rng_seed(7);
  for (int i = 0; i < STATES; i++) {
    kn_state_create(&w->state[i], w->model);
    kn_random_state(w->state[i], w->model, (uint64_t)i + 1, 1.0, 1.0);
  }
  kn_data_create(&w->data, w->model);
  w->tau = calloc(nv, sizeof(double)), w->qdd = calloc(nv, sizeof(double));
  w->other = calloc(nv, sizeof(double));
  for (size_t j = 0; j < nv; j++) w->tau[j] = kn_rng_range(&rng, -1, 1);
  const kn_link* root = &w->model->link[0];
  if (root->type == KN_LINK_FREE) memset(w->tau, 0, 6 * sizeof(double));
}

static void close_world(world* w) {
  for (int i = 0; i < STATES; i++) kn_state_destroy(w->state[i]);
  free(w->tau), free(w->qdd), free(w->other);
  kn_data_destroy(w->data);
  kn_model_destroy(w->model);
}

/* The tree of links as the peers take it; inertia moved to the centre of mass. */
static void make_tree(tree* t, tree_link* link, const kn_model* m, const char* mjcf) {
  *t = (tree){.nlink = m->nlink, .nq = m->nq, .nv = m->nv, .link = link, .mjcf = mjcf};
  memcpy(t->gravity, m->gravity, sizeof t->gravity);
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    tree_link* o = &link[i];
    *o = (tree_link){
        .parent = l->parent, .free = l->type == KN_LINK_FREE, .q = l->q, .v = l->v, .ref = l->ref};
    memcpy(o->R0, l->R0, sizeof o->R0), memcpy(o->p0, l->p0, sizeof o->p0);
    o->mass = l->mass;
    kn_scale3(o->com, l->mc, 1.0 / l->mass);
    double I[6];
    memcpy(I, l->I, sizeof I);
    kn_sym_add_point(I, -l->mass, o->com);
    kn_sym_expand(o->I, I);
  }
}

typedef struct peers {
  const dynamics_peer* api[PEERS];
  void* self[PEERS];
} peers;

typedef struct call {
  const dynamics_peer* api;
  void* self;
} call;
static void run_peer(void* context) {
  call* c = context;
  c->api->run(c->self);
}
static void run_peer_stages(void* context) {
  call* c = context;
  c->api->run_stages(c->self);
}

/* Largest difference of an acceleration relative to the largest one. */
static double compare(world* w, const dynamics_peer* api, void* self) {
  double worst = 0, size = 1e-300;
  int nv = kn_model_nv(w->model);
  for (int i = 0; i < 4; i++) {
    kn_forward_dynamics(w->qdd, w->model, w->state[i], w->data, w->tau);
    memcpy(w->other, w->qdd, sizeof(double) * (size_t)nv);
    api->set(self, w->state[i]->q, w->state[i]->v, w->tau);
    api->run(self);
    api->get(w->other, self);
    for (int j = 0; j < nv; j++) {
      worst = fmax(worst, fabs(w->qdd[j] - w->other[j]));
      size = fmax(size, fabs(w->qdd[j]));
    }
  }
  api->set(self, w->state[0]->q, w->state[0]->v, w->tau);
  return worst / size;
}

/* Median of single calls with every cache emptied before, in microseconds. */
static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double cold(kn_bench_fn run, void* context) {
  double t[15];
  for (int i = 0; i < 15; i++) {
    kn_bench_chill();
    double t0 = kn_wall_seconds();
    run(context);
    t[i] = 1e6 * (kn_wall_seconds() - t0);
  }
  qsort(t, 15, sizeof t[0], ascending);
  return t[7];
}

/* Bullet's answer is a difference of velocities divided by its step of 1e-6 s: round-off 1e-10. */
static double tolerance(const char* peer, double nv) {
  return (strcmp(peer, "bullet") == 0 ? 1e-6 : 1e-9) * (nv > 100 ? 100 : 1);
}

static void run_batch(void* context) { kn_batch_forward(context); }

/* Median time per world of a batch of 8, in microseconds. */
static double batch_time(world* w) {
  kn_batch* batch;
  if (kn_batch_create(&batch, w->model, 8) != KN_OK) return NAN;
  for (int i = 0; i < 8; i++) kn_batch_set(batch, i, w->state[i]->q, w->state[i]->v, w->tau);
  double t[41];
  int calls = 1 + 4000 / w->model->nv;
  for (int i = 0; i < 41; i++) {
    double t0 = kn_cpu_seconds();
    for (int k = 0; k < calls; k++) run_batch(batch);
    t[i] = 1e6 * (kn_cpu_seconds() - t0) / (8.0 * calls);
  }
  kn_batch_destroy(batch);
  qsort(t, 41, sizeof t[0], ascending);
  return t[20];
}

static void row(kn_bench* b, const dynamics_peer* const* api, world* w, const char* name) {
  char path[] = "/tmp/knuckle-bench-XXXXXX.xml";
  int fd = mkstemps(path, 4);
  if (fd >= 0) close(fd);
  kn_mjcf_settings set = kn_mjcf_default();
  set.contact = set.constraints = false;
  if (kn_mjcf_save(path, w->model, &set) != KN_OK) kn_bench_note(b, "%s: %s", name, kn_mjcf_error());
  tree_link* link = calloc((size_t)w->model->nlink, sizeof *link);
  tree t;
  make_tree(&t, link, w->model, path);
  call calls[PEERS] = {0};
  kn_bench_ours(b, "knuckle", run_ours, w);
  for (int i = 0; i < PEERS; i++) {
    if (!api[i] || (i == 0 && w->model->nv > 300 && kn_bench_quick(b))) continue;
    calls[i] = (call){api[i], api[i]->create(&t)};
    if (!calls[i].self) {
      kn_bench_note(b, "%s: %s could not build the model", name, peer_name[i]);
      continue;
    }
    double difference = compare(w, api[i], calls[i].self);
    char key[48];
    snprintf(key, sizeof key, "difference_%s", peer_name[i]);
    kn_bench_number(b, key, difference);
    if (difference > tolerance(peer_name[i], t.nv))
      kn_bench_fail(b, "%s: accelerations differ from %s by %.2e", name, peer_name[i], difference);
    kn_bench_peer(b, peer_name[i], run_peer, &calls[i]);
    snprintf(key, sizeof key, "%s, bare stages", peer_name[i]);
    if (api[i]->run_stages) kn_bench_extra(b, key, run_peer_stages, &calls[i]);
  }
  kn_bench_extra(b, "knuckle, random states", run_random, w);
  if (w->level > KN_CPU_AVX2) kn_bench_extra(b, "knuckle, AVX2", run_avx2, w);
  if (w->level > KN_CPU_BASE) kn_bench_extra(b, "knuckle, portable", run_base, w);
  kn_bench_measure(b);
  use(w->level);
  double ratio = kn_bench_ratio(b), ours = kn_bench_median(b, "knuckle");
  if (ratio > 0) kn_bench_number(b, "ratio_portable", ratio * kn_bench_median(b, "knuckle, portable") / ours);
  double batch = batch_time(w);
  kn_bench_extra_value(b, "knuckle, batch of 8, per world", batch);
  if (ratio > 0) kn_bench_number(b, "ratio_batch", ratio * batch / ours);
  kn_bench_number(b, "ns_per_dof", 1e3 * ours / w->model->nv);
  kn_bench_number(b, "cold_us", cold(run_ours, w));
  double best = INFINITY;
  for (int i = 0; i < PEERS; i++)
    if (calls[i].self) best = fmin(best, cold(run_peer, &calls[i]));
  if (isfinite(best)) kn_bench_number(b, "cold_best_peer_us", best);
  for (int i = 0; i < PEERS; i++)
    if (calls[i].self) api[i]->destroy(calls[i].self);
  free(link);
  unlink(path);
}

void bench_forward(kn_bench* b) {
  const dynamics_peer* api[PEERS];
  for (int i = 0; i < PEERS; i++) api[i] = kn_bench_load_peer(b, peer_name[i]);
  static const int sizes[] = {3, 6, 12, 30, 100, 300, 1000};
  kn_bench_group(b, "forward dynamics, serial chain", "links", KN_BENCH_LOG);
  world w;
  for (int i = 0; i < 7; i++) {
    if (!kn_bench_row(b, "chain-%d", sizes[i])) continue;
    kn_bench_x(b, sizes[i]);
    open_world(&w, "chain", sizes[i]);
    row(b, api, &w, "chain");
    close_world(&w);
  }
  kn_bench_group(b, "forward dynamics, robots", NULL, KN_BENCH_LINEAR);
  static const char* const robots[] = {"quadruped", "humanoid"};
  for (int i = 0; i < 2; i++) {
    if (!kn_bench_row(b, "%s", robots[i])) continue;
    open_world(&w, robots[i], 0);
    row(b, api, &w, robots[i]);
    close_world(&w);
  }
}
