/* The random generator: reproducible, valid, and it really makes what it says. */
#include "model/model.h"
#include "scene.h"
#include "test.h"

static kn_model* make(uint64_t seed, const kn_random_settings* s) {
  kn_spec* spec;
  kn_model* m = NULL;
  kn_spec_create(&spec);
  CHECK_OK(kn_random_spec(spec, seed, s));
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  return m;
}

TEST(five_hundred_models_compile_and_cover_everything) {
  int types[KN_JOINT_TYPE_COUNT] = {0}, loops = 0, limits = 0, forests = 0, deepest = 0, shapes = 0;
  for (int i = 0; i < 500; i++) {
    kn_random_settings s = kn_random_default(1 + i * 2 / 5);
    s.geoms = i % 2, s.limits = i % 3 == 0, s.springs = i % 5 == 0, s.loops = i % 4, s.actuators = i % 7 == 0;
    s.branch = (i % 11) / 10.0;
    kn_model* m = make((uint64_t)i, &s);
    if (!m) continue;
    int roots = 0;
    for (int j = 0; j < m->njoint; j++) types[m->joint[j].type]++;
    for (int l = 0; l < m->nlink; l++) {
      int depth = 1;
      for (int k = m->link[l].parent; k >= 0; k = m->link[k].parent) depth++;
      deepest = depth > deepest ? depth : deepest;
      roots += m->link[l].parent < 0;
    }
    forests += roots > 1;
    loops += m->nloop;
    limits += m->nlimit;
    shapes += m->ngeom;
    kn_model_destroy(m);
  }
  for (int t = 0; t < KN_JOINT_TYPE_COUNT; t++) CHECK(types[t] > 100);
  CHECK(loops > 100 && limits > 100 && forests > 100 && deepest > 60 && shapes > 1000);
}

TEST(the_seed_decides) {
  kn_random_settings s = kn_random_default(20);
  kn_model *a = make(3, &s), *b = make(3, &s), *c = make(4, &s);
  CHECK(a->hash == b->hash);
  CHECK(a->hash != c->hash);
  kn_state* x;
  CHECK_OK(kn_state_create(&x, a));
  kn_random_state(x, a, 1, 2.0, 3.0);
  uint64_t h = kn_state_hash(x);
  kn_random_state(x, a, 1, 2.0, 3.0);
  CHECK(h == kn_state_hash(x));
  kn_random_state(x, a, 2, 2.0, 3.0);
  CHECK(h != kn_state_hash(x));
  kn_state_destroy(x);
  kn_model_destroy(a);
  kn_model_destroy(b);
  kn_model_destroy(c);
}
