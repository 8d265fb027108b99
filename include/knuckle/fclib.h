/* Friction problem files in the HDF5 format of FCLIB (Acary, Brémond 2014): local (W, q, mu) and global (M,
   H, f, w, mu) form, 2-D and 3-D, with or without equality rows. A global problem is condensed: W = H^T M^-1
   H, q = H^T M^-1 f + w. */
#ifndef KNUCKLE_FCLIB_H
#define KNUCKLE_FCLIB_H

#include "knuckle/comp.h"

KN_BEGIN_DECLS

/* A problem read from an FCLIB file, and what the file says about it. */
typedef struct kn_fclib {
  kn_problem problem; /* block-sparse; equality rows follow the contacts as KN_SET_FREE */
  int dimension;      /* 2 or 3 */
  int contacts;
  bool global;     /* as stored */
  char title[128]; /* cut to fit, "" if none */
  void* memory;
} kn_fclib;

/* Reads in a child process, because a damaged file can crash the HDF5 library: then KN_BAD_FILE. */
KN_API kn_status kn_fclib_read(kn_fclib* out, const char* path);

/* The same in this process, for files one trusts. */
KN_API kn_status kn_fclib_read_trusted(kn_fclib* out, const char* path);

/* Local form, contacts first: blocks CONE2 (all of them) or CONE3, then FREE. Title may be NULL; r (a
 * solution) too. */
KN_API kn_status kn_fclib_write(const char* path, const kn_problem* problem, const char* title,
                                const double* r);

/* Frees what was read; NULL is fine. */
KN_API void kn_fclib_free(kn_fclib* fclib);

KN_END_DECLS
#endif
