/* Doubles as differences from a prediction, without loss.

   The bits of a double, ordered as integers (negative numbers mirrored), are subtracted from those of the
   prediction; the difference, zig-zag, is stored as a count of bytes (half a byte) and the bytes. Predictions
   use plain arithmetic only, so that every machine decodes the same bits: v         2 v₁ − v₂ from the two
   steps before scalar q  q₁ + dt (v₁ + v)/2              the mean velocity of the step quaternion  q₁ + dt/2
   q₁ ⊗ (ω₁ + ω)/2, normalised   */
#pragma once

#include "model/model.h"
#include "record/bytes.h"

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
