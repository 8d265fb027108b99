/* States that somebody has forged: bytes of saved states changed at random, with a checksum that fits. They are
   refused, or they are states like any other: a step answers with a status, and no NaN comes out. Run under
   the address sanitizer this also shows that nothing is read outside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "floor.h"
#include "step/compliant/compliant.h"
#include "test.h"

/* As src/model/state.c writes it. */
typedef struct header {
  uint64_t magic, model, size, checksum;
  int64_t nq, nv, nu, nblock;
  double time;
  int64_t step;
} header;

static void sign(char* bytes, size_t size) {
  header h;
  memcpy(&h, bytes, sizeof h);
  h.size = size, h.checksum = 0;
  h.checksum = kn_hash_bytes(kn_hash_bytes(0, &h, sizeof h), bytes + sizeof h, size - sizeof h);
  memcpy(bytes, &h, sizeof h);
}

TEST(the_layouts_of_blocks_are_those_that_are_checked) {
  CHECK_INT(kn_state_entry_size("pairs"), sizeof(kn_pair_entry));
  CHECK_INT(kn_state_entry_size("impulses"), sizeof(kn_warm_entry));
  CHECK_INT(kn_state_entry_size("anchors"), sizeof(kn_anchor));
  CHECK_INT(kn_state_entry_size("compliant"), sizeof(kn_soft_entry));
  CHECK_INT(kn_state_entry_size("events"), 3 * sizeof(int64_t));
  CHECK_INT(kn_state_entry_size("rate"), sizeof(double));
}

/* A pile with everything: hulls have simplices to remember, boxes features, sticking contacts anchors. */
static kn_spec* pile(void) {
  kn_spec* spec = kn_floor_spec(0.6, 0.0, 0.0);
  kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.2, 0.2, 0.1, 2.0, (double[3]){0, 0, 0.1}, 0.6, 0.0);
  kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1.0, (double[3]){0.03, 0, 0.3}, 0.6, 0.0);
  kn_floor_add(spec, NULL, KN_SHAPE_CYLINDER, 0.1, 0.1, 0, 1.0, (double[3]){0, 0.02, 0.5}, 0.6, 0.0);
  kn_floor_add(spec, NULL, KN_SHAPE_CAPSULE, 0.05, 0.1, 0, 1.0, (double[3]){0.5, 0, 0.15}, 0.6, 0.0);
  kn_floor_add(spec, NULL, KN_SHAPE_ELLIPSOID, 0.1, 0.08, 0.06, 1.0, (double[3]){0.5, 0.5, 0.06}, 0.6, 0.0);
  return spec;
}

static size_t saved_after(char** bytes, kn_floor* w, int steps) {
  for (int i = 0; i < steps; i++) CHECK_OK(kn_step(w->sim, w->state));
  size_t size = kn_state_size(w->state);
  *bytes = malloc(size);
  CHECK_OK(kn_state_save(*bytes, size, w->state));
  return size;
}

static bool all_finite(const kn_state* x) {
  double zero = 0.0;
  for (int i = 0; i < x->model->nq; i++) zero += 0.0 * x->q[i];
  for (int i = 0; i < x->model->nv; i++) zero += 0.0 * x->v[i];
  return zero == 0.0;
}

/* Some bytes, a whole number that means something, or a word of another place. */
static void mutate(char* bytes, size_t size, size_t from, kn_rng* r) {
  static const double wild[] = {1e308, -1e308, 5e-324, 1e160, -1.0, 0.0, INFINITY, NAN};
  for (int k = 1 + kn_rng_int(r, 4); k > 0; k--) {
    size_t at = from + (size_t)kn_rng_int(r, (int)(size - from));
    size_t word = at / 8 * 8 + 8 <= size ? at / 8 * 8 : size - 8,
           half = at / 4 * 4 + 4 <= size ? at / 4 * 4 : word;
    int32_t small = kn_rng_int(r, 2) ? kn_rng_int(r, 300) - 20 : (int32_t)kn_rng_next(r);
    switch (kn_rng_int(r, 5)) {
    case 0: bytes[at] = (char)kn_rng_next(r); break;
    case 1: memcpy(bytes + word, &wild[kn_rng_int(r, 8)], 8); break;
    case 2: memcpy(bytes + half, &small, 4); break;
    case 3: bytes[at] ^= (char)(1 << kn_rng_int(r, 8)); break;
    default: memmove(bytes + word, bytes + from + (size_t)kn_rng_int(r, (int)(size - from - 8)), 8);
    }
  }
}

static void forge(const char* stepper, const char* formulation, uint64_t seed) {
  kn_sim_settings set = kn_sim_default();
  kn_floor w;
  char* bytes;
  set.stepper = stepper, set.formulation = formulation;
  if (!kn_floor_open(&w, pile(), &set)) return kn_floor_close(&w);
  size_t size = saved_after(&bytes, &w, 12), from = sizeof(header);
  kn_rng r = kn_rng_seed(seed);
  char* forged = malloc(size);
  int refused = 0, failed = 0, stepped = 0;
  for (int i = 0; i < 80 * kn_test_effort();
       i++) { /* contradictory states cost the solver all its fallbacks */
    kn_floor y = w;
    memcpy(forged, bytes, size);
    bool blocks = i % 4 != 0; /* mostly the blocks, behind the numbers */
    mutate(forged, size, blocks ? from + (size_t)(w.model->nq + 2 * w.model->nv + w.model->nu) * 8 : from,
           &r);
    sign(forged, size);
    CHECK_OK(kn_state_create(&y.state, w.model));
    if (i % 8 == 5)
      CHECK_OK(kn_sim_create(&y.sim, w.model, &set)); /* also one that has not seen a state yet */
    kn_status status = kn_state_load(y.state, forged, size);
    refused += status != KN_OK;
    for (int k = 0; k < 2 && status == KN_OK; k++) {
      uint64_t before = kn_state_hash(y.state);
      status = kn_step(y.sim, y.state);
      stepped += status == KN_OK, failed += status != KN_OK;
      CHECK(all_finite(y.state));
      if (status != KN_OK) CHECK(kn_state_hash(y.state) == before);
    }
    kn_state_destroy(y.state);
    if (y.sim != w.sim) kn_sim_destroy(y.sim);
  }
  printf("  %-9s %-4s %d refused, %d steps, %d of them failed\n", stepper, formulation, refused,
         stepped + failed, failed);
  CHECK(refused > 0 && stepped > 0);
  free(forged);
  free(bytes);
  kn_floor_close(&w);
}

TEST(forged_states_are_refused_or_harmless) {
  forge("time", "os", 1);
  forge("time", "nmc", 2);
  forge("theta", "os", 3);
  forge("event", "os", 4);
  forge("compliant", "os", 5);
  forge("hybrid", "os", 6);
}

/* The two that read outside: geoms that do not exist, more entries than there is room for. */
TEST(indices_and_counts_of_blocks_are_checked) {
  kn_floor w;
  char* bytes;
  if (!kn_floor_open(&w, pile(), NULL)) return kn_floor_close(&w);
  size_t size = saved_after(&bytes, &w, 5);
  kn_state_block* pairs = kn_state_find_block(w.state, "pairs");
  kn_state* y;
  CHECK_OK(kn_state_create(&y, w.model));
  if (CHECK(pairs && pairs->used)) {
    int32_t geom = 1 << 30;
    char* at = bytes;
    while (at < bytes + size - pairs->used && memcmp(at, pairs->data, pairs->used) != 0) at++;
    memcpy(at + 4, &geom, sizeof geom);
    sign(bytes, size);
    CHECK_STATUS(kn_state_load(y, bytes, size), KN_BAD_FILE);
    CHECK_TEXT(kn_last_error(), "'pairs'");
    CHECK(kn_state_hash(y) == 0 || y->nblock == 0); /* nothing was taken over */
  }
  kn_state_destroy(y);
  free(bytes);
  kn_floor_close(&w);
}

/* A state of a simulator with more room goes on in one with less, with the same bits. */
TEST(a_state_with_many_contacts_goes_on_in_a_new_simulator) {
  kn_spec* spec = kn_floor_spec(0.6, 0.0, 0.0);
  for (int i = 0; i < 50; i++)
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1.0, (double[3]){0.5 * (i % 8), 0.5 * (i / 8), 0.1},
                 0.6, 0.0);
  kn_floor w;
  char* bytes;
  if (!kn_floor_open(&w, spec, NULL)) return kn_floor_close(&w);
  size_t size = saved_after(&bytes, &w, 5);
  kn_state* y;
  kn_sim* other;
  CHECK_OK(kn_state_create(&y, w.model));
  CHECK_OK(kn_state_load(y, bytes, size));
  CHECK_OK(kn_sim_create(&other, w.model, NULL));
  for (int i = 0; i < 5; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    CHECK_OK(kn_step(other, y));
    CHECK(kn_state_hash(w.state) == kn_state_hash(y));
  }
  kn_sim_destroy(other);
  kn_state_destroy(y);
  free(bytes);
  kn_floor_close(&w);
}
