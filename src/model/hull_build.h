/* Steps of building a hull: points -> polygons (qhull) -> merged polygons -> kn_hull's arrays. */
#pragma once

#include "knuckle/mesh.h"

/* A closed surface of polygons over given points; loops counter-clockwise seen from outside. */
typedef struct kn_polygons {
  int32_t nface, nface_room;
  int32_t nloop, nloop_room;
  int32_t* start; /* nface + 1 */
  int32_t* loop;  /* nloop point indices */
} kn_polygons;

kn_status kn_polygons_begin(kn_polygons* p);
kn_status kn_polygons_corner(kn_polygons* p, int32_t vertex);
kn_status kn_polygons_end_face(kn_polygons* p);
void kn_polygons_free(kn_polygons* p);

/* Every loop from its corner of least index, faces in the order of their loops: what a surface is called does not depend on who
   listed it. */
kn_status kn_polygons_sort(kn_polygons* p);

/* Half edges of a surface: he runs from loop[he] to loop[next[he]] and face[he] is on its left. */
typedef struct kn_halfedges {
  int32_t* next;
  int32_t* face;
  int32_t* twin;
} kn_halfedges;

/* KN_BAD_MODEL when an edge does not have exactly two faces that run it both ways. */
kn_status kn_halfedges_create(kn_halfedges* out, const kn_polygons* p, int32_t npoint);
void kn_halfedges_free(kn_halfedges* h);

/* Faces of the hull of points (about unit size); at most about max_vertices when that is positive. */
kn_status kn_hull_faces(kn_polygons* out, const double* points, int32_t n, int32_t max_vertices);

/* Joins neighbouring faces whose vertices lie within `tolerance` of one plane and drops vertices of fewer
   than three faces. Keeps the surface closed, or fails with KN_BAD_MODEL and leaves *out empty. */
kn_status kn_hull_merge(kn_polygons* out, const kn_polygons* in, const double* points, int32_t n,
                        double tolerance);

/* The hull with exactly these vertices and faces, as kn_hull made them before: n points, every one of them in
   a face. Nothing is trusted: KN_BAD_MODEL unless the surface is closed and convex within 2e-3 of its extent.
 */
kn_status kn_hull_from_faces(kn_hull** out, const double* points, int32_t n, kn_polygons* faces);

/* Newell's normal (length = twice the area) of a loop. */
void kn_loop_normal(double out[3], const double* points, const int32_t* loop, int32_t n);
