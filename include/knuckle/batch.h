/* Many worlds of one model at once: forward dynamics with one world per vector lane. Arrays are
   lane-innermost in blocks of KN_LANES worlds: value i of world w is at kn_batch_index(n, i, w) of an array
   of n values per world. Results are the same bits on every instruction set. */
#ifndef KNUCKLE_BATCH_H
#define KNUCKLE_BATCH_H

#include "knuckle/model.h"

KN_BEGIN_DECLS

enum { KN_LANES = 8 };

/* A batch of worlds: many states of one model, stepped together. */
typedef struct kn_batch kn_batch;

/* All worlds start at the model's reference position, at rest, without forces. */
KN_API kn_status kn_batch_create(kn_batch** batch, const kn_model* model, int worlds);
KN_API void kn_batch_destroy(kn_batch* batch);
KN_API int kn_batch_worlds(const kn_batch* batch);

static inline size_t kn_batch_index(int n, int i, int world) {
  return ((size_t)(world / KN_LANES) * (size_t)n + (size_t)i) * KN_LANES + (size_t)(world % KN_LANES);
}

/* Arrays owned by the batch: coordinates (nq), velocities, forces and accelerations (nv). Lanes beyond the
   last world exist and copy the reference position. */
KN_API double* kn_batch_q(kn_batch* batch);
KN_API double* kn_batch_v(kn_batch* batch);
KN_API double* kn_batch_tau(kn_batch* batch);
KN_API double* kn_batch_qdd(kn_batch* batch);
/* One world in and out; any pointer may be NULL. */
KN_API kn_status kn_batch_set(kn_batch* batch, int world, const double* q, const double* v,
                              const double* tau);
KN_API kn_status kn_batch_get(double* q, double* v, double* qdd, const kn_batch* batch, int world);

/* qdd = M⁻¹ (tau - bias) in every world. Allocates nothing. */
KN_API kn_status kn_batch_forward(kn_batch* batch);
/* Forward dynamics, then v += dt qdd, q = q (+) dt v (semi-implicit Euler) in every world. */
KN_API kn_status kn_batch_step(kn_batch* batch, double dt);

KN_END_DECLS
#endif
