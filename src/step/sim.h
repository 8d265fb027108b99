/* The simulator's inside: choices, scratch, and the step under way. Steppers read and write it stage by
 * stage. */
#pragma once

#include "base/crew.h"
#include "base/extreme.h"
#include "base/fours.h"
#include "base/timer.h"
#include "contact/detect/detect.h"
#include "contact/formulation/formulation.h"
#include "contact/impact/impact.h"
#include "knuckle/step.h"
#include "model/state.h"
#include "spatial/spatial.h"
#include "step/parts.h"
#include "step/stage.h"
#include "step/time/lookup.h"

typedef struct kn_stepper {
  const char *name, *doc, *citation;
  kn_status (*step)(kn_sim* sim, kn_state* state, double dt);
  kn_status (*create)(kn_sim* sim); /* own scratch in sim->own, or NULL */
  void (*destroy)(kn_sim* sim);
} kn_stepper;

/* Choices and workers at the top, then one part for each owner (parts.h). */
struct kn_sim {
  const kn_model* model;
  kn_sim_settings settings;
  const kn_stepper* stepper;
  const kn_impact_law* law;
  kn_controller controller;
  unsigned fast; /* fast paths that may be taken (parts.h) */
  int fail_at;   /* of tests: the stage that fails, 0: none */

  kn_arena arena;
  kn_data* data;
  kn_detector* detector;
  kn_contact_work* work;
  kn_contact_work*
      os; /* Λ and factors of the step's rows for repairs: work itself, or beside another formulation */
  struct kn_mode_work* modes; /* NULL without settings.verdict */
  struct kn_soft_work* soft;  /* NULL unless the stepper is compliant or hybrid */
  void* own;                  /* of the stepper */
  struct kn_sensors* sensors; /* sense/; NULL without sensors */
  kn_crew* crew;              /* threads of one step; NULL: the caller's alone */
  struct kn_sleep* sleep;     /* NULL without settings.sleep */

  kn_sim_room room;
  kn_sim_facts facts;
  kn_sim_blocks blocks;
  kn_sim_past past;
  kn_sim_touch touch;
  kn_sim_hold hold;
  kn_sim_force force;
  kn_sim_frame frame;
  kn_sim_violent violent;
  kn_sim_landing landing;
  kn_sim_sets sets;
  kn_sim_limits limits;
  kn_sim_row row;
  kn_sim_loops loops;
  kn_sim_repair repair;
  kn_sim_clear clear;
  kn_sim_book book;
  kn_report report;
};

/* budget.c: the account of the step under way begins; adds work to it and what the searches for contacts have cost since,
   returns the sum of both; is it spent? */
void kn_budget_patience(kn_sim* s); /* by what the state knows of the step before */
void kn_budget_begin(kn_sim* s);
double kn_budget_add(kn_sim* s, double work);
bool kn_budget_spent(kn_sim* s);

/* Do looks cost so much (a pair of curved shapes overlaps) that those between trust the places where pairs overlapped before? */
static inline bool kn_looks_are_dear(const kn_sim* s) { return s->repair.look > 1e5; }

/* Seconds on the wall clock when stages are timed, otherwise 0. */
static inline double kn_stage_clock(const kn_sim* s) {
  return s->settings.stage_times ? kn_wall_seconds() : 0.0;
}

/* Adds what has passed since to a stage; returns the time. */
static inline double kn_stage_book(const kn_sim* s, double* stage, double since) {
  if (__builtin_expect(!s->settings.stage_times, 1)) return 0.0;
  double now = kn_wall_seconds();
  *stage += now - since;
  return now;
}

/* At the head of a stage that can fail; it does if a test says so. */
kn_status kn_stage_failed(kn_stage stage) __attribute__((cold));
static inline kn_status kn_stage_enter(const kn_sim* s, kn_stage stage) {
  return __builtin_expect(s->fail_at == (int)stage, 0) ? kn_stage_failed(stage) : KN_OK;
}

/* q ⊕ dt v of arrays with room (fours.h). */
static inline void kn_stage_move(double* to, const kn_model* m, const double* q, const double* v, double dt) {
  if (m->nq == m->nv) /* one coordinate per dof: in the same order */
    kn_fours_add(to, q, dt, v, m->nv);
  else
    kn_dyn_integrate(to, m, q, v, dt);
}

/* KN_NO_ROOM: the step is to be made again with room for so many contacts. */
kn_status kn_no_contact_room(kn_sim* s, int contacts) __attribute__((cold));
/* Contacts at the poses in data within margin in s->touch.after, outside a step: room grows as it must. */
kn_status kn_find_all(kn_sim* s, double margin);

/* More room outside a step. */
kn_status kn_sim_make_room(kn_sim* s, int contacts);
/* kn_step_for with every body awake. */
kn_status kn_step_awake(kn_sim* s, kn_state* x, double dt);

/* ---- stages (docs/pipeline.md) ---- */
bool kn_forces_driven(const kn_model* m);
bool kn_forces_passive(const kn_model* m, const kn_layout* y);
/* Asks the controller, which adds to tau. */
kn_status kn_stage_control(double* tau, kn_sim* s, kn_state* x, double t, const double* q, const double* v);
kn_status kn_stage_forces(kn_sim* s, kn_state* x, double t, const double* q, const double* v, double dt);
kn_status kn_stage_free_motion(kn_sim* s, kn_state* x, double dt);
void kn_free_velocity_at(kn_sim* s, const kn_state* x, double dt);
void kn_free_velocity_of_flight(kn_sim* s, const kn_state* x, double dt);
bool kn_violent(const double* v, int nv, double dt);
void kn_violent_bound(kn_sim* s, const kn_state* x, double dt);
void kn_rate_contacts(kn_sim* s, const kn_flow* f, double dt);
bool kn_bias_expected(const kn_sim* s, const kn_state* x, double dt);
bool kn_bias_off(const kn_sim* s, const kn_state* x, double dt);
kn_status kn_stage_gather(kn_sim* s, kn_state* x, kn_flow* f, double dt); /* flow: impact, held */
/* How far a coordinate is beyond its bounds, at most; negative: how far all are from theirs. */
double kn_limits_beyond(const kn_sim* s, const double* q);
/* How far others may push a joint beyond a limit that was out of reach, for the position repair to take back; as
   `verify` has it. */
#define KN_LIMIT_PUSHED 5e-3 /* rad or m */
bool kn_limits_overrun(const kn_sim* s, double dt);
kn_status kn_stage_pushed_limits(bool* any, kn_sim* s, const kn_state* x, double dt);
/* hold.c: rows that carried load stay closed */
void kn_hold_begin(kn_sim* s);
bool kn_hold_row(kn_sim* s, int at, const kn_row_tag* tag, double gap);
bool kn_hold_in_company(kn_sim* s, const kn_row_tag* tag, kn_lookup* last);
#define KN_HEAP_OPEN 1e-7 /* m: gaps and overlaps that the repair of a heap leaves */
bool kn_hold_closed(double gap, bool heap);
/* travel.c: how the rows of loaded contacts change within the step */
size_t kn_travel_bytes(const kn_sim* s);
kn_travel kn_travel_begin(const kn_sim* s, double dt);
/* bias of the rows of a held group whose impulse was number `at` of the last step; u: J_m v. */
void kn_travel_bias(kn_sim* s, kn_constraints* set, int group, const kn_travel* t, int at, const double* u,
                    const double* force, const double* v);
kn_status kn_travel_first(kn_sim* s, kn_state* x);
void kn_travel_save(kn_sim* s, double dt);
void kn_travel_drifted(kn_sim* s); /* contacts were found where the step ends but for the repair */
void kn_travel_end(kn_sim* s);     /* once it is known how velocities were scaled */
/* held: some row is (flow). */
void kn_hold_after(kn_sim* s, bool held);
bool kn_hold_limit(const kn_sim* s, bool held, int limit);
static inline void kn_stage_gather_none(kn_sim* s) { /* the same without contacts, if they are all (bare) */
  kn_constraints_clear(&s->sets.found);
  kn_constraints_clear(&s->sets.set);
  s->sets.unsorted = false;
  s->sets.islands = s->report.limits = s->report.loops = 0;
}
/* e > 0 or a landing to be split, and the contact closes faster than what comes to rest. */
kn_status kn_stage_solve(kn_sim* s, kn_state* x, kn_flow* f, double dt); /* flow: reusable, loose */
/* The same, and again with the contacts and limits that the impulses of others close within the step. */
kn_status kn_stage_solve_closing(kn_sim* s, kn_state* x, kn_flow* f, double dt);
void kn_stage_rows_after(kn_sim* s, const kn_flow* f);                    /* s->row.u_plus = J v⁺ */
kn_status kn_stage_find(kn_sim* s, const double* q, double t, double dt); /* all rows that may take part */
/* Repairs q in place; data ends with the poses of the repaired q and s->touch.after its contacts. */
kn_status kn_stage_project(kn_sim* s, kn_state* x, kn_flow* f, double* q, double t);
void kn_stage_pass(
    kn_sim* s); /* the same at q_hat when nothing can touch and there is nothing else to hold */
/* retreat.c: trees that still overlap end short of their way. look: poses, contacts and worst violation at q.
 */
kn_status kn_stage_retreat(kn_sim* s, kn_flow* f, double* q, double t, double* worst);
kn_status kn_stage_look(kn_sim* s, kn_flow* f, const double* q, double t, bool rough, double* worst);
/* loops.c: loop rows that follow from the other loop rows are left out of s->sets.found (keep[g] = false). */
kn_status kn_stage_keep_loops(kn_sim* s, bool* keep);
/* As this step has decided (s->loops.kept). */
void kn_stage_loops_again(kn_sim* s, bool* keep);
/* As the last step had it while it serves; all of them when the formulation decides itself. u: J v of s->sets.found, v;
   NULL: decide anew. */
kn_status kn_stage_keep_rows(kn_sim* s, bool* keep, const double* u, const double* v);
/* d of least M-norm for the rows in s->sets.set at the present poses (bias: violation); multipliers in
   s->row.u_plus. push: v += M⁻¹ Jᵀ p. */
kn_status kn_stage_correction(kn_sim* s, double* d);
kn_status kn_stage_push(kn_sim* s, double* v, const double* p);
/* landing.c: s->landing.v, the velocity at touch. a: acceleration by forces alone. */
kn_status kn_stage_land(kn_sim* s, kn_state* x, const double* a);
/* Impacts of the rows in s->sets.set, island by island: s->frame.v_plus, u_before, e -> v_plus, lambda,
   compression, e_used. */
kn_status kn_stage_collide(kn_sim* s);
/* Stages 8 and 9 of a step in which contacts collide. */
kn_status kn_stage_land_and_collide(kn_sim* s, kn_state* x, kn_flow* f, double dt);
/* flow: reusable tells whether Λ of the step served. */
kn_status kn_stage_project_velocity(kn_sim* s, kn_flow* f, const double* q, double* v, double t);
/* The contact's e at this approach speed (m/s). */
double kn_restitution(const kn_sim* s, const kn_contact* c, double speed);
/* Speed below which a contact with normal acceleration a_n comes to rest. */
double kn_rest_speed(const kn_sim* s, double a_n, double dt);

/* report.c */
void kn_report_begin(kn_sim* s, const kn_state* x, double dt);
void kn_report_solution(kn_sim* s, const kn_contact_solution* solution);
void kn_report_insight(kn_sim* s, int first, int count);
void kn_report_rows(kn_sim* s, const kn_flow* f); /* contacts, limits, loops, audit from the rows' solution */
void kn_report_impact(kn_sim* s, const kn_impact_result* result);
void kn_report_rolling(kn_sim* s); /* rolling.c */
void kn_report_end(kn_sim* s, bool collided);
/* Whether the energies of the step's end (and t) are numbers: speeds above 1e154 are as bad as NaN. */
static inline bool kn_energy_finite(const kn_sim* s, double t) {
  const kn_energy* e = &s->book.energy_now;
  return 0.0 * (e->kinetic + e->potential + e->spring + t) == 0.0;
}
double kn_energy_scale(const kn_sim* s); /* E_ref */
void kn_event_add(kn_sim* s, double t, kn_event_kind kind, kn_geom a, kn_geom b, kn_joint joint, double value)
    __attribute__((cold));
/* trouble.c: a step says each kind once, with its worst value. A place is where: all -1 and 0 for none. */
typedef struct kn_place {
  kn_geom geom_a, geom_b;
  kn_joint joint;
  kn_loop loop;
  uint64_t key;
} kn_place;
static const kn_place kn_nowhere = {-1, -1, -1, -1, 0};
kn_event* kn_trouble_add(kn_sim* s, double t, kn_trouble_kind kind, kn_place at, double value, double limit)
    __attribute__((cold));
kn_place kn_place_of(const kn_contact* c);
kn_place kn_place_of_dof(const kn_sim* s, const double* size); /* joint of the largest |size| (nv) */
/* The deepest overlap of s->touch.after, or the worst limit or loop at q (s->repair.violation). */
kn_place kn_place_of_overlap(const kn_sim* s, const double* q);
void kn_trouble_loops(kn_sim* s, double t); /* rows that follow from others and are off */
kn_place kn_place_of_loop(const kn_sim* s); /* of the largest impulse of the step */
void kn_trouble_unrepaired(kn_sim* s, double t, const double* q, double worst);
void kn_trouble_residual(kn_sim* s, const kn_solve_info* info); /* of a solver that stopped early */
bool kn_residual_counts(const kn_sim* s, double value);         /* is it wrong by a speed that can be seen? */
void kn_trouble_locate(kn_sim* s,
                       bool impact); /* the residual's place, once the rows' velocities are known */
void kn_event_impact(kn_sim* s, double t, const kn_contact* c, double before, double after);

/* bodies.c: poses of the non-minimal formulations */
kn_state_block* kn_bodies_of(kn_sim* s, kn_state* x);
void kn_bodies_forget(kn_sim* s);
kn_status kn_stage_bodies(kn_sim* s, kn_state* x, double dt);
void kn_stage_bodies_end(kn_sim* s, kn_state* x, bool moved);

/* diagnose.c: verdict and determinate forces of the step; undecided unless settings.verdict made room for it
 */
struct kn_mode_work;
kn_status kn_mode_work_create(struct kn_mode_work** work, int max_rows);
void kn_mode_work_destroy(struct kn_mode_work* work);
void kn_stage_verdict(kn_sim* s, double dt);

/* row_rate.c: J̇ q̇ of the three rows of each contact in s->touch.after along the motion of x (NaN: not
   known); for diagnosis, allocates. */
kn_status kn_contact_row_rates(double* rate, kn_sim* s, const kn_state* x);

/* islands.c: distributes s->sets.found rows that are kept into s->sets.set. keep: per group of found. */
kn_status kn_row_islands(kn_sim* s, const bool* keep);
void kn_islands_of_links(kn_sim* s, int* island);
int kn_row_island(const kn_sim* s, const kn_row_tag* tag); /* of a group that is kept */

/* sim.c: what the model is, found once */
void kn_sim_learn(kn_sim* s);
/* clear.c: steps in which nothing can touch */
void kn_clear_create(kn_sim* s);
bool kn_clear_ahead(kn_sim* s, const kn_state* x, double dt);
bool kn_clear_searched(kn_sim* s, double dt);
double kn_clear_kick(const kn_sim* s, double dt);
void kn_clear_end(kn_sim* s, const kn_state* x);

/* warm_start.c */
enum { KN_WARM_KIND = 61 }; /* keys have the kind of their row from this bit on */
static inline uint64_t kn_warm_key(const kn_contact* c) { return c->key >> 3; } /* top bits for other kinds */
void kn_warm_load(kn_sim* s, kn_state* x);
uint64_t kn_warm_row_key(const kn_sim* s, const kn_row_tag* tag);
void kn_warm_save(kn_sim* s, kn_state* x);

/* anchor.c */
kn_anchor* kn_anchor_find(kn_state* x, uint64_t key);
typedef struct kn_anchors {
  kn_anchor* list;
  kn_lookup lookup; /* contacts keep their order */
} kn_anchors;
static inline kn_anchors kn_anchors_of(const kn_sim* s) {
  const kn_state_block* block = s->blocks.anchors;
  return (kn_anchors){block->data, kn_lookup_in(s->touch.anchor_slot, block->data, sizeof(kn_anchor),
                                                (int)(block->used / sizeof(kn_anchor)))};
}
/* By key, or NULL. */
static inline kn_anchor* kn_anchor_next(kn_anchors* a, uint64_t key) {
  int i = kn_lookup_find(&a->lookup, key);
  return i < 0 ? NULL : a->list + i;
}
/* A motion of the contact by slip (along its tangents) adds to a rolling anchor. */
static inline void kn_anchor_roll(kn_anchor* a, const kn_contact* c, const double slip[2]) {
  if (!a || !a->rolling) return;
  for (int k = 0; k < 3; k++) a->a[k] += slip[0] * c->frame[3 + k] + slip[1] * c->frame[6 + k];
}
/* Tangential residual of a sticking contact at the present poses. */
void kn_anchor_offset(double r[3], const kn_sim* s, const kn_anchor* anchor, const kn_contact* c);
static inline void kn_anchor_residual(double r[2], const kn_sim* s, const kn_anchor* anchor,
                                      const kn_contact* c) {
  double slip[3] = {anchor->a[0], anchor->a[1], anchor->a[2]};
  if (!anchor->rolling) kn_anchor_offset(slip, s, anchor, c);
  r[0] = kn_dot3(slip, c->frame + 3);
  r[1] = kn_dot3(slip, c->frame + 6);
}
/* Whether a round surface takes part, so that the contact point may wander while it sticks. */
bool kn_anchor_rolls(const kn_model* m, const kn_contact* c);
void kn_anchor_advance(kn_sim* s, kn_state* x, double dt);
void kn_anchor_repaired(kn_sim* s, kn_state* x, const double* Jd);
bool kn_anchor_release(kn_sim* s);
void kn_anchor_update(kn_sim* s, bool loose);

/* compliant.c: compliant islands; all harmless without s->soft */
double kn_soft_reach(kn_sim* s, kn_state* x, double dt); /* needs s->soft, like match, stage and finish */
void kn_soft_match(kn_sim* s, kn_state* x);
/* Contacts that returned to rigid: their gaps are measured from where they returned, as it is when the step starts, or
   ends. */
void kn_soft_measure(const kn_sim* s, kn_contact* contact, int count, bool end);
kn_status kn_stage_soft(kn_sim* s, kn_state* x, kn_flow* f, double dt);
void kn_soft_keep(kn_sim* s); /* what a step that fails must not change */
void kn_soft_take_back(kn_sim* s);
kn_status kn_soft_finish(kn_sim* s, kn_state* x);
bool kn_soft_works(const kn_sim* s); /* with s->soft */
bool kn_soft_holds(const kn_sim* s, uint64_t key);
static inline bool kn_soft_active(const kn_sim* s) { /* some island is compliant in this step */
  return s->soft && kn_soft_works(s);
}
static inline bool kn_soft_has(const kn_sim* s, uint64_t key) { /* is this contact compliant? */
  return s->soft && kn_soft_holds(s, key);
}
double kn_soft_range(const kn_sim* s);                /* detection distance beyond gtol that they need, m */
double kn_soft_offset(const kn_sim* s, int contact);  /* gap at which a contact's layer touches, m */
const double* kn_soft_shift(const kn_sim* s);         /* nv, or NULL when no island is compliant */
void kn_soft_add_force(double* tau, const kn_sim* s); /* tau += their Jᵀp */
void kn_soft_displace(kn_sim* s,
                      double dt); /* adds to s->frame.v_mean what the compliant islands moved beyond it */

/* end.c: poses in data and energies where the step ends */
void kn_end_arrive(kn_sim* s, const double* v); /* q̂, before its repair; the poses of q_m are kept aside */
void kn_end_corrected(kn_sim* s, kn_flow* f, const double* v);
void kn_end_energy(kn_sim* s); /* of v_plus, where the poses are */
void kn_end_catch_up(kn_sim* s);
static inline void kn_energy_copy(kn_energy* to, const kn_energy* from) {
  to->kinetic = kn_apart(from->kinetic), to->potential = kn_apart(from->potential);
  to->spring = kn_apart(from->spring);
}

/* keep_energy.c: energy from nothing is taken from s->frame.v_plus; x: the state before the step. give_back: gains
   only, for schemes that damp on purpose. */
kn_status kn_stage_keep_energy(kn_sim* s, const kn_state* x, kn_flow* f);
kn_status kn_stage_give_back(kn_sim* s, const kn_state* x, kn_flow* f);
/* retreat.c: at rest at the end of the step, as far on the way as most_energy (potential and springs) reaches and
   nothing overlaps; *e: the energy there. A step that began with an overlap is left as it is, at rest. */
kn_status kn_stage_stop(kn_sim* s, kn_flow* f, double t, double most_energy, kn_energy* e);

/* commit.c: the one place where a step changes the state. begin: what it may change is kept; commit: q, v and
   time are those of the step's end, unless they are not finite; take_back: as it was at begin. */
typedef struct kn_before { /* what runs on from step to step beside the state, as it was before the step */
  double time, kinetic_max, potential_min, potential_max;
  kn_energy energy;
  bool continues, started;
} kn_before;
void kn_commit_begin(kn_before* before, kn_sim* s, kn_state* x);
kn_status kn_stage_commit(kn_sim* s, kn_state* x, const kn_flow* f, double t);
/* The block "energy": weigh, e is that of the state from now on; weighed, *e if some is. Within a step there is one. */
void kn_commit_weigh(kn_sim* s, const kn_state* x, const kn_energy* e);
bool kn_commit_weighed(kn_energy* e, const kn_sim* s, const kn_state* x);
void kn_commit_take_back(kn_sim* s, kn_state* x, const kn_before* before);

/* ledger.c: only observes */
bool kn_ledger_continues(const kn_sim* s, const kn_state* x); /* the state is where the last step ended */
void kn_ledger_begin(kn_sim* s, const kn_state* x);
/* From (q_k, v_k) to (q̂, v_end) with the forces and rows of the step at q_m. */
void kn_ledger_flight(kn_sim* s, const kn_state* x, const double* v_end, double dt);
void kn_ledger_arrive(kn_sim* s);  /* the energy at q̂ is known */
void kn_ledger_correct(kn_sim* s); /* from q̂ to the repaired position, with the velocity held */
/* After the loops' velocity repair; before: kinetic energy without it. */
void kn_ledger_velocity(kn_sim* s, const kn_flow* f, double before);
void kn_ledger_impact(kn_sim* s); /* v_free to v⁺ at the repaired position */
double kn_rise_scale(const kn_sim* s);
void kn_ledger_end(kn_sim* s);
void kn_ledger_rise(kn_sim* s); /* once all columns are booked: report.rise */

kn_status kn_time_step(kn_sim* s, kn_state* x, double dt);
extern const kn_stepper kn_stepper_time, kn_stepper_theta, kn_stepper_event, kn_stepper_compliant,
    kn_stepper_hybrid;
