/* A run in a simulator that serves many: its running record in and out, and the model under it exchanged
   (carry.h). Called by the pool between worlds and by kn_sim_clone. */
#include "step/carry.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"
#include "dynamics/tree/data.h"
#include "step/compliant/compliant.h"
#include "step/parts.h"
#include "step/sense/sense.h"

kn_status kn_carry_create(kn_carry* c, const kn_model* m) {
  *c = (kn_carry){0};
  size_t numbers = (size_t)m->nq + (size_t)m->nv;
  c->q = calloc(numbers ? numbers : 1, sizeof *c->q);
  if (!c->q) return kn_fail(KN_OUT_OF_MEMORY, "no memory for the record of a run");
  c->v = c->q + m->nq;
  return KN_OK;
}

void kn_carry_destroy(kn_carry* c) {
  free(c->q);
  free(c->last);
  *c = (kn_carry){0};
}

void kn_carry_clear(kn_carry* c) {
  *c = (kn_carry){.q = c->q, .v = c->v, .last = c->last, .last_room = c->last_room};
}

static kn_status make_room(kn_carry* c, int lasts) {
  return KN_ROOM(c->last, c->last_room, lasts)
             ? KN_OK
             : kn_fail(KN_OUT_OF_MEMORY, "no memory for the contacts of a run");
}

kn_status kn_carry_take(kn_carry* c, const kn_sim* s) {
  const kn_sim_book* b = &s->book;
  KN_TRY(make_room(c, b->lasts));
  c->total = s->report.total, c->rise = s->report.rise, c->gain_rel = s->report.gain_rel;
  c->begun = b->rise, c->energy = b->energy_now, c->started = b->started;
  c->kinetic_max = b->kinetic_max, c->potential_min = b->potential_min, c->potential_max = b->potential_max;
  if (s->soft) c->soft_dt = s->soft->next_dt, c->soft_t = s->soft->next_t;
  c->lasts = b->lasts;
  if (b->lasts) memcpy(c->last, b->last, (size_t)b->lasts * sizeof *c->last);
  memcpy(c->q, s->past.q, (size_t)s->model->nq * sizeof *c->q);
  memcpy(c->v, s->past.v, (size_t)s->model->nv * sizeof *c->v);
  return KN_OK;
}

void kn_carry_give(kn_sim* s, const kn_carry* c) {
  kn_sim_book* b = &s->book;
  s->report.total = c->total, s->report.rise = c->rise, s->report.gain_rel = c->gain_rel;
  b->rise = c->begun, b->energy_now = c->energy, b->started = c->started;
  b->kinetic_max = c->kinetic_max, b->potential_min = c->potential_min, b->potential_max = c->potential_max;
  if (s->soft) s->soft->next_dt = c->soft_dt, s->soft->next_t = c->soft_t;
  b->lasts = c->lasts < s->room.contacts ? c->lasts : s->room.contacts;
  if (b->lasts) memcpy(b->last, c->last, (size_t)b->lasts * sizeof *c->last);
  memcpy(s->past.q, c->q, (size_t)s->model->nq * sizeof *c->q);
  memcpy(s->past.v, c->v, (size_t)s->model->nv * sizeof *c->v);
  s->clear.step = -1; /* its speeds are another world's */
}

bool kn_sim_adopt(kn_sim* s, const kn_model* m) {
  bool plain = s->stepper == &kn_stepper_time || s->stepper == &kn_stepper_theta;
  if (s->model == m) return true;
  if (s->sleep) return false;
  if (!plain || s->work->formulation->own_bytes || !kn_detector_adopt(s->detector, m)) return false;
  s->model = s->work->model = s->os->model = m;
  kn_data_adopt(s->data, m);
  if (!kn_fast_on(s->fast, KN_FAST_PLANAR)) kn_data_in_space(s->data);
  if (s->sensors) {
    s->sensors->model = m;
    kn_data_adopt(s->sensors->data, m);
  }
  kn_sim_learn(s);
  kn_clear_create(s);
  s->blocks.stamp = 0;
  s->book.started = false;
  return true;
}
