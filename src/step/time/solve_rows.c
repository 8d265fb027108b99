/* Stages 5 and 6: from rows to impulses, island by island, and v⁺ = v_free + M⁻¹ Jᵀ λ.

     kn_stage_solve           all islands once; again while loops or friction bend the mean velocity (bias iterations)
     kn_stage_solve_closing   that, and again with what the impulses of others close within the step
     kn_stage_rows_after      J v⁺ of all rows

   Hands on (kn_flow): reusable, whether Λ and its factors stay at hand for the position repair; loose, whether the problem
   was a heap solved to a heap's tolerance. Called by time.c, theta.c. */
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"
#include "step/sim.h"
#include "step/time/motion.h"

/* Loops and contacts that jam: the loops' demand on the mean velocity and that of travelling contacts may contradict
   the others. The demand J v⁺ = U never does for U = 0 (all rows are then homogeneous in v⁺, and v⁺ = 0 obeys them), so that the
   step has a solution of moderate impulses; it dissipates. Returns whether there was something to change. */
static bool yield(kn_sim* s, int first, int count) {
  bool any = false;
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_LOOP && !tag->held) continue;
    if (tag->held) s->sets.set.drift[g].known = false;
    for (int r = tag->row; r < tag->row + tag->rows; r++) {
      double homogeneous = tag->kind == KN_ROW_LOOP ? -s->sets.set.rate[r] : 0.0;
      any |= s->sets.set.bias[r] != homogeneous;
      s->sets.set.bias[r] = homogeneous;
    }
  }
  return any;
}

static kn_status solve_island(kn_sim* s, const kn_flow* f, kn_contact_solution* out, int first, int count,
                              int row) {
  const kn_sim_settings* p = &s->settings;
  double *lambda = s->row.lambda + row, *bias = s->sets.set.bias + row;
  bool may_jam = s->model->nloop > 0 || f->held;
  if (may_jam) memcpy(s->frame.v_prev, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
  s->work->known = s->row.u_free + row;
  kn_budget_add(s, 0.0);
  kn_status status = kn_contact_solve(lambda, s->frame.v_plus, out, s->work, s->frame.v_plus, bias, NULL,
                                      true, p->tolerance, p->friction, p->solver);
  bool failed = out->info.status != KN_OK; /* contacts alone: by more than a solver that stops early leaves */
  bool jams = out->wild || (failed && (s->model->nloop > 0 || out->info.residual_scaled > 1e-6));
  if (may_jam && status == KN_OK && jams && yield(s, first, count))
    status = kn_contact_solve(lambda, s->frame.v_plus, out, s->work, s->frame.v_prev, bias, NULL, false,
                              p->tolerance, p->friction, p->solver);
  s->work->known = NULL;
  return status;
}

/* Many contacts are one block-sparse problem. */
static bool is_many(const kn_sim* s) {
  const kn_work_large* l = &s->os->large;
  return l->blocks.capacity && !s->facts.rich && s->sets.set.blocks >= l->blocks_least && !kn_soft_active(s);
}

/* Few rows of several islands, loops among them, are one problem too: its Λ then serves the repair, which loops need in
   every step. */
static bool is_few(const kn_sim* s) {
  enum { FEW = 32 };
  return s->model->nloop && s->sets.islands > 1 && s->sets.set.rows <= FEW && !s->settings.verdict &&
         !kn_soft_active(s);
}

/* Λ and factors for repairs: those of the solve, or made beside another formulation, so that what is repaired
   does not depend on it. */
static kn_status keep_lambda(kn_sim* s, kn_flow* f) {
  bool many = is_many(s);
  f->loose = many && s->settings.tolerance >= KN_LOOSE;
  f->reusable = !kn_soft_active(s) && (many || is_few(s) || s->sets.islands == 1) && s->sets.set.count > 0;
  if (s->os == s->work || !f->reusable) return KN_OK;
  s->os->diagonal = s->work->diagonal;
  s->os->large.may_be_sparse = many;
  kn_status status = kn_contact_begin(s->os, &s->sets.set, 0, s->sets.set.count);
  s->os->large.may_be_sparse = false;
  return status;
}

/* Stages 6-7: every island once; s->row.lambda (warm on entry), s->frame.v_plus. again: only v_free has changed since the last
   time. */
static kn_status solve_islands(kn_sim* s, kn_flow* f, bool again) {
  double t0 = kn_stage_clock(s), t1;
  /* hinge rows join everything, contacts or not; many contacts are one block-sparse problem */
  bool many = is_many(s), few = is_few(s), whole = s->work->formulation->maximal || many || few;
  kn_fours_copy(s->frame.v_plus, s->frame.v_free, s->model->nv);
  s->work->large.may_be_sparse = many;
  for (int i = 0; i < (whole ? 1 : s->sets.islands); i++) {
    int first = whole ? 0 : s->sets.island_first[i],
        count = whole ? s->sets.set.count : s->sets.island_first[i + 1] - first;
    int row = whole ? 0 : s->sets.set.tag[first].row;
    kn_contact_solution out;
    KN_TRY(kn_stage_enter(s, KN_STAGE_PROBLEM));
    if (!again || (s->sets.islands > 1 && !few))
      KN_TRY(kn_contact_begin(s->work, &s->sets.set, first, count));
    t1 = kn_stage_book(s, &s->report.time.problem, t0);
    KN_TRY(solve_island(s, f, &out, first, count, row));
    KN_TRY(kn_stage_enter(s, KN_STAGE_SOLVE));
    kn_report_solution(s, &out);
    kn_report_insight(s, first, count);
    t0 = kn_stage_book(s, &s->report.time.solve, t1);
  }
  s->work->large.may_be_sparse = false;
  return keep_lambda(s, f);
}

/* Loops bend the motion within the step, so the velocity-dependent forces are taken once more at the mean
   velocity that obeys them; without this their work is wrong in first order. Contacts do so too, but it shows
   only in fast spinning bodies under friction: there from the second iteration on. */
kn_status kn_stage_solve(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  if (s->sets.set.count == 0 && !s->work->formulation->maximal) {
    kn_free_velocity_of_flight(s, x, dt);
    kn_fours_copy(s->frame.v_plus, s->frame.v_free, s->model->nv);
    return KN_OK;
  }
  kn_smooth smooth = {.v = x->v,
                      .v_bias = s->frame.v_bias,
                      .tau = s->force.tau,
                      .dt = dt,
                      .hinge_bias = s->settings.hinge_bias};
  kn_state_block* bodies = s->work->formulation->maximal ? kn_bodies_of(s, x) : NULL;
  if (bodies && bodies->used && !s->settings.hinge_bias) smooth.V = bodies->data;
  s->work->diagonal = s->force.extra;
  s->work->smooth = &smooth;
  kn_warm_load(s, x);
  kn_status status = solve_islands(s, f, false);
  int again = s->settings.bias_iterations - (kn_bias_expected(s, x, dt) ? 1 : 0), most = again + 2;
  for (int k = 0; k < again && s->sets.set.rows && status == KN_OK && !kn_soft_active(s); k++) {
    if (kn_solver_work_spent(s->work->solver)) break;
    for (int i = 0; i < s->model->nv; i++) s->frame.v_mean[i] = 0.5 * (x->v[i] + s->frame.v_plus[i]);
    kn_free_velocity_at(s, x, dt);
    kn_rows_velocity(s->row.u_free, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_free);
    status = solve_islands(s, f, true);
    if (k + 1 == again && again < most && kn_bias_off(s, x, dt))
      again++; /* contacts changed their modes with it */
  }
  s->work->smooth = NULL;
  return status;
}

/* Contacts that v_free left open and that the impulses of the others close within the step: they take part as
   well, s->sets.keep says so. Whether there are any. */
static bool closed_by_others(kn_sim* s, double dt) {
  const kn_constraints* f = &s->sets.found;
  int contacts = 0, kept = 0;
  while (contacts < f->count &&
         (f->tag[contacts].kind == KN_ROW_CONTACT || f->tag[contacts].kind == KN_ROW_SPIN))
    kept += s->sets.keep[contacts++];
  if (kept == contacts || kn_soft_active(s) || s->sets.set.count == 0) return false;
  bool any = false;
  double* u = s->row.u_plus; /* free until the step is reported */
  kn_rows_velocity(u, s->data, s->model, f->geometry, contacts, s->frame.v_plus);
  for (int g = 0; g < contacts; g++) {
    bool spin = f->tag[g].kind == KN_ROW_SPIN; /* goes with its contact, whatever its own rows do */
    if (spin) s->sets.keep[g] = s->sets.keep[g - 1];
    if (spin || s->sets.keep[g] || s->touch.contact[f->tag[g].index].gap + 0.5 * dt * u[f->tag[g].row] >= 0.0)
      continue;
    s->sets.keep[g] = any = true;
  }
  return any;
}

/* Stages 5 and 6 of a step without impacts: again with the contacts and limits that the impulses of others close. */
kn_status kn_stage_solve_closing(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  enum { ROUNDS = 4 };
  KN_TRY(kn_stage_solve(s, x, f, dt));
  for (int k = 0; k < ROUNDS; k++) {
    bool pushed;
    KN_TRY(kn_stage_pushed_limits(&pushed, s, x, dt));
    if (!closed_by_others(s, dt) && !pushed) break;
    KN_TRY(kn_row_islands(s, s->sets.keep));
    memcpy(s->row.u_before, s->sets.set.u_before, (size_t)s->sets.set.rows * sizeof(double));
    kn_rows_velocity(s->row.u_free, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_free);
    KN_TRY(kn_stage_solve(s, x, f, dt));
  }
  return KN_OK;
}

/* s->row.u_plus = J v⁺: from Λ where it is at hand and small. */
void kn_stage_rows_after(kn_sim* s, const kn_flow* f) {
  enum { FEW = 36 }; /* so many: a sweep over the links costs more than the product */
  int n = f->reusable && !s->os->large.is_sparse ? s->sets.set.rows : 0;
  if (0 < n && n <= FEW)
    kn_motion_rows(s->row.u_plus, s->row.u_free, s->os->W, s->row.lambda, n);
  else
    kn_rows_velocity(s->row.u_plus, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_plus);
}
