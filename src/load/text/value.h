/* Reading values: numbers whatever the locale, keywords, and the nearest known name for suggestions. */
#pragma once

#include "load/text/xml.h"

/* Finite numbers separated by blanks. Reads at most `most`; fewer than `least`, more than `most`, a number
   that is not finite or text that is no number are errors at the attribute. *count may be NULL. */
kn_status kn_value_reals(double* out, int* count, const kn_xml_attr* attr, int least, int most);
kn_status kn_value_ints(int* out, int* count, const kn_xml_attr* attr, int least, int most);
kn_status kn_value_bool(bool* out, const kn_xml_attr* attr); /* true, false */
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
