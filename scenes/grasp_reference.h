/* The grasps integrated without the library: the oracle of the steppers (grasp_reference.c). */
#ifndef KN_SCENES_GRASP_REFERENCE_H
#define KN_SCENES_GRASP_REFERENCE_H

#include "grasp.h"

typedef struct kn_grasp_state {
  double t, q[KN_GRASP_N], v[KN_GRASP_N];
  double eps;                /* > 0: compliant; 0: rigid */
  double K, C;               /* N/m, N s/m */
  double delta[KN_GRASP_C];  /* tangential deformation, m */
  double offset[KN_GRASP_C]; /* g0, m: δ_N = g0 - gap */
  double force[KN_GRASP_C]
              [2]; /* normal, tangential along t, on the object, at the start of the last step, N */
} kn_grasp_state;

/* The start of the task; compliant contacts touch without deformation. */
kn_grasp_state kn_grasp_start(const kn_grasp* g, double eps);
/* One step of Runge-Kutta; false when the rigid problem has no solution (of several the one with the most
   contacts is taken). */
bool kn_grasp_step(kn_grasp_state* x, const kn_grasp* g, double dt);

/* All solutions of 0 <= λ ⊥ A λ + b >= 0 that are not degenerate, those with most contacts first; room
 * for 16. */
int kn_grasp_solutions(double (*lambda)[KN_GRASP_C], const double A[16], const double b[KN_GRASP_C]);

#endif
