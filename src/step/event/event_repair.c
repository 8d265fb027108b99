/* After a sub-step: held rows are brought back to zero gap and zero rate.

     positions   min ½|d|²_M  s.t.  J d = -gap (held), J_t d = -r (sticking anchors), J d = -φ (loops),
                 J d >= -gap (open contacts that overlap by rounding);   q ← q ⊕ d
     velocities  min ½|δ|²_M  s.t.  J (v + δ) = 0 (held; sticking also tangentially), = U (loops)

   Index-1 integration alone drifts with its error; with both repairs |J v| stays at rounding. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation/least_norm.h"
#include "step/event/event.h"

static const double tiny = 1e-13; /* m: rounding of positions of order 1 m */
enum { MAX_ROUNDS = 4 };

const kn_held* kn_event_held(const kn_event_work* w, uint64_t key) {
  for (int g = 0; g < w->closed.helds; g++)
    if (w->closed.held[g].kind == KN_ROW_CONTACT && w->closed.held[g].c.key == key) return &w->closed.held[g];
  return NULL;
}

static bool held_limit(const kn_event_work* w, int limit) {
  for (int g = 0; g < w->closed.helds; g++)
    if (w->closed.held[g].kind == KN_ROW_LIMIT && w->closed.held[g].index == limit)
      return w->closed.held[g].mode != KN_MODE_OPEN;
  return false;
}

/* A row group of the repair with its violation as bias; s->repair.one_sided by group in s->sets.keep's
   neighbour. */
static kn_status add_normal(kn_sim* s, kn_contact* c, int i) {
  double mu = c->mu;
  c->mu = 0.0; /* normal row only */
  kn_status status = kn_constraint_add_contact(&s->sets.found, s->model, c, i, c->gap);
  c->mu = mu;
  return status;
}

/* Rows at q in s->sets.found; s->touch.impacting[contact]: two-sided. */
static kn_status rows_at(double* worst, kn_sim* s, kn_event_work* w, kn_state* x, const double* q, double t) {
  const kn_model* m = s->model;
  double deepest = 0.0, closure = 0.0, other = 0.0;
  kn_dyn_position(s->data, m, q);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, s->settings.gtol, 0.0, &w->cache));
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++) {
    kn_contact* c = &s->touch.after[i];
    const kn_held* h = kn_event_held(w, c->key);
    bool two_sided = h && h->mode != KN_MODE_OPEN && c->gap < 100.0 * KN_EVENT_CLOSED;
    s->touch.impacting[i] = two_sided;
    deepest = fmax(deepest, -c->gap);
    if (two_sided) other = fmax(other, fabs(c->gap));
    if (!two_sided && c->gap > 0.0) continue;
    KN_TRY(add_normal(s, c, i));
    const kn_anchor* anchor =
        s->settings.anchors && two_sided && kn_event_sticks(h) ? kn_anchor_find(x, c->key) : NULL;
    if (!anchor) continue;
    double r[2];
    kn_anchor_residual(r, s, anchor, c);
    other = fmax(other, fmax(fabs(r[0]), fabs(r[1])));
    KN_TRY(kn_constraint_add_anchor(&s->sets.found, m, c, i, r));
  }
  for (int i = 0; i < m->nlimit; i++) {
    double gap = kn_limit_gap(m, i, q);
    if (gap > s->settings.gtol) continue;
    deepest = fmax(deepest, -gap);
    if (held_limit(w, i)) other = fmax(other, fabs(gap));
    KN_TRY(kn_constraint_add_limit(&s->sets.found, m, q, i, gap));
  }
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows) {
    int at = s->sets.found.rows;
    KN_TRY(
        kn_constraint_add_loop(&s->sets.found, m, s->data, q, i, row, t, &rows, s->repair.violation + row));
    for (int k = 0; k < rows; k++) {
      s->sets.found.bias[at + k] = s->repair.violation[row + k];
      closure = fmax(closure, fabs(s->repair.violation[row + k]));
    }
  }
  s->report.penetration = deepest;
  s->report.closure = closure;
  *worst = fmax(deepest, fmax(closure, other));
  return KN_OK;
}

/* d = M⁻¹ Jᵀ λ with J d = -bias for the rows in s->sets.set. */
static kn_status correction(double* d, kn_sim* s, kn_event_work* w, bool positions) {
  const kn_model* m = s->model;
  memset(d, 0, (size_t)m->nv * sizeof(double));
  for (int i = 0; i < s->sets.islands; i++) {
    int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first,
        row = s->sets.set.tag[first].row;
    int rows = s->sets.set.tag[first + count - 1].row + s->sets.set.tag[first + count - 1].rows - row;
    for (int g = first; g < first + count; g++) {
      const kn_row_tag* tag = &s->sets.set.tag[g];
      bool one = positions && ((tag->kind == KN_ROW_CONTACT && !s->touch.impacting[tag->index]) ||
                               (tag->kind == KN_ROW_LIMIT && !held_limit(w, tag->index)));
      for (int k = 0; k < tag->rows; k++) s->repair.one_sided[tag->row + k - row] = one;
    }
    if (rows > s->room.repair) {
      w->trouble = KN_NO_ROOM;
      w->trouble_value = rows;
      w->trouble_limit = s->room.repair;
      continue;
    }
    KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.set.geometry + first, count));
    kn_rows_lambda(s->work->W, &s->repair.rows, s->data, m);
    for (int k = 0; k < rows; k++) s->row.u_free[k] = -s->sets.set.bias[row + k];
    kn_least_norm(s->row.u_plus + row, rows, s->work->W, s->row.u_free, s->repair.one_sided,
                  s->repair.least_scratch, s->repair.least_pivot);
    kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, s->row.u_plus + row);
    for (int k = 0; k < m->nv; k++) d[k] += s->frame.dv[k];
  }
  return KN_OK;
}

static kn_status newton_step(double* size, kn_sim* s, kn_event_work* w, kn_state* x, const double* q) {
  const kn_model* m = s->model;
  double largest = 0.0;
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(kn_stage_keep_loops(s, s->sets.keep));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  KN_TRY(correction(s->frame.v_mean, s, w, true));
  for (int i = 0; i < m->nv; i++) largest = fmax(largest, fabs(s->frame.v_mean[i]));
  double share = largest > 0.5 ? 0.5 / largest : 1.0;
  for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] *= share;
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_mean);
  kn_anchor_repaired(s, x, s->row.u_free);
  kn_dyn_integrate(s->repair.q_try, m, q, s->frame.v_mean, 1.0);
  *size = share * largest;
  return KN_OK;
}

/* w->q in place; s->touch.after: contacts of the repaired position; w->cache: their pairs. */
static kn_status repair_positions(kn_sim* s, kn_event_work* w, kn_state* x) {
  double worst, before, size;
  KN_TRY(rows_at(&worst, s, w, x, w->q, w->t));
  for (int round = 0; round < MAX_ROUNDS && worst > tiny && s->settings.projection; round++) {
    KN_TRY(newton_step(&size, s, w, x, w->q));
    if (!(size > 1e-16)) break;
    before = worst;
    KN_TRY(rows_at(&worst, s, w, x, s->repair.q_try, w->t));
    if (!(worst < before)) {
      KN_TRY(rows_at(&worst, s, w, x, w->q, w->t));
      break;
    }
    memcpy(w->q, s->repair.q_try, (size_t)s->model->nq * sizeof(double));
    s->report.correction += size;
  }
  if (s->settings.projection && worst > 1e-9 && kn_anchor_release(s))
    KN_TRY(rows_at(&worst, s, w, x, w->q, w->t));
  if (s->settings.projection && worst > 1e-9) {
    if (s->report.status == KN_OK) s->report.status = KN_INFEASIBLE;
    kn_trouble_unrepaired(s, w->t, w->q, worst);
  }
  return KN_OK;
}

/* Rows whose velocity must vanish: bias = J v - U. Needs the held contacts' geometry at q. */
kn_status kn_event_repair_velocity(kn_sim* s, kn_event_work* w, double t, const double* q, double* v) {
  const kn_model* m = s->model;
  int kept = 0;
  double worst = 0.0;
  kn_constraints_clear(&s->sets.found);
  for (int g = 0; g < w->closed.helds; g++) {
    kn_held* h = &w->closed.held[g];
    if (h->mode == KN_MODE_OPEN) continue;
    if (h->kind == KN_ROW_CONTACT) {
      bool stick = kn_event_sticks(h) && h->c.mu > 0.0;
      double mu = h->c.mu;
      if (!stick) h->c.mu = 0.0;
      kn_status status = kn_constraint_add_contact(&s->sets.found, m, &h->c, g, 0.0);
      h->c.mu = mu;
      KN_TRY(status);
    } else if (h->kind == KN_ROW_LIMIT) {
      KN_TRY(kn_constraint_add_limit(&s->sets.found, m, q, h->index, 0.0));
    } else if (h->kind == KN_ROW_FRICTION && h->mode == KN_MODE_STICK) {
      KN_TRY(kn_constraint_add_friction(&s->sets.found, m, h->index, 0.0));
    }
  }
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, q, i, row, t, &rows, NULL));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.found.geometry, s->sets.found.count, v);
  for (int r = 0; r < s->sets.found.rows; r++) {
    s->sets.found.bias[r] = s->row.u_before[r] - s->sets.found.rate[r];
    worst = fmax(worst, fabs(s->sets.found.bias[r]));
  }
  if (!(worst > 1e-15)) return KN_OK;
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    s->sets.keep[g] = tag->kind != KN_ROW_LOOP || w->closed.loop_keep[tag->index];
    kept += s->sets.keep[g];
  }
  if (!kept) return KN_OK;
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  KN_TRY(correction(s->frame.v_mean, s, w, false));
  for (int i = 0; i < m->nv; i++) v[i] += s->frame.v_mean[i];
  return KN_OK;
}

/* Geometry of the held contacts as found at the repaired position. */
static void take_geometry(kn_sim* s, kn_event_work* w) {
  for (int i = 0; i < s->touch.afters; i++)
    for (int g = 0; g < w->closed.helds; g++) {
      kn_held* h = &w->closed.held[g];
      if (h->kind != KN_ROW_CONTACT || h->c.key != s->touch.after[i].key) continue;
      memcpy(h->c.point, s->touch.after[i].point, sizeof h->c.point);
      memcpy(h->c.frame, s->touch.after[i].frame, sizeof h->c.frame);
      h->c.gap = s->touch.after[i].gap;
    }
}

/* Rolling anchors carry what slipped within the sub-step. */
static void roll_anchors(kn_sim* s, kn_event_work* w, kn_state* x) {
  for (int g = 0; g < w->closed.helds && s->settings.anchors; g++) {
    const kn_held* h = &w->closed.held[g];
    kn_anchor* a = h->kind == KN_ROW_CONTACT && kn_event_sticks(h) ? kn_anchor_find(x, h->c.key) : NULL;
    for (int i = 0; i < 3 && a && a->rolling; i++) a->a[i] += h->slip[i];
  }
}

/* w->q, w->v at w->t. */
kn_status kn_event_repair(kn_sim* s, kn_event_work* w, kn_state* x) {
  double t0 = kn_stage_clock(s);
  roll_anchors(s, w, x);
  KN_TRY(repair_positions(s, w, x));
  take_geometry(s, w);
  kn_status status = w->closed.helds ? kn_event_repair_velocity(s, w, w->t, w->q, w->v) : KN_OK;
  s->report.time.project += kn_stage_clock(s) - t0;
  return status;
}
