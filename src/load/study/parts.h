/* What the files of this folder share: a study in the making, and readers of its values. */
#pragma once

#include "knuckle/load.h"
#include "load/study/yaml.h"

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
