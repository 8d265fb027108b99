/* Time stepping at velocity level: Moreau's midpoint scheme, one dynamics evaluation per step (J. J. Moreau
   1988).

     q_m = q ⊕ dt/2 v;   M, forces, contacts at q_m;   v_free = v + (M + extra)⁻¹ dt (f - c)
     v⁺ = v_free + M⁻¹ Jᵀ p,   0 <= v_n⁺ + 2 max(gap_m, 0)/dt ⊥ p_n >= 0,  Coulomb
     q⁺ = Proj(q ⊕ dt (v + v⁺)/2)

   A penetration is never put in the velocity bias (it would inject energy); the projection repairs it.
   Impact step: the free motion of the whole step, q_t, lands at q_L = Proj(q_t), slowed by what the landing
   raises (landing.c); compression and decompression at q_L. The bounce is late by at most dt.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dynamics/tree/data.h"
#include "step/sim.h"

/* Stages 1 and 3: poses of the midpoint and the free velocity are one sweep over the tree. */
static kn_status free_motion(kn_sim* s, kn_state* x, double dt) {
  double t0 = kn_stage_clock(s);
  s->force.implicit = (kn_implicit){.d = 0.5, .kdv = 0.25 * dt};
  KN_TRY(kn_stage_enter(s, KN_STAGE_POSES));
  KN_TRY(kn_stage_free_motion(s, x, dt));
  KN_TRY(kn_stage_enter(s, KN_STAGE_FREE));
  kn_stage_book(s, &s->report.time.factor, t0);
  return KN_OK;
}

/* Stage 2: contacts at the midpoint; none are looked for where nothing can touch. */
static kn_status find_contacts(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  double t0 = kn_stage_clock(s), t1;
  if (kn_clear_ahead(s, x, dt)) {
    s->touch.contacts = 0;
    if (!s->facts.bare) kn_fours_copy(s->data->v, x->v, m->nv);
    return KN_OK;
  }
  if (!s->soft && kn_detector_in_plane(s->detector, s->data))
    kn_dyn_plane_velocity(s->data, m, x->v);
  else
    kn_dyn_velocity(s->data, m, x->v);
  t1 = kn_stage_book(s, &s->report.time.kinematics, t0);
  double reach = s->settings.gtol + s->settings.margin;
  if (s->soft) reach += kn_soft_reach(s, x, dt);
  KN_TRY(kn_detect(s->touch.contact, &s->touch.contacts, s->detector, s->data, reach, dt, s->blocks.pairs));
  KN_TRY(kn_stage_enter(s, KN_STAGE_COLLIDE));
  if (s->soft) {
    kn_soft_measure(s, s->touch.contact, s->touch.contacts, false);
    kn_soft_match(s, x);
  }
  kn_clear_searched(s, dt);
  kn_stage_book(s, &s->report.time.collide, t1);
  return KN_OK;
}

/* Stage 4: which rows take part, with μ, e and their bias; which contacts collide (sets.any_impact). */
static kn_status find_rows(kn_sim* s, kn_state* x, double dt) {
  if (s->touch.contacts || !s->facts.bare) return kn_stage_gather(s, x, dt);
  kn_stage_gather_none(s);
  return KN_OK;
}

/* Loops and contacts that jam: the loops' demand on the mean velocity and that of travelling contacts may contradict
   the others. The demand J v⁺ = U never does for U = 0 (all rows are then homogeneous in v⁺, and v⁺ = 0 obeys them), so that the
   step has a solution of moderate impulses; it dissipates. Returns whether there was something to change. */
static bool yield(kn_sim* s, int first, int count) {
  bool any = false;
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_LOOP && !tag->held) continue;
    for (int r = tag->row; r < tag->row + tag->rows; r++) {
      double homogeneous = tag->kind == KN_ROW_LOOP ? -s->sets.set.rate[r] : 0.0;
      any |= s->sets.set.bias[r] != homogeneous;
      s->sets.set.bias[r] = homogeneous;
    }
  }
  return any;
}

static kn_status solve_island(kn_sim* s, kn_contact_solution* out, int first, int count, int row) {
  const kn_sim_settings* p = &s->settings;
  double *lambda = s->row.lambda + row, *bias = s->sets.set.bias + row;
  bool may_jam = s->model->nloop > 0 || s->hold.any;
  if (may_jam) memcpy(s->frame.v_prev, s->frame.v_plus, (size_t)s->model->nv * sizeof(double));
  s->work->known = s->row.u_free + row;
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

/* Λ and factors for repairs: those of the solve, or made beside another formulation, so that what is repaired
   does not depend on it. */
static kn_status keep_lambda(kn_sim* s) {
  bool many = is_many(s);
  s->repair.loose = many && s->settings.tolerance >= KN_LOOSE;
  s->row.reusable = !kn_soft_active(s) && (many || s->sets.islands == 1) && s->sets.set.count > 0;
  if (s->os == s->work || !s->row.reusable) return KN_OK;
  s->os->diagonal = s->work->diagonal;
  s->os->large.may_be_sparse = many;
  kn_status status = kn_contact_begin(s->os, &s->sets.set, 0, s->sets.set.count);
  s->os->large.may_be_sparse = false;
  return status;
}

/* Stages 6-7: every island once; s->row.lambda (warm on entry), s->frame.v_plus. again: only v_free has changed since the last
   time. */
static kn_status solve_islands(kn_sim* s, bool again) {
  double t0 = kn_stage_clock(s), t1;
  /* hinge rows join everything, contacts or not; many contacts are one block-sparse problem */
  bool many = is_many(s), whole = s->work->formulation->maximal || many;
  kn_fours_copy(s->frame.v_plus, s->frame.v_free, s->model->nv);
  s->work->large.may_be_sparse = many;
  for (int i = 0; i < (whole ? 1 : s->sets.islands); i++) {
    int first = whole ? 0 : s->sets.island_first[i],
        count = whole ? s->sets.set.count : s->sets.island_first[i + 1] - first;
    int row = whole ? 0 : s->sets.set.tag[first].row;
    kn_contact_solution out;
    KN_TRY(kn_stage_enter(s, KN_STAGE_PROBLEM));
    if (!again || s->sets.islands > 1) KN_TRY(kn_contact_begin(s->work, &s->sets.set, first, count));
    t1 = kn_stage_book(s, &s->report.time.problem, t0);
    KN_TRY(solve_island(s, &out, first, count, row));
    KN_TRY(kn_stage_enter(s, KN_STAGE_SOLVE));
    kn_report_solution(s, &out);
    kn_report_insight(s, first, count);
    t0 = kn_stage_book(s, &s->report.time.solve, t1);
  }
  s->work->large.may_be_sparse = false;
  return keep_lambda(s);
}

/* Loops bend the motion within the step, so the velocity-dependent forces are taken once more at the mean
   velocity that obeys them; without this their work is wrong in first order. Contacts do so too, but it shows
   only in fast spinning bodies under friction: there from the second iteration on. */
kn_status kn_stage_solve(kn_sim* s, kn_state* x, double dt) {
  if (s->sets.set.count == 0 && !s->work->formulation->maximal) {
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
  kn_status status = solve_islands(s, false);
  int again = s->settings.bias_iterations - (s->model->nloop || kn_rate_misled(s, dt) ? 0 : 1),
      most = again + 2;
  for (int k = 0; k < again && s->sets.set.rows && status == KN_OK && !kn_soft_active(s); k++) {
    for (int i = 0; i < s->model->nv; i++) s->frame.v_mean[i] = 0.5 * (x->v[i] + s->frame.v_plus[i]);
    kn_free_velocity_at(s, x, dt);
    kn_rows_velocity(s->row.u_free, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_free);
    status = solve_islands(s, true);
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
    if (f->tag[g].kind == KN_ROW_SPIN) s->sets.keep[g] = s->sets.keep[g - 1];
    if (s->sets.keep[g] || s->touch.contact[f->tag[g].index].gap + 0.5 * dt * u[f->tag[g].row] >= 0.0)
      continue;
    s->sets.keep[g] = any = true;
  }
  return any;
}

/* Stages 5-7 of a step without impacts. */
static kn_status solve_all(kn_sim* s, kn_state* x, double dt) {
  enum { ROUNDS = 4 };
  KN_TRY(kn_stage_solve(s, x, dt));
  for (int k = 0; k < ROUNDS; k++) {
    bool pushed;
    KN_TRY(kn_stage_pushed_limits(&pushed, s, x, dt));
    if (!closed_by_others(s, dt) && !pushed) break;
    KN_TRY(kn_row_islands(s, s->sets.keep));
    memcpy(s->row.u_before, s->sets.set.u_before, (size_t)s->sets.set.rows * sizeof(double));
    kn_rows_velocity(s->row.u_free, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_free);
    KN_TRY(kn_stage_solve(s, x, dt));
  }
  return KN_OK;
}

/* J v_free + Λ λ of n rows, Λ symmetric: rows of impulses that are zero are left out. */
static void rows_after(double* restrict u, const double* u_free, const double* W, const double* lambda,
                       int n) {
  for (int i = 0; i < n; i++) u[i] = u_free[i];
  for (int k = 0; k < n; k++, W += n)
    for (int i = 0; i < n && lambda[k] != 0.0; i++) u[i] += lambda[k] * W[i];
}

/* s->row.u_plus = J v⁺: from Λ where it is at hand and small. */
static void row_velocities_after(kn_sim* s) {
  enum { FEW = 12 };
  int n = s->row.reusable && !s->os->large.is_sparse ? s->sets.set.rows : 0;
  if (0 < n && n <= FEW)
    rows_after(s->row.u_plus, s->row.u_free, s->os->W, s->row.lambda, n);
  else
    kn_rows_velocity(s->row.u_plus, s->data, s->model, s->sets.set.geometry, s->sets.set.count,
                     s->frame.v_plus);
}

/* Nothing is near: no rows, no compliant contacts, no bodies of their own. */
static bool alone(const kn_sim* s) {
  return s->sets.set.count == 0 && s->touch.contacts == 0 && !s->soft && !s->work->formulation->maximal;
}

/* Stages 5-8 then, as kn_stage_verdict, kn_report_rows and kn_warm_save have them. */
static void pass_by(kn_sim* s) {
  kn_fours_copy(s->frame.v_plus, s->frame.v_free, s->model->nv);
  s->report.verdict =
      (kn_verdict){.kind = KN_VERDICT_UNIQUE, .exists = KN_ANSWER_YES, .rank = -1, .solutions = -1};
  s->report.audit = 0.0;
  s->report.contacts = s->report.islands = 0;
  s->blocks.impulses->used = s->blocks.travel->used = 0;
}

/* Stages 5-7: Λ, λ by islands, the verdict; v⁺ = v_free + M⁻¹Jᵀλ. */
static kn_status solve_and_judge(kn_sim* s, kn_state* x, double dt) {
  if (alone(s)) {
    pass_by(s);
    return KN_OK;
  }
  KN_TRY(solve_all(s, x, dt));
  row_velocities_after(s);
  double t0 = kn_stage_clock(s);
  kn_stage_verdict(s, dt);
  KN_TRY(kn_stage_enter(s, KN_STAGE_JUDGE));
  kn_stage_book(s, &s->report.time.judge, t0);
  kn_report_rows(s, dt);
  kn_warm_save(s, x);
  kn_travel_save(s, dt);
  return KN_OK;
}

/* v̄ = (v + v⁺)/2 and q̂ = q ⊕ dt v̄. */
static void advance(kn_sim* s, const kn_state* x, double dt) {
  const kn_model* m = s->model;
  if (m->nq == m->nv && !s->soft) {
    kn_fours_advance(s->frame.v_mean, s->frame.q_hat, x->q, x->v, s->frame.v_plus, dt, m->nv);
    return;
  }
  kn_fours_mean(s->frame.v_mean, x->v, s->frame.v_plus, m->nv);
  kn_soft_displace(s, dt);
  kn_stage_move(s->frame.q_hat, m, x->q, s->frame.v_mean, dt);
}

/* Stage 9: from v⁺ to q̂, and from there to positions that obey gaps, loops and anchors. */
static kn_status move(kn_sim* s, kn_state* x, double dt) {
  bool by_itself = alone(s), clear = by_itself && s->clear.now && s->facts.bare;
  double until = x->time + dt;
  advance(s, x, dt);
  kn_rate_contacts(s, dt);
  if (s->work->formulation->maximal) KN_TRY(kn_stage_bodies(s, x, dt));
  kn_ledger_flight(s, x, s->frame.v_plus, dt);
  if (!by_itself) kn_anchor_advance(s, x, dt);
  double t0 = kn_stage_clock(s);
  kn_end_arrive(s, s->frame.v_plus);
  kn_ledger_arrive(s);
  if (clear)
    kn_stage_pass(s);
  else
    KN_TRY(kn_stage_project(s, x, s->frame.q_hat, until));
  kn_stage_book(s, &s->report.time.project, t0);
  kn_end_corrected(s, s->frame.v_plus);
  kn_ledger_correct(s);
  if (by_itself)
    s->blocks.anchors->used = 0;
  else
    kn_anchor_update(s, x);
  if (s->model->nloop) {
    double before = s->book.energy_now.kinetic;
    KN_TRY(kn_stage_project_velocity(s, s->frame.q_hat, s->frame.v_plus, until));
    kn_end_energy(s);
    kn_ledger_velocity(s, before);
  }
  if (!s->touch.contacts) kn_clear_end(s, x);
  return KN_OK;
}

/* e of a contact that approaches with u < 0 at touch; 0 when it comes to rest. */
static double landing_e(const kn_sim* s, const kn_contact* c, double a_n, double u) {
  return -u > kn_rest_speed(s, a_n, s->report.dt) ? kn_restitution(s, c, -u) : 0.0;
}

/* Rows at q_L, the velocity at touch and the restitution of each contact. s->touch.after: the contacts of q_L. */
static kn_status landing_rows(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  KN_TRY(kn_stage_land(s, x, s->frame.a_forces));
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++)
    if (!kn_soft_has(s, s->touch.after[i].key))
      KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &s->touch.after[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++)
    if (kn_limit_gap(m, i, s->frame.q_hat) <= 1e-9)
      KN_TRY(kn_constraint_add_limit(&s->sets.found, m, s->frame.q_hat, i, 0.0));
  for (int i = 0; i < m->nv; i++)
    if (m->friction[i] > 0.0) KN_TRY(kn_constraint_add_friction(&s->sets.found, m, i, dt * m->friction[i]));
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, s->frame.q_hat, i, row, x->time + dt, &rows,
                                  NULL));
  KN_TRY(kn_stage_keep_rows(s, s->sets.keep, NULL, NULL));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.set.geometry, s->sets.set.count, s->landing.v);
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count,
                   s->frame.a_forces); /* a_n: acceleration by forces alone */
  memset(s->row.e, 0, (size_t)s->sets.set.rows * sizeof(double));
  memset(s->row.resting, 0, (size_t)s->sets.set.rows * sizeof(bool));
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    const kn_contact* c = &s->touch.after[tag->index];
    s->row.resting[tag->row] =
        s->row.u_before[tag->row] <= 1e-9 &&
        s->row.u_before[tag->row] >= -kn_rest_speed(s, s->row.u_free[tag->row], s->report.dt);
    s->row.e[tag->row] = landing_e(s, c, s->row.u_free[tag->row], s->row.u_before[tag->row]);
    s->touch.impacting[tag->index] = s->row.e[tag->row] > 0.0;
  }
  return KN_OK;
}

/* e of a contact that the rebound of another one closes with this speed. */
static double hit(int group, double speed, const void* context) {
  const kn_sim* s = context;
  double rest = s->stepper == &kn_stepper_event ? s->settings.v_rest : kn_rest_speed(s, 0.0, s->report.dt);
  return speed > rest ? kn_restitution(s, &s->touch.contact[s->sets.set.tag[group].index], speed) : 0.0;
}

/* Contacts that others hit have had an impact too. */
static void mark_hits(kn_sim* s, int first, int count) {
  for (int g = first; g < first + count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind == KN_ROW_CONTACT && s->row.e_used[tag->row] > 0.0 && s->row.compression[tag->row] > 0.0)
      s->touch.impacting[tag->index] = true;
  }
}

static kn_place place_of(const kn_sim* s, int first, int count) {
  for (int g = first; g < first + count; g++)
    if (s->sets.set.tag[g].kind == KN_ROW_CONTACT)
      return kn_place_of(&s->touch.contact[s->sets.set.tag[g].index]);
  return kn_nowhere;
}

/* From s->frame.v_plus to s->frame.v_plus. */
kn_status kn_stage_collide(kn_sim* s) {
  const kn_impact_law *one_by_one = kn_impact_law_find("sequential"), *law = s->law;
  if (s->settings.sequential) law = one_by_one;
  s->work->diagonal = NULL;
  for (int i = 0; i < s->sets.islands; i++) {
    int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first,
        row = s->sets.set.tag[first].row;
    KN_TRY(kn_contact_begin(s->work, &s->sets.set, first, count));
    kn_impact_problem p = {.work = s->work,
                           .set = &s->sets.set,
                           .first = first,
                           .count = count,
                           .v_before = s->frame.v_plus,
                           .u_before = s->row.u_before + row,
                           .bias = s->sets.set.bias + row,
                           .e = s->row.e + row,
                           .tolerance = s->settings.tolerance,
                           .energy_scale = kn_energy_scale(s),
                           .friction = s->settings.friction,
                           .solver = s->settings.solver,
                           .guard = s->settings.guard,
                           .hit = hit,
                           .hit_context = s,
                           .events = s->settings.event_limit,
                           .each = s->law == one_by_one ? NULL : s->law,
                           .resting = s->row.resting + row,
                           .certificate = s->settings.certificate};
    kn_impact_result r = {.v_after = s->frame.dv,
                          .impulse = s->row.lambda + row,
                          .compression = s->row.compression + row,
                          .e_used = s->row.e_used + row};
    KN_TRY(kn_impact_solve(&r, law, &p, s->row.impact_scratch));
    memcpy(s->frame.v_plus, s->frame.dv, (size_t)s->model->nv * sizeof(double));
    kn_report_impact(s, &r);
    mark_hits(s, first, count);
    if (r.limit)
      kn_trouble_add(s, s->report.t, KN_TROUBLE_IMPACT_LIMIT, place_of(s, first, count), r.events, r.limit);
  }
  return KN_OK;
}

/* The impulses that slowed the landing belong to the contacts' compression. */
static void add_press(kn_sim* s) {
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (tag->kind != KN_ROW_CONTACT) continue;
    s->row.lambda[tag->row] += s->landing.press[tag->index];
    s->row.compression[tag->row] += s->landing.press[tag->index];
  }
}

/* Stages 8 and 9 of a step with impacts: the free motion lands, then the contacts collide. */
static kn_status land_and_collide(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  s->blocks.travel->used = 0;
  kn_rate_contacts(s, dt);
  kn_bodies_forget(s); /* an impact starts the bodies anew */
  s->hold.any = false; /* the contacts are looked for anew */
  double t0 = kn_stage_clock(s);
  for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] = 0.5 * (x->v[i] + s->frame.v_free[i]);
  kn_soft_displace(s, dt);
  kn_dyn_integrate(s->frame.q_hat, m, x->q, s->frame.v_mean, dt);
  kn_ledger_flight(s, x, s->frame.v_free, dt);
  memset(s->frame.v_mean, 0, (size_t)m->nv * sizeof(double));
  kn_dyn_position(s->data, m, s->frame.q_mid);
  kn_dyn_velocity(s->data, m, s->frame.v_mean);
  kn_dyn_accelerate(s->frame.a_forces, s->data, m, s->frame.v_mean,
                    s->force.tau); /* forces alone, no centripetal terms */
  kn_dyn_position(s->data, m, s->frame.q_hat);
  KN_TRY(kn_detect(s->touch.contact, &s->touch.contacts, s->detector, s->data, s->settings.gtol, 0.0,
                   s->blocks.pairs));
  if (s->soft) kn_soft_measure(s, s->touch.contact, s->touch.contacts, true);
  kn_energy deep, landed;
  kn_dyn_energy(&deep, s->data, m, s->frame.q_hat, s->frame.v_free);
  kn_end_arrive(s, s->frame.v_free);
  kn_ledger_arrive(s);
  KN_TRY(kn_stage_project(s, x, s->frame.q_hat, x->time + dt));
  kn_dyn_energy(&landed, s->data, m, s->frame.q_hat, s->frame.v_free);
  s->landing.raised =
      landed.kinetic - deep.kinetic + landed.potential - deep.potential + landed.spring - deep.spring;
  kn_end_corrected(s, s->frame.v_free);
  kn_ledger_correct(s);
  kn_dyn_position(s->data, m, s->frame.q_hat);
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(landing_rows(s, x, dt));
  memcpy(s->touch.contact, s->touch.after, (size_t)s->touch.afters * sizeof *s->touch.after);
  s->touch.contacts = s->touch.afters;
  memcpy(s->frame.v_plus, s->landing.v, (size_t)m->nv * sizeof(double));
  KN_TRY(kn_stage_collide(s));
  KN_TRY(kn_stage_enter(s, KN_STAGE_IMPACT));
  add_press(s);
  kn_rows_velocity(s->row.u_plus, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_plus);
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_free);
  kn_report_rows(s, dt);
  kn_warm_save(s, x);
  kn_anchor_update(s, x);
  kn_end_energy(s);
  kn_ledger_impact(s);
  kn_stage_book(s, &s->report.time.impact, t0);
  return KN_OK;
}

kn_status kn_time_evaluate(kn_sim* s, kn_state* x, double dt) {
  KN_TRY(free_motion(s, x, dt));   /* 1, 3 */
  KN_TRY(find_contacts(s, x, dt)); /* 2 */
  return find_rows(s, x, dt);      /* 4 */
}

kn_status kn_time_advance(kn_sim* s, kn_state* x, double dt) {
  if (s->sets.any_impact) return land_and_collide(s, x, dt); /* 8, 9 */
  KN_TRY(solve_and_judge(s, x, dt));                         /* 5, 6, 7 */
  return move(s, x, dt);                                     /* 9 */
}

/* The table of docs/pipeline.md. A step with impacts that is split goes through it once for each part. */
kn_status kn_time_step(kn_sim* s, kn_state* x, double dt) {
  double end = x->time + dt;
  kn_report_begin(s, x, dt);
  if (s->stepper != &kn_stepper_compliant) KN_TRY(kn_travel_first(s, x));
  KN_TRY(kn_time_evaluate(s, x, dt));           /* 1-4 */
  if (s->soft) KN_TRY(kn_stage_soft(s, x, dt)); /* compliant islands go their own way through 5-9 */
  KN_TRY(kn_time_splits(s) ? kn_time_split(s, x, dt) : kn_time_advance(s, x, dt)); /* 5-9 */
  if (s->soft) KN_TRY(kn_soft_finish(s, x));
  KN_TRY(kn_stage_enter(s, KN_STAGE_MOVE));
  KN_TRY(kn_stage_keep_energy(s, x));
  KN_TRY(kn_stage_commit(s, x, s->frame.q_hat, s->frame.v_plus, end)); /* 10 */
  kn_report_end(s);
  kn_travel_mark(s, x);
  KN_TRY(kn_stage_enter(s, KN_STAGE_COMMIT));
  if (s->work->formulation->maximal && !s->sets.any_impact)
    kn_stage_bodies_end(s, x, s->report.correction > 0.0);
  return KN_OK;
}

const kn_stepper kn_stepper_time = {
    .name = "time",
    .doc = "velocity-level time stepping, Moreau midpoint, position repair, landing rule for impacts",
    .citation = "J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988",
    .step = kn_time_step,
};

const kn_stepper kn_stepper_compliant = {
    .name = "compliant",
    .doc = "every contact by the compliant law with friction (Kelvin-Voigt), in implicit sub-steps",
    .citation = "P. Song, V. Kumar, Dynamic simulation of grasps, Eqs. 6, 7, 13",
    .step = kn_time_step,
};

const kn_stepper kn_stepper_hybrid = {
    .name = "hybrid",
    .doc =
        "time stepping; islands without a unique and stable rigid answer are compliant while they have none",
    .citation = "P. Song, V. Kumar, Dynamic simulation of grasps, section 4",
    .step = kn_time_step,
};
