/* Random mechanisms with shapes, limits, dry friction and loops thrown about above a floor: no NaN, no failed
   call, every residual reported, no energy created (design: ½ pᵀ(J v_free + J v⁺) and ΔK of impacts <= 1e-9
   E_ref). */
#include <math.h>
#include <string.h>

#include "ledger.h"
#include "scene.h"
#include "test.h"

typedef struct tally {
  double gain, residual, penetration, impulse;
  long trouble, steps, impacts, contacts, late;
} tally;

static void note_step(tally* t, const kn_report* rep, int k) {
  t->trouble += rep->status != KN_OK;
  t->residual = fmax(t->residual, rep->residual);
  t->gain = fmax(t->gain, rep->gain_rel);
  if (k > 20) t->penetration = fmax(t->penetration, rep->penetration), t->late += rep->penetration > 1e-9;
  t->contacts += rep->contacts;
  t->steps++;
  for (int e = 0; e < rep->events; e++) t->impacts += rep->event[e].kind == KN_EVENT_IMPACT;
  for (int i = 0; i < rep->contacts; i++)
    for (int a = 0; a < 3; a++) t->impulse = fmax(t->impulse, fabs(rep->contact[i].impulse[a]));
}

/* What the columns leave over, relative to the energies: rounding. */
static double ledger_error(const kn_report* rep) {
  const kn_energy* e = &rep->energy;
  return fabs(kn_ledger_left(&rep->ledger)) / (1.0 + e->kinetic + fabs(e->potential) + e->spring);
}

static bool step_once(tally* t, kn_sim* sim, kn_state* x, int nv, int k) {
  if (!CHECK_OK(kn_step(sim, x))) return false;
  const kn_report* rep = kn_sim_report(sim);
  bool finite = true;
  for (int i = 0; i < nv; i++) finite &= isfinite(kn_state_v(x)[i]) != 0;
  note_step(t, rep, k);
  /* an OK step has solved its problem; no step creates energy */
  return CHECK(finite) && CHECK(rep->status != KN_OK || rep->residual <= 1e-9) &&
         CHECK(rep->gain_rel <= 1e-9) && CHECK_BELOW(ledger_error(rep), 1e-8);
}

static bool run_scene(tally* t, uint64_t seed, int steps) {
  kn_spec* spec;
  kn_model* model = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  kn_random_settings r = kn_random_default(1 + (int)(seed % 8));
  r.geoms = true;
  r.limits = seed % 2;
  r.friction = seed % 3 == 0;
  r.damping = seed % 4 == 0;
  r.loops = seed % 5 == 0;
  r.floating = 0.8;
  kn_spec_create(&spec);
  kn_sim_settings s = kn_sim_default();
  s.dt = 5e-3;
  bool ok = CHECK_OK(kn_random_spec(spec, seed, &r)) && CHECK_OK(kn_compile(&model, spec)) &&
            CHECK_OK(kn_state_create(&x, model)) && CHECK_OK(kn_sim_create(&sim, model, &s));
  kn_spec_destroy(spec);
  if (ok) kn_random_state(x, model, seed, r.loops ? 0.0 : 0.3, 1.0);
  for (int k = 0; k < steps && ok; k++) ok = step_once(t, sim, x, kn_model_nv(model), k);
  if (!ok) printf("  seed %llu\n", (unsigned long long)seed);
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
  return ok;
}

TEST(random_scenes_create_no_energy) {
  tally t = {0};
  int count = 500 * kn_test_effort(), bad = 0;
  for (int i = 0; i < count && bad < 20; i++) bad += !run_scene(&t, (uint64_t)i, 100);
  printf("  %d scenes, %ld steps, %ld contacts, %ld impacts: %d bad, largest gain %.2g, residual %.2g, %ld "
         "steps unsolved, %ld late overlaps (%.2g m)\n",
         count, t.steps, t.contacts, t.impacts, bad, t.gain, t.residual, t.trouble, t.late, t.penetration);
  CHECK_INT(bad, 0);
  CHECK(t.contacts > 100);
}

static void run_seeds(tally* t, const int* seed, int count) {
  for (int i = 0; i < count; i++) run_scene(t, (uint64_t)seed[i], 100);
}

/* Loops that cannot close against contacts and limits: where their rows contradict each other the impulses
   grew to 1e10. */
TEST(jammed_loops_create_no_energy) {
  static const int seed[] = {175, 1775, 7460, 7495, 7825, 8645, 8975};
  tally t = {0};
  run_seeds(&t, seed, sizeof seed / sizeof *seed);
  CHECK_BELOW(t.impulse, 1e6); /* N s; bodies of some kg at some m/s */
}

/* One contact of a link with a single freedom: normal and friction impulses that cancel were 1e15 N s, and
   the velocity was their rounding. */
TEST(impulses_that_only_cancel_stay_small) {
  static const int seed[] = {6446, 6839, 9158};
  tally t = {0};
  run_seeds(&t, seed, sizeof seed / sizeof *seed);
  CHECK_BELOW(t.impulse, 1e6); /* 5e4 N s where the contact hardly moves anything */
}

/* Three hinges near their gimbal lock at 5 ms: the integrator's error fed itself, and after six steps the
   mechanism was so far away that its inertia was lost. 1522 of the soak: a chain of slides and screws. */
TEST(gimbal_near_its_lock_does_not_burst) {
  tally t = {0};
  CHECK(run_scene(&t, 27535, 400));
}

/* The repair of a landing turned the link so far that the contact was gone; it never collided, was repaired
   in every step, and the mechanism gained 1e17 J. */
TEST(deep_landing_still_collides) {
  tally t = {0};
  CHECK(run_scene(&t, 3678, 100));
  CHECK(t.impacts > 0);
}
