/* Troubles: what they are called, where they happened, and how the steps of a run add up (trouble.h). Raised
   by every stage that could not do its work as it should; read by run, verify, demo and recordings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "step/sim.h"

typedef struct kind_text {
  const char *name, *unit, *meaning, *advice;
} kind_text;

static const kind_text rows[KN_TROUBLE_COUNT] = {
#define X(NAME, name, unit, meaning, advice) {name, unit, meaning, advice},
    KN_TROUBLE_LIST(X)
#undef X
};

static const kind_text* row_of(kn_trouble_kind kind) {
  static const kind_text none = {"unknown", "", "", ""};
  return (unsigned)kind < KN_TROUBLE_COUNT ? &rows[kind] : &none;
}

const char* kn_trouble_name(kn_trouble_kind kind) { return row_of(kind)->name; }
const char* kn_trouble_unit(kn_trouble_kind kind) { return row_of(kind)->unit; }
const char* kn_trouble_meaning(kn_trouble_kind kind) { return row_of(kind)->meaning; }
const char* kn_trouble_advice(kn_trouble_kind kind) { return row_of(kind)->advice; }

bool kn_trouble_find(kn_trouble_kind* kind, const char* name) {
  for (int k = 0; k < KN_TROUBLE_COUNT && name; k++)
    if (strcmp(rows[k].name, name) == 0) {
      if (kind) *kind = (kn_trouble_kind)k;
      return true;
    }
  return false;
}

/* ---- raising ---- */

kn_event* kn_trouble_add(kn_sim* s, double t, kn_trouble_kind kind, kn_place at, double value, double limit) {
  kn_event* e = NULL;
  for (int i = 0; i < s->report.events && !e; i++)
    if (s->book.event[i].kind == KN_EVENT_TROUBLE && s->book.event[i].trouble == kind) e = &s->book.event[i];
  if (e && !(value > e->value)) return e;
  if (!e) e = &s->book.event[s->report.events++]; /* beyond max_events there is room for one of each kind */
  *e = (kn_event){.t = t,
                  .kind = KN_EVENT_TROUBLE,
                  .geom_a = at.geom_a,
                  .geom_b = at.geom_b,
                  .joint = at.joint,
                  .value = value,
                  .limit = limit,
                  .trouble = kind,
                  .loop = at.loop,
                  .key = at.key};
  return e;
}

/* ---- places ---- */

kn_place kn_place_of(const kn_contact* c) {
  return (kn_place){.geom_a = c->geom_a, .geom_b = c->geom_b, .joint = -1, .loop = -1, .key = c->key};
}

kn_place kn_place_of_dof(const kn_sim* s, const double* size) {
  const kn_model* m = s->model;
  kn_place at = kn_nowhere;
  int most = 0;
  for (int i = 1; i < m->nv; i++) most = fabs(size[i]) > fabs(size[most]) ? i : most;
  if (m->nv) at.joint = m->link[m->dof_link[most]].joint;
  return at;
}

static int loop_of_row(const kn_model* m, int row) {
  int loop = 0;
  for (int end = 0; loop < m->nloop; loop++)
    if (row < (end += kn_loop_rows(m, loop))) return loop;
  return -1;
}

kn_place kn_place_of_loop(const kn_sim* s) {
  int end = 0, most = 0;
  for (int i = 0; i < s->model->nloop; i++) end += kn_loop_rows(s->model, i);
  for (int r = 1; r < end; r++)
    if (fabs(s->book.loop_impulse[r]) > fabs(s->book.loop_impulse[most])) most = r;
  return (kn_place){-1, -1, -1, loop_of_row(s->model, most), 0};
}

kn_place kn_place_of_overlap(const kn_sim* s, const double* q) {
  const kn_model* m = s->model;
  kn_place at = kn_nowhere;
  double worst = 0.0;
  for (int i = 0; i < s->touch.afters; i++)
    if (-s->touch.after[i].gap > worst && !kn_soft_has(s, s->touch.after[i].key))
      worst = -s->touch.after[i].gap, at = kn_place_of(&s->touch.after[i]);
  for (int i = 0; i < m->nlimit; i++) {
    double gap = kn_limit_gap(m, i, q);
    if (-gap > worst) worst = -gap, at = (kn_place){-1, -1, m->limit[i].joint, -1, 0};
  }
  int end = 0;
  for (int i = 0; i < m->nloop; i++) end += kn_loop_rows(m, i);
  for (int r = 0; r < end; r++)
    if (fabs(s->repair.violation[r]) > worst)
      worst = fabs(s->repair.violation[r]), at = (kn_place){-1, -1, -1, loop_of_row(m, r), 0};
  return at;
}

/* What the position repair left at q: above 1e-9 m or rad, the promise. Loops of real mechanisms repeat
   themselves (a planar linkage held in space), and anchors and axes in model files have about seven digits:
   rows that repeat others cannot close better than these say, and up to 1e-7 this is the model's own gap. */
void kn_trouble_unrepaired(kn_sim* s, double t, const double* q, double worst) {
  kn_place at = kn_place_of_overlap(s, q);
  if (at.loop < 0)
    kn_trouble_add(s, t, KN_TROUBLE_OVERLAP, at, worst, 1e-9);
  else if (worst > 1e-7)
    kn_trouble_add(s, t, KN_TROUBLE_LOOP_OPEN, at, worst, 1e-7);
}

void kn_trouble_loops(kn_sim* s, double t) {
  int worst = -1;
  double most = 0.0;
  if (!(s->report.closure_dependent > 1e-7)) return;
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    if (tag->kind != KN_ROW_LOOP || s->loops.kept[tag->index]) continue;
    if (fabs(s->sets.found.bias[tag->row]) > most)
      most = fabs(s->sets.found.bias[tag->row]), worst = tag->index;
  }
  if (worst < 0) return;
  if (s->report.status == KN_OK) s->report.status = KN_INFEASIBLE;
  kn_trouble_add(s, t, KN_TROUBLE_LOOP_OPEN, (kn_place){-1, -1, -1, loop_of_row(s->model, worst), 0},
                 s->report.closure_dependent, 1e-7);
}

static kn_place place_of_rows(const kn_sim* s, const kn_row_tag* tag) {
  const kn_model* m = s->model;
  if (tag->kind == KN_ROW_CONTACT || tag->kind == KN_ROW_SPIN)
    return kn_place_of(&s->touch.contact[tag->index]);
  if (tag->kind == KN_ROW_LIMIT) return (kn_place){-1, -1, m->limit[tag->index].joint, -1, 0};
  if (tag->kind == KN_ROW_LOOP) return (kn_place){-1, -1, -1, loop_of_row(m, tag->index), 0};
  kn_place at = kn_nowhere;
  for (int j = 0; j < m->njoint && tag->kind == KN_ROW_FRICTION; j++) {
    int q, nq, v, nv;
    if (kn_model_joint_address(&q, &nq, &v, &nv, m, j) == KN_OK && v <= tag->index && tag->index < v + nv)
      at.joint = j;
  }
  return at;
}

/* ---- residuals ---- */

/* The solver stops at the tolerance asked for, or, once only slow methods are left, where they have brought
   it below 1e-8 (contact/formulation/solve.c: 1e-6 for heaps). That is as good as it gets in a step, and far
   below what `verify` allows (1e-7): only more than that is a trouble. A residual is relative to the
   problem's own numbers. Where those are themselves nothing (a body that rests without weight: speeds of
   1e-60 m/s), so is what is wrong with them: below 1e-12 m/s, the rounding of speeds of some thousand m/s,
   nothing moves. */
bool kn_residual_counts(const kn_sim* s, double value) {
  static const double still = 1e-12; /* m/s or rad/s */
  double size = 0.0;
  for (int i = 0; i < s->work->total; i++) size = kn_max(size, fabs(s->work->q[i]));
  return value * size > still;
}

void kn_trouble_residual(kn_sim* s, const kn_solve_info* info) {
  const kn_contact_work* w = s->work;
  double enough = w->large.is_sparse && w->nblock > 200 ? 1e-6 : 1e-8;
  double limit = kn_max(s->settings.tolerance, enough), value = info->residual_scaled;
  if (!s->settings.friction) value = kn_max(value, info->residual); /* both have the tolerance for target */
  if (value > limit && kn_residual_counts(s, value))
    kn_trouble_add(s, s->report.t, KN_TROUBLE_RESIDUAL, kn_nowhere, value, limit);
}

/* How far a row group is from its law, in units of speed: what approaches although nothing may, what slides
   although it presses less than it could. */
static double wrong(const kn_sim* s, const kn_row_tag* tag) {
  const double *p = s->row.lambda + tag->row, *u = s->row.u_plus + tag->row,
               *bias = s->sets.set.bias + tag->row;
  if (tag->kind == KN_ROW_CONTACT || tag->kind == KN_ROW_LIMIT) {
    double un = u[0] + bias[0];
    return p[0] > 0.0 ? fabs(un) : kn_max(-un, 0.0);
  }
  return tag->kind == KN_ROW_LOOP ? fabs(u[0] + bias[0]) : 0.0;
}

void kn_trouble_locate(kn_sim* s, bool impact) {
  kn_event* e = NULL;
  const kn_row_tag* worst = NULL;
  double most = -1.0;
  for (int i = 0; i < s->report.events && !e; i++)
    if (s->book.event[i].kind == KN_EVENT_TROUBLE && s->book.event[i].trouble == KN_TROUBLE_RESIDUAL)
      e = &s->book.event[i];
  if (!e) return;
  for (const kn_row_tag *tag = s->sets.set.tag, *end = tag + s->sets.set.count; tag < end; tag++) {
    double size = impact ? fabs(s->row.lambda[tag->row]) : wrong(s, tag);
    if (size > most) most = size, worst = tag;
  }
  if (!worst) return;
  kn_place at = place_of_rows(s, worst);
  e->geom_a = at.geom_a, e->geom_b = at.geom_b, e->joint = at.joint, e->loop = at.loop, e->key = at.key;
}

/* ---- reading ---- */

int kn_event_bodies(kn_body body[2], const kn_model* m, const kn_event* e) {
  kn_geom_def a, b;
  kn_loop_def loop;
  kn_joint_def joint;
  kn_body_def child;
  if (!body) return 0;
  body[0] = body[1] = KN_WORLD;
  if (!m || !e) return 0;
  if (kn_model_geom(&a, m, e->geom_a) == KN_OK && kn_model_geom(&b, m, e->geom_b) == KN_OK)
    body[0] = a.body, body[1] = b.body;
  else if (e->loop >= 0 && kn_model_loop(&loop, m, e->loop) == KN_OK && loop.type != KN_LOOP_COUPLING)
    body[0] = loop.a, body[1] = loop.b;
  else if (e->loop >= 0 && kn_model_loop(&loop, m, e->loop) == KN_OK &&
           kn_model_joint(&joint, m, loop.joint1) == KN_OK)
    body[0] = joint.body, body[1] = kn_model_joint(&joint, m, loop.joint2) == KN_OK ? joint.body : KN_WORLD;
  else if (e->joint >= 0 && kn_model_joint(&joint, m, e->joint) == KN_OK &&
           kn_model_body(&child, m, joint.body) == KN_OK)
    body[0] = joint.body, body[1] = child.parent;
  else
    return 0;
  return 2;
}

/* The body's; for what stands in the world the geom's own, if it has one. */
static const char* name_of(const kn_model* m, kn_body body, kn_geom geom) {
  const char* own = kn_geom_name(m, geom);
  return body == KN_WORLD && own && own[0] ? own : kn_body_name(m, body);
}

/* "joint elbow", or "joint3" of one without a name, as `knuckle check` lists it; loops likewise. */
static const char* call(char* text, size_t size, const char* kind, const char* name, int index) {
  if (name && name[0])
    snprintf(text, size, "%s %s", kind, name);
  else
    snprintf(text, size, "%s%d", kind, index);
  return text;
}

const char* kn_event_where(char* text, size_t size, const kn_model* m, const kn_event* e) {
  kn_body body[2];
  char own[128];
  if (!text || size == 0) return text;
  text[0] = 0;
  if (!kn_event_bodies(body, m, e)) return text;
  const char *a = kn_body_name(m, body[0]), *b = kn_body_name(m, body[1]);
  if (e->geom_a >= 0 && e->geom_b >= 0)
    snprintf(text, size, "%s on %s", name_of(m, body[0], e->geom_a), name_of(m, body[1], e->geom_b));
  else if (e->loop >= 0)
    snprintf(text, size, "%s between %s and %s",
             call(own, sizeof own, "loop", kn_loop_name(m, e->loop), e->loop), a, b);
  else
    snprintf(text, size, "%s of %s", call(own, sizeof own, "joint", kn_joint_name(m, e->joint), e->joint), a);
  return text;
}

void kn_trouble_count(kn_trouble_tally* tally, const kn_event* event, int events) {
  for (int i = 0; i < events && tally && event; i++) {
    const kn_event* e = &event[i];
    if (e->kind != KN_EVENT_TROUBLE || (unsigned)e->trouble >= KN_TROUBLE_COUNT) continue;
    kn_trouble_sum* sum = &tally->kind[e->trouble];
    if (sum->count == 0) sum->first = e->t;
    if (sum->count == 0 || e->value > sum->worst.value) sum->worst = *e;
    sum->count++;
    tally->count++;
  }
}

bool kn_report_in_trouble(const kn_report* r) {
  for (int i = 0; i < (r ? r->events : 0); i++)
    if (r->event[i].kind == KN_EVENT_TROUBLE) return true;
  return false;
}

/* Of kinds whose values are lengths or angles: which one it is here. */
static const char* unit_here(const kn_model* m, const kn_event* e) {
  const char* unit = kn_trouble_unit(e->trouble);
  kn_joint_def joint;
  if (strcmp(unit, "m or rad") != 0 && strcmp(unit, "rad or m") != 0) return unit;
  if (e->geom_a >= 0 && e->geom_b >= 0) return "m";
  if (e->loop >= 0 || kn_model_joint(&joint, m, e->joint) != KN_OK) return unit;
  return joint.type == KN_JOINT_HINGE || joint.type == KN_JOINT_BALL ? "rad"
         : joint.type == KN_JOINT_SLIDE                              ? "m"
                                                                     : unit;
}

const char* kn_trouble_sentence(char* text, size_t size, const kn_model* m, const kn_trouble_sum* sum) {
  char where[256];
  if (!text || size == 0) return text;
  text[0] = 0;
  if (!sum || sum->count == 0) return text;
  const kn_event* e = &sum->worst;
  kn_event_where(where, sizeof where, m, e);
  int n = sum->count == 1
              ? snprintf(text, size, "in one step, at t = %.6g s: ", sum->first)
              : snprintf(text, size, "in %ld steps, first at t = %.6g s; worst at t = %.6g s: ", sum->count,
                         sum->first, e->t);
  if (n >= 0 && (size_t)n < size)
    snprintf(text + n, size - (size_t)n, "%.3g %s (limit %.3g)%s%s%s%s", e->value, unit_here(m, e), e->limit,
             where[0] ? ", " : "", where, e->text[0] ? ", from " : "", e->text);
  return text;
}
