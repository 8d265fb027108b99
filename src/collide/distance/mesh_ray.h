/* Rays against the bounding tree of a triangle mesh. */
#pragma once

#include "model/trimesh.h"

/* First triangle met by o + t d with 0 <= t <= *t (local frame); *t becomes its parameter. -1: none. Ties go
   to the smaller index. Watertight: a ray cannot pass between two triangles that share an edge. */
int32_t kn_mesh_ray(const kn_mesh* mesh, double* t, const double o[3], const double d[3]);
