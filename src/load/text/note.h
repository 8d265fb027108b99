/* The loader's report: notes and visuals, in a pool of its own. */
#pragma once

#include "knuckle/load.h"
#include "load/text/xml.h"

struct kn_load_report {
  kn_hoard pool;
  kn_note* note;
  int nnote, note_capacity;
  kn_visual* visual;
  int nvisual, visual_capacity;
  double timestep;
  const char* format;
  bool strict;
};

/* Adds a note. KN_NOTE_UNSUPPORTED under strict is a failure (KN_UNSUPPORTED) with the same text. */
kn_status kn_note_node(kn_load_report* report, kn_note_kind kind, const kn_xml_node* node, const char* format,
                       ...) __attribute__((format(printf, 4, 5)));
kn_status kn_note_attr(kn_load_report* report, kn_note_kind kind, const kn_xml_attr* attr, const char* format,
                       ...) __attribute__((format(printf, 4, 5)));
/* Copies strings of the visual into the report. */
kn_status kn_note_visual(kn_load_report* report, const kn_visual* visual);
