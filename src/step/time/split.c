/* Landings of second order: a step with an impact is split at the touch.

   The landing rule of the whole step lets a contact collide up to dt late, at a place O(dt) from the true
   one, and the energy that the impact takes is wrong by as much. Here the touch is found from the free motion
   of the step,

     gap(t) = gap_m + (t - h/2) u + ½ t² a_n = -δ,      u = J v, a_n = (J v_free - J v)/h,

   δ a thousandth of the way of the step; the part until then ends with the impact, and the rest of the step
   follows with the scheme of every step. What is left of the landing's error is O(dt²) and δ/(u dt) of it.
   Contacts without restitution are split for when they land with more than ten times the resting speed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/time/split.h"

enum { MOST_PARTS = 4 };

/* When this contact touches, from the values of gather; h: not in this part. */
static double touch(const kn_sim* s, const kn_row_tag* tag, double h) {
  double u = s->sets.found.u_before[tag->row], a_n = (s->sets.found.u_free[tag->row] - u) / h;
  double depth = 1e-3 * fabs(u) * h, C = s->touch.contact[tag->index].gap - 0.5 * h * u + depth;
  double root = u * u - 2.0 * a_n * C;
  if (!(C > 0.0)) return 0.0;
  if (!(root >= 0.0)) return h;
  double t = 2.0 * C / (sqrt(root) - u);
  return t > 0.0 && t < h ? t : h;
}

static double first_touch(const kn_sim* s, double h) {
  double first = h;
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    if (tag->kind == KN_ROW_CONTACT && s->touch.impacting[tag->index])
      first = kn_min(first, touch(s, tag, h));
  }
  return kn_max(first, 1e-3 * h);
}

static void keep_contacts(kn_sim* s, kn_parts* p) {
  p->contacts = 0;
  for (int i = 0; i < s->touch.contacts; i++)
    if (s->touch.contact[i].impulse[0] > 0.0 && s->touch.contact[i].island >= 0)
      s->touch.struck[p->contacts++] = s->touch.contact[i];
}

/* Impulses of the part before are added, and what is known of its impacts. */
static void merge_contact(kn_contact* to, const kn_contact* from) {
  for (int k = 0; k < 3; k++) to->impulse[k] += from->impulse[k];
  to->impulse_compression += from->impulse_compression;
  to->impulse_decompression += from->impulse_decompression;
  if (from->impact) to->impact = true, to->e_used = from->e_used;
  if (to->mode == KN_MODE_OPEN) to->mode = from->mode;
}

static kn_status merge_contacts(kn_sim* s, const kn_parts* p) {
  for (int k = 0; k < p->contacts; k++) {
    int i = 0;
    while (i < s->touch.contacts && s->touch.contact[i].key != s->touch.struck[k].key) i++;
    if (i < s->touch.contacts)
      merge_contact(&s->touch.contact[i], &s->touch.struck[k]);
    else if (s->touch.contacts < s->room.contacts)
      s->touch.contact[s->touch.contacts++] = s->touch.struck[k];
    else
      return kn_no_contact_room(s, s->touch.contacts + p->contacts - k);
  }
  s->report.contacts = s->touch.contacts;
  return KN_OK;
}

/* After a part: its columns and extremes join those of the parts before. */
static void book(kn_sim* s, kn_parts* p) {
  kn_report* r = &s->report;
#define X(name) p->ledger.name += r->ledger.name;
  KN_LEDGER_LIST(X)
#undef X
  bool gain = p->audit > 0.0 || r->audit > 0.0;
  p->audit = gain ? kn_max(p->audit, r->audit) : p->audit + r->audit;
  p->correction += r->correction;
  p->lift = kn_max(p->lift, r->lift);
  p->momentum = kn_max(p->momentum, r->momentum_error);
  p->impact_energy += s->book.impact_energy;
}

static void begin(kn_parts* p, const kn_sim* s) {
  p->ledger = (kn_ledger){0};
  p->before = s->book.energy_before;
  p->audit = p->correction = p->lift = p->momentum = p->impact_energy = 0.0;
  p->contacts = 0;
}

static void begin_part(kn_sim* s) {
  kn_report* r = &s->report;
  r->ledger = (kn_ledger){0};
  r->audit = r->correction = r->lift = r->momentum_error = 0.0;
  s->book.impact_energy = 0.0;
  s->book.energy_before = s->book.energy_now;
  s->clear.step = -1;
}

static void end_parts(kn_sim* s, const kn_parts* p) {
  kn_report* r = &s->report;
  r->ledger = p->ledger;
  r->audit = p->audit, r->correction = p->correction, r->lift = p->lift, r->momentum_error = p->momentum;
  s->book.impact_energy = p->impact_energy;
  s->book.energy_before = p->before;
}

static void commit(kn_sim* s, kn_state* x, double h) {
  memcpy(x->q, s->frame.q_hat, (size_t)s->model->nq * sizeof(double));
  memcpy(x->v, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
  x->time += h;
  kn_commit_weigh(s, x, &s->book.energy_now);
  kn_travel_end(s);
}

/* Whether this step is to be split: not with the own bodies of non-minimal formulations, compliant islands or
   in heaps. */
static bool splits(const kn_sim* s, const kn_flow* f) {
  return s->settings.split_impacts && f->impact && !s->soft && !s->work->formulation->maximal &&
         s->touch.contacts < KN_BLOCKS_LEAST;
}

bool kn_parts_cut(kn_parts* p, kn_sim* s, const kn_flow* f) {
  if (p->cut) return false;
  if (!p->split) {
    if (!splits(s, f)) return false;
    p->split = true;
    begin(p, s);
  }
  double h = p->count < MOST_PARTS && f->impact ? first_touch(s, p->left) : p->left;
  s->clear.step = -1;
  if (h > 0.999 * p->left) return false;
  p->h = h;
  return p->cut = true;
}

kn_status kn_parts_next(kn_parts* p, kn_sim* s, kn_state* x) {
  book(s, p);
  if (p->count) KN_TRY(merge_contacts(s, p));
  if (!p->cut) {
    end_parts(s, p);
    p->done = true;
    return KN_OK;
  }
  keep_contacts(s, p);
  commit(s, x, p->h);
  p->h = p->left = p->end - x->time;
  p->cut = false;
  p->count++;
  begin_part(s);
  return KN_OK;
}
