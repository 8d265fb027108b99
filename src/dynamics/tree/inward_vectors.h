/* The inward sweep of forward dynamics with one register to a 3-vector. */
#include "dynamics/tree/kernel.h"

KN_INLINE void load_clear(load* b) {
  for (int k = 0; k < 3; k++) b->A.I[k] = b->A.G[k] = b->A.M[k] = v4_zero();
  b->n = b->f = v4_zero();
}

/* The last child comes first and stores. */
KN_INLINE void load_store(kn_data* d, const load* b, const kn_link_const* c) {
  int p = c->parent;
  if (c->last_child) {
    d->art[p] = b->A, d->dyn[p].n = b->n, d->dyn[p].f = b->f;
    return;
  }
  art_add(&d->art[p], &b->A);
  d->dyn[p].n = v4_add(d->dyn[p].n, b->n), d->dyn[p].f = v4_add(d->dyn[p].f, b->f);
}

KN_INLINE int inward_hinge(load* b, const kn_link_kin* l, const kn_link_const* c, hinge h) {
  const kn_v4* pr = &l->r;
  const double* s = (const double*)&l->R[2];
  kn_v4 Un = v4_mul33s(b->A.I, s), Uf = v4_mul33s(b->A.G, s);
  double D = v4_dot(l->R[2], Un) + h.own, e = h.tau - v4_dot(l->R[2], b->n), dinv = 1.0 / D;
  if (__builtin_expect(!(D > 0.0), 0)) return 0;
  h.g->dinv = dinv, h.g->e = e;
  if (__builtin_expect(c->parent < 0, 0)) return 1; /* nothing is left of a root */
  art_move(&b->A, pr);
  Un = v4_add(Un, v4_cross(*pr, Uf));
  b->n = v4_add(b->n, v4_cross(*pr, b->f));
  kn_v4 gn = v4_scale(Un, dinv), gf = v4_scale(Uf, dinv);
  rank1(&b->A, gn, gf, Un, Uf);
  b->n = v4_axpy(b->n, e, gn), b->f = v4_axpy(b->f, e, gf);
  h.g->gn = gn, h.g->gf = gf;
  return 1;
}

/* qdd: of free roots. */
static __attribute__((noinline)) int inward(double* qdd, kn_data* d, const double* tau, const double* extra) {
  const int last = d->model->nlink - 1;
  const kn_link_const* c = d->layout->link + last;
  const kn_link_kin* l = d->kin.link + last;
  const kn_link_dyn* y = d->dyn + last;
  kn_link_weight* weight = d->kin.weight + last;
  kn_dof_factor* g = d->fac + d->model->nv;
  const double *force = tau ? tau : d->zero, *armature = d->model->armature;
  ptrdiff_t j = d->model->nv;
  load b;
  load_clear(&b);
  for (int i = last; i >= 0; i--, c--, l--, y--, weight--) {
    kn_art own;
    kn_v4 n, f, h;
    rigid_inertia(&own, &h, c, l->R);
    *weight = (kn_link_weight){{own.I[0], own.I[1], own.I[2]}, h};
    inertial_force(&n, &f, own.I, h, c->mass, y);
    art_add(&b.A, &own);
    b.n = v4_add(b.n, n), b.f = v4_add(b.f, f);
    if (__builtin_expect(c->junction, 0)) {
      art_add(&b.A, &d->art[i]);
      b.n = v4_add(b.n, y->n), b.f = v4_add(b.f, y->f);
    }
    int ok;
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      g--, j--;
      ok = inward_hinge(&b, l, c, (hinge){g, armature[j] + extra[j], force[j]});
    } else { /* a copy, so that b itself never needs memory */
      load w = b;
      if (c->type == KN_LINK_FREE)
        ok = inward_free(qdd, &w, d, i, tau, extra);
      else
        ok = inward_other(&w, d, i, tau, extra);
      b = w;
      g -= c->nv, j -= c->nv;
    }
    if (__builtin_expect(!ok, 0)) return bad_dof(d, i);
    if (__builtin_expect(c->parent != i - 1, 0)) {
      if (c->parent >= 0) load_store(d, &b, c);
      load_clear(&b);
    }
  }
  return -1;
}
