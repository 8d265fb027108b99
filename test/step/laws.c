/* Choices of the impact and friction law as the steppers use them: restitution that depends on the approach
   speed, Stronge's law, the refined friction polyhedron. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "model/spec.h"
#include "scene.h"
#include "test.h"

static double decaying(double e, double speed, void* context) {
  ++*(int*)context;
  return e * exp(-speed);
}

/* Speed after the first bounce of a ball that starts closed to the floor by less than a step at v. */
static double bounce(const char* stepper, const char* law, double v, double (*fn)(double, double, void*),
                     int* calls) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0, 0.8, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1 + 1e-6}, 0, 0.8);
  s.stepper = stepper;
  s.law = law;
  s.dt = 1e-4;
  s.restitution = fn;
  s.restitution_context = calls;
  double up = 0;
  if (kn_floor_open(&w, spec, &s)) {
    kn_state_v(w.state)[2] = -v;
    for (int i = 0; i < 5 && up <= 0; i++) {
      CHECK_OK(kn_step(w.sim, w.state));
      up = kn_state_v(w.state)[2];
    }
  }
  kn_floor_close(&w);
  return up;
}

TEST(restitution_follows_the_approach_speed) {
  static const char* const steppers[] = {"time", "theta"};
  static const double speeds[] = {0.5, 1, 2};
  for (int k = 0; k < 6; k++) {
    double v = speeds[k % 3];
    int calls = 0;
    CHECK_NEAR(bounce(steppers[k / 3], "poisson", v, decaying, &calls), 0.8 * exp(-v) * v, 2e-3); /* g dt */
    CHECK(calls > 0);
    CHECK_NEAR(bounce(steppers[k / 3], "poisson", v, NULL, NULL), 0.8 * v, 2e-3);
  }
}

static int troubles(const kn_report* r) {
  int n = 0;
  for (int i = 0; i < r->events; i++) n += r->event[i].kind == KN_EVENT_TROUBLE;
  return n;
}

/* A cube that falls flat on its four corners: 2 m/s, e = 0.5. The report's status. */
static kn_status cube(const char* law, double torsion, double* up, kn_trouble_kind* why) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.3, 0.5, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1 + 1e-6}, 0.3, 0.5);
  for (int i = 0; i < spec->geom.count && torsion > 0.0; i++)
    spec->geom.at[i].material.torsion = torsion, spec->geom.at[i].condim = 4;
  s.law = law;
  if (!kn_floor_open(&w, spec, &s)) return KN_NOT_FOUND;
  kn_state_v(w.state)[2] = -2;
  CHECK_OK(kn_step(w.sim, w.state));
  *up = kn_state_v(w.state)[2];
  const kn_report* r = kn_sim_report(w.sim);
  kn_status status = r->status;
  CHECK_INT(troubles(r), status != KN_OK);
  for (int i = 0; i < r->events; i++)
    if (r->event[i].kind == KN_EVENT_TROUBLE) *why = r->event[i].trouble;
  kn_floor_close(&w);
  return status;
}

/* One ball and a cube's four corners bounce as by the other laws. Friction against spin is beyond the law:
   refused with a status in the report, and Poisson's used so that the step returns a valid state. */
TEST(stronge_covers_several_contacts_and_says_what_not) {
  double up[4];
  kn_trouble_kind why = 0;
  CHECK_NEAR(bounce("time", "stronge", 2, NULL, NULL), bounce("time", "poisson", 2, NULL, NULL), 1e-12);
  CHECK_INT(cube("poisson", 0, &up[0], &why), KN_OK);
  CHECK_INT(cube("stronge", 0, &up[1], &why), KN_OK);
  CHECK(up[0] > 0.9);
  CHECK_NEAR(up[1], up[0], 1e-4); /* four equal springs end together; the landing tilts by rounding */
  CHECK_INT(cube("poisson", 0.01, &up[2], &why), KN_OK);
  CHECK_INT(cube("stronge", 0.01, &up[3], &why), KN_UNSUPPORTED);
  CHECK_INT(why, KN_TROUBLE_LAW_NOT_COVERED);
  CHECK_BITS(&up[3], &up[2], 1);
}

TEST(stronge_needs_contact_space) {
  kn_scene_opened* o;
  kn_sim* sim;
  if (!CHECK_OK(kn_scene_open(&o, "pendulum-2014", NULL, 0))) return;
  kn_sim_settings s = kn_scene_settings(o->scene);
  s.law = "stronge";
  s.formulation = "nmc-os";
  CHECK_INT(kn_sim_create(&sim, o->model, &s), KN_UNSUPPORTED);
  s.formulation = "rmc";
  CHECK_OK(kn_sim_create(&sim, o->model, &s));
  kn_sim_destroy(sim);
  kn_scene_close(o);
}

/* A spinning, sliding ball that hits with friction: no energy from Stronge's law, step after step. */
TEST(stronge_bounces_lose_energy) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.4, 0.9, 0);
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.5}, 0.4, 0.9);
  s.law = "stronge";
  if (!kn_floor_open(&w, spec, &s)) return;
  double* v = kn_state_v(w.state);
  v[0] = 1, v[3] = 20, v[4] = -15, v[5] = 5;
  for (int i = 0; i < 2000; i++) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    CHECK_INT(troubles(kn_sim_report(w.sim)), 0);
  }
  CHECK(kn_sim_report(w.sim)->gain_rel <= 1e-12);
  kn_floor_close(&w);
}

/* A cube sliding obliquely: four directions push it off its line by far, the refined ones do not. */
TEST(refined_polyhedron_slides_like_the_cone) {
  double q[3][3];
  for (int k = 0; k < 3; k++) {
    kn_floor w;
    kn_sim_settings s = kn_sim_default();
    kn_spec* spec = kn_floor_spec(0.5, 0, 0);
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1}, 0.5, 0);
    s.friction = k ? 4 : 0;
    s.friction_tol = k == 2 ? 1e-8 : 0;
    if (!kn_floor_open(&w, spec, &s)) return;
    kn_state_v(w.state)[0] = 2, kn_state_v(w.state)[1] = 0.7;
    int most = 0;
    for (int i = 0; i < 300; i++) {
      if (!CHECK_OK(kn_step(w.sim, w.state))) break;
      if (kn_sim_report(w.sim)->directions > most) most = kn_sim_report(w.sim)->directions;
    }
    CHECK(k == 0 ? most == 0 : k == 1 ? most == 4 : most >= 4 && most <= 16);
    memcpy(q[k], kn_state_q(w.state), sizeof q[k]);
    kn_floor_close(&w);
  }
  double coarse = hypot(q[1][0] - q[0][0], q[1][1] - q[0][1]),
         fine = hypot(q[2][0] - q[0][0], q[2][1] - q[0][1]);
  printf("  off the cone's path: 4 directions %.2g m, refined %.2g m\n", coarse, fine);
  CHECK(coarse > 1e-3);
  CHECK_BELOW(fine, 1e-6); /* 1e-8 of the friction, 300 steps */
}

TEST(refinement_needs_a_polyhedron) {
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_model* model = NULL;
  kn_sim* sim = NULL;
  kn_sim_settings s = kn_sim_default();
  s.friction_tol = 1e-6;
  kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 1}, 0, 0);
  CHECK_OK(kn_compile(&model, spec));
  CHECK_STATUS(kn_sim_create(&sim, model, &s), KN_BAD_ARGUMENT);
  s.friction = 4, s.friction_tol = NAN;
  CHECK_STATUS(kn_sim_create(&sim, model, &s), KN_BAD_ARGUMENT);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}
