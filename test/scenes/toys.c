/* Toys against what is known of them, and the words of every scene. */
#include <math.h>
#include <string.h>

#include "scene.h"
#include "test.h"
#include "world.h"

TEST(every_scene_says_what_to_look_for) {
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    if (!CHECK((*s)->watch && strlen((*s)->watch) > 20)) printf("%s\n", (*s)->name);
    for (int i = 0; i < kn_scene_params(*s); i++) CHECK((*s)->param[i].doc && (*s)->param[i].doc[0]);
  }
}

/* Friction stops the contact point at the bounce: v' = (5 v + 2 r w)/7, for a sphere, whatever mu beyond. */
TEST(superball_turns_round_at_its_first_bounce) {
  kn_world w;
  if (kn_world_open(&w, "superball", "time", 0.0, NULL) && kn_world_until(&w, 0.6))
    CHECK_NEAR(w.v[0], (5 * 1.0 + 2 * 0.03 * -150) / 7, 1e-12); /* rounding of one impact */
  kn_world_close(&w);
}

/* W² sin(tilt) = 4 g/R of a coin without thickness; 1e-4 m of thickness on 11.6 mm of radius leave a wobble of
   that share, 1e-2: the centre stays within 1e-2 R sin(tilt) and the energy is the stepper's 1e-9 per step. */
TEST(spinning_coin_keeps_its_height_and_its_energy) {
  kn_world w;
  if (kn_world_open(&w, "spinning-coin", "event", 0.0, NULL)) {
    double z = kn_state_q(w.state)[2], energy = NAN, worst = 0;
    while (kn_state_time(w.state) < 0.5 && kn_world_step(&w)) {
      worst = fmax(worst, fabs(kn_state_q(w.state)[2] - z));
      if (isnan(energy)) energy = w.report->energy.kinetic + w.report->energy.potential;
    }
    CHECK_BELOW(worst, 1e-2 * z);
    CHECK_REL(w.report->energy.kinetic + w.report->energy.potential, energy, 1e-4);
  }
  kn_world_close(&w);
}

/* Kane and Levinson 1982: started one way it rattles and turns round, the other way it goes on. */
TEST(rattleback_turns_round_one_way_only) {
  kn_world w;
  if (kn_world_open(&w, "rattleback", "event", 0.0, NULL) && kn_world_until(&w, 7.5))
    CHECK_NEAR(w.v[5], 5, 0.1);
  kn_world_close(&w);
  if (kn_world_open(&w, "rattleback spin=5", "event", 0.0, NULL) && kn_world_until(&w, 5.0))
    CHECK_NEAR(w.v[5], 5, 0.05);
  kn_world_close(&w);
}

/* The text's own words: the last ball flies off, the others stay. */
TEST(newton_cradle_shows_what_its_text_says) {
  kn_world w;
  if (kn_world_open(&w, "newton-cradle", "time", 0.0, NULL) && kn_world_until(&w, 0.006)) {
    for (int i = 0; i < 4; i++) CHECK_NEAR(w.v[i], 0, 1e-3); /* a few ms of gravity on gaps of 1 mm */
    CHECK_NEAR(w.v[4], 1, 1e-3);
  }
  kn_world_close(&w);
}

/* With one of two solutions chosen the tip leaves the floor within 1 ms; without any the rod falls over its tip. */
TEST(painleve_rod_has_the_instants_of_its_text) {
  static const char* const lifts[] = {"painleve-rod rate=6", "painleve-rod rate=-6"};
  kn_world w;
  for (int k = 0; k < 2; k++) {
    if (kn_world_open(&w, lifts[k], "time", 0.0, NULL) && kn_world_until(&w, 1e-3))
      CHECK(w.report->contacts == 1 && w.report->contact[0].gap > 1e-6 &&
            w.report->contact[0].impulse[0] == 0.0);
    kn_world_close(&w);
  }
  if (kn_world_open(&w, "painleve-rod", "time", 0.0, NULL)) {
    if (kn_world_until(&w, 0.68)) CHECK_INT(w.report->contacts, 1);
    if (kn_world_until(&w, 0.70)) CHECK_INT(w.report->contacts, 2);
  }
  kn_world_close(&w);
}
