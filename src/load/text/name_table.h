/* Names of one load, by kind: hash table so that files with many names stay linear. */
#pragma once

#include "base/hoard.h"

typedef struct kn_names {
  struct kn_name {
    const char* name; /* borrowed */
    char kind;
    int index;
  } * slot;
  int count, capacity; /* capacity is a power of two */
} kn_names;

int kn_names_get(const kn_names* names, char kind, const char* name); /* -1: none */
/* False: no memory. An existing entry stays. */
bool kn_names_put(kn_names* names, kn_hoard* pool, char kind, const char* name, int index);
/* The nearest known name of a kind for suggestions, or NULL. */
const char* kn_names_near(const kn_names* names, char kind, const char* name);
