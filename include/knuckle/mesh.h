/* Triangle soup in memory: read from files, repaired, moved; the input of hulls, static meshes and mass
 * properties. */
#ifndef KNUCKLE_MESH_H
#define KNUCKLE_MESH_H

#include "knuckle/types.h"

KN_BEGIN_DECLS

/* Vertices and triangles, owned (free with kn_mesh_data_free). Counter-clockwise triangles seen from outside.
 */
typedef struct kn_mesh_data {
  int32_t nvertex;
  int32_t ntriangle;
  double* vertices;   /* 3 nvertex */
  int32_t* triangles; /* 3 ntriangle, indices into vertices */
} kn_mesh_data;

/* No file may ask for more than this many vertices or triangles. */
#define KN_MESH_MAX_COUNT 100000000

/* Reads a mesh file. STL (binary and ASCII, told apart by content) and OBJ (n-gons are triangulated, all
   objects are joined) are built in; other endings go to assimp when the library was built with it, else
   KN_UNSUPPORTED. Identical STL vertices are merged. Every number is finite and every index valid on success.
   Errors name file:line (text) or file:offset (binary). On failure *out is empty. Memory is bounded by a
   multiple of the file size. */
KN_API kn_status kn_mesh_data_load(kn_mesh_data* out, const char* path);

/* The same from memory; the ending of `name` chooses the format and `name` appears in messages. */
KN_API kn_status kn_mesh_data_read(kn_mesh_data* out, const char* name, const void* bytes, size_t size);

/* A mesh from arrays (copied); the same checks as a file. */
KN_API kn_status kn_mesh_data_create(kn_mesh_data* out, const double* vertices, int32_t nvertex,
                                     const int32_t* triangles, int32_t ntriangle);

KN_API void kn_mesh_data_free(kn_mesh_data* mesh); /* mesh may be NULL or empty */

/* Multiplies coordinates by s; an odd number of negative factors also turns every triangle, so that it still
 * faces out. */
KN_API kn_status kn_mesh_data_scale(kn_mesh_data* mesh, const double s[3]);

/* x := R x + p. */
KN_API kn_status kn_mesh_data_transform(kn_mesh_data* mesh, const kn_pose* pose);

/* Merges vertices closer than `tolerance` (0: identical only) to the first of them, drops triangles that lose
   a corner and vertices of no triangle (a mesh without triangles keeps its vertices). */
KN_API kn_status kn_mesh_data_weld(kn_mesh_data* mesh, double tolerance);

/* What a mesh is, for deciding how to use it. */
typedef struct kn_mesh_info {
  double low[3], high[3]; /* bounding box */
  double volume;          /* signed; meaningful when closed */
  double area;
  int32_t open_edges;        /* edges with one triangle */
  int32_t nonmanifold_edges; /* edges with more than two triangles */
  int32_t flipped_edges;     /* edges whose two triangles run the same way */
  int32_t degenerate;        /* triangles of (relative) area zero */
  bool closed;               /* no open, no non-manifold and no flipped edge, at least four triangles */
} kn_mesh_info;

KN_API kn_status kn_mesh_data_inspect(kn_mesh_info* out, const kn_mesh_data* mesh);

/* Whether formats beyond STL and OBJ can be read (assimp was there at build time). */
KN_API bool kn_mesh_has_assimp(void);

KN_END_DECLS
#endif
