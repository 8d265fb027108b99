/* The last resort of the position repair. Where it cannot remove an overlap (rows that contradict each other,
   a body that would have to go a long way round a corner) the trees that overlap do not go all the way: with
   q_k, where the step began without overlap, and d = q ⊖ q_k, they end at

     q_k ⊕ θ d,   the largest θ of a bisection without overlap,

   and so does every tree they would then run into; with all of them back at θ = 0 nothing overlaps. Their
   velocities stay, and contacts stop them in the next step; what the shorter way would add to the energy is
   taken from the velocities (kn_stage_keep_energy). The report says `trouble` with the overlap that was there.

   The last resort against energy from nothing (kn_stage_stop): where a step gained more than the motion had to give
   back, all trees end at rest as far on their way as the energy they began with reaches and nothing overlaps or
   opens more than it did. A repair that lessens what was there may cost what it costs; one that gets nowhere may not. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

enum { GROWTH = 64, HALVINGS = 10 };
static const double most = 1e-9; /* m: the promise */

static bool mark(kn_sim* s, int link) {
  int root = kn_root_link(s->model, link);
  if (root < 0 || s->repair.back[root]) return false;
  return s->repair.back[root] = true;
}

/* Trees that overlap at q join the others; whether there were new ones. */
static bool mark_overlaps(kn_sim* s, const double* q) {
  const kn_model* m = s->model;
  bool any = false;
  for (int i = 0; i < s->touch.afters; i++) {
    const kn_contact* c = &s->touch.after[i];
    if (c->gap >= -most || kn_soft_has(s, c->key)) continue;
    any |= mark(s, m->geom_place[c->geom_a].link);
    any |= mark(s, m->geom_place[c->geom_b].link);
  }
  for (int i = 0; i < m->nlimit; i++)
    if (kn_limit_gap(m, i, q) < -most) any |= mark(s, m->dof_link[m->limit[i].v]);
  return any;
}

/* q_try = q with the marked trees at θ of their way; s->frame.v_mean: d. */
static void place(kn_sim* s, double theta) {
  const kn_model* m = s->model;
  for (int k = 0; k < m->nv; k++)
    s->frame.dv[k] =
        s->repair.back[kn_root_link(m, m->dof_link[k])] ? theta * s->frame.v_mean[k] : s->frame.v_mean[k];
  kn_dyn_integrate(s->repair.q_try, m, s->past.q_safe, s->frame.dv, 1.0);
}

kn_status kn_stage_retreat(kn_sim* s, kn_flow* f, double* q, double t, double* worst) {
  const kn_model* m = s->model;
  double low = 0.0, high = 1.0;
  memset(s->repair.back, 0, (size_t)m->nlink * sizeof(bool));
  kn_dyn_difference(s->frame.v_mean, m, s->past.q_safe, q);
  mark_overlaps(s, q);
  for (int k = 0; k < GROWTH; k++) {
    place(s, 0.0);
    KN_TRY(kn_stage_look(s, f, s->repair.q_try, t, true, worst));
    if (*worst <= most || !mark_overlaps(s, s->repair.q_try)) break;
  }
  if (*worst > most)
    return kn_stage_look(s, f, q, t, false, worst); /* it began with an overlap: nothing to go back to */
  for (int k = 0; k < HALVINGS && !kn_budget_spent(s); k++) {
    double theta = 0.5 * (low + high);
    place(s, theta);
    KN_TRY(kn_stage_look(s, f, s->repair.q_try, t, true, worst));
    *(*worst <= most ? &low : &high) = theta;
  }
  place(s, low);
  for (int k = 0; k < m->nv; k++) {
    s->repair.shift[k] += s->frame.dv[k] - s->frame.v_mean[k];
    s->report.correction = kn_max(s->report.correction, fabs(s->frame.dv[k] - s->frame.v_mean[k]));
  }
  memcpy(q, s->repair.q_try, (size_t)m->nq * sizeof(double));
  return kn_stage_look(s, f, q, t, false, worst);
}

/* At rest at q_k ⊕ θ d: allowed? No worse than it may be, and within the energy. */
static kn_status reaches(bool* yes, kn_sim* s, kn_flow* f, double t, double theta, double worst, bool rough,
                         double most_energy, kn_energy* e) {
  const kn_model* m = s->model;
  double here;
  for (int k = 0; k < m->nv; k++) s->frame.dv[k] = theta * s->frame.v_mean[k];
  kn_dyn_integrate(s->repair.q_try, m, s->past.q_safe, s->frame.dv, 1.0);
  KN_TRY(kn_stage_look(s, f, s->repair.q_try, t, rough, &here));
  kn_dyn_energy(e, s->data, m, s->repair.q_try, s->frame.v_plus); /* v⁺ = 0 */
  *yes = here <= worst && e->potential + e->spring <= most_energy;
  return KN_OK;
}

kn_status kn_stage_stop(kn_sim* s, kn_flow* f, double t, double most_energy, kn_energy* e) {
  const kn_model* m = s->model;
  double theta = 0.0, began, worst;
  bool yes;
  KN_TRY(kn_stage_look(s, f, s->past.q_safe, t, true, &began));
  KN_TRY(kn_stage_look(s, f, s->frame.q_hat, t, true, &worst));
  kn_dyn_difference(s->frame.v_mean, m, s->past.q_safe, s->frame.q_hat);
  memset(s->frame.v_plus, 0, (size_t)m->nv * sizeof(double));
  if (began > most && worst < 0.99 * began) { /* it began with an overlap, whose repair comes first */
    kn_dyn_energy(e, s->data, m, s->frame.q_hat, s->frame.v_plus);
    return KN_OK;
  }
  worst = kn_max(most, began); /* what a repair that got nowhere may leave */
  /* as far as it gets with six looks; a stiff spring that would throw it a long way needs more until it gets anywhere */
  for (double way = 0.5; way > (theta > 0.0 ? 0.01 : 1e-6) && !kn_budget_spent(s); way *= 0.5) {
    KN_TRY(reaches(&yes, s, f, t, theta + way, worst, true, most_energy, e));
    if (yes) theta += way;
  }
  KN_TRY(reaches(&yes, s, f, t, theta, worst, false, most_energy, e));
  for (int k = 0; k < m->nv; k++) {
    double shift = s->frame.dv[k] - s->frame.v_mean[k];
    s->repair.shift[k] += shift;
    s->report.correction = kn_max(s->report.correction, fabs(shift));
  }
  memcpy(s->frame.q_hat, s->repair.q_try, (size_t)m->nq * sizeof(double));
  s->blocks.anchors->used = 0; /* they had gone all the way */
  s->blocks.rate->used = 0;    /* nor does the acceleration of the step tell that of the next one */
  return KN_OK;
}
