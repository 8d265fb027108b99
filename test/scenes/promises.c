/* Every scene of the library: after every accepted step no overlap above 1e-9 m, no unreported residual, no
   energy created; what falls short says so in its report. Short here, longer with KN_EFFORT; the whole
   duration of each scene with KN_EFFORT >= 20, at most 2 s with `event`. */
#include <math.h>
#include <string.h>

#include "test.h"
#include "world.h"

typedef struct tally {
  double penetration, residual, gain, closure;
  long steps, unsolved, infeasible;
} tally;

static long steps_of(const kn_world* w) {
  long all = lround(w->scene->scene->duration / w->settings.dt), cap = 150L * kn_test_effort();
  if (w->settings.contact_room >= 200) cap = 20L * kn_test_effort(); /* piles and walls */
  bool event = strcmp(w->settings.stepper, "event") == 0;
  if (event) cap /= 5;
  if (kn_test_effort() >= 20) cap = event ? lround(2.0 / w->settings.dt) : all;
  return all < cap ? all : cap;
}

static bool run_scene(tally* t, const char* text, const char* stepper) {
  kn_world w;
  memset(t, 0, sizeof *t);
  bool ok = kn_world_open(&w, text, stepper, 0.0, NULL);
  for (long k = ok ? steps_of(&w) : 0; k > 0 && ok; k--) {
    ok = kn_world_step(&w);
    const kn_report* r = w.report;
    t->steps++;
    t->penetration = fmax(t->penetration, r->penetration);
    t->closure = fmax(t->closure, r->closure);
    t->residual = fmax(t->residual, r->residual);
    t->gain = r->gain_rel;
    t->infeasible += r->status == KN_INFEASIBLE;
    t->unsolved +=
        r->status != KN_OK && r->status != KN_INFEASIBLE && r->residual > 1e-8; /* slow fallbacks' bar */
    if (r->status == KN_OK && ok) ok = CHECK_BELOW(r->residual, 1e-9); /* an OK step has solved its problem */
    if (ok) ok = CHECK_BELOW(r->penetration, 1e-9);
  }
  if (!ok) printf("  %s, stepper %s, t = %.9g s\n", text, stepper, w.state ? kn_state_time(w.state) : 0.0);
  CHECK_BELOW(t->gain, 1e-9);
  kn_world_close(&w);
  return ok;
}

static void keeps_its_promises(const char* text, bool solved) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    tally t;
    run_scene(&t, text, *s);
    printf("  %-34s %-5s %6ld steps: overlap %7.1e m, closure %7.1e, residual %7.1e, gain %7.1e, %ld "
           "unsolved, %ld "
           "infeasible\n",
           text, *s, t.steps, t.penetration, t.closure, t.residual, t.gain, t.unsolved, t.infeasible);
    CHECK_INT(t.infeasible, 0);
    if (solved && kn_test_effort() == 1) CHECK_INT(t.unsolved, 0); /* long heaps have some, and say so */
  }
}

TEST(every_scene_keeps_its_promises) {
  for (const kn_scene* const* s = kn_scenes(); *s; s++) keeps_its_promises((*s)->name, true);
}

TEST(scenes_with_other_parameters_keep_their_promises) {
  static const char* const text[] = {
      "pendulum-2014 links=3",      "pendulum-2014 links=30",     "pendulum-2012 links=30",
      "stack ratio=1000",           "stack ratio=0.001",          "stack boxes=5 gap=0.01 e=0.5 jitter=0.01",
      "sliding-block tall=3",       "incline margin=0.99",        "newton-cradle balls=5 gap=0.001",
      "rolling-sphere speed=5",     "spinning-top upright=1",     "painleve-rod rate=6.5",
      "gripper shake=0.02 hz=3",    "simbench-rolling oblique=1", "simbench-666 elastic=1",
      "sphere-pile balls=30 e=0.5", "wall wide=3 high=3 e=0.3",   "quadruped height=0.1 e=0.5",
      "humanoid height=0.05",       "rocking-block e=0.5"};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) keeps_its_promises(text[i], false);
}

static void poly4(kn_sim_settings* s) { s->friction = 4; }

/* Named after its events: with polyhedral friction the load wandered between the corners of boxes at rest,
   and every move was told as a separation and a new contact. Each of the 40 points is told once, when it is
   first loaded. */
TEST(standing_stack_has_no_separations) {
  kn_world w;
  int other = 0, contact = 0;
  if (!kn_world_open(&w, "stack", "time", 0.0, poly4)) return;
  for (int k = 0; k < 200 && kn_world_step(&w); k++)
    for (int i = 0; i < w.report->events; i++) {
      bool is = w.report->event[i].kind == KN_EVENT_CONTACT;
      contact += is, other += !is;
    }
  CHECK_INT(other, 0);
  CHECK(contact >= 30 && contact <= 40); /* three points carry a box */
  kn_world_close(&w);
}

/* Named after the step at t = 0.144 s: anchors that contradicted each other by 1.6 um made the repair give
 * up. */
TEST(anchors_that_contradict_give_way) {
  kn_world w;
  if (!kn_world_open(&w, "stack boxes=5 gap=0.01 e=0.5 jitter=0.01", "time", 0.0, NULL)) return;
  while (kn_state_time(w.state) < 0.15 && kn_world_step(&w))
    if (!CHECK(w.report->status != KN_INFEASIBLE && w.report->penetration <= 1e-9)) break;
  kn_world_close(&w);
}

/* Named after the overlap of 0.9 mm that was left at t = 0.558 s: the repair pushed a column of balls into
   others that were out of its sight, and was taken back. 600 steps of 216 spheres. */
TEST(pile_is_repaired_although_the_repair_meets_others) {
  kn_world w;
  if (!kn_world_open(&w, "simbench-666 elastic=0", "time", 0.0, NULL)) return;
  double worst = 0.0;
  while (kn_state_time(w.state) < 0.6 && kn_world_step(&w)) worst = fmax(worst, w.report->penetration);
  CHECK_BELOW(worst, 1e-9);
  kn_world_close(&w);
}

/* Named after overlaps of up to 1.5 mm that were left when 60 links whip onto the floor at 1 ms: the repair
   has to go a long way, and what it raises is taken from the velocities. */
TEST(whip_of_60_links_is_repaired) {
  kn_world w;
  double worst = 0.0, rise = 0.0, start;
  if (!kn_world_open(&w, "pendulum-2014 links=60", "time", 0.0, NULL)) return;
  start = kn_world_energy(&w);
  while (kn_state_time(w.state) < 5.0 && kn_world_step(&w)) {
    worst = fmax(worst, w.report->penetration);
    rise = fmax(rise, kn_world_energy(&w) - start);
  }
  printf("  overlap %.2g m, energy raised by %.2g of %g J\n", worst, rise, start);
  CHECK_BELOW(worst, 1e-9);
  kn_world_close(&w);
}

/* Ten boxes, the top one a thousand times heavier or lighter than the others: 60 s with KN_EFFORT >= 20. */
static void stands(const char* text) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double moved = 0.0, end = fmin(60.0, 3.0 * kn_test_effort()), start[70];
    if (strcmp(*s, "event") == 0) end *= 0.1;
    if (kn_world_open(&w, text, *s, 0.0, NULL)) {
      memcpy(start, w.q, sizeof start);
      while (kn_state_time(w.state) < end && kn_world_step(&w))
        for (int i = 0; i < 70; i++) moved = fmax(moved, fabs(w.q[i] - start[i]));
      printf("  %s, %s: moved %.2g m in %g s\n", text, *s, moved, kn_state_time(w.state));
      CHECK_BELOW(moved, 1e-9);
    }
    kn_world_close(&w);
  }
}

TEST(stack_with_mass_ratio_1_to_1000_stands) {
  stands("stack boxes=10 ratio=1000");
  stands("stack boxes=10 ratio=0.001");
}
