/* One step as bytes. */
#pragma once

#include "knuckle/record.h"
#include "knuckle/sensor.h"
#include "model/model.h"
#include "record/bytes.h"
#include "record/snapshot.h"

/* Doubles as differences from a prediction, without loss.

   The bits of a double, ordered as integers (negative numbers mirrored), are subtracted from those of the
   prediction; the difference, zig-zag, is stored as a count of bytes (half a byte) and the bytes. Predictions
   use plain arithmetic only, so that every machine decodes the same bits: v         2 v₁ − v₂ from the two
   steps before scalar q  q₁ + dt (v₁ + v)/2              the mean velocity of the step quaternion  q₁ + dt/2
   q₁ ⊗ (ω₁ + ω)/2, normalised   */
typedef struct kn_codec { /* what both sides remember */
  const kn_model* model;
  int history;                    /* steps seen since the last reset: 0, 1, 2 */
  double *q1, *v1, *v2, *q0, *v0; /* last, last but one; predictions */
} kn_codec;

/* n values against a guess (NULL: zero). */
void kn_values_put(kn_bytes* out, const double* x, const double* guess, int n);
void kn_values_get(kn_view* in, double* x, const double* guess, int n);

kn_status kn_codec_create(kn_codec* c, const kn_model* model);
void kn_codec_destroy(kn_codec* c);
void kn_codec_reset(kn_codec* c); /* a chunk starts: the next state is stored by itself */
void kn_codec_put(kn_codec* c, kn_bytes* out, const double* q, const double* v, double dt);
void kn_codec_get(kn_codec* c, kn_view* in, double* q, double* v, double dt);

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
