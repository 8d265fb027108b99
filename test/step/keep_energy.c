/* The energy-keeping integrator: the papers' pendulum with 60 and 120 links bent to 150 degrees, 5 s at 1 ms.
   Without it the integrator's error grows until the chain bursts. */
#include <math.h>

#include "scene.h"
#include "test.h"

typedef struct outcome {
  double start, end, rise, integration, sum, kinetic;
} outcome;

static bool swing(outcome* o, const char* scene, const char* links, bool keep, int steps) {
  kn_scene_opened* s = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  bool ok = CHECK_OK(kn_scene_open(&s, scene, &links, 1)) && CHECK_OK(kn_state_create(&x, s->model)) &&
            CHECK_OK(kn_scene_start(s, x));
  kn_sim_settings set = ok ? kn_scene_settings(s->scene) : kn_sim_default();
  kn_energy e = {0};
  set.keep_energy = keep;
  ok = ok && CHECK_OK(kn_sim_create(&sim, s->model, &set)) && CHECK_OK(kn_sim_prepare(sim, x));
  ok = ok && CHECK_OK(kn_energy_of(&e, s->model, x, kn_sim_data(sim)));
  *o = (outcome){.start = e.kinetic + e.potential};
  for (int k = 0; ok && k < steps; k++) {
    ok = CHECK_OK(kn_step(sim, x));
    const kn_report* r = kn_sim_report(sim);
    const kn_ledger* l = &r->ledger;
    double others = l->actuator + l->applied + l->damping + l->joint_friction + l->friction + l->impact +
                    l->normal + l->limit + l->loop + l->prescribed + l->correction + l->integration;
    o->kinetic = fmax(o->kinetic, r->energy.kinetic);
    o->sum = fmax(o->sum, fabs(l->kinetic + l->potential + l->spring - others));
    o->integration += fabs(l->integration);
    o->end = r->energy.kinetic + r->energy.potential;
    o->rise = fmax(o->rise, o->end - o->start);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(s);
  return ok;
}

/* The column is emptied up to rounding wherever the kinetic energy carries it, and the ledger still closes.
 */
TEST(the_integration_column_is_empty) {
  outcome kept, plain;
  if (!swing(&kept, "pendulum-2014", "links=12", true, 1500)) return;
  if (!swing(&plain, "pendulum-2014", "links=12", false, 1500)) return;
  CHECK(plain.integration > 1e-4 * plain.kinetic); /* there is something to take back */
  CHECK(kept.integration < 1e-9 * kept.kinetic);   /* 1500 steps of rounding in energies of 1e3 J */
  CHECK(kept.sum < 1e-9 * kept.start);             /* rounding of the columns */
}

/* Never above the energy of the beginning: 1e-6 is room for position repairs, which lift a little. */
TEST(long_chains_do_not_burst) {
  static const char* const scene[] = {"pendulum-2012", "pendulum-2014"};
  static const char* const links[] = {"links=60", "links=120"};
  for (int i = 0; i < 4; i++) {
    outcome o;
    if (!swing(&o, scene[i / 2], links[i % 2], true, kn_test_effort() > 1 ? 5000 : 2000)) return;
    CHECK(isfinite(o.end));
    if (!CHECK(o.rise <= 1e-6 * o.start))
      printf("  %s %s: %g of %g J\n", scene[i / 2], links[i % 2], o.rise, o.start);
    CHECK(o.end < o.start);
  }
}

TEST(keeping_energy_needs_the_ledger) {
  kn_scene_opened* s = NULL;
  kn_sim* sim = NULL;
  if (!CHECK_OK(kn_scene_open(&s, "pendulum-2014", NULL, 0))) return;
  kn_sim_settings set = kn_scene_settings(s->scene);
  set.keep_energy = true, set.ledger = false;
  CHECK(kn_sim_create(&sim, s->model, &set) == KN_BAD_ARGUMENT);
  kn_scene_close(s);
}
