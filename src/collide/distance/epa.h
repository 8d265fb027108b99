/* Expanding polytope: how deep two cores overlap. */
#ifndef KN_COLLIDE_EPA_H
#define KN_COLLIDE_EPA_H

#include "base/isa.h"
#include "collide/distance/gjk.h"

#define KN_EPA_VERTICES 200
#define KN_EPA_FACES    (2 * KN_EPA_VERTICES)
#define KN_EPA_GROUP    8 /* keys are looked at in groups of so many */

typedef struct kn_epa_face {
  v3 n;       /* unit, outward */
  double d;   /* n.w on the face; next to n */
  int v[4];   /* vertices, counter-clockwise seen from outside; three */
  int adj[4]; /* across edge v[i] v[i+1]: the face there and which of its edges it is, 4 face + edge; three */
} kn_epa_face;

typedef struct kn_epa {
  kn_gjk_point p[KN_EPA_VERTICES];
  kn_epa_face face[KN_EPA_FACES];
  double key[KN_EPA_FACES]; /* d of living faces, INFINITY of dead ones and of the rest of a group */
  int free_list[KN_EPA_FACES];
  int vertices, faces, free_count;
  double eps; /* absolute tolerance of the visibility test */
} kn_epa;

typedef enum kn_epa_state {
  KN_EPA_DONE,   /* certified within tol */
  KN_EPA_FLAT,   /* M has no thickness along out->n: touching with gap 0 */
  KN_EPA_FULL,   /* out of room; best bounds returned (curved cores) */
  KN_EPA_REFUSED /* degenerate geometry: use the axis search */
} kn_epa_state;

/* Expands the simplex of g until the nearest face is within tol of the surface of M. out: the answer (normal
   from B towards A, gap = -depth). upper - lower bounds the depth's error. tol: absolute; negative: relative
   to the depth. */
kn_epa_state kn_epa_run(kn_epa* e, kn_core_gap* out, double* lower, double* upper, const kn_core* A,
                        const kn_core* B, const kn_gjk* g, double tol);

/* Per instruction set. */
KN_KERNEL(kn_epa_state, kn_epa_expand,
          (kn_epa * e, kn_core_gap* out, double* lower, double* upper, const kn_core* A, const kn_core* B,
           const kn_gjk* g, double tol));

#endif
