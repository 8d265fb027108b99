/* The body poses of the non-minimal formulations within a step: found in the state, moved, kept. */

#include "contact/formulation/maximal.h"
#include "step/sim.h"

/* The block, with used > 0 if its bodies belong to this state. NULL: a minimal formulation. */
kn_state_block* kn_bodies_of(kn_sim* s, kn_state* x) {
  kn_state_block* block = s->work->formulation->maximal ? s->blocks.bodies : NULL;
  if (block && block->used && !kn_bodies_current(block->data, s->work, x->q, x->v)) block->used = 0;
  return block;
}

void kn_bodies_forget(kn_sim* s) {
  if (s->blocks.bodies) s->blocks.bodies->used = 0;
}

/* The bodies move by themselves; s->frame.q_hat and report.drift say where they end. The data returns to
   q_mid, poses and factors. */
kn_status kn_stage_bodies(kn_sim* s, kn_state* x, double dt) {
  kn_state_block* block = kn_bodies_of(s, x);
  if (!block) return KN_OK;
  kn_status status = kn_bodies_advance(s->frame.q_hat, &s->report.drift, block->data, block->used > 0,
                                       s->work, x->q, dt, s->settings.hinge_bias, s->settings.projection);
  kn_dyn_position(s->data, s->model, s->frame.q_mid);
  return status == KN_OK ? kn_dyn_factor(s->data, s->model, s->force.extra) : status;
}

/* After the step, x holding the new state: repaired positions are the bodies' own from now on. */
void kn_stage_bodies_end(kn_sim* s, kn_state* x, bool moved) {
  kn_state_block* block = s->work->formulation->maximal ? s->blocks.bodies : NULL;
  if (!block) return;
  if (moved) kn_dyn_position(s->data, s->model, x->q);
  kn_bodies_keep(block->data, s->work, x->q, x->v, moved);
  block->used = block->capacity;
}
