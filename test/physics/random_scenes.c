/* Random mechanisms with shapes, limits, dry friction and loops thrown about above a floor: no NaN, no failed
   call, every residual reported, no energy created (design: ½ pᵀ(J v_free + J v⁺) and ΔK of impacts <= 1e-9
   E_ref). */
#include <math.h>
#include <string.h>

#include "scene.h"
#include "test.h"

typedef struct tally {
  double gain, residual, penetration;
  long trouble, steps, impacts, contacts, late;
} tally;

static bool run_scene(tally* t, uint64_t seed, int steps, const char* stepper) {
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
  s.stepper = stepper;
  s.dt = 5e-3;
  bool ok = CHECK_OK(kn_random_spec(spec, seed, &r)) && CHECK_OK(kn_compile(&model, spec)) &&
            CHECK_OK(kn_state_create(&x, model)) && CHECK_OK(kn_sim_create(&sim, model, &s));
  kn_spec_destroy(spec);
  if (ok) kn_random_state(x, model, seed, r.loops ? 0.0 : 0.3, 1.0);
  for (int k = 0; k < steps && ok; k++) {
    ok = CHECK_OK(kn_step(sim, x));
    const kn_report* rep = kn_sim_report(sim);
    for (int i = 0; i < kn_model_nv(model) && ok; i++) ok = CHECK(isfinite(kn_state_v(x)[i]));
    if (rep->status != KN_OK)
      t->trouble++;
    else
      ok = ok && CHECK(rep->residual <= 1e-9); /* an OK step has solved its problem */
    t->residual = fmax(t->residual, rep->residual);
    if (k > 20) t->penetration = fmax(t->penetration, rep->penetration), t->late += rep->penetration > 1e-9;
    t->gain = fmax(t->gain, rep->gain_rel);
    t->contacts += rep->contacts;
    for (int e = 0; e < rep->events; e++) t->impacts += rep->event[e].kind == KN_EVENT_IMPACT;
    t->steps++;
  }
  if (!ok || !CHECK(t->gain <= 1e-9))
    printf("  seed %llu, gain %g\n", (unsigned long long)seed, t->gain), ok = false;
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
  return ok;
}

TEST(random_scenes_create_no_energy) {
  tally t = {0};
  int count = 100 * kn_test_effort();
  for (int i = 0; i < count; i++)
    if (!run_scene(&t, (uint64_t)i, 100, "time")) break;
  printf("  %d scenes, %ld steps, %ld contacts, %ld impacts: largest gain %.2g, residual %.2g, %ld steps "
         "unsolved, "
         "%ld late overlaps (%.2g m)\n",
         count, t.steps, t.contacts, t.impacts, t.gain, t.residual, t.trouble, t.late, t.penetration);
  CHECK(t.contacts > 100);
}
