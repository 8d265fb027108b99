/* A start that is not allowed: a joint beyond its limit, shapes that overlap, an open loop. The first step of a run repairs it,
   and what that lifts is energy from nothing (trouble `start-repaired`). kn_start_repair does it before the run, so that the
   run begins where it may: one step of the stepper `time` from rest, so short that nothing falls in it (g dt² = 1e-17 m), leaves the
   position repair alone,

     min ½ |d|²_M   s.t.  gaps, limits >= 0, loops = 0 at q ⊕ d   (project.c).

   What is less than the trouble tells is left to the first step, with the bits it has always had. Called before a
   run by the command line and the Python package. Allocates. */
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

static const double instant = 1e-9; /* s */

static bool find_repair(kn_event* found, const kn_report* r) {
  for (int i = 0; i < r->events; i++)
    if (r->event[i].kind == KN_EVENT_TROUBLE && r->event[i].trouble == KN_TROUBLE_START_REPAIRED) {
      *found = r->event[i];
      return true;
    }
  return false;
}

static kn_status repair(kn_event* found, bool* moved, kn_sim* s, kn_state* x, kn_state* start) {
  const kn_model* m = x->model;
  memcpy(start->q, x->q, (size_t)m->nq * sizeof(double));
  memset(start->v, 0, (size_t)m->nv * sizeof(double));
  start->time = x->time;
  KN_TRY(kn_step_for(s, start, instant));
  *moved = find_repair(found, &s->report);
  if (!*moved) return KN_OK;
  found->t = x->time;
  memcpy(x->q, start->q, (size_t)m->nq * sizeof(double));
  return KN_OK;
}

kn_status kn_start_repair(kn_event* found, bool* moved, kn_state* x) {
  KN_REQUIRE(found && moved && x);
  kn_sim_settings settings = kn_sim_default();
  settings.verdict = false;
  kn_state* start = NULL;
  kn_sim* s = NULL;
  *found = (kn_event){.geom_a = -1, .geom_b = -1, .joint = -1, .loop = -1, .trouble = KN_TROUBLE_COUNT};
  *moved = false;
  kn_status status = kn_state_create(&start, x->model);
  if (status == KN_OK) status = kn_sim_create(&s, x->model, &settings);
  if (status == KN_OK) status = repair(found, moved, s, x, start);
  kn_sim_destroy(s);
  kn_state_destroy(start);
  return status;
}
