/* Which rows are closed at a state, and what happens when some of them approach: the impact law of the
   simulator at that instant, all closed rows together.

   Zeno. A contact that leaves with speed e u under a closing acceleration a bounces on for
   t_Z = 2 e u/(a (1 - e)) and loses ½ m u² in all. When t_Z < 1e-7 s the sequence is ended: this impact has
   e = 0. e = 1 never ends. When only ten of a step's events are left, sequences that would end within the
   step are ended too. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/event/event.h"

kn_status kn_event_look(kn_sim* s, kn_event_work* w) {
  const kn_model* m = s->model;
  double t0 = kn_stage_clock(s), t1;
  kn_dyn_position(s->data, m, w->q);
  kn_dyn_velocity(s->data, m, w->v);
  for (int i = 0; i < m->nlink; i++) kn_link_velocity(w->gap.link_v[i], s->data, i);
  s->report.time.kinematics += (t1 = kn_stage_clock(s)) - t0;
  kn_status status = kn_detect(w->closed.seen, &w->closed.seens, s->detector, s->data, s->settings.gtol,
                               fmin(w->left, w->flow.h_next), &w->cache);
  s->report.time.collide += kn_stage_clock(s) - t1;
  return status;
}

/* Rows of all contacts seen and all limits, and their velocities in s->row.u_before. */
static kn_status seen_rows(kn_sim* s, kn_event_work* w) {
  const kn_model* m = s->model;
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < w->closed.seens; i++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &w->closed.seen[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++) KN_TRY(kn_constraint_add_limit(&s->sets.found, m, w->q, i, 0.0));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.found.geometry, s->sets.found.count, w->v);
  return KN_OK;
}

static bool closed(double gap, double u, bool hit) {
  if (u < -KN_EVENT_REST) return gap <= KN_EVENT_TOUCH || (hit && gap <= KN_EVENT_CLOSED);
  return u <= KN_EVENT_REST && gap <= KN_EVENT_CLOSED;
}

static bool contact_closed(const kn_event_work* w, const kn_contact* c, double u) {
  return closed(c->gap, u, c->key == w->gap.hit);
}

static bool limit_closed(const kn_sim* s, const kn_event_work* w, int i, double u) {
  return closed(kn_limit_gap(s->model, i, w->q), u, i == w->gap.hit_limit);
}

/* Restitution of a contact that closes with speed u under the normal acceleration a_n. */
static double bounce(const kn_sim* s, const kn_event_work* w, const kn_contact* c, double u, double a_n) {
  double e = kn_restitution(s, c, u);
  if (!(e > 0.0) || (s->settings.v_rest >= 0.0 && u <= s->settings.v_rest)) return 0.0;
  if (e >= 1.0 || !(a_n < 0.0)) return e;
  double zeno = 2.0 * e * u / (-a_n * (1.0 - e));
  return zeno < KN_EVENT_ZENO || (w->step.events + 10 > w->step.limit && zeno < w->left) ? 0.0 : e;
}

/* Closed contacts go to s->touch.contact; s->sets.found, s->sets.set: their rows, those of closed limits and
   the loops. */
static kn_status impact_rows(kn_sim* s, kn_event_work* w, bool* any) {
  const kn_model* m = s->model;
  KN_TRY(seen_rows(s, w));
  *any = false;
  s->touch.contacts = 0;
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    double u = s->row.u_before[tag->row];
    if (tag->kind == KN_ROW_LIMIT) {
      s->sets.slot[tag->index] = limit_closed(s, w, tag->index, u);
      *any |= s->sets.slot[tag->index] && u < -KN_EVENT_REST;
      continue;
    }
    const kn_contact* c = &w->closed.seen[tag->index];
    if (!contact_closed(w, c, u)) continue;
    s->touch.contact[s->touch.contacts++] = *c;
    *any |= u < -KN_EVENT_REST;
  }
  if (!*any) return KN_OK;
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.contacts; i++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &s->touch.contact[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++)
    if (s->sets.slot[i]) KN_TRY(kn_constraint_add_limit(&s->sets.found, m, w->q, i, 0.0));
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, w->q, i, row, w->t, &rows, NULL));
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(kn_stage_keep_loops(s, s->sets.keep));
  return kn_row_islands(s, s->sets.keep);
}

/* Free normal accelerations (forces and J̇ q̇ of the material points) of the rows in s->sets.set. */
static void free_accelerations(kn_sim* s, kn_event_work* w, double* a) {
  const kn_model* m = s->model;
  kn_dyn_accelerate(s->frame.dv, s->data, m, w->v, s->force.tau);
  kn_rows_velocity(a, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.dv);
}

static void set_restitution(kn_sim* s, kn_event_work* w) {
  free_accelerations(s, w, s->row.u_free);
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.set.geometry, s->sets.set.count, w->v);
  memset(s->row.e, 0, (size_t)s->sets.set.rows * sizeof(double));
  memset(s->row.resting, 0, (size_t)s->sets.set.rows * sizeof(bool));
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    double u = -s->row.u_before[tag->row];
    s->row.resting[tag->row] = fabs(u) <= KN_EVENT_REST;
    if (u > KN_EVENT_REST)
      s->row.e[tag->row] = bounce(s, w, &s->touch.contact[tag->index], u, s->row.u_free[tag->row]);
  }
}

static void book_impact(kn_sim* s, kn_event_work* w) {
  const kn_model* m = s->model;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    const double* p = s->row.lambda + tag->row;
    double u = s->row.u_before[tag->row];
    if (tag->kind == KN_ROW_FRICTION) s->book.dry_impulse[tag->index] += p[0];
    if (tag->kind == KN_ROW_LOOP) s->book.loop_impulse[tag->index] += p[0];
    if (tag->kind == KN_ROW_LIMIT) {
      s->book.limit_impulse[tag->index] += p[0];
      if (u < -KN_EVENT_REST) kn_event_add(s, w->t, KN_EVENT_LIMIT, -1, -1, m->limit[tag->index].joint, -u);
    }
    if (tag->kind != KN_ROW_CONTACT) continue;
    const kn_contact* c = &s->touch.contact[tag->index];
    double world[3] = {0};
    for (int k = 0; k < tag->rows; k++)
      for (int i = 0; i < 3; i++) world[i] += p[k] * c->frame[3 * k + i];
    bool impact = u < -KN_EVENT_REST;
    kn_event_book_impulse(s, w, c, world, impact, s->row.e_used[tag->row], s->row.compression[tag->row]);
    if (impact) kn_event_impact(s, w->t, c, -u, s->row.u_plus[tag->row]);
  }
}

enum { IMPACT = 15 }; /* evaluations of the accelerations that an impact costs */

/* All impacts of this instant. The last forces s->force.tau serve the Zeno rule. */
kn_status kn_event_collide(kn_sim* s, kn_event_work* w, bool* collided) {
  double t0 = kn_stage_clock(s);
  *collided = false;
  for (bool any = true; any && w->step.events < w->step.limit && !kn_event_spent(s, w);) {
    KN_TRY(impact_rows(s, w, &any));
    if (!any) break;
    w->step.evaluations += IMPACT;
    set_restitution(s, w);
    memcpy(s->frame.v_plus, w->v, (size_t)s->model->nv * sizeof(double));
    double before = s->book.impact_energy;
    KN_TRY(kn_stage_collide(s));
    s->report.audit = fmax(s->report.audit, s->book.impact_energy - before);
    memcpy(w->v, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
    kn_dyn_velocity(s->data, s->model, w->v);
    kn_rows_velocity(s->row.u_plus, s->data, s->model, s->sets.set.geometry, s->sets.set.count, w->v);
    book_impact(s, w);
    w->step.events++;
    *collided = true;
  }
  for (int i = 0; i < s->model->nlink && *collided; i++) kn_link_velocity(w->gap.link_v[i], s->data, i);
  s->report.time.impact += kn_stage_clock(s) - t0;
  return KN_OK;
}

/* ---- rows that rest ---- */

static int pair_of(kn_event_work* w, const kn_contact* c) {
  for (int p = 0; p < w->closed.pairs; p++)
    if (w->closed.pair[p].a == c->geom_a && w->closed.pair[p].b == c->geom_b) return p;
  struct kn_held_pair* p = &w->closed.pair[w->closed.pairs];
  *p = (struct kn_held_pair){.a = c->geom_a, .b = c->geom_b};
  const kn_pair_entry* entry = w->cache.data;
  for (size_t k = 0; k < w->cache.used / sizeof *entry; k++)
    if (entry[k].geom_a == c->geom_a && entry[k].geom_b == c->geom_b) p->cache = entry[k].cache;
  return w->closed.pairs++;
}

static void hold_contact(kn_event_work* w, const kn_contact* c, const double* u) {
  kn_held* h = &w->closed.held[w->closed.helds++];
  *h = (kn_held){.kind = KN_ROW_CONTACT, .c = *c, .pair = pair_of(w, c), .mode = KN_MODE_SLIP};
  if (!(c->mu > 0.0)) return;
  double speed = sqrt(u[1] * u[1] + u[2] * u[2]);
  if (speed <= KN_EVENT_REST) {
    h->mode = KN_MODE_STICK;
    return;
  }
  h->moving = true;
  for (int i = 0; i < 3; i++) h->s[i] = (u[1] * c->frame[3 + i] + u[2] * c->frame[6 + i]) / speed;
}

static void hold_friction(kn_sim* s, kn_event_work* w) {
  for (int i = 0; i < s->model->nv; i++) {
    if (!(s->model->friction[i] > 0.0)) continue;
    kn_held* h = &w->closed.held[w->closed.helds++];
    *h = (kn_held){.kind = KN_ROW_FRICTION, .index = i, .mode = KN_MODE_STICK};
    h->c.mu = s->model->friction[i];
    if (fabs(w->v[i]) <= KN_EVENT_REST) continue;
    h->mode = KN_MODE_SLIP;
    h->moving = true;
    h->s[0] = w->v[i] > 0.0 ? 1.0 : -1.0;
  }
}

static kn_status hold_loops(kn_sim* s, kn_event_work* w) {
  const kn_model* m = s->model;
  if (!w->closed.loop_rows) return KN_OK;
  kn_constraints_clear(&s->sets.found);
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, w->q, i, row, w->t, &rows, NULL));
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(kn_stage_keep_loops(s, w->closed.loop_keep));
  for (int i = 0; i < w->closed.loop_rows; i++)
    w->closed.held[w->closed.helds++] = (kn_held){.kind = KN_ROW_LOOP, .index = i, .mode = KN_MODE_STICK};
  return KN_OK;
}

/* Rows that approach are no longer closed but about to collide: their gap is watched, also one below
   KN_EVENT_CLOSED. Held, they would lose their approach to the velocity repair without an impact. */
static bool rests(double gap, double u) {
  return gap <= KN_EVENT_CLOSED && u <= KN_EVENT_REST && u >= -KN_EVENT_REST;
}

kn_status kn_event_hold(kn_sim* s, kn_event_work* w) {
  KN_TRY(seen_rows(s, w));
  w->closed.helds = w->closed.pairs = 0;
  for (int g = 0; g < w->closed.seens; g++) {
    const double* u = s->row.u_before + s->sets.found.tag[g].row;
    if (rests(w->closed.seen[g].gap, u[0])) hold_contact(w, &w->closed.seen[g], u);
  }
  for (int g = w->closed.seens; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    if (rests(kn_limit_gap(s->model, tag->index, w->q), s->row.u_before[tag->row]))
      w->closed.held[w->closed.helds++] =
          (kn_held){.kind = KN_ROW_LIMIT, .index = tag->index, .mode = KN_MODE_STICK};
  }
  hold_friction(s, w);
  s->report.limits = s->report.loops = 0;
  KN_TRY(hold_loops(s, w));
  for (int g = 0; g < w->closed.helds; g++) {
    s->report.limits += w->closed.held[g].kind == KN_ROW_LIMIT;
    s->report.loops += w->closed.held[g].kind == KN_ROW_LOOP;
  }
  return KN_OK;
}
