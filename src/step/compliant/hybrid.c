/* Rigid while it is safe, compliant while it is not (song-kumar section 4, Fig. 4).

   Leaving, at the start of a step: the compliant state is built from the last rigid forces and the rates,

     δ̇_N = -u_N,  δ_N = max(0, (λ_N - C δ̇_N)/K),  g0 = gap + δ_N       the offset keeps q continuous
     δ̇_T = 0 when sliding (the paper's assumption), -u_T when rolling;   δ_T = (λ_T - C δ̇_T)/K

   The energy this puts into the layers is the column `switching`. Returning, at the end of a step: after
   `hold` steps in a row in which the island was safe (A_RS of its present modes P and stable), velocities go
   to J_N v = 0 on the loaded contacts, least in the M-norm; what the layers held is dropped. Positions stay: the gap
   at which a contact returns counts as zero from then on, and this offset goes to zero within fade_time, by the repair
   of positions. The change of energy is booked in `switching`, the jump of the velocities is in the
   event's text. Contacts that open by more than gtol leave the island; when none is left it is rigid again.
 */
#include "step/compliant/compliant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation/least_norm.h"
#include "spatial/spatial.h"

/* s: within this the object has come from where it was compliant to where the rigid contacts want it. Long beside a
   step, so that the motion is continuous, short beside a grasp. */
static const double fade_time = 0.1;

/* ---- words ---- */

static const char* name_of(const kn_model* m, kn_geom geom) {
  const char* name = m->geom[geom].name;
  if (name && *name) return name;
  kn_body body = m->geom_place[geom].body;
  name = body >= 0 ? m->body[body].name : NULL;
  return name && *name ? name : body >= 0 ? "nameless" : "world";
}

typedef struct text {
  char* at;
  size_t left;
} text;

static void say(text* t, const char* format, ...) __attribute__((format(printf, 2, 3)));
#include <stdarg.h>
static void say(text* t, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int n = vsnprintf(t->at, t->left, format, list);
  va_end(list);
  size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
  t->at += used, t->left -= used;
}

static void say_pair(text* t, const kn_sim* s, kn_geom a, kn_geom b, bool first) {
  say(t, "%s%s/%s", first ? "" : ", ", name_of(s->model, a), name_of(s->model, b));
}

/* Contacts of the modes the judge speaks of. */
static void say_who(text* t, const kn_sim* s, kn_geom* a, kn_geom* b) {
  const kn_judge* j = s->soft->judge;
  int before = -1;
  bool first = true;
  *a = *b = -1;
  for (int i = 0; i < j->n; i++) {
    int c = j->mode[i].contact;
    if (!(j->who >> i & 1) || c < 0 || c == before) continue;
    if (first) *a = s->touch.contact[c].geom_a, *b = s->touch.contact[c].geom_b;
    say_pair(t, s, s->touch.contact[c].geom_a, s->touch.contact[c].geom_b, first);
    first = false, before = c;
  }
}

static void announce(kn_sim* s, double t, kn_geom a, kn_geom b, double value, const char* cause) {
  int before = s->report.events;
  kn_event_add(s, t, KN_EVENT_SWITCH, a, b, -1, value);
  if (s->report.events > before) snprintf(s->book.event[before].text, KN_EVENT_TEXT, "%s", cause);
}

static void announce_leaving(kn_sim* s, double t, kn_safety why) {
  const kn_judge* j = s->soft->judge;
  char cause[KN_EVENT_TEXT];
  text out = {cause, sizeof cause};
  kn_geom a = -1, b = -1;
  cause[0] = 0;
  if (why == KN_FORCES) {
    say(&out, "forces indeterminate: rank %d of %d rows", (int)j->value, j->solutions);
  } else if (why == KN_UNSTABLE) {
    say(&out, "rigid solution unstable: eigenvalue %.4g%+.4gi of ", j->value, j->imag);
    say_who(&out, s, &a, &b);
  } else {
    if (why == KN_NO_MOTION)
      say(&out, "no rigid solution");
    else if (j->solutions > 0)
      say(&out, "%d rigid solutions", j->solutions);
    else
      say(&out, "several rigid solutions");
    say(&out, ": minor %.4g of ", j->value);
    say_who(&out, s, &a, &b);
  }
  announce(s, t, a, b, 1.0, cause);
}

/* ---- leaving ---- */

static void build_entry(kn_soft_entry* e, kn_sim* s, const kn_row_tag* tag, double level, double dt,
                        double last_dt) {
  const kn_contact* c = &s->touch.contact[tag->index];
  const double *u = s->row.u_before + tag->row, *p = s->row.lambda + tag->row;
  double force[3] = {fmax(p[0], 0.0) / last_dt}, t_rate[2] = {0.0, 0.0},
         gap = c->gap + level - 0.5 * dt * u[0];
  kn_soft_pair pair = kn_soft_pair_of(s, c->geom_a, c->geom_b);
  kn_soft_state state = {0};
  *e = (kn_soft_entry){.key = c->key, .geom_a = c->geom_a, .geom_b = c->geom_b, .gap = gap, .from = force[0]};
  double speed = 0.0;
  for (int k = 0; k < 2 && tag->rows == 3; k++)
    force[1 + k] = p[1 + k] / last_dt, speed += u[1 + k] * u[1 + k];
  e->slips = speed > 1e-12; /* (1e-6 m/s)² */
  for (int k = 0; k < 2 && !e->slips && tag->rows == 3; k++) t_rate[k] = -u[1 + k];
  if (force[0] > 0.0) kn_soft_build(&state, &s->soft->law, &pair, force, -u[0], t_rate);
  e->g0 = force[0] > 0.0 ? gap + state.n : fmin(gap, level);
  for (int k = 0; k < 3; k++) e->t[k] = state.t[0] * c->frame[3 + k] + state.t[1] * c->frame[6 + k];
}

static void leave(kn_sim* s, kn_state* x, int i, double dt) {
  kn_soft_work* w = s->soft;
  kn_state_block* block = kn_state_find_block(x, "compliant");
  kn_soft_entry* list = block->data;
  int n = (int)(block->used / sizeof *list), room = (int)(block->capacity / sizeof *list), group = 0;
  double from = 0.0;
  for (int k = 0; k < n; k++) group = list[k].group > group ? list[k].group : group;
  for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1] && n < room; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    int was = w->entry_of[tag->index], at = was >= 0 ? was : n++; /* one that returned goes again */
    build_entry(&list[at], s, tag, was >= 0 ? list[was].g0 : 0.0, dt, w->last_dt);
    kn_soft_unlevel(s, list[at].key);
    list[at].group = group + 1;
    w->entry_of[tag->index] = at;
    w->offset[tag->index] = list[at].g0;
    w->reach = fmax(w->reach, list[at].g0);
    from = fmax(from, list[at].from);
    w->created += kn_soft_stored_in(s, &list[at]);
  }
  for (int k = 0; k < n; k++)
    if (list[k].group == group + 1) list[k].from = from;
  block->used = (size_t)n * sizeof *list;
}

static bool has_entry(const kn_sim* s, kn_state* x, int i, bool* contacts) {
  int n;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  *contacts = false;
  for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    *contacts = true;
    int e = s->soft->entry_of[tag->index];
    if (e >= 0 && list[e].group > 0) return true;
  }
  return false;
}

/* Force of a compliant contact at the start of the step, by the linear law, in rows of the island. */
static void force_of(double f[3], const kn_sim* s, const kn_row_tag* tag, const kn_soft_entry* e) {
  const double *u = s->row.u_before + tag->row, *frame = s->touch.contact[tag->index].frame;
  kn_soft_pair pair = kn_soft_pair_of(s, e->geom_a, e->geom_b);
  f[0] = e->g0 > e->gap ? fmax(pair.K * (e->g0 - e->gap) - pair.C * u[0], 0.0) : 0.0;
  for (int k = 1; k < tag->rows; k++)
    f[k] = f[0] > 0.0 ? pair.Kt * kn_dot3(e->t, frame + 3 * k) - (e->slips ? 0.0 : pair.Ct * u[k]) : 0.0;
}

/* The layers have come to rest: their velocity could be stopped by little force beside the largest that acts
   (velocity times the larger of C and √(K m)), and the forces are of the size they had on
   leaving, or that the loads ask for (the acceleration without contact / Λ_nn), not those of an impact. In
   the middle of a compression, or of the jump out of a Painlevé configuration, a return would cut the motion
   off. */
static bool settled(kn_sim* s, int i, const kn_soft_entry* list, double dt) {
  const kn_soft_work* w = s->soft;
  int first = s->sets.island_first[i], last = s->sets.island_first[i + 1], row0 = s->sets.set.tag[first].row;
  int rows = s->sets.set.tag[last - 1].row + s->sets.set.tag[last - 1].rows - row0;
  double most = 0.0, motion = 0.0, usual = 0.0, *f = w->p;
  memset(f, 0, (size_t)rows * sizeof(double));
  for (int g = first; g < last; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT || w->entry_of[tag->index] < 0) continue;
    const kn_soft_entry* e = &list[w->entry_of[tag->index]];
    if (e->group == KN_SOFT_RETURNED) continue; /* joins in this step */
    const double* u = s->row.u_before + tag->row;
    usual = fmax(usual, e->from);
    force_of(f + tag->row - row0, s, tag, e);
    if (!(f[tag->row - row0] > 0.0)) {
      if (e->g0 > e->gap) return false; /* parting, the layer not yet sprung back */
      continue;
    }
    kn_soft_pair pair = kn_soft_pair_of(s, e->geom_a, e->geom_b);
    double m = kn_soft_mass(s, e->geom_a, e->geom_b);
    double slip = tag->rows == 3 && !e->slips ? sqrt(u[1] * u[1] + u[2] * u[2]) : 0.0;
    most = fmax(most, f[tag->row - row0]);
    motion = fmax(motion,
                  fmax(fmax(pair.C, sqrt(pair.K * m)) * fabs(u[0]), fmax(pair.Ct, sqrt(pair.Kt * m)) * slip));
  }
  if (!(motion <= 0.3 * most) || kn_judge_lambda(s, i) != KN_OK) return false;
  for (int g = first; g < last; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    int r = tag->row - row0;
    if (tag->kind != KN_ROW_CONTACT || !(f[r] > 0.0)) continue;
    double a = fabs(s->row.u_free[tag->row] - s->row.u_before[tag->row]) / dt;
    usual = fmax(usual, a / s->work->W[(size_t)r * (size_t)rows + (size_t)r]);
  }
  return most <= 10.0 * usual;
}

/* A compliant island that could be rigid counts its safe steps. */
static void count_safe(kn_sim* s, kn_state* x, int i, double dt) {
  int n;
  kn_soft_entry* list = kn_soft_entries(&n, x);
  bool safe = settled(s, i, list, dt) && kn_judge_island(s, x, i, dt) == KN_SAFE && s->soft->judge->is_p;
  for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    int e = tag->kind == KN_ROW_CONTACT ? s->soft->entry_of[tag->index] : -1;
    if (e >= 0) list[e].safe = safe ? list[e].safe + 1 : 0;
  }
}

kn_status kn_hybrid_decide(kn_sim* s, kn_state* x, double dt) {
  kn_soft_work* w = s->soft;
  bool loaded = false, contacts;
  w->judge->turned = false;
  for (int i = 0; i < s->sets.islands; i++) {
    w->soft[i] = has_entry(s, x, i, &contacts);
    if (w->soft[i]) {
      count_safe(s, x, i, dt);
      continue;
    }
    if (!contacts) continue;
    kn_safety safety = kn_judge_island(s, x, i, dt);
    if (safety == KN_SAFE) continue;
    if (safety == KN_UNDECIDED) {
      s->report.undecided++;
      continue;
    }
    if (!loaded) kn_warm_load(s, x);
    loaded = true;
    w->soft[i] = true;
    announce_leaving(s, x->time, safety);
    leave(s, x, i, dt);
  }
  return KN_OK;
}

/* ---- returning ---- */

static const kn_soft_contact* contact_of(const kn_sim* s, uint64_t key) {
  for (int i = 0; i < s->soft->count; i++)
    if (s->soft->contact[i].key == key) return &s->soft->contact[i];
  return NULL;
}

/* Normals of the group's loaded contacts at the present poses, and the loops; bias: the velocity that is to
   vanish. */
static kn_status rows_of(kn_sim* s, kn_state* x, int group, const double* v) {
  const kn_model* m = s->model;
  int n;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++) {
    kn_contact c = s->touch.after[i];
    const kn_soft_contact* was = NULL;
    for (int k = 0; k < n && !was; k++)
      if (list[k].key == c.key && list[k].group == group) was = contact_of(s, c.key);
    if (!was || !(was->impulse[0] > 0.0)) continue;
    c.mu = 0.0; /* normals only: tangents of rolling contacts may nearly depend on them */
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &c, i, 0.0));
  }
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows) {
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, s->frame.q_hat, i, row, x->time + s->report.dt,
                                  &rows, s->repair.violation + row));
  }
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.found.geometry, s->sets.found.count, v);
  for (int r = 0; r < s->sets.found.rows; r++) s->sets.found.bias[r] += s->row.u_before[r];
  return KN_OK;
}

/* dv with J dv = -bias, least in the M-norm, to s->frame.dv. */
static kn_status least(kn_sim* s) {
  const kn_model* m = s->model;
  int rows = s->sets.found.rows;
  memset(s->frame.dv, 0, (size_t)m->nv * sizeof(double));
  if (rows == 0) return KN_OK;
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.found.geometry, s->sets.found.count));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, m);
  for (int k = 0; k < rows; k++) s->row.u_free[k] = -s->sets.found.bias[k];
  kn_least_norm(s->row.u_plus, rows, s->work->W, s->row.u_free, NULL, s->repair.least_scratch,
                s->repair.least_pivot);
  kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, s->row.u_plus);
  return KN_OK;
}

static kn_status look(kn_sim* s, kn_state* x) {
  kn_dyn_position(s->data, s->model, s->frame.q_hat);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, s->settings.gtol + s->soft->reach,
                   0.0, kn_state_find_block(x, "pairs")));
  return kn_dyn_factor(s->data, s->model, NULL);
}

/* The velocities; *offset: the largest gap that counts as zero from here on. */
static kn_status make_rigid(kn_sim* s, kn_state* x, int group, double* offset, double* jump) {
  const kn_model* m = s->model;
  int n;
  kn_soft_entry* list = kn_soft_entries(&n, x);
  *offset = *jump = 0.0;
  KN_TRY(look(s, x));
  for (int i = 0; i < n; i++) {
    if (list[i].group != group) continue;
    const kn_soft_contact* was = contact_of(s, list[i].key);
    double gap = was && was->impulse[0] > 0.0 ? list[i].gap : fmin(list[i].gap, 0.0);
    *offset = fmax(*offset, fabs(gap));
  }
  KN_TRY(rows_of(s, x, group, s->frame.v_plus));
  KN_TRY(least(s));
  for (int i = 0; i < m->nv; i++) {
    s->frame.v_plus[i] += s->frame.dv[i];
    *jump = fmax(*jump, fabs(s->frame.dv[i]));
  }
  return KN_OK;
}

/* The group's contacts are rigid from here on, and know their offset. Returns what its layers held. */
static double forget(kn_sim* s, kn_state* x, int group) {
  int n;
  kn_soft_entry* list = kn_soft_entries(&n, x);
  double stored = 0.0;
  for (int i = 0; i < n; i++) {
    kn_soft_entry* e = &list[i];
    if (e->group != group) continue;
    const kn_soft_contact* was = contact_of(s, e->key);
    stored += kn_soft_stored_in(s, e);
    e->g0 = was && was->impulse[0] > 0.0 ? e->gap : fmin(e->gap, 0.0);
    e->group = KN_SOFT_RETURNED, e->safe = 1;
    e->from = fade_time;
  }
  return stored;
}

static kn_status return_group(kn_sim* s, kn_state* x, int group) {
  int n;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  char cause[KN_EVENT_TEXT];
  text out = {cause, sizeof cause};
  double offset, jump;
  kn_geom a = -1, b = -1;
  KN_TRY(make_rigid(s, x, group, &offset, &jump));
  say(&out, "unique and stable again; velocity jump %.3g, gap %.3g m; ", jump, offset);
  for (int i = 0; i < n; i++) {
    if (list[i].group != group) continue;
    say_pair(&out, s, list[i].geom_a, list[i].geom_b, a < 0);
    if (a < 0) a = list[i].geom_a, b = list[i].geom_b;
  }
  double held = forget(s, x, group),
         before = s->book.energy_now.kinetic + s->book.energy_now.potential + s->book.energy_now.spring;
  kn_dyn_energy(&s->book.energy_now, s->data, s->model, s->frame.q_hat, s->frame.v_plus);
  double after = s->book.energy_now.kinetic + s->book.energy_now.potential + s->book.energy_now.spring;
  s->report.ledger.compliant += held;
  s->report.ledger.switching += after - before - held;
  announce(s, x->time + s->report.dt, a, b, -1.0, cause);
  return KN_OK;
}

static bool alive(const kn_soft_entry* list, int n, int group, int* safe) {
  bool any = false;
  *safe = 0;
  for (int i = 0; i < n; i++)
    if (list[i].group == group) {
      any = true;
      *safe = list[i].safe > *safe ? list[i].safe : *safe;
    }
  return any;
}

kn_status kn_hybrid_return(kn_sim* s, kn_state* x) {
  kn_soft_work* w = s->soft;
  for (int i = 0; i < w->count; i++) {
    int group = w->contact[i].group, n, safe;
    bool seen = false;
    for (int k = 0; k < i && !seen; k++) seen = w->contact[k].group == group;
    if (seen) continue;
    const kn_soft_entry* list = kn_soft_entries(&n, x);
    if (!alive(list, n, group, &safe)) {
      char cause[KN_EVENT_TEXT];
      text out = {cause, sizeof cause};
      say(&out, "contacts opened: ");
      say_pair(&out, s, w->contact[i].geom_a, w->contact[i].geom_b, true);
      announce(s, x->time + s->report.dt, w->contact[i].geom_a, w->contact[i].geom_b, -1.0, cause);
    } else if (safe >= s->settings.hybrid.hold) {
      KN_TRY(return_group(s, x, group));
    }
  }
  return KN_OK;
}
