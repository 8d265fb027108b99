/* Kinetic and potential energy of the links from their poses and velocities:
     K = ½ Σ (m v.v + 2 v.(w x h) + w.R I Rᵀ w),   V = -Σ g.(m o + h),   h = R (mass x centre of mass);
   bodies with gravity compensation weigh less. */
#include "dynamics/tree/kernel.h"

static void energy(kn_energy* out, const kn_kin* k, const kn_data* d) {
  const kn_layout* y = d->layout;
  const kn_v4 g = v4_load3(d->model->gravity);
  kn_v4 K = v4_zero(), V = v4_zero();
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* c = &y->link[i];
    const kn_link_kin* l = &k->link[i];
    kn_v4 Rt[3], h = v4_mul33s(l->R, (const double*)&c->h), w = l->w, v = l->vo;
    v4_transpose(Rt, l->R);
    kn_v4 wl = v4_mul33(Rt, w), p = v4_axpy(v4_scale(v4_cross(w, h), 2.0), c->mass, v);
    K = v4_add3(K, v4_mul(v, p), v4_mul(wl, v4_mul33(c->I, wl)));
    double mass = c->mass;
    if (__builtin_expect(y->has_gravcomp, 0)) {
      mass -= y->grav_mass[i];
      h = v4_sub(h, v4_mul33(l->R, y->grav_h[i]));
    }
    V = v4_sub(V, v4_mul(g, v4_axpy(h, mass, l->o)));
  }
  out->kinetic = 0.5 * v4_sum(K);
  out->potential = v4_sum(V);
}
