/* The energy ledger. Every column by its own formula; kinetic + potential + spring = sum of the others.

   With v̄ = (v_k + v⁺)/2, forces and rows at q_m, q̂ before the position repair, q' after it:
   - kinetic: ½v⁺M(q')v⁺ - ½v_k M(q_k) v_k; potential: V(q') - V(q_k); spring: S(q') - S(q_k)
   - actuator: dt τ_a·v̄; applied: dt τ·v̄; damping: -dt v̄ D v̄
   - normal, friction, limit, loop, joint_friction: p·J v̄ of the rows
   - prescribed: p U of moving loops (the rest of a loop's work is its velocity repair)
   - correction: [V + S](q') - [V + S](q̂) + ½v⁺(M(q') - M(q̂))v⁺
   - impact: ½ pᵀ (J v_free + J v⁺) at the landing position
   - integration: ½v⁺(M(q̂) - M_m)v⁺ + ½v_k (M_m - M_k) v_k - dt c_m·v̄ + V(q̂) - V_k + S(q̂) - S_k + dt τ_s·v̄,
   c_m Coriolis and gravity forces as used, τ_s spring forces as used: the integrator's own error, which falls
   with its order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "step/time/motion.h"

/* Where the last step ended, so did its energy. */
bool kn_ledger_continues(const kn_sim* s, const kn_state* x) {
  return s->book.started && kn_fours_same(s->past.q, x->q, s->model->nq) &&
         kn_fours_same(s->past.v, x->v, s->model->nv);
}

static double whole(const kn_energy* e) { return e->kinetic + e->potential + e->spring; }

/* A state that is not where the last step ended was changed by the caller: work of his. A step may begin
   twice (the event stepper hands it over). */
static void begin_rise(kn_sim* s) {
  double before = whole(&s->book.energy_before);
  s->book.rise.first = !s->past.continues;
  if (!s->book.rise.begun) s->report.rise.initial = s->book.rise.last = s->book.rise.low = before;
  s->book.rise.begun = true;
  s->book.rise.jump = before - s->book.rise.last;
}

void kn_ledger_begin(kn_sim* s, const kn_state* x) {
  if (s->stepper->step != kn_time_step)
    s->past.continues = kn_ledger_continues(s, x); /* it may be a part of a step */
  if (!kn_commit_weighed(&s->book.energy_before, s, x)) {
    s->blocks.travel->used = 0; /* it was of another v */
    kn_dyn_energy(&s->book.energy_before, s->data, s->model, x->q, x->v);
    kn_commit_weigh(s, x, &s->book.energy_before);
  }
  if (!s->book.started)
    s->book.potential_min = s->book.potential_max =
        s->book.energy_before.potential + s->book.energy_before.spring;
  s->book.started = true;
  begin_rise(s);
  s->book.kinetic_max = kn_max(s->book.kinetic_max, s->book.energy_before.kinetic);
}

static inline double row_work(const kn_sim* s, int r) {
  return 0.5 * s->row.lambda[r] * (s->row.u_before[r] + s->row.u_plus[r]);
}

/* Of all kinds from `tag` on; returns the work with `all` before them. */
static __attribute__((noinline)) double other_columns(kn_sim* s, const kn_row_tag* tag, double all) {
  kn_ledger* l = &s->report.ledger;
  for (const kn_row_tag* end = s->sets.set.tag + s->sets.set.count; tag < end; tag++) {
    int r = tag->row;
    double first = row_work(s, r), rest = 0.0, prescribed = 0.0;
    for (int k = 1; k < tag->rows; k++) rest += row_work(s, r + k);
    for (int k = 0; k < tag->rows && tag->kind == KN_ROW_LOOP; k++)
      prescribed += s->row.lambda[r + k] * s->sets.set.rate[r + k];
    switch (tag->kind) {
    case KN_ROW_CONTACT: l->normal += first, l->friction += rest; break;
    case KN_ROW_LIMIT: l->limit += first; break;
    case KN_ROW_FRICTION: l->joint_friction += first; break;
    case KN_ROW_SPIN: l->friction += first + rest; break;
    default: l->loop += first + rest - prescribed, l->prescribed += prescribed;
    }
    all += first + rest;
  }
  return all;
}

/* Returns the work of all rows; contacts come first. */
static double rows_columns(kn_sim* s) {
  kn_ledger* l = &s->report.ledger;
  const kn_row_tag *tag = s->sets.set.tag, *end = tag + s->sets.set.count;
  double all = 0.0;
  for (; tag < end && tag->kind == KN_ROW_CONTACT && tag->rows == 3; tag++) {
    int r = tag->row;
    double normal = row_work(s, r), friction = row_work(s, r + 1) + row_work(s, r + 2);
    l->normal += normal, l->friction += friction;
    all += normal + friction;
  }
  return tag < end ? other_columns(s, tag, all) : all;
}

/* s->force.bias = M dv/dt + bias by inverse dynamics, less Jᵀ p/dt of the rows when `loaded`. */
static void balance(kn_sim* s, const kn_state* x, const double* v_end, double dt, bool loaded) {
  const kn_model* m = s->model;
  const double *v = x->v, rate = 1.0 / dt;
  for (int i = 0; i < m->nv; i += 2)
    *(kn_two*)(s->frame.dv + i) = (kn_two_fresh(v_end + i) - *(const kn_two*)(v + i)) * rate;
  if (loaded)
    kn_rows_inverse(s->force.bias, s->data, m, s->frame.v_bias, s->frame.dv, s->sets.set.geometry,
                    s->sets.set.count, s->row.lambda, 1.0 / dt);
  else
    kn_dyn_inverse(s->force.bias, s->data, m, s->frame.v_bias, s->frame.dv);
}

/* max |(M + extra) dv - dt (tau - bias) - Jᵀ p|. */
static double momentum_balance(kn_sim* s, const kn_state* x, const double* v_end, double dt, bool loaded) {
  const kn_model* m = s->model;
  double* Jp = s->frame.v_prev;
  bool rows = v_end == s->frame.v_plus && s->sets.set.count && !loaded;
  if (!rows && !kn_soft_active(s)) return kn_motion_balance(s, x->v, v_end, NULL, dt);
  kn_fours_clear(Jp, m->nv);
  if (rows) kn_rows_force(Jp, s->data, m, s->sets.set.geometry, s->sets.set.count, s->row.lambda);
  kn_soft_add_force(Jp, s);
  return kn_motion_balance(s, x->v, v_end, Jp, dt);
}

/* Compliant islands moved by dt v̄ + shift: the work of the explicit forces on that extra way. Returns the
   springs'; s->force.bias = M dv/dt + bias, of which only the bias counts. */
static double extra_way(double* inertia_work, kn_sim* s, const kn_state* x, const double* v_end, double dt) {
  const double* shift = kn_soft_shift(s);
  kn_ledger* l = &s->report.ledger;
  double spring = 0.0;
  if (!shift) return 0.0;
  kn_dyn_multiply(s->frame.v_prev, s->data, s->model, shift);
  for (int i = 0; i < s->model->nv; i++) {
    l->damping += s->force.tau_damp[i] * shift[i];
    l->actuator += s->force.tau_act[i] * shift[i];
    l->applied += s->force.tau_applied[i] * shift[i];
    spring += s->force.tau_spring[i] * shift[i];
    *inertia_work += s->force.bias[i] * shift[i] - s->frame.v_prev[i] * (v_end[i] - x->v[i]) / dt;
  }
  return spring;
}

/* Applied forces only: work of these and of M dv/dt + c, and the balance of momentum, in one go. */
static double plain_columns(double* applied, double* inertia, const kn_sim* s, const double* v,
                            const double* v_end, double dt) {
  const double *applied_force = s->force.tau_applied, *bias = s->force.bias, *tau = s->force.tau;
  kn_two outside = {0.0, 0.0}, inside = outside, worst = outside;
  for (int i = 0; i < s->model->nv; i += 2) { /* two at a time: they do not wait for each other */
    kn_two from = *(const kn_two*)(v + i), b = kn_two_fresh(bias + i), off = b - *(const kn_two*)(tau + i);
    kn_two w = from + 0.5 * (kn_two_fresh(v_end + i) - from);
    outside += w * *(const kn_two*)(applied_force + i), inside += w * b;
    worst = kn_two_larger(worst, kn_two_size(off));
  }
  *applied = dt * (outside[0] + outside[1]), *inertia = dt * (inside[0] + inside[1]);
  return dt * kn_max(worst[0], worst[1]);
}

/* One pass of inverse dynamics at (q_m, v̄, dv/dt) serves twice: ½v⁺M_m v⁺ - ½v_k M_m v_k + dt c_m·v̄ is its
   work dt v̄·(M_m dv/dt + c_m), and with the impulses it is the balance of momentum. The rows' forces are in
   the same pass, and their work p·J v̄ is added again. */
void kn_ledger_flight(kn_sim* s, const kn_state* x, const double* v_end, double dt) {
  kn_ledger* l = &s->report.ledger;
  double t0 = kn_stage_clock(s), spring_work = 0.0, inertia_work = 0.0, applied = 0.0;
  bool loaded = v_end == s->frame.v_plus && s->sets.set.count && !kn_soft_active(s);
  bool plain = s->facts.passive && !s->controller.fn && !kn_soft_active(s) &&
               (loaded || v_end != s->frame.v_plus || !s->sets.set.count);
  balance(s, x, v_end, dt, loaded);
  if (plain) {
    s->report.momentum_error = plain_columns(&applied, &inertia_work, s, x->v, v_end, dt);
    l->applied += applied;
  } else {
    kn_works w;
    kn_motion_works(&w, s, x->v, v_end, dt);
    applied = w.applied, spring_work = w.spring, inertia_work = w.inertia;
    l->damping -= w.damping, l->actuator += w.actuator, l->applied += applied;
    spring_work += extra_way(&inertia_work, s, x, v_end, dt);
  }
  double row_sum = v_end == s->frame.v_plus ? rows_columns(s) : 0.0;
  if (loaded) inertia_work += row_sum;
  if (!plain) s->report.momentum_error = momentum_balance(s, x, v_end, dt, loaded);
  const kn_energy* b = &s->book.energy_before;
  s->book.flight = spring_work - inertia_work;
  l->integration = s->book.flight - b->kinetic - b->potential - b->spring;
  kn_stage_book(s, &s->report.time.audit, t0);
}

void kn_ledger_arrive(kn_sim* s) {
  const kn_energy* h = &s->book.energy_hat;
  s->report.ledger.integration += h->kinetic + h->potential + h->spring;
}

void kn_ledger_correct(kn_sim* s) {
  const kn_energy *h = &s->book.energy_hat, *n = &s->book.energy_now;
  if (s->report.correction == 0.0) return;
  s->report.ledger.correction = n->kinetic - h->kinetic + n->potential - h->potential + n->spring - h->spring;
}

/* The velocity repair of the loops: ½ pᵀ (u + u⁺), u⁺ = U, minus the work p U of the prescribed motion. One with the
   factors of the midpoint (loops.c): by difference, since its impulses act along the rows of the midpoint. */
void kn_ledger_velocity(kn_sim* s, const kn_flow* f, double before) {
  kn_ledger* l = &s->report.ledger;
  if (f->reusable) {
    l->loop += s->book.energy_now.kinetic - before - s->loops.work;
    l->prescribed += s->loops.work;
    return;
  }
  for (int r = 0; r < s->sets.set.rows; r++) {
    double p = s->row.u_plus[r], U = s->sets.set.rate[r];
    l->loop += 0.5 * p * (s->row.u_before[r] + U) - p * U;
    l->prescribed += p * U;
  }
}

void kn_ledger_impact(kn_sim* s) { s->report.ledger.impact = s->book.impact_energy; }

/* E_ref, and for what rests the energy of its weight over 100 gtol (1 cm): a thousandth of it lifts
   everything by gtol/10. 1e-9 of the energies themselves is their rounding. */
double kn_rise_scale(const kn_sim* s) {
  const kn_energy* e = &s->book.energy_now;
  double weight = s->facts.moving_mass * s->facts.gravity * 100.0 * s->settings.gtol;
  return kn_max(kn_max(kn_energy_scale(s), weight), 1e-9 * (fabs(e->potential) + e->spring));
}

void kn_ledger_end(kn_sim* s) {
  kn_ledger* l = &s->report.ledger;
  const kn_energy *b = &s->book.energy_before, *n = &s->book.energy_now;
  l->kinetic = n->kinetic - b->kinetic;
  l->potential = n->potential - b->potential;
  l->spring = n->spring - b->spring;
  kn_energy_copy(&s->report.energy, n);
  s->book.kinetic_max = kn_max(s->book.kinetic_max, n->kinetic);
  s->book.potential_min = kn_min(s->book.potential_min, n->potential + n->spring);
  s->book.potential_max = kn_max(s->book.potential_max, n->potential + n->spring);
#define X(name) s->report.total.name += l->name;
  KN_LEDGER_LIST(X)
#undef X
}

/* The largest of the three causes that pushed F up. Contact that becomes compliant has layers, and what they hold
   was not there before: that part has a name of its own. */
static const char* main_cause(const kn_energy_rise* r, double switching) {
  if (r->integration >= r->contact && r->integration >= r->correction) return "integration";
  if (r->contact < r->correction) return "correction";
  return switching > 0.5 * r->contact ? "switching to compliant contact" : "contact";
}

/* What was wrong with a start that had to be repaired: the deepest overlap, unless the joint that moved most was
   farther beyond its limit. */
static kn_place place_of_start(const kn_sim* s) {
  const kn_model* m = s->model;
  kn_place at = kn_place_of_dof(s, s->repair.shift);
  double worst = s->settings.gtol;
  for (int i = 0; i < m->nlimit; i++)
    if (m->limit[i].joint == at.joint) worst = kn_max(worst, -kn_limit_gap(m, i, s->frame.q_mid));
  for (int i = 0; i < s->report.contacts; i++)
    if (-s->report.contact[i].gap > worst)
      worst = -s->report.contact[i].gap, at = kn_place_of(&s->report.contact[i]);
  return at;
}

/* The first step: what the repair of the start lifted, whether it is still there or was taken from the velocities. */
static void tell_start(kn_sim* s) {
  const kn_energy_rise* r = &s->report.rise;
  double lifted = kn_max(r->correction, 0.0) + s->book.rise.taken_correction, limit = 1e-3 * kn_rise_scale(s);
  if (lifted > limit)
    kn_trouble_add(s, s->report.t, KN_TROUBLE_START_REPAIRED, place_of_start(s), lifted, limit);
  s->book.rise.taken_correction = 0.0; /* what later repairs take is a sum of its own */
}

/* A rise of more than 1e-3 of the scale is a trouble when it is new, and again when it has grown by a tenth; that of a start
   is told above. */
static void tell_rise(kn_sim* s, double rise) {
  const kn_energy_rise* r = &s->report.rise;
  double limit = 1e-3 * r->scale;
  if (!(rise > limit) || !(rise > 1.1 * s->book.rise.told)) return;
  s->book.rise.told = rise;
  if (s->book.rise.first && r->correction > 0.5 * rise) return;
  kn_event* e = kn_trouble_add(s, s->report.t, KN_TROUBLE_ENERGY_RISE, kn_nowhere, rise, limit);
  snprintf(e->text, sizeof e->text, "%s", main_cause(r, s->report.total.switching - s->book.rise.switching));
}

/* Loops that do not move by themselves do no work: what they took was lost by a mechanism that locked, at a
   singular position or between contacts that contradict it. Told like a rise. */
static void tell_loops(kn_sim* s) {
  double taken = -s->report.total.loop, limit = 1e-3 * s->report.rise.scale;
  if (!(taken > limit) || !(taken > 1.1 * s->book.rise.told_loop)) return;
  s->book.rise.told_loop = taken;
  kn_trouble_add(s, s->report.t, KN_TROUBLE_LOOP_ENERGY, kn_place_of_loop(s), taken, limit);
}

void kn_ledger_rise(kn_sim* s) {
  if (!s->settings.ledger) return;
  const kn_ledger* t = &s->report.total;
  kn_energy_rise* r = &s->report.rise;
  double contact =
      t->friction + t->impact + t->normal + t->limit + t->loop + t->joint_friction + t->switching;
  s->book.rise.outside += s->book.rise.jump;
  s->book.rise.jump = 0.0;
  s->book.rise.last = whole(&s->book.energy_now);
  r->work_in = t->actuator + t->applied + t->prescribed + s->book.rise.outside;
  r->scale = kn_rise_scale(s);
  double F = s->book.rise.last - t->compliant - r->work_in, rise = F - s->book.rise.low;
  if (rise < 0.0) {
    s->book.rise.low = F, s->book.rise.contact = contact, s->book.rise.damping = t->damping;
    s->book.rise.switching = t->switching;
    s->book.rise.integration = t->integration, s->book.rise.correction = t->correction;
  } else if (rise > r->rise) {
    r->rise = rise;
    r->contact = contact - s->book.rise.contact, r->damping = t->damping - s->book.rise.damping;
    r->integration = t->integration - s->book.rise.integration;
    r->correction = t->correction - s->book.rise.correction;
    tell_rise(s, rise);
  }
  r->rise_rel = r->scale > 0.0 ? r->rise / r->scale : 0.0;
  if (s->book.rise.first) tell_start(s);
  if (s->model->nloop) tell_loops(s);
}
