/* CSV as people and instruments write it. */
#include "fit/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "load/text/value.h"

static kn_status slurp(char** text, size_t* size, const char* path) {
  FILE* f;
  *text = NULL;
  KN_TRY(kn_input_open(&f, size, path));
  if (*size < 1L << 31) *text = malloc(*size + 1);
  bool good = *text && fread(*text, 1, *size, f) == *size;
  fclose(f);
  if (!good) return kn_fail(KN_IO, "%s cannot be read", path);
  (*text)[*size] = '\0';
  return strlen(*text) == *size ? KN_OK : kn_fail_at(KN_BAD_FILE, path, 1, 1, "not a text file");
}

static bool passed_over(const char* line) { return line[strspn(line, " \t")] == '\0' || line[0] == '#'; }

/* The next line of *rest without its end; NULL: none. */
static char* next_line(char** rest) {
  char* line = *rest;
  if (!line || !*line) return NULL;
  char* end = strchr(line, '\n');
  *rest = end ? end + 1 : line + strlen(line);
  if (end) *end = '\0';
  size_t n = strlen(line);
  if (n && line[n - 1] == '\r') line[n - 1] = '\0';
  return line;
}

static int count_cells(const char* line, char separator) {
  int n = 1;
  for (; *line; line++) n += *line == separator;
  return n;
}

/* Blanks and quotes around a word are taken off, in place. */
static char* trimmed(char* word) {
  word += strspn(word, " \t\"");
  size_t n = strlen(word);
  while (n && strchr(" \t\"", word[n - 1])) word[--n] = '\0';
  return word;
}

static kn_status read_names(kn_csv* t, char* line, char separator, int number) {
  t->columns = count_cells(line, separator);
  t->name = calloc((size_t)t->columns, sizeof *t->name);
  if (!t->name) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", t->path);
  for (int c = 0; c < t->columns; c++) {
    char* end = strchr(line, separator);
    if (end) *end = '\0';
    t->name[c] = trimmed(line);
    if (!t->name[c][0])
      return kn_fail_at(KN_BAD_FILE, t->path, number, 1,
                        "column %d has no name, expected a line of names first", c + 1);
    line = end ? end + 1 : line;
  }
  return KN_OK;
}

static kn_status read_row(kn_csv* t, char* line, char separator, int number) {
  int cells = count_cells(line, separator), row = t->rows;
  if (cells != t->columns)
    return kn_fail_at(KN_BAD_FILE, t->path, number, 1, "%d cells, expected %d as in the line of names", cells,
                      t->columns);
  const char* start = line;
  for (int c = 0; c < t->columns; c++) {
    char* end = strchr(line, separator);
    if (end) *end = '\0';
    const char* word = trimmed(line);
    const char* at = word;
    size_t cell = (size_t)row * (size_t)t->columns + (size_t)c;
    double x;
    t->place[cell] = (int)(word - start) + 1;
    t->value[cell] = *word && kn_value_number(&x, &at) && !*at ? x : NAN;
    line = end ? end + 1 : line;
  }
  t->line[row] = number;
  t->rows++;
  return KN_OK;
}

static kn_status read_rows(kn_csv* t) {
  char *rest = t->text, separator = ',';
  int lines = 1, number = 0;
  for (const char* p = t->text; *p; p++) lines += *p == '\n';
  for (char* line; (line = next_line(&rest));) {
    number++;
    if (passed_over(line)) continue;
    if (t->name) {
      KN_TRY(read_row(t, line, separator, number));
      continue;
    }
    separator = strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ',';
    KN_TRY(read_names(t, line, separator, number));
    size_t cells = (size_t)lines * (size_t)t->columns;
    t->value = malloc(cells * sizeof *t->value);
    t->place = malloc(cells * sizeof *t->place);
    t->line = malloc((size_t)lines * sizeof *t->line);
    if (!t->value || !t->place || !t->line) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", t->path);
  }
  if (!t->name || !t->rows)
    return kn_fail_at(KN_BAD_FILE, t->path, number + 1, 1,
                      "no rows, expected a line of names and numbers below");
  return KN_OK;
}

kn_status kn_csv_read(kn_csv* t, const char* path) {
  size_t size;
  *t = (kn_csv){.path = strdup(path)};
  kn_status status =
      t->path ? slurp(&t->text, &size, path) : kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  if (status == KN_OK) status = read_rows(t);
  if (status != KN_OK) kn_csv_free(t);
  return status;
}

void kn_csv_free(kn_csv* t) {
  free(t->path);
  free(t->name);
  free(t->value);
  free(t->line);
  free(t->place);
  free(t->text);
  *t = (kn_csv){0};
}

int kn_csv_column(const kn_csv* t, const char* name) {
  for (int c = 0; c < t->columns; c++)
    if (strcmp(t->name[c], name) == 0) return c;
  return -1;
}

kn_status kn_csv_number(double* out, const kn_csv* t, int row, int column) {
  size_t cell = (size_t)row * (size_t)t->columns + (size_t)column;
  *out = t->value[cell];
  return isfinite(*out) ? KN_OK
                        : kn_fail_at(KN_BAD_FILE, t->path, t->line[row], t->place[cell],
                                     "column %s: expected a number", t->name[column]);
}
