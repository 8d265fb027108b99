/* Plain products of rows with the velocities and forces of links: J v, and forces taken off the links. */
#include "dynamics/tree/kernel.h"

/* Velocity of a link at the block's point, or its angular velocity, from w and that of its origin. */
KN_INLINE kn_v4 point_velocity(const kn_data* d, const kn_row_block* b, int link, kn_v4 w, kn_v4 vo) {
  if (b->angular) return w;
  return v4_add(vo, v4_cross(w, v4_sub(v4_load3(b->point), d->kin.link[link].o)));
}

/* w and vo of link i are `stride` vectors after those of link i - 1; v for rows on dofs. */
static void rows_velocity(double* Jv, const kn_data* d, const kn_row_block* block, int blocks, const kn_v4* w,
                          const kn_v4* vo, size_t stride, const double* v) {
  for (const kn_row_block *b = block, *end = b + blocks; b < end; b++) {
    kn_v4 u = v4_zero();
    if (b->ndof > 0) {
      double sum = 0.0;
      for (int t = 0; t < b->ndof; t++) sum += b->coef[t] * v[b->dof[t]];
      *Jv++ = sum;
      continue;
    }
    int A = b->link_a, B = b->link_b;
    if (A != B && A >= 0) u = point_velocity(d, b, A, w[(size_t)A * stride], vo[(size_t)A * stride]);
    if (A != B && B >= 0)
      u = v4_sub(u, point_velocity(d, b, B, w[(size_t)B * stride], vo[(size_t)B * stride]));
    for (int t = 0; t < b->rows; t++) *Jv++ = v4_dot(v4_load3(b->dir[t]), u);
  }
}

/* Takes scale Jᵀ λ of rows between links off the forces n, f of the links. */
static void rows_unload(kn_data* d, const kn_row_block* block, int blocks, const double* lambda,
                        double scale) {
  kn_link_dyn* y = d->dyn;
  for (const kn_row_block *b = block, *end = b + blocks; b < end; b++) {
    if (b->ndof > 0) {
      lambda++;
      continue;
    }
    kn_v4 force = v4_zero();
    for (int t = 0; t < b->rows; t++) force = v4_axpy(force, scale * *lambda++, v4_load3(b->dir[t]));
    for (int side = 0; side < 2 && b->link_a != b->link_b; side++) {
      int link = side ? b->link_b : b->link_a;
      if (link < 0) continue;
      kn_v4 f = side ? v4_sub(v4_zero(), force) : force;
      kn_v4 lever = v4_sub(v4_load3(b->point), d->kin.link[link].o);
      y[link].n = v4_sub(y[link].n, b->angular ? f : v4_cross(lever, f));
      if (!b->angular) y[link].f = v4_sub(y[link].f, f);
    }
  }
}
