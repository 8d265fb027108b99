/* Derived values and scratch of the dynamics, one per thread. Fields are grouped by the function that writes
   them. World axes throughout; vectors belong to link origins; v4 lane 3 is zero. */
#pragma once

#include "dynamics/tree/dynamics.h"
#include "model/layout.h"
#include "model/state.h"

/* Kinematics of one position and velocity. */
typedef struct kn_link_kin {
  kn_v4 R[3]; /* position: columns of the link axes */
  kn_v4 o;    /* origin */
  kn_v4 r;    /* origin minus the parent's */
  kn_v4 w;    /* velocity: angular */
  kn_v4 vo;   /* of the origin */
} kn_link_kin;

typedef struct kn_dof_motion { /* motion of a dof at its link's origin */
  kn_v4 sa, sl;                /* angular, linear */
} kn_dof_motion;

typedef struct kn_link_weight { /* of a link by itself, world axes */
  kn_v4 I[3], h;                /* inertia about its origin, mass x centre of mass from there */
} kn_link_weight;

typedef struct kn_kin {
  kn_link_kin* link;      /* nlink */
  kn_link_weight* weight; /* nlink: kn_dyn_forward */
  bool weighed;           /* weight is that of these poses */
  kn_dof_motion* dof;     /* nv */
  double* plane;          /* KN_PLANE_ROWS x kn_plane_stride if layout->planar */
  bool lean;              /* link and dof are not filled, plane is: kn_data_fill */
} kn_kin;

/* Rows of kin.plane: cosine and sine of the links' angles, their origins, in the basis of their root; with
   the velocity (kn_dyn_velocity, kn_dyn_plane_velocity) their spins and the velocities of their origins. */
enum { KN_PLANE_C, KN_PLANE_S, KN_PLANE_X, KN_PLANE_Y, KN_PLANE_W, KN_PLANE_VX, KN_PLANE_VY, KN_PLANE_ROWS };
static inline int kn_plane_stride(int nlink) { return (nlink + 7) & ~7; }

/* Factors of one dof. g belongs to the parent's origin for the first dof of a link, to the link's own for the
   others; 0 for the first dof of a root. */
typedef struct kn_dof_factor {
  kn_v4 gn, gf; /* U / D */
  double dinv;  /* 1 / D */
  double e;     /* tau - s.p of the last sweep */
} kn_dof_factor;

/* Accelerations and forces of a link. */
typedef struct kn_link_dyn {
  kn_v4 wb, al, a; /* angular velocity, accelerations */
  kn_v4 n, f;      /* forces, accumulated from the tips */
} kn_link_dyn;

/* Articulated inertia: (n; f) = [I Gᵀ; G M] (alpha; a), columns. */
typedef struct kn_art {
  kn_v4 I[3], G[3], M[3];
} kn_art;

/* A link of a mechanism in a plane (planar_kernel.h), in the basis of its root. */
typedef struct kn_planar_link {
  double c, s, w, ax, ay; /* angle, angular velocity, acceleration of the origin at qdd = 0 */
  double rx, ry, hx, hy;  /* origin from the parent's; mass x centre of mass */
  double z, gn, gfx, gfy; /* e / D and the factors */
  double al, bx, by;      /* accelerations */
  double vw, val, vx, vy; /* inverse dynamics: angular velocity and accelerations */
  double in[3], on[3];    /* inverse dynamics: moment and force that the link needs; outside ones */
  double sum[9];          /* of the children, at junctions */
  double u[6];            /* rows: turning and motion of the origin, two at a time */
  int64_t root;
} kn_planar_link;

/* Rows of a block as forces in the plane, two and two (rows_planar.c). Kept while poses and block are the
   same. */
typedef struct kn_planar_arrow {
  int64_t stamp;   /* planar_stamp of the poses; 0: none */
  double point[3]; /* of the block, as are link and */
  double dir[9];
  int32_t pairs, top;    /* of rows that take part: 0 … 2; largest link they act on */
  int32_t row[2][2];     /* in the block; the same: one alone */
  int32_t link[2];       /* of the sides; -1: none */
  double force[2][2][6]; /* of a pair on a side: moment about the link's origin, force */
} kn_planar_arrow;
/* Rows of a chain's numbers side by side (chain_kernel.h), kn_chain_stride apart. */
enum {
  KN_CHAIN_RX, /* origin from the parent's; mass x centre of mass; of the poses of the factors */
  KN_CHAIN_RY,
  KN_CHAIN_MX,
  KN_CHAIN_MY,
  KN_CHAIN_ON,                  /* outside moments and forces, as planar[].on: three rows */
  KN_CHAIN_A = KN_CHAIN_ON + 3, /* scratch */
  KN_CHAIN_B,
  KN_CHAIN_C,
  KN_CHAIN_D,
  KN_CHAIN_ROWS
};

enum {
  KN_ARROWS = 8,               /* blocks that are kept */
  KN_TILE = 16,                /* nodes of one tile of the compliance functions */
  KN_TILE_ROWS = 12 * KN_TILE, /* two tiles of 6 rows */
  KN_RK = 8                    /* vectors of nv kept by the integrators */
};

struct kn_data {
  const kn_model* model;
  kn_layout* layout; /* its own */
  kn_arena arena;
  int factored; /* 0: factors are not those of the position; 1: without extra; 2: with */

  double *sin, *cos; /* nlink, padded to 8: of the turning links, position stage */
  kn_kin kin;        /* kn_dyn_position, kn_dyn_velocity */
  kn_kin aux;        /* the same for a second position: energy, momentum; velocities of rows */
  double* v;         /* nv: velocity of kn_dyn_velocity */
  double* zero;      /* nv zeros */
  double zero3[3], zero6[6];

  kn_dof_factor* fac;            /* nv: kn_dyn_factor, kn_dyn_forward */
  kn_link_dyn* dyn;              /* nlink: kn_dyn_accelerate, bias, multiply, rows */
  const kn_link_kin* planar_kin; /* planar holds these poses and their factors; NULL: none */
  double* planar_dinv;           /* nv: 1 / D */
  int64_t planar_stamp;          /* changes with them */
  kn_planar_link* planar;        /* nlink if layout->planar */
  kn_planar_arrow* arrow;        /* KN_ARROWS and one */
  bool planar_loaded;            /* some planar[].on is not zero */
  bool may_be_lean;              /* whoever reads poses and factors asks for them first (kn_data_fill) */
  bool lean_factors;             /* fac is not filled, planar is */
  double* chain;                 /* KN_CHAIN_ROWS x kn_chain_stride if layout->chain */
  kn_art* art;                   /* nlink: articulated inertias at junctions, composite inertias */

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

/* From now on of a model that differs as kn_model_vary differs. */
void kn_data_adopt(kn_data* data, const kn_model* model);
/* From now on a mechanism in a plane is treated as any other. */
void kn_data_in_space(kn_data* data);

/* Pose of a link from kin.plane, layout->chain. */
static inline kn_v4 kn_plane_origin(const kn_kin* kin, const kn_data* d, int i) {
  const kn_v4* e = d->layout->link[0].R0;
  int n = kn_plane_stride(d->model->nlink);
  double z = d->layout->chain_of[KN_CHAIN_Z * kn_chain_stride(d->model->nlink) + i];
  return v4_add3(v4_scale(e[0], kin->plane[KN_PLANE_X * n + i]),
                 v4_scale(e[1], kin->plane[KN_PLANE_Y * n + i]), v4_scale(e[2], z));
}
static inline void kn_plane_axes(kn_v4 R[3], const kn_kin* kin, const kn_data* d, int i) {
  const kn_v4* e = d->layout->link[0].R0;
  int n = kn_plane_stride(d->model->nlink);
  double c = kin->plane[KN_PLANE_C * n + i], s = kin->plane[KN_PLANE_S * n + i];
  R[0] = v4_add(v4_scale(e[0], c), v4_scale(e[1], s));
  R[1] = v4_add(v4_scale(e[0], -s), v4_scale(e[1], c));
  R[2] = e[2];
}

/* Shared by the smooth integrators. */
typedef struct kn_integrand { /* one step's surroundings */
  kn_state* state;
  const kn_model* model;
  kn_data* data;
  kn_force_fn force;
  void* context;
} kn_integrand;

/* a = acceleration of the model at (t, q, v) with springs, dampers, actuators, applied and controller forces.
 */
kn_status kn_smooth_acceleration(double* a, const kn_integrand* s, double t, const double* q,
                                 const double* v);
kn_status kn_adaptive_step(const kn_integrand* s, double dt, const kn_integrate_settings* settings);
void kn_adaptive_destroy(kn_data* data);
