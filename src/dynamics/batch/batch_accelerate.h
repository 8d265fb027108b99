/* Batches, last sweep: accelerations, root to tips. */
#include "dynamics/batch/batch_turn.h"

/* a += al x (x e_k) */
KN_INLINE void carry(V a[3], const V al[3], int k, V x) {
  a[NEXT(k)] += al[LAST(k)] * x;
  a[LAST(k)] -= al[NEXT(k)] * x;
}
KN_INLINE V dof_acceleration(const kn_batch_dof* d, const V x[6], int lane) {
  V y = AT(d->z);
  UNROLL for (int n = 0; n < 6; n++) y -= AT(d->g[n]) * x[n];
  return y;
}

/* x: increments (al, a) of the parent at the joint on entry, of the link on return. */
static __attribute__((noinline)) void accelerate_ball(double* qdd, V x[6], kn_batch_work* k,
                                                      const kn_link_const* c, int i, int lane) {
  V R[9];
  for (int n = 0; n < 9; n++) R[n] = AT(k->link[i].R[n]);
  unfull_vector(x, R), unfull_vector(x + 3, R);
  for (int j = c->v; j < c->v + 3; j++) {
    V y = dof_acceleration(&k->dof[j], x, lane);
    AT(qdd + j * KN_LANES) = y;
    x[j - c->v] += y;
  }
}

static __attribute__((noinline)) void accelerate_free(double* qdd, V x[6], kn_batch_work* k,
                                                      const kn_link_const* c, int i, int lane) {
  V R[9];
  UNROLL for (int j = 0; j < 3; j++) {
    const kn_batch_dof* d = &k->dof[c->v + j];
    V y = AT(d->z);
    UNROLL for (int n = 0; n < j; n++) y -= AT(d->g[3 + n]) * x[3 + n];
    AT(qdd + (c->v + j) * KN_LANES) = x[3 + j] = y;
  }
  for (int n = 0; n < 9; n++) R[n] = AT(k->link[i].R[n]);
  unfull_vector(x + 3, R);
  UNROLL for (int j = 0; j < 3; j++) {
    const kn_batch_dof* d = &k->dof[c->v + 3 + j];
    V y = AT(d->z) - ((AT(d->g[3]) * x[3] + AT(d->g[4]) * x[4]) + AT(d->g[5]) * x[5]);
    UNROLL for (int n = 0; n < j; n++) y -= AT(d->g[n]) * x[n];
    AT(qdd + (c->v + 3 + j) * KN_LANES) = x[j] = y;
  }
}

static __attribute__((noinline)) void accelerate_slide(double* qdd, V x[6], kn_batch_work* k,
                                                       const kn_link_const* c, int i, int lane) {
  const kn_batch_link* l = &k->link[i];
  carry(x + 3, x, 2, AT(l->slide));
  if (c->type == KN_LINK_SCREW) {
    const kn_batch_angle* t = &k->angle[c->angle];
    unspin_vector(x, 2, AT(t->c), AT(t->s));
    unspin_vector(x + 3, 2, AT(t->c), AT(t->s));
  }
  V y = dof_acceleration(&k->dof[c->v], x, lane);
  AT(qdd + c->v * KN_LANES) = y;
  if (c->type == KN_LINK_SCREW) x[2] += y;
  x[5] += y * (c->type == KN_LINK_SCREW ? c->pitch : 1.0);
}

KN_INLINE void accelerate_hinge(double* qdd, V x[6], kn_batch_work* k, int i, int lane) {
  const kn_batch_const* f = &k->fixed[i];
  const kn_batch_dof* d = &k->dof[f->v];
  V cs = AT(k->angle[f->angle].c), sn = AT(k->angle[f->angle].s);
  unspin_vector(x, 2, cs, sn);
  unspin_vector(x + 3, 2, cs, sn);
  if (f->bare) {
    V own = (AT(d->z) - (AT(d->g[0]) * x[0] + AT(d->g[1]) * x[1])) -
            ((AT(d->g[3]) * x[3] + AT(d->g[4]) * x[4]) + AT(d->g[5]) * x[5]);
    AT(qdd + f->v * KN_LANES) = own - x[2];
    x[2] = own;
  } else {
    V y = dof_acceleration(d, x, lane);
    AT(qdd + f->v * KN_LANES) = y;
    x[2] += y;
  }
}

/* A leaf of inward_leaf: nothing is handed on, and half of g is zero. */
KN_INLINE void accelerate_leaf(double* qdd, const V x[6], const kn_batch_work* k, const kn_batch_const* f,
                               int lane) {
  V cs = AT(k->angle[f->angle].c), sn = AT(k->angle[f->angle].s);
  V ax = cs * x[3] + sn * x[4], ay = cs * x[4] - sn * x[3];
  AT(qdd + f->v * KN_LANES) = (AT(k->dof[f->v].z) - (ax * f->tip[4] + ay * f->tip[5])) - x[2];
}

/* Returns 0 in the lanes whose accelerations are finite. */
static V accelerate_lanes(double* qdd, kn_batch_work* k, int lane) {
  V check = zero();
  for (int i = 0; i < k->model->nlink; i++) {
    const kn_link_const* c = &k->layout->link[i];
    const kn_batch_const* f = &k->fixed[i];
    kn_batch_link* l = &k->link[i];
    const kn_batch_link* p = f->parent < 0 ? k->world : &k->link[f->parent];
    V x[6]; /* what qdd adds to al, a: in the place of w, al, which are needed no more */
    UNROLL for (int n = 0; n < 3; n++) x[n] = RENAMED(p->w, f, n), x[3 + n] = RENAMED(p->al, f, n);
    fixed_vectors(x, 2, c, f);
    UNROLL for (int n = 0; n < 3; n++) if (f->p_axes & 1 << n) carry(x + 3, x, n, zero() + f->p[n]);
    if (f->kind >= KN_BATCH_LEAF) {
      accelerate_leaf(qdd, x, k, f, lane);
      check += 0.0 * AT(qdd + f->v * KN_LANES);
      continue;
    }
    if (__builtin_expect(f->type == KN_LINK_HINGE, 1)) {
      accelerate_hinge(qdd, x, k, i, lane);
    } else {
      V t[6];
      UNROLL for (int n = 0; n < 6; n++) t[n] = x[n];
      if (f->type == KN_LINK_FREE)
        accelerate_free(qdd, t, k, c, i, lane);
      else if (f->type == KN_LINK_BALL)
        accelerate_ball(qdd, t, k, c, i, lane);
      else
        accelerate_slide(qdd, t, k, c, i, lane);
      UNROLL for (int n = 0; n < 6; n++) x[n] = t[n];
    }
    UNROLL for (int n = 0; n < 3; n++) AT(l->w[n]) = x[n], AT(l->al[n]) = x[3 + n];
    for (int j = f->v; j < f->v + f->nv; j++) check += 0.0 * AT(qdd + j * KN_LANES);
  }
  return check;
}
