/* Reading values: numbers whatever the locale, keywords, and the nearest known name for suggestions. */
#pragma once

#include "load/text/xml.h"

/* Where `attr` is NULL nothing is read: *out stays as it is, *count is 0. */
/* Finite numbers separated by blanks. Reads at most `most`; fewer than `least`, more than `most`, a number
   that is not finite or text that is no number are errors at the attribute. *count may be NULL. */
kn_status kn_value_reals(double* out, int* count, const kn_xml_attr* attr, int least, int most);
kn_status kn_value_ints(int* out, int* count, const kn_xml_attr* attr, int least, int most);
kn_status kn_value_real(double* out, const kn_xml_attr* attr);  /* one */
kn_status kn_value_bound(double* out, const kn_xml_attr* attr); /* one that is not negative */
kn_status kn_value_bool(bool* out, const kn_xml_attr* attr);    /* true, false */
/* Index of the value in a list "a|b|c". */
kn_status kn_value_keyword(int* out, const kn_xml_attr* attr, const char* list);
/* Counts numbers and checks them all without storing; kind 'r' or 'i'. */
kn_status kn_value_check(const kn_xml_attr* attr, char kind, int least, int most);
/* All numbers of an attribute into the pool. */
kn_status kn_value_array(double** out, int* count, kn_hoard* pool, const kn_xml_attr* attr);

/* A number at *at with the C locale; moves *at behind it. False: no finite number there. */
bool kn_value_number(double* out, const char** at);

/* Is b near enough to a to be suggested? Smaller is nearer, -1: no. */
int kn_value_near(const char* a, const char* b);

/* Names of one load, by kind: hash table so that files with many names stay linear. */
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
/* The failure where `name`, which the attribute gives, is not known: the nearest name, or "expected `wanted`". what: "joint". */
kn_status kn_names_unknown(const kn_names* names, char kind, const char* name, const kn_xml_attr* attr,
                           const char* what, const char* wanted);
