/* Mass, centre of mass and inertia of shapes and meshes, and principal axes. */
#ifndef KNUCKLE_MASSPROPS_H
#define KNUCKLE_MASSPROPS_H

#include "knuckle/mesh.h"

KN_BEGIN_DECLS

/* Mass, centre of mass and inertia about it. */
typedef struct kn_massprops {
  double mass;       /* kg */
  double com[3];     /* centre of mass in the shape's frame, m */
  double inertia[6]; /* about com, axes of the shape's frame: xx yy zz xy xz yz, kg m² */
} kn_massprops;

/* A solid of the given density (kg/m³). A hull is filled; a static mesh is taken as a closed surface. A plane
   has no mass: KN_BAD_ARGUMENT. */
KN_API kn_status kn_shape_massprops(kn_massprops* out, const kn_shape* shape, double density);
/* The same shape as a thin layer on its surface; density is per area, kg/m². The layer is even in thickness;
   an ellipsoid's area is Thomsen's approximation (within 1.1 %), as in MuJoCo. */
KN_API kn_status kn_shape_massprops_shell(kn_massprops* out, const kn_shape* shape, double density);

/* How the mass of a triangle mesh is spread; the four choices of MuJoCo's <mesh inertia="…">. */
typedef enum kn_mesh_inertia {
  KN_MESH_INERTIA_EXACT,  /* volume integrals of the closed, outward surface; refused when the volume is not
                             positive */
  KN_MESH_INERTIA_CONVEX, /* of the convex hull */
  KN_MESH_INERTIA_LEGACY, /* sum of the absolute tetrahedra over a centroid; over-counts meshes that are not
                             star-shaped */
  KN_MESH_INERTIA_SHELL   /* the surface, density per area */
} kn_mesh_inertia;

/* Mass properties of a triangle mesh. */
KN_API kn_status kn_mesh_data_massprops(kn_massprops* out, const kn_mesh_data* mesh, kn_mesh_inertia mode,
                                        double density);

/* Eigenvalues (descending) and axes of a symmetric 3x3 tensor given as xx yy zz xy xz yz: I = R diag(moments)
   Rᵀ with R the rotation of the quaternion (w,x,y,z). The axes are the ones MuJoCo chooses: Jacobi rotations
   of the largest off-diagonal element through at most 45°, starting from the given axes, then quarter turns
   that sort. */
KN_API kn_status kn_principal_axes(double moments[3], double quat[4], const double inertia[6]);

/* Sum of two parts in the same frame (either may be massless). */
KN_API kn_massprops kn_massprops_add(const kn_massprops* a, const kn_massprops* b);
/* The same body seen from the frame that `pose` maps into: x' = R x + p. */
KN_API kn_massprops kn_massprops_move(const kn_massprops* a, const kn_pose* pose);

KN_END_DECLS
#endif
