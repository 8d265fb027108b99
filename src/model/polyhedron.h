/* Volume and surface integrals over triangles, shared by meshes and hulls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Moments of a body of unit density: volume (or area), ∫x and ∫x xᵀ (xx yy zz xy xz yz). */
typedef struct kn_moments {
  double m0, m1[3], m2[6];
} kn_moments;

/* Adds the tetrahedron (o, a, b, c), x measured from o. With `absolute` its volume counts as positive. */
void kn_moments_add_tetrahedron(kn_moments* m, const double o[3], const double a[3], const double b[3],
                                const double c[3], bool absolute);
/* Adds the triangle (a, b, c) as a surface, x measured from o. */
void kn_moments_add_triangle(kn_moments* m, const double o[3], const double a[3], const double b[3],
                             const double c[3]);

/* Centre (from the moments' origin) and inertia about it, xx yy zz xy xz yz. m0 must be positive. */
void kn_moments_inertia(double com[3], double inertia[6], const kn_moments* m);
