/* The parts of a step (split.c): one, or several where the step is split at impacts. */
#pragma once

#include "step/sim.h"

typedef struct kn_parts {
  double h, left, end; /* s: this part, what is left of the step with it, time at the end of the step */
  bool done;
  bool split, cut; /* there is more than one part; this one ends at a touch */
  int count;       /* of the parts before; their sums and extremes, if split: */
  kn_ledger ledger;
  kn_energy before;
  double audit, correction, lift, momentum, impact_energy;
  int contacts;
} kn_parts;

static inline void kn_parts_begin(kn_parts* p, const kn_state* x, double dt) {
  p->h = p->left = dt, p->end = x->time + dt;
  p->done = p->split = p->cut = false;
  p->count = 0;
}

/* Once the rows of a part are known: is it to end earlier, at the first touch? Then it is evaluated again. */
bool kn_parts_cut(kn_parts* p, kn_sim* s, const kn_flow* f);
static inline bool kn_parts_shorter(kn_parts* p, kn_sim* s, const kn_flow* f) {
  return (f->impact || p->split) && kn_parts_cut(p, s, f);
}

/* After a part: are there more? */
kn_status kn_parts_next(kn_parts* p, kn_sim* s, kn_state* x);
static inline kn_status kn_parts_end(kn_parts* p, kn_sim* s, kn_state* x) {
  if (p->split) return kn_parts_next(p, s, x);
  p->done = true;
  return KN_OK;
}
