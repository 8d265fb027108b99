/* Is e really e? Time stepping: no bounce raises the energy, heights are of second order in the step, a
   bounce is late by at most one step; the event-driven stepper's own figures are in test/step. */
#include <math.h>

#include "test.h"
#include "world.h"

/* The height a free ball would rise to, from its energy. */
static double apex(const kn_world* w) { return w->q[2] - 0.1 + w->v[2] * w->v[2] / (2.0 * 9.81); }

/* e = 1: 100 bounces from 1 m. A flight lasts 2 sqrt(2 h/g) and up to a step more. */
TEST(elastic_ball_keeps_its_height_over_100_bounces) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double off = 0.0, rise = 0.0, late = 0.0, early = 0.0, last = 0.0, flight = 2.0 * sqrt(2.0 / 9.81);
    int bounces = 0;
    if (kn_world_open(&w, "bouncing-ball e=1", *s, 0.0, NULL)) {
      double E = kn_world_energy(&w), E0 = E;
      while (bounces < 100 && kn_state_time(w.state) < 100.0) {
        double down = w.v[2], t;
        if (!kn_world_step(&w)) break;
        double now = kn_world_energy(&w);
        rise = fmax(rise, (now - E) / E0);
        E = now;
        off = fmax(off, fabs(apex(&w) - 1.0));
        if (!(down < 0.0 && w.v[2] > 0.0)) continue;
        t = kn_state_time(w.state) + (apex(&w) > 0.0 ? w.v[2] / 9.81 : 0.0); /* of the next apex */
        if (bounces++ > 0) late = fmax(late, t - last - flight), early = fmin(early, t - last - flight);
        last = t;
      }
      CHECK_INT(bounces, 100);
      printf("  %-5s 100 bounces: height off by %.2g m, energy up by %.2g, flights %.2g … %.2g s longer\n",
             *s, off, rise, early, late);
      CHECK_BELOW(off, 1e-5);
      CHECK_BELOW(rise, 1e-14); /* rounding of K and V */
      CHECK_BELOW(late, w.settings.dt * (1 + 1e-9));
      CHECK_BELOW(-early, 1e-9);
    }
    kn_world_close(&w);
  }
}

/* First rebound to e² of the height; the landing is exact in energy, so only the solver's rounding is left.
 */
TEST(rebound_height_is_e_squared) {
  for (int k = 1; k <= 10; k++) {
    kn_world w;
    char scene[64];
    double e = 0.1 * k, down = 0.0;
    snprintf(scene, sizeof scene, "bouncing-ball e=%.17g", e);
    if (!kn_world_open(&w, scene, "time", 0.0, NULL)) return;
    do {
      down = w.v[2];
      if (!kn_world_step(&w)) break;
    } while (w.v[2] < down && kn_state_time(w.state) < 1.0);
    CHECK_NEAR(apex(&w), e * e, 1e-9);
    kn_world_close(&w);
  }
}

/* Impacts of 216 elastic spheres, one contact after the other: nothing is lost but the bounces slower than
   v_rest = 2 g dt = 0.02 m/s, at most ½ m v² = 2 mJ of 34 kJ each. */
TEST(elastic_666_keeps_its_energy) {
  kn_world w;
  double rise = 0.0, fall = 0.0, t = fmin(10.0, 1.0 * kn_test_effort());
  if (!kn_world_open(&w, "simbench-666 elastic=1", "time", 0.0, NULL)) return;
  double E0 = kn_world_energy(&w);
  while (kn_state_time(w.state) < t && kn_world_step(&w)) {
    const kn_energy* e = &w.report->energy;
    double change = (e->kinetic + e->potential + e->spring) / E0 - 1.0;
    rise = fmax(rise, change), fall = fmin(fall, change);
    if (!CHECK(w.report->status == KN_OK && w.report->penetration <= 1e-9)) break;
  }
  printf("  elastic 666, %g s: energy %.2g … +%.2g of itself\n", t, fall, rise);
  CHECK_BELOW(rise, 1e-12); /* 1e4 steps, rounding of 216 energies */
  CHECK_BELOW(-fall, 1e-6);
  kn_world_close(&w);
}

/* e = 0: what has landed never leaves the floor again by itself. */
static void never_bounces(const char* scene, const char* stepper) {
  kn_world w;
  double up = 0.0, highest = 0.0;
  bool landed = false;
  if (!kn_world_open(&w, scene, stepper, 0.0, NULL)) return;
  while (kn_state_time(w.state) < 2.0 && kn_world_step(&w)) {
    bool loaded = false;
    for (int i = 0; i < w.report->contacts; i++) loaded |= w.report->contact[i].impulse[0] > 0.0;
    landed |= loaded;
    if (!landed) continue;
    up = fmax(up, w.v[2]);
    highest = fmax(highest, w.report->lift);
  }
  CHECK(landed);
  CHECK_BELOW(up, 1e-12);
  CHECK_BELOW(highest, 1e-12);
  kn_world_close(&w);
}

TEST(e_0_never_bounces) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    never_bounces("bouncing-ball e=0", *s);
    never_bounces("bouncing-ball e=0 mu=0.5 vx=1", *s);
    never_bounces("stack boxes=1 gap=0 e=0", *s);
  }
}

/* Named after the energy it created: two spheres that landed together were raised by the repair of both
   contacts, but slowed by their own depth only. Random heaps of elastic spheres, one by one. */
TEST(landing_of_many_at_once_creates_no_energy) {
  static const char* const scene[] = {"sphere-pile balls=8 e=1 mu=0", "sphere-pile balls=27 e=1 mu=0",
                                      "stack boxes=3 gap=0.02 e=1 mu=0 jitter=0.01"};
  for (size_t k = 0; k < sizeof scene / sizeof *scene; k++) {
    kn_world w;
    double rise = 0.0;
    if (!kn_world_open(&w, scene[k], "time", 0.0, NULL)) return;
    double E0 = kn_world_energy(&w);
    while (kn_state_time(w.state) < 1.0 && kn_world_step(&w))
      rise = fmax(rise, kn_world_energy(&w) / E0 - 1.0);
    printf("  %s: energy up by %.2g\n", scene[k], rise);
    CHECK_BELOW(rise, 1e-9);
    kn_world_close(&w);
  }
}
