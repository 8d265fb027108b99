/* A list of pairs gives bit for bit what the pairs give one by one, on every instruction set. */
#include "knuckle/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "shapes.h"
#include "test.h"

enum { COUNT = 1003, ROOM = 4 * COUNT + 64 };

typedef struct scene {
  kn_shape shape[2 * COUNT];
  kn_pose pose[2 * COUNT];
  kn_shape_pair pair[COUNT];
} scene;

static scene s;
static kn_pair_contact got[ROOM];
static int32_t pair_of[ROOM];

/* Mixed kinds in all situations, every third pair given the wrong way round. */
static void make_scene(kn_rng* rng, double margin) {
  for (int i = 0; i < COUNT; i++) {
    int a = kn_rng_int(rng, KN_SHAPE_HULL + 1), b = kn_rng_int(rng, KN_SHAPE_HULL + 1);
    if (i % 2) a %= 3;
    if (a > b) {
      int t = a;
      a = b, b = t;
    }
    if (b == KN_SHAPE_PLANE) b = KN_SHAPE_CYLINDER;
    kn_test_class c = (kn_test_class)kn_rng_int(rng, KN_TEST_CLASSES);
    kn_test_pair p = kn_test_pair_make(rng, (kn_shape_type)a, (kn_shape_type)b, c);
    int swap = i % 3 == 0;
    s.shape[2 * i + swap] = p.a, s.pose[2 * i + swap] = p.A;
    s.shape[2 * i + !swap] = p.b, s.pose[2 * i + !swap] = p.B;
    s.pair[i] = (kn_shape_pair){2 * i, 2 * i + 1, margin * p.size};
  }
}

static bool same(const kn_pair_contact* c, const kn_contact_point* w) {
  return c->key == w->key && memcmp(&c->gap, &w->gap, sizeof c->gap) == 0 &&
         memcmp(c->normal, w->normal, sizeof c->normal) == 0 && memcmp(c->on_b, w->on_b, sizeof c->on_b) == 0;
}

/* Sum of the contacts found; each pair is looked at twice, the second time a little moved and with memory. */
static long compare(kn_pair_list* list) {
  static kn_pair_cache cache[COUNT];
  long all = 0;
  memset(cache, 0, sizeof cache);
  for (int frame = 0; frame < 2; frame++) {
    int count = 0, taken[COUNT] = {0};
    if (!CHECK_INT(kn_pair_list_contacts(got, pair_of, &count, ROOM, list, s.pose), KN_OK)) return -1;
    static kn_contact_point want[COUNT][KN_MANIFOLD_MAX];
    static int n[COUNT];
    for (int i = 0; i < COUNT; i++)
      CHECK_INT(kn_manifold_query(want[i], &n[i], KN_MANIFOLD_MAX, &s.shape[2 * i], &s.pose[2 * i],
                                  &s.shape[2 * i + 1], &s.pose[2 * i + 1], s.pair[i].margin, &cache[i]),
                KN_OK);
    for (int k = 0; k < count; k++) {
      int i = pair_of[k];
      if (!CHECK(i >= 0 && i < COUNT && taken[i] < n[i])) return -1;
      if (!CHECK(same(&got[k], &want[i][taken[i]]))) {
        printf("pair %d: types %d %d contact %d of %d\n", i, s.shape[2 * i].type, s.shape[2 * i + 1].type,
               taken[i], n[i]);
        return -1;
      }
      taken[i]++;
    }
    for (int i = 0; i < COUNT; i++)
      if (!CHECK_INT(taken[i], n[i])) {
        printf("pair %d: types %d %d\n", i, s.shape[2 * i].type, s.shape[2 * i + 1].type);
        return -1;
      }
    all += count;
    for (int i = 0; i < 2 * COUNT; i++) s.pose[i].p[i % 3] += 1e-9;
  }
  return all;
}

TEST(a_list_is_its_pairs_on_every_instruction_set) {
  int best = kn_cpu_level();
  for (int level = KN_CPU_BASE; level <= best; level++) {
    kn_cpu_limit(level);
    kn_rng rng = kn_rng_seed(77);
    long contacts = 0;
    for (int round = 0; round < 6 * kn_test_effort(); round++) {
      kn_pair_list* list;
      make_scene(&rng, round % 3 ? 0 : 0.05);
      if (!CHECK_INT(kn_pair_list_create(&list, s.shape, 2 * COUNT, COUNT), KN_OK)) return;
      CHECK_INT(kn_pair_list_set(list, s.pair, COUNT), KN_OK);
      long n = compare(list);
      kn_pair_list_destroy(list);
      if (n < 0) break;
      contacts += n;
    }
    CHECK(contacts > 3000);
  }
  kn_cpu_limit(best);
}

TEST(lists_say_what_is_wrong) {
  kn_shape sphere = {.type = KN_SHAPE_SPHERE, .size = {1}}, bad = {.type = KN_SHAPE_SPHERE, .size = {-1}};
  kn_shape two[2] = {sphere, {.type = KN_SHAPE_PLANE}};
  kn_pair_list* list;
  CHECK_INT(kn_pair_list_create(&list, &bad, 1, 1), KN_BAD_ARGUMENT);
  CHECK(list == NULL);
  if (!CHECK_INT(kn_pair_list_create(&list, two, 2, 2), KN_OK)) return;
  kn_shape_pair p[3] = {{0, 1, 0}, {1, 1, 0}, {0, 2, 0}};
  CHECK_INT(kn_pair_list_set(list, p, 3), KN_NO_ROOM);
  CHECK_INT(kn_pair_list_set(list, p + 1, 1), KN_UNSUPPORTED);
  CHECK_INT(kn_pair_list_set(list, p + 2, 1), KN_BAD_ARGUMENT);
  CHECK_INT(kn_pair_list_set(list, p, 1), KN_OK);
  kn_pose pose[2] = {{.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .p = {0, 0, 0.9}},
                     {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
  kn_pair_contact c[2];
  int32_t of[2];
  int n;
  CHECK_INT(kn_pair_list_contacts(c, of, &n, 0, list, pose), KN_NO_ROOM);
  CHECK_INT(n, 0);
  CHECK_INT(kn_pair_list_contacts(c, of, &n, 1, list, pose), KN_OK);
  CHECK_INT(n, 1);
  CHECK_NEAR(c[0].gap, -0.1, 1e-15);
  pose[0].p[1] = NAN;
  CHECK_INT(kn_pair_list_contacts(c, of, &n, 2, list, pose), KN_BAD_ARGUMENT);
  pose[0].p[1] = INFINITY;
  CHECK_INT(kn_pair_list_contacts(c, of, &n, 2, list, pose), KN_BAD_ARGUMENT);
  kn_pair_list_destroy(list);
}
