/* Whole scenes from bytes: a random mechanism above a floor, any stepper, formulation, law of impact, friction and step,
   with velocities, forces and controls that may be any bits. Every step answers with a status. If it is KN_OK the state is
   finite, and a saved copy of the state before it ends at the same hash; if not, the state is what it was, bit for bit.
   Layout: 8 bytes of seed, 8 bytes of choices, then {place, kind, value} of 4 bytes each: one number of the state that is
   changed before a step, at most STEPS of them. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "scene.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { CHOICES = 16, STEPS = 12, CHANGE = 4 };

typedef struct world {
  kn_model* model;
  kn_state *state, *copy;
  kn_sim *sim, *second;
} world;

static const char* chosen(const kn_choice* list, int k) {
  int n = 0;
  while (list[n].name) n++;
  return list[k % n].name;
}

static kn_spec* spec_of(const uint8_t* c, uint64_t seed) {
  kn_spec* spec = NULL;
  kn_random_settings r = kn_random_default(1 + c[0] % 6);
  r.geoms = true;
  r.limits = c[1] & 1, r.springs = c[1] & 2, r.damping = c[1] & 4, r.friction = c[1] & 8,
  r.actuators = c[1] & 16;
  r.gravcomp = c[1] & 32, r.armature = c[1] & 64;
  r.loops = c[2] % 3;
  r.floating = 0.8;
  r.roots = c[2] & 64 ? 0.8 : 0.1;
  r.decades = c[2] / 32 % 2 ? c[3] % 8 : 0;
  if (kn_spec_create(&spec) == KN_OK && kn_random_spec(spec, seed, &r) == KN_OK &&
      kn_spec_set_surfaces(spec, NAN, c[3] / 16 / 15.0) == KN_OK)
    return spec;
  kn_spec_destroy(spec);
  return NULL;
}

static kn_sim_settings settings_of(const uint8_t* c) {
  kn_sim_settings s = kn_sim_default();
  s.stepper = chosen(kn_steppers(), c[4] % 8);
  s.formulation = chosen(kn_formulations(), c[4] / 8);
  s.law = chosen(kn_impact_laws(), c[5] % 8);
  s.friction = c[5] & 64 ? 4 + c[5] / 8 % 4 * 2 : 0;
  s.sequential = c[5] & 128;
  s.dt = ldexp(1.0, -4 - c[6] % 14);
  s.anchors = !(c[7] & 1), s.projection = !(c[7] & 2), s.verdict = c[7] & 4, s.determinate = c[7] & 8;
  s.split_impacts = c[7] & 16, s.keep_energy = c[7] & 32;
  s.sleep = c[7] & 64 ? 0.1 : 0.0, s.sleep_time = 2 * s.dt;
  return s;
}

static bool open_world(world* w, const uint8_t* data) {
  uint64_t seed;
  memcpy(&seed, data, sizeof seed);
  kn_sim_settings set = settings_of(data + 8);
  kn_spec* spec = spec_of(data + 8, seed);
  bool made = spec && kn_compile(&w->model, spec) == KN_OK && kn_state_create(&w->state, w->model) == KN_OK &&
              kn_state_create(&w->copy, w->model) == KN_OK &&
              kn_sim_create(&w->sim, w->model, &set) == KN_OK &&
              kn_sim_create(&w->second, w->model, &set) == KN_OK &&
              kn_sim_prepare(w->sim, w->state) == KN_OK && kn_sim_prepare(w->second, w->copy) == KN_OK;
  kn_spec_destroy(spec);
  if (made) kn_random_state(w->state, w->model, seed, data[10] % 3 ? 0.0 : 0.3, 1.0);
  return made;
}

static void close_world(world* w) {
  kn_sim_destroy(w->sim);
  kn_sim_destroy(w->second);
  kn_state_destroy(w->state);
  kn_state_destroy(w->copy);
  kn_model_destroy(w->model);
}

/* A number of the state: a tame one, a wild one, or one that is none. */
static void change(world* w, const uint8_t* c) {
  static const double wild[] = {1e308, -1e308, 5e-324, 1e160, -1e9, 1e-160, INFINITY, NAN};
  int nq = kn_model_nq(w->model), nv = kn_model_nv(w->model), nu = kn_model_nu(w->model);
  double *v = kn_state_v(w->state), *force = kn_state_force(w->state), *ctrl = kn_state_ctrl(w->state);
  double x = c[1] < 8 ? wild[c[1]] : ldexp((double)c[2] - 128.0, c[3] % 32 - 16);
  int at = c[0], kind = c[1] % 4;
  if (kind == 0 && nq) kn_state_q(w->state)[at % nq] = x;
  if (kind == 1 && nv) v[at % nv] = x;
  if (kind == 2 && nv) force[at % nv] = x;
  if (kind == 3 && nu) ctrl[at % nu] = x;
}

static void all_finite(const double* x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) abort();
}

/* One step, and the same step by the other simulator from saved bytes. False when it failed. */
static bool step(world* w) {
  size_t size = kn_state_size(w->state);
  void* bytes = malloc(size);
  if (!bytes || kn_state_save(bytes, size, w->state) != KN_OK) return free(bytes), false;
  uint64_t before = kn_state_hash(w->state);
  kn_status status = kn_step(w->sim, w->state);
  if (status != KN_OK && kn_state_hash(w->state) != before) abort();
  if (status == KN_OK) {
    all_finite(kn_state_q(w->state), kn_model_nq(w->model));
    all_finite(kn_state_v(w->state), kn_model_nv(w->model));
    if (kn_state_load(w->copy, bytes, size) != KN_OK || kn_step(w->second, w->copy) != KN_OK) abort();
    if (kn_state_hash(w->copy) != kn_state_hash(w->state)) abort();
  }
  free(bytes);
  return status == KN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < CHOICES) return 0;
  world w = {0};
  if (open_world(&w, data)) {
    bool going = true;
    for (size_t i = 0; going && i < STEPS; i++) {
      size_t at = CHOICES + i * CHANGE;
      if (at + CHANGE <= size) change(&w, data + at);
      going = step(&w);
    }
  }
  close_world(&w);
  return 0;
}
