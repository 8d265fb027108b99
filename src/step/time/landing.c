/* Landing: the free motion of the step ends at q_t inside the floor, the position repair puts it down at q_L,
   higher by the work of the forces. The speed at touch must be smaller by as much. With the normal rows at
   q_L and the depths of q_t, the repair is d = M⁻¹ Jᵀ ν; v_L = v_free + β d is v_free slowed by the impulses
   β ν at the same contacts, and with A = f·d = ν·J a, B = v_free·M d = ν·J v_free, C = d·M d = ν·J d over the
   island

     K(v_L) - K(v_free) = B β + ½ C β² = A       =>   β = 2 A / (B - sqrt(B² + 2 C A)),

   the smaller root; when there is none the island stops as far as d can stop it, β = -B/C. With one contact
   this is b_L = b sqrt(1 + 2 a_n depth/b²). The impact then has e as it is, and with e = 1 no energy is lost
   or won however many contacts land at once. Forces that would have sped up the approach further (A >= 0)
   leave it as it is: a bounce never raises the energy. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"
#include "step/sim.h"

/* Contacts at q_t and at q_L by their keys; one list at a time. */
static kn_lookup at_end(kn_sim* s) {
  return kn_lookup_in(s->sets.lookup, s->touch.contact, sizeof *s->touch.contact, s->touch.contacts);
}

static kn_lookup after(kn_sim* s) {
  return kn_lookup_in(s->sets.lookup, s->touch.after, sizeof *s->touch.after, s->touch.afters);
}

static double depth_at(const kn_sim* s, kn_lookup* contacts, uint64_t key) {
  int i = kn_lookup_find(contacts, key);
  return i >= 0 ? kn_max(-s->touch.contact[i].gap, 0.0) : 0.0;
}

/* Point, frame and gap of a contact that the repair has opened, at the poses in s->data: of the pair's points
   the one with its key, or the nearest. */
static kn_status place_again(kn_sim* s, kn_contact* c) {
  kn_contact point[8];
  kn_pair_cache cache = {0};
  double least = INFINITY;
  int n = 0, best = -1;
  KN_TRY(kn_detect_pair(point, &n, 8, s->detector, s->data, c->geom_a, c->geom_b, 1.0, &cache)); /* m */
  for (int i = 0; i < n; i++) {
    double d[3];
    kn_sub3(d, point[i].point, c->point);
    double far = point[i].key == c->key ? -1.0 : kn_dot3(d, d);
    if (far < least) least = far, best = i;
  }
  if (best < 0) return KN_OK;
  memcpy(c->point, point[best].point, sizeof c->point);
  memcpy(c->frame, point[best].frame, sizeof c->frame);
  c->gap = point[best].gap;
  return KN_OK;
}

/* A repair may move a contact of q_t apart, farther than contacts are seen. It collides all the same, so it
   is looked for from farther away; what was neither deep at q_t nor is near at q_L is left out again. */
static kn_status keep_overtaken(kn_sim* s, kn_state* x) {
  double deepest = 0.0;
  kn_lookup list = after(s);
  for (int i = 0; i < s->touch.contacts; i++)
    if (s->touch.contact[i].gap < 0.0 && kn_lookup_find(&list, s->touch.contact[i].key) < 0)
      deepest = kn_max(deepest, -s->touch.contact[i].gap);
  if (deepest == 0.0) return KN_OK;
  double reach = s->settings.gtol + 10.0 * (deepest + s->report.correction);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, reach, 0.0,
                   kn_state_find_block(x, "pairs")));
  if (s->soft) kn_soft_measure(s, s->touch.after, s->touch.afters, true);
  int kept = 0;
  list = at_end(s);
  for (int i = 0; i < s->touch.afters; i++) {
    const kn_contact* c = &s->touch.after[i];
    if (c->gap <= s->settings.gtol || depth_at(s, &list, c->key) > 0.0) s->touch.after[kept++] = *c;
  }
  s->touch.afters = kept;
  list = after(s); /* those that are kept, not what is added to them */
  for (int i = 0; i < s->touch.contacts; i++) {
    if (s->touch.contact[i].gap >= 0.0 || kn_lookup_find(&list, s->touch.contact[i].key) >= 0) continue;
    if (s->touch.afters == s->room.contacts) return kn_no_contact_room(s, s->touch.afters + 1);
    s->touch.after[s->touch.afters] = s->touch.contact[i];
    KN_TRY(place_again(s, &s->touch.after[s->touch.afters++]));
  }
  return KN_OK;
}

/* Normal rows of the contacts at q_L in s->sets.set, with the depths of q_t; true if any. */
static kn_status normal_rows(kn_sim* s, bool* deep) {
  *deep = false;
  kn_constraints_clear(&s->sets.found);
  kn_lookup list = at_end(s);
  for (int i = 0; i < s->touch.afters; i++) {
    kn_contact c = s->touch.after[i];
    double depth = depth_at(s, &list, c.key);
    c.mu = 0.0;
    *deep |= depth > 0.0;
    KN_TRY(kn_constraint_add_contact(&s->sets.found, s->model, &c, i, -depth));
  }
  return kn_row_islands(s, NULL);
}

static double slowing(double A, double B, double C) {
  if (!(A < 0.0) || !(B < 0.0) || !(C > 0.0)) return 0.0;
  double root = B * B + 2.0 * C * A;
  return root > 0.0 ? 2.0 * A / (B - sqrt(root)) : -B / C;
}

/* Work of the forces over the repair, per island; their sum is made what the energies say (the repair of a
   deep landing is long, and the inertia changes on the way). */
static void raised(kn_sim* s, double* A, const double* a) {
  const kn_model* m = s->model;
  kn_dyn_multiply(s->frame.dv, s->data, m, s->repair.shift);
  kn_islands_of_links(s, s->landing.link_island);
  memset(A, 0, (size_t)s->sets.islands * sizeof(double));
  for (int k = 0; k < m->nv; k++) {
    int i = s->landing.link_island[m->dof_link[k]];
    if (i >= 0) A[i] += a[k] * s->frame.dv[k];
  }
  double sum = 0.0;
  for (int i = 0; i < s->sets.islands; i++) sum += A[i];
  double share = sum < 0.0 ? -s->landing.raised / sum : 1.0;
  for (int i = 0; i < s->sets.islands && share > 0.2 && share < 5.0; i++) A[i] *= share;
}

/* The repair's least norm may give up among many redundant contacts with some that pull: those are left out.
 */
static kn_status only_push(kn_sim* s, double* d, double* nu) {
  bool pulls = false;
  for (int r = 0; r < s->sets.set.rows; r++) {
    pulls |= nu[r] < 0.0;
    nu[r] = kn_max(nu[r], 0.0);
  }
  if (!pulls) return KN_OK;
  memset(d, 0, (size_t)s->model->nv * sizeof(double));
  return kn_stage_push(s, d, nu);
}

/* s->landing.v, and s->landing.press: the impulse per contact of s->touch.after. a: acceleration by forces
   alone, at least nv; data holds the factors at q_L. */
kn_status kn_stage_land(kn_sim* s, kn_state* x, const double* a) {
  const kn_model* m = s->model;
  bool deep;
  memcpy(s->landing.v, s->frame.v_free, (size_t)m->nv * sizeof(double));
  memset(s->landing.press, 0, (size_t)s->room.contacts * sizeof(double));
  KN_TRY(keep_overtaken(s, x));
  KN_TRY(normal_rows(s, &deep));
  if (!deep) return KN_OK;
  double *d = s->frame.v_mean, *nu = s->row.u_plus, *A = s->row.e_used, *b = s->row.u_before,
         *Jd = s->row.compression;
  KN_TRY(kn_stage_correction(s, d));
  KN_TRY(only_push(s, d, nu));
  raised(s, A, a);
  kn_rows_velocity(b, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_free);
  kn_rows_velocity(Jd, s->data, m, s->sets.set.geometry, s->sets.set.count, d);
  for (int i = 0; i < s->sets.islands; i++) {
    double B = 0.0, C = 0.0;
    for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
      int r = s->sets.set.tag[g].row;
      B += nu[r] * b[r], C += nu[r] * Jd[r];
    }
    double beta = slowing(A[i], B, C);
    s->book.impact_energy += B * beta + 0.5 * C * beta * beta;
    for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
      int r = s->sets.set.tag[g].row;
      s->landing.press[s->sets.set.tag[g].index] = nu[r] *= beta;
    }
  }
  return kn_stage_push(s, s->landing.v, nu);
}
