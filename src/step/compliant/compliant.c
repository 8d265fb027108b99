/* Compliant contact in a step (song-kumar 2.2; physics of the law: law/kelvin_voigt.c).

   The step of `time` with one more stage after the rows are gathered: islands whose contacts are compliant
   are moved through the whole step by kn_soft_island and taken out of the rows, so that the rigid stages that
   follow see them as free motion, v_free + M⁻¹Jᵀ P with the displacement it really made. The stepper
   `compliant` treats every island so, `hybrid` those that rigid contact cannot answer (hybrid.c); without any
   the step is that of `time`, bit for bit.

   Deformations live in the state: per contact its tangential deformation, the offset g0 and the gap. The
   normal deformation is g0 - gap of the position itself, so nothing drifts. Ledger: `compliant` is minus the
   change of the energy stored in the layers; `normal` and `friction` get what dampers and slip lose, and
   `integration` the difference between the sub-steps' last deformation and that of the new position. */
#include "step/compliant/compliant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/model.h"
#include "spatial/spatial.h"

/* ---- making ---- */

static void carve(kn_soft_work* w, kn_arena* a, const kn_sim* s) {
  size_t nc = (size_t)s->room.contacts, rows = (size_t)s->room.rows, nv = (size_t)s->model->nv;
  w->tree_mass = KN_TAKE(a, double, s->model->nlink + 1);
  w->offset = KN_TAKE(a, double, nc);
  w->entry_of = KN_TAKE(a, int, nc);
  w->soft = KN_TAKE(a, bool, nc + rows + 1);
  w->contact = KN_TAKE(a, kn_soft_contact, nc);
  w->next = KN_TAKE(a, kn_soft_entry, nc);
  w->level = KN_TAKE(a, kn_soft_level, nc);
  w->W = KN_TAKE(a, double, rows* rows);
  double** row_arrays[] = {&w->q, &w->p, &w->u, &w->u_mean, &w->a, &w->P, &w->Q, &w->extra};
  for (size_t i = 0; i < sizeof row_arrays / sizeof *row_arrays; i++)
    *row_arrays[i] = KN_TAKE(a, double, rows);
  w->block = KN_TAKE(a, kn_block, rows);
  double** v_arrays[] = {&w->dv, &w->shift, &w->force};
  for (size_t i = 0; i < sizeof v_arrays / sizeof *v_arrays; i++) *v_arrays[i] = KN_TAKE(a, double, nv);
}

kn_status kn_soft_create(kn_soft_work** out, const kn_sim* s) {
  *out = NULL;
  if (s->work->formulation->maximal)
    return kn_fail(KN_UNSUPPORTED,
                   "stepper \"%s\" needs minimal coordinates: formulation os, rmc or mc, not %s",
                   s->stepper->name, s->work->formulation->name);
  kn_soft_work* w = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "compliant contact: out of memory");
  kn_status status;
  KN_ARENA_CARVE(status, &w->arena, carve(w, a, s));
  if (status == KN_OK) {
    w->all = s->stepper == &kn_stepper_compliant;
    w->law =
        (kn_soft_law){s->settings.compliant.f, s->settings.compliant.g, s->settings.compliant.context, 0.0};
    w->name = &kn_soft_named[s->settings.compliant.law];
    if (w->name->power && !w->law.f) w->law.exponent = s->settings.compliant.exponent;
    for (int i = s->model->nlink - 1; i >= 0; i--) {
      w->tree_mass[i] += s->model->link[i].mass;
      if (s->model->link[i].parent >= 0) w->tree_mass[s->model->link[i].parent] += w->tree_mass[i];
    }
    if (!w->all) status = kn_judge_create(&w->judge, s);
  }
  if (status != KN_OK)
    kn_soft_destroy(w);
  else
    *out = w;
  return status;
}

void kn_soft_destroy(kn_soft_work* w) {
  if (!w) return;
  kn_judge_destroy(w->judge);
  kn_arena_destroy(&w->arena);
  free(w);
}

/* ---- parameters and state ---- */

static double mass_of(const kn_sim* s, kn_geom geom) { /* of the tree that carries it; infinite: the world */
  int root = kn_root_link(s->model, s->model->geom_place[geom].link);
  return root < 0 ? INFINITY : s->soft->tree_mass[root];
}

double kn_soft_mass(const kn_sim* s, kn_geom a, kn_geom b) {
  double m = fmin(mass_of(s, a), mass_of(s, b));
  return isfinite(m) ? m : 1.0; /* nothing moves */
}

kn_soft_pair kn_soft_pair_of(const kn_sim* s, kn_geom a, kn_geom b) {
  const kn_compliant_settings* c = &s->settings.compliant;
  kn_material material;
  kn_material_pair(&material, s->model, a, b);
  if (material.K > 0.0) return (kn_soft_pair){material.K, material.C, material.Kt, material.Ct};
  double m0 = c->m0 > 0.0 ? c->m0 : kn_soft_mass(s, a, b);
  double k = m0 / (c->eps * c->t0 * c->t0), d = m0 / (sqrt(c->eps) * c->t0);
  return (kn_soft_pair){c->K * k, c->C * d, (c->Kt > 0.0 ? c->Kt : c->K) * k,
                        (c->Ct > 0.0 ? c->Ct : c->C) * d};
}

/* A law with a name: the damping of a contact that closed with this speed. Slower than a body falls in two steps
   is no impact: c would grow without bound. */
static void name_damping(kn_soft_pair* pair, const kn_sim* s, const kn_contact* c, double speed) {
  const kn_soft_work* w = s->soft;
  if (!(w->law.exponent > 0.0)) return;
  kn_material m;
  kn_material_pair(&m, s->model, c->geom_a, c->geom_b);
  double ratio = m.K > 0.0 ? m.C / m.K : s->settings.compliant.C,
         least = kn_rest_speed(s, 0.0, s->settings.dt);
  pair->C = w->name->c(ratio, c->e, fmax(fmax(speed, least), 1e-6)) * pair->K; /* m/s */
}

kn_soft_entry* kn_soft_entries(int* count, kn_state* x) {
  kn_state_block* block = kn_state_find_block(x, "compliant");
  *count = block ? (int)(block->used / sizeof(kn_soft_entry)) : 0;
  return block ? block->data : NULL;
}

/* Tangential components of a world vector, its length kept. */
static void to_frame(double t[2], const double world[3], const double frame[9]) {
  double a = kn_dot3(world, frame + 3), b = kn_dot3(world, frame + 6), size = sqrt(a * a + b * b);
  double scale = size > 0.0 ? kn_norm3(world) / size : 0.0;
  t[0] = a * scale, t[1] = b * scale;
}

static void to_world(double world[3], const double t[2], const double frame[9]) {
  for (int i = 0; i < 3; i++) world[i] = t[0] * frame[3 + i] + t[1] * frame[6 + i];
}

double kn_soft_stored_in(const kn_sim* s, const kn_soft_entry* e) {
  kn_soft_pair pair = kn_soft_pair_of(s, e->geom_a, e->geom_b);
  kn_soft_state state = {.n = e->g0 - e->gap, .t = {kn_norm3(e->t), 0.0}};
  return kn_soft_stored(&s->soft->law, &pair, &state);
}

/* ---- the stage ---- */

/* The offset of a contact that returned, dt later: it goes to zero in equal parts. */
static double faded(const kn_soft_entry* e, double dt) {
  return e->from > dt ? e->g0 * ((e->from - dt) / e->from) : 0.0;
}

void kn_soft_measure(const kn_sim* s, kn_contact* contact, int count, bool end) {
  for (int k = 0; k < s->soft->levels; k++)
    for (int i = 0; i < count; i++)
      if (contact[i].key == s->soft->level[k].key)
        contact[i].gap -= end ? s->soft->level[k].end : s->soft->level[k].now;
}

void kn_soft_unlevel(kn_sim* s, uint64_t key) {
  for (int k = 0; k < s->soft->levels; k++)
    if (s->soft->level[k].key == key) s->soft->level[k].now = s->soft->level[k].end = 0.0;
}

/* Before detection: how far beyond gtol compliant contacts may reach. */
double kn_soft_reach(kn_sim* s, kn_state* x, double dt) {
  int n;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  s->soft->reach = s->soft->stored_state = 0.0;
  s->soft->levels = 0;
  for (int i = 0; i < n; i++) {
    s->soft->reach = fmax(s->soft->reach, list[i].g0);
    if (list[i].group == KN_SOFT_RETURNED && s->soft->levels < s->room.contacts) {
      s->soft->level[s->soft->levels++] = (kn_soft_level){list[i].key, list[i].g0, faded(&list[i], dt)};
    }
    if (list[i].group != KN_SOFT_RETURNED) s->soft->stored_state += kn_soft_stored_in(s, &list[i]);
  }
  return s->soft->reach;
}

/* After detection: which contacts are in the state. */
void kn_soft_match(kn_sim* s, kn_state* x) {
  kn_soft_work* w = s->soft;
  int n;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  for (int i = 0; i < s->touch.contacts; i++) {
    w->entry_of[i] = -1;
    w->offset[i] = 0.0;
    for (int k = 0; k < n; k++) {
      int j = i + k < n ? i + k : (i + k) % n;
      if (list[j].key != s->touch.contact[i].key) continue;
      w->entry_of[i] = j;
      w->offset[i] = list[j].group == KN_SOFT_RETURNED ? 0.0 : list[j].g0;
      break;
    }
  }
}

/* The gap with which a contact begins the step: as the last one left it, or that of its place where the place is another one. The
   points of a disc that comes down flat go round its rim by half a radian in a step, to where the rim is a tenth of a millimetre
   higher. What bodies turn in half a step is no jump: a tenth of the deformation, a hundredth of gtol. */
static double gap_at_start(const kn_sim* s, const kn_soft_entry* e, double here) {
  double most = fmax(fabs(e->g0 - e->gap), fabs(e->g0 - here));
  return fabs(here - e->gap) > fmax(0.1 * most, 0.01 * s->settings.gtol) ? here : e->gap;
}

/* Contacts of island i to soft->contact, with the deformation they start from. */
static void collect(kn_sim* s, kn_state* x, int i, double dt) {
  kn_soft_work* w = s->soft;
  int n, group = 0;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  int first = w->count, safe = 0;
  for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    const kn_contact* c = &s->touch.contact[tag->index];
    kn_soft_contact* k = &w->contact[w->count++];
    const kn_soft_entry* e = w->entry_of[tag->index] >= 0 ? &list[w->entry_of[tag->index]] : NULL;
    double u = s->row.u_before[tag->row];
    double level = 0.0; /* its gap is measured from there */
    if (e && e->group == KN_SOFT_RETURNED) {
      level = e->g0;
      e = NULL;
      kn_soft_unlevel(s, c->key);
    }
    *k = (kn_soft_contact){.key = c->key, .geom_a = c->geom_a, .geom_b = c->geom_b, .mu = c->mu, .island = i};
    memcpy(k->frame, c->frame, sizeof k->frame);
    k->tag_row = tag->row;
    k->pair = kn_soft_pair_of(s, c->geom_a, c->geom_b);
    k->g0 = e ? e->g0 : level;
    k->from = e ? e->from : 0.0;
    double here = c->gap - 0.5 * dt * u;
    k->state.n = e ? e->g0 - gap_at_start(s, e, here) : -here;
    k->state.n_rate = -u;
    k->speed = e && e->speed > 0.0f ? (double)e->speed : fmax(-u, 0.0);
    name_damping(&k->pair, s, c, k->speed);
    if (e) to_frame(k->state.t, e->t, c->frame);
    if (e && (group == 0 || e->group < group)) group = e->group;
    if (e && e->safe > safe) safe = e->safe;
    w->stored_start += kn_soft_stored(&w->law, &k->pair, &k->state);
    s->touch.impacting[tag->index] = false;
  }
  for (int k = first; k < w->count; k++) w->contact[k].group = group ? group : 1, w->contact[k].safe = safe;
}

/* Takes the compliant islands out of s->sets.set. */
static void remove_soft(kn_sim* s, kn_flow* f) {
  kn_constraints* set = &s->sets.set;
  int islands = 0, count = 0, rows = 0, blocks = 0;
  f->impact = false;
  for (int i = 0; i < s->sets.islands; i++) {
    if (s->soft->soft[i]) continue;
    int first = s->sets.island_first[i], end = s->sets.island_first[i + 1];
    s->sets.island_first[islands++] = count;
    for (int g = first; g < end; g++) {
      kn_row_tag tag = set->tag[g];
      int row = tag.row, block = tag.block;
      if (tag.kind == KN_ROW_CONTACT) f->impact = f->impact || s->touch.impacting[tag.index];
      for (int b = 0; b < tag.blocks; b++) {
        set->block[blocks + b] = set->block[block + b];
        set->block[blocks + b].row += rows - row;
      }
      for (int k = 0; k < tag.rows; k++) {
        set->bias[rows + k] = set->bias[row + k];
        set->rate[rows + k] = set->rate[row + k];
        s->row.u_before[rows + k] = s->row.u_before[row + k];
        s->row.u_free[rows + k] = s->row.u_free[row + k];
      }
      tag.row = rows, tag.block = blocks;
      set->geometry[count] = set->geometry[g];
      set->tag[count++] = tag;
      rows += tag.rows, blocks += tag.blocks;
    }
  }
  s->sets.island_first[islands] = count;
  s->sets.islands = islands;
  set->count = count, set->rows = rows, set->blocks = blocks;
}

static void touching_islands(kn_sim* s) {
  for (int i = 0; i < s->sets.islands; i++) {
    s->soft->soft[i] = false;
    for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++)
      if (s->sets.set.tag[g].kind == KN_ROW_CONTACT) s->soft->soft[i] = true;
  }
}

void kn_soft_keep(kn_sim* s) { s->soft->kept_dt = s->soft->next_dt, s->soft->kept_t = s->soft->next_t; }

void kn_soft_take_back(kn_sim* s) { s->soft->next_dt = s->soft->kept_dt, s->soft->next_t = s->soft->kept_t; }

kn_status kn_stage_soft(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  kn_soft_work* w = s->soft;
  const kn_model* m = s->model;
  w->count = w->islands = 0;
  w->stored_start = w->stored_end = w->created = 0.0;
  w->lost = (kn_soft_energy){0};
  w->last_dt = w->next_dt > 0.0 && w->next_t == x->time ? w->next_dt : dt;
  w->next_dt = dt, w->next_t = x->time + dt;
  if (w->all)
    touching_islands(s);
  else
    KN_TRY(kn_hybrid_decide(s, x, dt));
  for (int i = 0; i < s->sets.islands; i++) w->islands += w->soft[i];
  if (w->islands == 0) return KN_OK;
  size_t bytes = (size_t)m->nv * sizeof(double);
  memset(w->dv, 0, bytes), memset(w->shift, 0, bytes), memset(w->force, 0, bytes);
  for (int i = 0; i < s->sets.islands; i++) {
    if (!w->soft[i]) continue;
    int first = w->count;
    collect(s, x, i, dt);
    KN_TRY(kn_soft_island(s, i, first, dt));
    for (int k = first; k < w->count; k++)
      w->stored_end += kn_soft_stored(&w->law, &w->contact[k].pair, &w->contact[k].state);
  }
  for (int i = 0; i < m->nv; i++) s->frame.v_free[i] += w->dv[i];
  remove_soft(s, f);
  s->report.ledger.normal -= w->lost.normal;
  s->report.ledger.friction -= w->lost.friction;
  return KN_OK;
}

/* ---- what the later stages ask ---- */

bool kn_soft_works(const kn_sim* s) { return s->soft->islands > 0; }

bool kn_soft_holds(const kn_sim* s, uint64_t key) {
  if (s->soft->all) return true;
  for (int i = 0; i < s->soft->count; i++)
    if (s->soft->contact[i].key == key) return true;
  return false;
}

double kn_soft_range(const kn_sim* s) { return s->soft ? s->soft->reach : 0.0; }

double kn_soft_offset(const kn_sim* s, int contact) { return s->soft ? s->soft->offset[contact] : 0.0; }

const double* kn_soft_shift(const kn_sim* s) { return kn_soft_active(s) ? s->soft->shift : NULL; }

void kn_soft_add_force(double* tau, const kn_sim* s) {
  for (int i = 0; i < s->model->nv && kn_soft_active(s); i++) tau[i] += s->soft->force[i];
}

void kn_soft_displace(kn_sim* s, double dt) {
  if (!kn_soft_active(s)) return;
  for (int i = 0; i < s->model->nv; i++) s->frame.v_mean[i] += s->soft->shift[i] / dt;
}

/* ---- after the step ---- */

static const kn_contact* find_after(const kn_sim* s, uint64_t key, int hint) {
  for (int k = 0; k < s->touch.afters; k++) {
    int i = hint + k < s->touch.afters ? hint + k : hint + k - s->touch.afters;
    if (i < s->touch.afters && s->touch.after[i].key == key) return &s->touch.after[i];
  }
  return NULL;
}

/* Contacts that returned keep what is left of their offset. They are in the state behind those of w->next. */
static int save_levels(kn_sim* s, kn_state* x, int n) {
  int count;
  const kn_soft_entry* list = kn_soft_entries(&count, x);
  for (int i = 0; i < count && n < s->room.contacts; i++) {
    kn_soft_entry e = list[i];
    if (e.group != KN_SOFT_RETURNED || !(e.from > s->report.dt) || kn_soft_holds(s, e.key)) continue;
    e.g0 = faded(&e, s->report.dt);
    e.from -= s->report.dt;
    e.safe = 0;
    s->soft->next[n++] = e;
  }
  return n;
}

/* Entries of the new position; what opened by more than gtol is forgotten. */
static void save(kn_sim* s, kn_state* x) {
  kn_soft_work* w = s->soft;
  kn_state_block* block = kn_state_find_block(x, "compliant");
  int n = 0;
  for (int i = 0; i < w->count; i++) {
    kn_soft_contact* c = &w->contact[i];
    const kn_contact* now = find_after(s, c->key, n < s->touch.afters ? n : 0);
    if (!now) continue;
    c->state.n = c->g0 - now->gap; /* what is told is what the next step begins with */
    if (now->gap - c->g0 > s->settings.gtol) continue;
    kn_soft_entry* e = &w->next[n++];
    *e = (kn_soft_entry){.key = c->key,
                         .geom_a = c->geom_a,
                         .geom_b = c->geom_b,
                         .group = c->group,
                         .safe = c->safe,
                         .slips = c->slipped,
                         .speed = w->law.exponent > 0.0 && c->g0 > now->gap ? (float)c->speed : 0.0f,
                         .g0 = c->g0,
                         .from = c->from,
                         .gap = now->gap};
    to_world(e->t, c->state.t, c->frame);
  }
  n = save_levels(s, x, n);
  memcpy(block->data, w->next, (size_t)n * sizeof *w->next);
  block->used = (size_t)n * sizeof *w->next;
}

static void report(kn_sim* s) {
  kn_soft_work* w = s->soft;
  for (int i = 0; i < s->touch.contacts; i++)
    for (int k = 0; k < w->count; k++) {
      const kn_soft_contact* c = &w->contact[k];
      kn_contact* out = &s->touch.contact[i];
      if (c->key != out->key) continue;
      memcpy(out->impulse, c->impulse, sizeof out->impulse);
      memcpy(out->velocity, c->velocity, sizeof out->velocity);
      out->mode = !(c->impulse[0] > 0.0) ? KN_MODE_OPEN : c->slipped ? KN_MODE_SLIP : KN_MODE_STICK;
      out->compliant = true;
      out->delta[0] = c->state.n, out->delta[1] = c->state.t[0], out->delta[2] = c->state.t[1];
      out->impact = false;
      out->e_used = out->impulse_decompression = 0.0;
      out->impulse_compression = c->impulse[0];
      out->island = s->sets.islands + c->island;
    }
  s->report.islands += w->islands;
  s->report.audit -= w->lost.normal + w->lost.friction;
}

kn_status kn_soft_finish(kn_sim* s, kn_state* x) {
  kn_soft_work* w = s->soft;
  int n = 0;
  if (w->count == 0 && w->stored_state == 0.0 && kn_soft_entries(&n, x) && n == 0) return KN_OK;
  save(s, x);
  report(s);
  double stored = 0.0;
  const kn_soft_entry* list = kn_soft_entries(&n, x);
  for (int i = 0; i < n; i++)
    if (list[i].group != KN_SOFT_RETURNED) stored += kn_soft_stored_in(s, &list[i]);
  kn_ledger* l = &s->report.ledger;
  l->compliant += w->stored_state - stored;
  l->switching += w->created;
  l->integration += stored - w->stored_end + w->stored_start - w->stored_state - w->created;
  return w->all ? KN_OK : kn_hybrid_return(s, x);
}
