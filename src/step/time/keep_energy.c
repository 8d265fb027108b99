/* Stage 9, its last part: energy that the integrator or a position repair made is taken back from the velocities.

   The energy-keeping integrator (settings.keep_energy): the velocities are scaled so that the kinetic energy
   makes up for the integration column (projection method: Hairer, Lubich, Wanner 2006, IV.4). The factor
   differs from 1 by O(dt³). Down to rest if need be, so that no energy can build up; up by at most 1e-3,
   because near rest the kinetic energy cannot carry the correction: what is left stays in the column.

   Without keep_energy only a gain of more than 1e-2 of K in one step is taken back: then the step is far too
   long for what happens (a gimbal near its lock, a screw spinning up), the error feeds itself, and the
   mechanism would burst. So is what position repairs add, as far as the whole step gained: they move positions
   and have no right to create energy. Landings are left out, their speed at touch has it already (landing.c),
   and so are small gains of loops, whose repairs give and take in turn.

   Called by time.c, once the ledger has its columns. */
#include <math.h>
#include <string.h>

#include "dynamics/tree/data.h"
#include "step/sim.h"

/* The recorder wants the velocities that obey the equations of motion. */
static void keep_solved(kn_sim* s) {
  if (!s->frame.scaled) memcpy(s->frame.v_solved, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
  s->frame.scaled = true;
}

/* Velocities scaled so that the kinetic energy makes up for a column; by at most `most`. */
static void take_back(kn_sim* s, double* column, double most) {
  double K = s->book.energy_now.kinetic;
  double f2 = kn_min(kn_max((K - *column) / K, 0.0), most * most), f = sqrt(f2);
  if (f2 == 1.0) return;
  keep_solved(s);
  for (int i = 0; i < s->model->nv; i++) s->frame.v_plus[i] *= f;
  s->book.energy_now.kinetic = f2 * K;
  *column += f2 * K - K;
}

static int root_dof(const kn_model* m, int dof) {
  int link = m->dof_link[dof];
  while (m->link[link].parent >= 0) link = m->link[link].parent;
  return m->link[link].v;
}

/* The same from some trees only, so that others do not feel it: those that the position repair moved, or one
   after the other, the most energetic first. Loops join trees: then from all. */
static void take_back_locally(kn_sim* s, double* column, bool moved) {
  const kn_model* m = s->model;
  double *K = s->frame.v_mean, *Mv = s->frame.dv; /* K of a tree at the first dof of its root */
  if (m->nloop) {
    take_back(s, column, 1.0);
    return;
  }
  kn_dyn_position(s->data, m, s->frame.q_hat);
  kn_dyn_multiply(Mv, s->data, m, s->frame.v_plus);
  memset(K, 0, (size_t)m->nv * sizeof(double));
  for (int i = 0; i < m->nv; i++) K[root_dof(m, i)] += 0.5 * s->frame.v_plus[i] * Mv[i];
  if (moved) { /* those that stayed have none to give */
    memset(Mv, 0, (size_t)m->nv * sizeof(double));
    for (int i = 0; i < m->nv; i++) Mv[root_dof(m, i)] += fabs(s->repair.shift[i]);
    for (int i = 0; i < m->nv; i++) K[i] = Mv[i] > 0.0 ? K[i] : 0.0;
  }
  while (*column > 0.0) {
    int most = 0;
    for (int i = 1; i < m->nv; i++) most = K[i] > K[most] ? i : most;
    if (!(K[most] > 0.0)) return;
    double f2 = kn_max((K[most] - *column) / K[most], 0.0), f = sqrt(f2);
    keep_solved(s);
    for (int i = 0; i < m->nv; i++)
      if (root_dof(m, i) == most) s->frame.v_plus[i] *= f;
    s->book.energy_now.kinetic += (f2 - 1.0) * K[most];
    *column = f2 > 0.0 ? 0.0 : *column - K[most];
    K[most] = 0.0;
  }
}

/* What is taken back leaves the total as it should be, but slows the motion down: a trouble once it adds up
   to as much as a rise would have to (kn_ledger_rise). Less is no more than the scatter of any integrator. */
static void tell_taken(kn_sim* s, kn_trouble_kind kind, kn_place at, double* so_far, double taken) {
  double limit = 1e-3 * kn_max(kn_rise_scale(s), s->book.energy_now.kinetic);
  *so_far += taken;
  if (*so_far > limit) kn_trouble_add(s, s->report.t, kind, at, *so_far, limit);
}

/* What the step gained beyond the work that was put in, J. */
static double gained(const kn_sim* s) {
  const kn_ledger* l = &s->report.ledger;
  const kn_energy *n = &s->book.energy_now, *b = &s->book.energy_before;
  double change = (n->kinetic - b->kinetic) + (n->potential - b->potential) + (n->spring - b->spring);
  return change - (l->actuator + l->applied + l->prescribed + l->compliant + l->switching);
}

void kn_stage_keep_energy(kn_sim* s) {
  kn_ledger* l = &s->report.ledger;
  double K = s->book.energy_now.kinetic;
  double rounding = 1e-9 * (fabs(s->book.energy_now.potential) + s->book.energy_now.spring);
  if (!s->settings.ledger || !(K > 0.0)) return;
  if (s->settings.keep_energy) {
    take_back(s, &l->integration, 1.001);
  } else if (l->integration > kn_max(1e-2 * K, rounding)) {
    double was = l->integration;
    kn_place at = kn_place_of_dof(s, s->frame.v_plus);
    take_back_locally(s, &l->integration, false);
    tell_taken(s, KN_TROUBLE_INTEGRATION_ENERGY, at, &s->book.rise.taken_integration, was - l->integration);
  }
  double added = kn_min(l->correction, gained(s));
  if (!s->sets.any_impact && added > kn_max((s->model->nloop ? 1e-2 : 1e-9) * K, rounding)) {
    double left = added;
    kn_place at = kn_place_of_dof(s, s->repair.shift);
    take_back_locally(s, &left, true);
    l->correction -= added - left;
    tell_taken(s, KN_TROUBLE_CORRECTION_ENERGY, at, &s->book.rise.taken_correction, added - left);
  }
}
