#include "record/frame.h"

#include "base/error.h"
#include "base/hash.h"

enum { BEFORE = 1, IMPACT = 2, BIAS = 4, INPUTS = 8, EXTRA = 16, SCALED = 32 };

int kn_model_loop_rows(const kn_model* m) {
  static const int rows[] = {
      [KN_LOOP_CONNECT] = 3, [KN_LOOP_WELD] = 6, [KN_LOOP_DISTANCE] = 1, [KN_LOOP_COUPLING] = 1};
  int n = 0;
  for (int i = 0; i < m->nloop; i++) n += rows[m->loop[i].type];
  return n;
}

kn_status kn_frames_create(kn_frames* f, const kn_model* m) {
  *f = (kn_frames){.model = m, .loop_rows = kn_model_loop_rows(m)};
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu, nl = (size_t)m->nlimit,
         rows = (size_t)f->loop_rows;
  KN_TRY(kn_codec_create(&f->state, m));
  double* p = f->block = calloc(2 * nq + 9 * nv + nu + nl + rows + 1, sizeof(double));
  if (!p) return kn_fail(KN_OUT_OF_MEMORY, "no memory for steps of %d dofs", m->nv);
  double** part[] = {&f->q_before, &f->q,     &f->tau,   &f->v_free, &f->v_before, &f->v,   &f->v_bias,
                     &f->v_solved, &f->force, &f->extra, &f->ctrl,   &f->limit,    &f->loop};
  size_t size[] = {nq, nq, nv, nv, nv, nv, nv, nv, nv, nv, nu, nl, rows};
  for (size_t i = 0; i < sizeof size / sizeof *size; p += size[i++]) *part[i] = p;
  return KN_OK;
}

void kn_frames_destroy(kn_frames* f) {
  kn_codec_destroy(&f->state);
  free(f->block);
  free(f->contact);
  free(f->event);
  free(f->last);
  *f = (kn_frames){0};
}

void kn_frames_restart(kn_frames* f) {
  kn_codec_reset(&f->state);
  f->lasts = 0;
  memset(f->tau, 0, (size_t)f->model->nv * sizeof(double));
  memset(f->extra, 0, (size_t)f->model->nv * sizeof(double));
  memset(f->force, 0, (size_t)f->model->nv * sizeof(double));
  memset(f->ctrl, 0, (size_t)f->model->nu * sizeof(double));
}

static bool same(const double* a, const double* b, int n) {
  return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}
static void copy(double* to, const double* from, int n) {
  if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

/* ---- contacts and events ---- */

static bool room(void** list, int* capacity, uint32_t n, size_t size) {
  if (n <= (uint32_t)*capacity) return true;
  void* fresh = realloc(*list, n * size);
  if (!fresh) return false;
  *list = fresh;
  *capacity = (int)n;
  return true;
}

/* A contact that was there in the step before is stored as what changed: index of the old one, and its
   numbers as differences. */
enum { NEW, KNOWN, KNOWN_BODIES, NUMBERS = 24, LEAST_CONTACT = 20 };

static void contact_numbers(double x[NUMBERS], const kn_contact* c) {
  memcpy(x, c->point, sizeof c->point);
  memcpy(x + 3, c->frame, sizeof c->frame);
  double rest[] = {c->gap,
                   c->mu,
                   c->e,
                   c->impulse[0],
                   c->impulse[1],
                   c->impulse[2],
                   c->velocity[0],
                   c->velocity[1],
                   c->velocity[2],
                   c->e_used,
                   c->impulse_compression,
                   c->impulse_decompression};
  memcpy(x + 12, rest, sizeof rest);
}

static void set_numbers(kn_contact* c, const double x[NUMBERS]) {
  memcpy(c->point, x, sizeof c->point);
  memcpy(c->frame, x + 3, sizeof c->frame);
  c->gap = x[12], c->mu = x[13], c->e = x[14];
  memcpy(c->impulse, x + 15, sizeof c->impulse);
  memcpy(c->velocity, x + 18, sizeof c->velocity);
  c->e_used = x[21], c->impulse_compression = x[22], c->impulse_decompression = x[23];
}

/* Index in the step before, searched from where it probably is; -1: none. */
static int old_contact(const kn_frames* f, uint64_t key, int guess) {
  for (int k = 0; k < f->lasts; k++) {
    int i = guess + k < f->lasts ? guess + k : guess + k - f->lasts;
    if (i < f->lasts && f->last[i].key == key) return i;
  }
  return -1;
}

static bool same_bodies(const kn_contact* a, const kn_contact* b) {
  return a->geom_a == b->geom_a && a->geom_b == b->geom_b && a->body_a == b->body_a &&
         a->body_b == b->body_b && a->island == b->island;
}

static void put_contact(const kn_frames* f, kn_bytes* out, const kn_contact* c, int guess) {
  double x[NUMBERS], before[NUMBERS];
  int at = guess <= UINT16_MAX ? old_contact(f, c->key, guess < f->lasts ? guess : 0) : -1;
  const kn_contact* old = at >= 0 && at <= UINT16_MAX ? &f->last[at] : NULL;
  int kind = !old ? NEW : same_bodies(c, old) ? KNOWN_BODIES : KNOWN;
  kn_put_u8(out, (uint8_t)kind);
  if (old)
    kn_put_u16(out, (uint16_t)at);
  else
    kn_put_u64(out, c->key);
  int32_t i[] = {c->geom_a, c->geom_b, c->body_a, c->body_b, c->island};
  if (kind != KNOWN_BODIES) kn_put(out, i, sizeof i);
  contact_numbers(x, c);
  if (old) contact_numbers(before, old);
  kn_values_put(out, x, old ? before : NULL, NUMBERS);
  uint8_t b[] = {(uint8_t)c->mode, (uint8_t)c->determinate, (uint8_t)(c->impact | c->compliant << 1)};
  kn_put(out, b, sizeof b);
  if (c->compliant) kn_put(out, c->delta, sizeof c->delta);
}

static void get_contact(const kn_frames* f, kn_view* in, kn_contact* c) {
  double x[NUMBERS], before[NUMBERS];
  uint8_t b[3], kind = kn_get_u8(in);
  const kn_contact* old = NULL;
  *c = (kn_contact){0};
  if (kind == NEW) {
    c->key = kn_get_u64(in);
  } else {
    int at = kn_get_u16(in);
    if (kind > KNOWN_BODIES || at >= f->lasts) {
      in->bad = true;
      return;
    }
    old = &f->last[at];
    *c = *old;
    contact_numbers(before, old);
  }
  if (kind != KNOWN_BODIES) {
    int32_t i[5];
    kn_get(in, i, sizeof i);
    c->geom_a = i[0], c->geom_b = i[1], c->body_a = i[2], c->body_b = i[3], c->island = i[4];
  }
  kn_values_get(in, x, old ? before : NULL, NUMBERS);
  set_numbers(c, x);
  kn_get(in, b, sizeof b);
  c->mode = b[0], c->determinate = b[1], c->impact = b[2] & 1, c->compliant = b[2] >> 1 & 1;
  memset(c->delta, 0, sizeof c->delta);
  if (c->compliant) kn_get(in, c->delta, sizeof c->delta);
}

/* The contacts of this step are the old ones of the next. */
static bool keep_contacts(kn_frames* f, const kn_contact* list, int n) {
  if (!room((void**)&f->last, &f->last_capacity, (uint32_t)n, sizeof *f->last)) return false;
  if (n) memcpy(f->last, list, (size_t)n * sizeof *list);
  f->lasts = n;
  return true;
}

static void put_event(kn_bytes* out, const kn_event* e) {
  int32_t i[] = {(int32_t)e->kind, e->geom_a, e->geom_b, e->joint};
  kn_put_f64(out, e->t);
  kn_put(out, i, sizeof i);
  kn_put_f64(out, e->value);
  if (e->kind == KN_EVENT_SWITCH) kn_put(out, e->text, sizeof e->text);
}

static void get_event(kn_view* in, kn_event* e) {
  int32_t i[4];
  e->t = kn_get_f64(in);
  kn_get(in, i, sizeof i);
  e->value = kn_get_f64(in);
  e->kind = i[0], e->geom_a = i[1], e->geom_b = i[2], e->joint = i[3];
  e->text[0] = 0;
  if (e->kind == KN_EVENT_SWITCH) kn_get(in, e->text, sizeof e->text);
  e->text[sizeof e->text - 1] = 0;
}

/* Few of many are not zero. */
static void put_sparse(kn_bytes* out, const double* x, int n) {
  uint32_t count = 0;
  for (int i = 0; i < n; i++) count += x[i] != 0.0;
  kn_put_u32(out, count);
  for (int i = 0; i < n; i++)
    if (x[i] != 0.0) kn_put_u32(out, (uint32_t)i), kn_put_f64(out, x[i]);
}

static void get_sparse(kn_view* in, double* x, int n) {
  memset(x, 0, (size_t)n * sizeof *x);
  uint32_t count = kn_get_u32(in);
  for (uint32_t k = 0; k < count && !in->bad; k++) {
    uint32_t i = kn_get_u32(in);
    double v = kn_get_f64(in);
    if (i < (uint32_t)n)
      x[i] = v;
    else
      in->bad = true;
  }
}

/* ---- the report's numbers ---- */

enum { SCALARS = 12, LEDGER = sizeof(kn_ledger) / sizeof(double) };

static void put_report(kn_bytes* out, const kn_report* r) {
  int32_t i[] = {(int32_t)r->status, (int32_t)r->verdict.kind, r->lcp_size, r->solves, r->iterations,
                 r->islands};
  double x[SCALARS] = {
      r->residual,         r->penetration,  r->lift,     r->closure,        r->drift,
      r->correction,       r->audit,        r->gain_rel, r->momentum_error, r->energy.kinetic,
      r->energy.potential, r->energy.spring};
  kn_put(out, i, sizeof i);
  kn_put(out, x, sizeof x);
  kn_put(out, &r->ledger, sizeof r->ledger);
  kn_put(out, &r->total, sizeof r->total);
}

static void get_report(kn_view* in, kn_recorded* r) {
  int32_t i[6];
  double x[SCALARS];
  kn_get(in, i, sizeof i);
  kn_get(in, x, sizeof x);
  kn_get(in, &r->ledger, sizeof r->ledger);
  kn_get(in, &r->total, sizeof r->total);
  r->status = i[0], r->verdict = i[1], r->lcp_size = i[2], r->solves = i[3], r->iterations = i[4],
  r->islands = i[5];
  r->residual = x[0], r->penetration = x[1], r->lift = x[2], r->closure = x[3], r->drift = x[4],
  r->correction = x[5];
  r->audit = x[6], r->gain_rel = x[7], r->momentum_error = x[8];
  r->energy = (kn_energy){x[9], x[10], x[11]};
}

/* ---- whole steps ---- */

static void put_arrays(kn_frames* f, kn_bytes* out, const kn_snapshot* s, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  kn_values_put(out, s->tau, f->tau, nv);
  kn_values_put(out, s->v_free, s->v, nv);
  copy(f->tau, s->tau, nv);
  if (flags & BIAS) kn_values_put(out, s->v_bias, s->v, nv);
  if (flags & SCALED) kn_values_put(out, s->v_solved, s->v, nv);
  if (flags & EXTRA) kn_values_put(out, s->extra, f->extra, nv), copy(f->extra, s->extra, nv);
  if (flags & INPUTS) {
    kn_values_put(out, s->ctrl, f->ctrl, nu), copy(f->ctrl, s->ctrl, nu);
    kn_values_put(out, s->force, f->force, nv), copy(f->force, s->force, nv);
  }
}

void kn_frame_put(kn_frames* f, kn_bytes* out, const kn_snapshot* s, bool first) {
  const kn_model* m = f->model;
  const kn_report* r = &s->report;
  size_t start = out->n;
  uint32_t flags = (s->impact ? IMPACT : 0) | (s->scaled ? SCALED : 0);
  if (first || !same(s->q_before, f->q, m->nq) || !same(s->v_before, f->v, m->nv)) flags |= BEFORE;
  if (!same(s->v_bias, s->v_before, m->nv)) flags |= BIAS;
  if (!same(s->ctrl, f->ctrl, m->nu) || !same(s->force, f->force, m->nv)) flags |= INPUTS;
  if (!same(s->extra, f->extra, m->nv)) flags |= EXTRA;
  kn_put_u64(out, (uint64_t)s->step);
  kn_put_f64(out, s->time);
  kn_put_f64(out, r->dt);
  kn_put_u64(out, s->hash);
  kn_put_u32(out, flags);
  if (flags & BEFORE)
    kn_values_put(out, s->q_before, NULL, m->nq), kn_values_put(out, s->v_before, NULL, m->nv);
  kn_codec_put(&f->state, out, s->q, s->v, r->dt);
  put_arrays(f, out, s, flags);
  kn_put_u32(out, (uint32_t)r->contacts);
  for (int i = 0; i < r->contacts; i++) put_contact(f, out, &r->contact[i], i);
  if (!keep_contacts(f, r->contact, r->contacts)) out->failed = true;
  kn_put_u32(out, (uint32_t)r->events);
  for (int i = 0; i < r->events; i++) put_event(out, &r->event[i]);
  put_sparse(out, r->limit_impulse, m->nlimit);
  put_sparse(out, r->loop_impulse, f->loop_rows);
  put_report(out, r);
  if (out->failed) return;
  f->chain = kn_hash_bytes(f->chain, out->at + start, out->n - start);
  kn_put_u64(out, f->chain);
  copy(f->q, s->q, m->nq);
  copy(f->v, s->v, m->nv);
}

static void get_arrays(kn_frames* f, kn_view* in, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  kn_values_get(in, f->tau, f->tau, nv);
  kn_values_get(in, f->v_free, f->v, nv);
  copy(f->v_bias, f->v_before, nv);
  if (flags & BIAS) kn_values_get(in, f->v_bias, f->v, nv);
  copy(f->v_solved, f->v, nv);
  if (flags & SCALED) kn_values_get(in, f->v_solved, f->v, nv);
  if (flags & EXTRA) kn_values_get(in, f->extra, f->extra, nv);
  if (flags & INPUTS) kn_values_get(in, f->ctrl, f->ctrl, nu), kn_values_get(in, f->force, f->force, nv);
}

bool kn_frame_get(kn_frames* f, kn_recorded* out, kn_view in) {
  const kn_model* m = f->model;
  if (in.left < 8) return false;
  uint64_t chain = kn_hash_bytes(f->chain, in.at, in.left - 8), written;
  memcpy(&written, in.at + in.left - 8, 8);
  *out = (kn_recorded){.step = (int64_t)kn_get_u64(&in)};
  out->t = kn_get_f64(&in);
  out->dt = kn_get_f64(&in);
  out->state_hash = kn_get_u64(&in);
  uint32_t flags = kn_get_u32(&in);
  copy(f->q_before, f->q, m->nq), copy(f->v_before, f->v, m->nv);
  if (flags & BEFORE)
    kn_values_get(&in, f->q_before, NULL, m->nq), kn_values_get(&in, f->v_before, NULL, m->nv);
  kn_codec_get(&f->state, &in, f->q, f->v, out->dt);
  get_arrays(f, &in, flags);
  uint32_t n = kn_get_u32(&in);
  if (in.bad || n > in.left / LEAST_CONTACT ||
      !room((void**)&f->contact, &f->contact_capacity, n, sizeof *f->contact))
    return false;
  out->contacts = (int)n;
  for (uint32_t i = 0; i < n; i++) get_contact(f, &in, &f->contact[i]);
  if (!keep_contacts(f, f->contact, out->contacts)) return false;
  n = kn_get_u32(&in);
  if (in.bad || n > in.left / 32 || !room((void**)&f->event, &f->event_capacity, n, sizeof *f->event))
    return false;
  out->events = (int)n;
  for (uint32_t i = 0; i < n; i++) get_event(&in, &f->event[i]);
  get_sparse(&in, f->limit, m->nlimit);
  get_sparse(&in, f->loop, f->loop_rows);
  get_report(&in, out);
  kn_get_u64(&in);
  out->impact = (flags & IMPACT) != 0;
  out->q = f->q, out->v = f->v, out->q_before = f->q_before, out->v_before = f->v_before;
  out->ctrl = f->ctrl, out->force = f->force, out->tau = f->tau, out->extra = f->extra;
  out->v_bias = f->v_bias, out->v_free = f->v_free, out->v_solved = f->v_solved;
  out->contact = f->contact, out->event = f->event;
  out->limits = m->nlimit, out->loops = f->loop_rows;
  out->limit_impulse = f->limit, out->loop_impulse = f->loop;
  out->chain = written;
  bool ok = !in.bad && in.left == 0 && chain == written;
  f->chain = written;
  return ok;
}
