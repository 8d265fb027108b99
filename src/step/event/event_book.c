/* What the event-driven step reports: impulses by contact, events, ledger.

   Ledger of the flow: W_j = h Σ b_i f_j,i · v_i with the weights of the integrator; integration is the rest,
   ΔE - Σ W_j, and falls with the integrator's order. Impacts: ΔK at the instant. correction: what the repair
   of positions and velocities did to the energy. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"
#include "step/event/event.h"

static kn_contact* booked(kn_sim* s, kn_event_work* w, const kn_contact* c) {
  for (int i = 0; i < w->step.books; i++)
    if (w->step.book[i].key == c->key) return &w->step.book[i];
  if (w->step.books == s->room.contacts) {
    s->room.wants = s->room.contacts + 1; /* the step ends without this one, and is then made again */
    return NULL;
  }
  kn_contact* b = &w->step.book[w->step.books++];
  *b = *c;
  memset(b->impulse, 0, sizeof b->impulse);
  return b;
}

/* world: impulse on A. It is kept in world axes until the step ends. */
void kn_event_book_impulse(kn_sim* s, kn_event_work* w, const kn_contact* c, const double world[3],
                           bool impact, double e_used, double compression) {
  kn_contact* b = booked(s, w, c);
  if (!b) return;
  kn_add3(b->impulse, b->impulse, world);
  double normal = kn_dot3(world, c->frame);
  b->impulse_compression += impact ? compression : normal;
  b->impulse_decompression += impact ? normal - compression : 0.0;
  if (!impact) return;
  b->impact = true;
  b->e_used = e_used;
}

/* A row without a load keeps its mode with forces of rounding, h->size, of either sign, and some stages weigh less than nothing: what has
   pulled by no more than that over the sub-step did not pull. */
static void clear_pull(const kn_event_work* w, kn_held* h) {
  double least = -4.0 * h->size * w->flow.h,
         p = h->kind == KN_ROW_CONTACT ? kn_dot3(h->impulse, h->c.frame) : h->impulse[0];
  if (!(p < 0.0 && p >= least)) return;
  if (h->kind == KN_ROW_LIMIT) h->impulse[0] = 0.0;
  for (int i = 0; i < 3 && h->kind == KN_ROW_CONTACT; i++) h->impulse[i] -= p * h->c.frame[i];
}

void kn_event_book_flow(kn_sim* s, kn_event_work* w) {
  kn_ledger* l = &s->report.ledger;
  l->actuator += w->flow.power[KN_POWER_ACTUATOR];
  l->applied += w->flow.power[KN_POWER_APPLIED];
  l->damping += w->flow.power[KN_POWER_DAMPING];
  l->joint_friction += w->flow.power[KN_POWER_JOINT_FRICTION];
  l->friction += w->flow.power[KN_POWER_FRICTION];
  l->normal += w->flow.power[KN_POWER_NORMAL];
  l->limit += w->flow.power[KN_POWER_LIMIT];
  l->loop += w->flow.power[KN_POWER_LOOP];
  l->prescribed += w->flow.power[KN_POWER_PRESCRIBED];
  for (int i = 0; i < s->model->nv; i++) w->control.all[i] += w->control.sum[i];
  for (int g = 0; g < w->closed.helds; g++) {
    kn_held* h = &w->closed.held[g];
    clear_pull(w, h);
    if (h->kind == KN_ROW_CONTACT) kn_event_book_impulse(s, w, &h->c, h->impulse, false, 0.0, 0.0);
    if (h->kind == KN_ROW_LIMIT) s->book.limit_impulse[h->index] += h->impulse[0];
    if (h->kind == KN_ROW_FRICTION) s->book.dry_impulse[h->index] += h->impulse[0];
    if (h->kind == KN_ROW_LOOP) s->book.loop_impulse[h->index] += h->impulse[0];
  }
}

static kn_contact_mode last_mode(const kn_sim* s, uint64_t key) {
  for (int i = 0; i < s->book.lasts; i++)
    if (s->book.last[i].key == key) return s->book.last[i].mode;
  return KN_MODE_OPEN;
}

static kn_contact_mode visible_mode(const kn_held* h) {
  if (!h) return KN_MODE_OPEN;
  return h->mode != KN_MODE_OPEN && kn_event_sticks(h) ? KN_MODE_STICK : h->mode;
}

/* Changes of mode at w->t, after they were chosen. Geoms of a contact that is gone are not known any more. */
void kn_event_book_modes(kn_sim* s, kn_event_work* w) {
  for (int i = 0; i < s->book.lasts; i++) {
    const kn_held* h = kn_event_held(w, s->book.last[i].key);
    if (s->book.last[i].mode == KN_MODE_OPEN || visible_mode(h) != KN_MODE_OPEN) continue;
    kn_event_add(s, w->t, KN_EVENT_SEPARATION, s->book.last[i].a, s->book.last[i].b, -1, 0.0);
  }
  for (int g = 0; g < w->closed.helds; g++) {
    const kn_held* h = &w->closed.held[g];
    if (h->kind != KN_ROW_CONTACT) continue;
    kn_contact_mode before = last_mode(s, h->c.key), mode = visible_mode(h);
    if (mode == before || mode == KN_MODE_OPEN) continue;
    kn_event_kind kind = before == KN_MODE_OPEN  ? KN_EVENT_CONTACT
                         : mode == KN_MODE_STICK ? KN_EVENT_STICK
                                                 : KN_EVENT_SLIP;
    kn_event_add(s, w->t, kind, h->c.geom_a, h->c.geom_b, -1, h->f[0]);
  }
  s->book.lasts = 0;
  for (int g = 0; g < w->closed.helds; g++) {
    const kn_held* h = &w->closed.held[g];
    if (h->kind != KN_ROW_CONTACT) continue; /* there are no more contacts than were seen */
    s->book.last[s->book.lasts].key = h->c.key;
    s->book.last[s->book.lasts].a = h->c.geom_a;
    s->book.last[s->book.lasts].b = h->c.geom_b;
    s->book.last[s->book.lasts++].mode = visible_mode(h);
  }
}

/* Contacts of the step: those with impulses, then those that are merely near, at the final position. */
static kn_status list_contacts(kn_sim* s, kn_event_work* w) {
  for (int i = 0; i < s->touch.afters; i++) {
    kn_contact* b = booked(s, w, &s->touch.after[i]);
    if (!b) continue;
    memcpy(b->point, s->touch.after[i].point, sizeof b->point);
    memcpy(b->frame, s->touch.after[i].frame, sizeof b->frame);
    b->gap = s->touch.after[i].gap;
  }
  if (s->room.wants) return kn_no_contact_room(s, s->room.wants);
  kn_constraints_clear(&s->sets.found);
  s->touch.contacts = 0;
  for (int i = 0; i < w->step.books; i++) {
    kn_contact* c = &s->touch.contact[s->touch.contacts];
    double p[3];
    *c = w->step.book[i];
    kn_copy3(p, c->impulse);
    for (int k = 0; k < 3; k++) c->impulse[k] = kn_dot3(p, c->frame + 3 * k);
    const kn_held* h = kn_event_held(w, c->key);
    c->mode = visible_mode(h);
    c->island = -1;
    KN_TRY(kn_constraint_add_contact(&s->sets.found, s->model, c, s->touch.contacts, 0.0));
    s->touch.contacts++;
  }
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.found.geometry, s->sets.found.count, w->v);
  if (kn_row_islands(s, NULL) == KN_OK)
    for (int g = 0; g < s->sets.found.count; g++)
      s->touch.contact[s->sets.found.tag[g].index].island = s->sets.order[g];
  for (int g = 0; g < s->sets.found.count; g++)
    for (int k = 0; k < 3; k++)
      s->touch.contact[g].velocity[k] =
          k < s->sets.found.tag[g].rows ? s->row.u_before[s->sets.found.tag[g].row + k] : 0.0;
  s->report.contacts = s->touch.contacts;
  s->report.islands = s->sets.islands;
  return KN_OK;
}

kn_status kn_event_book_end(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  kn_report* r = &s->report;
  KN_TRY(list_contacts(s, w));
  /* a controller acts all along: what is told and recorded of the step is the mean */
  for (int i = 0; i < s->model->nv && s->controller.fn; i++) s->force.tau_applied[i] = w->control.all[i] / dt;
  kn_anchor_update(s, false);
  kn_dyn_energy(&s->book.energy_now, s->data, s->model, x->q, x->v);
  if (!kn_energy_finite(s, x->time))
    return kn_fail(KN_NOT_FINITE, "the motion between events until t = %g s overflows", x->time);
  kn_fours_copy(s->past.q, x->q, s->model->nq); /* where this step ended */
  kn_fours_copy(s->past.v, x->v, s->model->nv);
  kn_commit_weigh(s, x, &s->book.energy_now);
  r->t = x->time;
  r->ledger.impact = s->book.impact_energy;
  kn_ledger_end(s);
  const kn_ledger* l = &r->ledger;
  double change = l->kinetic + l->potential + l->spring;
  double booked_work = l->actuator + l->applied + l->damping + l->joint_friction + l->friction + l->impact +
                       l->normal + l->limit + l->loop + l->prescribed + l->correction;
  r->ledger.integration = change - booked_work;
  r->total.integration += r->ledger.integration;
  double scale = kn_energy_scale(s), flow = l->friction + l->normal; /* rounding of the energies is no gain */
  kn_ledger_rise(s);
  if (flow > 1e-15 * (fabs(s->book.energy_now.kinetic) + fabs(s->book.energy_now.potential)))
    r->audit = fmax(r->audit, flow);
  if (r->audit > 0.0 && scale > 0.0) r->gain_rel = fmax(r->gain_rel, r->audit / scale);
  return KN_OK;
}
