/* One step as rows of doubles for the page: scalars by name, coordinates and velocities, contacts, events. A
   report and a recorded step fill the same rows, so that the page has one way to show both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* name, unit, from a kn_report r, from a kn_recorded r */
#define SCALARS(X)                                                                                           \
  X(t, "s", r->t)                                                                                            \
  X(dt, "s", r->dt)                                                                                          \
  X(contacts, "", r->contacts)                                                                               \
  X(residual, "", r->residual)                                                                               \
  X(penetration, "m", r->penetration)                                                                        \
  X(lift, "m", r->lift)                                                                                      \
  X(closure, "m", r->closure)                                                                                \
  X(drift, "m", r->drift)                                                                                    \
  X(correction, "", r->correction)                                                                           \
  X(gain_rel, "", r->gain_rel)                                                                               \
  X(iterations, "", r->iterations)                                                                           \
  X(solves, "", r->solves)                                                                                   \
  X(islands, "", r->islands)                                                                                 \
  X(lcp_size, "", r->lcp_size)                                                                               \
  X(limits, "", r->limits)                                                                                   \
  X(status, "", r->status)                                                                                   \
  X(momentum_error, "kg m/s", r->momentum_error)                                                             \
  X(energy_kinetic, "J", r->energy.kinetic)                                                                  \
  X(energy_potential, "J", r->energy.potential)                                                              \
  X(energy_spring, "J", r->energy.spring)                                                                    \
  X(energy_total, "J", r->energy.kinetic + r->energy.potential + r->energy.spring)

enum {
#define X(name, unit, value) AT_##name,
  SCALARS(X)
#undef X
      AT_verdict,
  AT_events,
  AT_hash_high,
  AT_hash_low,
  AT_step,
  AT_step_time,
  AT_momentum, /* linear 3, angular 3, centre of mass 3 */
  AT_ledger = AT_momentum + 9,
  LEDGER = sizeof(kn_ledger) / sizeof(double),
  SCALARS_COUNT = AT_ledger + LEDGER,
  CONTACT = 45,
  EVENT = 7
};

static struct {
  double* scalar;
  double *q, *v, *ctrl;
  double* contact;
  double* event;
  int contacts, events, contact_room, event_room;
  const kn_event* last_event;
} row;

KW(double*, kw_row)(void) { return row.scalar; }
KW(int, kw_row_size)(void) { return SCALARS_COUNT; }
KW(double*, kw_row_q)(void) { return row.q; }
KW(double*, kw_row_v)(void) { return row.v; }
KW(double*, kw_row_ctrl)(void) { return row.ctrl; }
KW(double*, kw_row_contact)(void) { return row.contact; }
KW(int, kw_row_contacts)(void) { return row.contacts; }
KW(int, kw_contact_size)(void) { return CONTACT; }
KW(double*, kw_row_event)(void) { return row.event; }
KW(int, kw_row_events)(void) { return row.events; }
KW(int, kw_event_size)(void) { return EVENT; }
KW(const char*, kw_row_event_text)(int i) {
  return row.last_event && i < row.events ? row.last_event[i].text : "";
}

/* Names and units of the scalars, "name|unit\n" each. */
KW(const char*, kw_row_names)(void) {
  return
#define X(name, unit, value) #name "|" unit "\n"
      SCALARS(X)
#undef X
          "verdict|\nevents|\nhash_high|\nhash_low|\nstep|\nstep_time|s\n"
          "momentum_x|kg m/s\nmomentum_y|kg m/s\nmomentum_z|kg m/s\n"
          "angular_x|kg m²/s\nangular_y|kg m²/s\nangular_z|kg m²/s\ncom_x|m\ncom_y|m\ncom_z|m\n"
#define X(name) "ledger_" #name "|J\n"
      KN_LEDGER_LIST(X)
#undef X
          ;
}

kn_status kw_row_create(void) {
  size_t nq = (size_t)kn_model_nq(kw.model), nv = (size_t)kn_model_nv(kw.model),
         nu = (size_t)kn_model_nu(kw.model);
  row.scalar = calloc(SCALARS_COUNT, sizeof(double));
  row.q = calloc(nq + 1, sizeof(double));
  row.v = calloc(nv + 1, sizeof(double));
  row.ctrl = calloc(nu + 1, sizeof(double));
  return row.scalar && row.q && row.v && row.ctrl ? KN_OK : KN_OUT_OF_MEMORY;
}

void kw_row_free(void) {
  free(row.scalar), free(row.q), free(row.v), free(row.ctrl), free(row.contact), free(row.event);
  memset(&row, 0, sizeof row);
}

static bool grow(double** at, int* room, int wanted, int size) {
  if (wanted <= *room) return true;
  double* fresh = realloc(*at, (size_t)(2 * wanted) * (size_t)size * sizeof(double));
  if (!fresh) return false;
  *at = fresh;
  *room = 2 * wanted;
  return true;
}

static void put_contact(double* x, const kn_contact* c) {
  double n[] = {c->geom_a, c->geom_b, c->body_a, c->body_b};
  memcpy(x, n, sizeof n);
  memcpy(x + 4, c->point, sizeof c->point);
  memcpy(x + 7, c->frame, sizeof c->frame);
  double m[] = {c->gap, c->mu, c->e};
  memcpy(x + 16, m, sizeof m);
  memcpy(x + 19, c->impulse, sizeof c->impulse);
  memcpy(x + 22, c->velocity, sizeof c->velocity);
  double k[] = {
      c->mode,   c->determinate, c->impact,   c->e_used, c->impulse_compression, c->impulse_decompression,
      c->island, c->rolling,     c->compliant};
  memcpy(x + 25, k, sizeof k);
  memcpy(x + 34, c->delta, sizeof c->delta);
  x[37] = (double)(c->key >> 32), x[38] = (double)(c->key & 0xffffffffu);
  memcpy(x + 39, c->moment, sizeof c->moment);
  x[42] = c->mu2, x[43] = c->torsion, x[44] = c->roll;
}

static void put_lists(const kn_contact* c, int contacts, const kn_event* e, int events) {
  row.contacts = grow(&row.contact, &row.contact_room, contacts, CONTACT) ? contacts : 0;
  row.events = grow(&row.event, &row.event_room, events, EVENT) ? events : 0;
  for (int i = 0; i < row.contacts; i++) put_contact(row.contact + CONTACT * i, &c[i]);
  for (int i = 0; i < row.events; i++) {
    double x[EVENT] = {e[i].t, e[i].kind, e[i].geom_a, e[i].geom_b, e[i].joint, e[i].value, e[i].after};
    memcpy(row.event + EVENT * i, x, sizeof x);
  }
  row.last_event = e;
}

static void put_hash(uint64_t hash) {
  row.scalar[AT_hash_high] = (double)(hash >> 32);
  row.scalar[AT_hash_low] = (double)(hash & 0xffffffffu);
}

/* Coordinates and what follows from them alone. */
static void put_motion(const double* q, const double* v, const double* ctrl) {
  memcpy(row.q, q, (size_t)kn_model_nq(kw.model) * sizeof *q);
  memcpy(row.v, v, (size_t)kn_model_nv(kw.model) * sizeof *v);
  if (ctrl) memcpy(row.ctrl, ctrl, (size_t)kn_model_nu(kw.model) * sizeof *ctrl);
  memcpy(kn_state_q(kw.shown), q, (size_t)kn_model_nq(kw.model) * sizeof *q);
  memcpy(kn_state_v(kw.shown), v, (size_t)kn_model_nv(kw.model) * sizeof *v);
  double* x = row.scalar + AT_momentum;
  if (kn_momentum(x, x + 3, x + 6, kw.model, kw.shown, kw.data) != KN_OK) memset(x, 0, 9 * sizeof *x);
}

static void put_ledger(const kn_ledger* total) { memcpy(row.scalar + AT_ledger, total, sizeof *total); }

void kw_row_report(const kn_report* r) {
  double* x = row.scalar;
  kn_state* s = kw.subject.state;
#define X(name, unit, value) x[AT_##name] = (double)(value);
  SCALARS(X)
  x[AT_verdict] = (double)r->verdict.kind;
  x[AT_events] = r->events;
  x[AT_step] = (double)kw.step;
  x[AT_step_time] = kw.step_time;
  put_hash(kn_state_hash(s));
  put_ledger(&r->total);
  put_lists(r->contact, r->contacts, r->event, r->events);
  put_motion(kn_state_q(s), kn_state_v(s), kn_state_ctrl(s));
}

void kw_row_recorded(const kn_recorded* r) {
  double* x = row.scalar;
  SCALARS(X)
#undef X
  x[AT_verdict] = (double)r->verdict;
  x[AT_events] = r->events;
  x[AT_step] = (double)r->step;
  x[AT_step_time] = 0; /* a recording has none: it is the same on every machine */
  put_hash(r->state_hash);
  put_ledger(&r->total);
  put_lists(r->contact, r->contacts, r->event, r->events);
  put_motion(r->q, r->v, r->ctrl);
}

/* The state before any step, or one that was restored: no contacts, energies of the moment. */
void kw_row_first(void) {
  kn_state* s = kw.subject.state;
  kn_energy e;
  memset(row.scalar, 0, SCALARS_COUNT * sizeof *row.scalar);
  put_lists(NULL, 0, NULL, 0);
  put_motion(kn_state_q(s), kn_state_v(s), kn_state_ctrl(s));
  put_hash(kn_state_hash(s));
  row.scalar[AT_t] = kn_state_time(s);
  row.scalar[AT_dt] = kw.subject.settings.dt;
  row.scalar[AT_step] = (double)kw.step;
  if (kn_energy_of(&e, kw.model, s, kw.data) != KN_OK) return;
  row.scalar[AT_energy_kinetic] = e.kinetic;
  row.scalar[AT_energy_potential] = e.potential;
  row.scalar[AT_energy_spring] = e.spring;
  row.scalar[AT_energy_total] = e.kinetic + e.potential + e.spring;
}
