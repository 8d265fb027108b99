/* What the batch kernels work on: one block of KN_LANES worlds at a time. Values are arrays of lanes. */
#pragma once

#include "base/isa.h"
#include "knuckle/batch.h"
#include "model/layout.h"

typedef double kn_lanes[KN_LANES];

enum { KN_BATCH_ROOT = 8, KN_BATCH_OTHER, KN_BATCH_LEAF };

/* What the sweeps need of a link, in as few cache lines as it takes: its zeros (bit k of axes: component k is
   not zero) and, of kn_link_const, what most links use. */
typedef struct kn_batch_const {
  int32_t parent, type, v, nv, angle;
  int32_t kind; /* p_axes of a bare hinge with a parent and a named R0, + KN_BATCH_LEAF if its `tip` is known;
                   a hinge on the world: KN_BATCH_ROOT */
  /* R0 with entries 0 and ±1 (most robots) only gives axes new names and signs: component k in the joint's
     axes is component from[k] in the parent's, its sign changed by flip[k]. */
  int32_t named;
  int32_t from[3];
  int32_t flips; /* bit k: the sign of component k changes */
  int32_t p_axes, h_axes;
  int32_t bare; /* a hinge without armature: zeros are left behind */
  int32_t leaf; /* no child */
  int32_t last_child;
  int64_t flip[3];
  double p[3]; /* p0 in the joint's axes, R0ᵀ p0 */
  int32_t take,
      give; /* where children leave their load, and where this link does: 0, or the junction's place */
  int32_t diagonal;
  double mass, I[3], h[3], twist[3]; /* the diagonal of I; I_zz - I_yy and so on */
  uint16_t load_to[27]; /* `from` for the entries of a kn_batch_load going to the parent, in bytes */
  double tip[6]; /* what a bare hinge leaves of a leaf with diagonal I: M xx, yy, xy; 1/D; g of f x, y */
} kn_batch_const;

typedef struct kn_batch_link { /* in the link's axes */
  kn_lanes w[3], al[3], a[3];  /* at qdd = 0; in the last sweep what qdd adds to al and a lies in w and al */
  kn_lanes R[9], slide;        /* ball and free; slide and screw */
} kn_batch_link;

typedef struct kn_batch_angle {
  kn_lanes c, s;
} kn_batch_angle;

typedef struct kn_batch_dof {
  kn_lanes g[6], z; /* U/D; e/D */
} kn_batch_dof;

typedef struct kn_batch_load { /* I xx yy zz xy xz yz; G row-major; M like I; force n, f */
  kn_lanes I[6], G[9], M[6], n[3], f[3];
} kn_batch_load;

typedef struct kn_batch_work {
  const kn_model* model;
  const kn_layout* layout;
  kn_batch_const* fixed; /* nlink */
  kn_batch_link* world;  /* 1: at rest, accelerating by -gravity */
  kn_batch_link* link;   /* nlink */
  kn_batch_angle* angle; /* of the links that turn about z */
  kn_batch_dof* dof;     /* nv */
  kn_batch_load* load;   /* nlink + 1: the chain in hand, and junctions */
} kn_batch_work;

/* q: nq x KN_LANES and so on. Returns what went wrong in some lane: a dof that moves no inertia (its
   acceleration is 0), motions that are not finite. */
enum { KN_BATCH_SINGULAR = 1, KN_BATCH_NOT_FINITE = 2 };
typedef int (*kn_batch_fn)(double* qdd, kn_batch_work* work, const double* q, const double* v,
                           const double* tau);
KN_KERNEL_TABLE(kn_batch_fn, kn_batch);
