/* What the batch kernels work on: one block of KN_LANES worlds at a time. Values are arrays of lanes. */
#ifndef KN_DYNAMICS_BATCH_DATA_H
#define KN_DYNAMICS_BATCH_DATA_H

#include "knuckle/batch.h"
#include "model/layout.h"

typedef double kn_lanes[KN_LANES];

typedef struct kn_batch_link { /* row-major R; world axes; see aba_kernel.h for the letters */
  kn_lanes R[9], r[3], w[3], al[3], a[3];
} kn_batch_link;

typedef struct kn_batch_dof {
  kn_lanes s[3], g[6], dinv, e;
} kn_batch_dof;

typedef struct kn_batch_load { /* I xx yy zz xy xz yz; G row-major; M like I; force n, f */
  kn_lanes I[6], G[9], M[6], n[3], f[3];
} kn_batch_load;

typedef struct kn_batch_work {
  const kn_model* model;
  const kn_layout* layout;
  kn_batch_link* world; /* 1: identity, at rest, accelerating by -gravity */
  kn_batch_link* link;  /* nlink */
  kn_batch_dof* dof;    /* nv */
  kn_batch_load* load;  /* nlink: accumulators of junctions */
} kn_batch_work;

/* q: nq x KN_LANES and so on. Returns 0 when some dof moved no inertia in some lane (its acceleration is 0).
 */
typedef int (*kn_batch_fn)(double* qdd, kn_batch_work* work, const double* q, const double* v,
                           const double* tau);
extern const kn_batch_fn kn_batch_base;
#if defined(__x86_64__)
extern const kn_batch_fn kn_batch_avx2, kn_batch_avx512;
#endif

#endif
