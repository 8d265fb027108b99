/* Time stepping at velocity level: Moreau's midpoint scheme, one dynamics evaluation per step (J. J. Moreau
   1988).

     q_m = q ⊕ dt/2 v;   M, forces, contacts at q_m;   v_free = v + (M + extra)⁻¹ dt (f - c)
     v⁺ = v_free + M⁻¹ Jᵀ p,   0 <= v_n⁺ + 2 max(gap_m, 0)/dt ⊥ p_n >= 0,  Coulomb
     q⁺ = Proj(q ⊕ dt (v + v⁺)/2)

   A penetration is never put in the velocity bias (it would inject energy); the projection repairs it. Steps in
   which contacts collide: impacts.c.

   kn_time_step, at the end, is the table of docs/pipeline.md. What a stage hands on to later ones beside its arrays
   (parts.h) is in the step's kn_flow. */
#include "base/error.h"
#include "dynamics/tree/data.h"
#include "step/time/split.h"

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

/* Stage 2: contacts at the midpoint, and a new flow; none are looked for where nothing can touch. */
static kn_status find_contacts(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  const kn_model* m = s->model;
  double t0 = kn_stage_clock(s), t1;
  *f = (kn_flow){.clear = kn_clear_ahead(s, x, dt)};
  if (f->clear) {
    s->touch.contacts = 0;
    if (!s->facts.bare) kn_fours_copy(s->data->v, x->v, m->nv);
    return KN_OK;
  }
  if (!s->soft && kn_detector_in_plane(s->detector, s->data))
    kn_dyn_plane_velocity(s->data, m, x->v);
  else
    kn_dyn_velocity(s->data, m, x->v);
  t1 = kn_stage_book(s, &s->report.time.kinematics, t0);
  double reach = s->settings.gtol + s->settings.margin + kn_clear_kick(s, dt);
  if (s->soft) reach += kn_soft_reach(s, x, dt);
  kn_budget_add(s, 0.0);
  KN_TRY(kn_detect(s->touch.contact, &s->touch.contacts, s->detector, s->data, reach, dt, s->blocks.pairs));
  s->repair.look = kn_budget_add(s, 0.0);
  KN_TRY(kn_stage_enter(s, KN_STAGE_COLLIDE));
  if (s->soft) {
    kn_soft_measure(s, s->touch.contact, s->touch.contacts, false);
    kn_soft_match(s, x);
  }
  f->clear = kn_clear_searched(s, dt);
  kn_stage_book(s, &s->report.time.collide, t1);
  return KN_OK;
}

/* Stage 4: which rows take part, with μ, e and their bias; which contacts collide, which stay closed. Compliant islands
   then go their own way through the rest of the step. */
static kn_status find_rows(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  if (s->touch.contacts || !s->facts.bare)
    KN_TRY(kn_stage_gather(s, x, f, dt));
  else
    kn_stage_gather_none(s);
  return s->soft ? kn_stage_soft(s, x, f, dt) : KN_OK;
}

/* Nothing is near: no rows, no compliant contacts, no bodies of their own. */
static bool alone(const kn_sim* s) {
  return s->sets.set.count == 0 && s->touch.contacts == 0 && !s->soft && !s->work->formulation->maximal;
}

/* Stages 5 and 6: Λ, λ by islands; v⁺ = v_free + M⁻¹Jᵀλ. */
static kn_status solve(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  if (!alone(s)) return kn_stage_solve_closing(s, x, f, dt);
  kn_free_velocity_of_flight(s, x, dt);
  kn_fours_copy(s->frame.v_plus, s->frame.v_free, s->model->nv);
  return KN_OK;
}

/* Stage 7: the verdict, and what the rows did for the report, the warm start and the next step's travel. */
static kn_status judge(kn_sim* s, kn_state* x, const kn_flow* f, double dt) {
  if (alone(s)) { /* as below without rows */
    s->report.verdict =
        (kn_verdict){.kind = KN_VERDICT_UNIQUE, .exists = KN_ANSWER_YES, .rank = -1, .solutions = -1};
    s->report.audit = 0.0;
    s->report.contacts = s->report.islands = 0;
    s->blocks.impulses->used = s->blocks.travel->used = 0;
    return KN_OK;
  }
  kn_stage_rows_after(s, f);
  double t0 = kn_stage_clock(s);
  kn_stage_verdict(s, dt);
  KN_TRY(kn_stage_enter(s, KN_STAGE_JUDGE));
  kn_stage_book(s, &s->report.time.judge, t0);
  kn_report_rows(s, f);
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
static kn_status move(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  bool by_itself = alone(s), clear = by_itself && f->clear && s->facts.bare;
  double until = x->time + dt;
  advance(s, x, dt);
  kn_rate_contacts(s, f, dt);
  if (s->work->formulation->maximal) KN_TRY(kn_stage_bodies(s, x, dt));
  kn_ledger_flight(s, x, s->frame.v_plus, dt);
  if (!by_itself) kn_anchor_advance(s, x, dt);
  double t0 = kn_stage_clock(s);
  kn_end_arrive(s, s->frame.v_plus);
  kn_ledger_arrive(s);
  if (clear)
    kn_stage_pass(s);
  else
    KN_TRY(kn_stage_project(s, x, f, s->frame.q_hat, until));
  kn_stage_book(s, &s->report.time.project, t0);
  kn_end_corrected(s, f, s->frame.v_plus);
  kn_ledger_correct(s);
  if (by_itself)
    s->blocks.anchors->used = 0;
  else
    kn_anchor_update(s, f->loose);
  if (s->model->nloop) {
    double before = s->book.energy_now.kinetic;
    KN_TRY(kn_stage_project_velocity(s, f, s->frame.q_hat, s->frame.v_plus, until));
    kn_end_energy(s);
    kn_ledger_velocity(s, f, before);
  }
  if (!s->touch.contacts) kn_clear_end(s, x);
  return KN_OK;
}

/* The end of stage 9, and stage 10: energy from nothing is taken back, then the state becomes that of the step's end. */
static kn_status commit(kn_sim* s, kn_state* x, kn_flow* f, double end) {
  if (s->soft) KN_TRY(kn_soft_finish(s, x));
  KN_TRY(kn_stage_enter(s, KN_STAGE_MOVE));
  KN_TRY(kn_stage_keep_energy(s, x, f));
  KN_TRY(kn_stage_commit(s, x, f, end));
  kn_report_end(s, f->impact);
  kn_travel_end(s);
  KN_TRY(kn_stage_enter(s, KN_STAGE_COMMIT));
  if (s->work->formulation->maximal && !f->impact) kn_stage_bodies_end(s, x, s->report.correction > 0.0);
  return KN_OK;
}

/* The table of docs/pipeline.md. A step in which something lands may be split at the touch (split.c): each part goes through
   stages 1 to 9. */
kn_status kn_time_step(kn_sim* s, kn_state* x, double dt) {
  kn_flow f = {0};
  kn_parts parts;
  kn_parts_begin(&parts, x, dt);
  kn_report_begin(s, x, dt);
  if (x->step == 0 && s->stepper != &kn_stepper_compliant) KN_TRY(kn_travel_first(s, x));
  while (!parts.done) {
    double h = parts.h;
    KN_TRY(free_motion(s, x, h));                     /*  1 poses and 3 articulated bodies, one sweep */
    KN_TRY(find_contacts(s, x, &f, h));               /*  2 contacts */
    KN_TRY(find_rows(s, x, &f, h));                   /*  4 laws: μ, e, bias of the rows that take part */
    if (kn_parts_shorter(&parts, s, &f)) continue;    /*    … up to the first touch only */
    if (f.impact) {                                   /* something collides: */
      KN_TRY(kn_stage_land_and_collide(s, x, &f, h)); /*  8 impacts, where 9 the motion lands */
    } else {
      KN_TRY(solve(s, x, &f, h)); /*  5 Λ and the problem, 6 λ */
      KN_TRY(judge(s, x, &f, h)); /*  7 verdict */
      KN_TRY(move(s, x, &f, h));  /*  9 v⁺, q⁺ and the position repair */
    }
    KN_TRY(kn_parts_end(&parts, s, x));
  }
  return commit(s, x, &f, parts.end); /* 10 commit; 11: observers, after the step */
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
