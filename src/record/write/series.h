/* What others can plot: joint states, contacts, forces on bodies, energy, report and sensors as Protobuf, at the rate of the scene.
   Called by the writer thread (recorder.c); schemas in proto.c. */
#pragma once

#include "knuckle/force.h"
#include "record/snapshot.h"

void kn_series_joints(kn_bytes* out, const kn_model* model, const kn_snapshot* s);
void kn_series_contacts(kn_bytes* out, const kn_model* model, const kn_snapshot* s,
                        const kn_contact_load* load);
void kn_series_body(kn_bytes* out, double t, const kn_load_sum* sum); /* sum NULL: nothing touches it */
void kn_series_energy(kn_bytes* out, const kn_snapshot* s);
void kn_series_report(kn_bytes* out, const kn_snapshot* s);
void kn_series_sensors(kn_bytes* out, const kn_model* model, const kn_snapshot* s);
