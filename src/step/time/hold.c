/* What is loaded stays closed.

   A contact that lands obeys J v⁺ = -2 max(gap, 0)/dt, so that its gap is closed at the end of the step. For a
   contact that was loaded already this rule has an eigenvalue of -1: with gap = 0 at the start and
   δ = dt/2 J̇v, the exact motion has J v = δ before and J v⁺ = -δ after; a perturbation e of the velocity gives
   gap_m = dt/2 (δ + e), hence J v⁺ = -(δ + e), and the next step begins with δ - e. Nothing damps it, and the
   corners of one sole ask in turn for velocities that no rigid sole can have: every step is a new problem.

   So a row that carried load in the last step and is within `near` of closed does not land: its bias is δ as its
   own travel says (travel.c), and its gap is closed by the position repair, from both sides while it carries load (as anchors hold the
   tangents). */
#include <math.h>

#include "step/sim.h"

static const double near = 1e-4; /* m or rad */

/* Within this of touching: what the repair leaves open (worth_lift in project.c) is no gap to land over. Corners of one
   sole that were left so would contradict each other by 1e-5 m/s, and of those by rounding only no choice of modes
   obeys all to the last digit. In heaps, whose contacts are not held, it is what keeps the landing rule's oscillation away: a
   gap of 1e-7 m to land over is 2e-4 m/s, a fiftieth of what gravity gives in a step, with another sign in every step. */
bool kn_hold_closed(double gap, bool heap) {
  static const double closed = 1e-8; /* m or rad */
  return gap < (heap ? KN_HEAP_OPEN : closed);
}

/* What keeps a point from travelling: round surfaces roll on one point or on a line of them, not on three corners. */
typedef struct patch {
  int a, b;               /* links */
  const kn_contact* c;    /* a point of it */
  const kn_contact* also; /* a second one, or NULL */
  kn_lookup* tips; /* over what carried load in the last step, which is in it; NULL: every point counts */
} patch;

/* Between the same two links, with normals along one line? */
static inline bool same_patch(const patch* p, const kn_sim* s, int other) {
  int x = s->hold.link[2 * other], y = s->hold.link[2 * other + 1];
  return ((x == p->a && y == p->b) || (x == p->b && y == p->a)) &&
         fabs(kn_dot3(p->c->frame, s->touch.contact[other].frame)) > 0.5;
}

static bool loaded(const kn_sim* s, const kn_contact* c, int at) {
  if (at < 0) return false;
  const double *n = c->frame, *f = ((const kn_warm_entry*)s->blocks.impulses->data)[at].f;
  return n[0] * f[0] + n[1] * f[1] + n[2] * f[2] > 0.0;
}

/* The other point makes the first one of a patch that cannot travel? */
static inline bool joins(patch* p, const kn_sim* s, int index) {
  static const double corner = 1e-2; /* sine between the sides of a triangle that is one */
  const kn_contact* other = &s->touch.contact[index];
  double along[3], way[3], across[3];
  if (!same_patch(p, s, index)) return false;
  if (p->tips && !loaded(s, other, kn_lookup_find(p->tips, kn_warm_key(other)))) return false;
  if (!p->also) {
    p->also = other;
    return !p->tips && !kn_anchor_rolls(s->model, p->c);
  }
  kn_sub3(along, p->also->point, p->c->point);
  kn_sub3(way, other->point, p->c->point);
  kn_cross3(across, along, way);
  return kn_dot3(across, across) > corner * corner * kn_dot3(along, along) * kn_dot3(way, way);
}

enum { FEW = 64 };

/* The links of all contacts; of many also lists by the later one of both, ascending. */
static void list_links(kn_sim* s) {
  int n = s->touch.contacts, *link = s->hold.link;
  for (int i = 0; i <= s->model->nlink && n > FEW; i++) s->hold.first[i] = -1;
  for (int k = n - 1; k >= 0; k--) {
    const kn_contact* c = &s->touch.contact[k];
    int a = link[2 * k] = s->model->geom_place[c->geom_a].link;
    int b = link[2 * k + 1] = s->model->geom_place[c->geom_b].link;
    if (n <= FEW) continue;
    int* first = &s->hold.first[(a > b ? a : b) + 1];
    s->hold.next[k] = *first, *first = k;
  }
  s->hold.listed = true;
}

/* Points of one patch, of which some carry load and others do not, would ask for different δ, and the signs of dry joints
   that hardly move would be decided by them: robots on flat feet then change their modes in every step. There the
   rows ask for rest. Round surfaces travel unless three of them stand on one body, and in a corner each of two contacts does so by itself.
   So does an edge on which a body that motors drive tips over: at rest its points would do the work p J_m v/2 > 0 (a robot that fell over the
   tips of its feet rose by 1e-3 of its energy in a second), and only where nothing drives is that taken back (keep_energy.c). Below a
   two-thousandth of what gravity gives in a step it is nothing. */
bool kn_hold_in_company(kn_sim* s, const kn_row_tag* tag, kn_lookup* last) {
  static const double little = 5e-4;
  bool opens = (s->facts.driven || s->controller.fn) &&
               s->sets.found.u_before[tag->row] > little * s->facts.gravity * s->report.dt;
  if (s->facts.dry && !opens) return true;
  if (tag->kind != KN_ROW_CONTACT)
    return s->model->limit[tag->index].side != 0; /* J of hinges and slides is constant */
  if (!s->hold.listed) list_links(s);
  int own = tag->index, n = s->touch.contacts;
  patch p = {s->hold.link[2 * own], s->hold.link[2 * own + 1], &s->touch.contact[own], NULL,
             opens ? last : NULL};
  if (n > FEW) {
    for (int k = s->hold.first[(p.a > p.b ? p.a : p.b) + 1]; k >= 0; k = s->hold.next[k])
      if (k != own && joins(&p, s, k)) return true;
    return false;
  }
  /* points of one pair of shapes follow one another: outwards from this one the first is nearly always company */
  for (int d = 1; d < n; d++) {
    if (own - d >= 0 && joins(&p, s, own - d)) return true;
    if (own + d < n && joins(&p, s, own + d)) return true;
  }
  return false;
}

void kn_hold_begin(kn_sim* s) {
  s->hold.listed = false;
  for (int i = 0; i < s->touch.contacts; i++) s->hold.contact[i] = false;
  for (int i = 0; i < s->model->nlimit; i++) s->hold.limit[i] = false;
}

bool kn_hold_row(kn_sim* s, int at, const kn_row_tag* tag, double gap) {
  if (!(gap < near) || at < 0) return false;
  if (tag->kind == KN_ROW_LIMIT)
    return s->hold.limit[tag->index] = ((const kn_warm_entry*)s->blocks.impulses->data)[at].f[0] > 0.0;
  return s->hold.contact[tag->index] = loaded(s, &s->touch.contact[tag->index], at);
}

/* s->hold.after: the contacts of s->touch.after that were held in this step and carry load. */
void kn_hold_after(kn_sim* s, bool held) {
  if (!held) return;
  kn_lookup contacts =
      kn_lookup_in(s->sets.lookup, s->touch.contact, sizeof *s->touch.contact, s->touch.contacts);
  for (int i = 0; i < s->touch.afters; i++) {
    int j = kn_lookup_find(&contacts, s->touch.after[i].key);
    s->hold.after[i] =
        j >= 0 && s->hold.contact[j] && s->touch.contact[j].impulse[0] > 0.0 && !s->touch.contact[j].impact;
  }
}

bool kn_hold_limit(const kn_sim* s, bool held, int limit) {
  return held && s->hold.limit[limit] && s->book.limit_impulse[limit] > 0.0;
}
