/* Heaps of spheres at a tolerance for speed: what their own paths for near pairs, rows and repair promise. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "scene.h"
#include "step/sim.h"
#include "test.h"

typedef struct heap {
  kn_scene_opened* scene;
  kn_sim* sim;
  kn_state* x;
} heap;

static kn_sim* new_sim(const heap* h) {
  kn_sim* sim;
  kn_sim_settings s = kn_scene_settings(h->scene->scene);
  s.tolerance = 1e-4; /* sweeps only: the solver is tested elsewhere */
  s.max_contacts = 600;
  CHECK_OK(kn_sim_create(&sim, h->scene->model, &s));
  return sim;
}

static heap open_heap(const char* balls) {
  heap h;
  CHECK_OK(kn_scene_open(&h.scene, "sphere-pile", &balls, 1));
  h.sim = new_sim(&h);
  CHECK_OK(kn_state_create(&h.x, h.scene->model));
  CHECK_OK(kn_scene_start(h.scene, h.x));
  CHECK_OK(kn_sim_prepare(h.sim, h.x));
  return h;
}

static void close_heap(heap* h) {
  kn_sim_destroy(h->sim);
  kn_state_destroy(h->x);
  kn_scene_close(h->scene);
}

/* kinetic + potential = sum of the other columns. */
static double imbalance(const kn_ledger* l) {
  double sum = -l->kinetic - l->potential;
  sum += l->friction + l->normal + l->impact + l->correction + l->integration + l->applied;
  return fabs(sum);
}

TEST(overlaps_stay_small_the_ledger_closes_and_nothing_allocates) {
  heap h = open_heap("balls=80");
  double deepest = 0.0, momentum = 0.0, gap = 0.0;
  CHECK_OK(kn_step(h.sim, h.x));
  size_t before = kn_test_allocations();
  for (int i = 0; i < 400; i++) {
    CHECK_OK(kn_step(h.sim, h.x));
    const kn_report* r = kn_sim_report(h.sim);
    deepest = fmax(deepest, r->penetration);
    momentum = fmax(momentum, r->momentum_error);
    gap = fmax(gap, imbalance(&r->ledger) / r->energy.potential);
  }
  CHECK_INT(kn_test_allocations() - before, 0);
  printf("  penetration %.2e m, momentum %.1e N s, ledger %.1e\n", deepest, momentum, gap);
  CHECK_BELOW(deepest, 1e-7);   /* promised for heaps, docs/performance.md */
  CHECK_BELOW(momentum, 1e-13); /* rounding of 1e-2 N s */
  CHECK_BELOW(gap, 1e-13);      /* rounding of the energy of all spheres */
  close_heap(&h);
}

/* What the report says of overlaps is what the centres say. */
TEST(the_reported_overlap_is_that_of_the_centres) {
  heap h = open_heap("balls=80");
  for (int i = 0; i < 300; i++) {
    CHECK_OK(kn_step(h.sim, h.x));
    const double* q = kn_state_q(h.x);
    double deepest = 0.0;
    for (int a = 0; a < 80; a++) {
      deepest = fmax(deepest, 0.05 - q[7 * a + 2]);
      for (int b = 0; b < a; b++) {
        double x = q[7 * a] - q[7 * b], y = q[7 * a + 1] - q[7 * b + 1], z = q[7 * a + 2] - q[7 * b + 2];
        deepest = fmax(deepest, 0.1 - sqrt(x * x + y * y + z * z));
      }
    }
    /* walls are in the report too */
    CHECK(deepest <= kn_sim_report(h.sim)->penetration + 1e-15);
  }
  close_heap(&h);
}

/* A simulator that starts from a state in the middle has no list of near pairs yet. */
TEST(a_new_simulator_goes_on_with_the_same_bits) {
  heap h = open_heap("balls=80");
  for (int i = 0; i < 150; i++) CHECK_OK(kn_step(h.sim, h.x));
  for (int k = 0; k < 4; k++) {
    kn_state* y;
    kn_sim* other = new_sim(&h);
    CHECK_OK(kn_state_create(&y, h.scene->model));
    CHECK_OK(kn_state_copy(y, h.x));
    for (int i = 0; i < 40; i++) {
      CHECK_OK(kn_step(h.sim, h.x));
      CHECK_OK(kn_step(other, y));
    }
    CHECK(kn_state_hash(h.x) == kn_state_hash(y));
    kn_sim_destroy(other);
    kn_state_destroy(y);
  }
  close_heap(&h);
}

typedef struct entry {
  uint64_t key;
  int other;
} entry;

/* Lists that lose and gain records: the same as by looking at all of them. */
TEST(records_are_found_by_their_key) {
  enum { MOST = 300 };
  static entry list[MOST];
  static int32_t slot[1024];
  CHECK(kn_lookup_slots(MOST) <= 1024);
  kn_rng rng = kn_rng_seed(5);
  for (int t = 0; t < 200; t++) {
    int n = kn_rng_int(&rng, MOST);
    for (int i = 0; i < n; i++) list[i].key = (uint64_t)kn_rng_int(&rng, 400) << (t % 2 ? 40 : 0);
    kn_lookup l = kn_lookup_in(slot, list, sizeof *list, n);
    for (int k = 0; k < 400; k++) {
      uint64_t key = (uint64_t)k << (t % 2 ? 40 : 0);
      int at = kn_lookup_find(&l, key), any = -1;
      for (int i = 0; i < n && any < 0; i++) any = list[i].key == key ? i : -1;
      CHECK((at < 0) == (any < 0) && (at < 0 || list[at].key == key));
    }
  }
}
