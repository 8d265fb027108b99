/* Real robots under the hard law, as a user runs them: free ones fall 0.1 m onto a floor, fixed ones from
   their first keyframe, actuators without force. A few for a short time; all for 5 s with KN_EFFORT >= 12. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

#define MJCF "models/mjcf/"
#define URDF "models/urdf/example-robot-data/robots/"

typedef struct robot {
  const char* path;
  const char* base; /* of a URDF */
  bool always;
} robot;

static const robot robots[] = {
    {MJCF "agility_cassie/cassie.xml", NULL, true},
    {MJCF "bitcraze_crazyflie_2/cf2.xml", NULL, false},
    {MJCF "flexiv_rizon4/flexiv_rizon4.xml", NULL, false},
    {MJCF "google_barkour_vb/barkour_vb.xml", NULL, false},
    {MJCF "google_barkour_vb/barkour_vb_mjx.xml", NULL, false},
    {MJCF "google_barkour_vb/barkour_vb_rev_1_0_head_straight.urdf", "floating", false},
    {MJCF "iit_softfoot/softfoot.xml", NULL, false},
    {MJCF "kuka_iiwa_14/iiwa14.xml", NULL, false},
    {MJCF "low_cost_robot_arm/low_cost_robot_arm.xml", NULL, false},
    {MJCF "pal_talos/talos.xml", NULL, false},
    {MJCF "pal_talos/talos_motor.xml", NULL, false},
    {MJCF "pal_talos/talos_position.xml", NULL, false},
    {MJCF "robotiq_2f85/2f85.xml", NULL, true},
    {MJCF "shadow_hand/left_hand.xml", NULL, false},
    {MJCF "shadow_hand/right_hand.xml", NULL, false},
    {MJCF "trossen_wx250s/wx250s.xml", NULL, true},
    {MJCF "trs_so_arm100/so_arm100.xml", NULL, false},
    {MJCF "ufactory_xarm7/hand.xml", NULL, false},
    {MJCF "ufactory_xarm7/xarm7.xml", NULL, true},
    {MJCF "ufactory_xarm7/xarm7_nohand.xml", NULL, false},
    {MJCF "umi_gripper/umi_gripper.xml", NULL, false},
    {MJCF "unitree_h1/h1.xml", NULL, true},
    {MJCF "wonik_allegro/left_hand.xml", NULL, false},
    {MJCF "wonik_allegro/right_hand.xml", NULL, false},
    {URDF "allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed", false},
    {URDF "allegro_hand_description/urdf/allegro_right_hand.urdf", "fixed", false},
    {URDF "bolt_description/robots/bolt.urdf", "floating", false},
    {URDF "bravo7_description/urdf/bravo7_no_ee.urdf", "fixed", false},
    {URDF "double_pendulum_description/urdf/double_pendulum.urdf", "fixed", false},
    {URDF "double_pendulum_description/urdf/double_pendulum_continuous.urdf", "fixed", false},
    {URDF "double_pendulum_description/urdf/double_pendulum_simple.urdf", "fixed", false},
    {URDF "finger_edu_description/robots/finger_edu.urdf", "fixed", true},
    {URDF "hector_description/robots/quadrotor_base.urdf", "floating", false},
    {URDF "hyq_description/robots/hyq_no_sensors.urdf", "floating", true},
    {URDF "icub_description/robots/icub.urdf", "floating", false},
    {URDF "icub_description/robots/icub_reduced.urdf", "floating", false},
    {URDF "iris_description/robots/iris.urdf", "floating", false},
    {URDF "iris_description/robots/iris_simple.urdf", "floating", false},
    {URDF "kinova_description/robots/kinova.urdf", "fixed",
     true}, /* starts beyond its limits: the repair has to choose between rows */
    {URDF "laikago_description/urdf/laikago.urdf", "floating", false},
    {URDF "pr2_description/urdf/pr2.urdf", "floating", false},
    {URDF "quadruped_description/urdf/quadruped.urdf", "floating", false},
    {URDF "simple_humanoid_description/urdf/simple_humanoid.urdf", "floating",
     true}, /* feet whose contacts jump round their rims: friction did 3 J of work in one step */
    {URDF "simple_humanoid_description/urdf/simple_humanoid_classical.urdf", "floating", false},
    {URDF "solo_description/robots/solo.urdf", "floating", true},
    {URDF "solo_description/robots/solo12.urdf", "floating", false},
    {URDF "talos_data/robots/talos_full_v2.urdf", "floating", false},
    {URDF "talos_data/robots/talos_full_v2_box.urdf", "floating", false},
    {URDF "talos_data/robots/talos_left_arm.urdf", "fixed", false},
    {URDF "talos_data/robots/talos_reduced.urdf", "floating", false},
    {URDF "talos_data/robots/talos_reduced_box.urdf", "floating", false},
    {URDF "talos_data/robots/talos_reduced_corrected.urdf", "floating", false},
};

static double after(const char* text, const char* words) {
  const char* at = strstr(text, words);
  return at ? strtod(at + strlen(words), NULL) : NAN;
}

static bool drop(const robot* r, double seconds, const char* recording) {
  char command[1200];
  snprintf(command, sizeof command,
           "run '%s' %s%s --keyframe first --dt 1e-3 --time %g --drop 0.1 --passive -o %s",
           kn_test_data(r->path), r->base ? "--base " : "", r->base ? r->base : "", seconds, recording);
  kn_test_result* run = kn_test_knuckle(command);
  /* 1: with the trouble's name and sentences, and then `verify` ends the same way */
  int status = run->status;
  bool told = strstr(run->out, "\n  trouble  ") != NULL;
  bool ok = CHECK(status == (told ? 1 : 0));
  double residual = after(run->out, "residual "), overlap = after(run->out, "penetration "),
         closure = after(run->out, "loop closure "), gain = after(run->out, "largest gain of a contact ");
  ok &= CHECK_BELOW(residual, 1e-8);
  ok &= CHECK_BELOW(overlap, 1e-8); /* m: what a repair leaves of float meshes */
  ok &= CHECK_BELOW(closure, 1e-8);
  ok &= CHECK_BELOW(gain, 1e-9);
  snprintf(command, sizeof command, "verify %s", recording);
  kn_test_result* verified = kn_test_knuckle(command);
  ok &= CHECK_INT(verified->status, status);
  ok &= CHECK(strstr(verified->out, "all conditions hold") != NULL);
  if (!ok) printf("  %s\n%s%.400s\n", r->path, run->err, verified->out);
  if (kn_test_effort() > 1)
    printf("%-32s residual %.1e, overlap %.1e m, closure %.1e, gain %.1e\n", strrchr(r->path, '/') + 1,
           residual, overlap, closure, gain);
  return ok;
}

TEST(robots_fall_under_the_hard_law_and_verify) {
  if (!kn_test_data(MJCF)) SKIP("no shared data");
  char recording[] = "/tmp/knuckle-drop-XXXXXX.mcap";
  int fd = mkstemps(recording, 5), fallen = 0;
  if (!CHECK(fd >= 0)) return;
  close(fd);
  double seconds = fmin(0.4 * kn_test_effort(), 5.0);
  for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    if (robots[i].always || kn_test_effort() > 1) fallen += drop(&robots[i], seconds, recording);
  printf("%d robots fell for %g s\n", fallen, seconds);
  remove(recording);
}

static void holds(const char* run) {
  char recording[] = "/tmp/knuckle-holds-XXXXXX.mcap", command[1200];
  int fd = mkstemps(recording, 5);
  if (!CHECK(fd >= 0)) return;
  close(fd);
  snprintf(command, sizeof command, "run %s -o %s", run, recording);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  snprintf(command, sizeof command, "verify %s", recording);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  remove(recording);
}

/* Trees of their own, of which some collide: what the velocity-dependent forces were taken at is recorded as it was. */
TEST(a_cradle_verifies) { holds("newton-cradle --time 0.3"); }

/* Feet that hardly move turn round within one step, so that their rows change ten times as much as in the step before: what the
   step foresees of the gap's drift was more than `verify` allowed (complementarity 2.4e-7, step 388). */
TEST(anymal_that_begins_to_sink_verifies) {
  char run[1000];
  const char* model = kn_test_data(MJCF "anybotics_anymal_c/scene_mjx.xml");
  if (!model) SKIP("no shared data");
  snprintf(run, sizeof run, "'%s' --keyframe first --time 0.8 --drop 0.05 --passive", model);
  holds(run);
}
