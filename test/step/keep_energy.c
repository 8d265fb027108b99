/* The energy-keeping integrator: the papers' pendulum with 60 and 120 links bent to 150 degrees, 5 s at 1 ms.
   `time` notices by itself when its error matters (keep_energy.c); it grew until the chain burst before. */
#include <math.h>
#include <string.h>

#include "knuckle/load.h"
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
  CHECK(plain.integration < 1e-4 * plain.kinetic); /* what is left alone: below 1e-8 of K in a step */
  CHECK(kept.integration < 1e-9 * kept.kinetic);   /* 1500 steps of rounding in energies of 1e3 J */
  CHECK(kept.sum < 1e-9 * kept.start);             /* rounding of the columns */
}

/* Never above the energy of the beginning: 1e-6 is room for position repairs, which lift a little. */
TEST(long_chains_do_not_burst_by_themselves) {
  static const char* const scene[] = {"pendulum-2012", "pendulum-2014"};
  static const char* const links[] = {"links=60", "links=120"};
  for (int i = 0; i < 4; i++) {
    outcome o;
    if (!swing(&o, scene[i / 2], links[i % 2], false, kn_test_effort() > 1 ? 5000 : 2000)) return;
    CHECK(isfinite(o.end));
    if (!CHECK(o.rise <= 1e-6 * o.start))
      printf("  %s %s: %g of %g J\n", scene[i / 2], links[i % 2], o.rise, o.start);
    CHECK(o.end < o.start);
  }
}

/* Bits of the state after a run. */
static uint64_t end_of(const char* scene, const char* set, const char* stepper, bool ledger, bool keep) {
  kn_scene_opened* s = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  bool ok = CHECK_OK(kn_scene_open(&s, scene, &set, set ? 1 : 0)) &&
            CHECK_OK(kn_state_create(&x, s->model)) && CHECK_OK(kn_scene_start(s, x));
  kn_sim_settings settings = ok ? kn_scene_settings(s->scene) : kn_sim_default();
  settings.stepper = stepper, settings.ledger = ledger, settings.keep_energy = keep;
  ok = ok && CHECK_OK(kn_sim_create(&sim, s->model, &settings)) && CHECK_OK(kn_sim_prepare(sim, x));
  if (ok) kn_sim_set_controller(sim, s->controller.fn ? &s->controller : NULL);
  for (int k = 0; ok && k < 400; k++) ok = CHECK_OK(kn_step(sim, x));
  if (ok) CHECK(kn_sim_report(sim)->total.kinetic != 0.0); /* the columns are there anyway */
  uint64_t hash = ok ? kn_state_hash(x) : (uint64_t)ledger;
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(s);
  return hash;
}

/* Without it nothing took energy errors back, and chains of 30 links burst. */
TEST(the_ledger_only_observes) {
  static const struct {
    const char *scene, *set, *stepper;
    bool keep;
  } of[] = {{"pendulum-2014", "links=30", "time", false},
            {"pendulum-2014", "links=30", "time", true},
            {"pendulum-2012", "links=12", "theta", false},
            {"pendulum-2014", "links=3", "event", false},
            {"a02", NULL, "time", false},
            {"quadruped", NULL, "time", false},
            {"dominoes", NULL, "time", false},
            {"bouncing-ball", NULL, "compliant", false}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    if (!CHECK(end_of(of[i].scene, of[i].set, of[i].stepper, true, of[i].keep) ==
               end_of(of[i].scene, of[i].set, of[i].stepper, false, of[i].keep)))
      printf("  %s by %s\n", of[i].scene, of[i].stepper);
}

/* Rise of the total energy above its lowest value so far, of the run's scale; -1: could not be run. */
static double rise_of(const char* file, double e, const char* stepper, double dt, int steps,
                      const double* v) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  double rise = -1;
  kn_sim_settings set = kn_sim_default();
  set.stepper = stepper, set.dt = dt;
  if (CHECK_OK(kn_load(&spec, NULL, file, NULL)) && CHECK_OK(kn_spec_set_surfaces(spec, NAN, e)) &&
      CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&x, model)) &&
      CHECK_OK(kn_sim_create(&sim, model, &set))) {
    for (int i = 0; v && i < kn_model_nv(model); i++) kn_state_v(x)[i] = v[i];
    double low = INFINITY, most = 0;
    for (int k = 0; k < steps && CHECK_OK(kn_step(sim, x)); k++) {
      kn_energy now;
      CHECK_OK(kn_energy_of(&now, model, x, kn_sim_data(sim)));
      low = fmin(low, now.kinetic + now.potential);
      most = fmax(most, now.kinetic + now.potential - low);
    }
    rise = most / kn_sim_report(sim)->rise.scale;
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  return rise;
}

/* A chain with mass ratios of 3000 and e = 1: position repairs raised it from 8e5 to 5e6 J. */
TEST(repairs_of_a_chain_with_mass_ratios_gain_nothing) {
  const char* file = kn_test_data("attacks/chain-mass-ratio.xml");
  if (!file) SKIP("no shared data");
  double rise = rise_of(file, 1, "time", 1e-3, 5000, NULL);
  if (!CHECK(rise >= 0 && rise <= 1e-7))
    printf("  rise %g of the scale\n", rise); /* left alone: 1e-8 of K in a step */
}

/* A box that spins about two axes: the explicit forces of `theta` took its energy from 7.8 to 32 J in 10 s. */
TEST(theta_does_not_spin_a_box_up) {
  static const double v[6] = {0, 0, 0, 1, 10, 20};
  const char* file = kn_test_data("attacks/spin.xml");
  if (!file) SKIP("no shared data");
  double rise = rise_of(file, 0, "theta", 1e-3, 10000, v);
  CHECK(rise >= 0 && rise <= 1e-9);
}

/* A box that nothing touches keeps ½ ωᵀIω however fast it spins (Euler's equations). In steps of 50 ms at 1400 rad/s, 70 rad a
   step, velocity-dependent forces taken at a known velocity squared it in every step: 1e8 rad/s after two, poses
   beyond 1e60 m after four. Nothing can resolve this motion; it has to stay bounded, and to keep its energy. */
TEST(a_box_that_spins_many_radians_a_step_keeps_its_energy) {
  static const char box[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
      "<geom type='box' size='.0278 .0302 .0595' mass='.1'/></body></worldbody></mujoco>";
  static const char* const steppers[] = {"time", "theta"};
  for (int k = 0; k < 2; k++) {
    kn_spec* spec = NULL;
    kn_model* model = NULL;
    kn_state* x = NULL;
    kn_sim* sim = NULL;
    kn_sim_settings set = kn_sim_default();
    set.stepper = steppers[k], set.dt = 0.05;
    if (CHECK_OK(kn_load_text(&spec, NULL, "box.xml", box, strlen(box), NULL)) &&
        CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&x, model)) &&
        CHECK_OK(kn_sim_create(&sim, model, &set))) {
      const double a2 = .0278 * .0278, b2 = .0302 * .0302, c2 = .0595 * .0595, third = .1 / 3;
      const double I[3] = {third * (b2 + c2), third * (a2 + c2), third * (a2 + b2)}, w[3] = {1000, 900, 400};
      double K = 0;
      for (int i = 0; i < 3; i++) kn_state_v(x)[3 + i] = w[i], K += 0.5 * I[i] * w[i] * w[i];
      for (int n = 0; n < 500 && CHECK_OK(kn_step(sim, x)); n++) {
        const double* v = kn_state_v(x) + 3;
        double now = 0.5 * (I[0] * v[0] * v[0] + I[1] * v[1] * v[1] + I[2] * v[2] * v[2]);
        if (!CHECK_NEAR(now / K, 1, 1e-6)) break; /* per step at most 1e-8 of K is left alone */
      }
    }
    kn_sim_destroy(sim);
    kn_state_destroy(x);
    kn_model_destroy(model);
    kn_spec_destroy(spec);
  }
}

/* A block on 30 degrees with μ = 1.01 tan θ must stick; `theta` let go of it in every other step: 11 mm/s. */
TEST(theta_sticks_on_a_slope) {
  kn_scene_opened* s = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  if (CHECK_OK(kn_scene_open(&s, "incline", NULL, 0)) && CHECK_OK(kn_state_create(&x, s->model)) &&
      CHECK_OK(kn_scene_start(s, x))) {
    kn_sim_settings set = kn_scene_settings(s->scene);
    set.stepper = "theta";
    double start[3];
    memcpy(start, kn_state_q(x), sizeof start);
    if (CHECK_OK(kn_sim_create(&sim, s->model, &set)) && CHECK_OK(kn_sim_prepare(sim, x)))
      for (int k = 0; k < 2000; k++) CHECK_OK(kn_step(sim, x));
    for (int i = 0; i < 3; i++)
      CHECK_NEAR(kn_state_q(x)[i], start[i], 1e-9); /* the touching width of the scheme */
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(s);
}
