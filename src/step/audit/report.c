/* The report of a step (kn_report): impulses, modes and restitution of every contact, events, worst residual and
   overlap; filled at the end of stage 10 from what the stages left. It only observes. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "step/time/motion.h"

void kn_event_add(kn_sim* s, double t, kn_event_kind kind, kn_geom a, kn_geom b, kn_joint joint,
                  double value) {
  if (s->report.events >= s->room.events) return;
  s->book.event[s->report.events++] = (kn_event){.t = t,
                                                 .kind = kind,
                                                 .geom_a = a,
                                                 .geom_b = b,
                                                 .joint = joint,
                                                 .value = value,
                                                 .trouble = KN_TROUBLE_COUNT,
                                                 .loop = -1};
}

void kn_event_impact(kn_sim* s, double t, const kn_contact* c, double before, double after) {
  int at = s->report.events;
  kn_event_add(s, t, KN_EVENT_IMPACT, c->geom_a, c->geom_b, -1, before);
  if (s->report.events > at) s->book.event[at].after = after;
}

/* E_ref = max(K, range of V so far) */
double kn_energy_scale(const kn_sim* s) {
  return kn_max(s->book.kinetic_max, s->book.potential_max - s->book.potential_min);
}

/* Bytes from `from` to `to` of a report are zero; they are known to the compiler, and so few that each store
   stands by itself. */
static inline __attribute__((always_inline)) void clear(kn_report* r, size_t from, size_t to) {
  typedef double word __attribute__((may_alias));
  typedef double words __attribute__((vector_size(16), aligned(8), may_alias));
#pragma GCC unroll 64
  for (; from + 16 <= to; from += 16) *(words*)((char*)r + from) = (words){0.0, 0.0};
  if (from < to) *(word*)((char*)r + from) = 0.0;
}

void kn_report_begin(kn_sim* s, const kn_state* x, double dt) {
  double gain = s->report.gain_rel;
  clear(&s->report, offsetof(kn_report, status), offsetof(kn_report, total)); /* the totals go on */
  clear(&s->report, offsetof(kn_report, impact), sizeof s->report);
  s->report.t = x->time, s->report.dt = dt, s->report.gain_rel = gain;
  s->report.contact = s->touch.contact;
  s->report.event = s->book.event;
  s->report.limit_impulse = s->book.limit_impulse;
  s->report.loop_impulse = s->book.loop_impulse;
  s->report.dry_impulse = s->facts.dry ? s->book.dry_impulse : NULL;
  s->book.impact_energy = s->book.law_gain = 0.0;
  s->frame.scaled = s->loops.known = s->book.collided = false;
  if (s->model->nlimit) memset(s->book.limit_impulse, 0, (size_t)s->model->nlimit * sizeof(double));
  if (s->facts.dry) memset(s->book.dry_impulse, 0, (size_t)s->model->nv * sizeof(double));
  for (int i = 0, r = 0; i < s->model->nloop; i++) /* rows that are left out carry nothing */
    for (int k = kn_loop_rows(s->model, i); k > 0; k--) s->book.loop_impulse[r++] = 0.0;
  bool all = s->stepper != &kn_stepper_time;            /* it says so of every contact */
  for (int i = 0; i < s->room.contacts && all; i += 16) /* room for whole lines of 64 (arena.h) */
    *(kn_two_bits*)(s->touch.impacting + i) = (kn_two_bits){0, 0};
  kn_ledger_begin(s, x);
}

void kn_report_solution(kn_sim* s, const kn_contact_solution* out) {
  kn_report* r = &s->report;
  r->solves++;
  r->iterations += out->info.iterations;
  r->left_warm += !out->info.direct;
  double residual =
      out->info.residual_scaled; /* looked at where it is more than what solvers are asked for */
  if (residual <= 1e-8 || kn_residual_counts(s, residual)) r->residual = kn_max(r->residual, residual);
  if (out->lcp_size > r->lcp_size) r->lcp_size = out->lcp_size;
  if (out->directions > r->directions) r->directions = out->directions;
  if (out->info.status == KN_OK) return;
  r->status = out->info.status;
  kn_trouble_residual(s, &out->info);
}

/* What the formulation knows of the problem just solved: groups first … first+count-1 of s->sets.set. */
void kn_report_insight(kn_sim* s, int first, int count) {
  const kn_formulation* f = s->work->formulation;
  if (f->condition) s->report.condition = kn_max(s->report.condition, f->condition(s->work));
  if (!f->inspect || !s->settings.determinate || count == 0) return;
  int row0 = s->sets.set.tag[first].row;
  f->inspect(s->row.determinate + row0, s->work, s->row.lambda + row0);
  s->report.loop_determinate = s->book.loop_determinate;
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    for (int k = 0; k < tag->rows && tag->kind == KN_ROW_LOOP; k++)
      s->book.loop_determinate[tag->index + k] = s->row.determinate[tag->row + k];
    if (tag->kind != KN_ROW_CONTACT) continue;
    bool known = true;
    for (int k = 0; k < tag->rows; k++) known &= s->row.determinate[tag->row + k];
    s->touch.contact[tag->index].determinate = known ? KN_ANSWER_YES : KN_ANSWER_NO;
  }
}

void kn_report_impact(kn_sim* s, const kn_impact_result* result) {
  kn_report_solution(s, &result->solution);
  s->report.solves += result->solves - 1;
  s->book.impact_energy += result->energy;
  if (!s->settings.guard)
    s->book.law_gain += kn_max(result->energy, 0.0); /* with its guard a law creates none */
  if (result->fallback) {                            /* refused, but a step always returns a valid state */
    if (s->report.status == KN_OK) s->report.status = KN_UNSUPPORTED;
    kn_trouble_add(s, s->report.t, KN_TROUBLE_LAW_NOT_COVERED, kn_nowhere, s->touch.contacts, 1.0);
  }
  if (result->guard < 1.0) kn_event_add(s, s->report.t, KN_EVENT_GUARD, -1, -1, -1, result->guard);
  kn_impact_summary* sum = &s->report.impact;
  sum->islands++;
  sum->energy += result->energy;
  sum->gamma = sum->islands == 1 ? result->gamma : kn_min(sum->gamma, result->gamma);
  sum->rho = kn_max(sum->rho, result->rho);
  if (result->closed) {
    sum->closed++;
    sum->energy_closed += result->energy;
    sum->energy_formula += result->energy_formula;
  }
  if (result->repaired) kn_event_add(s, s->report.t, KN_EVENT_REPAIR, -1, -1, -1, result->rho);
  if (result->handed == KN_HANDED_NOT) return;
  sum->handed++;
  if (result->handed != KN_HANDED_FRICTION)
    kn_event_add(s, s->report.t, KN_EVENT_HANDED, -1, -1, -1, result->handed);
}

/* Two coefficients: the second tangent of the row is scaled by mu2/mu. */
static __attribute__((noinline)) void unscale(kn_sim* s, int i) {
  kn_contact* c = &s->touch.contact[i];
  double scale = c->mu2 / c->mu;
  c->impulse[2] *= scale, c->velocity[2] /= scale, s->touch.slip[i][1] /= scale;
  for (int k = 0; k < 3; k++) c->moment[k] = c->spin[k] = 0.0;
}

static inline __attribute__((always_inline)) void report_contact(kn_sim* s, const kn_flow* f,
                                                                 const kn_row_tag* tag, int island,
                                                                 const bool all) { /* or the normal alone */
  int i = tag->index, r = tag->row;
  kn_contact* c = &s->touch.contact[i];
  const double *p = s->row.lambda + r, *u = s->row.u_plus + r, *u_before = s->row.u_before + r,
               *bias = s->sets.set.bias + r;
  double p0 = p[0], p1 = all ? p[1] : 0.0, p2 = all ? p[2] : 0.0;
  double u0 = f->held && s->hold.contact[i] ? u[0] + bias[0] : u[0]; /* as it is at the end of the step */
  double u1 = all ? u[1] + bias[1] : 0.0, u2 = all ? u[2] + bias[2] : 0.0;
  bool impact = s->touch.impacting[i];
  c->island = island;
  c->impulse[0] = p0, c->impulse[1] = p1, c->impulse[2] = p2;
  c->velocity[0] = u0, c->velocity[1] = u1, c->velocity[2] = u2;
  s->touch.slip[i][0] = all ? 0.5 * (u_before[1] + u[1]) : 0.0;
  s->touch.slip[i][1] = all ? 0.5 * (u_before[2] + u[2]) : 0.0;
  c->mode = !(p0 > 0.0)                                 ? KN_MODE_OPEN
            : u1 * u1 + u2 * u2 <= 1e-18 && c->mu > 0.0 ? KN_MODE_STICK
                                                        : KN_MODE_SLIP; /* 1e-9 m/s */
  if (__builtin_expect(s->facts.rich, 0) && all && kn_contact_rich(c)) unscale(s, i);
  c->impact = impact;
  c->e_used = 0.0, c->impulse_compression = p0, c->impulse_decompression = 0.0;
  if (__builtin_expect(!impact, 1)) return;
  c->e_used = s->row.e_used[r];
  c->impulse_compression = s->row.compression[r], c->impulse_decompression = p0 - s->row.compression[r];
  kn_event_impact(s, s->report.t, c, -s->row.u_free[r], u0);
}

/* Turning rows of the contact before: torsion about the normal, rolling about the tangents. A contact sticks if
   nothing of it moves. */
static void report_spin(kn_sim* s, const kn_row_tag* tag) {
  kn_contact* c = &s->touch.contact[tag->index];
  const double scale[3] = {c->torsion / c->mu, c->roll / c->mu, c->roll / c->mu};
  for (int k = 0, r = tag->row; k < 3; k++) {
    if (!(scale[k] > 0.0)) continue;
    c->moment[k] = scale[k] * s->row.lambda[r], c->spin[k] = s->row.u_plus[r] / scale[k];
    if (fabs(s->row.u_plus[r++]) > 1e-9 && c->mode == KN_MODE_STICK) c->mode = KN_MODE_SLIP; /* m/s */
  }
}

static inline double row_audit(const kn_sim* s, int r) {
  return 0.5 * s->row.lambda[r] * (s->row.u_free[r] + s->row.u_plus[r]);
}

/* Rows that travel: as seen by who travels with them, where closed rows have u_plus = 0. */
static double travel_audit(const kn_sim* s, const kn_row_tag* tag) {
  const double *p = s->row.lambda + tag->row, *bias = s->sets.set.bias + tag->row;
  double sum = 0.0 + p[0] * bias[0];
  if (tag->rows == 3) return (sum + p[1] * bias[1]) + p[2] * bias[2];
  for (int k = 1; k < tag->rows; k++) sum += p[k] * bias[k];
  return sum;
}

/* Limits and loops as well; returns the audit of the rows with `audit` before them. */
static double report_rows_of(kn_sim* s, const kn_flow* f, const kn_row_tag* tag, int island, double audit) {
  int first = tag->row;
  if (tag->held && f->held) audit += travel_audit(s, tag);
  if (tag->kind == KN_ROW_CONTACT && tag->rows == 3) {
    report_contact(s, f, tag, s->sets.unsorted ? kn_row_island(s, tag) : island, true);
    return ((audit + row_audit(s, first)) + row_audit(s, first + 1)) + row_audit(s, first + 2);
  }
  for (int r = tag->row; r < tag->row + tag->rows; r++) {
    audit += row_audit(s, r);
    if (tag->kind != KN_ROW_LOOP) continue;
    audit += s->row.lambda[r] * s->sets.set.bias[r]; /* less prescribed work p U, bias = -U */
    s->book.loop_impulse[tag->index + r - tag->row] = s->row.lambda[r];
  }
  if (tag->kind == KN_ROW_CONTACT)
    report_contact(s, f, tag, s->sets.unsorted ? kn_row_island(s, tag) : island, false);
  if (tag->kind == KN_ROW_FRICTION) s->book.dry_impulse[tag->index] = s->row.lambda[tag->row];
  if (tag->kind == KN_ROW_SPIN) report_spin(s, tag);
  if (tag->kind == KN_ROW_LIMIT) s->book.limit_impulse[tag->index] = s->row.lambda[tag->row];
  return audit;
}

/* Needs lambda, u_before, u_free, u_plus of the rows in s->sets.set. */
void kn_report_rows(kn_sim* s, const kn_flow* f) {
  double audit = 0.0;
  s->report.contacts = s->touch.contacts;
  s->report.islands = s->sets.islands;
  if (s->touch.contacts == 1 && s->sets.set.count == 1 && s->sets.set.rows == 3 &&
      s->sets.set.tag->kind == KN_ROW_CONTACT) {
    s->report.audit = (row_audit(s, 0) + row_audit(s, 1)) + row_audit(s, 2);
    if (s->sets.set.tag->held && f->held) s->report.audit += travel_audit(s, s->sets.set.tag);
    report_contact(s, f, s->sets.set.tag, 0, true);
    if (s->report.status != KN_OK) kn_trouble_locate(s, f->impact);
    if (s->settings.verdict) kn_report_rolling(s);
    return;
  }
  for (int i = 0; i < s->touch.contacts; i++) {
    s->touch.contact[i].island = -1;
    s->touch.contact[i].mode = KN_MODE_OPEN;
    s->touch.slip[i][0] = s->touch.slip[i][1] =
        0.0; /* those that take no part say nothing of the step before */
  }
  for (int i = 0; i < s->sets.islands; i++)
    for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++)
      audit = report_rows_of(s, f, &s->sets.set.tag[g], i, audit);
  s->report.audit = audit;
  if (s->report.status != KN_OK) kn_trouble_locate(s, f->impact);
  if (s->settings.verdict) kn_report_rolling(s);
}

/* A contact that carries nothing but stays where it is has not separated: forces between several points under
   one body are not determined, and a solver may move the load from one to another at every step. */
static bool stays(const kn_sim* s, const kn_contact* c) {
  return c->mode == KN_MODE_OPEN && !c->impact && c->island >= 0 && c->gap <= s->settings.gtol &&
         c->velocity[0] <= 1e-9; /* m/s */
}

/* Contact, separation, stick and slip by comparison with the last step. */
static void transitions(kn_sim* s) {
  int same = 0;
  while (same < s->touch.contacts && same < s->book.lasts &&
         s->touch.contact[same].key == s->book.last[same].key &&
         s->touch.contact[same].mode == s->book.last[same].mode)
    same++;
  if (same == s->touch.contacts && same == s->book.lasts) return;
  kn_lookup last = kn_lookup_in(s->sets.lookup, s->book.last, sizeof *s->book.last, s->book.lasts);
  for (int i = 0; i < s->touch.contacts; i++) {
    const kn_contact* c = &s->touch.contact[i];
    int at = kn_lookup_find(&last, c->key);
    kn_contact_mode before = at >= 0 ? s->book.last[at].mode : KN_MODE_OPEN;
    s->book.mode[i] = stays(s, c) ? before : c->mode;
    if (before == s->book.mode[i]) continue;
    kn_event_kind kind = c->mode == KN_MODE_OPEN    ? KN_EVENT_SEPARATION
                         : before == KN_MODE_OPEN   ? KN_EVENT_CONTACT
                         : c->mode == KN_MODE_STICK ? KN_EVENT_STICK
                                                    : KN_EVENT_SLIP;
    kn_event_add(s, s->report.t, kind, c->geom_a, c->geom_b, -1, c->impulse[0]);
  }
  s->book.lasts = s->touch.contacts;
  for (int i = 0; i < s->touch.contacts; i++)
    s->book.last[i].key = s->touch.contact[i].key, s->book.last[i].mode = s->book.mode[i];
}

/* Limits that were out of reach and that the impulses of others overran, before the repair of positions (and that a
   few rounds of kn_stage_pushed_limits left so). A ball's limit is left to `verify`. */
static void overrun_limits(kn_sim* s) {
  const kn_model* m = s->model;
  if (!kn_limits_overrun(s, s->report.dt)) return;
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    if (l->side == 0 || s->book.limit_impulse[i] != 0.0) continue;
    double gap = kn_limit_gap(m, i, s->frame.q_mid),
           over = -0.5 * s->report.dt * l->side * s->frame.v_plus[l->v] - gap;
    if (gap > s->settings.gtol && over > KN_LIMIT_PUSHED)
      kn_trouble_add(s, s->report.t, KN_TROUBLE_LIMIT_PUSHED, (kn_place){-1, -1, l->joint, -1, 0}, over,
                     KN_LIMIT_PUSHED);
  }
}

void kn_report_end(kn_sim* s, bool collided) {
  kn_report* r = &s->report;
  s->book.collided = collided;
  transitions(s);
  if (s->stepper == &kn_stepper_time && !collided) overrun_limits(s);
  kn_ledger_end(s);
  kn_ledger_rise(s);
  double scale = kn_energy_scale(s);
  if (r->audit > 0.0 && scale > 0.0) r->gain_rel = kn_max(r->gain_rel, r->audit / scale);
}
