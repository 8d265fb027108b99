/* Any bytes as a table of measurements: a status, or rows of which every field can be asked for. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fit/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static void look(const char* path) {
  kn_csv table = {0};
  if (kn_csv_read(&table, path) == KN_OK)
    for (int row = 0; row < table.rows && row < 100; row++)
      for (int column = 0; column < table.columns; column++) {
        double x = 0.0;
        if (kn_csv_number(&x, &table, row, column) == KN_OK && !isfinite(x)) abort();
      }
  kn_csv_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-fuzz-%d.csv", (int)getpid());
  FILE* f = fopen(path, "wb");
  if (!f) return 0;
  if (size) fwrite(bytes, 1, size, f);
  fclose(f);
  look(path);
  unlink(path);
  return 0;
}
