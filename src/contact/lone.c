/* One contact alone on a chain in a plane: two rows (normal n and the tangent t in the plane) that take part,

     u = Λ λ + J v_free + bias,   v⁺ = v_free + M⁻¹Jᵀ λ,

   in closed form by the mode (comp/single.h). The general way does the same after it has made lists of
   blocks, rows and pairs; nothing of that is needed here. The problem that the judge sees is the whole one,
   with the row out of the plane. */
#include "contact/lone.h"

#include <math.h>
#include <string.h>

#include "base/fours.h"
#include "comp/problem.h"
#include "comp/single.h"
#include "dynamics/data.h"

extern const kn_formulation kn_formulation_os;

bool kn_lone_may(const kn_contact_work* w, int friction, const char* solver) {
  return w->formulation == &kn_formulation_os && w->data->layout->chain && !friction && w->max_rows >= 3 &&
         (!solver || strcmp(solver, "auto") == 0);
}

/* r of the contact; how many modes were tried, -1: this is not for the closed form. As single_answer of
   flat.c, and zero where the contact opens by itself. */
static int modes_tried(kn_single* s, const double* guess, int t) {
  double most = kn_max(s->a, s->c);
  if (!(s->a > 1e-8 * most) || !(s->c > 1e-22 * most)) return -1;
  if (s->qn < 0.0) {
    int tried = kn_single_solve(s, kn_single_former(guess[0], guess[t], s->mu));
    return tried ? tried : -1;
  }
  s->rn = s->rt = 0.0;
  return 0;
}

/* Impulses so large that the general way would try to tame them (tame.c); at 0.99 of where it does. */
static bool excessive(const kn_single* s) {
  double response = kn_max(fabs(s->rn) * s->a, fabs(s->rt) * s->c);
  return response > 99.0 * kn_max(fabs(s->qn), fabs(s->qt));
}

bool kn_lone_solve(double lambda[3], double* v_plus, kn_solve_info* info, kn_contact_work* w,
                   const kn_constraints* set, int t, const double* v_free, const double* u_free,
                   double tolerance) {
  kn_problem p = {.rows = 3, .blocks = 1, .block = set->block, .W = w->W, .q = w->q};
  if (w->watch) return false;
  kn_rows_lone_push(w->W, &w->factored, w->data);
  w->is_sparse = false;
  w->q[0] = u_free[0] + set->bias[0], w->q[t] = u_free[t] + set->bias[t], w->q[3 - t] = 0.0;
  kn_single s = {.a = w->W[0], .b = w->W[t], .c = w->W[4 * t], .qn = w->q[0], .qt = w->q[t]};
  s.mu = set->block->mu;
  int tried = modes_tried(&s, lambda, t);
  if (tried < 0 || excessive(&s)) return false;
  lambda[0] = s.rn, lambda[t] = s.rt, lambda[3 - t] = 0.0;
  kn_judgement j = kn_problem_judge(&p, lambda);
  *info = (kn_solve_info){KN_OK, "modes", tried, j.error, j.scaled, 0.0};
  if (!(j.error <= tolerance && j.scaled <= tolerance)) return false;
  kn_rows_lone_move(v_plus, &w->factored, w->data, v_free, lambda, w->vector);
  return true;
}
