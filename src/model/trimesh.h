/* Internals of kn_mesh: an immutable triangle mesh with a bounding tree. All arrays live in the mesh's arena.
 */
#pragma once

#include "base/arena.h"
#include "knuckle/mesh.h"

#define KN_MESH_STACK 128 /* deepest traversal: the builder keeps the tree below it */

/* Bounds are single precision, rounded outwards. Leaf: count > 0 triangles order[first …]. Inner node: count
   == 0, the children are nodes[first] and nodes[first + 1]. */
typedef struct kn_mesh_node {
  float lo[3];
  int32_t first;
  float hi[3];
  int32_t count;
} kn_mesh_node;

struct kn_mesh {
  int32_t nvertex, ntriangle, nnode;
  double* vertices;   /* 3 nvertex */
  int32_t* triangles; /* 3 ntriangle */
  int32_t*
      neighbour;  /* 3 ntriangle: triangle across the edge from corner k to k + 1; -1 open or not manifold */
  double* normal; /* 3 ntriangle: unit, by the right hand; 0 when degenerate */
  kn_mesh_node* nodes; /* nodes[0] is the root */
  int32_t* order;      /* ntriangle, triangles in leaf order */
  double lo[3], hi[3];
  kn_arena arena;
};

/* Triangles whose bounds meet a box, one at a time, without a buffer:
   kn_mesh_cursor c = kn_mesh_first(mesh, lo, hi); while ((t = kn_mesh_next(&c)) >= 0) … */
typedef struct kn_mesh_cursor {
  const kn_mesh* mesh;
  float lo[3], hi[3];
  int32_t leaf, left; /* position in order, triangles left in this leaf */
  int32_t top;
  int32_t stack[KN_MESH_STACK];
} kn_mesh_cursor;

void kn_mesh_first(kn_mesh_cursor* c, const kn_mesh* mesh, const double lo[3], const double hi[3]);
int32_t kn_mesh_next(kn_mesh_cursor* c);
