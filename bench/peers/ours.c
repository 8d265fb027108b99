/* Knuckle behind the same interface as its peers. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

typedef struct ours {
  stage* s;
  kn_sim* sim;
  kn_state* state;
  ours_facts facts;
} ours;

static stage* stage_of(const world* w) { return (stage*)(size_t)((const char*)w - offsetof(stage, w)); }

static void destroy(void* self) {
  ours* o = self;
  kn_sim_destroy(o->sim);
  kn_state_destroy(o->state);
  free(o);
}

static void* open_with(const world* w, const kn_sim_settings* settings) {
  ours* o = calloc(1, sizeof *o);
  if (!o) return NULL;
  o->s = stage_of(w);
  const kn_model* m = o->s->scene->model;
  o->facts.first_impact = o->facts.second_impact = INFINITY;
  if (kn_state_create(&o->state, m) == KN_OK && kn_state_copy(o->state, o->s->start) == KN_OK &&
      kn_sim_create(&o->sim, m, settings) == KN_OK && kn_sim_prepare(o->sim, o->state) == KN_OK)
    return o;
  destroy(o);
  return NULL;
}

static kn_sim_settings settings_of(const world* w) {
  kn_sim_settings s = kn_scene_settings(stage_of(w)->scene->scene);
  s.dt = w->dt;
  s.split_impacts = !w->loose;
  if (w->loose) s.max_contacts = 6 * w->bodies;
  if (w->loose) s.tolerance = 1e-6; /* what is promised for piles */
  return s;
}

void* engine_ours_open(const world* w, double dt, const char* stepper, const char* law) {
  kn_sim_settings s = settings_of(w);
  s.dt = dt;
  if (stepper) s.stepper = stepper, s.rtol = 1e-11;
  if (law) s.law = law;
  return open_with(w, &s);
}

static void* create(const world* w, int variant) {
  kn_sim_settings s = settings_of(w);
  if (variant == OURS_KEEP) s.keep_energy = true;
  if (variant == OURS_COARSE) s.tolerance = 1e-2; /* as the sweeps of other engines leave it */
  if (variant == OURS_SWEEPS) s.solver = "gs";    /* what sweeps reach, a hundred a step at most */
  return open_with(w, &s);
}

static void note_events(ours_facts* f, const kn_report* r) {
  if (!(r->residual <= f->residual)) f->residual = r->residual;
  if (r->events == 0) return;
  bool impact = false;
  for (int i = 0; i < r->events; i++) {
    impact |= r->event[i].kind == KN_EVENT_IMPACT || r->event[i].kind == KN_EVENT_CONTACT;
    f->troubles += r->event[i].kind == KN_EVENT_TROUBLE;
  }
  if (!impact) return;
  f->impacts++;
  if (!isfinite(f->first_impact))
    f->first_impact = r->t;
  else if (!isfinite(f->second_impact))
    f->second_impact = r->t;
}

static void step(void* self, int steps) {
  ours* o = self;
  for (int i = 0; i < steps; i++) {
    if (kn_step(o->sim, o->state) != KN_OK) o->facts.failed = true;
    note_events(&o->facts, kn_sim_report(o->sim));
  }
}

static void get(double* q, double* v, void* self) {
  ours* o = self;
  memcpy(q, kn_state_q(o->state), sizeof(double) * (size_t)o->s->w.nq);
  memcpy(v, kn_state_v(o->state), sizeof(double) * (size_t)o->s->w.nv);
}

/* Contacts that carry an impulse or touch; detected ones farther off do not count. */
static int contacts(void* self) {
  const ours* o = self;
  const kn_report* r = kn_sim_report(o->sim);
  int n = 0;
  for (int i = 0; i < r->contacts; i++) n += r->contact[i].mode != KN_MODE_OPEN;
  return n;
}

static double energy(void* self) {
  ours* o = self;
  kn_energy e = {0};
  kn_energy_of(&e, o->s->scene->model, o->state, o->s->data);
  return e.kinetic + e.potential;
}

kn_sim* engine_ours_sim(void* self) { return ((ours*)self)->sim; }
ours_facts engine_ours_facts(void* self) { return ((ours*)self)->facts; }

static const char* refuses(const world* w, int variant) {
  if ((variant == OURS_COARSE || variant == OURS_SWEEPS) && !w->loose) return "only for piles";
  if (variant == OURS_KEEP && (w->loose || w->bodies < 60)) return "only for long chains";
  if (variant == OURS_DEFAULT && !w->loose && w->bodies >= 60) return "long chains keep their energy";
  return NULL;
}

static const char* const names[] = {"knuckle", "knuckle", "knuckle, 1e-2", "knuckle, sweeps", NULL};
const engine engine_ours = {names, refuses, create, step, get, contacts, energy, NULL, destroy};
