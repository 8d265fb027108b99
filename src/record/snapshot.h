/* A step as it stands in memory, copied in one piece: all that the stepping thread does for a recording. The
   writer thread opens it again and codes it. What the writer knows already is left out. */
#pragma once

#include "model/state.h"
#include "record/bytes.h"
#include "step/sim.h"

typedef struct kn_snapshot {
  int64_t step;
  double time;
  uint64_t hash; /* of the state; the writer computes it from the copy */
  bool impact, scaled, jumped, biased, limited, controlled, dry;
  int blocks;
  kn_report report; /* its pointers lead into the copy once opened; limit_impulse NULL: none acts */
  const double *q, *v, *tau, *v_free, *extra, *force, *ctrl;
  const double *q_before, *v_before; /* NULL: the state after the step before */
  const double *v_bias, *v_solved;   /* NULL: v_before, v */
  const double* control;             /* NULL: there is no controller */
  const double* sensors;             /* of the writer; NULL: the model has none */
} kn_snapshot;

/* Appends sim and state after a step; all of it or, without memory, nothing (out->failed). jumped:
   q_before, v_before are not what the last recorded step left. */
void kn_snapshot_put(kn_bytes* out, const kn_sim* sim, const kn_state* state, const double* q_before,
                     const double* v_before, bool jumped, int loop_rows);
/* The next one of a buffer; false at its end. Valid as long as the buffer. */
bool kn_snapshot_next(kn_snapshot* out, kn_view* in, const kn_model* model, int loop_rows);
