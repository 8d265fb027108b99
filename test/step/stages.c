/* The stages of a step (src/step/stage.h) are those of docs/pipeline.md, and one that fails, whichever it is,
   leaves the state bit for bit as it was; the next step goes on as if nothing had happened. */
#include <stdio.h>
#include <string.h>

#include "scene.h"
#include "step/sim.h"
#include "test.h"

static const struct {
  int number;
  const char *name, *folder, *does;
} stages[] = {
#define X(number, name, folder, does) {number, #name, folder, does},
    KN_STAGES(X)
#undef X
};
enum { STAGES = sizeof stages / sizeof *stages };

TEST(the_table_of_the_pipeline_is_the_list_of_the_code) {
  FILE* f = fopen(KN_SOURCE_DIR "/docs/pipeline.md", "r");
  char line[1024], head[512];
  int seen = 0;
  if (!CHECK(f != NULL)) return;
  while (fgets(line, sizeof line, f)) {
    if (!(line[0] == '|' && line[2] >= '1' && line[2] <= '9')) continue;
    if (!CHECK(seen < STAGES)) break;
    snprintf(head, sizeof head, "| %d | %s | %s |", stages[seen].number, stages[seen].folder,
             stages[seen].does);
    if (!CHECK(strncmp(line, head, strlen(head)) == 0)) printf("  %s  is %s\n", head, line);
    seen++;
  }
  fclose(f);
  CHECK_INT(seen, STAGES);
}

/* A twin that never fails; the other fails once in every step that reaches the stage. */
static int fail_at(const char* name, const char* parameter, const char* stepper, int stage, int steps) {
  kn_scene_opened* scene = NULL;
  kn_sim* sim[2] = {NULL, NULL};
  kn_state* x[2] = {NULL, NULL};
  int failed = 0;
  bool ok = CHECK_OK(kn_scene_open(&scene, name, &parameter, parameter ? 1 : 0));
  for (int i = 0; i < 2 && ok; i++) {
    kn_sim_settings s = kn_scene_settings(scene->scene);
    if (stepper) s.stepper = stepper;
    ok = CHECK_OK(kn_sim_create(&sim[i], scene->model, &s)) &&
         CHECK_OK(kn_state_create(&x[i], scene->model)) && CHECK_OK(kn_scene_start(scene, x[i]));
    if (ok) kn_sim_set_controller(sim[i], scene->controller.fn ? &scene->controller : NULL);
    ok = ok && CHECK_OK(kn_sim_prepare(sim[i], x[i]));
  }
  for (int k = 0; ok && k < steps; k++) {
    uint64_t before = kn_state_hash(x[1]);
    sim[1]->fail_at = stage;
    kn_status status = kn_step(sim[1], x[1]);
    sim[1]->fail_at = 0;
    if (status != KN_OK) {
      failed++;
      ok = CHECK(kn_state_hash(x[1]) == before) && CHECK_OK(kn_step(sim[1], x[1]));
    }
    ok = ok && CHECK_OK(kn_step(sim[0], x[0])) && CHECK(kn_state_hash(x[0]) == kn_state_hash(x[1]));
    const kn_report *a = ok ? kn_sim_report(sim[0]) : NULL, *b = ok ? kn_sim_report(sim[1]) : NULL;
    ok =
        ok && CHECK(a->energy.kinetic == b->energy.kinetic && a->ledger.integration == b->ledger.integration);
    if (!ok) printf("  %s, stage %d, step %d\n", name, stage, k);
  }
  for (int i = 0; i < 2; i++) kn_sim_destroy(sim[i]), kn_state_destroy(x[i]);
  kn_scene_close(scene);
  return failed;
}

TEST(a_failure_at_any_stage_leaves_the_state_as_it_was) {
  static const struct {
    const char *name, *parameter;
    int steps;
    bool impacts; /* it has steps with impacts, */
    bool always;  /* every step reaches every stage but that of impacts */
  } scenes[] = {{"pendulum-2014", "links=6", 1200, true, false},
                {"quadruped", NULL, 300, false, true},
                {"slider-crank", NULL, 300, true, false},
                {"bouncing-ball", NULL, 6000, true, false},
                {"sphere-pile", "balls=20", 300, false, false}};
  for (int stage = KN_STAGE_POSES; stage <= KN_STAGE_COMMIT; stage++) {
    int failed = 0, steps = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
      int n = fail_at(scenes[i].name, scenes[i].parameter, NULL, stage, scenes[i].steps);
      bool every = stage != KN_STAGE_IMPACT && (scenes[i].always || stage == KN_STAGE_POSES ||
                                                stage == KN_STAGE_FREE || stage >= KN_STAGE_MOVE);
      if (every && !CHECK_INT(n, scenes[i].steps)) printf("  %s, stage %d\n", scenes[i].name, stage);
      if (stage == KN_STAGE_IMPACT && scenes[i].impacts && !CHECK(n > 0)) printf("  %s\n", scenes[i].name);
      failed += n, steps += scenes[i].steps;
    }
    printf("  stage %2d failed %d times in %d steps\n", stage, failed, steps);
    CHECK(failed >= 10); /* not a test of nothing: the ball alone bounces that often */
  }
}

TEST(so_it_does_with_compliant_contacts) {
  for (int stage = KN_STAGE_POSES; stage <= KN_STAGE_COMMIT; stage++)
    fail_at("stack", NULL, "hybrid", stage, 100);
}
