/* What a step changes in the state: q, v, time and the blocks (warm start, anchors, pairs, rate, bodies, compliant
   contacts). They are kept here before the first stage, become those of the step's end here (stage 10), or
   are taken back here, bit for bit, whatever stage failed (test/step/stages.c). Stages write the blocks on
   the way; nobody but this file writes q, v and time, save parts of a step (split.c, event.c), which are
   taken back like all the rest. Called by sim.c and the steppers. */
#include "base/error.h"
#include "step/time/motion.h"

void kn_commit_begin(kn_before* before, kn_sim* s, kn_state* x) {
  const kn_sim_book* b = &s->book;
  *before = (kn_before){x->time,       b->kinetic_max,    b->potential_min, b->potential_max,
                        b->energy_now, s->past.continues, b->started};
  if (!s->past.continues) {
    kn_fours_copy(s->past.q_kept, s->past.q, s->model->nq);
    kn_fours_copy(s->past.v_kept, s->past.v, s->model->nv);
  }
  s->past.poses_elsewhere = false;
  kn_state_keep(x);
  if (s->soft) kn_soft_keep(s);
}

kn_status kn_stage_commit(kn_sim* s, kn_state* x, const kn_flow* f, double t) {
  bool finite = kn_motion_end(s, x, s->frame.q_hat, s->frame.v_plus) && kn_energy_finite(s, t);
  if (!finite)
    return kn_fail(KN_NOT_FINITE, "the step at t = %g s overflowed; the state is unchanged", s->report.t);
  s->report.t = x->time = t;
  s->past.poses_elsewhere = f->elsewhere || s->frame.scaled;
  return KN_OK;
}

/* Nothing is left in the simulator either that the next step would take for its own. */
void kn_commit_take_back(kn_sim* s, kn_state* x, const kn_before* before) {
  int nq = s->model->nq, nv = s->model->nv;
  kn_fours_copy(x->q, s->past.q_safe, nq);
  kn_fours_copy(x->v, s->past.v_safe, nv);
  x->time = before->time;
  kn_state_take_back(x);
  if (s->soft) kn_soft_take_back(s);
  kn_fours_copy(s->past.q, before->continues ? s->past.q_safe : s->past.q_kept, nq);
  kn_fours_copy(s->past.v, before->continues ? s->past.v_safe : s->past.v_kept, nv);
  kn_sim_book* b = &s->book;
  b->energy_now = before->energy;
  b->kinetic_max = before->kinetic_max;
  b->potential_min = before->potential_min, b->potential_max = before->potential_max;
  b->started = b->rise.begun = before->started;
  kn_detector_forget(s->detector);
  s->clear.step = -1;
  s->work->large.may_be_sparse = s->os->large.may_be_sparse = false, s->work->smooth = NULL,
  s->work->known = NULL;
}
