/* Position repair: after a step, gaps, limits, loops and sticking anchors are restored in the M-norm,

     min ½ |d|²_M   s.t.  J_n d >= -gap,  J_b d = -φ,  J_t d = -r (anchors),     q ← q ⊕ d

   one Newton step at a time; contact velocities are not touched. One-sided rows never pull together. With
   loops the velocity is brought back to J_b v = U at the new position, in the M-norm. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"
#include "contact/formulation/least_norm.h"
#include "dynamics/tree/data.h"
#include "step/sim.h"

/* Violations below this are rounding of positions of order 1 m and are left alone. */
static const double tiny = 1e-13;
enum { MAX_ROUNDS = 8 };
/* m. What is less than this is left to a later step: it does not grow, and penetrations do not enter
   velocities. */
static const double worth = 1e-10;
/* The same of slip along the surface: anchors remember all of it, so that none is ever lost; half of the
   promised 1e-9 m. */
static const double worth_slip = 5e-10;
/* The same of a loaded contact that lifted: its gap does not enter velocities either (hold.c). */
static const double worth_lift = 1e-8;
/* Loops of a few metres are closed to rounding. */
static const double closed = 1e-12;
static const double quick_most = 3e-5; /* m, rad: larger corrections get their own rows */
static const double foreseen =
    1e-7; /* m, rad: of larger corrections the new gaps are measured, whatever J d says */
static const double told = 1e-10; /* m: what J d of a correction may be wrong by */

/* How far a coordinate is beyond its limit, at most. */
static double beyond_limits(const kn_sim* s, const double* q) {
  const kn_model* m = s->model;
  double deepest = kn_max(0.0, kn_limits_beyond(s, q));
  for (int i = 0; i < m->nlimit && s->data->layout->ball_limits; i++)
    if (m->limit[i].side == 0) deepest = kn_max(deepest, -kn_limit_gap(m, i, q));
  return deepest;
}

/* Violations at the present poses: gaps of s->touch.after, limits, anchors; loops come with their rows. How far held
   contacts lifted is s->hold.lifted: it should be closed, but nothing is wrong where that cannot be. */
static double measure(kn_sim* s, const kn_flow* f, const double* q) {
  const kn_model* m = s->model;
  kn_anchors list = kn_anchors_of(s);
  double deepest = 0.0, slip = 0.0, lift = 0.0;
  for (int i = 0; i < s->touch.afters; i++) {
    const kn_contact* c = &s->touch.after[i];
    if (kn_soft_has(s, c->key)) continue;
    deepest = kn_max(deepest, -c->gap);
    if (f->held && s->hold.after[i]) lift = kn_max(lift, c->gap);
    const kn_anchor* anchor = s->settings.anchors ? kn_anchor_next(&list, c->key) : NULL;
    if (!anchor) continue;
    double r[2];
    kn_anchor_residual(r, s, anchor, c);
    slip = kn_max(slip, kn_max(fabs(r[0]), fabs(r[1])));
  }
  for (int k = 0, i; k < s->limits.nears && f->held; k++)
    if (kn_hold_limit(s, f->held, i = s->limits.near[k])) lift = kn_max(lift, kn_limit_gap(m, i, q));
  s->report.penetration = deepest = kn_max(deepest, beyond_limits(s, q));
  s->hold.lifted = lift;
  return kn_max(deepest, slip);
}

/* Rows that follow from others cannot be closed by themselves: where a model's own loops miss each other they stay
   off, and are told apart. */
static kn_status loop_rows_at(kn_sim* s, const double* q, double t) {
  double closure = 0.0, dependent = 0.0;
  for (int i = 0, row = 0, rows; i < s->model->nloop; i++, row += rows) {
    int at = s->sets.found.rows;
    KN_TRY(kn_constraint_add_loop(&s->sets.found, s->model, s->data, q, i, row, t, &rows,
                                  s->repair.violation + row));
    for (int k = 0; k < rows; k++) {
      double off = fabs(s->sets.found.bias[at + k] = s->repair.violation[row + k]);
      if (s->loops.known && !s->loops.kept[row + k])
        dependent = kn_max(dependent, off);
      else
        closure = kn_max(closure, off);
    }
  }
  s->report.closure = closure, s->report.closure_dependent = dependent;
  return KN_OK;
}

/* Those rows alone in s->sets.found; the velocities that obey them need no others (loops.c). */
static kn_status loops_at(kn_sim* s, const double* q, double t) {
  kn_constraints_clear(&s->sets.found);
  s->loops.here = true;
  return loop_rows_at(s, q, t);
}

/* Which rows a Newton step has: all; the same, with held ones closed from both sides; no anchors. */
typedef enum newton_rows { ALL_ROWS, BOTH_SIDES, NO_ANCHORS } newton_rows;

/* Rows of everything that may have to be held, with their violation as bias. */
static kn_status rows_at(kn_sim* s, const kn_flow* f, const double* q, double t, newton_rows which) {
  const kn_model* m = s->model;
  kn_anchors list = kn_anchors_of(s);
  kn_constraints_clear(&s->sets.found);
  s->loops.here = false;
  for (int i = 0; i < s->touch.afters; i++) {
    kn_contact* c = &s->touch.after[i];
    if (kn_soft_has(s, c->key)) continue;
    double mu = c->mu;
    c->mu = 0.0; /* normal row only */
    kn_status status = kn_constraint_add_contact(&s->sets.found, m, c, i, c->gap);
    c->mu = mu;
    if (status != KN_OK) return status;
    s->sets.found.tag[s->sets.found.count - 1].held = which == BOTH_SIDES && f->held && s->hold.after[i];
    const kn_anchor* anchor =
        s->settings.anchors && which != NO_ANCHORS ? kn_anchor_next(&list, c->key) : NULL;
    if (!anchor) continue;
    double r[2];
    kn_anchor_residual(r, s, anchor, c);
    KN_TRY(kn_constraint_add_anchor(&s->sets.found, m, c, i, r));
  }
  for (int i = 0; i < m->nlimit; i++) {
    double gap = kn_limit_gap(m, i, q);
    if (gap > s->settings.gtol) continue;
    KN_TRY(kn_constraint_add_limit(&s->sets.found, m, q, i, gap));
    s->sets.found.tag[s->sets.found.count - 1].held = which == BOTH_SIDES && kn_hold_limit(s, f->held, i);
  }
  return loop_rows_at(s, q, t);
}

/* Rows that contradict each other leave the problem without an answer; with a little of its diagonal added to Λ, less than
   tells independent rows apart (least_norm.c), it has one, and what they ask for in vain moves nothing. */
static void soften(kn_contact_work* w) {
  const double little = 1e-9;
  const kn_lambda_blocks* B = &w->large.blocks;
  for (int i = 0; i < w->rows && !w->large.is_sparse; i++)
    w->W[(size_t)i * (size_t)(w->rows + 1)] *= 1.0 + little;
  for (int b = 0; b < w->nblock && w->large.is_sparse; b++)
    for (int k = B->start[b]; k < B->start[b + 1]; k++)
      if (B->col[k] == b) B->value[B->at[k]] *= 1.0 + little;
}

/* An island of many rows: the same problem, 0 <= λ ⊥ Λ λ + violation >= 0, by the solver of contacts with Λ by blocks. What a
   millionth of the largest violation leaves is for the next Newton step, which measures anew. */
static kn_status correct_many(kn_sim* s, double* d, int first, int count) {
  kn_contact_work* w = s->os;
  const kn_row_tag* tag = s->sets.set.tag + first;
  double* lambda = s->row.u_plus + tag->row;
  kn_solve_settings settings = kn_solve_default();
  settings.tol = 1e-9, settings.enough = 1e-6, settings.untimed = true, settings.max_iterations = 100;
  w->large.may_be_sparse = true;
  kn_status status = kn_contact_begin(w, &s->sets.set, first, count);
  w->large.may_be_sparse = false;
  if (status != KN_OK) return status;
  for (int g = 0; g < count; g++)
    if (tag[g].held) w->block[tag[g].block - tag->block].set = KN_SET_FREE;
  kn_problem p = {.rows = w->rows, .blocks = w->nblock, .block = w->block, .q = s->sets.set.bias + tag->row};
  if (w->large.is_sparse)
    p.sparse = &w->large.sparse;
  else
    p.W = w->W;
  soften(w);
  kn_solver_work_begin(w->solver);
  kn_solve_info info;
  status = kn_problem_solve(lambda, &info, &p, &settings, w->solver);
  if (status != KN_OK && status != KN_NOT_CONVERGED) return status;
  kn_rows_apply(s->frame.dv, &w->factored, s->data, s->model, lambda);
  for (int k = 0; k < s->model->nv; k++) d[k] += s->frame.dv[k];
  return KN_OK;
}

static kn_status correct_few(kn_sim* s, double* d, int first, int count) {
  int row = s->sets.set.tag[first].row, rows = 0;
  double* lambda = s->row.u_plus + row;
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    for (int k = 0; k < tag->rows; k++)
      s->repair.one_sided[rows++] = (tag->kind == KN_ROW_CONTACT || tag->kind == KN_ROW_LIMIT) && !tag->held;
  }
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, s->model, s->sets.set.geometry + first, count));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, s->model);
  for (int k = 0; k < rows; k++) s->row.u_free[k] = -s->sets.set.bias[row + k];
  kn_least_norm(lambda, rows, s->work->W, s->row.u_free, s->repair.one_sided, s->repair.least_scratch,
                s->repair.least_pivot);
  kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, s->model, lambda);
  for (int k = 0; k < s->model->nv; k++) d[k] += s->frame.dv[k];
  return KN_OK;
}

static int island_rows(const kn_sim* s, int i) {
  const kn_row_tag *first = &s->sets.set.tag[s->sets.island_first[i]],
                   *last = &s->sets.set.tag[s->sets.island_first[i + 1] - 1];
  return last->row + last->rows - first->row;
}

/* Are all islands one problem with Λ by blocks? Where one of them has many rows, and where a pass over all bodies for each of
   many islands would cost more. Loops are closed to rounding as long as there is room. */
static bool one_problem(const kn_sim* s) {
  enum { FEW_ROWS = 400, FEW_IN_ALL = 1000 }; /* up to there dense factors cost as much */
  bool many = s->sets.set.rows > FEW_IN_ALL;
  for (int i = 0; i < s->sets.islands && s->sets.set.rows > FEW_ROWS; i++)
    many |= island_rows(s, i) > FEW_ROWS;
  return many && s->os->large.blocks.capacity && !s->model->nloop;
}

/* d for the rows in s->sets.set at the present poses. */
kn_status kn_stage_correction(kn_sim* s, double* d) {
  memset(d, 0, (size_t)s->model->nv * sizeof(double));
  if (one_problem(s)) return correct_many(s, d, 0, s->sets.set.count);
  for (int i = 0; i < s->sets.islands; i++) {
    int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first;
    KN_TRY((island_rows(s, i) > s->room.repair ? correct_many : correct_few)(s, d, first, count));
  }
  return KN_OK;
}

kn_status kn_stage_push(kn_sim* s, double* v, const double* p) {
  const kn_model* m = s->model;
  for (int i = 0; i < s->sets.islands; i++) {
    int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first;
    KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.set.geometry + first, count));
    kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, p + s->sets.set.tag[first].row);
    for (int k = 0; k < m->nv; k++) v[k] += s->frame.dv[k];
  }
  return KN_OK;
}

/* Whether some held contact of the step travels: what it lifts in one step it will lift in the next as well. */
static bool travelled(const kn_sim* s) {
  for (int g = 0; g < s->sets.set.count; g++)
    if (s->sets.set.tag[g].held && s->sets.set.bias[s->sets.set.tag[g].row] != 0.0) return true;
  return false;
}

/* Largest gap that opened under a loaded contact in this step. */
static double most_lifted(const kn_sim* s) {
  kn_lookup contacts =
      kn_lookup_in(s->sets.lookup, s->touch.contact, sizeof *s->touch.contact, s->touch.contacts);
  double most = 0.0;
  for (int i = 0; i < s->touch.afters; i++) {
    int j = kn_lookup_find(&contacts, s->touch.after[i].key);
    if (j >= 0 && s->touch.contact[j].impulse[0] > 0.0 && !s->touch.contact[j].impact)
      most = kn_max(most, s->touch.after[i].gap);
  }
  return most;
}

/* Contacts within gtol + beyond at the poses in data. */
static kn_status find(kn_sim* s, const kn_flow* f, double beyond) {
  double reach = s->settings.gtol + beyond + (s->soft ? kn_soft_range(s) : 0.0);
  s->touch.afters = 0;
  if (f->clear) return KN_OK;
  kn_status status =
      kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, reach, 0.0, s->blocks.pairs);
  if (status == KN_OK && s->soft) kn_soft_measure(s, s->touch.after, s->touch.afters, true);
  if (status == KN_OK) kn_hold_after(s, f->held);
  return status;
}

/* The worst violation at q, whose contacts were found. */
static kn_status violation_at(kn_sim* s, const kn_flow* f, const double* q, double t, double* worst) {
  *worst = measure(s, f, q);
  if (s->model->nloop == 0) return KN_OK;
  KN_TRY(loops_at(s, q, t));
  *worst = kn_max(*worst, s->report.closure);
  return KN_OK;
}

static kn_status look(kn_sim* s, kn_flow* f, const double* q, double t, double beyond, double* worst) {
  kn_budget_add(s, 0.0);
  kn_dyn_position(s->data, s->model, q);
  f->behind = false;
  KN_TRY(find(s, f, beyond));
  s->repair.look = kn_max(s->repair.look, kn_budget_add(s, 1e3 * s->model->nlink + 3e3 * s->touch.afters));
  return violation_at(s, f, q, t, worst);
}

/* Between the rounds of a repair, which ends with a look. */
static kn_status glance(kn_sim* s, kn_flow* f, const double* q, double t, double beyond, double* worst) {
  kn_detector_trust(s->detector, kn_looks_are_dear(s));
  kn_status status = look(s, f, q, t, beyond, worst);
  kn_detector_trust(s->detector, false);
  return status;
}

/* Overlaps, limits and loops at q, whatever the anchors say; rough: between the rounds of a search. */
kn_status kn_stage_look(kn_sim* s, kn_flow* f, const double* q, double t, bool rough, double* worst) {
  KN_TRY((rough ? glance : look)(s, f, q, t, 0.0, worst));
  *worst = kn_max(s->report.penetration, s->model->nloop ? s->report.closure : 0.0);
  return KN_OK;
}

/* One Newton step from q to s->repair.q_try, shortened to at most half a metre or radian per coordinate. */
static kn_status newton_step(kn_sim* s, kn_state* x, kn_flow* f, const double* q, double t, newton_rows which,
                             double* size) {
  const kn_model* m = s->model;
  double largest = 0.0;
  KN_TRY(rows_at(s, f, q, t, which));
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  f->reusable = false; /* the factors and Λ of q_m are gone */
  if (s->loops.known)
    kn_stage_loops_again(s, s->sets.keep);
  else
    KN_TRY(kn_stage_keep_loops(s, s->sets.keep));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  KN_TRY(kn_stage_correction(s, s->frame.v_mean));
  for (int i = 0; i < m->nv; i++) largest = kn_max(largest, fabs(s->frame.v_mean[i]));
  double share = largest > 0.5 ? 0.5 / largest : 1.0;
  for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] *= share;
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_mean);
  kn_anchor_repaired(s, x, s->row.u_free);
  kn_dyn_integrate(s->repair.q_try, m, q, s->frame.v_mean, 1.0);
  *size = share * largest;
  double n = s->sets.set.rows;
  kn_budget_add(s, 8e3 * s->model->nlink + n * (n * n / 3.0 + 400.0 * s->model->nlink));
  return KN_OK;
}

/* ---- repair with the step's own rows ----

   A step that went well leaves violations far below a millimetre, and its rows, Λ and factors at q_m serve as
   well as new ones: J differs by O(dt v), and so does what is left. Possible when the step solved one island
   and every overlap is one of its rows; they are in s->os, whatever the formulation, so that the repair does not
   depend on it. */

/* s->sets.cursor[i] = place of s->touch.contact[i] in s->touch.after, or -1. Returns whether every overlap of s->touch.after has a
   contact. */
static bool match(kn_sim* s) {
  kn_lookup contacts =
      kn_lookup_in(s->sets.lookup, s->touch.contact, sizeof *s->touch.contact, s->touch.contacts);
  bool all = true;
  for (int i = 0; i < s->touch.contacts; i++) s->sets.cursor[i] = -1;
  for (int k = 0; k < s->touch.afters; k++) {
    int i = kn_lookup_find(&contacts, s->touch.after[k].key);
    if (i >= 0)
      s->sets.cursor[i] = k;
    else
      all &= !(s->touch.after[k].gap < -tiny);
  }
  return all;
}

/* Rows of the contact in group g, which is now s->touch.after[at]. */
static inline void hold_contact(kn_sim* s, const kn_flow* f, int g, int at, double* b, bool* held,
                                const bool* pushed, kn_anchors* list, double* left) {
  const kn_row_tag* tag = &s->sets.set.tag[g];
  const kn_contact* c = &s->touch.after[at];
  held[tag->row] = true;
  b[tag->row] = -c->gap;
  s->repair.one_sided[tag->row] = !(pushed && pushed[tag->row]) && !(f->held && s->hold.after[at]);
  *left = kn_max(*left, s->repair.one_sided[tag->row] ? b[tag->row] : fabs(b[tag->row]));
  s->sets.slot[g] = at;
  const kn_anchor* anchor = s->settings.anchors ? kn_anchor_next(list, c->key) : NULL;
  if (!anchor || tag->rows < 3) return;
  kn_anchor_residual(b + tag->row + 1, s, anchor, c);
  if (c->mu2 != c->mu) b[tag->row + 2] *= c->mu2 / c->mu; /* as the row is */
  for (int k = 1; k < 3; k++) {
    b[tag->row + k] = -b[tag->row + k];
    held[tag->row + k] = true, s->repair.one_sided[tag->row + k] = false;
    *left = kn_max(*left, fabs(b[tag->row + k]));
  }
}

/* One row of a loop; the loops' rows at the present poses are all that is in s->sets.found, in the model's order. */
static void hold_loop(kn_sim* s, const kn_row_tag* tag, double* b, bool* held, double* left) {
  b[tag->row] = -s->sets.found.bias[tag->index];
  held[tag->row] = true, s->repair.one_sided[tag->row] = false;
  *left = kn_max(*left, fabs(b[tag->row]));
}

/* b = -violation for the rows of s->sets.set; -infinity where nothing is to be held (held = false). Contacts that
   an earlier correction of this step pushed (pushed[row]) are held both ways: with J of q_m it may have
   overshot. *left: the largest |b| that is to be removed. False: some overlap or row is none of these. */
static bool quick_rows(kn_sim* s, const kn_flow* f, const double* q, double* b, bool* held,
                       const bool* pushed, double* left) {
  kn_anchors list = kn_anchors_of(s);
  *left = 0.0;
  bool all = match(s);
  int rows = 0, overlaps = 0;
  for (int r = 0; r < s->sets.set.rows; r++) held[r] = false, s->repair.one_sided[r] = true, b[r] = -INFINITY;
  for (int i = 0; i < s->touch.afters; i++) overlaps += s->touch.after[i].gap < -tiny;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind == KN_ROW_FRICTION || tag->kind == KN_ROW_SPIN) continue;
    if (tag->kind == KN_ROW_LIMIT) {
      b[tag->row] = -kn_limit_gap(s->model, tag->index, q);
      held[tag->row] = true;
      s->repair.one_sided[tag->row] = !kn_hold_limit(s, f->held, tag->index);
      *left = kn_max(*left, s->repair.one_sided[tag->row] ? b[tag->row] : fabs(b[tag->row]));
      continue;
    }
    if (tag->kind == KN_ROW_LOOP) {
      hold_loop(s, tag, b, held, left);
      continue;
    }
    int at = s->sets.cursor[tag->index];
    if (at < 0) continue;
    rows += s->touch.after[at].gap < -tiny;
    hold_contact(s, f, g, at, b, held, pushed, &list, left);
  }
  return all && rows == overlaps;
}

/* Rolling anchors follow the correction; Jd over the rows of s->sets.set. */
static void follow(kn_sim* s, const bool* held, const double* Jd) {
  kn_anchors list = kn_anchors_of(s);
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT || !held[tag->row]) continue;
    const kn_contact* c = &s->touch.after[s->sets.slot[g]];
    if (tag->rows == 3 && held[tag->row + 1])
      kn_anchor_roll(kn_anchor_next(&list, c->key), c,
                     (const double[2]){Jd[tag->row + 1], c->mu2 != c->mu ? Jd[tag->row + 2] * c->mu / c->mu2
                                                                         : Jd[tag->row + 2]});
  }
}

/* More contacts than DENSE_CONTACTS: the dense repair costs more than the step is worth, what sweeps leave is
   reported and repaired in the next step. */
enum {
  DENSE_CONTACTS = 500,
  REPAIR_SWEEPS = 30,
  QUICK_ROUNDS = 3,
  LOOP_ROUNDS = 5,
  SWEEP_ROUNDS = 8,
  LOOSE_SWEEPS = 60,
  LOOSE_ROUNDS = 2
};

/* Is J d right for a correction of this size? J belongs to the midpoint of the step: by its end rows have turned by up to
   dt v/2, a share of d that J d misses, and a thousandth at least. */
static bool foreseeable(const kn_sim* s, double size) {
  double turned = 0.5 * s->report.dt * kn_fours_largest(s->frame.v_plus, s->model->nv);
  return size <= foreseen && size * kn_max(turned, 1e-3) <= told;
}

/* The contact of a cylinder runs round its rim as it tilts: J d knows nothing of that. */
static bool has_rim(const kn_model* m, const kn_contact* c) {
  return m->geom[c->geom_a].shape.type == KN_SHAPE_CYLINDER ||
         m->geom[c->geom_b].shape.type == KN_SHAPE_CYLINDER;
}

/* Gaps after a small correction, from J d; false when a contact is none of the rows, or moves otherwise. */
static bool foresee(kn_sim* s, const double* q, const double* Jd, double* worst) {
  double deepest = 0.0;
  int seen = 0;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT || !s->sets.keep[tag->row]) continue;
    kn_contact* c = &s->touch.after[s->sets.slot[g]];
    c->gap += Jd[tag->row];
    deepest = kn_max(deepest, -c->gap);
    seen += !(fabs(Jd[tag->row]) > told && has_rim(s->model, c));
  }
  s->report.penetration = *worst = kn_max(deepest, beyond_limits(s, q));
  return seen == s->touch.afters;
}

static inline void add_column(double* restrict y, double x, const double* restrict column, int n) {
  for (int i = 0; i < n; i++) y[i] += x * column[i];
}

/* λ and J d = Λ λ of the rows in s->sets.set, from Λ of the step. */
static void quick_correction(kn_sim* s, const kn_flow* f, double* lambda, double* Jd, const double* b,
                             double worst) {
  const kn_contact_work* w = s->os;
  int n = s->sets.set.rows;
  if (w->large.is_sparse && f->loose) {
    kn_least_norm_normals(lambda, Jd, &w->large.blocks, w->nblock, w->large.block_row, b, LOOSE_SWEEPS,
                          kn_max(1e-9, 1e-2 * worst), s->repair.least_scratch);
    return;
  }
  if (w->large.is_sparse) {
    kn_least_norm_blocks(lambda, Jd, &w->large.blocks, w->nblock, w->large.block_row, b, REPAIR_SWEEPS,
                         kn_max(0.1 * tiny, 1e-3 * worst), s->repair.least_scratch);
    return;
  }
  kn_least_norm(lambda, n, w->W, b, s->repair.one_sided, s->repair.least_scratch, s->repair.least_pivot);
  memset(Jd, 0, (size_t)n * sizeof *Jd);
  for (int c = 0; c < n; c++) /* Λ is symmetric; many λ are zero */
    if (lambda[c] != 0.0) add_column(Jd, lambda[c], w->W + (size_t)c * (size_t)n, n);
}

/* Poses of q in data, if they are not there yet. */
static void catch_up(kn_sim* s, kn_flow* f, const double* q) {
  if (f->behind) kn_dyn_position(s->data, s->model, q);
  f->behind = false;
}

/* Loops close to rounding, which J d of the midpoint does not say. */
static kn_status loops_seen(kn_sim* s, kn_flow* f, const double* q, double t, double* worst) {
  catch_up(s, f, q);
  KN_TRY(loops_at(s, q, t));
  *worst = kn_max(s->report.penetration, s->report.closure);
  return KN_OK;
}

/* One correction of q in place, rows as quick_rows left them; false when it is too large for this. */
static kn_status quick_correct(kn_sim* s, kn_flow* f, double* q, double t, double* worst, bool* done) {
  const kn_model* m = s->model;
  kn_contact_work* w = s->os;
  double *lambda = s->row.compression, *Jd = s->row.u_free, largest;
  quick_correction(s, f, lambda, Jd, s->repair.violation, *worst);
  kn_data_swap(s->data); /* the factors belong to the poses of q_m */
  kn_rows_apply(s->frame.v_mean, &w->factored, s->data, m, lambda);
  kn_data_swap(s->data);
  largest = kn_fours_largest(s->frame.v_mean, m->nv);
  *done = largest <= (w->large.is_sparse ? 0.5 : quick_most);
  if (!*done) return KN_OK;
  kn_stage_move(s->repair.q_try, m, q, s->frame.v_mean, 1.0);
  follow(s, s->sets.keep, Jd);
  kn_fours_add(s->repair.shift, s->repair.shift, 1.0, s->frame.v_mean, m->nv);
  kn_fours_copy(q, s->repair.q_try, m->nq);
  s->report.correction += largest;
  f->behind = foreseeable(s, largest) && foresee(s, q, Jd, worst);
  if (!f->behind) return look(s, f, q, t, 0.0, worst);
  return m->nloop ? loops_seen(s, f, q, t, worst) : KN_OK;
}

/* Nothing that could not wait: worst violation as measured, overlaps in the report. */
static bool good_enough(const kn_sim* s, double worst) {
  if (s->model->nloop && s->report.closure > closed) return false;
  return worst <= worth || (worst <= worth_slip && s->report.penetration <= worth);
}

/* *done: q is as good as it gets. Many contacts have no other repair: what sweeps leave is for the next step. */
static kn_status quick_repair(kn_sim* s, kn_flow* f, double* q, double t, double* worst, bool* done) {
  bool sparse = f->reusable && s->os->large.is_sparse, *pushed = s->repair.pushed;
  double left, before = INFINITY;
  *done = sparse;
  if (!f->reusable || (*worst > quick_most && !sparse)) return KN_OK;
  for (int k = 0, most = sparse ? 1 : s->model->nloop ? LOOP_ROUNDS : QUICK_ROUNDS; k < most; k++) {
    if (k && *worst <= 0.1 * worth && good_enough(s, *worst)) return KN_OK;
    catch_up(s, f, q);
    bool all = quick_rows(s, f, q, s->repair.violation, s->sets.keep, k ? pushed : NULL, &left);
    if ((!all && !sparse) || left > 0.1 * before) return KN_OK;
    *done = true;
    if (k && left <= 3.0 * tiny) return KN_OK;
    bool moved;
    KN_TRY(quick_correct(s, f, q, t, worst, &moved));
    *done = moved || sparse;
    if (!moved) return KN_OK;
    for (int r = 0; r < s->sets.set.rows; r++) pushed[r] = s->row.compression[r] > 0.0;
    before = left;
  }
  return KN_OK;
}

/* Many contacts: sweeps go on until the overlaps are gone; slip that is left is for the next step. */
static kn_status sweep_on(kn_sim* s, kn_flow* f, double* q, double t, double* worst) {
  for (int k = 0; k < SWEEP_ROUNDS && s->report.penetration > 1e-9; k++) {
    double left, before = s->report.penetration;
    bool moved;
    catch_up(s, f, q);
    quick_rows(s, f, q, s->repair.violation, s->sets.keep, NULL, &left);
    if (left < 0.5 * before) return KN_OK; /* the overlap is none of the rows */
    KN_TRY(quick_correct(s, f, q, t, worst, &moved));
    if (!moved || s->report.penetration > 0.9 * before) return KN_OK;
  }
  return KN_OK;
}

/* Heaps: normal rows only, and only overlaps of more than gtol are trouble. */
static kn_status loose_repair(kn_sim* s, kn_flow* f, double* q, double t, double* worst) {
  for (int k = 0; k < LOOSE_ROUNDS && s->report.penetration > KN_HEAP_OPEN; k++) {
    double left, before = s->report.penetration;
    bool moved;
    catch_up(s, f, q);
    quick_rows(s, f, q, s->repair.violation, s->sets.keep, NULL, &left);
    KN_TRY(quick_correct(s, f, q, t, worst, &moved));
    if (!moved || s->report.penetration > 0.5 * before) break;
  }
  if (s->report.penetration <= s->settings.gtol) return KN_OK;
  if (s->report.status == KN_OK) s->report.status = KN_INFEASIBLE;
  kn_trouble_add(s, t, KN_TROUBLE_OVERLAP, kn_place_of_overlap(s, q), s->report.penetration,
                 s->settings.gtol);
  return KN_OK;
}

/* Anchors as they were before a Newton step that is taken back. */
static void keep_anchors(kn_sim* s, bool restore) {
  kn_state_block* block = s->blocks.anchors;
  if (restore)
    memcpy(block->data, s->touch.anchor, block->used);
  else
    memcpy(s->touch.anchor, block->data, block->used);
}

/* Overlaps that are left, without the anchors: Newton steps that need not all be good, the best position
   stays. */
static kn_status without_anchors(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t, double* worst) {
  size_t bytes = (size_t)s->model->nq * sizeof(double);
  double best, size, reach = 0.0;
  KN_TRY(kn_stage_look(s, f, q, t, true, &best));
  memcpy(s->repair.q_best, q, bytes);
  kn_status status = KN_OK;
  for (int round = 0; round < 3 * MAX_ROUNDS && best > 1e-10 && status == KN_OK; round++) {
    status = newton_step(s, x, f, q, t, NO_ANCHORS, &size);
    if (status != KN_OK || !(size > 1e-16) || (round && kn_budget_spent(s))) break;
    memcpy(q, s->repair.q_try, bytes);
    reach = kn_max(reach, 2.0 * size);
    status = glance(s, f, q, t, kn_min(reach, 1e-2), worst);
    *worst = kn_max(s->report.penetration, s->model->nloop ? s->report.closure : 0.0);
    if (!(*worst < best)) continue;
    best = *worst;
    memcpy(s->repair.q_best, q, bytes);
  }
  memcpy(q, s->repair.q_best, bytes);
  return status == KN_OK ? kn_stage_look(s, f, q, t, false, worst) : status;
}

/* The same from another start, with every coordinate within its limits: Newton steps that leave a limit by half a radian
   may run into contacts that turn them back. The better end stays. */
static kn_status from_within_limits(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t, double* worst) {
  const kn_model* m = s->model;
  size_t bytes = (size_t)m->nq * sizeof(double);
  double first = *worst;
  if (!(beyond_limits(s, q) > 1e-9) || kn_budget_spent(s)) return KN_OK;
  memcpy(s->repair.q_end, q, bytes);
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    if (l->side && l->side * (l->bound - q[l->q]) > 0.0) q[l->q] = l->bound;
  }
  KN_TRY(without_anchors(s, x, f, q, t, worst));
  if (*worst < first) return KN_OK;
  memcpy(q, s->repair.q_end, bytes);
  return kn_stage_look(s, f, q, t, false, worst);
}

/* What the repair left: release anchors that are off, then go on without anchors, then retreat. */
static kn_status insist(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t, double* worst, bool* back) {
  double *shift = s->frame.dv, size = 0.0;
  const kn_model* m = s->model;
  s->loops.known = false; /* as far from the midpoint as this may go they are decided anew */
  KN_TRY(glance(s, f, q, t, 0.0, worst));
  if (kn_anchor_release(s)) KN_TRY(look(s, f, q, t, 0.0, worst));
  if (*worst <= 1e-9) return KN_OK;
  memcpy(s->repair.q_left, q, (size_t)m->nq * sizeof(double));
  KN_TRY(without_anchors(s, x, f, q, t, worst));
  if (*worst > 1e-9) KN_TRY(from_within_limits(s, x, f, q, t, worst));
  kn_dyn_difference(shift, m, s->repair.q_left, q);
  for (int i = 0; i < m->nv; i++) s->repair.shift[i] += shift[i], size = kn_max(size, fabs(shift[i]));
  s->report.correction += size;
  *back = *worst > 1e-9;
  if (*back) KN_TRY(kn_stage_retreat(s, f, q, t, worst));
  kn_anchor_release(s);
  return KN_OK;
}

void kn_stage_pass(kn_sim* s) {
  kn_fours_clear(s->repair.shift, s->model->nv);
  s->touch.afters = 0;
  s->report.correction = s->report.penetration = s->report.lift = 0.0;
}

enum { FAR = 30 }; /* rad/m, or m/m: corners of a sole three centimetres apart */

/* Newton steps. One that does not lessen the worst violation is taken back: it may have run into contacts that were out
   of sight, so it is tried again with an eye on more of them. The first one closes what lifted under its load, unless bodies
   would have to go far for it: a foot that stands on one edge is not turned onto the other. */
static kn_status newton_rounds(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t, double* worst) {
  double before, size, beyond = 0.0;
  int again = 0;
  for (int round = 0; round<MAX_ROUNDS&& * worst> tiny; round++) {
    if (round > 1 && kn_budget_spent(s)) break;
    keep_anchors(s, false);
    kn_status status = newton_step(s, x, f, q, t, round == 0 ? BOTH_SIDES : ALL_ROWS, &size);
    if (status == KN_OK && round == 0 && s->hold.lifted > worth &&
        size > FAR * kn_max(*worst, s->hold.lifted)) {
      keep_anchors(s, true);
      status = newton_step(s, x, f, q, t, ALL_ROWS, &size);
    }
    if (status == KN_NO_ROOM && beyond > 0.0)
      break; /* an eye on more than can be held: a jam, which stays one */
    if (status != KN_OK) return status;
    if (!(size > 1e-16)) break; /* nothing more can be had */
    before = *worst;
    KN_TRY(glance(s, f, s->repair.q_try, t, beyond, worst));
    if (!(*worst < before)) {
      bool over = before <= 1e-9 || again++ == 2;
      keep_anchors(s, true);
      KN_TRY(glance(s, f, q, t, beyond, worst));
      if (!over && !kn_anchor_release(s)) {
        beyond = kn_max(4.0 * size, 4.0 * beyond);
        over = size > 4.0 * before; /* such corrections go far round corners and only raise bodies */
      }
      if (over) break;
      KN_TRY(glance(s, f, q, t, beyond, worst));
      continue;
    }
    memcpy(q, s->repair.q_try, (size_t)s->model->nq * sizeof(double));
    for (int i = 0; i < s->model->nv; i++) s->repair.shift[i] += s->frame.v_mean[i];
    s->report.correction += size;
  }
  return beyond > 0.0 || kn_looks_are_dear(s) ? look(s, f, q, t, 0.0, worst) : KN_OK;
}

/* q is moved in place; data ends with the poses of the repaired q (once kn_end_corrected has been there) and
   s->touch.after its contacts. Rows that contradict each other cannot all be met, and the report says so. */
static kn_status project(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t) {
  double worst = 0.0;
  s->hold.lifted = 0.0;
  s->loops.here = false;
  bool quick = false;
  s->report.correction = 0.0;
  kn_fours_clear(s->repair.shift, s->model->nv);
  kn_detector_trust(s->detector, f->impact && kn_looks_are_dear(s)); /* the landing has just looked here */
  kn_status status = find(s, f, 0.0);
  kn_detector_trust(s->detector, false);
  if (status != KN_OK) return status;
  f->clear = false; /* corrections go where they must */
  KN_TRY(violation_at(s, f, q, t, &worst));
  s->report.lift = most_lifted(s);
  kn_travel_drifted(s);
  bool many = f->reusable && s->os->large.is_sparse;
  if (many && f->loose && s->settings.projection) return loose_repair(s, f, q, t, &worst);
  bool lifted = f->held && s->hold.lifted > worth && (s->hold.lifted > worth_lift || travelled(s));
  if ((lifted || !good_enough(s, worst)) && s->settings.projection)
    KN_TRY(quick_repair(s, f, q, t, &worst, &quick));
  if (many && s->settings.projection && s->touch.afters <= DENSE_CONTACTS)
    KN_TRY(sweep_on(s, f, q, t, &worst));
  /* sweeps know contacts only: loops of a large mechanism are closed below like those of a small one */
  bool closes = s->model->nloop && s->report.closure > tiny;
  bool done = many ? !closes && s->report.penetration <= 1e-9 && worst <= 1e-4
                   : good_enough(s, worst) || (quick && worst <= 10.0 * tiny);
  bool dense = !many || s->touch.afters <= DENSE_CONTACTS;
  if (!done) catch_up(s, f, q);
  if (!done && dense && s->settings.projection) KN_TRY(newton_rounds(s, x, f, q, t, &worst));
  if (done || !s->settings.projection) return KN_OK;
  if (worst <= 1e-9) return KN_OK;
  double before = worst;
  bool back = false;
  kn_place at = kn_place_of_overlap(s, q);
  KN_TRY(insist(s, x, f, q, t, &worst, &back));
  if (worst <= 1e-9 && !back) return KN_OK;
  if (s->report.status == KN_OK && worst > 1e-9) s->report.status = KN_INFEASIBLE;
  if (worst > 1e-9)
    kn_trouble_unrepaired(s, t, q, worst);
  else
    kn_trouble_add(s, t, KN_TROUBLE_CUT_SHORT, at, before, 1e-9);
  return KN_OK;
}

/* Where a repair runs into positions that cannot be computed (beyond 1e30 m, joints that move no inertia for rounding), the bodies
   stay where the step found them, and the step says what is left. */
static kn_status stay(kn_sim* s, kn_flow* f, kn_state* x, double* q, double t) {
  double worst = 0.0;
  memcpy(q, x->q, (size_t)s->model->nq * sizeof(double));
  kn_fours_clear(s->repair.shift, s->model->nv);
  s->report.correction = 0.0;
  s->loops.known = false;
  KN_TRY(look(s, f, q, t, 0.0, &worst));
  if (s->report.status == KN_OK) s->report.status = KN_INFEASIBLE;
  kn_trouble_add(s, t, KN_TROUBLE_CUT_SHORT, kn_place_of_overlap(s, q), kn_max(worst, 1e-9), 1e-9);
  return KN_OK;
}

kn_status kn_stage_project(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t) {
  kn_status status = project(s, x, f, q, t);
  if (status == KN_BAD_MODEL || status == KN_BAD_ARGUMENT || status == KN_NOT_FINITE)
    status = stay(s, f, x, q, t);
  if (status != KN_OK) return status;
  if (s->model->nloop) kn_trouble_loops(s, t);
  return KN_OK;
}
