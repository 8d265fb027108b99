/* Verdicts: what theory says about existence and uniqueness, the step must say too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "knuckle/load.h"
#include "scene.h"
#include "test.h"

typedef struct subject {
  kn_scene_opened* scene;
  kn_state* state;
  kn_sim* sim;
} subject;

static bool open_subject(subject* s, const char* name, const char* const* set, int count) {
  if (!CHECK_OK(kn_scene_open(&s->scene, name, set, count))) return false;
  kn_sim_settings st = kn_scene_settings(s->scene->scene);
  st.verdict = true;
  return CHECK_OK(kn_state_create(&s->state, s->scene->model)) &&
         CHECK_OK(kn_scene_start(s->scene, s->state)) &&
         CHECK_OK(kn_sim_create(&s->sim, s->scene->model, &st)) && CHECK_OK(kn_sim_prepare(s->sim, s->state));
}

static void close_subject(subject* s) {
  kn_sim_destroy(s->sim);
  kn_state_destroy(s->state);
  kn_scene_close(s->scene);
}

/* Four points under a box: one motion, but the forces are not determined by it. */
TEST(box_on_four_points_is_motion_unique) {
  subject s;
  if (!open_subject(&s, "sliding-block", NULL, 0)) return;
  size_t before = 0;
  for (int i = 0; i < 50; i++) {
    if (i == 10) before = kn_test_allocations();
    CHECK_OK(kn_step(s.sim, s.state));
    const kn_report* r = kn_sim_report(s.sim);
    CHECK_INT(r->verdict.kind, KN_VERDICT_MOTION_UNIQUE);
    for (int k = 0; k < r->contacts; k++) CHECK_INT(r->contact[k].determinate, KN_ANSWER_NO);
  }
  CHECK_INT(kn_test_allocations() - before, 0);
  close_subject(&s);
}

/* A ball on the floor: one contact, everything determined; its force is its weight. */
TEST(ball_at_rest_is_unique) {
  subject s;
  if (!open_subject(&s, "rolling-sphere", NULL, 0)) return;
  for (int i = 0; i < 20; i++) CHECK_OK(kn_step(s.sim, s.state));
  const kn_report* r = kn_sim_report(s.sim);
  CHECK_INT(r->verdict.kind, KN_VERDICT_UNIQUE);
  CHECK_INT(r->contacts, 1);
  CHECK_INT(r->contact[0].determinate, KN_ANSWER_YES);
  CHECK_REL(r->contact[0].impulse[0] / r->dt, kn_model_mass(s.scene->model) * 9.81, 1e-9);
  close_subject(&s);
}

/* Painlevé's rod at the start of its scene: mu above (1 + 3 cos²φ)/(3 sin φ cos φ), sliding: the
   acceleration-level problem has no solution (or several), yet the step returns a valid state. */
TEST(painleve_rod_has_no_unique_answer_and_still_steps) {
  subject s;
  kn_diagnosis d;
  if (!open_subject(&s, "painleve-rod", NULL, 0)) return;
  CHECK_OK(kn_sim_diagnose(&d, s.sim, s.state));
  CHECK(d.verdict.kind == KN_VERDICT_NONE || d.verdict.kind == KN_VERDICT_SEVERAL);
  CHECK_INT(d.sliding, 1);
  for (int i = 0; i < 100; i++) {
    CHECK_OK(kn_step(s.sim, s.state));
    for (int k = 0; k < kn_model_nv(s.scene->model); k++) CHECK(isfinite(kn_state_v(s.state)[k]));
    CHECK(kn_sim_report(s.sim)->audit <= 1e-9);
  }
  close_subject(&s);
}

/* v0 = 1 m/s, mu = 0.2: the sphere slides until t = 0.1456 s and rolls from then on; a box never rolls. */
TEST(sphere_slides_then_rolls) {
  subject s;
  if (!open_subject(&s, "rolling-sphere", NULL, 0)) return;
  for (int i = 0; i < 300; i++) {
    CHECK_OK(kn_step(s.sim, s.state));
    const kn_report* r = kn_sim_report(s.sim);
    if (!CHECK_INT(r->contacts, 1)) break;
    if (r->t < 0.144) CHECK(r->contact[0].mode == KN_MODE_SLIP && !r->contact[0].rolling);
    if (r->t > 0.148) CHECK(r->contact[0].mode == KN_MODE_STICK && r->contact[0].rolling);
  }
  close_subject(&s);
  if (!open_subject(&s, "sliding-block", NULL, 0)) return;
  CHECK_OK(kn_step(s.sim, s.state));
  for (int k = 0; k < kn_sim_report(s.sim)->contacts; k++) CHECK(!kn_sim_report(s.sim)->contact[k].rolling);
  close_subject(&s);
}

/* A box that falls between two walls: no forces at all solve every instant. Offsets of -2e-15 m/s² once made it
   "none" in 299 of 300 steps. */
TEST(a_box_that_falls_between_walls_is_not_called_impossible) {
  subject s;
  kn_diagnosis d;
  if (!open_subject(&s, "wedged-box", NULL, 0)) return;
  for (int i = 0; i < 300; i++) {
    CHECK_OK(kn_step(s.sim, s.state));
    const kn_verdict* v = &kn_sim_report(s.sim)->verdict;
    CHECK(v->kind != KN_VERDICT_NONE && v->kind != KN_VERDICT_SEVERAL && v->exists == KN_ANSWER_YES);
  }
  CHECK_OK(kn_sim_diagnose(&d, s.sim, s.state));
  CHECK_INT(d.verdict.exists, KN_ANSWER_YES);
  close_subject(&s);
}

static void check_cones(const kn_diagnosis* d) {
  for (int i = 0; i < d->contacts; i++) {
    const kn_contact* c = &d->contact[i];
    const double* f = c->impulse;
    CHECK(f[0] >= 0);
    /* to the rounding of this root and product: what is shown was put into the cone */
    CHECK(sqrt(f[1] * f[1] + f[2] * f[2]) <= c->mu * f[0] * (1 + 1e-15));
  }
  CHECK(d->contacts == 0 || !d->forces || d->residual <= 1e-9);
}

/* Between the walls a box at rest may fall or stick: several motions, not "4.905 N of friction without normal
   force". Whatever scene and instant: forces in their cones, judged. */
TEST(diagnosed_forces_lie_in_their_cones) {
  static const char* const scenes[] = {"wedged-box", "stack",     "wall",          "incline",      "gripper",
                                       "dominoes",   "quadruped", "rocking-block", "sliding-block"};
  int shown = 0;
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    subject s;
    kn_diagnosis d;
    if (!open_subject(&s, scenes[k], NULL, 0)) continue;
    for (int at = 0; at < 3; at++) {
      if (CHECK_OK(kn_sim_diagnose(&d, s.sim, s.state))) check_cones(&d);
      shown += d.forces && d.contacts > 0;
      if (k == 0 && at == 0) CHECK_INT(d.verdict.kind, KN_VERDICT_SEVERAL);
      for (int i = 0; i < 20; i++) CHECK_OK(kn_step(s.sim, s.state));
    }
    close_subject(&s);
  }
  CHECK(shown >= 22); /* of 27: nearly every instant has forces to show */
}

/* Beads on a string over a drum: the mode matrix of the sticking beads is so near singular that its solution had
   1.7e20 N. The string weighs 2 N. */
TEST(a_string_over_a_drum_has_forces_of_its_own_weight) {
  enum { N = 20 };
  static char text[1 << 14];
  double R = 0.21, wrap = 3, step = wrap / N, angle = 1.5707963267948966 + wrap / 2,
         along = 2 * R * sin(step / 2);
  int at = snprintf(
      text, sizeof text,
      "<mujoco><worldbody><geom type='cylinder' size='0.2 0.1' zaxis='0 1 0' friction='1'/>"
      "<body pos='%.17g 0 %.17g'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>",
      R * cos(angle), R * sin(angle));
  for (int i = 0; i < N; i++) {
    double d = angle - 1.5707963267948966 - step * (i - 0.5);
    if (i)
      at += snprintf(text + at, sizeof text - (size_t)at, "<body pos='%.17g 0 %.17g'>", along * cos(d),
                     along * sin(d));
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "<joint axis='0 1 0'/><geom size='0.01' mass='0.01' friction='1'/>");
  }
  for (int i = 0; i < N; i++) at += snprintf(text + at, sizeof text - (size_t)at, "</body>");
  snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_state* state = NULL;
  kn_sim* sim = NULL;
  kn_diagnosis d;
  if (CHECK_OK(kn_load_text(&spec, NULL, "drum.xml", text, strlen(text), NULL)) &&
      CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&state, model)) &&
      CHECK_OK(kn_sim_create(&sim, model, NULL)) && CHECK_OK(kn_sim_diagnose(&d, sim, state))) {
    CHECK_INT(d.contacts, N);
    CHECK(d.forces);
    check_cones(&d);
    for (int i = 0; i < d.contacts; i++) CHECK(d.contact[i].impulse[0] <= 0.01 * 9.81 * N);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}
