/* Internals of kn_hull: an immutable convex polyhedron with merged (polygonal) faces. Built once, read by
   every pair; all arrays live in the hull's arena. */
#pragma once

#include "base/arena.h"
#include "knuckle/mesh.h"

#define KN_HULL_LANES 8 /* vertex arrays are padded to a multiple of this (one AVX-512 register) */

#define KN_HULL_STARS 4096
#define KN_HULL_MAP   16 /* cells along each side of the cube of directions */
#define KN_HULL_SMALL 64 /* up to so many vertices it is quicker to look at all */
#define KN_HULL_FEW   12 /* even when one near the farthest is known */

struct kn_hull {
  int32_t nv;        /* vertices, >= 4, all extreme */
  int32_t nv_padded; /* multiple of KN_HULL_LANES; padding repeats vertex 0 */
  int32_t nf, ne;    /* polygonal faces, edges; nv - ne + nf = 2 */
  const double* x;   /* nv_padded; 64-byte aligned, structure of arrays */
  const double* y;
  const double* z;
  const double* plane;        /* nf x 4: unit outward normal n, offset d; inside is n.x <= d */
  const int32_t* face_start;  /* nf + 1 offsets into face_vertex */
  const int32_t* face_vertex; /* loops counter-clockwise seen from outside */
  const int32_t* face_next;   /* as face_vertex: the face across the edge from this vertex to the next one */
  const int32_t* edge; /* ne x 4: v0 < v1, face whose loop runs v0 -> v1, face whose loop runs v1 -> v0 */
  const int32_t* adj_start;   /* nv + 1 offsets into adj */
  const int32_t* adj;         /* neighbours of each vertex along edges, ascending */
  const int32_t* star_start;  /* nv + 1 offsets into star, in blocks; NULL for hulls with more vertices than
                                 KN_HULL_STARS */
  const double* star;         /* where the neighbours are: blocks of KN_HULL_LANES x, as many y, z; in the
                                 order of adj, padded with the vertex itself */
  const int32_t* start;       /* 6 x KN_HULL_MAP^2: a vertex far along the directions of that cell of the cube
                                 around the origin (sides -x, +x, -y, …); NULL for small hulls */
  const int32_t* vface_start; /* nv + 1 offsets into vface */
  const int32_t* vface;       /* faces around each vertex, ascending */
  double lo[3], hi[3];        /* bounding box */
  double centroid[3];         /* of the volume */
  double radius;              /* largest distance of a vertex from the centroid */
  double volume;              /* m^3 */
  double inertia[6]; /* about the centroid per unit density: xx, yy, zz, xy, xz, yz, kg m^2 / (kg/m^3) */
  kn_arena arena;
};

/* A copy k times as large about the origin of its frame. */
kn_status kn_hull_scaled(kn_hull** hull, const kn_hull* from, double k);
