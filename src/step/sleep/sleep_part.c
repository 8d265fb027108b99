/* The awake part of a mechanism: its model, in which sleeping shapes belong to the world, a simulator and a state
   of it, and a step's numbers between the part and the whole. Trees keep their order, so that a tree's
   coordinates and dofs are one range in both. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/spec.h"
#include "spatial/spatial.h"
#include "step/sleep/sleep.h"

/* ---- the model ---- */

typedef struct maker {
  const kn_sim* s;
  kn_spec* spec;
  int *body, *joint, *frame; /* of the part, by index of the whole; -1: asleep */
} maker;

static bool link_sleeps(const kn_sleep* z, int link) {
  for (int t = 0; t < z->trees; t++)
    if (link >= z->tree[t].link && link < z->tree[t].link_end) return z->asleep[t];
  return false;
}

static int part_body(const maker* k, int body) { return body < 0 ? body : k->body[body]; }

static kn_status add_bodies(maker* k, bool* sleeps) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->nbody; i++) {
    kn_body_def d = m->body[i];
    sleeps[i] = m->place[i].link >= 0 && link_sleeps(k->s->sleep, m->place[i].link);
    k->body[i] = -1;
    if (sleeps[i]) continue;
    d.parent = part_body(k, d.parent);
    KN_TRY(kn_spec_add_body(&k->body[i], k->spec, &d));
  }
  return KN_OK;
}

static kn_status add_joints(maker* k, const bool* sleeps, kn_sleep_part* p) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->njoint; i++) {
    kn_joint_def d = m->joint[i];
    k->joint[i] = -1;
    if (sleeps[d.body]) continue;
    d.body = k->body[d.body];
    KN_TRY(kn_spec_add_joint(&k->joint[i], k->spec, &d));
    p->joint[k->joint[i]] = i;
  }
  return KN_OK;
}

/* Sleeping shapes stand where they are. The whole's data has the poses. */
static kn_status add_geoms(maker* k, const bool* sleeps) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->ngeom; i++) {
    kn_geom_def d = m->geom[i];
    d.own_shape = false;
    if (d.body >= 0 && sleeps[d.body]) {
      kn_pose link, at;
      kn_link_pose(&link, k->s->data, m->geom_place[i].link);
      at = kn_pose_mul(&link, &m->geom_place[i].in_link);
      memcpy(d.pos, at.p, sizeof d.pos);
      kn_quat_from_rotation(d.quat, at.R);
      d.body = KN_WORLD;
    } else {
      d.body = part_body(k, d.body);
    }
    KN_TRY(kn_spec_add_geom(NULL, k->spec, &d));
  }
  return KN_OK;
}

static kn_status add_frames(maker* k, const bool* sleeps) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->nframe; i++) {
    kn_frame_def d = m->frame[i];
    k->frame[i] = -1;
    if (d.body >= 0 && sleeps[d.body]) continue;
    d.body = part_body(k, d.body);
    KN_TRY(kn_spec_add_frame(&k->frame[i], k->spec, &d));
  }
  return KN_OK;
}

static kn_status add_actuators(maker* k, kn_sleep_part* p) {
  const kn_model* m = k->s->model;
  for (int i = 0, n = 0; i < m->nu; i++) {
    kn_actuator_def d = m->actuator[i];
    bool sleeps = false;
    for (int j = 0; j < d.joints; j++) {
      sleeps |= k->joint[d.joint[j]] < 0;
      d.joint[j] = k->joint[d.joint[j]];
    }
    if (sleeps) continue;
    if (d.joints == 0) d.site = k->frame[d.site], d.refsite = d.refsite < 0 ? -1 : k->frame[d.refsite];
    KN_TRY(kn_spec_add_actuator(NULL, k->spec, &d));
    p->actuator[n++] = i;
  }
  return KN_OK;
}

static kn_status add_loops(maker* k) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->nloop; i++) {
    kn_loop_def d = m->loop[i];
    if (d.type == KN_LOOP_COUPLING) {
      d.joint1 = k->joint[d.joint1];
      if (d.joint2 >= 0) d.joint2 = k->joint[d.joint2];
    } else {
      d.a = part_body(k, d.a), d.b = part_body(k, d.b);
    }
    KN_TRY(kn_spec_add_loop(NULL, k->spec, &d));
  }
  return KN_OK;
}

/* Rules that name sleepers only say nothing here; those that name one of two trees keep both awake (sleep.c). */
static kn_status add_rules(maker* k) {
  const kn_model* m = k->s->model;
  for (int i = 0; i < m->rules.npair; i++) {
    const kn_pair_def* d = &m->rules.pair[i];
    const kn_sleep* z = k->s->sleep;
    int a = z->tree_of_geom[d->a], b = z->tree_of_geom[d->b];
    bool moves = (a >= 0 && !z->asleep[a]) || (b >= 0 && !z->asleep[b]);
    if (moves) KN_TRY(kn_spec_add_pair(k->spec, d));
  }
  for (int i = 0; i < m->rules.nexclusion; i++) {
    int a = m->rules.exclusion[i][0], b = m->rules.exclusion[i][1];
    if ((a >= 0 && k->body[a] < 0) || (b >= 0 && k->body[b] < 0)) continue;
    KN_TRY(kn_spec_add_exclusion(k->spec, part_body(k, a), part_body(k, b)));
  }
  return KN_OK;
}

static kn_status describe(maker* k, kn_sleep_part* p, bool* sleeps) {
  const kn_model* m = k->s->model;
  k->spec->compiled = true;
  KN_TRY(kn_spec_set_name(k->spec, m->name));
  KN_TRY(kn_spec_set_gravity(k->spec, m->gravity));
  KN_TRY(add_bodies(k, sleeps));
  KN_TRY(add_joints(k, sleeps, p));
  KN_TRY(add_geoms(k, sleeps));
  KN_TRY(add_frames(k, sleeps));
  KN_TRY(add_actuators(k, p));
  KN_TRY(add_loops(k));
  KN_TRY(add_rules(k));
  return kn_compile(&p->model, k->spec);
}

static kn_status make_model(kn_sim* s, kn_sleep_part* p) {
  const kn_model* m = s->model;
  maker k = {.s = s};
  size_t n = (size_t)m->nbody + (size_t)m->njoint + (size_t)m->nframe + 1;
  k.body = malloc(n * sizeof *k.body);
  bool* sleeps = calloc((size_t)m->nbody + 1, sizeof *sleeps);
  kn_status status =
      k.body && sleeps ? kn_spec_create(&k.spec) : kn_fail(KN_OUT_OF_MEMORY, "no memory to let sleep");
  k.joint = k.body + m->nbody, k.frame = k.joint + m->njoint;
  if (status == KN_OK) status = describe(&k, p, sleeps);
  kn_spec_destroy(k.spec);
  free(k.body);
  free(sleeps);
  return status;
}

/* ---- a step's numbers ---- */

/* Coordinates and dofs of the awake trees, from the whole to the part or back. */
typedef enum part_of { OF_Q, OF_V } part_of;

static void gather(double* part, const double* whole, const kn_sleep* z, part_of which) {
  for (int t = 0; t < z->trees; t++) {
    if (z->asleep[t]) continue;
    int from = which == OF_Q ? z->tree[t].q : z->tree[t].v,
        to = which == OF_Q ? z->tree[t].q_end : z->tree[t].v_end;
    memcpy(part, whole + from, (size_t)(to - from) * sizeof *part);
    part += to - from;
  }
}

static void scatter(double* whole, const double* part, const kn_sleep* z, part_of which) {
  for (int t = 0; t < z->trees; t++) {
    if (z->asleep[t]) continue;
    int from = which == OF_Q ? z->tree[t].q : z->tree[t].v,
        to = which == OF_Q ? z->tree[t].q_end : z->tree[t].v_end;
    memcpy(whole + from, part, (size_t)(to - from) * sizeof *part);
    part += to - from;
  }
}

void kn_sleep_part_feed(kn_sim* s, const kn_state* x) {
  kn_sleep* z = s->sleep;
  kn_state* y = z->part.state;
  gather(y->q, x->q, z, OF_Q);
  gather(y->v, x->v, z, OF_V);
  gather(y->force, x->force, z, OF_V);
  for (int i = 0; i < z->part.model->nu; i++) y->ctrl[i] = x->ctrl[z->part.actuator[i]];
  y->time = x->time, y->step = x->step;
}

/* The n-th awake dof is the n-th of the part. */
static int whole_dof(const kn_sleep* z, int dof) {
  for (int t = 0, first = 0; t < z->trees; t++) {
    int n = z->tree[t].v_end - z->tree[t].v;
    if (z->asleep[t]) continue;
    if (dof < first + n) return z->tree[t].v + dof - first;
    first += n;
  }
  return dof;
}

static int part_index(const int* of_part, int count, int whole) {
  for (int i = 0; i < count; i++)
    if (of_part[i] == whole) return i;
  return whole;
}

/* Keys of limits and dry friction have indices in them. */
static uint64_t key_out(const kn_sleep* z, uint64_t key) {
  uint64_t kind = key >> KN_WARM_KIND, index = (uint32_t)key;
  if (kind == KN_ROW_LIMIT) return kind << KN_WARM_KIND | (uint64_t)z->part.limit[index];
  if (kind == KN_ROW_FRICTION) return kind << KN_WARM_KIND | (uint64_t)whole_dof(z, (int)index);
  return key;
}

static uint64_t key_in(const kn_sleep* z, uint64_t key) {
  uint64_t kind = key >> KN_WARM_KIND;
  int index = (int)(uint32_t)key;
  if (kind == KN_ROW_LIMIT)
    return kind << KN_WARM_KIND | (uint64_t)part_index(z->part.limit, z->part.model->nlimit, index);
  for (int i = 0; kind == KN_ROW_FRICTION && i < z->part.model->nv; i++)
    if (whole_dof(z, i) == index) return kind << KN_WARM_KIND | (uint64_t)i;
  return key;
}

static kn_status copy_block(kn_state* to, const kn_state* from, const char* name) {
  const kn_state_block* a = NULL;
  kn_state_block* b;
  for (int i = 0; i < from->nblock && !a; i++)
    if (strcmp(from->block[i].name, name) == 0) a = &from->block[i];
  if (!a) return KN_OK;
  KN_TRY(kn_state_add_block(&b, to, name, a->used));
  memcpy(b->data, a->data, a->used);
  if (b->used > a->used) memset((char*)b->data + a->used, 0, b->used - a->used);
  b->used = a->used;
  return KN_OK;
}

static kn_status copy_entries(kn_state* to, const kn_state* from, const kn_sleep* z,
                              uint64_t (*key)(const kn_sleep*, uint64_t)) {
  KN_TRY(copy_block(to, from, "pairs"));
  KN_TRY(copy_block(to, from, "anchors"));
  KN_TRY(copy_block(to, from, "impulses"));
  KN_TRY(copy_block(to, from, "travel"));
  KN_TRY(copy_block(to, from, "energy")); /* of the awake: its mark is that of their q and v */
  KN_TRY(copy_block(to, from, "drift"));
  const kn_state_block* b = kn_state_find_block(to, "impulses");
  kn_warm_entry* e = b->data;
  for (size_t i = 0; i < b->used / sizeof *e; i++) e[i].key = key(z, e[i].key);
  return KN_OK;
}

/* ---- the report ---- */

static void raise_energy(kn_energy* e, const kn_energy* by, double sign) {
  e->potential += sign * by->potential, e->spring += sign * by->spring;
}

/* What runs on beside the state; the sleepers' energy is in the whole's, not in the part's. */
static void copy_book(kn_sim* to, const kn_sim* from, const kn_energy* sleepers, double sign) {
  kn_sim_book *a = &to->book, *rest = a;
  const kn_sim_book* b = &from->book;
  double by = sign * (sleepers->potential + sleepers->spring);
  rest->kinetic_max = b->kinetic_max;
  a->potential_min = b->potential_min + by, a->potential_max = b->potential_max + by;
  a->started = b->started, a->rise = b->rise, a->energy_now = b->energy_now;
  raise_energy(&a->energy_now, sleepers, sign);
  a->rise.last += by, a->rise.low += by;
  to->report.total = from->report.total, to->report.rise = from->report.rise;
  to->report.gain_rel = from->report.gain_rel;
  to->report.rise.initial += by;
}

static void copy_contacts(kn_sim* s, const kn_sim* part) {
  const kn_sleep* z = s->sleep;
  kn_contact* to = s->touch.contact;
  memcpy(to, z->contact, (size_t)z->contacts * sizeof *to);
  to += z->contacts;
  memcpy(to, part->report.contact, (size_t)part->report.contacts * sizeof *to);
  for (int i = 0; i < part->report.contacts; i++) {
    to[i].body_a = s->model->geom_place[to[i].geom_a].body;
    to[i].body_b = s->model->geom_place[to[i].geom_b].body;
    if (to[i].island >= 0) to[i].island += z->islands;
  }
  s->touch.contacts = z->contacts + part->report.contacts;
}

static void copy_report(kn_sim* s, const kn_sim* part) {
  kn_sleep* z = s->sleep;
  kn_report* r = &s->report;
  *r = part->report;
  copy_contacts(s, part);
  r->contact = s->touch.contact, r->contacts = s->touch.contacts;
  memcpy(s->book.event, part->report.event, (size_t)r->events * sizeof *r->event);
  for (int i = 0; i < r->events; i++)
    if (s->book.event[i].joint >= 0) s->book.event[i].joint = z->part.joint[s->book.event[i].joint];
  r->event = s->book.event;
  memset(s->book.limit_impulse, 0, (size_t)s->model->nlimit * sizeof(double));
  for (int i = 0; i < z->part.model->nlimit; i++)
    s->book.limit_impulse[z->part.limit[i]] = part->report.limit_impulse[i];
  if (part->report.dry_impulse) scatter(s->book.dry_impulse, part->report.dry_impulse, z, OF_V);
  r->dry_impulse = s->facts.dry ? s->book.dry_impulse : NULL;
  r->limit_impulse = s->book.limit_impulse; /* loops are all awake: the part's rows are the whole's */
  r->islands += z->islands;
  if (r->penetration < z->penetration) r->penetration = z->penetration;
  raise_energy(&r->energy, &z->energy, 1.0);
}

/* All rows of the block "rate" that are known; of sleepers those that had none are zero. */
static void copy_rates(kn_state* to, kn_state* from, const kn_sleep* z,
                       void (*copy)(double*, const double*, const kn_sleep*, part_of)) {
  kn_state_block *b = kn_state_find_block(to, "rate"), *a = kn_state_find_block(from, "rate");
  size_t n = kn_rate_stride(to->model), m = kn_rate_stride(from->model),
         rows = m ? a->used / (m * sizeof(double)) : 0;
  size_t had = b->used / sizeof(double), has = rows * n;
  for (size_t i = had; i < has; i++) ((double*)b->data)[i] = 0.0;
  for (size_t r = 0; r < rows; r++) copy((double*)b->data + r * n, (const double*)a->data + r * m, z, OF_V);
  b->used = has * sizeof(double);
}

kn_status kn_sleep_part_fetch(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  kn_sim* part = z->part.sim;
  kn_state* y = z->part.state;
  int contacts = z->contacts + part->report.contacts;
  if (contacts > s->room.contacts || part->report.events > s->room.events)
    KN_TRY(kn_sim_make_room(s, contacts + contacts / 2 + part->report.events / 4));
  KN_TRY(copy_entries(x, y, z, key_out));
  scatter(x->q, y->q, z, OF_Q);
  scatter(x->v, y->v, z, OF_V);
  scatter(s->past.q, y->q, z, OF_Q);
  scatter(s->past.v, y->v, z, OF_V);
  copy_rates(x, y, z, scatter);
  x->time = y->time, x->step = y->step;
  copy_report(s, part);
  copy_book(s, part, &z->energy, 1.0);
  s->past.continues = true;
  return KN_OK;
}

/* ---- its life ---- */

static kn_status make_maps(kn_sleep_part* p, const kn_model* m) {
  size_t n = (size_t)m->nlimit + (size_t)m->njoint + (size_t)m->nu + 1;
  p->limit = calloc(n, sizeof *p->limit);
  if (!p->limit) return kn_fail(KN_OUT_OF_MEMORY, "no memory to let sleep");
  p->joint = p->limit + m->nlimit, p->actuator = p->joint + m->njoint;
  return KN_OK;
}

static void map_limits(const kn_sim* s, kn_sleep_part* p) {
  for (int i = 0, n = 0; i < s->model->nlimit; i++)
    if (!link_sleeps(s->sleep, s->model->limit[i].link)) p->limit[n++] = i;
}

/* Energy of the sleepers: the whole's less the part's. */
static void weigh(kn_sim* s, const kn_state* x) {
  kn_sleep* z = s->sleep;
  kn_energy all, part;
  kn_dyn_energy(&all, s->data, s->model, x->q, x->v);
  kn_dyn_energy(&part, z->part.sim->data, z->part.model, z->part.state->q, z->part.state->v);
  z->energy = (kn_energy){.potential = all.potential - part.potential, .spring = all.spring - part.spring};
}

static kn_status create(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  kn_sleep_part* p = &z->part;
  kn_sim_settings settings = s->settings;
  settings.sleep = 0.0;
  if (!settings.max_contacts) settings.contact_room = 0;
  KN_TRY(make_maps(p, s->model));
  kn_dyn_position(s->data, s->model, x->q);
  kn_data_fill(s->data);
  KN_TRY(make_model(s, p));
  map_limits(s, p);
  KN_TRY(kn_sim_create(&p->sim, p->model, &settings));
  KN_TRY(kn_state_create(&p->state, p->model));
  KN_TRY(kn_sim_prepare(p->sim, p->state));
  KN_TRY(copy_entries(p->state, x, z, key_in));
  copy_rates(p->state, x, z, gather);
  kn_sleep_part_feed(s, x);
  weigh(s, x);
  copy_book(p->sim, s, &z->energy, -1.0);
  gather(p->sim->past.q, s->past.q, z, OF_Q); /* not the state's, which the caller may have changed */
  gather(p->sim->past.v, s->past.v, z, OF_V);
  return KN_OK;
}

kn_status kn_sleep_part_create(kn_sim* s, kn_state* x) {
  kn_status status = create(s, x);
  if (status != KN_OK) kn_sleep_part_drop(s->sleep);
  return status;
}

void kn_sleep_part_drop(kn_sleep* z) {
  kn_state_destroy(z->part.state);
  kn_sim_destroy(z->part.sim);
  kn_model_destroy(z->part.model);
  free(z->part.limit);
  z->part = (kn_sleep_part){0};
}
