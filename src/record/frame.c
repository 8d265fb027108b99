#include "record/frame.h"

#include "base/error.h"
#include "base/hash.h"

enum { BEFORE = 1, IMPACT = 2, BIAS = 4, INPUTS = 8, EXTRA = 16 };

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
  double* p = f->block = calloc(2 * nq + 8 * nv + nu + nl + rows + 1, sizeof(double));
  if (!p) return kn_fail(KN_OUT_OF_MEMORY, "no memory for steps of %d dofs", m->nv);
  double** part[] = {&f->q_before, &f->q,     &f->tau,   &f->v_free, &f->v_before, &f->v,
                     &f->v_bias,   &f->force, &f->extra, &f->ctrl,   &f->limit,    &f->loop};
  size_t size[] = {nq, nq, nv, nv, nv, nv, nv, nv, nv, nu, nl, rows};
  for (size_t i = 0; i < sizeof size / sizeof *size; p += size[i++]) *part[i] = p;
  return KN_OK;
}

void kn_frames_destroy(kn_frames* f) {
  kn_codec_destroy(&f->state);
  free(f->block);
  free(f->contact);
  free(f->event);
  *f = (kn_frames){0};
}

void kn_frames_restart(kn_frames* f) {
  kn_codec_reset(&f->state);
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

static void put_contact(kn_bytes* out, const kn_contact* c) {
  kn_put_u64(out, c->key);
  int32_t i[] = {c->geom_a, c->geom_b, c->body_a, c->body_b, c->island};
  kn_put(out, i, sizeof i);
  kn_put(out, c->point, sizeof c->point);
  kn_put(out, c->frame, sizeof c->frame);
  double x[] = {c->gap,
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
  kn_put(out, x, sizeof x);
  uint8_t b[] = {(uint8_t)c->mode, (uint8_t)c->determinate, (uint8_t)(c->impact | c->compliant << 1)};
  kn_put(out, b, sizeof b);
  if (c->compliant) kn_put(out, c->delta, sizeof c->delta);
}

static void get_contact(kn_view* in, kn_contact* c) {
  int32_t i[5];
  double x[12];
  uint8_t b[3];
  c->key = kn_get_u64(in);
  kn_get(in, i, sizeof i);
  kn_get(in, c->point, sizeof c->point);
  kn_get(in, c->frame, sizeof c->frame);
  kn_get(in, x, sizeof x);
  kn_get(in, b, sizeof b);
  c->geom_a = i[0], c->geom_b = i[1], c->body_a = i[2], c->body_b = i[3], c->island = i[4];
  c->gap = x[0], c->mu = x[1], c->e = x[2];
  memcpy(c->impulse, x + 3, sizeof c->impulse);
  memcpy(c->velocity, x + 6, sizeof c->velocity);
  c->e_used = x[9], c->impulse_compression = x[10], c->impulse_decompression = x[11];
  c->mode = b[0], c->determinate = b[1], c->impact = b[2] & 1, c->compliant = b[2] >> 1 & 1;
  memset(c->delta, 0, sizeof c->delta);
  if (c->compliant) kn_get(in, c->delta, sizeof c->delta);
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

enum { SCALARS = 13, LEDGER = sizeof(kn_ledger) / sizeof(double) };

static void put_report(kn_bytes* out, const kn_report* r) {
  int32_t i[] = {(int32_t)r->status, (int32_t)r->verdict.kind, r->lcp_size, r->solves, r->iterations,
                 r->islands};
  double x[SCALARS] = {
      r->residual,         r->penetration,   r->lift,     r->closure,        r->drift,
      r->correction,       r->audit,         r->gain_rel, r->momentum_error, r->energy.kinetic,
      r->energy.potential, r->energy.spring, r->slowed};
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
  r->slowed = x[12];
}

/* ---- whole steps ---- */

static void put_arrays(kn_frames* f, kn_bytes* out, const kn_snapshot* s, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  kn_values_put(out, s->tau, f->tau, nv);
  kn_values_put(out, s->v_free, s->v, nv);
  copy(f->tau, s->tau, nv);
  if (flags & BIAS) kn_values_put(out, s->v_bias, s->v, nv);
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
  uint32_t flags = (uint32_t)s->impact * IMPACT;
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
  for (int i = 0; i < r->contacts; i++) put_contact(out, &r->contact[i]);
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

static bool room(void** list, int* capacity, uint32_t n, size_t size) {
  if (n <= (uint32_t)*capacity) return true;
  void* fresh = realloc(*list, n * size);
  if (!fresh) return false;
  *list = fresh;
  *capacity = (int)n;
  return true;
}

static void get_arrays(kn_frames* f, kn_view* in, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  kn_values_get(in, f->tau, f->tau, nv);
  kn_values_get(in, f->v_free, f->v, nv);
  copy(f->v_bias, f->v_before, nv);
  if (flags & BIAS) kn_values_get(in, f->v_bias, f->v, nv);
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
  if (in.bad || n > in.left / 100 || !room((void**)&f->contact, &f->contact_capacity, n, sizeof *f->contact))
    return false;
  out->contacts = (int)n;
  for (uint32_t i = 0; i < n; i++) get_contact(&in, &f->contact[i]);
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
  out->v_bias = f->v_bias, out->v_free = f->v_free;
  out->contact = f->contact, out->event = f->event;
  out->limits = m->nlimit, out->loops = f->loop_rows;
  out->limit_impulse = f->limit, out->loop_impulse = f->loop;
  out->chain = written;
  bool ok = !in.bad && in.left == 0 && chain == written;
  f->chain = written;
  return ok;
}
