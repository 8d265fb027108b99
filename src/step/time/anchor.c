/* Sticking anchors. A contact that sticks remembers where: material points of both bodies when the surfaces
   are flat there, accumulated slip when one of them rolls, s += J_t (q_{k+1} ⊖ q_k). The position repair
   restores them, so that sticking does not creep by solver residual × time. Anchors are created at the end of
   a step and released at separation, sliding, an impact or a change of features. */
#include <math.h>
#include <string.h>

#include "spatial/spatial.h"
#include "step/sim.h"
#include "step/time/lookup.h"

kn_anchor* kn_anchor_find(kn_state* x, uint64_t key) {
  const kn_state_block* block = kn_state_find_block(x, "anchors");
  kn_anchor* list = block->data;
  for (size_t i = 0; i < block->used / sizeof *list; i++)
    if (list[i].key == key) return list + i;
  return NULL;
}

bool kn_anchor_rolls(const kn_model* m, const kn_contact* c) {
  kn_shape_type a = m->geom[c->geom_a].shape.type, b = m->geom[c->geom_b].shape.type;
#define ROUND(t)                                                                                             \
  ((t) == KN_SHAPE_SPHERE || (t) == KN_SHAPE_CAPSULE || (t) == KN_SHAPE_CYLINDER || (t) == KN_SHAPE_ELLIPSOID)
  return ROUND(a) || ROUND(b);
#undef ROUND
}

static void to_link(double local[3], const kn_sim* s, kn_geom geom, const double point[3]) {
  int link = s->model->geom_place[geom].link;
  kn_copy3(local, point);
  if (link < 0) return;
  kn_pose pose;
  kn_link_pose(&pose, s->data, link);
  kn_pose_apply_inverse(local, &pose, point);
}

static void from_link(double point[3], const kn_sim* s, kn_geom geom, const double local[3]) {
  int link = s->model->geom_place[geom].link;
  kn_copy3(point, local);
  if (link < 0) return;
  kn_pose pose;
  kn_link_pose(&pose, s->data, link);
  kn_pose_apply(point, &pose, local);
}

void kn_anchor_offset(double r[3], const kn_sim* s, const kn_anchor* anchor, const kn_contact* c) {
  double a[3], b[3];
  from_link(a, s, c->geom_a, anchor->a);
  from_link(b, s, c->geom_b, anchor->b);
  kn_sub3(r, a, b);
}

/* Inside the limit surface of several coefficients, and nothing turns. */
static bool sticks_richly(const kn_contact* c) {
  const double *p = c->impulse, most = p[0] * (1.0 - 1e-9);
  double used = p[1] * p[1] / (c->mu * c->mu) + p[2] * p[2] / (c->mu2 * c->mu2);
  if (c->torsion > 0.0) used += c->moment[0] * c->moment[0] / (c->torsion * c->torsion);
  for (int k = 1; k < 3 && c->roll > 0.0; k++) used += c->moment[k] * c->moment[k] / (c->roll * c->roll);
  return !c->impact && c->mode == KN_MODE_STICK && p[0] > 0.0 && used < most * most;
}

static inline bool sticks(const kn_contact* c) {
  if (__builtin_expect(kn_contact_rich(c), 0)) return sticks_richly(c);
  const double *p = c->impulse, *u = c->velocity, most = c->mu * p[0] * (1.0 - 1e-9);
  return !c->impact && p[0] > 0.0 && p[1] * p[1] + p[2] * p[2] < most * most &&
         u[1] * u[1] + u[2] * u[2] <= 1e-18; /* 1e-9 m/s */
}

static void renew(kn_anchor* out, const kn_anchor* old, kn_sim* s, const kn_contact* c) {
  if (old) {
    *out = *old;
    return;
  }
  *out = (kn_anchor){.key = c->key, .rolling = kn_anchor_rolls(s->model, c)};
  if (out->rolling) return;
  to_link(out->a, s, c->geom_a, c->point);
  to_link(out->b, s, c->geom_b, c->point);
}

/* Slip of the rolling anchors within the step, before the position repair: dt v̄ at the evaluation point. */
void kn_anchor_advance(kn_sim* s, kn_state* x, double dt) {
  (void)x;
  kn_anchors list = kn_anchors_of(s);
  if (!list.lookup.count) return;
  for (int i = 0; i < s->touch.contacts; i++) {
    const double slip[2] = {dt * s->touch.slip[i][0], dt * s->touch.slip[i][1]};
    kn_anchor_roll(kn_anchor_next(&list, s->touch.contact[i].key), &s->touch.contact[i], slip);
  }
}

/* A position repair d moves the rolling anchors' slip by J_t d (Jd: rows of s->sets.set). */
void kn_anchor_repaired(kn_sim* s, kn_state* x, const double* Jd) {
  (void)x;
  kn_anchors list = kn_anchors_of(s);
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_ANCHOR) continue;
    const kn_contact* c = &s->touch.after[tag->index];
    kn_anchor_roll(kn_anchor_next(&list, c->key), c, Jd + tag->row);
  }
}

/* Anchors farther off than 1e-9 m that no repair can meet (two of them contradict each other, or a gap) give
   way: sticking goes on from where the contact is. Whether there were any. */
bool kn_anchor_release(kn_sim* s) {
  bool any = false;
  kn_anchors list = kn_anchors_of(s);
  for (int i = 0; i < s->touch.afters && s->settings.anchors; i++) {
    kn_anchor* anchor = kn_anchor_next(&list, s->touch.after[i].key);
    double r[2];
    if (!anchor) continue;
    kn_anchor_residual(r, s, anchor, &s->touch.after[i]);
    if (kn_max(fabs(r[0]), fabs(r[1])) <= 1e-9) continue;
    anchor->key = 0; /* found by nobody, dropped by the next update */
    any = true;
  }
  return any;
}

/* One contact, before and after, and its anchor: it stays or goes. */
static bool only_one(const kn_sim* s, const kn_anchors* list, bool loose) {
  return s->touch.afters == 1 && s->touch.contacts == 1 && list->lookup.count == 1 && !s->soft && !loose &&
         s->settings.anchors && s->touch.after->key == s->touch.contact->key &&
         s->touch.after->key == list->list->key;
}

/* After the repair: new and kept anchors are written in contact order. Those that stay where they are need
   not be written. */
void kn_anchor_update(kn_sim* s, bool loose) {
  kn_state_block* block = s->blocks.anchors;
  kn_anchors list = kn_anchors_of(s);
  int n = 0, first = 0; /* so many stay */
  if (only_one(s, &list, loose)) {
    if (!sticks(s->touch.contact)) block->used = 0;
    return;
  }
  int afters = s->settings.anchors && !loose ? s->touch.afters : 0;
  kn_lookup before =
      kn_lookup_in(s->sets.lookup, s->touch.contact, sizeof *s->touch.contact, s->touch.contacts);
  for (int i = 0; i < afters; i++) {
    const kn_contact* now = &s->touch.after[i];
    int at = kn_lookup_find(&before, now->key);
    if (at < 0 || !sticks(&s->touch.contact[at]) || kn_soft_has(s, now->key)) continue;
    const kn_anchor* old = kn_anchor_next(&list, now->key);
    if (n == first && old == list.list + n)
      first++;
    else
      renew(&s->touch.anchor[n], old, s, now);
    n++;
  }
  if (n > first)
    memcpy(list.list + first, s->touch.anchor + first, (size_t)(n - first) * sizeof *s->touch.anchor);
  block->used = (size_t)n * sizeof *s->touch.anchor;
}
