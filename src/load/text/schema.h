/* Which elements and attributes a format has, as data. One row per element:
     parent  the kind of element it may stand in, "" for the root
     name    its tag
     kind    what it is as a parent of others (rows with this parent)
     use     ' ' read; '-' only looks, set aside; '!' unsupported: listed and skipped; '?' read and checked
   only attributes  "name:type" separated by blanks. Types: s text; b true|false; {a|b} keyword; r3 three
   reals; r1-3 one to three; r* any number; i… integers in the same way. A mark behind: none read; '-' only
   looks;
             '~' parameter of soft constraints; '!' unsupported, listed unless 0, false or none. */
#pragma once

#include "knuckle/load.h"
#include "load/text/xml.h"

/* The loader's report: notes and visuals, in a pool of its own. */
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

typedef struct kn_schema_row {
  const char *parent, *name, *kind;
  char use;
  const char* attributes;
} kn_schema_row;

typedef struct kn_schema {
  const char* format; /* "MJCF" */
  const kn_schema_row* row;
  int rows;
  bool lenient; /* unknown attributes and elements are noted, not refused (URDF extensions) */
} kn_schema;

/* Checks a tree against the schema; `kind` is what the parent is. *soft counts '~' attributes. */
kn_status kn_schema_check(const kn_schema* schema, const kn_xml_node* node, const char* kind,
                          kn_load_report* report, int* soft);
