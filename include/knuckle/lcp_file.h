/* LCP files: a small JSON format of our own, Siconos' .dat text (dense and block storage) and the binary .lcp
   (int32 n, float64 A[n n] row-major, float64 b[n], little-endian). The JSON format also knows bodies at rest without
   friction: "M" (mass matrix), "J" (contact rows) and "Q" (forces). */
#ifndef KNUCKLE_LCP_FILE_H
#define KNUCKLE_LCP_FILE_H

#include "knuckle/comp.h"

KN_BEGIN_DECLS

/* A problem read from an LCP file. */
typedef struct kn_lcp_file {
  kn_lcp lcp;
  kn_frictionless frictionless; /* n > 0: the file has M, J and Q, and lcp is empty */
  const char* format;           /* "json", "dat", "lcp" */
  char title[128];              /* cut to fit, "" if none */
  void* memory;
} kn_lcp_file;

enum { KN_LCP_FILE_ROWS = 8192 }; /* most rows accepted */

/* Errors are file:line:column: what is wrong (text), file: byte N: … (binary). *out is empty on failure. */
KN_API kn_status kn_lcp_file_read(kn_lcp_file* out, const char* path);
/* The same from memory; name is used in messages and for its ending. */
KN_API kn_status kn_lcp_file_parse(kn_lcp_file* out, const char* name, const void* data, size_t size);
KN_API void kn_lcp_file_free(kn_lcp_file* file);

/* The JSON format, numbers with 17 digits; title and z (a solution) may be NULL. */
KN_API kn_status kn_lcp_file_write(const char* path, const kn_lcp* lcp, const char* title, const double* z);

KN_END_DECLS
#endif
