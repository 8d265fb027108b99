/* Energy from nothing is not kept: the end of a step of `time` and `theta` (stage 9), between the repairs and the
   commit.

   What a step gains beyond the work put in,

     G = ΔE - work = (friction, impacts, damping, loops: <= 0) + integration + correction,

   has two sources. The integrator's own error I (column `integration`) is taken back both ways where nothing else
   works on the mechanism: velocities are scaled so that the kinetic energy makes up for it (projection method:
   Hairer, Lubich, Wanner 2006, IV.4). The factor differs from 1 by O(dt³), so the order of the scheme stays, and
   energy is kept for as long as one likes; gains alone taken back would drain it, because I gives and takes in
   turn. Down to rest if need be; up by at most 1e-3, because near rest the kinetic energy cannot carry more. One
   tree, or trees joined by loops, are scaled as one; of several trees each that nothing touched by its own I, so
   that a body in flight does not feel another's error.

   What G is left then comes from position repairs (or from the integration of trees in contact). They have no right
   to create energy: G > 0 is taken from the trees that were moved, then from others. A landing has lost what its
   repair raised already (landing.c), and that is in G. Where the motion has less than G to give, it ends at rest
   before the end of its way (kn_stage_stop), and the report says so (`stopped`).

   What an impact law creates (Newton's with friction and the guard off) is neither's: it stays, and is told.

   With actuators, controllers, prescribed motion or compliant contacts only gains beyond 1e-2 of K in one step are
   the integrator's for certain, and repairs count without impacts. Nothing is remembered from step to step but what
   is told: a run that is saved and restored ends in the same bits. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

/* Of the energies, to which they are known: sums of some hundred terms. */
static const double rounding_of = 1e-13;
/* Of the kinetic energy, in one step. Below this the scheme's error gives and takes in turn and is left alone: its
   own energy, near the true one, is kept all the more exactly (A01: 1e-11 at 1 ms), and scaling would cost that.
   Loops: their projections take part in it (A02, Bricard: second order down to coarse steps). */
static const double matters_in_trees = 1e-8, matters_with_loops = 1e-5;
/* With loops, and in a tree that something can touch, errors that are left alone may not add up: their sum is kept in the
   state. Of the kinetic energy, in one step: smaller ones are not counted, where nothing but loops can act (A02 keeps its
   order at 2 ms) and where contacts, limits and dry friction break what gives and takes. Of the largest kinetic energy so far: how far the sum may stray
   to either side, so that nothing rises by more than 1e-6. */
static const double counts_smooth = 3e-7, counts_touched = 1e-9, strays = 4e-7;
/* Of the step's own scale (that of a run would not be in the state): what may stay where the motion has nothing left
   to give. */
static const double nothing = 1e-9;
/* Of the scale of the run: a stop that holds back less is no trouble. A thousand of them, or a second of rest at
   1 ms, add up to what a rise would have to be to be told (kn_ledger_rise). */
static const double harmless_stop = 1e-6;

/* The kinetic energy before, and for what rests that of its weight over a centimetre (100 gtol). */
static double local_scale(const kn_sim* s) {
  return kn_max(s->book.energy_before.kinetic,
                s->facts.moving_mass * s->facts.gravity * 100.0 * s->settings.gtol);
}

static double rounding(const kn_sim* s) {
  const kn_energy* e = &s->book.energy_now;
  return rounding_of * (e->kinetic + fabs(e->potential) + e->spring);
}

/* The recorder wants the velocities that obey the equations of motion; data has them too, until somebody asks for
   it (kn_end_catch_up). */
static void keep_solved(kn_sim* s) {
  if (!s->frame.scaled) memcpy(s->frame.v_solved, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
  s->frame.scaled = true;
}

/* Factor² that makes K give `column`, within [0, most²]. */
static double factor2(double K, double column, double most) {
  return kn_min(kn_max((K - column) / K, 0.0), most * most);
}

/* Velocities scaled so that the kinetic energy makes up for a column; by at most `most`. */
static void take_back(kn_sim* s, double* column, double most) {
  double K = s->book.energy_now.kinetic, f2 = factor2(K, *column, most), f = sqrt(f2);
  if (f2 == 1.0) return;
  keep_solved(s);
  for (int i = 0; i < s->model->nv; i++) s->frame.v_plus[i] *= f;
  s->book.energy_now.kinetic = f2 * K;
  *column += f2 * K - K;
}

/* Of the state the step, or its last part, began with. */
static const kn_energy* energy_before(const kn_sim* s) {
  return &((const kn_energy_entry*)s->blocks.energy->data)->energy;
}

static void scale_tree(kn_sim* s, int root, double K, double f2) {
  double f = sqrt(f2);
  keep_solved(s);
  for (int i = 0; i < s->model->nv; i++)
    if (kn_root_dof(s->model, i) == root) s->frame.v_plus[i] *= f;
  s->book.energy_now.kinetic += (f2 - 1.0) * K;
}

/* K of every tree at the first dof of its root, at the end of the step. */
static void tree_kinetic(kn_sim* s, double* K, double* Mv) {
  const kn_model* m = s->model;
  kn_dyn_position(s->data, m, s->frame.q_hat);
  kn_dyn_multiply(Mv, s->data, m, s->frame.v_plus);
  memset(K, 0, (size_t)m->nv * sizeof(double));
  for (int i = 0; i < m->nv; i++) K[kn_root_dof(m, i)] += 0.5 * s->frame.v_plus[i] * Mv[i];
}

/* A gain taken from some trees only, so that others do not feel it: those that the position repair moved, or one
   after the other, the most energetic first. Loops join trees: then from all. */
static void take_back_locally(kn_sim* s, double* column, bool moved) {
  const kn_model* m = s->model;
  double *K = s->frame.v_mean, *Mv = s->frame.dv;
  if (m->nloop || s->facts.one_tree) {
    take_back(s, column, 1.0);
    return;
  }
  tree_kinetic(s, K, Mv);
  if (moved) { /* those that stayed have none to give */
    memset(Mv, 0, (size_t)m->nv * sizeof(double));
    for (int i = 0; i < m->nv; i++) Mv[kn_root_dof(m, i)] += fabs(s->repair.shift[i]);
    for (int i = 0; i < m->nv; i++) K[i] = Mv[i] > 0.0 ? K[i] : 0.0;
  }
  while (*column > 0.0) {
    int most = 0;
    for (int i = 1; i < m->nv; i++) most = K[i] > K[most] ? i : most;
    if (!(K[most] > 0.0)) return;
    double f2 = factor2(K[most], *column, 1.0);
    scale_tree(s, most, K[most], f2);
    *column = f2 > 0.0 ? 0.0 : *column - K[most];
    K[most] = 0.0;
  }
}

/* What is taken back leaves the total as it should be, but slows the motion down: a trouble once it adds up
   to as much as a rise would have to (kn_ledger_rise). Less is no more than the scatter of any integrator. Its place is the
   joint of the largest of `dofs`. */
static void tell_taken(kn_sim* s, kn_trouble_kind kind, const double* dofs, double* so_far, double taken) {
  double limit = 1e-3 * kn_max(kn_rise_scale(s), s->book.energy_now.kinetic);
  *so_far += taken;
  if (*so_far > limit && taken > 0.0)
    kn_trouble_add(s, s->report.t, kind, kn_place_of_dof(s, dofs), *so_far, limit);
}

static double matters(const kn_sim* s) {
  return (s->model->nloop ? matters_with_loops : matters_in_trees) * s->book.energy_now.kinetic;
}

/* What the step gained beyond the work that was put in and what an impact law created, which is its own and is told
   as such (column `impact`), J. b: the energy before it. */
static double gained(const kn_sim* s, const kn_energy* b) {
  const kn_ledger* l = &s->report.ledger;
  const kn_energy* n = &s->book.energy_now;
  double change = (n->kinetic - b->kinetic) + (n->potential - b->potential) + (n->spring - b->spring);
  return change - (l->actuator + l->applied + l->prescribed + l->compliant + l->switching) - s->book.law_gain;
}

/* Only gravity, springs, damping, contacts, limits and loops act. */
static bool left_alone(const kn_sim* s) {
  return !s->facts.driven && !s->controller.fn && !kn_soft_active(s) && s->report.ledger.prescribed == 0.0 &&
         s->report.ledger.applied == 0.0;
}

/* ---- the integrator's error ---- */

/* Marks the roots (at their first dof) of trees that rows or repairs touched. */
static void mark_touched(const kn_sim* s, double* mark) {
  const kn_model* m = s->model;
  memset(mark, 0, (size_t)m->nv * sizeof(double));
  for (int i = 0; i < m->nv; i++)
    if (s->repair.shift[i] != 0.0) mark[kn_root_dof(m, i)] = 1.0;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_block* b = &s->sets.set.geometry[g];
    const int links[2] = {b->ndof ? -1 : b->link_a, b->ndof ? -1 : b->link_b};
    for (int k = 0; k < 2; k++)
      if (links[k] >= 0) mark[m->link[kn_root_link(m, links[k])].v] = 1.0;
    for (int k = 0; k < b->ndof; k++) mark[kn_root_dof(m, b->dof[k])] = 1.0;
  }
}

/* Each tree that moved by itself keeps its own energy; the column is left with what the others did. */
static void keep_trees(kn_sim* s, const kn_state* x, kn_flow* f, double* column) {
  const kn_model* m = s->model;
  double *before = s->frame.v_mean, *after = s->frame.dv, *K = s->frame.v_prev;
  double* touched = s->landing.v; /* of no use any more, unlike v_bias, which is recorded and asked for */
  mark_touched(s, touched);
  f->elsewhere = true;
  kn_dyn_tree_energy(before, K, s->data, m, x->q, x->v);
  kn_dyn_tree_energy(after, K, s->data, m, s->frame.q_hat, s->frame.v_plus);
  for (int i = 0; i < m->nv; i++) {
    double error = after[i] - before[i];
    if (touched[i] != 0.0 || !(K[i] > 0.0) || !(fabs(error) > matters_in_trees * K[i])) continue;
    double f2 = factor2(K[i], error, 1.001);
    scale_tree(s, i, K[i], f2);
    *column += (f2 - 1.0) * K[i];
  }
}

/* The column of the step or of its last part. */
static double integration(const kn_sim* s) {
  const kn_energy *h = &s->book.energy_hat, *b = energy_before(s);
  return s->book.flight + ((h->kinetic + h->potential + h->spring) - (b->kinetic + b->potential + b->spring));
}

/* Told is what exceeds the loss of landings in the step. A landing without a bounce happens within the step, and what it takes is
   known to first order only: with the inertia of the midpoint ½ Δv M_m Δv, at the touch itself as much as dt/4 Δv Ṁ Δv more or less,
   of which I = dt/8 Δv Ṁ Δv is a half. Such a step loses energy with and without I. */
static void tell_integration(kn_sim* s, double taken) {
  const kn_ledger* l = &s->report.ledger;
  double beyond = fabs(taken) - kn_max(-(l->normal + l->limit), 0.0);
  if (beyond > 0.0)
    tell_taken(s, KN_TROUBLE_INTEGRATION_ENERGY, s->frame.v_plus, &s->book.rise.taken_integration,
               copysign(beyond, taken));
}

/* What the loops' impulses gave, J, where contacts, limits and dry friction break the give and take of smooth motion: nothing
   can move loops but the motion itself, so it is the scheme's error too. (What they take may be a blow.) Left out of the
   sum, steps whose I < 0 made up for it were given energy. */
static double loops_gave(const kn_sim* s) {
  return s->facts.smooth ? 0.0 : kn_max(s->report.ledger.loop, 0.0);
}

/* Does the error of this step count in the sum of those that are left alone? */
static bool counts(const kn_sim* s, double I) {
  if (!s->blocks.drift) return false;
  double least = s->facts.smooth ? counts_smooth : counts_touched;
  return fabs(I) > kn_max(least * s->book.energy_now.kinetic, rounding(s));
}

/* What of the sum strays too far is taken back, both ways: gains alone taken back would drain the motion. K: the
   kinetic energy before. */
static void keep_near(kn_sim* s, double I, double K) {
  kn_state_block* b = s->blocks.drift;
  kn_drift* d = b->data;
  if (b->used != sizeof *d) *d = (kn_drift){0};
  b->used = sizeof *d;
  d->scale = kn_max(d->scale, K);
  d->left += I;
  double most = strays * d->scale, over = d->left - kn_min(kn_max(d->left, -most), most), rest = over;
  if (over == 0.0) return;
  take_back(s, &rest, 1.001);
  d->left -= over - rest;
  s->report.ledger.integration -= over - rest;
  tell_integration(s, over - rest);
}

/* Where nothing else works. */
static void keep_alone(kn_sim* s, const kn_state* x, kn_flow* f, double I) {
  double left = I;
  if (!(fabs(I) > kn_max(matters(s), rounding(s)))) {
    double off = I + loops_gave(s);
    if (counts(s, off)) keep_near(s, off, energy_before(s)->kinetic);
    return;
  }
  if (s->facts.one_tree || s->model->nloop)
    take_back(s, &left, 1.001);
  else if (s->facts.passive)
    keep_trees(s, x, f, &left);
  s->report.ledger.integration += left - I;
  if (left != I) tell_integration(s, I - left);
}

static void keep_driven(kn_sim* s) {
  const kn_energy* e = &s->book.energy_now;
  double *I = &s->report.ledger.integration, was = *I;
  if (!(was > kn_max(1e-2 * e->kinetic, 1e-9 * (fabs(e->potential) + e->spring)))) return;
  take_back_locally(s, I, false);
  tell_integration(s, was - *I);
}

/* ---- what is left ---- */

/* The motion has nothing left to give: it ends short of its way, at rest. */
static kn_status stop(kn_sim* s, kn_flow* f, double left) {
  const kn_energy* b = &s->book.energy_before;
  double was = s->book.energy_now.kinetic + s->book.energy_now.potential + s->book.energy_now.spring;
  keep_solved(s);
  KN_TRY(kn_stage_stop(s, f, s->report.t + s->report.dt, b->kinetic + b->potential + b->spring,
                       &s->book.energy_now));
  s->report.ledger.correction += s->book.energy_now.potential + s->book.energy_now.spring - was;
  double limit = harmless_stop * kn_max(kn_rise_scale(s), local_scale(s));
  if (left > limit && !s->book.rise.first) /* a start that had to be repaired is told as such */
    kn_trouble_add(s, s->report.t, KN_TROUBLE_STOPPED, kn_place_of_dof(s, s->repair.shift), left, limit);
  return KN_OK;
}

/* Taken from the velocities and from the columns that gave it: repairs first. */
static kn_status give_back(kn_sim* s, kn_flow* f, double gain) {
  kn_ledger* l = &s->report.ledger;
  double left = gain, from_repair = kn_min(kn_max(l->correction, 0.0), gain);
  const double* at = s->repair.shift;
  take_back_locally(s, &left, true);
  if (left > 0.0) take_back_locally(s, &left, false);
  double taken = gain - left, repair = kn_min(taken, from_repair);
  l->correction -= repair;
  l->integration -= taken - repair;
  if (s->book.rise.first)
    s->book.rise.taken_correction += repair; /* a start that had to be repaired is told as such (ledger.c) */
  else if (repair > 0.0)
    tell_taken(s, KN_TROUBLE_CORRECTION_ENERGY, at, &s->book.rise.taken_correction, repair);
  if (taken > repair)
    tell_taken(s, KN_TROUBLE_INTEGRATION_ENERGY, at, &s->book.rise.taken_integration, taken - repair);
  return left > nothing * local_scale(s) && left_alone(s) ? stop(s, f, left) : KN_OK;
}

/* What the step gained, but for what a scheme that does not damp gives and takes in turn. What it takes is not there for repairs of
   contacts and limits to use up, or what it gives would add up; the repairs of loops are a part of the scheme. */
static double unexplained(const kn_sim* s, const kn_energy* b, double integration, bool both_ways) {
  double gain = gained(s, b);
  if (!both_ways || !(fabs(integration) <= matters(s))) return gain;
  if (integration > 0.0) return gain - integration;
  return s->facts.smooth ? gain : kn_max(gain, kn_min(s->report.ledger.correction, gain - integration));
}

/* A step that opened a loop which no repair closed (a linkage that whips round in a few steps) is none: it ends at rest
   before it. The energy that would hide in the gap could come back in any other step. */
static kn_status close_or_stop(kn_sim* s, kn_flow* f, bool* stopped) {
  double began, limit = 1e-7; /* that of kn_trouble_unrepaired */
  *stopped = false;
  if (!s->model->nloop || !(s->report.closure > limit)) return KN_OK;
  KN_TRY(kn_stage_look(s, f, s->past.q_safe, s->report.t, true, &began));
  *stopped = began <= 1e-9;
  if (*stopped) return stop(s, f, s->book.energy_now.kinetic);
  return kn_stage_look(s, f, s->frame.q_hat, s->report.t + s->report.dt, false, &began);
}

static kn_status give_back_clear(kn_sim* s, kn_flow* f) {
  const kn_energy* e = &s->book.energy_now;
  double most = kn_max((s->model->nloop ? 1e-2 : 1e-9) * e->kinetic, 1e-9 * (fabs(e->potential) + e->spring));
  double correction = s->report.ledger.correction;
  if (f->impact || !(correction > most)) return KN_OK;
  double added = kn_min(correction, gained(s, energy_before(s)));
  return added > most ? give_back(s, f, added) : KN_OK;
}

static kn_status keep(kn_sim* s, const kn_state* x, kn_flow* f, bool both_ways) {
  bool moves = s->book.energy_now.kinetic > 0.0;
  if (!left_alone(s)) {
    if (moves && s->settings.keep_energy)
      take_back(s, &s->report.ledger.integration, 1.001);
    else if (moves && both_ways)
      keep_driven(s);
    return give_back_clear(s, f);
  }
  bool stopped;
  KN_TRY(close_or_stop(s, f, &stopped));
  if (stopped) return KN_OK;
  if (moves && s->settings.keep_energy) take_back(s, &s->report.ledger.integration, 1.001);
  double I = integration(s), was = s->book.energy_now.kinetic;
  if (moves && both_ways && !s->settings.keep_energy) keep_alone(s, x, f, I);
  double gain = unexplained(s, energy_before(s), I + (s->book.energy_now.kinetic - was), both_ways);
  return gain > rounding(s) ? give_back(s, f, gain) : KN_OK;
}

kn_status kn_stage_keep_energy(kn_sim* s, const kn_state* x, kn_flow* f) { return keep(s, x, f, true); }
kn_status kn_stage_give_back(kn_sim* s, const kn_state* x, kn_flow* f) { return keep(s, x, f, false); }
