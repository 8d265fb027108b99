/* Broad phase: exactly the pairs whose boxes overlap and whose filters agree, in an order that history does
 * not change. */
#include "knuckle/broad.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "base/timer.h"
#include "knuckle/mesh.h"
#include "shapes.h"

enum { MAX = 1200 };

typedef struct scene {
  int n, nbody;
  kn_broad_item item[MAX];
  int32_t parent[MAX];
  kn_pose pose[MAX];
  double velocity[6 * MAX];
} scene;

static kn_hull* test_hull(void) {
  static kn_hull* h;
  if (!h) {
    double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    CHECK_OK(kn_hull_create(&h, x, 4, NULL));
  }
  return h;
}

static void random_scene(scene* s, kn_rng* rng, int n, double spread, double octaves, int planes) {
  memset(s, 0, sizeof *s);
  s->n = n;
  s->nbody = n;
  for (int i = 0; i < n; i++) {
    kn_broad_item* it = &s->item[i];
    int plane = i < planes;
    it->shape.type = plane ? KN_SHAPE_PLANE : (kn_shape_type)(1 + kn_rng_int(rng, 6));
    if (it->shape.type == KN_SHAPE_HULL) it->shape.hull = test_hull();
    double size = pow(2, kn_rng_range(rng, -octaves, 0));
    for (int k = 0; k < 3; k++) it->shape.size[k] = size * kn_rng_range(rng, 0.3, 1);
    it->body = plane || kn_rng_int(rng, 20) == 0 ? KN_WORLD : kn_rng_int(rng, 4) ? i : kn_rng_int(rng, n);
    it->contype = 1u << kn_rng_int(rng, 2), it->conaffinity = 1u + (uint32_t)kn_rng_int(rng, 3);
    it->margin = kn_rng_int(rng, 3) ? 0 : 0.1 * size;
    kn_test_rotation(s->pose[i].R, rng);
    for (int k = 0; k < 3; k++) s->pose[i].p[k] = kn_rng_range(rng, -spread, spread);
    s->parent[i] = kn_rng_int(rng, 3) ? i - 1 : KN_WORLD;
  }
}

static bool listed(const int32_t (*list)[2], int n, int a, int b) {
  for (int i = 0; i < n; i++)
    if ((list[i][0] == a && list[i][1] == b) || (list[i][0] == b && list[i][1] == a)) return true;
  return false;
}

static bool allowed(const scene* s, const kn_broad_def* d, int i, int j) {
  const kn_broad_item *a = &s->item[i], *b = &s->item[j];
  if (listed(d->pairs, d->npair, i, j)) return true;
  if (a->body == b->body) return false;
  if (!(a->contype & b->conaffinity) && !(b->contype & a->conaffinity)) return false;
  if (a->body >= 0 && b->body >= 0 && (s->parent[a->body] == b->body || s->parent[b->body] == a->body))
    return false;
  return !listed(d->exclusions, d->nexclusion, a->body, b->body);
}

/* Gap of the exact boxes (margins and sweep included): negative when they overlap. */
static double box_gap(const scene* s, int i, int j, double dt) {
  double lo[2][3], hi[2][3];
  int item[2] = {i, j};
  for (int q = 0; q < 2; q++) {
    const kn_broad_item* it = &s->item[item[q]];
    const double* v = s->velocity + 6 * item[q];
    CHECK_OK(kn_shape_box(lo[q], hi[q], &it->shape, &s->pose[item[q]]));
    double r = 0, w = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int c = 0; c < 8 && it->shape.type != KN_SHAPE_PLANE;
         c++) { /* radius of a box around the shape is more than enough */
      double x[3] = {c & 1 ? lo[q][0] : hi[q][0], c & 2 ? lo[q][1] : hi[q][1], c & 4 ? lo[q][2] : hi[q][2]};
      double d = 0;
      for (int k = 0; k < 3; k++) d += (x[k] - s->pose[item[q]].p[k]) * (x[k] - s->pose[item[q]].p[k]);
      r = fmax(r, sqrt(d));
    }
    (void)w, (void)r;
    for (int k = 0; k < 3; k++) {
      lo[q][k] -= it->margin - fmin(0, dt * v[3 + k]);
      hi[q][k] += it->margin + fmax(0, dt * v[3 + k]);
    }
  }
  double gap = -INFINITY;
  for (int k = 0; k < 3; k++) gap = fmax(gap, fmax(lo[0][k] - hi[1][k], lo[1][k] - hi[0][k]));
  return gap;
}

/* The plane's own test: signed reach of the other's box into the half-space. */
static double plane_gap(const scene* s, int i, int plane) {
  double lo[3], hi[3], gap = 0;
  const double* R = s->pose[plane].R;
  CHECK_OK(kn_shape_box(lo, hi, &s->item[i].shape, &s->pose[i]));
  for (int k = 0; k < 3; k++) {
    double n = R[3 * k + 2];
    gap += n * ((n >= 0 ? lo[k] - s->item[i].margin : hi[k] + s->item[i].margin) - s->pose[plane].p[k]);
  }
  return gap - s->item[plane].margin;
}

static void check_pairs(const scene* s, const kn_broad_def* d, const kn_broad* b, double dt) {
  const kn_broad_pair* pair;
  int32_t count, missing = 0, extra = 0, misordered = 0;
  static unsigned char seen[MAX][MAX];
  memset(seen, 0, sizeof seen);
  kn_broad_pairs(b, &pair, &count);
  for (int k = 0; k < count; k++) {
    bool planes = s->item[pair[k].b].shape.type == KN_SHAPE_PLANE;
    seen[pair[k].a][pair[k].b]++;
    seen[pair[k].b][pair[k].a]++;
    if (!planes && pair[k].a >= pair[k].b) misordered++;
    if (k && !planes &&
        (pair[k - 1].a > pair[k].a || (pair[k - 1].a == pair[k].a && pair[k - 1].b >= pair[k].b)))
      misordered++;
  }
  for (int i = 0; i < s->n; i++)
    for (int j = i + 1; j < s->n; j++) {
      int pi = s->item[i].shape.type == KN_SHAPE_PLANE, pj = s->item[j].shape.type == KN_SHAPE_PLANE;
      bool ok = allowed(s, d, i, j) && !(pi && pj);
      double gap = ok ? (pi ? plane_gap(s, j, i) : pj ? plane_gap(s, i, j) : box_gap(s, i, j, dt)) : 1;
      missing += ok && gap < 0 && seen[i][j] != 1;
      /* single precision of coordinates up to 100: 1e-5, several roundings */
      extra += (!ok || gap > 1e-4) && seen[i][j] != 0;
    }
  CHECK_INT(missing, 0);
  CHECK_INT(extra, 0);
  CHECK_INT(misordered, 0);
}

TEST(same_pairs_as_brute_force_with_all_filters) {
  static scene s;
  kn_rng rng = kn_rng_seed(1);
  for (int trial = 0; trial < 60 * kn_test_effort(); trial++) {
    int n = 1 + kn_rng_int(&rng, trial % 5 ? 300 : 1000);
    double spread = 0.4 * cbrt(n) * kn_rng_range(&rng, 0.7, 3);
    int32_t exclusions[20][2], pairs[20][2];
    random_scene(&s, &rng, n, spread, trial % 3 ? 2 : 7, trial % 4 == 0 && n > 3 ? 2 : 0);
    kn_broad_def d = {s.item, n, s.parent, n, exclusions, n > 1 ? 20 : 0, pairs, n > 1 ? 20 : 0};
    for (int i = 0; i < 20; i++) {
      exclusions[i][0] = kn_rng_int(&rng, n), exclusions[i][1] = kn_rng_int(&rng, n);
      pairs[i][0] = kn_rng_int(&rng, n);
      pairs[i][1] = n > 1 ? (pairs[i][0] + 1 + kn_rng_int(&rng, n - 1)) % n : 0;
    }
    kn_broad* b;
    if (!CHECK_OK(kn_broad_create(&b, &d, NULL))) return;
    for (int frame = 0; frame < 12; frame++) {
      kn_status status = kn_broad_update(b, s.pose, NULL, 0);
      if (status == KN_NO_ROOM) {
        kn_broad_stats st;
        kn_broad_get_stats(b, &st);
        CHECK_OK(kn_broad_reserve(b, st.needed + st.needed / 4));
        status = kn_broad_update(b, s.pose, NULL, 0);
      }
      CHECK_INT(status, KN_OK);
      if (frame % 3 == 0) check_pairs(&s, &d, b, 0);
      double step = trial % 2 ? 0.01 : 0.2;
      for (int i = 0; i < n; i++) {
        if (s.item[i].shape.type == KN_SHAPE_PLANE) continue;
        for (int k = 0; k < 3; k++) s.pose[i].p[k] += step * kn_rng_normal(&rng) * (i % 37 == 0 ? 20 : 1);
        if (i % 5 == 0) kn_test_rotation(s.pose[i].R, &rng);
      }
    }
    kn_broad_destroy(b);
  }
}

TEST(far_apart_flat_and_stacked_scenes) {
  static scene s;
  kn_rng rng = kn_rng_seed(2);
  for (int kind = 0; kind < 5; kind++) {
    int n = 1000;
    random_scene(&s, &rng, n, 1, 1, 0);
    for (int i = 0; i < n; i++) {
      double *p = s.pose[i].p, scale = kind == 0 ? 1e4 : 1;
      for (int k = 0; k < 3; k++) p[k] = kn_rng_range(&rng, -8, 8);
      if (kind == 1) p[2] = 0, p[0] *= 2, p[1] *= 2;                   /* a floor */
      if (kind == 2) p[0] = p[1] = 0, p[2] *= 40;                      /* a tower */
      if (kind == 3 && i % 50 == 0) p[0] = 1e5 * (i + 1), p[1] = -1e6; /* strays */
      if (kind == 0 && i % 2) p[0] += scale;                           /* two clusters */
      if (kind == 4)
        for (int k = 0; k < 3; k++) p[k] = 1.7 * (i / (int)pow(10, k) % 10); /* a lattice */
    }
    kn_broad_def d = {.items = s.item, .count = n, .parent = s.parent, .nbody = n};
    kn_broad* b;
    if (!CHECK_OK(kn_broad_create(&b, &d, NULL))) return;
    CHECK_OK(kn_broad_update(b, s.pose, NULL, 0));
    if (kind != 3 && kind != 0) check_pairs(&s, &d, b, 0);
    if (kind == 3 || kind == 0) { /* only misses count: strays have coarse single-precision boxes */
      const kn_broad_pair* pair;
      int32_t count, found = 0, expected = 0;
      kn_broad_pairs(b, &pair, &count);
      for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) expected += allowed(&s, &d, i, j) && box_gap(&s, i, j, 0) < 0;
      for (int k = 0; k < count; k++) found += box_gap(&s, pair[k].a, pair[k].b, 0) < 0;
      CHECK_INT(found, expected);
    }
    kn_broad_destroy(b);
  }
}

TEST(swept_boxes_catch_fast_items) {
  static scene s;
  kn_rng rng = kn_rng_seed(3);
  for (int trial = 0; trial < 20; trial++) {
    int n = 200;
    double dt = 0.01;
    random_scene(&s, &rng, n, 6, 1, 0);
    for (int i = 0; i < n; i++)
      for (int k = 3; k < 6; k++) s.velocity[6 * i + k] = kn_rng_normal(&rng) * (i % 10 ? 1 : 300);
    kn_broad_def d = {.items = s.item, .count = n, .parent = s.parent, .nbody = n};
    kn_broad* b;
    if (!CHECK_OK(kn_broad_create(&b, &d, NULL))) return;
    for (int frame = 0; frame < 5; frame++) {
      CHECK_OK(kn_broad_update(b, s.pose, s.velocity, dt));
      check_pairs(&s, &d, b, dt);
      for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) s.pose[i].p[k] += dt * s.velocity[6 * i + 3 + k];
    }
    /* a turning item sweeps more, never less */
    const kn_broad_pair* pair;
    int32_t before, after;
    CHECK_OK(kn_broad_update(b, s.pose, s.velocity, dt));
    kn_broad_pairs(b, &pair, &before);
    for (int i = 0; i < 6 * n; i++)
      if (i % 6 < 3) s.velocity[i] = 20;
    CHECK_OK(kn_broad_update(b, s.pose, s.velocity, dt));
    kn_broad_pairs(b, &pair, &after);
    CHECK(after > before);
    kn_broad_destroy(b);
  }
}

TEST(pairs_do_not_depend_on_history_and_updates_do_not_allocate) {
  static scene s;
  kn_rng rng = kn_rng_seed(4);
  int n = 800;
  random_scene(&s, &rng, n, 5, 2, 1);
  kn_broad_def d = {.items = s.item, .count = n, .parent = s.parent, .nbody = n};
  kn_broad_settings roomy = kn_broad_default();
  roomy.pair_capacity = 200000;
  kn_broad *old, *fresh;
  if (!CHECK_OK(kn_broad_create(&old, &d, &roomy))) return;
  for (int frame = 0; frame < 200; frame++) {
    for (int i = 1; i < n; i++)
      for (int k = 0; k < 3; k++) s.pose[i].p[k] += 0.01 * kn_rng_normal(&rng);
    size_t before = kn_test_allocations();
    CHECK_OK(kn_broad_update(old, s.pose, NULL, 0));
    CHECK_INT(kn_test_allocations() - before, 0);
    if (frame % 20) continue;
    kn_broad_settings other = roomy;
    other.slack = 0.3;
    CHECK_OK(kn_broad_create(&fresh, &d, &other));
    CHECK_OK(kn_broad_update(fresh, s.pose, NULL, 0));
    const kn_broad_pair *p, *q;
    int32_t np, nq;
    kn_broad_pairs(old, &p, &np);
    kn_broad_pairs(fresh, &q, &nq);
    CHECK_INT(np, nq);
    CHECK(np == nq && !memcmp(p, q, (size_t)np * sizeof *p));
    kn_broad_destroy(fresh);
  }
  kn_broad_stats st;
  kn_broad_get_stats(old, &st);
  CHECK(st.rebuilds < st.updates && st.rebuilds > 0);
  kn_broad_destroy(old);
}

TEST(query_lists_the_items_in_a_box) {
  static scene s;
  kn_rng rng = kn_rng_seed(5);
  int n = 300;
  random_scene(&s, &rng, n, 4, 1, 1);
  kn_broad_def d = {.items = s.item, .count = n, .parent = s.parent, .nbody = n};
  kn_broad* b;
  if (!CHECK_OK(kn_broad_create(&b, &d, NULL))) return;
  CHECK_OK(kn_broad_update(b, s.pose, NULL, 0));
  for (int trial = 0; trial < 100; trial++) {
    double lo[3], hi[3];
    for (int k = 0; k < 3; k++) lo[k] = kn_rng_range(&rng, -4, 4), hi[k] = lo[k] + kn_rng_range(&rng, 0, 2);
    int32_t out[MAX], count, wrong = 0;
    CHECK_OK(kn_broad_query(b, out, &count, MAX, lo, hi));
    bool in[MAX] = {0};
    for (int k = 0; k < count; k++) in[out[k]] = true;
    for (int i = 1; i < n; i++) {
      double l[3], h[3], gap = -INFINITY;
      CHECK_OK(kn_shape_box(l, h, &s.item[i].shape, &s.pose[i]));
      for (int k = 0; k < 3; k++)
        gap = fmax(gap, fmax(l[k] - s.item[i].margin - hi[k], lo[k] - h[k] - s.item[i].margin));
      wrong += (gap < 0 && !in[i]) || (gap > 1e-5 && in[i]);
    }
    CHECK_INT(wrong, 0);
    if (count > 1) CHECK_STATUS(kn_broad_query(b, out, &count, 1, lo, hi), KN_NO_ROOM);
  }
  kn_broad_destroy(b);
}

TEST(bad_input_names_the_item) {
  kn_broad_item item[3] = {
      {.shape = {.type = KN_SHAPE_SPHERE, .size = {1}}, .contype = 1, .conaffinity = 1},
      {.shape = {.type = KN_SHAPE_BOX, .size = {1, 1, 0}}, .body = 1, .contype = 1, .conaffinity = 1}};
  kn_broad_def d = {.items = item, .count = 2};
  kn_broad* b;
  CHECK_STATUS(kn_broad_create(&b, &d, NULL), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "item 1: size[2]");
  item[1].shape.size[2] = 1;
  item[1].margin = NAN;
  CHECK_STATUS(kn_broad_create(&b, &d, NULL), KN_BAD_ARGUMENT);
  item[1].margin = 0;
  item[1].shape = (kn_shape){.type = KN_SHAPE_HULL};
  CHECK_STATUS(kn_broad_create(&b, &d, NULL), KN_BAD_ARGUMENT);
  item[1].shape = (kn_shape){.type = KN_SHAPE_PLANE};
  CHECK_OK(kn_broad_create(&b, &d, NULL));
  kn_pose pose[2] = {{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}};
  const kn_broad_pair* p;
  int32_t n;
  CHECK_OK(kn_broad_update(b, pose, NULL, 0));
  kn_broad_pairs(b, &p, &n);
  CHECK_INT(n, 1);
  pose[0].p[1] = NAN;
  CHECK_STATUS(kn_broad_update(b, pose, NULL, 0), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "item 0");
  pose[0].p[1] = 0;
  pose[1].p[1] = INFINITY;
  CHECK_STATUS(kn_broad_update(b, pose, NULL, 0), KN_NOT_FINITE);
  pose[1].p[1] = 0;
  CHECK_OK(kn_broad_update(b, pose, NULL, 0));
  kn_broad_pairs(b, &p, &n);
  CHECK_INT(n, 1);
  kn_broad_destroy(b);
  /* no room, then room */
  enum { N = 40 };
  kn_broad_item many[N];
  kn_pose same[N];
  for (int i = 0; i < N; i++) many[i] = item[0], many[i].body = i, same[i] = pose[0];
  d = (kn_broad_def){.items = many, .count = N};
  kn_broad_settings s = kn_broad_default();
  s.pair_capacity = 10;
  CHECK_OK(kn_broad_create(&b, &d, &s));
  CHECK_STATUS(kn_broad_update(b, same, NULL, 0), KN_NO_ROOM);
  kn_broad_stats st;
  kn_broad_get_stats(b, &st);
  CHECK_INT(st.needed, N * (N - 1) / 2);
  CHECK_OK(kn_broad_reserve(b, st.needed));
  CHECK_OK(kn_broad_update(b, same, NULL, 0));
  kn_broad_pairs(b, &p, &n);
  CHECK_INT(n, N * (N - 1) / 2);
  kn_broad_destroy(b);
  d.count = 0;
  CHECK_OK(kn_broad_create(&b, &d, NULL));
  CHECK_OK(kn_broad_update(b, NULL, NULL, 0));
  kn_broad_destroy(b);
}

TEST(time_grows_linearly) {
  /* a lattice of touching cubes; 8 times the bodies may take at most 12 times as long (caches) */
  double seconds[2];
  for (int size = 0; size < 2; size++) {
    int side = size ? 32 : 16, n = side * side * side;
    kn_broad_item* item = calloc((size_t)n, sizeof *item);
    double* box = malloc(6 * sizeof *box * (size_t)n);
    for (int i = 0; i < n; i++) {
      item[i] = (kn_broad_item){.shape = {.type = KN_SHAPE_BOX, .size = {0.5, 0.5, 0.5}},
                                .body = i,
                                .contype = 1,
                                .conaffinity = 1};
      double p[3] = {i % side, i / side % side, i / side / side};
      for (int k = 0; k < 3; k++) box[6 * i + k] = p[k] - 0.5, box[6 * i + 3 + k] = p[k] + 0.5;
    }
    kn_broad_def d = {.items = item, .count = n};
    kn_broad* b;
    CHECK_OK(kn_broad_create(&b, &d, NULL));
    seconds[size] = 1e9;
    for (int r = 0; r < 5; r++) {
      double start = kn_cpu_seconds();
      for (int f = 0; f < 4; f++) {
        for (int i = 0; i < n; i++) box[6 * i] += 0.1, box[6 * i + 3] += 0.1; /* forces rebuilds */
        CHECK_OK(kn_broad_update_boxes(b, box));
      }
      seconds[size] = fmin(seconds[size], kn_cpu_seconds() - start);
    }
    kn_broad_destroy(b);
    free(item);
    free(box);
  }
  CHECK(seconds[1] < 14 * seconds[0]);
}

/* The vector kernels of every instruction set give the same pairs bit for bit. */
TEST(instruction_sets_agree) {
  static scene s;
  kn_rng rng = kn_rng_seed(8);
  int n = 1000, best = kn_cpu_level();
  random_scene(&s, &rng, n, 6, 3, 1);
  kn_broad_def d = {.items = s.item, .count = n, .parent = s.parent, .nbody = n};
  kn_broad* b[3];
  for (int level = 0; level <= best; level++) CHECK_OK(kn_broad_create(&b[level], &d, NULL));
  static double box[6 * MAX];
  for (int frame = 0; frame < 40; frame++) {
    const kn_broad_pair* p[3] = {0};
    int32_t np[3] = {0};
    for (int i = 1; i < n; i++)
      for (int k = 0; k < 3; k++) s.pose[i].p[k] += 0.02 * kn_rng_normal(&rng);
    for (int i = 0; i < n; i++)
      CHECK_OK(kn_shape_box(box + 6 * i, box + 6 * i + 3, &s.item[i].shape, &s.pose[i]));
    for (int level = 0; level <= best; level++) {
      kn_cpu_limit(level);
      CHECK_OK(frame % 2 ? kn_broad_update(b[level], s.pose, NULL, 0) : kn_broad_update_boxes(b[level], box));
      kn_broad_pairs(b[level], &p[level], &np[level]);
      CHECK_INT(np[level], np[0]);
      CHECK(np[level] == np[0] && !memcmp(p[level], p[0], (size_t)np[0] * sizeof *p[0]));
    }
  }
  kn_cpu_limit(best);
  for (int level = 0; level <= best; level++) kn_broad_destroy(b[level]);
}

/* Few fast items among many at rest are repaired, not rebuilt; the pairs must stay those of brute force. */
TEST(fast_items_are_repaired_exactly) {
  static scene s;
  kn_rng rng = kn_rng_seed(9);
  int n = 600;
  random_scene(&s, &rng, n, 4, 3, 2);
  int32_t pairs[4][2] = {{7, 30}, {7, 90}, {60, 90}, {5, 11}};
  kn_broad_def d = {.items = s.item,
                    .count = n,
                    .parent = s.parent,
                    .nbody = n,
                    .pairs = (const int32_t(*)[2])pairs,
                    .npair = 4};
  kn_broad_settings roomy = kn_broad_default();
  roomy.pair_capacity = 100000;
  kn_broad* b;
  if (!CHECK_OK(kn_broad_create(&b, &d, &roomy))) return;
  for (int frame = 0; frame < 120; frame++) {
    for (int i = 2; i < n; i++) {
      if (i % 75 == 0)
        for (int k = 0; k < 3; k++)
          s.pose[i].p[k] = 0.9 * s.pose[i].p[k] + kn_rng_normal(&rng); /* stays in the crowd */
      else if (frame % 40 == 39 && i % 40 == 7)
        for (int k = 0; k < 3; k++) s.pose[i].p[k] += 0.3 * kn_rng_normal(&rng); /* others now and then */
    }
    size_t before = kn_test_allocations();
    CHECK_OK(kn_broad_update(b, s.pose, NULL, 0));
    CHECK_INT(kn_test_allocations() - before, 0);
    if (frame % 4 == 0 || frame % 40 == 39) check_pairs(&s, &d, b, 0);
  }
  kn_broad_stats st;
  kn_broad_get_stats(b, &st);
  CHECK(st.rebuilds < 8);
  kn_broad_destroy(b);
}
