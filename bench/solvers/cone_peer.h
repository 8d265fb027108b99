/* What a friction solver of another library offers to the bench. */
#ifndef KN_BENCH_CONE_PEER_H
#define KN_BENCH_CONE_PEER_H

#include "knuckle/comp.h"

typedef struct cone_peer {
  int methods;
  const char* const* names;
  /* A problem of CONE3 blocks only; NULL: cannot. Not timed. */
  void* (*open)(const kn_problem* problem);
  /* r starts at 0 inside; returns the peer's own status, 0 = it says solved. */
  int (*solve)(void* handle, int method, double* r, double tol, int max_iterations);
  void (*close)(void* handle);
} cone_peer;

#endif
