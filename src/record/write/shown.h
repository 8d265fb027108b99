/* The channels that other programs show and plot: which messages a step becomes, at the rate of the scene. Called by the
   writer thread (recorder.c). */
#pragma once

#include "knuckle/force.h"
#include "record/snapshot.h"

typedef struct kn_shown kn_shown;
typedef void (*kn_shown_put)(void* context, uint16_t channel, const kn_bytes* message);

kn_status kn_shown_create(kn_shown** out, const kn_model* model, kn_force_choice choice, double v_rest);
void kn_shown_destroy(kn_shown* shown);
/* One past the last channel; the records of those that this model adds. */
int kn_shown_end(const kn_shown* shown);
void kn_shown_channels(const kn_shown* shown, kn_bytes* out);
/* The shapes, once; a step. False: no memory. */
bool kn_shown_shapes(kn_shown* shown, kn_shown_put put, void* context);
/* Every step, shown or not: the next one starts from it. */
void kn_shown_passed(kn_shown* shown, const kn_snapshot* s);
bool kn_shown_step(kn_shown* shown, const kn_snapshot* s, kn_shown_put put, void* context);
