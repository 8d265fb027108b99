/* One step as bytes. */
#pragma once

#include "knuckle/record.h"
#include "knuckle/sensor.h"
#include "record/codec.h"
#include "record/snapshot.h"

enum { KN_FRAME_COUNTS = 6, KN_FRAME_NUMBERS = 48 }; /* of the report */

/* What coding remembers between the steps of a chunk, on either side. */
typedef struct kn_frames {
  kn_codec state;
  const kn_model* model;
  int loop_rows;
  double* block; /* all arrays below */
  double *tau, *v_free, *q_before, *v_before, *q, *v, *v_bias, *v_solved, *ctrl, *force, *extra, *limit,
      *loop, *control, *dry, *sensor;
  double *push, *guess_v, *tau_last, *tau_guess, *ctrl_last, *ctrl_guess; /* for predictions */
  int64_t step;
  int32_t count[KN_FRAME_COUNTS];
  double number[KN_FRAME_NUMBERS];
  kn_contact* contact;
  kn_event* event;
  kn_contact* last; /* of the step before */
  int contact_capacity, event_capacity, last_capacity, lasts;
  uint64_t chain;
} kn_frames;

kn_status kn_frames_create(kn_frames* f, const kn_model* model);
void kn_frames_destroy(kn_frames* f);
void kn_frames_restart(kn_frames* f); /* at the start of a chunk */

/* Appends the step's bytes; f->q, f->v hold the state after the step before, unless this is the first. */
void kn_frame_put(kn_frames* f, kn_bytes* out, const kn_snapshot* step, bool first);
/* Reads a step; false when the bytes are damaged. first: the step before is not known. */
bool kn_frame_get(kn_frames* f, kn_recorded* out, kn_view in);
