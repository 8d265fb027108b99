/* The simulator: creation and choices, kn_step and its ways out. Which stepper takes a step, room that grows
   between two attempts, and the state as it was when a step fails. */
#include "step/time/motion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"
#include "contact/formulation/maximal.h"
#include "dynamics/tree/data.h"
#include "knuckle/sensor.h"
#include "model/model.h"
#include "model/nearest_name.h"
#include "spatial/spatial.h"
#include "step/compliant/compliant.h"
#include "step/parts.h"
#include "step/sleep/sleep.h"

static const kn_stepper* const steppers[] = {&kn_stepper_time, &kn_stepper_theta, &kn_stepper_event,
                                             &kn_stepper_compliant, &kn_stepper_hybrid};

enum { MOST_CONTACTS = 100000 };

/* Layouts that model/state_check.c knows. */
_Static_assert(sizeof(kn_pair_entry) == 152 && sizeof(kn_warm_entry) == 32 &&
                   sizeof(kn_travel_entry) == 120 && sizeof(kn_energy_entry) == 32 &&
                   sizeof(kn_anchor) == 64 && sizeof(kn_soft_entry) == 80,
               "state_check.c has the layout of these");

const char* kn_event_name(kn_event_kind kind) {
  static const char* const names[KN_EVENT_COUNT] = {"impact",  "contact", "separation", "stick",
                                                    "slip",    "limit",   "switch",     "guard",
                                                    "trouble", "repair",  "handed"};
  return (unsigned)kind < KN_EVENT_COUNT ? names[kind] : "unknown";
}

kn_sim_settings kn_sim_default(void) {
  return (kn_sim_settings){
      .formulation = "os",
      .solver = "auto",
      .law = "poisson",
      .stepper = "time",
      .dt = 1e-3,
      .theta = 0.5,
      .gtol = 1e-4,
      .v_rest = -1.0,
      .tolerance = 1e-10,
      .rtol = 1e-9,
      .projection = true,
      .anchors = true,
      .guard = true,
      .hinge_bias = true,
      .ledger = true,
      .threads = 1,
      .sleep_time = 0.25,
      .bias_iterations = 1,
      .event_limit = 50,
      .max_contacts = 0,
      .compliant = {.exponent = 1.5, .eps = 1e-5, .K = 1.0, .C = 1.0, .t0 = 1.0, .max_substeps = 250},
      .hybrid = {.hold = 3},
  };
}

static kn_status check_compliant(const kn_compliant_settings* c) {
  if (!(c->eps > 0.0) || !(c->K > 0.0) || !(c->t0 > 0.0) || !isfinite(c->K / (c->eps * c->t0 * c->t0)))
    return kn_fail(KN_BAD_ARGUMENT, "compliant: eps %g, K %g and t0 %g must be > 0 and finite", c->eps, c->K,
                   c->t0);
  if (!(c->C >= 0.0 && c->Kt >= 0.0 && c->Ct >= 0.0 && c->m0 >= 0.0) ||
      !isfinite(c->C + c->Kt + c->Ct + c->m0))
    return kn_fail(KN_BAD_ARGUMENT, "compliant: C %g, Kt %g, Ct %g and m0 %g must be >= 0 and finite", c->C,
                   c->Kt, c->Ct, c->m0);
  if ((unsigned)c->law >= KN_COMPLIANT_LAWS)
    return kn_fail(KN_BAD_ARGUMENT, "compliant: law is %d, must be a kn_compliant_law", (int)c->law);
  if (!(c->exponent >= 1.0 && c->exponent <= 10.0))
    return kn_fail(KN_BAD_ARGUMENT, "compliant: exponent is %g, must be from 1 to 10", c->exponent);
  if (c->max_substeps < 1)
    return kn_fail(KN_BAD_ARGUMENT, "compliant: max_substeps is %d, must be >= 1", c->max_substeps);
  return KN_OK;
}

static kn_status check_settings(const kn_sim_settings* s) {
  if (!(s->dt > 0.0) || !isfinite(s->dt)) return kn_fail(KN_BAD_ARGUMENT, "dt is %g, must be > 0", s->dt);
  if (s->friction != 0 && (s->friction < 4 || s->friction % 2))
    return kn_fail(KN_BAD_ARGUMENT, "friction is %d, must be 0 (cone) or an even number >= 4", s->friction);
  if (!(s->friction_tol >= 0.0) || (s->friction_tol > 0.0 && s->friction == 0))
    return kn_fail(KN_BAD_ARGUMENT, "friction_tol is %g, must be >= 0, and 0 with the cone", s->friction_tol);
  if ((unsigned)s->certificate >= KN_CERTIFY_MODES)
    return kn_fail(KN_BAD_ARGUMENT, "certificate is %d, must be a kn_certify_mode", (int)s->certificate);
  if (!(s->gtol > 0.0)) return kn_fail(KN_BAD_ARGUMENT, "gtol is %g, must be > 0", s->gtol);
  if (!(s->tolerance > 0.0)) return kn_fail(KN_BAD_ARGUMENT, "tolerance is %g, must be > 0", s->tolerance);
  if (!(s->sleep >= 0.0) || !isfinite(s->sleep) || !(s->sleep_time >= 0.0) || !isfinite(s->sleep_time))
    return kn_fail(KN_BAD_ARGUMENT, "sleep is %g and sleep_time %g, must be >= 0", s->sleep, s->sleep_time);
  if (!(s->rtol > 0.0 && s->rtol <= 1e-2))
    return kn_fail(KN_BAD_ARGUMENT, "rtol is %g, must be in (0, 0.01]", s->rtol);
  if (!(s->theta >= 0.5 && s->theta <= 1.0))
    return kn_fail(KN_BAD_ARGUMENT, "theta is %g, must be in [0.5, 1]", s->theta);
  KN_TRY(check_compliant(&s->compliant));
  if (s->hybrid.hold < 1) return kn_fail(KN_BAD_ARGUMENT, "hybrid.hold is %d, must be >= 1", s->hybrid.hold);
  if (s->max_contacts < 0 || s->max_contacts > MOST_CONTACTS)
    return kn_fail(KN_BAD_ARGUMENT, "max_contacts is %d, must be 0 (as many as are found) … %d",
                   s->max_contacts, MOST_CONTACTS);
  if (s->contact_room < 0 || s->contact_room > MOST_CONTACTS)
    return kn_fail(KN_BAD_ARGUMENT, "contact_room is %d, must be 0 (by the model) … %d", s->contact_room,
                   MOST_CONTACTS);
  return KN_OK;
}

/* ---- choices by name ---- */

static const char* name_of_formulation(const void* none, int i) {
  int count;
  (void)none;
  return kn_formulation_list(&count)[i]->name;
}

static const char* name_of_law(const void* none, int i) {
  int count;
  (void)none;
  return kn_impact_law_list(&count)[i]->name;
}

static const char* name_of_stepper(const void* none, int i) {
  (void)none;
  return steppers[i]->name;
}

/* "auto" first, then those of the true cone or of polyhedra. */
static const char* name_of_solver(const void* settings, int i) {
  int count;
  if (i == 0) return "auto";
  if (((const kn_sim_settings*)settings)->friction) return kn_lcp_solvers(&count)[i - 1]->name;
  return kn_cone_solvers()[i - 1].name;
}

static int solvers(const kn_sim_settings* settings) {
  int count = 0;
  if (settings->friction)
    kn_lcp_solvers(&count);
  else
    while (kn_cone_solvers()[count].name) count++;
  return count + 1;
}

/* The texts of the caller are replaced by those of the lists: they need not live as long as the simulator. */
static kn_status choose(kn_sim* s, const kn_formulation** formulation) {
  kn_sim_settings *p = &s->settings, usual = kn_sim_default();
  int32_t i;
  int formulations, laws;
  const kn_formulation* const* all = kn_formulation_list(&formulations);
  const kn_impact_law* const* law = kn_impact_law_list(&laws);
  if (!p->formulation) p->formulation = usual.formulation;
  if (!p->law) p->law = usual.law;
  if (!p->stepper) p->stepper = usual.stepper;
  if (!p->solver) p->solver = usual.solver;
  KN_TRY(kn_find_name(&i, "formulation", p->formulation, formulations, name_of_formulation, NULL));
  *formulation = all[i], p->formulation = all[i]->name;
  KN_TRY(kn_find_name(&i, "stepper", p->stepper, (int)(sizeof steppers / sizeof *steppers), name_of_stepper,
                      NULL));
  s->stepper = steppers[i], p->stepper = steppers[i]->name;
  KN_TRY(kn_find_name(&i, "impact law", p->law, laws, name_of_law, NULL));
  s->law = law[i], p->law = law[i]->name;
  const char* kind = p->friction ? "solver for polyhedral friction" : "solver for the friction cone";
  KN_TRY(kn_find_name(&i, kind, p->solver, solvers(p), name_of_solver, p));
  p->solver = name_of_solver(p, i);
  return KN_OK;
}

static int loop_rows_of(const kn_model* m) {
  int rows = 0;
  for (int i = 0; i < m->nloop; i++) rows += kn_loop_rows(m, i);
  return rows;
}

/* Room of the position repair (step/repair). */
static void carve_repair(kn_sim* s, kn_arena* a) {
  const kn_model* m = s->model;
  int rows = s->room.rows;
  void* memory = kn_arena_take(a, kn_rows_size(m, rows));
  if (memory) kn_rows_init(&s->repair.rows, m, rows, memory);
  s->repair.one_sided = KN_TAKE(a, bool, rows);
  s->repair.pushed = KN_TAKE(a, bool, rows);
  size_t repair = (size_t)s->room.repair;
  s->repair.least_scratch = KN_TAKE(a, double, repair* repair + 9 * (size_t)rows);
  s->repair.least_pivot = KN_TAKE(a, int, 2 * rows);
}

static void carve(kn_sim* s, kn_arena* a) {
  const kn_model* m = s->model;
  int nc = s->room.contacts, rows = s->room.rows, groups = nc + rows;
  s->touch.contact = KN_TAKE(a, kn_contact, nc);
  s->touch.after = KN_TAKE(a, kn_contact, nc);
  s->touch.struck = KN_TAKE(a, kn_contact, s->settings.split_impacts ? nc : 0);
  kn_constraints_carve(&s->sets.found, a, groups, rows);
  kn_constraints_carve(&s->sets.kept, a, groups, rows);
  s->sets.set = s->sets.kept;
  s->sets.island_first = KN_TAKE(a, int, groups + 1);
  s->sets.tree_parent = KN_TAKE(a, int, m->nlink + 1);
  s->sets.tree_island = KN_TAKE(a, int, m->nlink + 1);
  s->landing.link_island = KN_TAKE(a, int, m->nlink + 1);
  s->sets.order = KN_TAKE(a, int, groups);
  s->sets.slot = KN_TAKE(a, int, groups);
  s->limits.near = KN_TAKE(a, int, m->nlimit);
  s->sets.cursor = KN_TAKE(a, int, groups + 1);
  s->sets.lookup = KN_TAKE(a, int32_t, kn_lookup_slots(groups));
  s->repair.back = KN_TAKE(a, bool, m->nlink + 1);
  s->touch.impacting = KN_TAKE(a, bool, nc);
  s->hold.contact = KN_TAKE(a, bool, nc);
  s->hold.after = KN_TAKE(a, bool, nc);
  s->hold.first = KN_TAKE(a, int, m->nlink + 1);
  s->hold.next = KN_TAKE(a, int, nc), s->hold.link = KN_TAKE(a, int, 2 * nc);
  s->hold.limit = KN_TAKE(a, bool, m->nlimit);
  s->sets.keep = KN_TAKE(a, bool, groups);
  s->touch.slip = (double(*)[2])kn_arena_take(a, (size_t)nc * sizeof(double[2]));
  s->touch.anchor = KN_TAKE(a, kn_anchor, nc);
  s->touch.anchor_slot = KN_TAKE(a, int32_t, kn_lookup_slots(nc));
  s->landing.press = KN_TAKE(a, double, nc);
  s->book.mode = KN_TAKE(a, kn_contact_mode, nc);
  s->book.last = kn_arena_take(a, (size_t)nc * sizeof *s->book.last);
  double** row_arrays[] = {&s->row.lambda,       &s->row.u_free,      &s->row.u_plus, &s->row.u_before,
                           &s->repair.violation, &s->row.compression, &s->row.e_used, &s->row.e};
  for (size_t i = 0; i < sizeof row_arrays / sizeof *row_arrays; i++)
    *row_arrays[i] = KN_TAKE(a, double, rows);
  double** q_arrays[] = {&s->frame.q_mid,   &s->frame.q_hat,  &s->repair.q_try,
                         &s->repair.q_best, &s->repair.q_end, &s->repair.q_left,
                         &s->past.q_safe,   &s->past.q,       &s->past.q_kept};
  for (size_t i = 0; i < sizeof q_arrays / sizeof *q_arrays; i++) *q_arrays[i] = KN_TAKE(a, double, m->nq);
  double** v_arrays[] = {
      &s->past.v_kept,      &s->past.v,         &s->frame.v_prev,     &s->past.v_safe,
      &s->frame.v_free,     &s->frame.v_plus,   &s->frame.v_mean,     &s->frame.dv,
      &s->frame.v_bias,     &s->frame.a_forces, &s->frame.v_solved,   &s->force.tau,
      &s->force.tau_spring, &s->force.tau_damp, &s->force.tau_act,    &s->force.tau_applied,
      &s->force.extra,      &s->force.bias,     &s->force.implicit_k, &s->force.implicit_d,
      &s->landing.v,        &s->repair.shift,   &s->book.dry_impulse, &s->violent.still,
      &s->violent.v,        &s->violent.Mv,     &s->violent.moves,    &s->violent.bends,
      &s->violent.sum};
  for (size_t i = 0; i < sizeof v_arrays / sizeof *v_arrays; i++) *v_arrays[i] = KN_TAKE(a, double, m->nv);
  s->book.limit_impulse = KN_TAKE(a, double, m->nlimit);
  s->book.loop_impulse = KN_TAKE(a, double, loop_rows_of(m));
  s->book.loop_determinate = KN_TAKE(a, bool, loop_rows_of(m));
  s->loops.kept = KN_TAKE(a, bool, loop_rows_of(m));
  s->row.determinate = KN_TAKE(a, bool, rows);
  s->row.resting = KN_TAKE(a, bool, rows);
  s->row.impact_scratch = KN_TAKE(a, double, kn_impact_scratch(rows, m->nv));
  s->book.event = KN_TAKE(a, kn_event, s->room.events + KN_TROUBLE_COUNT);
  carve_repair(s, a);
}

/* Switches of the fast paths below (parts.h). */
static kn_status choose_paths(kn_sim* s) {
  if (!kn_fast_on(s->fast, KN_FAST_SIGHT)) kn_detector_in_space(s->detector);
  s->work->large.fast_heap = s->os->large.fast_heap = kn_fast_on(s->fast, KN_FAST_HEAP);
  kn_solver_work_modes(s->work->solver, kn_fast_on(s->fast, KN_FAST_MODES));
  return kn_solver_work_crew(s->work->solver, s->crew);
}

/* Everything whose size depends on the number of contacts. */
static kn_status make_rooms(kn_sim* s, const kn_formulation* f, int pairs) {
  const kn_model* m = s->model;
  int frictional = 0;
  for (int i = 0; i < m->nv; i++) frictional += m->friction[i] > 0.0;
  s->room.rows =
      (s->facts.rich ? KN_SET_ROWS_MOST : 3) * s->room.contacts + m->nlimit + loop_rows_of(m) + frictional;
  s->room.repair = s->room.rows < KN_DENSE_ROWS / 2 ? s->room.rows : KN_DENSE_ROWS / 2 + loop_rows_of(m);
  s->room.events = 4 * s->room.contacts + m->nlimit + 64;
  kn_arena measure = {0};
  carve(s, &measure);
  KN_TRY(kn_arena_create(&s->arena, measure.used));
  carve(s, &s->arena);
  KN_TRY(kn_detector_create(&s->detector, m, s->room.contacts, pairs));
  if (s->settings.verdict || s->settings.determinate) KN_TRY(kn_mode_work_create(&s->modes, s->room.rows));
  bool refine = s->settings.friction_tol > 0.0;
  KN_TRY(kn_contact_work_create(&s->work, m, s->data, f, s->room.rows,
                                refine ? kn_polyhedral_finest(s->settings.friction) : s->settings.friction,
                                s->room.entries));
  s->work->poly.friction_tol = s->settings.friction_tol;
  s->os = s->work;
  const kn_formulation* os = kn_formulation_find("os");
  if (f != os) {
    s->os = NULL;
    KN_TRY(kn_contact_work_create(&s->os, m, s->data, os, s->room.rows, 0, s->room.entries));
  }
  KN_TRY(choose_paths(s));
  if (s->stepper == &kn_stepper_compliant || s->stepper == &kn_stepper_hybrid)
    KN_TRY(kn_soft_create(&s->soft, s));
  KN_TRY(kn_impact_reserve(s->work, s->law));
  if (s->settings.sequential) KN_TRY(kn_impact_reserve(s->work, kn_impact_law_find("sequential")));
  return s->stepper->create ? s->stepper->create(s) : KN_OK;
}

static void drop_rooms(kn_sim* s) {
  kn_soft_destroy(s->soft);
  if (s->stepper && s->stepper->destroy) s->stepper->destroy(s);
  if (s->os != s->work) kn_contact_work_destroy(s->os);
  kn_contact_work_destroy(s->work);
  kn_mode_work_destroy(s->modes);
  kn_detector_destroy(s->detector);
  kn_arena_destroy(&s->arena);
}

/* What is kept from step to step, and the last report with its lists. */
static void carry_over(kn_sim* to, const kn_sim* from) {
  const kn_model* m = from->model;
  kn_fours_copy(to->past.q, from->past.q, m->nq);
  kn_fours_copy(to->past.v, from->past.v, m->nv);
  memcpy(to->book.last, from->book.last, (size_t)from->book.lasts * sizeof *to->book.last);
  memcpy(to->touch.contact, from->touch.contact, (size_t)from->report.contacts * sizeof *to->touch.contact);
  memcpy(to->book.event, from->book.event, (size_t)from->report.events * sizeof *to->book.event);
  memcpy(to->book.limit_impulse, from->book.limit_impulse, (size_t)m->nlimit * sizeof(double));
  memcpy(to->book.dry_impulse, from->book.dry_impulse, (size_t)m->nv * sizeof(double));
  memcpy(to->book.loop_impulse, from->book.loop_impulse, (size_t)loop_rows_of(m) * sizeof(double));
  memcpy(to->book.loop_determinate, from->book.loop_determinate, (size_t)loop_rows_of(m) * sizeof(bool));
  if (from->report.contact) to->report.contact = to->touch.contact;
  if (from->report.event) to->report.event = to->book.event;
  if (from->report.limit_impulse) to->report.limit_impulse = to->book.limit_impulse;
  if (from->report.dry_impulse) to->report.dry_impulse = to->book.dry_impulse;
  if (from->report.loop_impulse) to->report.loop_impulse = to->book.loop_impulse;
  if (from->report.loop_determinate) to->report.loop_determinate = to->book.loop_determinate;
  to->work->watcher.problem = from->work->watcher.problem,
  to->work->watcher.problem_context = from->work->watcher.problem_context;
  if (from->soft) to->soft->next_dt = from->soft->next_dt, to->soft->next_t = from->soft->next_t;
}

/* More room, after a call that had too little of it and before it is made again. The simulator stays as it
   was when there is no memory. */
static kn_status grow(kn_sim* s, int contacts, int pairs) {
  kn_sim wide = *s;
  wide.arena = (kn_arena){0};
  wide.detector = NULL, wide.modes = NULL, wide.work = wide.os = NULL, wide.soft = NULL, wide.own = NULL;
  wide.room.contacts = contacts;
  wide.blocks.stamp = 0;
  kn_status status = make_rooms(&wide, s->work->formulation, pairs);
  if (status == KN_OK) carry_over(&wide, s);
  drop_rooms(status == KN_OK ? s : &wide);
  if (status != KN_OK) return status;
  *s = wide;
  kn_clear_create(s);
  return KN_OK;
}

kn_status kn_no_contact_room(kn_sim* s, int contacts) {
  s->room.wants = contacts;
  return kn_fail(KN_NO_ROOM, "%d contacts, room for %d", contacts, s->room.contacts);
}

/* The same for blocks of Λ, where so many rows meet that a full matrix has no room either. */
static bool more_entries(kn_sim* s, kn_status* status) {
  enum { MOST_ENTRIES = 100 * 1000 * 1000 }; /* ten gigabytes */
  int64_t wants = s->work->large.wants > s->os->large.wants ? s->work->large.wants : s->os->large.wants;
  if (!wants || wants > MOST_ENTRIES || s->settings.max_contacts) return false;
  s->room.entries = (int)(wants + wants / 2 < MOST_ENTRIES ? wants + wants / 2 : MOST_ENTRIES);
  *status = grow(s, s->room.contacts, kn_detector_room(s->detector));
  return *status == KN_OK;
}

/* Whether a call that returned KN_NO_ROOM is to be made again, with the room that was missing (and more, so
   that a scene that fills slowly does not grow with every step). *status is the call's, or why not. */
static bool make_room(kn_sim* s, kn_status* status) {
  int contacts, pairs;
  if (*status != KN_NO_ROOM) return false;
  kn_detector_wants(&contacts, &pairs, s->detector);
  if (contacts < s->room.wants) contacts = s->room.wants;
  s->room.wants = 0;
  bool more = contacts > s->room.contacts;
  if (!more && !pairs) return more_entries(s, status); /* or another limit, of which the message tells */
  if (more && s->settings.max_contacts) {
    *status = kn_fail(KN_NO_ROOM, "%d contacts are within reach, max_contacts allows %d", contacts,
                      s->room.contacts);
    return false;
  }
  if (contacts > MOST_CONTACTS) {
    *status =
        kn_fail(KN_NO_ROOM, "%d contacts are within reach, there can be %d at most", contacts, MOST_CONTACTS);
    return false;
  }
  if (more) contacts = contacts > MOST_CONTACTS / 2 ? MOST_CONTACTS : contacts + contacts / 2;
  *status = grow(s, contacts, pairs ? pairs + pairs / 2 : kn_detector_room(s->detector));
  return *status == KN_OK;
}

static bool only_loops(const kn_model* m) {
  bool other = m->nlimit > 0;
  for (int i = 0; i < m->nv && !other; i++) other = m->friction[i] > 0.0;
  for (int a = 0; a < m->ngeom && !other; a++)
    for (int b = 0; b < a && !other; b++) other = kn_model_collides(m, b, a);
  return !other;
}

void kn_sim_learn(kn_sim* s) {
  const kn_model* m = s->model;
  s->facts = (kn_sim_facts){0};
  s->facts.driven = kn_forces_driven(m);
  s->facts.passive = kn_forces_passive(m, s->data->layout);
  for (int i = 0; i < m->nv; i++) s->facts.dry |= m->friction[i] > 0.0;
  int roots = 0;
  for (int i = 0; i < m->nlink; i++) roots += m->link[i].parent < 0;
  s->facts.one_tree = roots == 1;
  s->facts.gravity = kn_norm3(m->gravity);
  for (int i = 0; i < m->nlink; i++) s->facts.moving_mass += m->link[i].mass;
  s->facts.rich = kn_model_rich(m) >= 0;
  s->facts.smooth = only_loops(m);
  s->facts.bare = !s->facts.dry && m->nlimit == 0 && m->nloop == 0;
}

/* Is the sum of the integrator's small errors kept (keep_energy.c)? In what is scaled as one, loops or a tree; and trees
   that nothing touches have no use for it. */
static bool drifts(const kn_sim* s) { return s->model->nloop > 0 || (s->facts.one_tree && !s->facts.smooth); }

kn_status kn_sim_make_room(kn_sim* s, int contacts) {
  if (contacts <= s->room.contacts) return KN_OK;
  return grow(s, contacts, kn_detector_room(s->detector));
}

/* Torsion, rolling and two coefficients: cones of the steppers time and theta (docs/contact.md), the first two of some solvers only. Nobody
   drops them silently. */
static kn_status check_rich(const kn_sim* s) {
  if (!s->facts.rich) return KN_OK;
  const char *who = NULL, *knows = "the stepper time or theta",
             *what = "torsion, rolling or two coefficients";
  const kn_cone_solver* solver = s->settings.friction ? NULL : kn_cone_solver_find(s->settings.solver);
  kn_geom geom = kn_model_rich(s->model);
  if (s->stepper != &kn_stepper_time && s->stepper != &kn_stepper_theta)
    who = s->stepper->name;
  else if (s->settings.friction)
    who = "a polyhedron", knows = "the cone";
  else if (solver && !solver->tall && kn_model_spins(s->model) >= 0)
    who = solver->name, knows = "the solver auto or smooth", what = "torsion or rolling",
    geom = kn_model_spins(s->model);
  if (!who) return KN_OK;
  const char* name = kn_geom_name(s->model, geom);
  char place[80];
  if (name && *name)
    snprintf(place, sizeof place, "geom %.60s", name);
  else
    snprintf(place, sizeof place, "geom%d", geom);
  return kn_fail(
      KN_UNSUPPORTED,
      "%s has friction with %s, which %s does not know: use %s, "
      "or leave it out by condim 3 or by a study with materials: [{geom: \"*\", torsion: 0, roll: 0}]",
      place, what, who, knows);
}

/* Contacts to begin with: four for each geom, and one for each pair that may collide, as close as the shapes of a robot that was let go
   anyhow are to each other. A step that needs more is taken twice. */
static int room_by_model(const kn_model* m) {
  enum { MOST = 160 };
  int pairs = 0, four = 4 * m->ngeom + 16;
  if (four >= MOST) return MOST;
  for (int a = 0; a < m->ngeom; a++)
    for (int b = 0; b < a; b++) pairs += kn_model_collides(m, b, a);
  return four + pairs < MOST ? four + pairs : MOST;
}

static kn_status build(kn_sim* s) {
  const kn_model* m = s->model;
  const kn_formulation* f;
  KN_TRY(choose(s, &f));
  if (s->law->contact_space && kn_formulation_extra(f, m) > 0)
    return kn_fail(KN_UNSUPPORTED, "law \"%s\" needs a formulation in contact space (os, rmc), not \"%s\"",
                   s->law->name, f->name);
  s->room.contacts = s->settings.max_contacts   ? s->settings.max_contacts
                     : s->settings.contact_room ? s->settings.contact_room
                                                : room_by_model(m);
  KN_TRY(kn_fast_choose(&s->fast, s->settings.fast));
  if (s->settings.threads != 1) KN_TRY(kn_crew_create(&s->crew, s->settings.threads));
  KN_TRY(kn_data_create(&s->data, m));
  if (m->sense.count) KN_TRY(kn_sensors_create(&s->sensors, m));
  if (!kn_fast_on(s->fast, KN_FAST_PLANAR)) kn_data_in_space(s->data);
  s->data->may_be_lean = s->stepper == &kn_stepper_time;
  kn_sim_learn(s);
  KN_TRY(check_rich(s));
  KN_TRY(make_rooms(s, f, 0));
  kn_clear_create(s);
  return s->settings.sleep > 0.0 ? kn_sleep_create(&s->sleep, s) : KN_OK;
}

kn_status kn_sim_create(kn_sim** sim, const kn_model* model, const kn_sim_settings* settings) {
  KN_REQUIRE(sim != NULL);
  *sim = NULL;
  KN_REQUIRE(model != NULL);
  kn_sim_settings chosen = settings ? *settings : kn_sim_default();
  KN_TRY(check_settings(&chosen));
  kn_sim* s = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "simulator: out of memory");
  s->model = model;
  s->settings = chosen;
  s->settings.fast = chosen.fast ? strdup(chosen.fast) : NULL; /* the caller's text may go */
  bool kept = s->settings.fast || !chosen.fast;
  kn_status status = kept ? build(s) : kn_fail(KN_OUT_OF_MEMORY, "simulator: out of memory");
  if (status != KN_OK)
    kn_sim_destroy(s);
  else
    *sim = s;
  return status;
}

void kn_sim_destroy(kn_sim* s) {
  if (!s) return;
  kn_sleep_destroy(s->sleep);
  kn_crew_destroy(s->crew);
  drop_rooms(s);
  kn_data_destroy(s->data);
  kn_sensors_destroy(s->sensors);
  free((char*)(size_t)s->settings.fast);
  free(s);
}

/* Those of the last step, and in it every contact may become compliant. */
static size_t soft_bytes(const kn_sim* s) { return 2 * (size_t)s->room.contacts * sizeof(kn_soft_entry); }

kn_status kn_sim_prepare(kn_sim* s, kn_state* x) {
  KN_REQUIRE(s && x);
  KN_REQUIRE(x->model == s->model);
  kn_state_block* block;
  size_t rows = (size_t)s->room.rows;
  KN_TRY(
      kn_state_add_block(&block, x, "pairs", (size_t)kn_detector_pairs(s->detector) * sizeof(kn_pair_entry)));
  KN_TRY(kn_state_add_block(&block, x, "impulses", rows * sizeof(kn_warm_entry)));
  KN_TRY(kn_state_add_block(&block, x, "anchors", (size_t)s->room.contacts * sizeof(kn_anchor)));
  KN_TRY(kn_state_add_block(&block, x, "rate", kn_rate_bytes(s->model)));
  KN_TRY(kn_state_add_block(&block, x, "travel", kn_travel_bytes(s)));
  KN_TRY(kn_state_add_block(&block, x, "energy", sizeof(kn_energy_entry)));
  if (s->work->formulation->maximal)
    KN_TRY(kn_state_add_block(&block, x, "bodies", kn_bodies_bytes(s->model)));
  if (s->soft) KN_TRY(kn_state_add_block(&block, x, "compliant", soft_bytes(s)));
  if (drifts(s) || s->sleep) /* the part that is awake may be one tree */
    KN_TRY(kn_state_add_block(&block, x, "drift", sizeof(kn_drift)));
  if (s->stepper == &kn_stepper_event) KN_TRY(kn_state_add_block(&block, x, "events", 3 * sizeof(int64_t)));
  if (!s->controller.memory) return KN_OK;
  KN_TRY(kn_state_add_block(&block, x, "controller", s->controller.memory));
  if (block->used && block->used != s->controller.memory)
    return kn_fail(KN_BAD_ARGUMENT, "the state has %zu bytes of a controller's memory, this one has %zu",
                   block->used, s->controller.memory);
  block->used = s->controller.memory;
  return KN_OK;
}

kn_status kn_sim_set_controller(kn_sim* s, const kn_controller* controller) {
  KN_REQUIRE(s);
  s->controller = controller ? *controller : (kn_controller){0};
  s->blocks.stamp = 0;
  return KN_OK;
}

static bool finite_motion(const kn_state* x) {
  return kn_fours_nothing(x->q, x->model->nq) + kn_fours_nothing(x->v, x->model->nv) + 0.0 * x->time == 0.0;
}

static bool finite_state(const kn_state* x) {
  return finite_motion(x) && kn_fours_nothing(x->force, x->model->nv) == 0.0;
}

/* Names of state blocks have 64 bytes of room (state.c), and a comparison of known length is no call. */
#define KN_IS(block, text) (memcmp((block)->name, text, sizeof text) == 0)

/* In the order in which kn_sim_prepare adds those that every simulator needs, if nobody else was there
 * before.
 */
static bool blocks_in_order(kn_sim* s, kn_state* x) {
  kn_state_block* b = x->block;
  if (x->nblock != 6 || !KN_IS(b, "pairs") || !KN_IS(b + 1, "impulses") || !KN_IS(b + 2, "anchors") ||
      !KN_IS(b + 3, "rate") || !KN_IS(b + 4, "travel") || !KN_IS(b + 5, "energy"))
    return false;
  s->blocks.pairs = b, s->blocks.impulses = b + 1, s->blocks.anchors = b + 2, s->blocks.rate = b + 3,
  s->blocks.travel = b + 4, s->blocks.energy = b + 5;
  s->blocks.bodies = s->blocks.compliant = s->blocks.drift = NULL;
  return true;
}

static void find_blocks(kn_sim* s, kn_state* x) {
  if (blocks_in_order(s, x)) return;
  memset(&s->blocks, 0, sizeof s->blocks);
  for (int i = 0; i < x->nblock; i++) {
    kn_state_block* b = &x->block[i];
    if (KN_IS(b, "pairs")) s->blocks.pairs = b;
    if (KN_IS(b, "impulses")) s->blocks.impulses = b;
    if (KN_IS(b, "anchors")) s->blocks.anchors = b;
    if (KN_IS(b, "rate")) s->blocks.rate = b;
    if (KN_IS(b, "travel")) s->blocks.travel = b;
    if (KN_IS(b, "energy")) s->blocks.energy = b;
    if (KN_IS(b, "bodies")) s->blocks.bodies = b;
    if (KN_IS(b, "compliant")) s->blocks.compliant = b;
    if (KN_IS(b, "drift") && drifts(s)) s->blocks.drift = b;
  }
}

static bool room_in(const kn_state_block* b, size_t bytes) { return b && b->capacity >= bytes; }

/* The state may have been prepared for another simulator, or for none. */
static bool has_room(const kn_sim* s, kn_state* x) {
  size_t nc = (size_t)s->room.contacts;
  const kn_state_block* memory = s->controller.memory ? kn_state_find_block(x, "controller") : NULL;
  return room_in(s->blocks.pairs, (size_t)kn_detector_pairs(s->detector) * sizeof(kn_pair_entry)) &&
         room_in(s->blocks.impulses, (size_t)s->room.rows * sizeof(kn_warm_entry)) &&
         room_in(s->blocks.anchors, nc * sizeof(kn_anchor)) &&
         room_in(s->blocks.rate, kn_rate_bytes(s->model)) && room_in(s->blocks.travel, kn_travel_bytes(s)) &&
         room_in(s->blocks.energy, sizeof(kn_energy_entry)) &&
         (!s->work->formulation->maximal || room_in(s->blocks.bodies, kn_bodies_bytes(s->model))) &&
         (!s->soft || room_in(s->blocks.compliant, soft_bytes(s))) &&
         (!drifts(s) || room_in(s->blocks.drift, sizeof(kn_drift))) &&
         (!s->controller.memory || (room_in(memory, s->controller.memory) && memory->used));
}

/* Entries of a simulator that had more room: as many must fit here. */
static kn_status room_for_entries(kn_sim* s) {
  const kn_state_block* soft = s->blocks.compliant;
  size_t most = s->blocks.anchors->used / sizeof(kn_anchor);
  size_t rows = s->blocks.impulses->used / sizeof(kn_warm_entry);
  size_t pairs = s->blocks.pairs->used / sizeof(kn_pair_entry);
  size_t soft_entries = s->soft ? soft->used / sizeof(kn_soft_entry) : 0;
  if (rows > (size_t)s->room.rows && rows > most) most = rows;
  if (pairs > (size_t)kn_detector_pairs(s->detector) && pairs > most) most = pairs;
  if (soft_entries > most) most = soft_entries;
  return most > (size_t)s->room.contacts ? kn_no_contact_room(s, (int)most) : KN_OK;
}

/* The blocks of this state, found, large enough and not too full; once as long as nobody changes them. */
static kn_status know_blocks(kn_sim* s, kn_state* x) {
  find_blocks(s, x);
  if (!has_room(s, x)) {
    KN_TRY(kn_sim_prepare(s, x));
    find_blocks(s, x);
  }
  KN_TRY(room_for_entries(s));
  s->blocks.stamp = x->stamp;
  return KN_OK;
}

kn_status kn_stage_failed(kn_stage stage) {
  return kn_fail(KN_NOT_CONVERGED, "stage %d was made to fail", (int)stage);
}

static double sum_of(const kn_energy* e) { return e->kinetic + e->potential + e->spring; }

/* q and v may be finite where energies, accelerations and products of what is huge are not: then nothing says what the step did,
   and a state that remembers such numbers could not be loaded again. Ordinary steps cannot have them. */
static bool all_finite(const kn_sim* s, const kn_state* x) {
  static const double huge = 1e75; /* m, m/s or J: products of four such numbers stay finite */
  const double* v_free = s->frame.v_free;
  double energy = fabs(sum_of(&s->book.energy_before)) + fabs(sum_of(&s->book.energy_now));
  if (s->stepper == &kn_stepper_time && energy < huge && kn_fours_nothing(v_free, s->model->nv) == 0.0 &&
      kn_fours_largest(v_free, s->model->nv) < huge && kn_fours_largest(x->q, s->model->nq) < huge)
    return true;
#define X(name) energy += fabs(s->report.ledger.name) + fabs(s->report.total.name);
  KN_LEDGER_LIST(X)
#undef X
  if (!isfinite(energy)) return false;
  for (int i = 0; i < x->nblock; i++)
    if (kn_state_check_block(s->model, x->block[i].name, x->block[i].data, x->block[i].used) != KN_OK)
      return false;
  return true;
}

static kn_status attempt(kn_sim* s, kn_state* x, double dt) {
  int known = kn_motion_begin(s, x); /* where the last step ended, q and v were looked at */
  bool finite = known == (KN_MOTION_CONTINUES | KN_MOTION_FORCES_FINITE) && 0.0 * x->time == 0.0;
  s->past.continues = s->book.started && (known & KN_MOTION_CONTINUES);
  if (!((finite && s->book.started) || finite_state(x)))
    return kn_fail(KN_NOT_FINITE, "the state holds a NaN or infinity");
  if (s->blocks.stamp != x->stamp) KN_TRY(know_blocks(s, x));
  kn_before before;
  kn_commit_begin(&before, s, x);
  kn_budget_patience(s);
  kn_budget_begin(s);
  kn_status status = s->stepper->step(s, x, dt);
  if (status == KN_OK && !all_finite(s, x))
    status = kn_fail(KN_NOT_FINITE, "the step at t = %g s overflowed; the state is unchanged", before.time);
  if (status == KN_OK)
    x->step++;
  else
    kn_commit_take_back(s, x, &before);
  return status;
}

kn_status kn_step_awake(kn_sim* s, kn_state* x, double dt) {
  kn_status status;
  do {
    status = attempt(s, x, dt);
  } while (__builtin_expect(status == KN_NO_ROOM, 0) && make_room(s, &status));
  return status;
}

kn_status kn_step_for(kn_sim* s, kn_state* x, double dt) {
  KN_REQUIRE(s && x);
  KN_REQUIRE(x->model == s->model);
  if (!(dt > 0.0) || !isfinite(dt)) return kn_fail(KN_BAD_ARGUMENT, "dt is %g, must be > 0", dt);
  kn_status status = s->sleep ? kn_sleep_step(s, x, dt) : kn_step_awake(s, x, dt);
  if (status != KN_OK) s->report.status = status;
  return status;
}

kn_status kn_step(kn_sim* s, kn_state* x) {
  KN_REQUIRE(s);
  return kn_step_for(s, x, s->settings.dt);
}

const kn_report* kn_sim_report(const kn_sim* s) { return s ? &s->report : NULL; }
const kn_model* kn_sim_model(const kn_sim* s) { return s ? s->model : NULL; }
kn_data* kn_sim_data(kn_sim* s) {
  if (!s) return NULL;
  s->data->may_be_lean = false; /* who has it may keep it */
  kn_end_catch_up(s);
  if (s->sleep) kn_sleep_fill(s);
  kn_data_fill(s->data);
  return s->data;
}
const kn_sim_settings* kn_sim_settings_of(const kn_sim* s) { return s ? &s->settings : NULL; }

kn_status kn_find_all(kn_sim* s, double margin) {
  kn_status status;
  do {
    status = kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, margin, 0.0, NULL);
  } while (make_room(s, &status));
  return status;
}

kn_status kn_sim_contacts(const kn_contact** contact, int* count, kn_sim* s, const kn_state* x,
                          double margin) {
  KN_REQUIRE(contact && count && s && x);
  KN_REQUIRE(x->model == s->model);
  KN_REQUIRE(margin >= 0.0 && isfinite(margin));
  kn_dyn_position(s->data, s->model, x->q);
  KN_TRY(kn_find_all(s, margin));
  *contact = s->touch.after;
  *count = s->touch.afters;
  return KN_OK;
}

kn_status kn_sim_watch_problems(kn_sim* s, void (*fn)(const kn_problem*, const double*, void*),
                                void* context) {
  KN_REQUIRE(s);
  s->work->watcher.problem = fn;
  s->work->watcher.problem_context = context;
  return KN_OK;
}

/* ---- lists of choices ---- */

enum { MAX_CHOICES = 16 };

/* Filled when the library is loaded, before any thread can ask, and never written again. */
static struct {
  kn_choice formulation[MAX_CHOICES + 1], law[MAX_CHOICES + 1], stepper[MAX_CHOICES + 1];
  kn_choice compliant[KN_COMPLIANT_LAWS + 1];
} choices;

__attribute__((constructor)) static void fill_choices(void) {
  int count;
  const kn_formulation* const* f = kn_formulation_list(&count);
  for (int i = 0; i < count && i < MAX_CHOICES; i++)
    choices.formulation[i] = (kn_choice){f[i]->name, f[i]->doc, f[i]->citation};
  const kn_impact_law* const* l = kn_impact_law_list(&count);
  for (int i = 0; i < count && i < MAX_CHOICES; i++)
    choices.law[i] = (kn_choice){l[i]->name, l[i]->doc, l[i]->citation};
  for (int i = 0; i < KN_COMPLIANT_LAWS; i++)
    choices.compliant[i] =
        (kn_choice){kn_soft_named[i].name, kn_soft_named[i].doc, kn_soft_named[i].citation};
  for (size_t i = 0; i < sizeof steppers / sizeof *steppers && i < MAX_CHOICES; i++)
    choices.stepper[i] = (kn_choice){steppers[i]->name, steppers[i]->doc, steppers[i]->citation};
}

const kn_choice* kn_formulations(void) { return choices.formulation; }
const kn_choice* kn_impact_laws(void) { return choices.law; }
const kn_choice* kn_compliant_laws(void) { return choices.compliant; }
const kn_choice* kn_steppers(void) { return choices.stepper; }

kn_status kn_formulation_size(int* rows, const char* formulation, const kn_model* model, int contacts,
                              int directions) {
  KN_REQUIRE(rows && formulation && model && contacts >= 0 && directions >= 0);
  const kn_formulation* f = kn_formulation_find(formulation);
  if (!f) return kn_fail(KN_NOT_FOUND, "no formulation \"%s\"", formulation);
  bool none = f->redundant || strcmp(f->name, "rmc") == 0; /* these eliminate the loops */
  int loops = none ? 0 : loop_rows_of(model);
  *rows = kn_formulation_extra(f, model) + loops + contacts * (directions + 2);
  return KN_OK;
}
