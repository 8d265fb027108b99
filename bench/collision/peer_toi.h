/* Time of impact of two moving convex hulls. */
#ifndef KN_BENCH_PEER_TOI_H
#define KN_BENCH_PEER_TOI_H

#include "knuckle/mesh.h"

/* Poses are row-major rotation (9) and position (3). */
typedef struct toi_peer {
  const char* name;
  void* (*create)(const kn_mesh_data* a, const kn_mesh_data* b); /* triangulated hulls */
  /* Fraction of the motion from start to end at which they touch; 1 when they do not. */
  double (*query)(void* self, const double* a0, const double* a1, const double* b0, const double* b1);
  void (*destroy)(void* self);
} toi_peer;

#endif
