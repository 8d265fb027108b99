/* The campaign on energy from nothing: random passive mechanisms (trees, loops, limits, springs, dry friction, shapes
   above a floor) with mass ratios up to 1e6, restitution 0 … 1 and steps of 1e-5 … 0.05 s, default settings. The
   total energy, computed here after every step, rises above its lowest value so far by more than 1e-6 of the run's
   scale (that of report.rise) in at most one scene of a thousand, and by more than 2e-6 in none.

     KN_EFFORT=50 build-dev/test/test_physics_soak_energy     10 000 scenes; KN_SEEDS=FROM-TO runs a part

   The first step may repair the starting position, which a random one needs (trouble start-repaired): counting
   begins after it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "scene.h"
#include "test.h"

enum { STEPS = 400 };

typedef struct outcome {
  double gain; /* of the scale */
  double dt, e, decades;
  const char* cause;
  int stopped; /* steps that ended at rest because there was nothing left to take */
  bool failed, contradicts;
} outcome;

typedef struct world {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
} world;

static kn_status build(world* w, uint64_t seed, outcome* o) {
  kn_rng rng = kn_rng_seed(seed * 7919 + 3);
  kn_spec* spec = NULL;
  kn_random_settings r = kn_random_default(1 + (int)(seed % 8));
  r.geoms = true;
  r.limits = seed % 2;
  r.friction = seed % 3 == 0;
  r.damping = seed % 4 == 0;
  r.loops = seed % 5 == 0;
  r.springs = seed % 7 == 0;
  r.floating = 0.8;
  r.decades = o->decades = kn_rng_int(&rng, 3) ? kn_rng_range(&rng, 0, 6) : 0;
  kn_sim_settings s = kn_sim_default();
  s.dt = o->dt = pow(10, kn_rng_range(&rng, -5, log10(0.05)));
  int kind = kn_rng_int(&rng, 4);
  o->e = kind == 0 ? 0 : kind == 1 ? 1 : kn_rng_range(&rng, 0, 1);
  kn_status status = kn_spec_create(&spec);
  if (status == KN_OK) status = kn_random_spec(spec, seed, &r);
  if (status == KN_OK) status = kn_spec_set_surfaces(spec, NAN, o->e);
  if (status == KN_OK) status = kn_compile(&w->model, spec);
  kn_spec_destroy(spec);
  if (status == KN_OK) status = kn_state_create(&w->state, w->model);
  if (status == KN_OK) status = kn_sim_create(&w->sim, w->model, &s);
  if (status == KN_OK) kn_random_state(w->state, w->model, seed, r.loops ? 0.0 : 0.3, 1.0);
  return status;
}

static void run(outcome* o, world* w) {
  double low = INFINITY, rise = 0;
  for (int k = 0; k < STEPS; k++) {
    kn_energy e;
    if (kn_step(w->sim, w->state) != KN_OK ||
        kn_energy_of(&e, w->model, w->state, kn_sim_data(w->sim)) != KN_OK) {
      o->failed = true;
      return;
    }
    const kn_report* rep = kn_sim_report(w->sim);
    for (int i = 0; i < rep->events; i++)
      o->stopped += rep->event[i].kind == KN_EVENT_TROUBLE && rep->event[i].trouble == KN_TROUBLE_STOPPED;
    double total = e.kinetic + e.potential + e.spring;
    o->contradicts |= rep->status == KN_INFEASIBLE;
    low = fmin(low, total);
    rise = fmax(rise, total - low);
  }
  const kn_energy_rise* r = &kn_sim_report(w->sim)->rise;
  o->gain = r->scale > 0 ? rise / r->scale : rise;
  o->cause = r->integration >= r->contact && r->integration >= r->correction ? "integration"
             : r->contact >= r->correction                                   ? "contact"
                                                                             : "correction";
}

static outcome one(uint64_t seed) {
  world w = {0};
  outcome o = {.cause = ""};
  if (build(&w, seed, &o) == KN_OK)
    run(&o, &w);
  else
    o.failed = true;
  kn_sim_destroy(w.sim);
  kn_state_destroy(w.state);
  kn_model_destroy(w.model);
  return o;
}

TEST(no_passive_scene_gains_energy) {
  long from = 0, to = 200L * kn_test_effort(), failed = 0, above[3] = {0}, causes[3] = {0}, stops[3] = {0},
       contradict = 0;
  const char* part = getenv("KN_SEEDS");
  if (part) {
    char* end;
    from = strtol(part, &end, 10);
    to = *end == '-' ? strtol(end + 1, NULL, 10) : from + 1;
  }
  double worst = 0, said = 0; /* said: of scenes that contradict themselves */
  for (long seed = from; seed < to; seed++) {
    outcome o = one((uint64_t)seed);
    failed += o.failed;
    if (o.failed) printf("  seed %ld: %s\n", seed, kn_last_error());
    if (o.contradicts) { /* starting positions in which loops and limits cannot both hold: their repair raises */
      contradict++;
      said = fmax(said, o.gain);
      continue;
    }
    stops[0] += o.stopped > 0, stops[1] += o.stopped, stops[2] += o.stopped > STEPS / 2;
    above[0] += o.gain > 1e-6, above[1] += o.gain > 1e-4, above[2] += o.gain > 1e-2;
    if (o.gain > 1e-6) causes[o.cause[0] == 'i' ? 0 : o.cause[2] == 'n' ? 1 : 2]++;
    if (o.gain > worst || (part && o.gain > 1e-6))
      printf("  seed %ld: gain %.3g by %s (dt %.3g, e %.3g, masses over %.2g decades)\n", seed, o.gain,
             o.cause, o.dt, o.e, o.decades);
    worst = fmax(worst, o.gain);
  }
  printf("  %ld scenes: worst gain %.3g of the scale; %ld above 1e-6 (integration %ld, contact %ld, "
         "correction %ld), "
         "%ld above 1e-4, %ld above 1e-2; %ld failed\n",
         to - from, worst, above[0], causes[0], causes[1], causes[2], above[1], above[2], failed);
  printf("  left out: %ld scenes with steps that said that loops, limits and contacts contradict each other "
         "(gain up "
         "to %.2g)\n",
         contradict, said);
  printf("  stopped: %ld steps in %ld scenes, more than half of all steps in %ld\n", stops[1], stops[0],
         stops[2]);
  CHECK_INT(failed, 0);
  /* 1e-6 but for steps whose error is left alone because scaling would cost the accuracy of smooth motion
     (keep_energy.c): 1e-8 of K in a step without loops; in one tree and with loops their sum is kept within 4e-7 */
  CHECK(worst <= 2e-6);
  CHECK(part || above[0] <= (to - from) / 1000);
}

/* A tree whose errors of 1e-9 of K added up between its impacts, a loop whose repairs used up what the integrator took
   in every second step, so that what it gave in the others was left, and one whose impulses gave what the integrator took. */
TEST(scenes_that_once_gained_do_not) {
  static const uint64_t seeds[] = {777, 1315, 2975};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    outcome o = one(seeds[i]);
    CHECK(!o.failed);
    CHECK_BELOW(o.gain, 1e-6);
  }
}
