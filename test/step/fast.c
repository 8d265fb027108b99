/* Every scene with each fast path switched off, and with none at all (kn_fast_paths): the general way gives
   the same bits where they are promised; elsewhere a step from the same state ends at the same place, to the
   path's tolerance. Through the public settings only. */
#include <math.h>
#include <string.h>

#include "scene.h"
#include "test.h"

typedef struct twins {
  kn_scene_opened* scene;
  kn_sim* sim[2]; /* as a user has it; with the path off */
  kn_state* x[2];
} twins;

static bool open_twins(twins* t, const char* scene, const char* parameter, const char* off) {
  *t = (twins){0};
  if (!CHECK_OK(kn_scene_open(&t->scene, scene, &parameter, parameter ? 1 : 0))) return false;
  for (int i = 0; i < 2; i++) {
    kn_sim_settings s = kn_scene_settings(t->scene->scene);
    s.fast = i ? off : NULL;
    if (parameter) s.tolerance = 1e-6; /* heaps */
    if (!CHECK_OK(kn_sim_create(&t->sim[i], t->scene->model, &s)) ||
        !CHECK_OK(kn_state_create(&t->x[i], t->scene->model)) || !CHECK_OK(kn_scene_start(t->scene, t->x[i])))
      return false;
    kn_sim_set_controller(t->sim[i], t->scene->controller.fn ? &t->scene->controller : NULL);
    if (!CHECK_OK(kn_sim_prepare(t->sim[i], t->x[i]))) return false;
  }
  return true;
}

static void close_twins(twins* t) {
  for (int i = 0; i < 2; i++) kn_sim_destroy(t->sim[i]), kn_state_destroy(t->x[i]);
  if (t->scene) kn_scene_close(t->scene);
}

/* Largest difference of two positions, relative to the larger of 1 and what they are. */
static double apart(kn_state* a, kn_state* b, int n) {
  const double *p = kn_state_q(a), *q = kn_state_q(b);
  double most = 0.0, size = 1.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(p[i] - q[i])), size = fmax(size, fabs(p[i]));
  return most / size;
}

enum { EVERY = 7 };

/* From the same state every few steps; where bits are promised, side by side all the way. */
static double compare(const char* scene, const char* parameter, const char* off, double tolerance,
                      int steps) {
  twins t;
  double worst = 0.0;
  bool ok = open_twins(&t, scene, parameter, off);
  for (int k = 0; ok && k < steps; k++) {
    bool both = tolerance == 0.0 || k % EVERY == 0;
    if (tolerance > 0.0 && both) ok = CHECK_OK(kn_state_copy(t.x[1], t.x[0]));
    for (int i = 0; i < 1 + both && ok; i++) ok = CHECK_OK(kn_step(t.sim[i], t.x[i]));
    if (!ok || !both) continue;
    if (tolerance > 0.0)
      worst = fmax(worst, apart(t.x[0], t.x[1], kn_model_nq(t.scene->model)));
    else
      ok = CHECK(kn_state_hash(t.x[0]) == kn_state_hash(t.x[1]));
    if (!ok) printf("  %s without %s, step %d\n", scene, off, k);
  }
  close_twins(&t);
  return worst;
}

static void compare_all(const char* off, double tolerance) {
  double worst = 0.0;
  const char* where = "";
  for (int i = 0; kn_scenes()[i]; i++) {
    const kn_scene* scene = kn_scenes()[i];
    double w = compare(scene->name, NULL, off, tolerance, kn_test_steps(500));
    if (w > worst) worst = w, where = scene->name;
    if (tolerance > 0.0 && !CHECK_BELOW(w, tolerance)) printf("  %s without %s\n", scene->name, off);
  }
  printf("  without %-8s %.1e %s\n", off, worst, where);
}

TEST(every_scene_with_each_path_off) {
  for (const kn_fast_path* p = kn_fast_paths(); p->name; p++) compare_all(p->name, p->tolerance);
}

TEST(every_scene_without_fast_paths) {
  double most = 0.0;
  for (const kn_fast_path* p = kn_fast_paths(); p->name; p++) most = fmax(most, p->tolerance);
  compare_all("none", most);
}

/* Heaps have a looser tolerance, and paths of their own. */
TEST(a_heap_with_each_path_off) {
  for (const kn_fast_path* p = kn_fast_paths(); p->name; p++) {
    double w = compare("sphere-pile", "balls=64", p->name, p->tolerance, kn_test_steps(250));
    printf("  without %-8s %.1e\n", p->name, w);
    if (p->tolerance > 0.0) CHECK_BELOW(w, p->tolerance);
  }
  CHECK_BELOW(compare("sphere-pile", "balls=64", "none", 1e-6, kn_test_steps(250)), 1e-6);
}

TEST(a_path_that_is_none_is_refused) {
  kn_scene_opened* scene = NULL;
  kn_sim* sim = NULL;
  if (!CHECK_OK(kn_scene_open(&scene, kn_scenes()[0]->name, NULL, 0))) return;
  kn_sim_settings s = kn_sim_default();
  s.fast = "clear,nowhere";
  CHECK(kn_sim_create(&sim, scene->model, &s) == KN_NOT_FOUND);
  CHECK(strstr(kn_last_error(), "nowhere") != NULL);
  kn_scene_close(scene);
}
