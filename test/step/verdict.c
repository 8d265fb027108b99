/* Verdicts: what theory says about existence and uniqueness, the step must say too. */
#include <math.h>
#include <string.h>

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
