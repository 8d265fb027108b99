/* What the files of this folder share: a study in the making, and readers of its values. */
#pragma once

#include "knuckle/load.h"
#include "load/text/value.h"

/* YAML as a small tree with positions; anchors, aliases and tags are refused. */
typedef enum kn_yaml_kind { KN_YAML_SCALAR, KN_YAML_MAP, KN_YAML_LIST } kn_yaml_kind;

typedef struct kn_yaml {
  kn_yaml_kind kind;
  kn_xml_attr at;  /* name: its key ("" in a list), value: text of a scalar; place of the value */
  kn_xml_attr key; /* place of the key */
  struct kn_yaml *child, *last, *next;
} kn_yaml;

kn_status kn_yaml_parse(kn_yaml** root, kn_hoard* pool, const char* file, const char* text, size_t size);
kn_yaml* kn_yaml_get(const kn_yaml* map, const char* key); /* NULL: none */

typedef struct kn_study_own { /* the public part first */
  kn_study s;
  kn_hoard pool;
} kn_study_own;

/* `type* name` is a new element at the end of a list in the study's memory, zero; returns where memory is out. */
#define KN_STUDY_NEW(type, name, x, list, count, capacity)                                                   \
  if (!KN_GROW(&(x)->pool, (list), (count), (capacity)))                                                     \
    return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", (x)->s.path);                                          \
  type* name = &(list)[(count)++]

kn_status kn_study_only(const kn_yaml* map, const char* keys); /* every key must be in the list "a b c" */
kn_status kn_study_map(const kn_yaml* n);                      /* must be a map */
/* The value of a key; left alone (a number: NAN) where the map has no such key. */
kn_status kn_study_word(const char** out, const kn_yaml* map, const char* key);
kn_status kn_study_number(double* out, const kn_yaml* map, const char* key, double low, double high);
kn_status kn_study_choice(const char** out, const kn_yaml* map, const char* key, const char* list);

/* sweep.c: the section `sweep`; NULL: none. */
kn_status kn_study_read_sweep(kn_study_own* x, const kn_yaml* n);
/* study_fit.c: the section `fit`; NULL: none. */
kn_status kn_study_read_fit(kn_study_own* x, const kn_yaml* n);
/* edit.c: one changed value in the tree, before it is read. */
kn_status kn_study_change(kn_study_own* x, kn_yaml* root, const kn_study_edit* edit);
