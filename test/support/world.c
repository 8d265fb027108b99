#include "world.h"

#include <math.h>
#include <string.h>

#include "spatial/spatial.h"
#include "test.h"

const char* const* kn_world_steppers(void) {
  static const char* list[3] = {"time", NULL, NULL};
  for (const kn_choice* c = kn_steppers(); c->name; c++)
    if (strcmp(c->name, "event") == 0) list[1] = "event";
  return list;
}

enum { WORDS = 1 + KN_SCENE_PARAMS };

static bool open_scene(kn_world* w, const char* text) {
  char copy[512];
  char* rest = NULL;
  const char* word[WORDS];
  int words = 0;
  memset(w, 0, sizeof *w);
  snprintf(copy, sizeof copy, "%s", text);
  for (char* at = strtok_r(copy, " ", &rest); at && words < WORDS; at = strtok_r(NULL, " ", &rest))
    word[words++] = at;
  if (!CHECK(words > 0) || !CHECK_OK(kn_scene_open(&w->scene, word[0], word + 1, words - 1))) {
    printf("  %s: %s\n", text, kn_scene_error());
    return false;
  }
  w->model = w->scene->model;
  return true;
}

static bool begin(kn_world* w) {
  bool ok = CHECK_OK(kn_state_create(&w->state, w->model)) && CHECK_OK(kn_scene_start(w->scene, w->state)) &&
            CHECK_OK(kn_sim_create(&w->sim, w->model, &w->settings));
  if (!ok) return false;
  if (w->scene->controller.fn) CHECK_OK(kn_sim_set_controller(w->sim, &w->scene->controller));
  w->report = kn_sim_report(w->sim);
  w->q = kn_state_q(w->state);
  w->v = kn_state_v(w->state);
  return CHECK_OK(kn_sim_prepare(w->sim, w->state));
}

bool kn_world_open(kn_world* w, const char* text, const char* stepper, double dt,
                   void (*change)(kn_sim_settings* s)) {
  if (!open_scene(w, text)) return false;
  w->settings = kn_scene_settings_of(w->scene);
  if (stepper) w->settings.stepper = stepper;
  if (dt > 0.0) w->settings.dt = dt;
  if (change) change(&w->settings);
  return begin(w);
}

bool kn_world_open_with(kn_world* w, const char* text, const kn_sim_settings* settings) {
  if (!open_scene(w, text)) return false;
  w->settings = *settings;
  return begin(w);
}

void kn_world_close(kn_world* w) {
  kn_sim_destroy(w->sim);
  kn_state_destroy(w->state);
  kn_scene_close(w->scene);
  memset(w, 0, sizeof *w);
}

bool kn_world_step(kn_world* w) {
  kn_status status = kn_step(w->sim, w->state);
  if (status == KN_OK) return true;
  CHECK_OK(status);
  printf("  %s at t = %.9g s: %s\n", w->scene->scene->name, kn_state_time(w->state), kn_last_error());
  return false;
}

bool kn_world_until(kn_world* w, double t) {
  while (kn_state_time(w->state) < t - 0.5 * w->settings.dt)
    if (!kn_world_step(w)) return false;
  return true;
}

double kn_world_energy(const kn_world* w) {
  kn_energy e;
  if (kn_energy_of(&e, w->model, w->state, kn_sim_data(w->sim)) != KN_OK) return NAN;
  return e.kinetic + e.potential + e.spring;
}

/* ---- creep ---- */

static const kn_contact* loaded(const kn_world* w, uint64_t key) {
  for (int i = 0; i < w->report->contacts; i++)
    if (w->report->contact[i].key == key)
      return w->report->contact[i].impulse[0] > 0.0 ? &w->report->contact[i] : NULL;
  return NULL;
}

static void geom_pose(kn_pose* pose, kn_world* w, kn_geom g) {
  CHECK_OK(kn_geom_pose(pose, w->model, kn_sim_data(w->sim), g));
}

void kn_creep_begin(kn_creep* c, kn_world* w) {
  c->count = 0;
  CHECK_OK(kn_kinematics(w->model, w->state, kn_sim_data(w->sim)));
  for (int i = 0; i < w->report->contacts && c->count < 64; i++) {
    const kn_contact* k = &w->report->contact[i];
    kn_pose a, b;
    if (!(k->impulse[0] > 0.0)) continue;
    geom_pose(&a, w, k->geom_a);
    geom_pose(&b, w, k->geom_b);
    int n = c->count++;
    c->point[n].key = k->key, c->point[n].a = k->geom_a, c->point[n].b = k->geom_b, c->point[n].loaded = true;
    kn_pose_apply_inverse(c->point[n].on_a, &a, k->point);
    kn_pose_apply_inverse(c->point[n].on_b, &b, k->point);
    for (int r = 0; r < 3; r++) kn_mul33tv(c->point[n].frame + 3 * r, b.R, k->frame + 3 * r);
  }
}

void kn_creep_watch(kn_creep* c, const kn_world* w) {
  for (int i = 0; i < c->count; i++) c->point[i].loaded = c->point[i].loaded && loaded(w, c->point[i].key);
}

double kn_creep_now(const kn_creep* c, kn_world* w, int* left) {
  double worst = 0.0;
  *left = 0;
  CHECK_OK(kn_kinematics(w->model, w->state, kn_sim_data(w->sim)));
  for (int i = 0; i < c->count; i++) {
    kn_pose a, b;
    double on_a[3], on_b[3], d[3];
    if (!c->point[i].loaded) continue;
    ++*left;
    geom_pose(&a, w, c->point[i].a);
    geom_pose(&b, w, c->point[i].b);
    kn_pose_apply(on_a, &a, c->point[i].on_a);
    kn_pose_apply_inverse(on_b, &b, on_a); /* in b's frame */
    kn_sub3(d, on_b, c->point[i].on_b);
    worst = fmax(worst, hypot(kn_dot3(d, c->point[i].frame + 3), kn_dot3(d, c->point[i].frame + 6)));
  }
  return worst;
}
