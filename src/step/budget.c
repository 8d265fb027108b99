/* The work of a step, by count: the same on every machine. The searches for contacts, the contact solver, the position repair and
   the event stepper share one account, in multiplications of which 18 take a nanosecond; it begins with every attempt of a
   step. What is optional ends when the account says so, with the best that was found, and the report says what is left: no step
   is to cost more than 100 ordinary ones (test/physics/soak_passive.c), however badly it begins. */
#include "comp/cone/flat.h"
#include "step/sim.h"

/* 2 ms; the solver alone has 1.3 (comp/cone/driver.c). */
static const double most = 36e6;

/* Newton steps that the solves of a step may cost, where that is more than every step may cost (comp/cone/driver.c). Nearly all
   end within ten; where there is no answer all methods together would take 30 000. Beyond it the best answer so far is taken,
   and trouble `residual` says so. Robots that lie on their backs need them all, step after step. Where nothing was pressed in
   the step before, which is so in the first of a run, nothing tells that steps are dear in this scene. */
static const double patience = 600.0, at_first = 100.0;

void kn_budget_patience(kn_sim* s) {
  kn_solver_work_patience(s->work->solver, s->blocks.impulses->used ? patience : at_first);
}

void kn_budget_begin(kn_sim* s) {
  kn_solver_work_begin(s->work->solver);
  kn_detector_work(s->detector);
}

double kn_budget_add(kn_sim* s, double work) {
  work += kn_detector_work(s->detector);
  *kn_solver_work_used(s->work->solver) += work;
  return work;
}

bool kn_budget_spent(kn_sim* s) {
  kn_budget_add(s, 0.0);
  return *kn_solver_work_used(s->work->solver) > most;
}
