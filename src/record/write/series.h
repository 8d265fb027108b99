/* What others can plot: joint states, contacts, energy and report as JSON, at the rate of the scene. Called by
   the writer thread (recorder.c); schemas in mcap.c. */
#ifndef KN_RECORD_SERIES_H
#define KN_RECORD_SERIES_H

#include "record/snapshot.h"

void kn_series_joints(kn_bytes* out, const kn_model* model, const kn_snapshot* s);
void kn_series_contacts(kn_bytes* out, const kn_model* model, const kn_snapshot* s);
void kn_series_energy(kn_bytes* out, const kn_snapshot* s);
void kn_series_report(kn_bytes* out, const kn_snapshot* s);

#endif
