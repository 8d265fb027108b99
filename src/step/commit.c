/* What a step changes in the state: q, v, time and the blocks (warm start, anchors, pairs, rate, bodies, compliant
   contacts). They are kept here before the first stage, become those of the step's end here (stage 10), or
   are taken back here, bit for bit, whatever stage failed (test/step/stages.c). Stages write the blocks on
   the way; q, v and time are written by this file, by parts of a step (split.c, event.c) and for islands
   asleep (sleep/), all of which is taken back like all the rest. Called by sim.c and the steppers. */
#include <string.h>

#include "base/error.h"
#include "step/time/motion.h"

/* h <- h c + x, number by number; four at a time, which do not wait for each other. */
static uint64_t fold(uint64_t h, const double* x, int n) {
  const uint64_t c = 0x9e3779b97f4a7c15u, c2 = c * c, c3 = c2 * c, c4 = c2 * c2;
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    uint64_t b[4];
    memcpy(b, x + i, sizeof b);
    h = h * c4 + ((b[0] * c3 + b[1] * c2) + (b[2] * c + b[3]));
  }
  for (; i < n; i++) {
    uint64_t bits;
    memcpy(&bits, x + i, sizeof bits);
    h = h * c + bits;
  }
  return h;
}

/* Of another q or v it is another, but for a chance of 2⁻⁶⁴. */
static uint64_t mark_of(const kn_state* x) { return fold(fold(1, x->q, x->model->nq), x->v, x->model->nv); }

/* The energy where a step or a part of one begins is in the state, so that it is the same number whatever simulator takes it on. */
void kn_commit_weigh(kn_sim* s, const kn_state* x, const kn_energy* e) {
  *(kn_energy_entry*)s->blocks.energy->data = (kn_energy_entry){mark_of(x), *e};
  s->blocks.energy->used = sizeof(kn_energy_entry);
}

/* Is it the state's? Where the last step ended with this very energy there is no need to look. */
bool kn_commit_weighed(kn_energy* e, const kn_sim* s, const kn_state* x) {
  const kn_energy_entry* entry = s->blocks.energy->data;
  const kn_energy *now = &s->book.energy_now, *kept = &entry->energy;
  bool same = s->past.continues && kept->kinetic == now->kinetic && kept->potential == now->potential &&
              kept->spring == now->spring;
  if (!s->blocks.energy->used || !(same || entry->mark == mark_of(x))) return false;
  kn_energy_copy(e, kept);
  return true;
}

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
  kn_commit_weigh(s, x, &s->book.energy_now);
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
