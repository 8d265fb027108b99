#include "record/snapshot.h"

/* Sizes in the order of the copy; every part is a multiple of 8 bytes, so that all stay aligned. */
enum { ARRAYS = 11 };
_Static_assert(sizeof(kn_snapshot) % 8 == 0 && sizeof(kn_contact) % 8 == 0 && sizeof(kn_event) % 8 == 0,
               "parts of a snapshot are multiples of 8 bytes");

static void sizes(size_t size[ARRAYS], const kn_model* m) {
  size_t nq = (size_t)m->nq * sizeof(double), nv = (size_t)m->nv * sizeof(double);
  size_t all[ARRAYS] = {nq, nv, nq, nv, nv, nv, nv, nv, nv, nv, (size_t)m->nu * sizeof(double)};
  memcpy(size, all, sizeof all);
}

static void put(uint8_t** to, const void* from, size_t n) {
  if (n) memcpy(*to, from, n);
  *to += n;
}

static const void* take(kn_view* in, size_t n) { return kn_get_view(in, n).at; }

void kn_snapshot_put(kn_bytes* out, const kn_sim* s, const kn_state* x, const double* q_before,
                     const double* v_before, int loop_rows) {
  const kn_model* m = s->model;
  const kn_report* r = &s->report;
  size_t size[ARRAYS], all = sizeof(kn_snapshot), contacts = (size_t)r->contacts * sizeof *r->contact,
                       events = (size_t)r->events * sizeof *r->event,
                       limits = (size_t)m->nlimit * sizeof(double),
                       loops = (size_t)loop_rows * sizeof(double);
  sizes(size, m);
  for (int i = 0; i < ARRAYS; i++) all += size[i];
  all += contacts + events + limits + loops;
  if (!kn_bytes_room(out, all)) return;
  kn_snapshot head = {.step = x->step,
                      .time = x->time,
                      .hash = kn_state_hash(x),
                      .impact = s->any_impact,
                      .scaled = s->scaled,
                      .report = *r};
  const double* array[ARRAYS] = {x->q,     x->v,      q_before,  v_before,
                                 s->tau,   s->v_free, s->v_bias, s->scaled ? s->v_solved : x->v,
                                 s->extra, x->force,  x->ctrl};
  uint8_t* to = out->at + out->n;
  put(&to, &head, sizeof head);
  for (int i = 0; i < ARRAYS; i++) put(&to, array[i], size[i]);
  put(&to, r->contact, contacts);
  put(&to, r->event, events);
  put(&to, r->limit_impulse, limits);
  put(&to, r->loop_impulse, loops);
  out->n += all;
}

bool kn_snapshot_next(kn_snapshot* out, kn_view* in, const kn_model* m, int loop_rows) {
  if (in->left == 0) return false;
  kn_get(in, out, sizeof *out);
  const double** array[ARRAYS] = {&out->q,     &out->v,      &out->q_before, &out->v_before,
                                  &out->tau,   &out->v_free, &out->v_bias,   &out->v_solved,
                                  &out->extra, &out->force,  &out->ctrl};
  size_t size[ARRAYS];
  sizes(size, m);
  for (int i = 0; i < ARRAYS; i++) *array[i] = take(in, size[i]);
  kn_report* r = &out->report;
  r->contact = take(in, (size_t)r->contacts * sizeof *r->contact);
  r->event = take(in, (size_t)r->events * sizeof *r->event);
  r->limit_impulse = take(in, (size_t)m->nlimit * sizeof(double));
  r->loop_impulse = take(in, (size_t)loop_rows * sizeof(double));
  return !in->bad;
}
