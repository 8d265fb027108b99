/* The stepper `compliant`: closed forms, stiffness to 1e-7, ledger, restart. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "knuckle/load.h"
#include "law/kelvin_voigt.h"
#include "ledger.h"
#include "rebound.h"
#include "test.h"
#include "world.h"

static kn_sim_settings soft(double eps, double dt) {
  kn_sim_settings s = kn_sim_default();
  s.stepper = "compliant";
  s.compliant.eps = eps;
  s.dt = dt;
  return s;
}

/* At rest the weight is carried by the layer: four points under a block, each K δ = m g/4. */
TEST(block_sinks_by_its_weight) {
  for (int k = 3; k <= 7; k++) {
    double eps = pow(10.0, -k), dt = 1e-3;
    kn_sim_settings st = soft(eps, dt);
    st.compliant.C = 2.0; /* four springs: damping ratio 2 (C/4)/2 √4 = 2 */
    kn_world s;
    if (!kn_world_open_with(&s, "sliding-block speed=0", &st)) return;
    int steps = (int)(60.0 * sqrt(eps) / dt) + 200; /* 60 time constants √ε */
    for (int i = 0; i < steps; i++) CHECK_OK(kn_step(s.sim, s.state));
    const kn_report* r = kn_sim_report(s.sim);
    double sunk = 0.0;
    CHECK_INT(r->contacts, 4);
    for (int i = 0; i < r->contacts; i++) {
      sunk = r->contact[i].delta[0];
      CHECK(r->contact[i].compliant);
      CHECK_INT(r->contact[i].mode, KN_MODE_STICK);
      CHECK_REL(sunk, 9.81 * eps / 4.0, 1e-6); /* m g/4 / (m/ε) */
    }
    CHECK_BELOW(fabs(kn_ledger_left(&r->total)),
                1e-12 * 20.0); /* J, of the block's 20 J; rounding per step */
    CHECK(r->gain_rel <= 1e-12);
    kn_world_close(&s);
  }
}

/* A sliding block stops where Coulomb says, whatever the stiffness: v² / (2 mu g), to the order of ε. */
TEST(sliding_distance_tends_to_the_rigid_one) {
  double distance[4];
  for (int k = 0; k < 4; k++) {
    kn_sim_settings st = k == 3 ? kn_sim_default() : soft(pow(10.0, -5 - k), 1e-3);
    kn_world s;
    if (!kn_world_open_with(&s, "sliding-block", &st)) return;
    double x0 = kn_state_q(s.state)[0];
    for (int i = 0; i < 3000; i++) CHECK_OK(kn_step(s.sim, s.state));
    distance[k] = kn_state_q(s.state)[0] - x0;
    kn_world_close(&s);
  }
  for (int k = 0; k < 3; k++) CHECK_BELOW(fabs(distance[k] - distance[3]), 3e-3 * fabs(distance[3]));
  printf("  slides %.9g %.9g %.9g m at eps 1e-5, 1e-6, 1e-7; rigid %.9g\n", distance[0], distance[1],
         distance[2], distance[3]);
}

/* Save, restore into another simulator, go on: the same bits; nothing is allocated in a step. */
TEST(restart_is_bitwise_and_steps_do_not_allocate) {
  kn_sim_settings st = soft(1e-5, 1e-3);
  kn_world a, b;
  if (!kn_world_open_with(&a, "sliding-block", &st) || !kn_world_open_with(&b, "sliding-block", &st)) return;
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(a.sim, a.state));
  char bytes[65536];
  size_t size = kn_state_size(a.state);
  CHECK(size <= sizeof bytes);
  CHECK_OK(kn_state_save(bytes, sizeof bytes, a.state));
  CHECK_OK(kn_state_load(b.state, bytes, size));
  size_t before = kn_test_allocations();
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(a.sim, a.state));
  CHECK_INT(kn_test_allocations() - before, 0);
  for (int i = 0; i < 200; i++) CHECK_OK(kn_step(b.sim, b.state));
  CHECK(kn_state_hash(a.state) == kn_state_hash(b.state));
  kn_world_close(&a);
  kn_world_close(&b);
}

/* A box pressed between two walls: eight points with K δ each. It hangs where mu Σ K δ exceeds its weight,
   and sinks by m g / Σ Kt (the layers' shear); with less friction it slides down with g - mu Σ K δ/m. */
TEST(wedged_box_hangs_or_slides) {
  for (int rough = 0; rough < 2; rough++) {
    kn_sim_settings st = soft(1e-5, 1e-3);
    kn_world s;
    if (!kn_world_open_with(&s, rough ? "wedged-box gap=-1e-5 mu=1.5" : "wedged-box gap=-1e-5 mu=0.6", &st))
      return;
    double z0 = kn_state_q(s.state)[2], K = 1.0 / 1e-5, squeeze = 8.0 * K * 1e-5;
    for (int i = 0; i < 300; i++) CHECK_OK(kn_step(s.sim, s.state));
    double fall = z0 - kn_state_q(s.state)[2], v = -kn_state_v(s.state)[2];
    CHECK_INT(kn_sim_report(s.sim)->contacts, 8);
    if (rough) { /* 12 N against 9.81 N; the oscillation decays with C Λ/2 = 1265/s */
      CHECK_REL(fall, 9.81 / (8.0 * K), 1e-6);
      CHECK_BELOW(fabs(v), 1e-9);
    } else { /* 4.8 N; sliding starts within the first millisecond, hence 1 % of 0.3 s */
      CHECK_REL(v, (9.81 - 0.6 * squeeze) * 0.3, 0.01);
    }
    kn_world_close(&s);
  }
}

static double hertz(double delta, double K, bool tangential, void* context) {
  (void)tangential, (void)context;
  return K * 1e3 * delta * sqrt(delta);
}

/* A spring of the user's: the block sinks in until f(δ) = m g/4. */
TEST(user_law_carries_the_weight) {
  kn_sim_settings st = soft(1e-5, 1e-3);
  st.compliant.f = hertz;
  st.compliant.C = 2.0;
  kn_world s;
  if (!kn_world_open_with(&s, "sliding-block speed=0", &st)) return;
  for (int i = 0; i < 1500; i++) CHECK_OK(kn_step(s.sim, s.state));
  const kn_report* r = kn_sim_report(s.sim);
  double force = kn_model_mass(s.scene->model) * 9.81 / 4.0;
  for (int i = 0; i < r->contacts; i++) {
    double K = kn_model_mass(s.scene->model) / 1e-5;
    CHECK_REL(hertz(r->contact[i].delta[0], K, false, NULL), force, 1e-6);
  }
  kn_world_close(&s);
}

/* Every scene for a while: the ledger closes and nothing is created. */
TEST(scenes_keep_their_ledger) {
  const kn_scene* const* list = kn_scenes();
  int run = 0;
  for (int k = 0; list[k]; k++) {
    kn_sim_settings st = kn_scene_settings(list[k]);
    st.stepper = "compliant";
    kn_world s;
    if (!kn_world_open_with(&s, list[k]->name, &st)) return;
    int steps = kn_model_geoms(s.scene->model) > 15 ? 5 : 60;
    for (int i = 0; i < steps; i++) CHECK_OK(kn_step(s.sim, s.state));
    const kn_report* r = kn_sim_report(s.sim);
    double scale = fabs(r->energy.kinetic) + fabs(r->energy.potential) + fabs(r->energy.spring) + 1e-3;
    if (!CHECK_BELOW(fabs(kn_ledger_left(&r->total)), 1e-10 * scale) || !CHECK(r->gain_rel <= 1e-9))
      printf("  %s\n", list[k]->name);
    kn_world_close(&s);
    run++;
  }
  printf("  %d scenes\n", run);
}

TEST(bad_parameters_are_refused_by_name) {
  kn_model* model = NULL;
  kn_sim* sim;
  if (!CHECK_OK(kn_scene_model(&model, "sliding-block", NULL, 0))) return;
  kn_sim_settings st = soft(0.0, 1e-3);
  CHECK_STATUS(kn_sim_create(&sim, model, &st), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "eps");
  st = soft(1e-5, 1e-3);
  st.formulation = "nmc";
  CHECK_STATUS(kn_sim_create(&sim, model, &st), KN_UNSUPPORTED);
  CHECK_TEXT(kn_last_error(), "minimal");
  st = soft(1e-5, 1e-3);
  st.hybrid.hold = 0;
  CHECK_STATUS(kn_sim_create(&sim, model, &st), KN_BAD_ARGUMENT);
  kn_model_destroy(model);
}

/* ---- laws with names ---- */

/* A ball without weight against the floor: speed after over speed before. */
static double ball(kn_compliant_law law, double e, double speed, double dt) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0, e, 0);
  kn_spec_set_gravity(spec, (double[]){0, 0, 0});
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1 + 2.5 * dt * speed}, 0, e);
  s.stepper = "compliant";
  s.compliant.law = law;
  s.compliant.C = 0.4; /* s/m for Hunt and Crossley */
  s.dt = dt;
  double up = 0;
  if (kn_floor_open(&w, spec, &s)) {
    kn_state_v(w.state)[2] = -speed;
    for (int i = 0; i < 4000 && !(up > 0 && kn_state_q(w.state)[2] > 0.1); i++) {
      if (!CHECK_OK(kn_step(w.sim, w.state))) break;
      up = kn_state_v(w.state)[2];
      CHECK_NEAR(kn_ledger_left(&kn_sim_report(w.sim)->ledger), 0, 1e-12);
    }
  }
  kn_floor_close(&w);
  return up / speed;
}

/* The e that comes out of the stepper against the closed form (law/power_laws.c), at four speeds and three e. */
TEST(named_laws_bounce_by_their_closed_form) {
  static const double speeds[] = {0.1, 0.5, 1.0, 3.0}, es[] = {0.3, 0.6, 0.9};
  double worst = 0;
  for (int law = 1; law < KN_COMPLIANT_LAWS; law++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 3; j++) {
        double v = speeds[i], want = kn_soft_restitution(kn_soft_named[law].c(0.4, es[j], v), v);
        double got = ball((kn_compliant_law)law, es[j], v, 1e-4);
        worst = fmax(worst, fabs(got - want));
        CHECK_NEAR(got, want, 3e-3); /* sub-steps of a quarter of the layer's own time at its stiffest */
      }
  printf("  e differs from the closed form by %.2g at most\n", worst);
}

/* A welded pair that lands, and elsewhere a planar four-bar linkage, one of whose rows follows from the others. Rows of an island that
   goes its compliant way leave no impulses behind, by which steps remember which rows are independent: those of the weld were left out in
   the step after, and opened it by micrometres. */
TEST(loops_of_a_compliant_island_stay_closed_beside_dependent_ones) {
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='9 9 1'/>"
      "<body name='crank' pos='-2 0 2'><joint axis='0 1 0'/><geom size='.03' pos='0 0 -.3'/>"
      "<body name='rod' pos='0 0 -.3'><joint axis='0 1 0'/><geom size='.03' pos='.3 0 0'/></body></body>"
      "<body name='rocker' pos='-1.4 0 2'><joint axis='0 1 0'/><geom size='.03' pos='0 0 -.15'/></body>"
      "<body name='box' pos='-6 0 .3'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
      "<body name='can' pos='-6 .5 .3'><freejoint/><geom type='cylinder' size='.1 .1'/></body></worldbody>"
      "<equality><connect body1='rod' body2='rocker' anchor='.6 0 0'/><weld body1='box' "
      "body2='can'/></equality></mujoco>";
  kn_spec* spec = NULL;
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  s.stepper = "compliant", s.dt = 2e-3;
  CHECK_OK(kn_load_text(&spec, NULL, "loops.xml", text, strlen(text), NULL));
  if (!kn_floor_open(&w, spec, &s)) return kn_floor_close(&w);
  for (int i = 0; i < 300; i++) {
    CHECK_OK(kn_step(w.sim, w.state));
    const kn_report* r = kn_sim_report(w.sim);
    CHECK(r->closure < 1e-9 && r->closure_dependent < 1e-9);
    CHECK_INT(kn_report_in_trouble(r), 0);
  }
  kn_floor_close(&w);
}
