/* Small value types shared by the public headers. SI units; world frame right-handed. */
#ifndef KNUCKLE_TYPES_H
#define KNUCKLE_TYPES_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

/* Typed indices into a model (or spec); -1 means none, or the world where a body is meant. */
typedef int32_t kn_body;
typedef int32_t kn_joint;
typedef int32_t kn_geom; /* a shape attached to a body */
typedef int32_t kn_frame;
typedef int32_t kn_actuator;
typedef int32_t kn_loop;
typedef int32_t kn_sensor;
#define KN_WORLD (-1)

/* Placement of a frame: x_world = R x_local + p. R is row-major. */
typedef struct kn_pose {
  double R[9];
  double p[3];
} kn_pose;

/* Shapes. */
typedef enum kn_shape_type {
  KN_SHAPE_PLANE,     /* half-space z <= 0 of its frame; normal +z; infinite */
  KN_SHAPE_SPHERE,    /* size[0] = radius */
  KN_SHAPE_CAPSULE,   /* size[0] = radius, size[1] = half length of the core along z */
  KN_SHAPE_CYLINDER,  /* size[0] = radius, size[1] = half length along z */
  KN_SHAPE_ELLIPSOID, /* size = semi-axes */
  KN_SHAPE_BOX,       /* size = half extents */
  KN_SHAPE_HULL,      /* convex hull of points, kn_hull */
  KN_SHAPE_MESH,      /* static triangle mesh, kn_mesh */
  KN_SHAPE_COUNT
} kn_shape_type;

typedef struct kn_hull kn_hull; /* immutable convex polyhedron: vertices, faces, edges (collide.h) */
typedef struct kn_mesh kn_mesh; /* immutable triangle mesh with its bounding tree (collide.h) */

/* A shape in its own frame. hull and mesh are borrowed. */
typedef struct kn_shape {
  kn_shape_type type;
  double size[3];
  const kn_hull* hull;
  const kn_mesh* mesh;
} kn_shape;

/* How a surface behaves in contact. Of two surfaces the pair's values are: those of an explicit pair;
   otherwise mu, torsion and roll of the surface with the higher priority (equal: the larger value), e the
   larger one, compliance in series. */
typedef enum kn_contact_law { KN_CONTACT_RIGID, KN_CONTACT_COMPLIANT } kn_contact_law;

/* How a surface behaves in contact. */
typedef struct kn_material {
  double mu;          /* sliding friction coefficient, >= 0, may be INFINITY */
  double torsion;     /* torsional friction length, m; 0 = none */
  double roll;        /* rolling friction length, m; 0 = none */
  double e;           /* restitution coefficient, 0 … 1 */
  kn_contact_law law; /* rigid unless said */
  double K;           /* normal stiffness of the compliant law, N/m */
  double C;           /* normal damping of the compliant law, N s/m */
  double Kt, Ct;      /* tangential ones; 0 = same as normal */
  int priority;       /* see above */
  double mu2;         /* explicit pairs: along the second tangent of the contact's frame; 0 = as mu */
} kn_material;

KN_API kn_material kn_material_default(void); /* mu 1, e 0, rigid */

/* One contact point as collision detection reports it. */
typedef struct kn_contact_point {
  uint64_t key;     /* feature pair within the shape pair; stable while the same features touch */
  double normal[3]; /* unit, from B towards A, world axes */
  double gap;       /* signed distance, m; negative when overlapping */
  double on_a[3];   /* witness on A's surface, world */
  double on_b[3];   /* witness on B's surface, world */
} kn_contact_point;

KN_END_DECLS
#endif
