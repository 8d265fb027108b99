/* Forward dynamics of KN_W worlds in the lanes of a vector: the articulated-body algorithm written out in
   scalars (a scalar being a vector of worlds), in the axes of the links, where constants stay constants: a
   hinge is the third axis, a link's own inertia needs no turning, and offsets that lie along an axis cost a
   third. Zeros of the model are branches, the same for all worlds.

   Turning about axis k by (c, s), with l, m the axes that follow k: a symmetric or general 2x2 block (l, m)
   keeps its trace and its skew part and needs t = s² d + c s p, u = c s d - s² p, d = X_ll - X_mm,
   p = X_lm + X_ml: X_ll - t, X_mm + t, X_lm + u, X_ml + u.
   Moving the origin by x along axis k: G' = G - M[r]x, I' = I - Gᵀ[r]x + [r]x G', n' = n + r x f.
   A hinge without armature leaves zeros: row and column z of I, column z of G. */
#include "base/isa.h"

#include "dynamics/batch/batch_accelerate.h"
#include "dynamics/batch/batch_inward.h"
#include "dynamics/batch/batch_outward.h"

KN_INLINE int64_t any_lane(VI x) {
  int64_t any = 0;
  for (int n = 0; n < KN_W; n++) any |= x[n];
  return any;
}

static int forward_lanes(double* qdd, kn_batch_work* k, const double* q, const double* v, const double* tau) {
  int64_t any = 0;
  for (int lane = 0; lane < KN_LANES; lane += KN_W) {
    if (__builtin_expect(any_lane(angles_lanes(k, q, 0, lane)) != 0, 0)) angles_careful(k, q, lane);
    outward_lanes(k, q, v, lane);
    any |= any_lane(inward_lanes(k, tau, lane)) & KN_BATCH_SINGULAR;
    any |= any_lane((VI)(accelerate_lanes(qdd, k, lane) != 0.0)) & KN_BATCH_NOT_FINITE;
  }
  return (int)any;
}

const kn_batch_fn KN_NAME(kn_batch) = forward_lanes;
