/* A streaming JSON writer. Doubles are written with the fewest digits that read back to the same value;
   NaN and infinities, which JSON cannot say, become null. Inside an array the key is NULL. */
#ifndef KN_OUTPUT_JSON_H
#define KN_OUTPUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KN_JSON_DEPTH = 32 };

typedef struct kn_json {
  FILE* file;
  int depth;
  bool indent;                 /* one member per line; arrays of numbers stay on one line */
  bool array[KN_JSON_DEPTH];   /* what is open at each depth */
  bool started[KN_JSON_DEPTH]; /* whether a comma is due */
} kn_json;

void kn_json_open(kn_json* j, FILE* file, bool indent);
/* Closes what is still open, ends the line, flushes; false when anything could not be written. */
bool kn_json_close(kn_json* j);

void kn_json_begin(kn_json* j, const char* key); /* { */
void kn_json_array(kn_json* j, const char* key); /* [ */
void kn_json_end(kn_json* j);                    /* } or ] */

void kn_json_number(kn_json* j, const char* key, double value);
void kn_json_rounded(kn_json* j, const char* key, double value, int digits); /* finite, digits >= 1 */
void kn_json_int(kn_json* j, const char* key, long long value);
void kn_json_bool(kn_json* j, const char* key, bool value);
void kn_json_text(kn_json* j, const char* key, const char* value); /* UTF-8; NULL writes null */
void kn_json_null(kn_json* j, const char* key);
void kn_json_numbers(kn_json* j, const char* key, const double* values, size_t n);
void kn_json_ints(kn_json* j, const char* key, const int* values, size_t n);

/* The shortest decimal text that reads back to the same double ("null" if not finite). */
enum { KN_NUMBER_TEXT = 32 };
const char* kn_number_text(char text[KN_NUMBER_TEXT], double value);

#ifdef __cplusplus
}
#endif
#endif
