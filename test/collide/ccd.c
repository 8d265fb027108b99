/* libccd as a second opinion on overlapping boxes and hulls, with its tolerances lowered. It is not always
   right itself (docs/collision.md), so three things are asked: its yes or no where the answer is clear; no
   direction it finds may separate more than ours; and where its own depth is the separation along its own
   direction, both must be the same in nearly all pairs. Skipped when the library is not there. */
#include <dlfcn.h>

#include "shapes.h"
#include "test.h"

#if defined(__has_include)
#if __has_include(<ccd/ccd.h>)
#define HAVE_CCD
#include <ccd/ccd.h>
#endif
#endif

#if !defined(HAVE_CCD)
TEST(second_opinion_of_libccd) { SKIP("no libccd headers"); }
#else

typedef struct placed {
  const kn_shape* shape;
  const kn_pose* pose;
} placed;

static void support(const void* object, const ccd_vec3_t* dir, ccd_vec3_t* out) {
  const placed* o = object;
  kn_support(out->v, o->shape, o->pose, dir->v);
}

static void centre(const void* object, ccd_vec3_t* out) {
  const placed* o = object;
  double lo[3], hi[3], d[3];
  for (int i = 0; i < 3; i++) { /* the middle of the bounding box */
    for (int k = 0; k < 3; k++) d[k] = k == i;
    kn_support(hi, o->shape, o->pose, d);
    d[i] = -1;
    kn_support(lo, o->shape, o->pose, d);
    out->v[i] = 0.5 * (lo[i] + hi[i]);
  }
}

typedef struct library {
  int (*intersect)(const void*, const void*, const ccd_t*);
  ccd_first_dir_fn first_dir;
  int (*depth)(const void*, const void*, const ccd_t*, ccd_real_t*, ccd_vec3_t*, ccd_vec3_t*);
} library;

static bool load(library* l) {
  void* h = dlopen("libccd.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!h) return false;
  *(void**)&l->intersect = dlsym(h, "ccdGJKIntersect");
  *(void**)&l->depth = dlsym(h, "ccdGJKPenetration");
  *(void**)&l->first_dir = dlsym(h, "ccdFirstDirDefault");
  return l->intersect && l->depth && l->first_dir;
}

typedef struct tally {
  long pairs, overlaps, honest, equal, wrong_answer, better;
} tally;

static void compare(tally* t, const library* l, const kn_test_pair* s) {
  ccd_t ccd = {.first_dir = l->first_dir};
  placed a = {&s->a, &s->A}, b = {&s->b, &s->B};
  ccd.support1 = ccd.support2 = support, ccd.center1 = ccd.center2 = centre;
  ccd.max_iterations = 300, ccd.epa_tolerance = 1e-10, ccd.dist_tolerance = 1e-10;
  kn_distance_result r;
  if (!CHECK_OK(kn_distance(&r, &s->a, &s->A, &s->b, &s->B, NULL))) return;
  t->pairs++;
  if (fabs(r.gap) > 1e-5 * s->size && l->intersect(&a, &b, &ccd) != (r.gap < 0)) t->wrong_answer++;
  if (!(r.gap < -1e-5 * s->size)) return;
  ccd_real_t depth;
  ccd_vec3_t dir, place;
  t->overlaps++;
  if (l->depth(&a, &b, &ccd, &depth, &dir, &place) != 0 || !(depth >= 0)) return;
  double n[3] = {-dir.v[0], -dir.v[1], -dir.v[2]}; /* moves B away; ours points towards A */
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  if (!(fabs(length - 1) < 1e-6)) return;
  double along = kn_test_separation(&s->a, &s->A, &s->b, &s->B, n);
  if (!(along <= r.gap + 1e-9 * s->size)) t->better++;
  if (!(fabs(along + depth) <= 1e-7 * s->size)) return; /* its depth is not what its direction gives */
  t->honest++;
  t->equal += fabs(depth + r.gap) <= 1e-7 * s->size;
}

/* Nearly parallel, identical and slender shapes are where libccd itself fails: random and parallel ones. */
TEST(second_opinion_of_libccd) {
  static const kn_shape_type types[3][2] = {
      {KN_SHAPE_BOX, KN_SHAPE_BOX}, {KN_SHAPE_BOX, KN_SHAPE_HULL}, {KN_SHAPE_HULL, KN_SHAPE_HULL}};
  library l;
  if (!load(&l)) SKIP("no libccd");
  kn_rng rng = kn_rng_seed(31);
  for (int k = 0; k < 3; k++) {
    tally t = {0};
    for (int i = 0; i < 2000 * kn_test_effort(); i++) {
      kn_test_pair s =
          kn_test_pair_make(&rng, types[k][0], types[k][1], i % 2 ? KN_TEST_RANDOM : KN_TEST_PARALLEL);
      compare(&t, &l, &s);
    }
    printf("types %d-%d: %ld pairs, %ld overlapping, libccd consistent with itself on %ld, of these equal to "
           "ours "
           "%ld; other answer yes/no %ld; found a better direction %ld\n",
           (int)types[k][0], (int)types[k][1], t.pairs, t.overlaps, t.honest, t.equal, t.wrong_answer,
           t.better);
    CHECK_INT(t.better, 0);
    CHECK(t.wrong_answer <= t.pairs / 500);
    CHECK(t.overlaps > t.pairs / 4);
    CHECK(t.honest > t.overlaps / 2);
    CHECK(t.equal >= t.honest - t.honest / 20);
  }
}
#endif
