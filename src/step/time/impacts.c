/* Stages 8 and 9 of a step in which contacts collide: the free motion of the whole step, q_t, lands at
   q_L = Proj(q_t), slowed by what the landing raises (landing.c), s->landing.v; there the impact law makes v⁺ of it,
   compression and decompression with the same Λ (contact/impact). The bounce is late by at most dt, and by O(dt²) where the
   step is split at the touch (split.c). Called by time.c; kn_stage_collide by the event stepper too. */
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

/* e of a contact that approaches with u < 0 at touch; 0 when it comes to rest. */
static double landing_e(const kn_sim* s, const kn_contact* c, double a_n, double u) {
  return -u > kn_rest_speed(s, a_n, s->report.dt) ? kn_restitution(s, c, -u) : 0.0;
}

/* Rows at q_L, the velocity at touch and the restitution of each contact. s->touch.after: the contacts of q_L. */
static kn_status landing_rows(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  KN_TRY(kn_stage_land(s, x, s->frame.a_forces));
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++)
    if (!kn_soft_has(s, s->touch.after[i].key))
      KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &s->touch.after[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++)
    if (kn_limit_gap(m, i, s->frame.q_hat) <= 1e-9)
      KN_TRY(kn_constraint_add_limit(&s->sets.found, m, s->frame.q_hat, i, 0.0));
  for (int i = 0; i < m->nv; i++)
    if (m->friction[i] > 0.0) KN_TRY(kn_constraint_add_friction(&s->sets.found, m, i, dt * m->friction[i]));
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, s->frame.q_hat, i, row, x->time + dt, &rows,
                                  NULL));
  KN_TRY(kn_stage_keep_rows(s, s->sets.keep, NULL, NULL));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.set.geometry, s->sets.set.count, s->landing.v);
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count,
                   s->frame.a_forces); /* a_n: acceleration by forces alone */
  memset(s->row.e, 0, (size_t)s->sets.set.rows * sizeof(double));
  memset(s->row.resting, 0, (size_t)s->sets.set.rows * sizeof(bool));
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    const kn_contact* c = &s->touch.after[tag->index];
    s->row.resting[tag->row] =
        s->row.u_before[tag->row] <= 1e-9 &&
        s->row.u_before[tag->row] >= -kn_rest_speed(s, s->row.u_free[tag->row], s->report.dt);
    s->row.e[tag->row] = landing_e(s, c, s->row.u_free[tag->row], s->row.u_before[tag->row]);
    s->touch.impacting[tag->index] = s->row.e[tag->row] > 0.0;
  }
  return KN_OK;
}

/* e of a contact that the rebound of another one closes with this speed. */
static double hit(int group, double speed, const void* context) {
  const kn_sim* s = context;
  double rest = s->stepper == &kn_stepper_event ? s->settings.v_rest : kn_rest_speed(s, 0.0, s->report.dt);
  return speed > rest ? kn_restitution(s, &s->touch.contact[s->sets.set.tag[group].index], speed) : 0.0;
}

/* Contacts that others hit have had an impact too. */
static void mark_hits(kn_sim* s, int first, int count) {
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind == KN_ROW_CONTACT && s->row.e_used[tag->row] > 0.0 && s->row.compression[tag->row] > 0.0)
      s->touch.impacting[tag->index] = true;
  }
}

static kn_place place_of(const kn_sim* s, int first, int count) {
  for (int g = first; g < first + count; g++)
    if (s->sets.set.tag[g].kind == KN_ROW_CONTACT)
      return kn_place_of(&s->touch.contact[s->sets.set.tag[g].index]);
  return kn_nowhere;
}

/* Is Λ of an island made by blocks? Where a full one costs more; of laws that need its entries, where it has no room. */
static bool is_large(const kn_sim* s, const kn_impact_law* law, int first, int count) {
  enum { FEW_ROWS = 400 };
  const kn_row_tag *tag = &s->sets.set.tag[first], *last = tag + count - 1;
  int rows = last->row + last->rows - tag->row;
  bool full = law->full || (law == kn_impact_law_find("sequential") && s->law->full);
  return rows > (full ? s->work->large.max_dense : FEW_ROWS) && !s->facts.rich;
}

/* From s->frame.v_plus to s->frame.v_plus. */
kn_status kn_stage_collide(kn_sim* s) {
  const kn_impact_law *one_by_one = kn_impact_law_find("sequential"), *law = s->law;
  if (s->settings.sequential) law = one_by_one;
  s->work->diagonal = NULL;
  for (int i = 0; i < s->sets.islands; i++) {
    int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first,
        row = s->sets.set.tag[first].row;
    s->work->large.may_be_sparse = is_large(s, law, first, count);
    KN_TRY(kn_contact_begin(s->work, &s->sets.set, first, count));
    kn_impact_problem p = {.work = s->work,
                           .set = &s->sets.set,
                           .first = first,
                           .count = count,
                           .v_before = s->frame.v_plus,
                           .u_before = s->row.u_before + row,
                           .bias = s->sets.set.bias + row,
                           .e = s->row.e + row,
                           .tolerance = s->settings.tolerance,
                           .energy_scale = kn_energy_scale(s),
                           .friction = s->settings.friction,
                           .solver = s->settings.solver,
                           .guard = s->settings.guard,
                           .hit = hit,
                           .hit_context = s,
                           .events = s->settings.event_limit,
                           .each = s->law == one_by_one ? NULL : s->law,
                           .resting = s->row.resting + row,
                           .certificate = s->settings.certificate};
    kn_impact_result r = {.v_after = s->frame.dv,
                          .impulse = s->row.lambda + row,
                          .compression = s->row.compression + row,
                          .e_used = s->row.e_used + row};
    KN_TRY(kn_impact_solve(&r, law, &p, s->row.impact_scratch));
    memcpy(s->frame.v_plus, s->frame.dv, (size_t)s->model->nv * sizeof(double));
    kn_report_impact(s, &r);
    mark_hits(s, first, count);
    if (r.limit)
      kn_trouble_add(s, s->report.t, KN_TROUBLE_IMPACT_LIMIT, place_of(s, first, count), r.events, r.limit);
  }
  s->work->large.may_be_sparse = false;
  return KN_OK;
}

/* The impulses that slowed the landing belong to the contacts' compression. */
static void add_press(kn_sim* s) {
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    s->row.lambda[tag->row] += s->landing.press[tag->index];
    s->row.compression[tag->row] += s->landing.press[tag->index];
  }
}

/* Stages 8 and 9 of a step with impacts: the free motion lands, then the contacts collide. */
kn_status kn_stage_land_and_collide(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  const kn_model* m = s->model;
  s->blocks.travel->used = 0;
  kn_free_velocity_of_flight(s, x, dt);
  kn_rate_contacts(s, f, dt);
  kn_bodies_forget(s); /* an impact starts the bodies anew */
  f->held = false;     /* the contacts are looked for anew */
  double t0 = kn_stage_clock(s);
  for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] = 0.5 * (x->v[i] + s->frame.v_free[i]);
  kn_soft_displace(s, dt);
  kn_dyn_integrate(s->frame.q_hat, m, x->q, s->frame.v_mean, dt);
  kn_ledger_flight(s, x, s->frame.v_free, dt);
  memset(s->frame.v_mean, 0, (size_t)m->nv * sizeof(double));
  kn_dyn_position(s->data, m, s->frame.q_mid);
  kn_dyn_velocity(s->data, m, s->frame.v_mean);
  kn_dyn_accelerate(s->frame.a_forces, s->data, m, s->frame.v_mean,
                    s->force.tau); /* forces alone, no centripetal terms */
  kn_dyn_position(s->data, m, s->frame.q_hat);
  kn_detector_trust(s->detector, kn_looks_are_dear(s)); /* what the landing leaves is looked at without */
  kn_status seen = kn_detect(s->touch.contact, &s->touch.contacts, s->detector, s->data, s->settings.gtol,
                             0.0, s->blocks.pairs);
  kn_detector_trust(s->detector, false);
  if (seen != KN_OK) return seen;
  if (s->soft) kn_soft_measure(s, s->touch.contact, s->touch.contacts, true);
  kn_energy deep, landed;
  kn_dyn_energy(&deep, s->data, m, s->frame.q_hat, s->frame.v_free);
  kn_end_arrive(s, s->frame.v_free);
  kn_ledger_arrive(s);
  KN_TRY(kn_stage_project(s, x, f, s->frame.q_hat, x->time + dt));
  kn_dyn_energy(&landed, s->data, m, s->frame.q_hat, s->frame.v_free);
  s->landing.raised =
      landed.kinetic - deep.kinetic + landed.potential - deep.potential + landed.spring - deep.spring;
  kn_end_corrected(s, f, s->frame.v_free);
  kn_ledger_correct(s);
  kn_dyn_position(s->data, m, s->frame.q_hat);
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(landing_rows(s, x, dt));
  memcpy(s->touch.contact, s->touch.after, (size_t)s->touch.afters * sizeof *s->touch.after);
  s->touch.contacts = s->touch.afters;
  memcpy(s->frame.v_plus, s->landing.v, (size_t)m->nv * sizeof(double));
  KN_TRY(kn_stage_collide(s));
  KN_TRY(kn_stage_enter(s, KN_STAGE_IMPACT));
  add_press(s);
  kn_rows_velocity(s->row.u_plus, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_plus);
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_free);
  kn_report_rows(s, f);
  kn_warm_save(s, x);
  kn_anchor_update(s, f->loose);
  kn_end_energy(s);
  kn_ledger_impact(s);
  kn_stage_book(s, &s->report.time.impact, t0);
  return KN_OK;
}
