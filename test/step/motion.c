/* q and v dof by dof (src/step/time/motion.h): the same bits with every instruction set, on short and long chains
   and with quaternions; states that are not finite are found wherever the number is. */
#include <math.h>

#include "base/isa.h"
#include "scene.h"
#include "step/sim.h"
#include "test.h"

typedef struct run {
  kn_scene_opened* scene;
  kn_state* x;
  kn_sim* sim;
} run;

static bool open_run(run* r, const char* name, const char* parameter) {
  *r = (run){0};
  if (!CHECK_OK(kn_scene_open(&r->scene, name, &parameter, parameter ? 1 : 0))) return false;
  kn_sim_settings settings = kn_scene_settings(r->scene->scene);
  return CHECK_OK(kn_state_create(&r->x, r->scene->model)) &&
         CHECK_OK(kn_sim_create(&r->sim, r->scene->model, &settings)) &&
         CHECK_OK(kn_sim_prepare(r->sim, r->x)) && CHECK_OK(kn_scene_start(r->scene, r->x));
}

static void close_run(run* r) { kn_sim_destroy(r->sim), kn_state_destroy(r->x), kn_scene_close(r->scene); }

static uint64_t hash_after(const char* name, const char* parameter, int steps) {
  run r;
  uint64_t hash = 0;
  if (open_run(&r, name, parameter)) {
    for (int k = 0; k < steps; k++) CHECK_OK(kn_step(r.sim, r.x));
    hash = kn_state_hash(r.x);
  }
  close_run(&r);
  return hash;
}

static const char* const scenes[][2] = {{"pendulum-2014", "links=3"},
                                        {"pendulum-2012", "links=7"},
                                        {"pendulum-2012", "links=8"},
                                        {"pendulum-2014", "links=13"},
                                        {"quadruped", NULL}};
enum { SCENES = sizeof scenes / sizeof *scenes };

TEST(every_instruction_set_moves_alike) {
  int top = kn_cpu_level();
  for (int i = 0; i < SCENES; i++) {
    uint64_t first = 0;
    for (int level = 0; level <= top; level++) {
      kn_cpu_limit(level);
      uint64_t hash = hash_after(scenes[i][0], scenes[i][1], 900);
      if (level) CHECK(hash == first);
      first = hash;
    }
  }
  kn_cpu_limit(top);
}

/* Before the first step and in between; the state is as it was, and goes on when the number is taken back. */
TEST(what_is_not_finite_is_found) {
  for (int i = 0; i < SCENES; i++) {
    run r;
    bool ok = open_run(&r, scenes[i][0], scenes[i][1]);
    int nq = ok ? r.scene->model->nq : 0, nv = ok ? r.scene->model->nv : 0;
    for (int k = 0; k < nq + 2 * nv; k++) {
      double* at = k < nq ? r.x->q + k : k < nq + nv ? r.x->v + (k - nq) : r.x->force + (k - nq - nv);
      double before = *at;
      *at = k % 2 ? INFINITY : NAN;
      CHECK(kn_step(r.sim, r.x) == KN_NOT_FINITE);
      *at = before;
      CHECK_OK(kn_step(r.sim, r.x));
    }
    close_run(&r);
  }
}
