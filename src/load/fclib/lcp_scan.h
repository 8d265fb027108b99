/* A cursor over text that knows its line and column: what the LCP readers need of JSON and number tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "knuckle/status.h"

typedef struct kn_scan {
  const char* name;  /* of the file */
  const char* start; /* of the text */
  const char* at;
  const char* end;
} kn_scan;

/* KN_BAD_FILE "name:line:column: …" at the cursor. */
kn_status kn_scan_fail(const kn_scan* t, const char* format, ...) __attribute__((format(printf, 2, 3)));

void kn_scan_blanks(kn_scan* t);
bool kn_scan_skip(kn_scan* t, char c);        /* blanks, then c if it is there */
kn_status kn_scan_expect(kn_scan* t, char c); /* blanks, then c */
bool kn_scan_word(kn_scan* t, const char* word);
kn_status kn_scan_number(double* out, kn_scan* t, const char* what); /* blanks, then a finite number */
/* JSON string; cut to fit; escapes other than \uXXXX are translated, those become '?'. */
kn_status kn_scan_string(char* out, size_t size, kn_scan* t);
kn_status kn_scan_value(kn_scan* t, int depth); /* any JSON value, skipped */
