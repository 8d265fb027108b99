/* CSV files with a line of names: numbers by row and column, and where each of them stands, for messages. */
#ifndef KN_FIT_CSV_H
#define KN_FIT_CSV_H

#include <stddef.h>

#include "knuckle/status.h"

typedef struct kn_csv {
  char* path;
  int columns, rows;
  char** name;   /* columns */
  double* value; /* rows x columns; NAN: no number there */
  int* line;     /* rows: in the file, from 1 */
  int* place;    /* rows x columns: column of the file's line, from 1 */
  char* text;    /* owns the names */
} kn_csv;

/* Reads a file. Separators are commas, semicolons or tabs (as in the line of names); lines that begin with # and empty
   ones are passed over. A row with another number of cells is an error at its line. */
kn_status kn_csv_read(kn_csv* table, const char* path);
void kn_csv_free(kn_csv* table);
int kn_csv_column(const kn_csv* table, const char* name); /* -1: none */
/* The number of a cell; one that is none, or not finite, is an error at its place. */
kn_status kn_csv_number(double* out, const kn_csv* table, int row, int column);

#endif
