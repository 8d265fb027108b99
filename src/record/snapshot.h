/* A step as it stands in memory, copied in one piece: all that the stepping thread does for a recording. The
   writer thread opens it again and codes it. */
#ifndef KN_RECORD_SNAPSHOT_H
#define KN_RECORD_SNAPSHOT_H

#include "record/bytes.h"
#include "step/sim.h"

typedef struct kn_snapshot {
  int64_t step;
  double time;
  uint64_t hash;
  bool impact, scaled;
  kn_report report; /* its pointers lead into the copy once opened */
  const double *q, *v, *q_before, *v_before, *tau, *v_free, *v_bias, *v_solved, *extra, *force, *ctrl;
} kn_snapshot;

/* Appends sim and state after a step; all of it or, without memory, nothing (out->failed). */
void kn_snapshot_put(kn_bytes* out, const kn_sim* sim, const kn_state* state, const double* q_before,
                     const double* v_before, int loop_rows);
/* The next one of a buffer; false at its end. Valid as long as the buffer. */
bool kn_snapshot_next(kn_snapshot* out, kn_view* in, const kn_model* model, int loop_rows);

#endif
