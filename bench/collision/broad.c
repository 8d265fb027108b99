/* Broad phase rows. Scenes: cubes of side 1 (or sides 0.1 … 4, "mixed").
     rest    a lattice of touching cubes, each shaken by 1e-4 every frame
     moving  density 0.3, each body goes 0.02 a frame in its own direction
     fast    rest, and one body in a hundred goes 1 a frame
   Frames are prepared beforehand and played forth and back, the same for everybody. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collision.h"
#include "knuckle/broad.h"
#include "peer_broad.h"

enum { FRAMES = 16 };

typedef struct scene {
  int n;
  double* boxes[FRAMES];
} scene;

typedef enum kind { REST, MOVING, MIXED, FAST } kind;

static void make_scene(scene* s, int n, kind k, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  int side = (int)ceil(cbrt(n));
  s->n = n;
  for (int f = 0; f < FRAMES; f++) s->boxes[f] = malloc(6 * sizeof(double) * (size_t)n);
  for (int i = 0; i < n; i++) {
    double p[3] = {i % side, i / side % side, i / side / side}, v[3] = {0, 0, 0}, half = 0.5, length = 0;
    bool lattice = k == REST || (k == FAST && i % 100);
    double room = cbrt(n / 0.3);
    if (k == MIXED) half = 0.05 * pow(40, kn_rng_unit(&rng)), room = cbrt(n * 2.0);
    for (int c = 0; c < 3; c++) {
      if (!lattice) p[c] = kn_rng_range(&rng, 0, k == FAST ? side : room);
      v[c] = kn_rng_normal(&rng), length += v[c] * v[c];
    }
    double speed = lattice ? 0 : k == FAST ? 1 : 0.02;
    for (int f = 0; f < FRAMES; f++)
      for (int c = 0; c < 3; c++) {
        double x = p[c] + f * speed * v[c] / sqrt(length) + (lattice ? 1e-4 * kn_rng_range(&rng, -1, 1) : 0);
        s->boxes[f][6 * i + c] = x - half;
        s->boxes[f][6 * i + 3 + c] = x + half;
      }
  }
}

static void free_scene(scene* s) {
  for (int f = 0; f < FRAMES; f++) free(s->boxes[f]);
}

typedef struct player {
  const scene* s;
  int frame, pairs;
  kn_broad* ours;
  const broad_peer* peer;
  void* world;
  bool raw; /* the engine's own candidates, not filtered */
} player;

static const double* next_frame(player* p) {
  p->frame = (p->frame + 1) % (2 * FRAMES - 2);
  return p->s->boxes[p->frame < FRAMES ? p->frame : 2 * FRAMES - 2 - p->frame];
}

static void ours_frame(player* p) {
  const kn_broad_pair* pairs;
  int32_t count;
  if (kn_broad_update_boxes(p->ours, next_frame(p)) != KN_OK) abort();
  kn_broad_pairs(p->ours, &pairs, &count);
  p->pairs = count;
}

static void peer_frame(player* p) {
  p->pairs = (p->raw ? p->peer->unfiltered : p->peer->update)(p->world, next_frame(p));
}

/* One run plays all frames forth and back once, so that a rebuild now and then is counted, not hidden by a
 * median. */
enum { CYCLE = 2 * FRAMES - 2 };

static void run_ours(void* context) {
  for (int i = 0; i < CYCLE; i++) ours_frame(context);
}

static void run_peer(void* context) {
  for (int i = 0; i < CYCLE; i++) peer_frame(context);
}

static kn_broad* create_ours(const scene* s) {
  kn_broad_item* item = calloc((size_t)s->n, sizeof *item);
  for (int i = 0; i < s->n; i++)
    item[i] = (kn_broad_item){
        .shape = {.type = KN_SHAPE_BOX, .size = {0.5, 0.5, 0.5}}, .body = i, .contype = 1, .conaffinity = 1};
  kn_broad_def d = {.items = item, .count = s->n};
  kn_broad* b = NULL;
  kn_broad_settings set = kn_broad_default();
  set.pair_capacity = 60 * s->n + 1000;
  if (kn_broad_create(&b, &d, &set) != KN_OK) abort();
  free(item);
  return b;
}

static int has_sap; /* the last peer is Bullet's sweep and prune */

static void bench_scene(kn_bench* b, const char* name, kind k, int n, const broad_peer** peers, int npeer) {
  if (!kn_bench_row(b, "broad %s %d", name, n)) return;
  scene s;
  player ours = {.s = &s}, others[4], raw[4];
  make_scene(&s, n, k, 7);
  kn_bench_x(b, n);
  ours.ours = create_ours(&s);
  kn_bench_ours(b, "knuckle", run_ours, &ours);
  if (n > 1000) npeer -= has_sap; /* a tenth of a second per frame */
  for (int i = 0; i < npeer; i++) {
    others[i] = (player){.s = &s, .peer = peers[i], .world = peers[i]->create(n, s.boxes[0])};
    kn_bench_peer(b, peers[i]->name, run_peer, &others[i]);
    if (!peers[i]->unfiltered || !strstr(peers[i]->name, "tree")) continue;
    char name_raw[64];
    snprintf(name_raw, sizeof name_raw, "%s, unfiltered", peers[i]->name);
    raw[i] = others[i]; /* the same world, so both play on from each other's frame */
    raw[i].raw = true;
    kn_bench_extra(b, name_raw, run_peer, &raw[i]);
  }
  kn_bench_per(b, CYCLE);
  kn_bench_measure(b);
  kn_broad_stats st;
  kn_broad_get_stats(ours.ours, &st);
  kn_bench_number(b, "updates per rebuild", (double)st.updates / (double)st.rebuilds);
  /* the same frame for all: ours contains FCL's exact pairs and little more (single precision), Bullet's tree
   * more */
  ours.frame = 0;
  ours_frame(&ours);
  kn_bench_number(b, "pairs", ours.pairs);
  for (int i = 0; i < npeer; i++) {
    others[i].frame = 0;
    peer_frame(&others[i]);
    if (others[i].pairs > ours.pairs || others[i].pairs < 0.9 * ours.pairs)
      kn_bench_fail(b, "broad %s %d: %s has %d pairs, ours %d", name, n, peers[i]->name, others[i].pairs,
                    ours.pairs);
    peers[i]->destroy(others[i].world);
  }
  kn_broad_destroy(ours.ours);
  free_scene(&s);
}

void bench_broad(kn_bench* b) {
  kn_bench_unit(b, "us", 1e6);
  static const char* names[] = {"bullet_dbvt", "fcl_tree", "bullet_sap"};
  const broad_peer* peers[3];
  int npeer = 0;
  for (int i = 0; i < 3; i++)
    if ((peers[npeer] = kn_bench_load_peer(b, names[i]))) npeer++, has_sap = i == 2;
  static const struct {
    const char* name;
    kind k;
  } scenes[] = {{"rest", REST}, {"moving", MOVING}, {"mixed", MIXED}, {"fast", FAST}};
  for (int k = 0; k < 4; k++) {
    char title[64];
    snprintf(title, sizeof title, "broad phase, %s", scenes[k].name);
    kn_bench_group(b, title, "bodies", KN_BENCH_LOG);
    for (int n = 100; n <= 10000; n *= 10) bench_scene(b, scenes[k].name, scenes[k].k, n, peers, npeer);
  }
}
