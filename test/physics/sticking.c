/* Does it stick? Loaded contact points are watched from t = 5 s on: the largest tangential distance between
   the two material points that touched then. 20 s here, 8 s under the sanitizers, 100 s with KN_EFFORT >= 7. */
#include <math.h>

#include "test.h"
#include "world.h"

static double horizon(void) { return fmin(100.0, 5.0 + kn_test_steps(15)); }

static void prints(const char* what, const char* stepper, double t, double value, const char* unit) {
  printf("  %-24s %-5s %4.0f s: %.2g %s\n", what, stepper, t, value, unit);
}

/* Largest creep between t = 5 s and the end; points: how many contacts must stay loaded. */
static double creep(const char* scene, const char* stepper, double end, int points) {
  kn_world w;
  kn_creep c;
  double worst = 0.0;
  int left = 0;
  if (kn_world_open(&w, scene, stepper, 0.0, NULL) && kn_world_until(&w, 5.0)) {
    kn_creep_begin(&c, &w);
    CHECK(c.count >= points);
    for (long k = 0; kn_state_time(w.state) < end && kn_world_step(&w); k++) {
      if (w.report->status != KN_OK && !CHECK_OK(w.report->status)) break;
      kn_creep_watch(&c, &w);
      if (k % 10 == 0) worst = fmax(worst, kn_creep_now(&c, &w, &left));
    }
    worst = fmax(worst, kn_creep_now(&c, &w, &left));
    CHECK(left >= points);
  }
  kn_world_close(&w);
  return worst;
}

static void check_creep(const char* what, const char* scene, int points, double limit) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    double t = horizon(), worst = creep(scene, *s, t, points);
    prints(what, *s, t, worst, "m");
    CHECK_BELOW(worst, limit);
  }
}

/* mu = 1.01 tan θ: one per cent above sliding. */
TEST(block_on_an_incline_does_not_creep) {
  check_creep("block, mu 1.01 tan", "incline slope=30 margin=1.01", 3, 1e-12);
}

/* 45 g held with 20 times the squeeze that Coulomb's law asks for. */
TEST(pinched_capsule_does_not_creep) { check_creep("pinched capsule", "gripper margin=20", 2, 1e-12); }

/* Shaken with 7 m/s² at 3 Hz. */
TEST(shaken_capsule_does_not_creep) {
  check_creep("shaken capsule", "gripper margin=20 shake=0.02 hz=3", 2, 1e-9);
}

/* The servos have settled by t = 5 s; the soles must not walk. */
TEST(standing_humanoid_does_not_walk) { check_creep("humanoid's soles", "humanoid", 4, 1e-9); }

/* Rolling without slip is also sticking: v = ω r stays for good. A held anchor would stop the sphere, one
   that is re-made every step would brake it by 5e-4. Speeds of 10 m/s over 1e5 steps: 1e-9 relative. */
TEST(sphere_rolling_at_100_rad_per_s_keeps_rolling) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double slip = 0.0, t = horizon();
    if (kn_world_open(&w, "rolling-sphere speed=10 spin=100 radius=0.1", *s, 0.0, NULL)) {
      while (kn_state_time(w.state) < t - 0.5 * w.settings.dt && kn_world_step(&w))
        slip = fmax(slip, fabs(w.v[0] - 0.1 * w.v[4]));
      double end = kn_state_time(w.state);
      prints("rolling sphere, slip", *s, end, slip, "m/s");
      prints("rolling sphere, speed", *s, end, fabs(w.v[0] / 10.0 - 1.0), "of 10 m/s");
      prints("rolling sphere, place", *s, end, fabs(w.q[0] / (10.0 * end) - 1.0), "of the way");
      CHECK_BELOW(slip, 1e-9);
      CHECK_REL(w.v[0], 10.0, 1e-10);
      CHECK_REL(w.q[0], 10.0 * end, 1e-9);
      CHECK_NEAR(w.q[1], 0.0, 1e-9);
    }
    kn_world_close(&w);
  }
}

/* 6 m/s, mu = 0.5: stops after v²/(2 mu g) = 3.669724771 m. The way is exact but for the step in which the
   cube stops: there the midpoint rule is off by at most mu g dt²/8 = 6e-7 m. */
TEST(sliding_cube_never_lifts_and_stops_in_place) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double lift = 0.0, way = 36.0 / (2.0 * 0.5 * 9.81);
    if (kn_world_open(&w, "sliding-block speed=6 mu=0.5", *s, 0.0, NULL)) {
      while (kn_state_time(w.state) < 3.0 && kn_world_step(&w)) lift = fmax(lift, w.report->lift);
      prints("sliding cube, lift", *s, kn_state_time(w.state), lift, "m");
      prints("sliding cube, stop", *s, kn_state_time(w.state), fabs(w.q[0] - way), "m off");
      CHECK_BELOW(lift, 1e-12);
      CHECK_NEAR(w.q[0], way, 1e-5);
      CHECK_NEAR(w.v[0], 0.0, 1e-12);
    }
    kn_world_close(&w);
  }
}

/* The other side: mu = 0.99 tan θ slides with a = g (sin θ - mu cos θ) from the start. Exact for the midpoint
   rule: constant forces. */
TEST(block_below_the_cone_slides_as_it_must) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double tilt = 30.0 * 3.14159265358979323846 / 180.0;
    double a = 9.81 * (sin(tilt) - 0.99 * tan(tilt) * cos(tilt));
    if (kn_world_open(&w, "incline slope=30 margin=0.99", *s, 0.0, NULL) && kn_world_until(&w, 2.0)) {
      double start[2] = {0.1 * sin(tilt), 0.1 * cos(tilt)};
      double way = (w.q[0] - start[0]) * cos(tilt) - (w.q[2] - start[1]) * sin(tilt);
      CHECK_NEAR(way, 0.5 * a * 4.0, 1e-9); /* 2000 steps, solver tolerance 1e-10 of the impulse */
      CHECK_NEAR(hypot(w.v[0], w.v[2]), a * 2.0, 1e-9);
    }
    kn_world_close(&w);
  }
}
