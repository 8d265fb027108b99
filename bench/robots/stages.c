#include "stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "ours.h"

typedef struct counted {
  const char *name, *file; /* under ../shared/data/models/mjcf */
} counted;

static const counted list[] = {
    {"booster_t1", "booster_t1/scene.xml"},       {"talos", "pal_talos/scene_motor.xml"},
    {"toddlerbot", "toddlerbot_2xc/scene.xml"},   {"g1", "unitree_g1/scene.xml"},
    {"anymal_c", "anybotics_anymal_c/scene.xml"}, {"softfoot", "iit_softfoot/scene.xml"},
    {"cassie", "agility_cassie/scene.xml"},       {"xarm7", "ufactory_xarm7/scene.xml"},
    {"robotiq", "robotiq_2f85/scene.xml"},        {"shadow_hand", "shadow_hand/scene_right.xml"},
};
enum { ROBOTS = sizeof list / sizeof *list, STEPS = 250 };

static robot_ours* opened(const counted* c, char* why, int room) {
  robot_file file = {.task = ROBOT_PASSIVE};
  snprintf(file.path, sizeof file.path, "%s/models/mjcf/%s", KN_SHARED_DATA, c->file);
  snprintf(file.name, sizeof file.name, "%s", c->name);
  return robot_ours_open(&file, why, room);
}

/* Callgrind collects inside this function. */
__attribute__((noinline)) void kn_counted_steps(robot_ours* r);
void kn_counted_steps(robot_ours* r) {
  double us[STEPS];
  robot_run run;
  robot_ours_run(&run, r, us, STEPS);
}

int robot_count(const char* name) {
  char why[600];
  if (access(KN_SHARED_DATA "/models/mjcf", R_OK) != 0) return 77;
  for (int i = 0; i < ROBOTS; i++) {
    if (strcmp(list[i].name, name) != 0) continue;
    robot_ours* r = opened(&list[i], why, sizeof why);
    if (!r) return fprintf(stderr, "robots: %s: %s\n", name, why), 1;
    kn_counted_steps(r);
    robot_ours_close(r);
    return 0;
  }
  fprintf(stderr, "robots: no robot \"%s\" is counted\n", name);
  return 2;
}

static int stages_of(const counted* c) {
  char why[600];
  double us[STEPS];
  robot_run run;
  robot_ours* r = opened(c, why, sizeof why);
  if (!r) return fprintf(stderr, "robots: %s: %s\n", c->name, why), 1;
  robot_ours_time_stages(r);
  robot_ours_run(&run, r, us, STEPS);
  const kn_stage_times* t = &run.time;
  printf(
      "| %-11s | %2d | %4.0f | %5.1f | %5.1f | %5.1f | %5.1f | %5.1f | %5.1f | %5.1f | %6.1f | %3.0f %% |\n",
      c->name, run.nv, run.contact_rows + run.limits + run.loops + run.dry, t->kinematics + t->factor,
      t->collide, t->problem, t->solve, t->judge + t->update + t->impact, t->project, t->audit, run.mean,
      100.0 * (1.0 - run.left_warm));
  robot_ours_close(r);
  return 0;
}

int robot_stages(void) {
  int failed = 0;
  if (access(KN_SHARED_DATA "/models/mjcf", R_OK) != 0)
    return fprintf(stderr, "robots: no models in %s\n", KN_SHARED_DATA), 77;
  printf("| robot | dof | rows | dynamics | collide | problem | solve | verdict, impact | repair | audit | "
         "step, us | warm "
         "start |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < ROBOTS; i++) failed |= stages_of(&list[i]);
  return failed;
}
