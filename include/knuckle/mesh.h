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

/* What is wrong with a mesh: open edges, turned triangles, … */
KN_API kn_status kn_mesh_data_inspect(kn_mesh_info* out, const kn_mesh_data* mesh);

/* Whether formats beyond STL and OBJ can be read (assimp was there at build time). */
KN_API bool kn_mesh_has_assimp(void);

/* Convex hulls. */
typedef struct kn_hull_settings {
  double merge; /* neighbouring faces within merge * thickness of one plane become one face, and vertices that
                this makes redundant are dropped; 0 … 1e-3, default 1e-9. Meshes in single precision: 1e-6. */
  double
      thicken; /* m; flat, straight or single-point input is extruded to this width; 0 (default) refuses it */
  int32_t max_vertices; /* stop after about this many vertices, farthest points first; 0 (default) = no limit,
                           else >= 4 */
} kn_hull_settings;

/* The default choices. */
KN_API kn_hull_settings kn_hull_default(void);

/* Hull of n points (3 n numbers). settings may be NULL. Duplicate and inner points are fine. KN_BAD_MODEL
   when the points are flat (thinner than 1e-10 of their extent) and thicken is 0; KN_NOT_FINITE for a NaN or
   infinity. */
KN_API kn_status kn_hull_create(kn_hull** out, const double* points, int32_t n,
                                const kn_hull_settings* settings);
KN_API void kn_hull_destroy(kn_hull* hull);

/* What is inside: counts, and the triangles of its surface (fans of the faces) as a mesh to draw or save. */
KN_API void kn_hull_counts(const kn_hull* hull, int32_t* nvertex, int32_t* nface, int32_t* nedge);
KN_API kn_status kn_hull_triangles(kn_mesh_data* out, const kn_hull* hull);

/* Static triangle mesh with a bounding tree. Triangles without area are dropped (their number in *dropped,
   may be NULL); an empty result is KN_BAD_MODEL. The surface need not be closed. Queries do not allocate. */
KN_API kn_status kn_mesh_create(kn_mesh** out, const kn_mesh_data* data, int32_t* dropped);
KN_API void kn_mesh_destroy(kn_mesh* mesh);
KN_API void kn_mesh_counts(const kn_mesh* mesh, int32_t* nvertex, int32_t* ntriangle);
KN_API kn_status kn_mesh_triangles(kn_mesh_data* out, const kn_mesh* mesh); /* a copy, to draw or save */

/* Triangles whose bounds (rounded outwards) meet the box [lo, hi] in the mesh's frame, in tree order. *count
   is the number found; KN_NO_ROOM when it exceeds capacity (then the first `capacity` are in out). */
KN_API kn_status kn_mesh_overlap(int32_t* out, int32_t* count, int32_t capacity, const kn_mesh* mesh,
                                 const double lo[3], const double hi[3]);

KN_END_DECLS
#endif
