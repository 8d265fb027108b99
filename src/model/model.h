/* The compiled model. Links are what the dynamics sees: one joint primitive each, bodies welded together
   merged.

   A body with several joints, or with a compound joint, becomes a chain of links; all but the last have no
   mass. Links are in depth-first order: parent < own index, the first child is the next link. Dofs follow
   link order. Link frame: origin at the joint's anchor; z is the axis of a hinge, slide or screw; ball: axes
   of the body at the identity quaternion; free: the body frame.  Placement of link i in its parent's link
   frame: hinge   R = R0 Rz(q - ref),            p = p0 slide   R = R0,                        p = p0 + R0 z
   (q - ref) screw   R = R0 Rz(q - ref),            p = p0 + R0 z pitch (q - ref) ball    R = R0 R(quat), p =
   p0 free    R = R(quat), p = position      (parent is the world) */
#pragma once

#include "base/arena.h"
#include "knuckle/model.h"

typedef enum kn_link_type {
  KN_LINK_HINGE,
  KN_LINK_SLIDE,
  KN_LINK_SCREW,
  KN_LINK_BALL,
  KN_LINK_FREE
} kn_link_type;

typedef struct kn_link {
  int32_t parent; /* link, -1: world */
  int32_t type;   /* kn_link_type */
  int32_t q, v;   /* first coordinate, first dof */
  int32_t nq, nv;
  int32_t end;   /* one past the last link of its subtree */
  int32_t joint; /* the model joint it belongs to */
  double pitch;  /* screw, m/rad */
  double ref;    /* scalar joints: coordinate at which R0, p0 hold */
  double R0[9], p0[3];
  double mass, mc[3]; /* kg; mass × centre of mass in the link frame */
  double I[6];        /* about the link origin, link axes: xx yy zz xy xz yz */
} kn_link;

/* Where a body sits: link (or -1 when fixed to the world) and its frame in the link's frame (world frame). */
typedef struct kn_body_place {
  int32_t link;
  kn_body parent;
  kn_pose in_link;
} kn_body_place;

typedef struct kn_geom_place {
  int32_t link;
  kn_body body;
  kn_pose in_link;
} kn_geom_place;

/* A one-sided bound on a scalar coordinate (or on a ball joint's angle: side 0). */
typedef struct kn_limit {
  kn_joint joint;
  int32_t link, q, v;
  double bound;
  int32_t side; /* +1: q >= bound, -1: q <= bound, 0: ball angle <= bound */
} kn_limit;

/* Where a frame sits: link (or -1 when fixed to the world) and its pose in the link's frame (world frame). */
typedef struct kn_frame_place {
  int32_t link;
  kn_pose in_link;
} kn_frame_place;

typedef struct kn_actuator_place { /* transmitted dofs; q = -1: a dof of a ball or free joint (no length) */
  int32_t count;                   /* 0: through a site */
  int32_t q[8], v[8];
  double gear[8];
  kn_frame_place site, refsite;
  int32_t common; /* with a refsite: last link above both sites, -1: the world */
} kn_actuator_place;

typedef struct kn_layout kn_layout; /* constants arranged for the dynamics loops: src/model/layout.h */

/* Pairs of geoms that are asked for, pairs of bodies that never touch. */
typedef struct kn_model_rules {
  int npair, nexclusion;
  kn_pair_def* pair;
  kn_body (*exclusion)[2];
  uint64_t *pair_key, *exclusion_key; /* (smaller, larger) index, ascending */
  int32_t* pair_order;                /* npair: pair of each key */
} kn_model_rules;

/* What is measured; the motion does not depend on it. */
typedef struct kn_model_sense {
  int count;
  kn_sensor_def* sensor;
  int32_t* first; /* count + 1: first number of each among all */
  double magnetic[3];
} kn_model_sense;

struct kn_model {
  kn_arena arena;
  char* name;
  int nq, nv, nu, nlink, nbody, njoint, ngeom, nframe, nloop, nkey, nlimit;
  double gravity[3];
  double mass;
  uint64_t hash;

  kn_link* link;                     /* nlink */
  kn_body_place* place;              /* nbody */
  kn_body_def* body;                 /* nbody, names owned by the model, inertia resolved */
  kn_joint_def* joint;               /* njoint */
  int32_t *joint_link, *joint_nlink; /* njoint: first link and number of links (0 for fixed) */
  kn_geom_def* geom;                 /* ngeom */
  kn_geom_place* geom_place;         /* ngeom */
  kn_frame_def* frame;               /* nframe */
  kn_actuator_def* actuator;         /* nu */
  kn_actuator_place* transmission;   /* nu */
  kn_loop_def* loop;                 /* nloop */
  kn_keyframe_def* key;              /* nkey */
  kn_model_rules rules;
  kn_model_sense sense;
  kn_limit* limit; /* nlimit */

  /* per dof, nv */
  double *armature, *damping, *stiffness, *friction;
  int32_t* dof_link; /* nv: the link a dof belongs to */
  /* per coordinate, nq */
  double *q_ref, *q_spring;

  struct kn_shape_pool* shapes; /* hulls and meshes the model owns a share of, or NULL */
};

/* Kinematic ancestor test: is link a on the path from link b to the root (a == b included)? -1 is everyone's
 * ancestor. */
static inline bool kn_link_above(const kn_model* m, int a, int b) {
  return a < 0 || (b >= a && b < m->link[a].end);
}

/* The first link of the tree that a link belongs to; -1 (the world) stays. */
static inline int kn_root_link(const kn_model* m, int link) {
  if (link >= 0 && link < m->link[0].end) return 0; /* of the first tree, often the only one */
  while (link >= 0 && m->link[link].parent >= 0) link = m->link[link].parent;
  return link;
}

/* The first dof of the tree that a dof belongs to. */
static inline int kn_root_dof(const kn_model* m, int dof) {
  return m->link[kn_root_link(m, m->dof_link[dof])].v;
}

/* Which geoms may touch, and how the surfaces of a pair behave together. */
/* kn_model_collides, in this order: explicit pairs always; never within one link or between two that
   are fixed to the world; not between a body and its parent, unless the parent is fixed to the world (as in
   MuJoCo); not between excluded bodies; otherwise by the contact bits. */

/* The pair's surface: that of an explicit pair; otherwise kn_material_combine of the two geoms. */
void kn_material_pair(kn_material* out, const kn_model* model, kn_geom a, kn_geom b);
int kn_condim_pair(const kn_model* model, kn_geom a, kn_geom b);
/* Whether friction has more than one coefficient: torsion (condim 4 and more), rolling (6), a second mu. */
bool kn_friction_rich(const kn_material* material, int condim);
kn_geom kn_model_rich(const kn_model* model);  /* the first geom whose surface or pair has; -1: none */
kn_geom kn_model_spins(const kn_model* model); /* … has torsion or rolling */
double kn_margin_pair(const kn_model* model, kn_geom a, kn_geom b);

/* mu, torsion, roll of the higher priority, of equal ones the larger; e the larger. Compliance in series, a
   rigid side being infinitely stiff: 1/K = 1/Ka + 1/Kb, the same for C, Kt, Ct. */
void kn_material_combine(kn_material* out, const kn_material* a, const kn_material* b);
