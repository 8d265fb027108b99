/* Saving, restoring, hashing; damaged bytes. */
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "test.h"

static kn_model* model(double mass) {
  kn_spec* s;
  kn_model* m = NULL;
  kn_spec_create(&s);
  kn_body_def b = kn_body_default();
  b.mass = mass;
  b.inertia[0] = b.inertia[1] = b.inertia[2] = 1.0;
  b.pos[2] = 3.0;
  kn_spec_add_body(NULL, s, &b);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.body = 0;
  kn_spec_add_joint(NULL, s, &j);
  double q[7] = {1, 2, 3, 0, 0, 2, 0}, v[6] = {1, 2, 3, 4, 5, 6};
  kn_keyframe_def k = {.name = "key", .time = 2.5, .q = q, .v = v, .nq = 7, .nv = 6};
  kn_spec_add_keyframe(s, &k);
  kn_actuator_def a = kn_actuator_default();
  a.joint[0] = 0;
  kn_spec_add_actuator(NULL, s, &a);
  CHECK_OK(kn_compile(&m, s));
  kn_spec_destroy(s);
  return m;
}

static void scramble(kn_state* s, kn_rng* r) {
  for (int i = 0; i < 7; i++) s->q[i] = kn_rng_normal(r);
  for (int i = 0; i < 6; i++) s->v[i] = kn_rng_normal(r), s->force[i] = kn_rng_normal(r);
  s->ctrl[0] = kn_rng_normal(r);
  s->time = kn_rng_unit(r);
  s->step = kn_rng_int(r, 1000);
  kn_state_block* b;
  CHECK_OK(kn_state_add_block(&b, s, "own bytes", 100));
  b->used = (size_t)kn_rng_int(r, 100) + 1;
  for (size_t i = 0; i < b->used; i++) ((unsigned char*)b->data)[i] = (unsigned char)kn_rng_int(r, 256);
}

TEST(starts_at_the_reference) {
  kn_model* m = model(1.0);
  kn_state* s;
  CHECK_OK(kn_state_create(&s, m));
  double want[7] = {0, 0, 3, 1, 0, 0, 0};
  CHECK_ARRAY(kn_state_q(s), want, 7, 0.0);
  uint64_t fresh = kn_state_hash(s);
  kn_rng r = kn_rng_seed(5);
  scramble(s, &r);
  CHECK(kn_state_hash(s) != fresh);
  CHECK_OK(kn_state_reset(s));
  CHECK(kn_state_hash(s) == fresh);
  CHECK_OK(kn_state_keyframe(s, 0));
  double key[7] = {1, 2, 3, 0, 0, 1, 0}; /* rotation made unit */
  CHECK_ARRAY(kn_state_q(s), key, 7, 0.0);
  CHECK_NEAR(kn_state_time(s), 2.5, 0.0);
  kn_state_destroy(s);
  kn_model_destroy(m);
}

TEST(save_and_load_are_bitwise) {
  kn_model *m = model(1.0), *twin = model(1.0), *other = model(2.0);
  kn_state *a, *b, *c;
  CHECK_OK(kn_state_create(&a, m));
  CHECK_OK(kn_state_create(&b, twin));
  CHECK_OK(kn_state_create(&c, other));
  kn_rng r = kn_rng_seed(6);
  for (int k = 0; k < 50; k++) {
    scramble(a, &r);
    size_t n = kn_state_size(a);
    char* bytes = malloc(n);
    CHECK_OK(kn_state_save(bytes, n, a));
    CHECK_OK(kn_state_load(b, bytes, n));
    CHECK(kn_state_hash(b) == kn_state_hash(a));
    CHECK(memcmp(a->q, b->q, 56) == 0 && a->step == b->step);
    CHECK_STATUS(kn_state_load(c, bytes, n), KN_BAD_FILE);
    CHECK_TEXT(kn_last_error(), "another model");
    CHECK_OK(kn_state_copy(b, a));
    CHECK(kn_state_hash(b) == kn_state_hash(a));
    CHECK_STATUS(kn_state_copy(c, a), KN_BAD_ARGUMENT);
    free(bytes);
  }
  kn_state_destroy(a);
  kn_state_destroy(b);
  kn_state_destroy(c);
  kn_model_destroy(m);
  kn_model_destroy(twin);
  kn_model_destroy(other);
}

/* Every cut and every changed byte is noticed, and the target state keeps its content. */
TEST(damaged_bytes_are_refused) {
  kn_model* m = model(1.0);
  kn_state *a, *b;
  CHECK_OK(kn_state_create(&a, m));
  CHECK_OK(kn_state_create(&b, m));
  kn_rng r = kn_rng_seed(7);
  scramble(a, &r);
  size_t n = kn_state_size(a);
  char *bytes = malloc(n), *copy = malloc(n);
  CHECK_OK(kn_state_save(bytes, n, a));
  uint64_t before = kn_state_hash(b);
  for (size_t i = 0; i < n; i++) {
    memcpy(copy, bytes, n);
    copy[i] ^= (char)(1 << kn_rng_int(&r, 8));
    CHECK_STATUS(kn_state_load(b, copy, n), KN_BAD_FILE);
    char* cut = malloc(i + 1); /* exact size: the sanitizer sees reads beyond */
    memcpy(cut, bytes, i);
    CHECK_STATUS(kn_state_load(b, cut, i), KN_BAD_FILE);
    free(cut);
  }
  CHECK(kn_state_hash(b) == before);
  free(bytes);
  free(copy);
  kn_state_destroy(a);
  kn_state_destroy(b);
  kn_model_destroy(m);
}

TEST(blocks_grow_and_run_out) {
  kn_model* m = model(1.0);
  kn_state* s;
  CHECK_OK(kn_state_create(&s, m));
  kn_state_block *b, *again;
  CHECK_OK(kn_state_add_block(&b, s, "x", 10));
  memcpy(b->data, "0123456789", 10);
  b->used = 10;
  CHECK_OK(kn_state_add_block(&again, s, "x", 8));
  CHECK(again == b && b->capacity == 10);
  CHECK_OK(kn_state_add_block(&again, s, "x", 1000));
  CHECK(again->capacity == 1000 && memcmp(again->data, "0123456789", 10) == 0);
  CHECK_INT((uintptr_t)again->data % 64, 0);
  CHECK(kn_state_find_block(s, "y") == NULL);
  char name[2] = "a";
  for (int i = 1; i < KN_STATE_BLOCKS; i++, name[0]++) CHECK_OK(kn_state_add_block(&b, s, name, 1));
  CHECK_STATUS(kn_state_add_block(&b, s, "one too many", 1), KN_NO_ROOM);
  kn_state_destroy(s);
  kn_model_destroy(m);
}

/* Avalanche: one flipped input bit changes each output bit with probability near 1/2. */
TEST(hash_mixes) {
  kn_rng r = kn_rng_seed(8);
  double worst = 0.0;
  enum { SIZE = 72, TRIALS = 200 };
  int flips[64] = {0}, n = 0;
  for (int t = 0; t < TRIALS; t++) {
    unsigned char x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = (unsigned char)kn_rng_int(&r, 256);
    uint64_t h = kn_hash_bytes(0, x, SIZE);
    for (int bit = 0; bit < 8 * SIZE; bit += 7, n++) {
      x[bit / 8] ^= (unsigned char)(1 << bit % 8);
      uint64_t d = h ^ kn_hash_bytes(0, x, SIZE);
      x[bit / 8] ^= (unsigned char)(1 << bit % 8);
      for (int k = 0; k < 64; k++) flips[k] += (int)(d >> k & 1);
    }
  }
  for (int k = 0; k < 64; k++) worst = fmax(worst, fabs((double)flips[k] / n - 0.5));
  /* n = 16 600 trials: standard deviation 0.0039, five of them */
  CHECK_NEAR(worst, 0.0, 0.02);
  CHECK(kn_hash_bytes(0, "", 0) != kn_hash_bytes(0, "\0", 1));
  CHECK(kn_hash_double(1, 0.0) == kn_hash_double(1, -0.0));
}
