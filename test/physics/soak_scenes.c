/* The soak: random mechanisms for 1000 steps each, 10 000 of them with KN_EFFORT = 20 (`make soak`), 40
   otherwise. Counted: numbers that are not finite, calls that failed, residuals and overlaps of steps that
   claim to be OK, energy created (the audit of the step). KN_SEEDS=FROM-TO runs a part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"
#include "test.h"

enum { STEPS = 1000 };

typedef struct tally {
  long scenes, steps, contacts, impacts, not_finite, aborts, unreported, energy; /* the last four: scenes */
  long unsolved, infeasible;                                                     /* steps that said so */
  long relapses; /* of these: steps that began without overlap, with closed loops */
  double gain, residual, overlap;
} tally;

static kn_status build(kn_model** model, uint64_t seed, bool* loops) {
  kn_spec* spec;
  kn_random_settings r = kn_random_default(1 + (int)(seed % 8));
  r.geoms = true;
  r.limits = seed % 2;
  r.friction = seed % 3 == 0;
  r.damping = seed % 4 == 0;
  r.loops = seed % 5 == 0;
  r.springs = seed % 7 == 0;
  r.actuators = seed % 11 == 0;
  r.floating = 0.8;
  *loops = r.loops > 0;
  kn_status status = kn_spec_create(&spec);
  if (status != KN_OK) return status;
  status = kn_random_spec(spec, seed, &r);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return status;
}

static bool finite_state(const kn_model* m, kn_state* x) {
  double sum = 0.0;
  for (int i = 0; i < kn_model_nq(m); i++) sum += kn_state_q(x)[i];
  for (int i = 0; i < kn_model_nv(m); i++) sum += kn_state_v(x)[i];
  return isfinite(sum);
}

/* One scene; what was wrong with it, or NULL. */
static const char* soak(tally* t, const kn_model* m, kn_sim* sim, kn_state* x) {
  double left = INFINITY; /* overlap and closure after the last step */
  for (int k = 0; k < STEPS; k++) {
    if (kn_step(sim, x) != KN_OK) return t->aborts++, kn_last_error();
    const kn_report* r = kn_sim_report(sim);
    t->steps++;
    t->contacts += r->contacts;
    for (int e = 0; e < r->events; e++) t->impacts += r->event[e].kind == KN_EVENT_IMPACT;
    t->infeasible += r->status == KN_INFEASIBLE;
    t->relapses += r->status == KN_INFEASIBLE && left <= 1e-9;
    left = fmax(r->penetration, r->closure);
    t->unsolved += r->status != KN_OK && r->status != KN_INFEASIBLE;
    t->residual = fmax(t->residual, r->residual);
    if (!finite_state(m, x)) return t->not_finite++, "not finite";
    if (r->status == KN_OK) t->overlap = fmax(t->overlap, r->penetration);
    if (r->status == KN_OK && !(r->residual <= 1e-9)) return t->unreported++, "residual not reported";
    if (r->status == KN_OK && !(r->penetration <= 1e-9)) return t->unreported++, "overlap not reported";
    t->gain = fmax(t->gain, r->gain_rel);
    if (!(r->gain_rel <= 1e-9)) return t->energy++, "energy created";
  }
  return NULL;
}

static void one(tally* t, uint64_t seed, const char* stepper) {
  kn_model* m = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  bool loops;
  kn_sim_settings s = kn_sim_default();
  s.dt = 5e-3;
  s.stepper = stepper;
  const char* wrong = "could not be opened";
  t->scenes++;
  if (build(&m, seed, &loops) == KN_OK && kn_state_create(&x, m) == KN_OK &&
      kn_sim_create(&sim, m, &s) == KN_OK) {
    kn_random_state(x, m, seed, loops ? 0.0 : 0.3, 1.0);
    wrong = soak(t, m, sim, x);
  } else {
    t->aborts++;
  }
  if (wrong)
    printf("  seed %llu, %s, t = %g s: %s\n", (unsigned long long)seed, stepper, kn_state_time(x), wrong);
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(m);
}

TEST(random_scenes_for_1000_steps) {
  long from = 0, to = kn_test_effort() > 1 ? 500L * kn_test_effort() : 40;
  const char* part = getenv("KN_SEEDS");
  if (part) {
    char* end;
    from = strtol(part, &end, 10);
    to = *end == '-' ? strtol(end + 1, NULL, 10) : from + 1;
  }
  tally t = {0};
  for (long seed = from; seed < to; seed++) one(&t, (uint64_t)seed, "time");
  printf("  %ld scenes, %ld steps, %ld contacts, %ld impacts: %ld not finite, %ld aborts, %ld unreported, "
         "%ld created "
         "energy (largest gain %.2g); reported: %ld steps unsolved (residual %.2g), %ld infeasible (%ld of "
         "them began feasible)\n",
         t.scenes, t.steps, t.contacts, t.impacts, t.not_finite, t.aborts, t.unreported, t.energy, t.gain,
         t.unsolved, t.residual, t.infeasible, t.relapses);
  CHECK_INT(t.not_finite, 0);
  CHECK_INT(t.aborts, 0);
  CHECK_INT(t.unreported, 0);
  CHECK_INT(t.energy, 0);
  CHECK_INT(t.relapses, 0);
}
