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

#include "load/text/note.h"

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
