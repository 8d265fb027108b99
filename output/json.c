#include "output/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"

const char* kn_number_text(char text[KN_NUMBER_TEXT], double value) {
  if (!isfinite(value)) return strcpy(text, "null");
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, KN_NUMBER_TEXT, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

/* Names come from strangers: no </script> within a page, nothing that a terminal obeys, and always UTF-8. */
static void write_escaped(FILE* f, const char* s) {
  size_t left = strlen(s);
  fputc('"', f);
  for (size_t n; left > 0; s += n, left -= n) {
    const unsigned char* c = (const unsigned char*)s;
    n = kn_text_character(s, left);
    size_t control = n ? kn_text_control(s, left) : 0;
    if (n == 0)
      fputs("\\ufffd", f), n = 1;
    else if (*c == '"' || *c == '\\')
      fprintf(f, "\\%c", *c);
    else if (*c == '\n')
      fputs("\\n", f);
    else if (*c == '\t')
      fputs("\\t", f);
    else if (control > 1) /* two or three bytes of UTF-8 */
      fprintf(f, "\\u%04x", control == 2 ? c[1] : 0x2000 + (c[1] & 0x3f) * 64 + (c[2] & 0x3f));
    else if (control || *c == '<')
      fprintf(f, "\\u%04x", *c);
    else
      fwrite(s, 1, n, f);
  }
  fputc('"', f);
}

static void new_line(kn_json* j) {
  if (!j->indent) return;
  fputc('\n', j->file);
  for (int i = 0; i < j->depth; i++) fputs("  ", j->file);
}

/* Comma, line break and key before a value. */
static void lead(kn_json* j, const char* key) {
  if (j->depth == 0) return;
  if (j->started[j->depth - 1]) fputc(',', j->file);
  j->started[j->depth - 1] = true;
  new_line(j);
  if (j->array[j->depth - 1]) return;
  write_escaped(j->file, key ? key : "");
  fputs(j->indent ? ": " : ":", j->file);
}

void kn_json_open(kn_json* j, FILE* file, bool indent) { *j = (kn_json){.file = file, .indent = indent}; }

static void open_level(kn_json* j, const char* key, bool array) {
  if (j->depth == KN_JSON_DEPTH) abort(); /* a bug of the caller: nesting is fixed by the code */
  lead(j, key);
  fputc(array ? '[' : '{', j->file);
  j->array[j->depth] = array;
  j->started[j->depth] = false;
  j->depth++;
}

void kn_json_begin(kn_json* j, const char* key) { open_level(j, key, false); }
void kn_json_array(kn_json* j, const char* key) { open_level(j, key, true); }

void kn_json_end(kn_json* j) {
  if (j->depth == 0) return;
  j->depth--;
  if (j->started[j->depth]) new_line(j);
  fputc(j->array[j->depth] ? ']' : '}', j->file);
}

bool kn_json_close(kn_json* j) {
  while (j->depth > 0) kn_json_end(j);
  fputc('\n', j->file);
  return fflush(j->file) == 0 && !ferror(j->file);
}

void kn_json_number(kn_json* j, const char* key, double value) {
  char text[KN_NUMBER_TEXT];
  lead(j, key);
  fputs(kn_number_text(text, value), j->file);
}

void kn_json_rounded(kn_json* j, const char* key, double value, int digits) {
  lead(j, key);
  fprintf(j->file, "%.*g", digits, value);
}

void kn_json_int(kn_json* j, const char* key, long long value) {
  lead(j, key);
  fprintf(j->file, "%lld", value);
}

void kn_json_bool(kn_json* j, const char* key, bool value) {
  lead(j, key);
  fputs(value ? "true" : "false", j->file);
}

void kn_json_text(kn_json* j, const char* key, const char* value) {
  lead(j, key);
  if (value)
    write_escaped(j->file, value);
  else
    fputs("null", j->file);
}

void kn_json_null(kn_json* j, const char* key) { kn_json_text(j, key, NULL); }

void kn_json_numbers(kn_json* j, const char* key, const double* values, size_t n) {
  char text[KN_NUMBER_TEXT];
  lead(j, key);
  fputc('[', j->file);
  for (size_t i = 0; i < n; i++) fprintf(j->file, "%s%s", i ? "," : "", kn_number_text(text, values[i]));
  fputc(']', j->file);
}

void kn_json_ints(kn_json* j, const char* key, const int* values, size_t n) {
  lead(j, key);
  fputc('[', j->file);
  for (size_t i = 0; i < n; i++) fprintf(j->file, "%s%d", i ? "," : "", values[i]);
  fputc(']', j->file);
}
