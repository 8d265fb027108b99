/* Derived values and scratch of the dynamics, one per thread. Fields are grouped by the function that writes
   them. World axes throughout; vectors belong to link origins; v4 lane 3 is zero. */
#ifndef KN_DYNAMICS_DATA_H
#define KN_DYNAMICS_DATA_H

#include "dynamics/dynamics.h"
#include "model/layout.h"

/* Kinematics of one position and velocity. */
typedef struct kn_kin {
  /* position */
  kn_v4* R;  /* 3 nlink: columns of the link axes */
  kn_v4* o;  /* nlink: origin */
  kn_v4* r;  /* nlink: origin minus the parent's */
  kn_v4* sa; /* nv: angular part of the dof's motion at the link origin */
  kn_v4* sl; /* nv: linear part */
  /* velocity */
  kn_v4* w;  /* nlink: angular velocity */
  kn_v4* vo; /* nlink: velocity of the origin */
} kn_kin;

/* Articulated inertia: (n; f) = [I Gᵀ; G M] (alpha; a), columns. */
typedef struct kn_art {
  kn_v4 I[3], G[3], M[3];
} kn_art;

enum {
  KN_TILE = 16,                /* nodes of one tile of the compliance functions */
  KN_TILE_ROWS = 12 * KN_TILE, /* two tiles of 6 rows */
  KN_RK = 8                    /* vectors of nv kept by the integrators */
};

struct kn_data {
  const kn_model* model;
  const kn_layout* layout;
  kn_arena arena;
  int factored; /* 0: factors are not those of the position; 1: without extra; 2: with */

  double *angle, *sin, *cos; /* nlink: scratch of the position stage */
  kn_kin kin;                /* kn_dyn_position, kn_dyn_velocity */
  kn_kin aux;                /* the same for a second position: energy, momentum; velocities of rows */
  double* v;                 /* nv: velocity of kn_dyn_velocity */
  double* zero;              /* nv zeros */
  double zero3[3];

  /* kn_dyn_factor. g belongs to the parent's origin for the first dof of a link, to the link's own for the
     others; 0 for the first dof of a root. */
  kn_v4 *gn, *gf; /* nv: U / D */
  double* dinv;   /* nv: 1 / D */
  double* diag;   /* nv: armature and extra */

  /* kn_dyn_accelerate, bias, multiply, rows: accelerations and forces of the links */
  kn_v4 *wb, *al, *a; /* nlink: angular velocity, accelerations */
  kn_v4 *n, *f;       /* nlink: forces, accumulated from the tips */
  double* e;          /* nv */
  kn_art* art;        /* nlink: articulated or composite inertias */

  /* compliance.c */
  double* ups;  /* nlink x 36 */
  double* push; /* 2 KN_TILE x 36 */
  kn_rows rows; /* KN_TILE_ROWS */
  double* tile; /* KN_TILE_ROWS² */

  double* tmp; /* nv: scratch of the public functions */
  double* rk;  /* KN_RK x nv and 4 x nq: integrators */
  double* rkq;
  double* outside; /* nv: forces that are not in the energy */
  void* ark;       /* SUNDIALS memory, made on first use */
};

#endif
