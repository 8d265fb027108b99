/* Who sleeps, who wakes, and whose step it is (sleep.h). Between stage 10 of one step and stage 1 of the next. */
#include "step/sleep/sleep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"
#include "step/carry.h"

enum {
  ASLEEP = -1,
  EVERY = 16
}; /* islands fall asleep at steps that are multiples of this: a part is made once for many */

/* ---- the mechanism ---- */

static int tree_of_link(const kn_sleep* z, const kn_model* m, int link) {
  int root = kn_root_link(m, link), low = 0, high = z->trees - 1;
  if (root < 0) return -1;
  while (low < high) { /* roots ascend */
    int middle = (low + high + 1) / 2;
    if (z->tree[middle].link <= root)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static int tree_of_body(const kn_sleep* z, const kn_model* m, int body) {
  return body < 0 ? -1 : tree_of_link(z, m, m->place[body].link);
}

static void find_trees(kn_sleep* z, const kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    if (m->link[i].parent >= 0) continue;
    const kn_link *first = &m->link[i], *last = &m->link[first->end - 1];
    z->tree[z->trees++] = (kn_tree){.link = i,
                                    .link_end = first->end,
                                    .q = first->q,
                                    .q_end = last->q + last->nq,
                                    .v = first->v,
                                    .v_end = last->v + last->nv,
                                    .able = true};
  }
}

static void stays_awake(kn_sleep* z, int tree) {
  if (tree >= 0) z->tree[tree].able = false;
}

/* Trees that loops hold, that share an actuator, or that a rule names together with another stay awake. */
static void find_unable(kn_sleep* z, const kn_model* m) {
  for (int i = 0; i < m->nloop; i++) {
    const kn_loop_def* d = &m->loop[i];
    bool coupling = d->type == KN_LOOP_COUPLING;
    stays_awake(z, tree_of_body(z, m, coupling ? m->joint[d->joint1].body : d->a));
    stays_awake(z, tree_of_body(z, m, !coupling ? d->b : d->joint2 >= 0 ? m->joint[d->joint2].body : -1));
  }
  for (int i = 0; i < m->rules.nexclusion; i++) {
    int a = tree_of_body(z, m, m->rules.exclusion[i][0]), b = tree_of_body(z, m, m->rules.exclusion[i][1]);
    if (a != b) stays_awake(z, a), stays_awake(z, b);
  }
  for (int i = 0; i < m->nu; i++) {
    const kn_actuator_def* d = &m->actuator[i];
    if (d->joints == 0) { /* through a site: it may push from afar */
      z->tree_of_actuator[i] = -1;
      stays_awake(z, tree_of_body(z, m, m->frame[d->site].body));
      if (d->refsite >= 0) stays_awake(z, tree_of_body(z, m, m->frame[d->refsite].body));
      continue;
    }
    int tree = z->tree_of_actuator[i] = tree_of_body(z, m, m->joint[d->joint[0]].body);
    for (int k = 1; k < d->joints; k++) {
      int other = tree_of_body(z, m, m->joint[d->joint[k]].body);
      if (other != tree) stays_awake(z, tree), stays_awake(z, other);
    }
  }
}

static kn_status take(kn_sleep* z, const kn_model* m) {
  size_t links = (size_t)m->nlink + 1, geoms = (size_t)m->ngeom + 1, nu = (size_t)m->nu + 1;
  z->tree = calloc(links, sizeof *z->tree);
  z->tree_of_geom = calloc(geoms + nu + 2 * links, sizeof(int));
  z->asleep = calloc(2 * links, sizeof(bool));
  z->q = calloc((size_t)m->nq + (size_t)m->nv + nu, sizeof(double));
  if (!z->tree || !z->tree_of_geom || !z->asleep || !z->q)
    return kn_fail(KN_OUT_OF_MEMORY, "no memory to let sleep");
  z->tree_of_actuator = z->tree_of_geom + geoms;
  z->island = z->tree_of_actuator + nu, z->parent = z->island + links;
  z->wakes = z->asleep + links;
  z->force = z->q + m->nq, z->ctrl = z->force + m->nv;
  return KN_OK;
}

kn_status kn_sleep_create(kn_sleep** sleep, kn_sim* s) {
  *sleep = NULL;
  if (s->stepper != &kn_stepper_time || s->work->formulation->maximal)
    return kn_fail(KN_UNSUPPORTED,
                   "sleep needs the stepper time and a formulation in the joints' coordinates");
  kn_sleep* z = calloc(1, sizeof *z);
  kn_status status = z ? take(z, s->model) : kn_fail(KN_OUT_OF_MEMORY, "no memory to let sleep");
  if (status != KN_OK) {
    kn_sleep_destroy(z);
    return status;
  }
  find_trees(z, s->model);
  for (int g = 0; g < s->model->ngeom; g++)
    z->tree_of_geom[g] = tree_of_link(z, s->model, s->model->geom_place[g].link);
  find_unable(z, s->model);
  *sleep = z;
  return KN_OK;
}

void kn_sleep_destroy(kn_sleep* z) {
  if (!z) return;
  kn_sleep_part_drop(z);
  free(z->tree), free(z->tree_of_geom), free(z->asleep), free(z->q);
  free(z->contact), free(z->keys);
  free(z);
}

/* ---- the state's word on who sleeps ---- */

static int64_t* still_of(kn_state* x) { return kn_state_find_block(x, "sleep")->data; }

/* Islands: trees that contacts with load join. */
static int find(int* parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(kn_sleep* z, const kn_contact* contact, int count) {
  for (int t = 0; t < z->trees; t++) z->parent[t] = t;
  for (int i = 0; i < count; i++) {
    int a = z->tree_of_geom[contact[i].geom_a], b = z->tree_of_geom[contact[i].geom_b];
    if (a < 0 || b < 0 || contact[i].mode == KN_MODE_OPEN) continue;
    int x = find(z->parent, a), y = find(z->parent, b);
    z->parent[x > y ? x : y] = x < y ? x : y;
  }
}

/* Contacts of the sleepers among those reported, and their islands. */
static kn_status note_sleepers(kn_sleep* z, const kn_contact* contact, int count) {
  bool own = contact == z->contact;
  if (!KN_ROOM(z->contact, z->contact_room, count))
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d contacts", count);
  if (own) contact = z->contact;
  join(z, contact, count);
  int kept = 0;
  z->sleepers = z->islands = 0, z->penetration = 0.0;
  for (int t = 0; t < z->trees; t++) {
    z->sleepers += z->asleep[t];
    z->island[t] = z->asleep[t] ? find(z->parent, t) : -1;
    z->islands += z->asleep[t] && z->island[t] == t;
  }
  for (int i = 0; i < count; i++) {
    int tree = kn_sleep_tree(z, &contact[i]);
    if (tree < 0 || !z->asleep[tree]) continue;
    z->contact[kept] = contact[i];
    z->contact[kept].island = -1;
    z->penetration = kn_max(z->penetration, -contact[i].gap);
    kept++;
  }
  z->contacts = kept;
  return KN_OK;
}

static void remember(kn_sleep* z, const kn_state* x) {
  memcpy(z->q, x->q, (size_t)x->model->nq * sizeof *z->q);
  memcpy(z->force, x->force, (size_t)x->model->nv * sizeof *z->q);
  memcpy(z->ctrl, x->ctrl, (size_t)x->model->nu * sizeof *z->q);
}

/* A state that comes from elsewhere has sleepers, but not what was reported of their contacts: a step of a copy in
   which all are awake tells. */
static kn_status ask_copy(kn_sim* s, const kn_state* x, double dt) {
  kn_sleep* z = s->sleep;
  kn_state* y;
  kn_carry carry;
  KN_TRY(kn_carry_create(&carry, s->model));
  kn_status status = kn_state_create(&y, s->model);
  if (status == KN_OK) status = kn_carry_take(&carry, s);
  if (status == KN_OK) status = kn_state_copy(y, x);
  static const char* const names[][2] = {
      {"asleep-pairs", "pairs"}, {"asleep-impulses", "impulses"}, {"asleep-anchors", "anchors"}};
  for (int i = 0; i < 3 && status == KN_OK; i++) { /* as if they had never slept */
    kn_state_block *from = kn_state_find_block(y, names[i][0]), *to = kn_state_find_block(y, names[i][1]);
    if (!from || !from->used || !to) continue;
    status = kn_state_add_block(&to, y, names[i][1], to->used + from->used);
    if (status != KN_OK) break;
    from = kn_state_find_block(y, names[i][0]);
    memcpy((char*)to->data + to->used, from->data, from->used);
    to->used += from->used, from->used = 0;
  }
  if (status == KN_OK) status = kn_step_awake(s, y, dt);
  if (status == KN_OK) status = note_sleepers(z, s->report.contact, s->report.contacts);
  kn_carry_give(s, &carry);
  kn_carry_destroy(&carry);
  kn_state_destroy(y);
  return status;
}

static bool known(const kn_sleep* z, const kn_state* x) { return z->stamp == x->stamp && z->step == x->step; }

/* Flags and records of this state; nothing to do while it is the one of the last step. */
static kn_status know(kn_sim* s, kn_state* x, double dt) {
  kn_sleep* z = s->sleep;
  kn_state_block* b;
  if (known(z, x)) return KN_OK;
  size_t bytes = (size_t)z->trees * sizeof(int64_t);
  KN_TRY(kn_sim_prepare(s, x));
  KN_TRY(kn_state_add_block(&b, x, "sleep", bytes));
  b->used = bytes;
  const int64_t* still = b->data;
  kn_sleep_part_drop(z);
  z->sleepers = z->contacts = z->islands = 0;
  for (int t = 0; t < z->trees; t++) {
    z->asleep[t] = still[t] == ASLEEP && z->tree[t].able;
    z->sleepers += z->asleep[t];
  }
  if (z->sleepers) KN_TRY(ask_copy(s, x, dt));
  for (int t = 0; t < z->trees; t++) { /* the steps of the part do not write these */
    const kn_tree* r = &z->tree[t];
    if (!z->asleep[t]) continue;
    memcpy(s->past.q + r->q, x->q + r->q, (size_t)(r->q_end - r->q) * sizeof *x->q);
    memcpy(s->past.v + r->v, x->v + r->v, (size_t)(r->v_end - r->v) * sizeof *x->v);
  }
  remember(z, x);
  z->stamp = x->stamp, z->step = x->step;
  return KN_OK;
}

/* ---- waking ---- */

/* Trees that are marked wake, with all of their islands. */
static kn_status wake(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  for (int t = 0; t < z->trees; t++)
    if (z->wakes[t] && z->asleep[t]) z->parent[z->island[t]] = -1;
  bool any = false;
  for (int t = 0; t < z->trees; t++) {
    z->wakes[t] = z->asleep[t] && z->parent[z->island[t]] < 0;
    any |= z->wakes[t];
  }
  if (!any) return KN_OK;
  kn_sleep_part_drop(z);
  KN_TRY(kn_sleep_move(s, x, z->wakes, false, z->contact, z->contacts));
  int64_t* still = still_of(x);
  for (int t = 0; t < z->trees; t++)
    if (z->wakes[t]) z->asleep[t] = false, still[t] = 0;
  z->stamp = x->stamp;
  return note_sleepers(z, z->contact, z->contacts);
}

static bool differ(const double* a, const double* b, int from, int to) {
  return memcmp(a + from, b + from, (size_t)(to - from) * sizeof *a) != 0;
}

/* Sleepers whose state somebody has changed. */
static bool mark_disturbed(kn_sim* s, const kn_state* x) {
  kn_sleep* z = s->sleep;
  bool any = false;
  memset(z->wakes, 0, (size_t)z->trees * sizeof *z->wakes);
  for (int t = 0; t < z->trees; t++) {
    const kn_tree* r = &z->tree[t];
    if (!z->asleep[t]) continue;
    bool moves = false;
    for (int i = r->v; i < r->v_end; i++) moves |= x->v[i] != 0.0;
    z->wakes[t] = z->off || s->controller.fn || moves || differ(x->q, z->q, r->q, r->q_end) ||
                  differ(x->force, z->force, r->v, r->v_end);
    any |= z->wakes[t];
  }
  for (int i = 0; i < s->model->nu; i++)
    if (x->ctrl[i] != z->ctrl[i] && z->tree_of_actuator[i] >= 0 && z->asleep[z->tree_of_actuator[i]])
      z->wakes[z->tree_of_actuator[i]] = any = true;
  return any;
}

/* Sleepers that the part's step found within reach. */
static bool mark_touched(kn_sleep* z) {
  const kn_report* r = &z->part.sim->report;
  bool any = false;
  memset(z->wakes, 0, (size_t)z->trees * sizeof *z->wakes);
  for (int i = 0; i < r->contacts; i++) {
    int tree[2] = {z->tree_of_geom[r->contact[i].geom_a], z->tree_of_geom[r->contact[i].geom_b]};
    for (int k = 0; k < 2; k++)
      if (tree[k] >= 0 && z->asleep[tree[k]]) z->wakes[tree[k]] = any = true;
  }
  return any;
}

/* ---- falling asleep ---- */

/* Counts the steps in which each tree was at rest. */
static void count_still(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  int64_t* still = still_of(x);
  for (int t = 0; t < z->trees; t++) {
    const kn_tree* r = &z->tree[t];
    double most = 0.0;
    if (z->asleep[t]) continue;
    for (int i = r->v; i < r->v_end; i++) most = kn_max(most, fabs(x->v[i]));
    still[t] = r->able && most < s->settings.sleep ? still[t] + 1 : 0;
  }
}

/* Marks the trees of islands that are at rest as a whole. */
static bool mark_resting(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  const int64_t* still = still_of(x);
  int64_t enough = (int64_t)ceil(s->settings.sleep_time / s->report.dt);
  bool any = false;
  join(z, s->report.contact, s->report.contacts);
  for (int t = 0; t < z->trees; t++) z->island[t] = find(z->parent, t);
  memset(z->wakes, 0, (size_t)z->trees * sizeof *z->wakes);
  for (int t = 0; t < z->trees; t++) /* scratch: islands that do not rest */
    if (!z->asleep[t] && still[t] < enough) z->wakes[z->island[t]] = true;
  for (int t = 0; t < z->trees; t++) z->parent[t] = z->wakes[z->island[t]];
  for (int t = 0; t < z->trees; t++) {
    z->wakes[t] = !z->asleep[t] && !z->parent[t];
    any |= z->wakes[t];
  }
  return any;
}

static kn_status fall_asleep(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  int64_t* still = still_of(x);
  for (int t = 0; t < z->trees; t++) {
    if (!z->wakes[t]) continue;
    z->asleep[t] = true, still[t] = ASLEEP;
    size_t bytes = (size_t)(z->tree[t].v_end - z->tree[t].v) * sizeof *x->v;
    memset(x->v + z->tree[t].v, 0, bytes);
    memset(s->past.v + z->tree[t].v, 0, bytes);
  }
  KN_TRY(kn_sleep_move(s, x, z->wakes, true, s->report.contact, s->report.contacts));
  kn_sleep_part_drop(z);
  return note_sleepers(z, s->report.contact, s->report.contacts);
}

static kn_status look(kn_sim* s, kn_state* x) {
  kn_sleep* z = s->sleep;
  count_still(s, x);
  if (x->step % EVERY == 0 && !z->off && !s->controller.fn && mark_resting(s, x)) {
    KN_TRY(fall_asleep(s, x));
    remember(z, x);
  } else if (z->sleepers) { /* islands of the sleepers as they were */
    join(z, z->contact, z->contacts);
    for (int t = 0; t < z->trees; t++) z->island[t] = z->asleep[t] ? find(z->parent, t) : -1;
  }
  z->stamp = x->stamp, z->step = x->step;
  return KN_OK;
}

/* ---- a step ---- */

/* What is done before the step itself, flags of a state that is new here and waking, is taken back by this copy if the step fails. */
static kn_status keep(kn_state** before, const kn_state* x) {
  if (*before) return KN_OK;
  kn_state* copy = NULL;
  kn_status status = kn_state_create(&copy, x->model);
  if (status == KN_OK) status = kn_state_copy(copy, x);
  if (status == KN_OK)
    *before = copy;
  else
    kn_state_destroy(copy);
  return status;
}

static kn_status wake_for_step(kn_state** before, kn_sim* s, kn_state* x) {
  KN_TRY(keep(before, x));
  return wake(s, x);
}

static kn_status step(kn_state** before, kn_sim* s, kn_state* x, double dt) {
  kn_sleep* z = s->sleep;
  if (!known(z, x)) KN_TRY(keep(before, x));
  KN_TRY(know(s, x, dt));
  if (z->sleepers && mark_disturbed(s, x)) KN_TRY(wake_for_step(before, s, x));
  for (;;) {
    if (!z->sleepers) {
      KN_TRY(kn_step_awake(s, x, dt));
      return look(s, x);
    }
    if (!z->part.sim) KN_TRY(kn_sleep_part_create(s, x));
    kn_sleep_part_feed(s, x);
    KN_TRY(kn_step_for(z->part.sim, z->part.state, dt));
    if (!mark_touched(z)) break;
    KN_TRY(wake_for_step(before, s, x)); /* the step is taken again from its beginning */
  }
  KN_TRY(kn_sleep_part_fetch(s, x));
  return look(s, x);
}

kn_status kn_sleep_step(kn_sim* s, kn_state* x, double dt) {
  kn_state* before = NULL;
  kn_status status = step(&before, s, x, dt);
  if (status != KN_OK && before && kn_state_hash(before) != kn_state_hash(x)) kn_state_copy(x, before);
  kn_state_destroy(before);
  return status;
}

void kn_sleep_fill(kn_sim* s) {
  if (!s->sleep->part.sim) return;
  kn_dyn_position(s->data, s->model, s->past.q);
  kn_dyn_velocity(s->data, s->model, s->past.v);
}
