/* A narrow phase that is given pairs of shapes once and asked for their gaps one by one. */
#ifndef KN_BENCH_PEER_NARROW_H
#define KN_BENCH_PEER_NARROW_H

#include <stdbool.h>

#include "knuckle/types.h"

typedef struct narrow_shape {
  kn_shape_type type;
  double size[3];
  int nv, nt;          /* hulls: vertices and triangles */
  const double* v;     /* 3 nv */
  const int* triangle; /* 3 nt, counter-clockwise from outside */
} narrow_shape;

typedef struct narrow_pair {
  narrow_shape a, b;
  kn_pose A, B;
} narrow_pair;

typedef enum narrow_mode {
  NARROW_CONTACT, /* contact points within the margin; the answer is the least gap, INFINITY without contact
                   */
  NARROW_DISTANCE /* distance of shapes apart */
} narrow_mode;

typedef struct narrow_peer {
  const char* name;
  bool (*supports)(kn_shape_type a, kn_shape_type b, narrow_mode mode);
  void* (*create)(const narrow_pair* pairs, int n, narrow_mode mode, double margin); /* NULL: cannot */
  double (*query)(void* self, int i);
  void (*destroy)(void* self);
} narrow_peer;

#endif
