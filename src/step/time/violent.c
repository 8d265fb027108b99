/* Velocity-dependent forces in violent steps (stage 3).

   c(q_m, v̄) is quadratic in the velocity and taken at a v̄ that is known: dt M⁻¹c is about dt ω times the velocity. In a step
   that turns something by a radian and more the next evaluation would square that, and steps after it without end: a
   box that spins at 1400 rad/s had 1e8 rad/s one step of 50 ms later, more than any scaling of velocities can take
   back to the last digit. But c bends the motion and gives it (nearly) no energy, so in such a step it may change the velocity
   of no tree by more than the velocity itself,

     |dt M⁻¹c(q_m, v̄)|_M <= max(|v|_M, |v + dt M⁻¹τ|_M)     tree by tree,

   which c(q, s v̄) = s² c(q, v̄) gives by a factor s <= 1 on v̄ of that tree. The motion is not resolved by such steps
   either way; it stays bounded, and its energy is kept (keep_energy.c). Called by forces.c. */
#include <math.h>
#include <string.h>

#include "step/sim.h"

/* rad in a step: |dt M⁻¹c|_M / |v|_M is of this size, so that gentler steps need no look */
static const double radian = 0.5;

/* vᵀMv of every tree at the first dof of its root: the larger of this and what is there. */
static void larger_squares(double* square, double* sum, double* Mv, kn_sim* s, const double* v) {
  const kn_model* m = s->model;
  memset(sum, 0, (size_t)m->nv * sizeof(double));
  kn_dyn_multiply(Mv, s->data, m, v);
  for (int i = 0; i < m->nv; i++) sum[kn_root_dof(m, i)] += v[i] * Mv[i];
  for (int i = 0; i < m->nv; i++) square[i] = kn_max(square[i], sum[i]);
}

bool kn_violent(const double* v, int nv, double dt) {
  double most = 0.0;
  for (int i = 0; i < nv; i++) most = kn_max(most, fabs(v[i]));
  return !(dt * most <= radian);
}

/* s->frame.dv = the acceleration at v_bias, which is scaled where it has to be. */
void kn_violent_bound(kn_sim* s, const kn_state* x, double dt) {
  const kn_model* m = s->model;
  kn_sim_violent* w = &s->violent;
  size_t bytes = (size_t)m->nv * sizeof(double);
  memset(w->moves, 0, bytes), memset(w->bends, 0, bytes);
  kn_dyn_accelerate(w->still, s->data, m, w->bends, s->force.tau); /* v̄ = 0 */
  larger_squares(w->moves, w->sum, w->Mv, s, x->v);
  for (int i = 0; i < m->nv; i++) w->v[i] = x->v[i] + dt * w->still[i];
  larger_squares(w->moves, w->sum, w->Mv, s, w->v);
  for (int i = 0; i < m->nv; i++) w->v[i] = dt * (s->frame.dv[i] - w->still[i]);
  larger_squares(w->bends, w->sum, w->Mv, s, w->v);
  for (int i = 0; i < m->nv; i++) {
    int root = kn_root_dof(m, i);
    if (!(w->bends[root] <= w->moves[root]))
      s->frame.v_bias[i] *= sqrt(sqrt(w->moves[root] / w->bends[root]));
  }
  kn_dyn_accelerate(s->frame.dv, s->data, m, s->frame.v_bias, s->force.tau);
}
