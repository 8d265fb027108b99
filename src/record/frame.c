/* One step as bytes and back (frame.h): state by codec.c, contacts against those of the step before by key, events,
   numbers of the report. Reading checks every count and index against the model. */
#include "record/frame.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/hoard.h"

/* What a step says besides its state, forces and numbers. */
enum {
  BEFORE = 1,
  IMPACT = 2,
  BIAS = 4,
  INPUTS = 8,
  EXTRA = 16,
  SCALED = 32,
  STEP = 64, /* its number does not follow the last one */
  CONTACTS = 128,
  EVENTS = 256,
  LIMITS = 512,
  LOOPS = 1024,
  COUNTS = 2048,     /* status, iterations and the like differ from the step before */
  TROUBLES = 4096,   /* what each trouble among the events is; without it (older files) that is not known */
  CONTROLLED = 8192, /* a controller added forces */
  DRY = 16384,       /* dry joint friction acted */
  SENSORS = 32768    /* values of the model's sensors */
};

static int rows_of_loops(const kn_model* m) {
  static const int rows[] = {
      [KN_LOOP_CONNECT] = 3, [KN_LOOP_WELD] = 6, [KN_LOOP_DISTANCE] = 1, [KN_LOOP_COUPLING] = 1};
  int n = 0;
  for (int i = 0; i < m->nloop; i++) n += rows[m->loop[i].type];
  return n;
}

kn_status kn_frames_create(kn_frames* f, const kn_model* m) {
  *f = (kn_frames){.model = m, .loop_rows = rows_of_loops(m)};
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu, nl = (size_t)m->nlimit,
         rows = (size_t)f->loop_rows, ns = (size_t)kn_model_sensor_numbers(m);
  KN_TRY(kn_codec_create(&f->state, m));
  double* p = f->block = calloc(2 * nq + 15 * nv + 3 * nu + nl + rows + ns + 1, sizeof(double));
  if (!p) return kn_fail(KN_OUT_OF_MEMORY, "no memory for steps of %d dofs", m->nv);
  double** part[] = {&f->q_before, &f->q,         &f->tau,   &f->v_free,    &f->v_before,   &f->v,
                     &f->v_bias,   &f->v_solved,  &f->force, &f->extra,     &f->push,       &f->guess_v,
                     &f->tau_last, &f->tau_guess, &f->ctrl,  &f->ctrl_last, &f->ctrl_guess, &f->limit,
                     &f->loop,     &f->control,   &f->dry,   &f->sensor};
  size_t size[] = {nq, nq, nv, nv, nv, nv, nv, nv, nv, nv, nv, nv, nv, nv, nu, nu, nu, nl, rows, nv, nv, ns};
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
  size_t nv = (size_t)f->model->nv * sizeof(double), nu = (size_t)f->model->nu * sizeof(double);
  f->lasts = 0;
  f->step = 0;
  memset(f->count, 0, sizeof f->count);
  memset(f->number, 0, sizeof f->number);
  memset(f->tau, 0, nv), memset(f->tau_last, 0, nv);
  memset(f->extra, 0, nv), memset(f->force, 0, nv), memset(f->push, 0, nv);
  memset(f->ctrl, 0, nu), memset(f->ctrl_last, 0, nu);
  memset(f->control, 0, nv);
  memset(f->sensor, 0, (size_t)kn_model_sensor_numbers(f->model) * sizeof(double));
}

static bool same(const double* a, const double* b, int n) {
  return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}
static void copy(double* to, const double* from, int n) {
  if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

/* ---- contacts and events ---- */

/* A contact that was there in the step before is stored as what changed: its numbers as differences; where it
   stood in the list and what bodies it joins only if they differ. */
enum { NEW, KNOWN, KNOWN_BODIES, SAME, NUMBERS = 24, LEAST_CONTACT = 16 };
enum { IMPULSE = 15, COMPRESSION = 22 }; /* among the numbers */
enum { COLLIDES = 1, COMPLIANT = 2, COMPRESSED = 4, TURNS = 8 };
enum { TURNING = 9 }; /* numbers of a contact whose friction has more than one coefficient */

/* Away from impacts the impulse of compression is the normal impulse: said once. */
static bool compressed(const kn_contact* c) {
  return memcmp(&c->impulse_compression, &c->impulse[0], sizeof(double)) == 0;
}

static void contact_numbers(double x[NUMBERS], const kn_contact* c) {
  memcpy(x, c->point, sizeof c->point);
  memcpy(x + 3, c->frame, sizeof c->frame);
  x[12] = c->gap, x[13] = c->mu, x[14] = c->e;
  memcpy(x + IMPULSE, c->impulse, sizeof c->impulse);
  memcpy(x + 18, c->velocity, sizeof c->velocity);
  x[21] = c->e_used, x[COMPRESSION] = compressed(c) ? 0.0 : c->impulse_compression,
  x[23] = c->impulse_decompression;
}

static void set_numbers(kn_contact* c, const double x[NUMBERS], bool same_compression) {
  memcpy(c->point, x, sizeof c->point);
  memcpy(c->frame, x + 3, sizeof c->frame);
  c->gap = x[12], c->mu = x[13], c->e = x[14];
  memcpy(c->impulse, x + IMPULSE, sizeof c->impulse);
  memcpy(c->velocity, x + 18, sizeof c->velocity);
  c->e_used = x[21], c->impulse_compression = x[same_compression ? IMPULSE : COMPRESSION],
  c->impulse_decompression = x[23];
}

static bool turns(const kn_contact* c) { return c->mu2 != c->mu || c->torsion != 0.0 || c->roll != 0.0; }

static void turning_numbers(double x[TURNING], const kn_contact* c) {
  x[0] = c->mu2, x[1] = c->torsion, x[2] = c->roll;
  memcpy(x + 3, c->moment, sizeof c->moment);
  memcpy(x + 6, c->spin, sizeof c->spin);
}

static void set_turning(kn_contact* c, const double x[TURNING]) {
  c->mu2 = x[0], c->torsion = x[1], c->roll = x[2];
  memcpy(c->moment, x + 3, sizeof c->moment);
  memcpy(c->spin, x + 6, sizeof c->spin);
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

typedef struct manner {
  uint8_t mode, determinate, bits;
} manner;

static manner manner_of(const kn_contact* c) {
  return (manner){(uint8_t)c->mode, (uint8_t)c->determinate,
                  (uint8_t)((c->impact ? COLLIDES : 0) | (c->compliant ? COMPLIANT : 0) |
                            (compressed(c) ? COMPRESSED : 0) | (turns(c) ? TURNS : 0))};
}

static bool same_manner(manner a, manner b) {
  return a.mode == b.mode && a.determinate == b.determinate && a.bits == b.bits;
}

static void put_contact(const kn_frames* f, kn_bytes* out, const kn_contact* c, int guess) {
  double x[NUMBERS], before[NUMBERS];
  int at = guess <= UINT16_MAX ? old_contact(f, c->key, guess < f->lasts ? guess : 0) : -1;
  const kn_contact* old = at >= 0 && at <= UINT16_MAX ? &f->last[at] : NULL;
  manner m = manner_of(c);
  int kind = !old ? NEW : same_bodies(c, old) ? KNOWN_BODIES : KNOWN;
  if (kind == KNOWN_BODIES && at == guess && same_manner(m, manner_of(old))) kind = SAME;
  kn_put_u8(out, (uint8_t)kind);
  if (kind == NEW)
    kn_put_u64(out, c->key);
  else if (kind != SAME)
    kn_put_u16(out, (uint16_t)at);
  int32_t i[] = {c->geom_a, c->geom_b, c->body_a, c->body_b, c->island};
  if (kind == NEW || kind == KNOWN) kn_put(out, i, sizeof i);
  if (kind != SAME) kn_put(out, &m, sizeof m);
  contact_numbers(x, c);
  if (old) contact_numbers(before, old);
  kn_values_put(out, x, old ? before : NULL, NUMBERS);
  if (m.bits & TURNS) {
    turning_numbers(x, c);
    if (old) turning_numbers(before, old);
    kn_values_put(out, x, old ? before : NULL, TURNING);
  }
  if (c->compliant) kn_put(out, c->delta, sizeof c->delta);
}

static bool inside(int i, int n) { return i >= -1 && i < n; } /* -1: none, or the world */

static bool names_exist(const kn_model* m, const kn_contact* c) {
  return inside(c->geom_a, m->ngeom) && inside(c->geom_b, m->ngeom) && inside(c->body_a, m->nbody) &&
         inside(c->body_b, m->nbody);
}

static void get_contact(const kn_frames* f, kn_view* in, kn_contact* c, int guess) {
  double x[NUMBERS], before[NUMBERS];
  uint8_t kind = kn_get_u8(in);
  const kn_contact* old = NULL;
  *c = (kn_contact){0};
  if (kind == NEW) {
    c->key = kn_get_u64(in);
  } else {
    int at = kind == SAME ? guess : kn_get_u16(in);
    if (kind > SAME || at >= f->lasts) {
      in->bad = true;
      return;
    }
    old = &f->last[at];
    *c = *old;
    contact_numbers(before, old);
  }
  if (kind == NEW || kind == KNOWN) {
    int32_t i[5];
    kn_get(in, i, sizeof i);
    c->geom_a = i[0], c->geom_b = i[1], c->body_a = i[2], c->body_b = i[3], c->island = i[4];
  }
  manner m = old ? manner_of(old) : (manner){0};
  if (kind != SAME) kn_get(in, &m, sizeof m);
  kn_values_get(in, x, old ? before : NULL, NUMBERS);
  set_numbers(c, x, m.bits & COMPRESSED);
  c->mode = m.mode, c->determinate = m.determinate;
  double turning[TURNING] = {c->mu};
  if (old) turning_numbers(before, old);
  if (m.bits & TURNS) kn_values_get(in, turning, old ? before : NULL, TURNING);
  set_turning(c, turning);
  c->impact = m.bits & COLLIDES, c->compliant = (m.bits & COMPLIANT) != 0;
  memset(c->delta, 0, sizeof c->delta);
  if (c->compliant) kn_get(in, c->delta, sizeof c->delta);
  if (!names_exist(f->model, c)) in->bad = true;
}

/* The contacts of this step are the old ones of the next. */
static bool keep_contacts(kn_frames* f, const kn_contact* list, int n) {
  if (!KN_ROOM(f->last, f->last_capacity, n)) return false;
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

/* Follows the events, for each that is a trouble. */
static void put_trouble(kn_bytes* out, const kn_event* e) {
  int32_t i[] = {(int32_t)e->trouble, e->loop};
  kn_put(out, i, sizeof i);
  kn_put_u64(out, e->key);
  kn_put_f64(out, e->limit);
  if (e->trouble == KN_TROUBLE_ENERGY_RISE) kn_put(out, e->text, sizeof e->text);
}

static void get_trouble(const kn_model* m, kn_view* in, kn_event* e) {
  int32_t i[2] = {0};
  kn_get(in, i, sizeof i);
  e->key = kn_get_u64(in);
  e->limit = kn_get_f64(in);
  if (i[0] < 0 || i[0] >= KN_TROUBLE_COUNT || !inside(i[1], m->nloop)) {
    in->bad = true;
    return;
  }
  e->trouble = (kn_trouble_kind)i[0], e->loop = i[1];
  if (e->trouble == KN_TROUBLE_ENERGY_RISE) kn_get(in, e->text, sizeof e->text);
  e->text[sizeof e->text - 1] = 0;
}

static void get_event(const kn_model* m, kn_view* in, kn_event* e) {
  int32_t i[4];
  *e = (kn_event){.trouble = KN_TROUBLE_COUNT, .loop = -1};
  e->t = kn_get_f64(in);
  kn_get(in, i, sizeof i);
  e->value = kn_get_f64(in);
  e->kind = i[0], e->geom_a = i[1], e->geom_b = i[2], e->joint = i[3];
  if (e->kind == KN_EVENT_SWITCH) kn_get(in, e->text, sizeof e->text);
  e->text[sizeof e->text - 1] = 0;
  if (!inside(e->geom_a, m->ngeom) || !inside(e->geom_b, m->ngeom) || !inside(e->joint, m->njoint))
    in->bad = true;
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

enum { LEDGER = sizeof(kn_ledger) / sizeof(double) };
_Static_assert(KN_FRAME_NUMBERS == 14 + 2 * LEDGER, "all numbers of the report have their place");

/* Time and size of the step first, then the report; the ledger's totals last, for which the sum of the total
   before and this step is the guess. */
static void report_numbers(double x[KN_FRAME_NUMBERS], const kn_report* r, double time) {
  double first[] = {time,
                    r->dt,
                    r->residual,
                    r->penetration,
                    r->lift,
                    r->closure,
                    r->drift,
                    r->correction,
                    r->audit,
                    r->gain_rel,
                    r->momentum_error,
                    r->energy.kinetic,
                    r->energy.potential,
                    r->energy.spring};
  memcpy(x, first, sizeof first);
  memcpy(x + 14, &r->ledger, sizeof r->ledger);
  memcpy(x + 14 + LEDGER, &r->total, sizeof r->total);
}

static void put_numbers(kn_frames* f, kn_bytes* out, const kn_report* r, double time) {
  double x[KN_FRAME_NUMBERS];
  report_numbers(x, r, time);
  f->number[0] += f->number[1];
  kn_values_put(out, x, f->number, 14 + LEDGER);
  for (int i = 14 + LEDGER; i < KN_FRAME_NUMBERS; i++) f->number[i] += x[i - LEDGER];
  kn_values_put(out, x + 14 + LEDGER, f->number + 14 + LEDGER, LEDGER);
  memcpy(f->number, x, sizeof x);
}

static void get_numbers(kn_frames* f, kn_view* in, kn_recorded* r) {
  double* x = f->number;
  x[0] += x[1];
  kn_values_get(in, x, x, 14 + LEDGER);
  for (int i = 14 + LEDGER; i < KN_FRAME_NUMBERS; i++) x[i] += x[i - LEDGER];
  kn_values_get(in, x + 14 + LEDGER, x + 14 + LEDGER, LEDGER);
  r->t = x[0], r->dt = x[1], r->residual = x[2], r->penetration = x[3], r->lift = x[4], r->closure = x[5];
  r->drift = x[6], r->correction = x[7], r->audit = x[8], r->gain_rel = x[9], r->momentum_error = x[10];
  r->energy = (kn_energy){x[11], x[12], x[13]};
  memcpy(&r->ledger, x + 14, sizeof r->ledger);
  memcpy(&r->total, x + 14 + LEDGER, sizeof r->total);
}

static bool counts_differ(kn_frames* f, const kn_report* r) {
  int32_t i[KN_FRAME_COUNTS] = {
      (int32_t)r->status, (int32_t)r->verdict.kind, r->lcp_size, r->solves, r->iterations, r->islands};
  bool differ = memcmp(i, f->count, sizeof i) != 0;
  memcpy(f->count, i, sizeof i);
  return differ;
}

/* ---- whole steps ---- */

/* 2 a - b: inputs and forces go on as they went. Both sides keep what they saw. */
static void go_on(double* guess, double* last, const double* now, int n) {
  for (int i = 0; i < n; i++) guess[i] = 2.0 * now[i] - last[i];
  copy(last, now, n);
}

/* The push of contact goes on: v_free - v as in the step before. */
static const double* guess_free(const kn_frames* f, const double* v) {
  for (int i = 0; i < f->model->nv; i++) f->guess_v[i] = v[i] + f->push[i];
  return f->guess_v;
}

static void keep_push(kn_frames* f, const double* v_free, const double* v) {
  for (int i = 0; i < f->model->nv; i++) f->push[i] = v_free[i] - v[i];
}

static void put_arrays(kn_frames* f, kn_bytes* out, const kn_snapshot* s, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  go_on(f->tau_guess, f->tau_last, f->tau, nv);
  kn_values_put(out, s->tau, f->tau_guess, nv);
  kn_values_put(out, s->v_free, guess_free(f, s->v), nv);
  copy(f->tau, s->tau, nv);
  keep_push(f, s->v_free, s->v);
  if (flags & BIAS) kn_values_put(out, s->v_bias, s->v, nv);
  if (flags & SCALED) kn_values_put(out, s->v_solved, s->v, nv);
  if (flags & EXTRA) kn_values_put(out, s->extra, f->extra, nv), copy(f->extra, s->extra, nv);
  go_on(f->ctrl_guess, f->ctrl_last, f->ctrl, nu);
  if (flags & INPUTS) {
    kn_values_put(out, s->ctrl, f->ctrl_guess, nu), copy(f->ctrl, s->ctrl, nu);
    kn_values_put(out, s->force, f->force, nv), copy(f->force, s->force, nv);
  }
  if (flags & CONTROLLED) kn_values_put(out, s->control, f->control, nv), copy(f->control, s->control, nv);
}

static uint32_t flags_of(kn_frames* f, const kn_snapshot* s, bool first) {
  const kn_model* m = f->model;
  const kn_report* r = &s->report;
  uint32_t flags = (s->impact ? IMPACT : 0) | (s->scaled ? SCALED : 0);
  if (first || (s->q_before && (!same(s->q_before, f->q, m->nq) || !same(s->v_before, f->v, m->nv))))
    flags |= BEFORE;
  if (s->v_bias) flags |= BIAS;
  if (s->control) flags |= CONTROLLED;
  if (!same(s->ctrl, f->ctrl, m->nu) || !same(s->force, f->force, m->nv)) flags |= INPUTS;
  if (!same(s->extra, f->extra, m->nv)) flags |= EXTRA;
  if (s->step != f->step + 1) flags |= STEP;
  if (r->contacts) flags |= CONTACTS;
  if (r->events) flags |= EVENTS;
  if (kn_report_in_trouble(r)) flags |= TROUBLES;
  if (r->limit_impulse) flags |= LIMITS;
  if (f->loop_rows) flags |= LOOPS;
  if (r->dry_impulse) flags |= DRY;
  if (s->sensors) flags |= SENSORS;
  if (counts_differ(f, r)) flags |= COUNTS;
  return flags;
}

void kn_frame_put(kn_frames* f, kn_bytes* out, const kn_snapshot* s, bool first) {
  const kn_model* m = f->model;
  const kn_report* r = &s->report;
  size_t start = out->n;
  uint32_t flags = flags_of(f, s, first);
  kn_put_u32(out, flags);
  kn_put_u64(out, s->hash);
  if (flags & STEP) kn_put_u64(out, (uint64_t)s->step);
  if (flags & COUNTS) kn_put(out, f->count, sizeof f->count);
  put_numbers(f, out, r, s->time);
  if (flags & BEFORE)
    kn_values_put(out, s->q_before ? s->q_before : f->q, NULL, m->nq),
        kn_values_put(out, s->v_before ? s->v_before : f->v, NULL, m->nv);
  kn_codec_put(&f->state, out, s->q, s->v, r->dt);
  put_arrays(f, out, s, flags);
  if (flags & CONTACTS) kn_put_u32(out, (uint32_t)r->contacts);
  for (int i = 0; i < r->contacts; i++) put_contact(f, out, &r->contact[i], i);
  if (!keep_contacts(f, r->contact, r->contacts)) out->failed = true;
  if (flags & EVENTS) kn_put_u32(out, (uint32_t)r->events);
  for (int i = 0; i < r->events; i++) put_event(out, &r->event[i]);
  for (int i = 0; i < r->events; i++)
    if (r->event[i].kind == KN_EVENT_TROUBLE) put_trouble(out, &r->event[i]);
  if (flags & LIMITS) put_sparse(out, r->limit_impulse, m->nlimit);
  if (flags & LOOPS) put_sparse(out, r->loop_impulse, f->loop_rows);
  if (flags & DRY) put_sparse(out, r->dry_impulse, m->nv);
  if (flags & SENSORS) {
    kn_values_put(out, s->sensors, f->sensor, kn_model_sensor_numbers(m));
    copy(f->sensor, s->sensors, kn_model_sensor_numbers(m));
  }
  if (out->failed) return;
  f->chain = kn_hash_bytes(f->chain, out->at + start, out->n - start);
  kn_put_u64(out, f->chain);
  copy(f->q, s->q, m->nq);
  copy(f->v, s->v, m->nv);
  f->step = s->step;
}

static void get_arrays(kn_frames* f, kn_view* in, uint32_t flags) {
  int nv = f->model->nv, nu = f->model->nu;
  go_on(f->tau_guess, f->tau_last, f->tau, nv);
  kn_values_get(in, f->tau, f->tau_guess, nv);
  kn_values_get(in, f->v_free, guess_free(f, f->v), nv);
  keep_push(f, f->v_free, f->v);
  copy(f->v_bias, f->v_before, nv);
  if (flags & BIAS) kn_values_get(in, f->v_bias, f->v, nv);
  copy(f->v_solved, f->v, nv);
  if (flags & SCALED) kn_values_get(in, f->v_solved, f->v, nv);
  if (flags & EXTRA) kn_values_get(in, f->extra, f->extra, nv);
  go_on(f->ctrl_guess, f->ctrl_last, f->ctrl, nu);
  if (flags & INPUTS)
    kn_values_get(in, f->ctrl, f->ctrl_guess, nu), kn_values_get(in, f->force, f->force, nv);
  if (flags & CONTROLLED) kn_values_get(in, f->control, f->control, nv);
}

static bool get_lists(kn_frames* f, kn_view* in, kn_recorded* out, uint32_t flags) {
  uint32_t n = flags & CONTACTS ? kn_get_u32(in) : 0;
  if (in->bad || n > in->left / LEAST_CONTACT || n > INT32_MAX ||
      !KN_ROOM(f->contact, f->contact_capacity, (int)n))
    return false;
  out->contacts = (int)n;
  for (uint32_t i = 0; i < n; i++) get_contact(f, in, &f->contact[i], (int)i);
  if (!keep_contacts(f, f->contact, out->contacts)) return false;
  n = flags & EVENTS ? kn_get_u32(in) : 0;
  if (in->bad || n > in->left / 32 || n > INT32_MAX || !KN_ROOM(f->event, f->event_capacity, (int)n))
    return false;
  out->events = (int)n;
  for (uint32_t i = 0; i < n; i++) get_event(f->model, in, &f->event[i]);
  for (uint32_t i = 0; i < n && flags & TROUBLES; i++)
    if (f->event[i].kind == KN_EVENT_TROUBLE) get_trouble(f->model, in, &f->event[i]);
  memset(f->limit, 0, (size_t)f->model->nlimit * sizeof(double));
  if (flags & LIMITS) get_sparse(in, f->limit, f->model->nlimit);
  if (flags & LOOPS) get_sparse(in, f->loop, f->loop_rows);
  if (flags & DRY) get_sparse(in, f->dry, f->model->nv);
  if (flags & SENSORS) kn_values_get(in, f->sensor, f->sensor, kn_model_sensor_numbers(f->model));
  return !in->bad;
}

static void hand_out(const kn_frames* f, kn_recorded* out) {
  out->step = f->step;
  out->q = f->q, out->v = f->v, out->q_before = f->q_before, out->v_before = f->v_before;
  out->ctrl = f->ctrl, out->force = f->force, out->tau = f->tau, out->extra = f->extra;
  out->v_bias = f->v_bias, out->v_free = f->v_free, out->v_solved = f->v_solved;
  out->contact = f->contact, out->event = f->event;
  out->limits = f->model->nlimit, out->loops = f->loop_rows;
  out->limit_impulse = f->limit, out->loop_impulse = f->loop;
  const int32_t* i = f->count;
  out->status = i[0], out->verdict = i[1], out->lcp_size = i[2], out->solves = i[3];
  out->iterations = i[4], out->islands = i[5];
}

bool kn_frame_get(kn_frames* f, kn_recorded* out, kn_view in) {
  const kn_model* m = f->model;
  hand_out(f, memset(out, 0, sizeof *out));
  if (in.left < 8) return false;
  uint64_t chain = kn_hash_bytes(f->chain, in.at, in.left - 8), written;
  memcpy(&written, in.at + in.left - 8, 8);
  uint32_t flags = kn_get_u32(&in);
  out->state_hash = kn_get_u64(&in);
  out->impact = (flags & IMPACT) != 0;
  out->chain = written;
  f->step = flags & STEP ? (int64_t)kn_get_u64(&in) : f->step < INT64_MAX ? f->step + 1 : f->step;
  if (flags & COUNTS) kn_get(&in, f->count, sizeof f->count);
  get_numbers(f, &in, out);
  copy(f->q_before, f->q, m->nq), copy(f->v_before, f->v, m->nv);
  if (flags & BEFORE)
    kn_values_get(&in, f->q_before, NULL, m->nq), kn_values_get(&in, f->v_before, NULL, m->nv);
  kn_codec_get(&f->state, &in, f->q, f->v, out->dt);
  get_arrays(f, &in, flags);
  if (!get_lists(f, &in, out, flags)) in.bad = true, out->contacts = out->events = f->lasts = 0;
  hand_out(f, out); /* lists may have moved */
  if (flags & CONTROLLED) out->control = f->control;
  if (flags & DRY) out->dry_impulse = f->dry;
  if (flags & SENSORS) out->sensors = f->sensor;
  kn_get_u64(&in);
  f->chain = written;
  return !in.bad && in.left == 0 && chain == written;
}
