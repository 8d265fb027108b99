/* Copying a step in one piece, and opening it again in the writer thread (snapshot.h). */
#include "record/snapshot.h"

#include "record/write/stream.h"

/* Every part starts at a multiple of 8 bytes, every snapshot at a line. */
_Static_assert(sizeof(kn_snapshot) % 8 == 0 && sizeof(kn_contact) % 8 == 0 && sizeof(kn_event) % 8 == 0 &&
                   sizeof(kn_state_block) % 8 == 0,
               "parts of a snapshot are multiples of 8 bytes");

static size_t rounded(size_t n) { return (n + 7) / 8 * 8; }
static size_t to_line(size_t n) { return (n + KN_STREAM_LINE - 1) / KN_STREAM_LINE * KN_STREAM_LINE; }

static void put(uint8_t** to, const void* from, size_t n) {
  if (n) memcpy(*to, from, n);
  *to += n;
}

static void put_padded(uint8_t** to, const void* from, size_t n) {
  put(to, from, n);
  *to += rounded(n) - n;
}

/* A block's name is copied as its data is: the state frees both when the block grows. */
static size_t name_bytes(const kn_state_block* b) { return strlen(b->name) + 1; }

static const void* take(kn_view* in, size_t n) { return kn_get_view(in, rounded(n)).at; }

static bool any(const double* x, int n) {
  int count = 0;
  for (int i = 0; i < n; i++) count += x[i] != 0.0;
  return count > 0;
}

static void put_state(uint8_t** to, const kn_state* x) {
  const kn_model* m = x->model;
  put(to, x->q, (size_t)m->nq * sizeof(double));
  put(to, x->v, (size_t)m->nv * sizeof(double));
  put(to, x->force, (size_t)m->nv * sizeof(double));
  put(to, x->ctrl, (size_t)m->nu * sizeof(double));
  put(to, x->block, (size_t)x->nblock * sizeof *x->block);
  for (int i = 0; i < x->nblock; i++) {
    put_padded(to, x->block[i].data, x->block[i].used);
    put_padded(to, x->block[i].name, name_bytes(&x->block[i]));
  }
}

static size_t state_size(const kn_state* x) {
  size_t n = (size_t)(x->model->nq + 2 * x->model->nv + x->model->nu) * sizeof(double) +
             (size_t)x->nblock * sizeof *x->block;
  for (int i = 0; i < x->nblock; i++) n += rounded(x->block[i].used) + rounded(name_bytes(&x->block[i]));
  return n;
}

void kn_snapshot_put(kn_bytes* out, const kn_sim* s, const kn_state* x, const double* q_before,
                     const double* v_before, bool jumped, int loop_rows) {
  const kn_model* m = s->model;
  const kn_report* r = &s->report;
  size_t nq = (size_t)m->nq * sizeof(double), nv = (size_t)m->nv * sizeof(double),
         contacts = (size_t)r->contacts * sizeof *r->contact, events = (size_t)r->events * sizeof *r->event,
         limits = (size_t)m->nlimit * sizeof(double), loops = (size_t)loop_rows * sizeof(double);
  if (!kn_bytes_room(out,
                     sizeof(kn_snapshot) + state_size(x) + nq + 8 * nv + contacts + events + limits + loops))
    return;
  kn_snapshot head = {.step = x->step,
                      .time = x->time,
                      .impact = s->book.collided,
                      .scaled = s->frame.scaled,
                      .jumped = jumped,
                      .biased = nv && memcmp(s->frame.v_bias, v_before, nv) != 0,
                      .limited = any(r->limit_impulse, m->nlimit),
                      .controlled = s->controller.fn != NULL,
                      .dry = r->dry_impulse && any(r->dry_impulse, m->nv),
                      .blocks = x->nblock,
                      .report = *r};
  uint8_t* to = out->at + out->n;
  put(&to, &head, sizeof head);
  put_state(&to, x);
  put(&to, s->force.tau, nv);
  put(&to, s->frame.v_free, nv);
  put(&to, s->force.extra, nv);
  if (head.jumped) put(&to, q_before, nq), put(&to, v_before, nv);
  if (head.biased) put(&to, s->frame.v_bias, nv);
  if (head.scaled) put(&to, s->frame.v_solved, nv);
  if (head.controlled) { /* what the controller added to the applied forces */
    double* control = (double*)(void*)to;
    for (int i = 0; i < m->nv; i++) control[i] = s->force.tau_applied[i] - x->force[i];
    to += nv;
  }
  put(&to, r->contact, contacts);
  put(&to, r->event, events);
  if (head.limited) put(&to, r->limit_impulse, limits);
  put(&to, r->loop_impulse, loops);
  if (head.dry) put(&to, r->dry_impulse, nv);
  out->n = to_line((size_t)(to - out->at));
}

/* The state's arrays, and its hash from them. */
static void next_state(kn_snapshot* out, kn_view* in, const kn_model* m) {
  kn_state x = {.model = m, .time = out->time, .step = out->step, .nblock = out->blocks};
  size_t nv = (size_t)m->nv * sizeof(double);
  out->q = take(in, (size_t)m->nq * sizeof(double));
  out->v = take(in, nv);
  out->force = take(in, nv);
  out->ctrl = take(in, (size_t)m->nu * sizeof(double));
  kn_get(in, x.block, (size_t)x.nblock * sizeof *x.block);
  for (int i = 0; i < x.nblock; i++) {
    kn_state_block* b = &x.block[i];
    b->data = (void*)(uintptr_t)take(in, b->used);
    b->name = (char*)(uintptr_t)in->at;
    take(in, name_bytes(b));
  }
  x.q = (double*)(uintptr_t)out->q, x.v = (double*)(uintptr_t)out->v;
  x.force = (double*)(uintptr_t)out->force, x.ctrl = (double*)(uintptr_t)out->ctrl;
  out->hash = kn_state_hash(&x);
}

bool kn_snapshot_next(kn_snapshot* out, kn_view* in, const kn_model* m, int loop_rows) {
  if (in->left == 0) return false;
  size_t left = in->left, nv = (size_t)m->nv * sizeof(double);
  kn_get(in, out, sizeof *out);
  next_state(out, in, m);
  out->tau = take(in, nv);
  out->v_free = take(in, nv);
  out->extra = take(in, nv);
  out->q_before = out->jumped ? take(in, (size_t)m->nq * sizeof(double)) : NULL;
  out->v_before = out->jumped ? take(in, nv) : NULL;
  out->v_bias = out->biased ? take(in, nv) : NULL;
  out->v_solved = out->scaled ? take(in, nv) : NULL;
  out->control = out->controlled ? take(in, nv) : NULL;
  kn_report* r = &out->report;
  r->contact = take(in, (size_t)r->contacts * sizeof *r->contact);
  r->event = take(in, (size_t)r->events * sizeof *r->event);
  r->limit_impulse = out->limited ? take(in, (size_t)m->nlimit * sizeof(double)) : NULL;
  r->loop_impulse = take(in, (size_t)loop_rows * sizeof(double));
  r->dry_impulse = out->dry ? take(in, nv) : NULL;
  kn_get_view(in, to_line(left - in->left) - (left - in->left));
  return !in->bad;
}
