/* Many worlds: 64 boxes are thrown onto a floor, each with its own mass, friction and start, on all processors.
   Prints how far they slid, and shows that one thread gives the same bits.

   Build against an installed knuckle: cc pool.c $(pkg-config --cflags --libs knuckle) -o pool */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/pool.h"

enum { WORLDS = 64, STEPS = 500 };

static void must(kn_status status) {
  if (status == KN_OK) return;
  fprintf(stderr, "%s: %s\n", kn_status_name(status), kn_last_error());
  exit(1);
}

static kn_model* build(void) {
  kn_spec* spec;
  kn_model* model;
  kn_body id;
  must(kn_spec_create(&spec));
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  must(kn_spec_add_geom(NULL, spec, &floor));
  kn_body_def body = kn_body_default();
  body.name = "box", body.pos[2] = 0.1, body.inertia_from_geoms = true;
  must(kn_spec_add_body(&id, spec, &body));
  kn_joint_def joint = kn_joint_default(KN_JOINT_FREE);
  joint.body = id;
  must(kn_spec_add_joint(NULL, spec, &joint));
  kn_geom_def geom = kn_geom_default(KN_SHAPE_BOX);
  geom.body = id, geom.mass = 2.0, geom.material.mu = 0.5;
  for (int i = 0; i < 3; i++) geom.shape.size[i] = 0.1;
  must(kn_spec_add_geom(NULL, spec, &geom));
  must(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

/* Runs the worlds on so many threads (0: all); state has a row t, q, v for each. */
static kn_pool_summary throw_boxes(double* state, const kn_model* model, int threads) {
  kn_pool* pool;
  kn_pool_summary sum;
  must(kn_pool_create(&pool, model, NULL, WORLDS, threads));
  kn_pool_ranges ranges = {.seed = 1, .mass = {0.5, 2.0}, .friction = {0.5, 1.5}};
  kn_pool_reset reset = {.state = state, .keyframe = -1, .ranges = &ranges};
  must(kn_pool_begin(pool, &reset));
  for (int w = 0; w < WORLDS; w++) /* rows are the caller's: 1 + 7 numbers of t and q, then v */
    state[w * kn_pool_width(pool) + 8] = 1.0 + 0.01 * w;
  kn_pool_run run = {.steps = STEPS, .state = state};
  must(kn_pool_step(&sum, pool, &run));
  for (int w = 0; w < WORLDS; w++)
    if (*kn_pool_failure(pool, w)) printf("world %d failed: %s\n", w, kn_pool_failure(pool, w));
  kn_pool_destroy(pool);
  return sum;
}

int main(void) {
  static double all[WORLDS][14], one[WORLDS][14];
  kn_model* model = build();
  kn_pool_summary sum = throw_boxes(all[0], model, 0);
  throw_boxes(one[0], model, 1);
  bool same = memcmp(all, one, sizeof all) == 0;
  double least = INFINITY, most = 0.0;
  for (int w = 0; w < WORLDS; w++) least = fmin(least, all[w][1]), most = fmax(most, all[w][1]);
  printf("%lld steps, %d failed, worst residual %.1e\n", (long long)sum.steps, sum.failed, sum.residual);
  printf("the boxes slid %.3f to %.3f m; one thread gives %s bits\n", least, most,
         same ? "the same" : "OTHER");
  kn_model_destroy(model);
  return same && sum.failed == 0 && least > 0.001 && most < 1.0 ? 0 : 1;
}
