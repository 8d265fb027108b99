/* Constants of the links and dofs arranged for the dynamics loops. Built from the compiled links, once per
   kn_data: each thread reads its own copy. */
#pragma once

#include "model/model.h"
#include "spatial/v4.h"

/* Direction of one dof: the columns of the joint map. Multi-dof joints are chains of such dofs with no offset
   between them. */
typedef enum kn_dof_kind { KN_DOF_ROTATE, KN_DOF_SLIDE, KN_DOF_SCREW } kn_dof_kind;

typedef enum kn_turn { /* columns of R0: T = P R0 */
                       KN_TURN_ANY,
                       KN_TURN_SAME,       /* x y z */
                       KN_TURN_KEEP_X,     /* x, the others mixed */
                       KN_TURN_KEEP_Y,     /* y, the others mixed */
                       KN_TURN_SWAP_YZ,    /* x, +-z, +-y */
                       KN_TURN_SWAP_XZ,    /* +-z, y, +-x */
                       KN_TURN_ZXY,        /* z x y */
                       KN_TURN_YZX,        /* y z x */
                       KN_TURN_SIGNED_ZXY, /* with signs */
                       KN_TURN_SIGNED_YZX
} kn_turn;

typedef struct kn_link_const {
  kn_v4 R0[3]; /* columns, in parent axes */
  kn_v4 p0;    /* parent axes */
  kn_v4 h;     /* mass x centre of mass, link axes */
  kn_v4 M[3];  /* mass times the unit matrix */
  kn_v4 I[3];  /* inertia about the link origin, link axes, columns */
  kn_v4 T[3];  /* of a rod: the moment across its axis times the unit matrix */
  double mass, pitch;
  double rod_I, rod_h; /* of a rod: moment along the axis minus that across; h along the axis */
  double along;        /* p0 along its axis */
  int32_t parent, type, q, v, nv;
  int32_t junction, last_child; /* more than one child; the last one of its parent */
  int32_t
      turn; /* R0 leaves x (1) or y (2) where it is, has the columns z x y (3) or y z x (4), or none (0) */
  int32_t frame;      /* R0 in more cases, see frame_turn */
  int32_t diagonal;   /* I is diagonal */
  int32_t rod;        /* the link axis about which I is round and on which the centre of mass lies, or -1 */
  int32_t p_axis;     /* the parent axis along which p0 points, or -1 */
  int32_t next_hinge; /* this link and the next are hinges, and the next is its child */
  int32_t angle;      /* index among the links that turn about z, or -1 */
} kn_link_const;

/* An actuator of one hinge, slide or screw: f = gain u + bias0 + bias1 (gear q) + bias2 (gear v). */
typedef struct kn_motor {
  double gear, gain, bias[3];
  double ctrl[2], force[2];  /* ranges, infinite where there is none */
  double stiffness, damping; /* of its dof, while the force is within its range */
  int32_t q, v;              /* q = -1: an actuator of another kind */
} kn_motor;

/* Four motors, unless one of them is of another kind; beside: of neighbouring coordinates and dofs. */
typedef struct kn_motor_four {
  double gear[4], gain[4], bias[3][4], ctrl[2][4], force[2][4], stiffness[4], damping[4];
  int32_t q[4], v[4];
  bool alike, beside;
} kn_motor_four;

struct kn_layout {
  kn_link_const* link;    /* nlink */
  int32_t* dof_parent;    /* nv: the dof before it on the way to the root, -1 */
  int32_t* dof_kind;      /* nv */
  int32_t* angle_q;       /* nangle + 8: coordinate of each turning link */
  double* angle_ref;      /* nangle + 8 */
  double* grav_mass;      /* nlink: sum of gravcomp x mass */
  kn_v4* grav_h;          /* nlink: sum of gravcomp x mass x com, link axes */
  kn_motor* motor;        /* nu */
  kn_motor_four* four;    /* nu / 4: the same, four and four */
  kn_frame_place* anchor; /* 2 nloop: both ends of each loop */
  double *lower, *upper;  /* nq: bounds of hinges and slides, infinite elsewhere and behind their end */
  int ball_limits;        /* limits of balls: no bounds of one coordinate */
  int nangle;
  int depth; /* most dofs on a path to the root */
  int has_gravcomp, has_springs, has_armature;
  int planar;       /* hinges only, all axes of a tree parallel, no gravity compensation */
  int one_plane;    /* planar, and all roots have the same axes */
  int chain;        /* planar, and one chain: link i hangs on link i - 1 */
  int brief;        /* a chain of fewer than KN_CHAIN_LEAST links */
  double* chain_of; /* KN_CHAIN_CONSTS x kn_chain_stride if chain */
  double down[3];   /* chain: gravity in the root's basis */
  double start[3];  /* chain: the root's origin in the plane, and how much gravity points along it */
};

/* Constants of the links of a chain side by side: R0 about z, p0, h, mass, I about z, and how far the
   origin is out of the root's plane. Of the root R0 and p0 in the plane are those of the basis, hence none.
 */
enum {
  KN_CHAIN_COS,
  KN_CHAIN_SIN,
  KN_CHAIN_PX,
  KN_CHAIN_PY,
  KN_CHAIN_PZ,
  KN_CHAIN_HX,
  KN_CHAIN_HY,
  KN_CHAIN_HZ,
  KN_CHAIN_MASS,
  KN_CHAIN_I,
  KN_CHAIN_Z,
  KN_CHAIN_ALL_COS, /* the turns R0 up to it */
  KN_CHAIN_ALL_SIN,
  KN_CHAIN_CONSTS
};
enum { KN_CHAIN_LEAST = 8 }; /* links: of fewer, numbers side by side save nothing */
static inline int kn_chain_stride(int nlink) { return ((nlink + 7) & ~7) + 8; }

/* Takes its memory from the arena (measuring or real); with a real arena it is filled. */
kn_layout* kn_layout_take(kn_arena* arena, const kn_model* model);
