/* Whole files for the command line. Only plain ones: opening a FIFO would wait for a writer, a device never ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "command.h"

char* kn_plain_file(size_t* size, const char* path) {
  struct stat at;
  FILE* f = stat(path, &at) == 0 && S_ISREG(at.st_mode) ? fopen(path, "rb") : NULL;
  if (!f) return NULL;
  *size = (size_t)at.st_size;
  char* bytes = malloc(*size + 1);
  if (bytes && fread(bytes, 1, *size, f) != *size) free(bytes), bytes = NULL;
  if (bytes) bytes[*size] = '\0';
  fclose(f);
  return bytes;
}
