/* Articulated bodies in world axes about link origins.

   Inertia of a link: n = I alpha + Gᵀ a, f = G alpha + M a; a rigid body has G = -[h]x, M = m 1. Classical
   accelerations (of the material point at the origin), so that only angular velocities enter the bias.
   Moving to the parent's origin by r = o - o_p:
     G' = G - M [r]x,   I' = I - Gᵀ[r]x + [r]x G',   n' = n + r x f.
   A dof with motion s:  U = A s, D = s.U + armature, g = U / D;  A <- A - g Uᵀ,  e = tau - s.p,
   p <- p + g e. The rank-1 update is pulled through the move: U' = (U_n + r x U_f; U_f), A_p += A' - g'U'ᵀ, so that the
   division overlaps the move. Featherstone 2008, ch. 7, with the bias folded by inverse dynamics at qdd = 0.
   With M = Lᵀ D L, the backward sweep is L⁻ᵀ, the forward sweep L⁻¹. */
#include "dynamics/tree/kernel.h"

/* R I_l Rᵀ */
KN_INLINE void world_inertia(kn_v4 I[3], const kn_link_const* c, const kn_v4* R) {
  const double* m = (const double*)R;
  kn_v4 B0, B1, B2;
  if (__builtin_expect(c->diagonal, 1)) {
    const double* d = (const double*)c->I;
    B0 = v4_scale(R[0], d[0]), B1 = v4_scale(R[1], d[5]), B2 = v4_scale(R[2], d[10]);
  } else {
    B0 = v4_mul33s(R, (const double*)&c->I[0]), B1 = v4_mul33s(R, (const double*)&c->I[1]);
    B2 = v4_mul33s(R, (const double*)&c->I[2]);
  }
  for (int k = 0; k < 3; k++)
    I[k] = v4_add3(v4_scale(B0, m[k]), v4_scale(B1, m[4 + k]), v4_scale(B2, m[8 + k]));
}

/* The same and h = R h_l; of a rod with axis u, I = T + (along - across) u uᵀ. */
KN_INLINE void link_inertia(kn_v4 I[3], kn_v4* h, const kn_link_const* c, const kn_v4* R) {
  if (__builtin_expect(c->rod < 0, 0)) {
    world_inertia(I, c, R);
    *h = v4_mul33s(R, (const double*)&c->h);
    return;
  }
  const kn_v4* u = &R[c->rod];
  const double* m = (const double*)u;
  kn_v4 B = v4_scale(*u, c->rod_I);
  for (int k = 0; k < 3; k++) I[k] = v4_add(c->T[k], v4_scale(B, m[k]));
  *h = v4_scale(*u, c->rod_h);
}

KN_INLINE void rigid_inertia(kn_art* A, kn_v4* h, const kn_link_const* c, const kn_v4* R) {
  link_inertia(A->I, h, c, R);
  v4_skew_minus(A->G, *h);
  for (int k = 0; k < 3; k++) A->M[k] = c->M[k];
}

KN_INLINE void art_add(kn_art* A, const kn_art* B) {
  for (int k = 0; k < 3; k++) {
    A->I[k] = v4_add(A->I[k], B->I[k]);
    A->G[k] = v4_add(A->G[k], B->G[k]);
    A->M[k] = v4_add(A->M[k], B->M[k]);
  }
}

/* U = A s for the kinds of dofs */
KN_INLINE void art_mul(kn_v4* Un, kn_v4* Uf, const kn_art* A, int kind, kn_v4 sa, kn_v4 sl) {
  kn_v4 H[3];
  if (kind == KN_DOF_ROTATE) {
    *Un = v4_mul33(A->I, sa), *Uf = v4_mul33(A->G, sa);
  } else if (kind == KN_DOF_SLIDE) {
    v4_transpose(H, A->G);
    *Un = v4_mul33(H, sl), *Uf = v4_mul33(A->M, sl);
  } else {
    v4_transpose(H, A->G);
    *Un = v4_add(v4_mul33(A->I, sa), v4_mul33(H, sl));
    *Uf = v4_add(v4_mul33(A->G, sa), v4_mul33(A->M, sl));
  }
}
KN_INLINE double motion_dot(int kind, kn_v4 sa, kn_v4 sl, kn_v4 n, kn_v4 f) {
  return kind == KN_DOF_ROTATE ? v4_dot(sa, n) : kind == KN_DOF_SLIDE ? v4_dot(sl, f) : v4_dot2(sa, n, sl, f);
}

/* A - g Uᵀ; U is broadcast from memory: that is ready before g, and costs no shuffles. */
KN_INLINE void rank1(kn_art* A, kn_v4 gn, kn_v4 gf, kn_v4 Un, kn_v4 Uf) {
  kn_v4 U[2] = {Un, Uf};
#if defined(__AVX__)
  __asm__("" : "+m"(U));
#endif
  const double *n = (const double*)&U[0], *f = (const double*)&U[1];
  for (int k = 0; k < 3; k++) {
    A->I[k] = v4_sub(A->I[k], v4_scale(gn, n[k]));
    A->G[k] = v4_sub(A->G[k], v4_scale(gf, n[k]));
    A->M[k] = v4_sub(A->M[k], v4_scale(gf, f[k]));
  }
}

/* B[r]x by columns: (r_z B1 - r_y B2, r_x B2 - r_z B0, r_y B0 - r_x B1); r in memory */
KN_INLINE void times_skew(kn_v4 C[3], const kn_v4 B[3], const double* r) {
  C[0] = v4_sub(v4_scale(B[1], r[2]), v4_scale(B[2], r[1]));
  C[1] = v4_sub(v4_scale(B[2], r[0]), v4_scale(B[0], r[2]));
  C[2] = v4_sub(v4_scale(B[0], r[1]), v4_scale(B[1], r[0]));
}

KN_INLINE void art_move(kn_art* A, const kn_v4* pr) {
  kn_v4 H[3], C[3], r = *pr;
  const double* rm = (const double*)pr;
  v4_transpose(H, A->G);
  times_skew(C, A->M, rm);
  for (int k = 0; k < 3; k++) A->G[k] = v4_sub(A->G[k], C[k]);
  times_skew(C, H, rm);
  for (int k = 0; k < 3; k++) A->I[k] = v4_add(v4_sub(A->I[k], C[k]), v4_cross(r, A->G[k]));
}

/* Eliminates the dofs of link i from A and moves it to the parent; e (may be NULL) and p = (n, f) follow.
   Returns 0 when some D is not positive. */
KN_INLINE int eliminate(kn_data* d, const kn_link_const* c, int i, kn_art* A, const double* extra) {
  const kn_kin* k = &d->kin;
  for (int j = c->v + c->nv - 1; j >= c->v; j--) {
    int kind = d->layout->dof_kind[j];
    kn_v4 Un, Uf;
    art_mul(&Un, &Uf, A, kind, k->dof[j].sa, k->dof[j].sl);
    double own = d->model->armature[j] + (extra ? extra[j] : 0.0);
    double D = motion_dot(kind, k->dof[j].sa, k->dof[j].sl, Un, Uf) + own;
    if (!(D > 0.0)) return 0;
    double dinv = 1.0 / D;
    d->fac[j].dinv = dinv;
    if (j == c->v) {
      if (c->parent < 0) break; /* nothing is left of a root */
      Un = v4_add(Un, v4_cross(k->link[i].r, Uf));
      art_move(A, &k->link[i].r);
    }
    kn_v4 gn = v4_scale(Un, dinv), gf = v4_scale(Uf, dinv);
    d->fac[j].gn = gn, d->fac[j].gf = gf;
    rank1(A, gn, gf, Un, Uf);
  }
  return 1;
}

/* The dof whose D failed is found again, off the fast path. */
static int bad_dof(const kn_data* d, int link) {
  const kn_link_const* c = &d->layout->link[link];
  for (int j = c->v + c->nv - 1; j > c->v; j--)
    if (!(d->fac[j].dinv > 0.0)) return j;
  return c->v;
}

/* Where the articulated inertia of link i goes: on to link i - 1 in registers when that is the parent,
   otherwise into the parent's accumulator (the last child comes first and stores). */
KN_INLINE void hand_over(kn_art* acc, kn_art* carry, const kn_link_const* c, int i) {
  if (__builtin_expect(c->parent == i - 1, 1)) return;
  if (c->parent >= 0) {
    kn_art* to = &acc[c->parent];
    if (c->last_child)
      *to = *carry;
    else
      art_add(to, carry);
  }
  for (int k = 0; k < 3; k++) carry->I[k] = carry->G[k] = carry->M[k] = v4_zero();
}

static int factor(kn_data* d, const double* extra) {
  const kn_layout* y = d->layout;
  kn_art carry;
  for (int k = 0; k < 3; k++) carry.I[k] = carry.G[k] = carry.M[k] = v4_zero();
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &y->link[i];
    const kn_v4* R = d->kin.link[i].R;
    kn_art A;
    kn_v4 h;
    rigid_inertia(&A, &h, c, R);
    art_add(&A, &carry);
    if (c->junction) art_add(&A, &d->art[i]);
    if (!eliminate(d, c, i, &A, extra)) return bad_dof(d, i);
    carry = A;
    hand_over(d->art, &carry, c, i);
  }
  return -1;
}

/* Angular velocity and accelerations of a link from its parent's at joint accelerations qdd (NULL: 0). */
KN_INLINE void link_acceleration(kn_v4* w, kn_v4* al, kn_v4* a, const kn_kin* k, const kn_link_const* c,
                                 int i, kn_v4 wp, kn_v4 alp, kn_v4 ap, const double* v, const double* qdd) {
  kn_v4 sw = joint_angular(k, c, i, v), r = k->link[i].r;
  *w = v4_add(wp, sw);
  *al = v4_add(alp, v4_cross(wp, sw));
  *a = v4_add(ap, v4_cross2(alp, r, wp, v4_cross(wp, r)));
  if (c->type == KN_LINK_SLIDE || c->type == KN_LINK_SCREW)
    *a = v4_axpy(*a, 2.0, v4_cross(wp, joint_linear(k, c, v)));
  if (qdd) *al = v4_add(*al, joint_angular(k, c, i, qdd)), *a = v4_add(*a, joint_linear(k, c, qdd));
}

static void accelerations(kn_data* d, const double* v, const double* qdd, kn_v4 a0) {
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* c = &d->layout->link[i];
    kn_v4 wp = v4_zero(), alp = v4_zero(), ap = a0;
    if (c->parent >= 0) wp = d->dyn[c->parent].wb, alp = d->dyn[c->parent].al, ap = d->dyn[c->parent].a;
    link_acceleration(&d->dyn[i].wb, &d->dyn[i].al, &d->dyn[i].a, &d->kin, c, i, wp, alp, ap, v, qdd);
  }
}

/* Inertial force of a link about its origin: n = I al + h x a + w x I w,  f = m a + al x h + w x (w x h). */
KN_INLINE void inertial_force(kn_v4* n, kn_v4* f, const kn_v4 I[3], kn_v4 h, double mass,
                              const kn_link_dyn* y) {
  kn_v4 w = y->wb, al = y->al, a = y->a;
  *n = v4_add(v4_mul33s(I, (const double*)&y->al), v4_cross2(h, a, w, v4_mul33s(I, (const double*)&y->wb)));
  *f = v4_add(v4_scale(a, mass), v4_cross2(al, h, w, v4_cross(w, h)));
}

/* e = tau - s.p, tips to root (NULL tau: 0). loaded: p of the links is in d->dyn; otherwise there is none. */
KN_INLINE void sweep_back(kn_data* d, const double* tau, int stride, int loaded) {
  const kn_kin* k = &d->kin;
  kn_v4 n = v4_zero(), f = v4_zero();
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &d->layout->link[i];
    if (loaded || c->junction) n = v4_add(n, d->dyn[i].n), f = v4_add(f, d->dyn[i].f);
    for (int j = c->v + c->nv - 1; j >= c->v; j--) {
      double e = (tau ? tau[(size_t)j * (size_t)stride] : 0.0) -
                 motion_dot(d->layout->dof_kind[j], k->dof[j].sa, k->dof[j].sl, n, f);
      d->fac[j].e = e;
      if (j == c->v) {
        if (c->parent < 0) break;
        n = v4_add(n, v4_cross(k->link[i].r, f));
      }
      n = v4_axpy(n, e, d->fac[j].gn), f = v4_axpy(f, e, d->fac[j].gf);
    }
    if (c->parent == i - 1) continue;
    if (c->parent >= 0) {
      kn_link_dyn* to = &d->dyn[c->parent];
      if (c->last_child && !loaded)
        to->n = n, to->f = f;
      else
        to->n = v4_add(to->n, n), to->f = v4_add(to->f, f);
    }
    n = f = v4_zero();
  }
}

/* x_j = z_j - g.a_parent, a <- X a + s x, root to tips; z = e / D. x begins with the link's first dof. */
KN_INLINE void link_out(double* x, const kn_data* d, const kn_link_const* c, int i, int stride, kn_v4* al,
                        kn_v4* a) {
  const kn_kin* k = &d->kin;
  for (int j = c->v; j < c->v + c->nv; j++) {
    double z = d->fac[j].e * d->fac[j].dinv;
    if (j > c->v || c->parent >= 0) z -= v4_dot2(d->fac[j].gn, *al, d->fac[j].gf, *a);
    if (j == c->v) *a = v4_add(*a, v4_cross(*al, k->link[i].r));
    *al = v4_axpy(*al, z, k->dof[j].sa), *a = v4_axpy(*a, z, k->dof[j].sl);
    x[(j - c->v) * stride] = z;
  }
}

/* A free root: x_j = z_j - sum L_jk x_k in scalars (L_jk = s_k.g_j). */
static __attribute__((noinline)) void free_out(double* x, const kn_data* d, const kn_link_const* c, int i,
                                               int stride, kn_v4* al, kn_v4* a) {
  const kn_dof_factor* g = &d->fac[c->v];
  const kn_v4* R = d->kin.link[i].R;
  double z[6];
#pragma GCC unroll 6
  for (int j = 0; j < 6; j++) {
    const double* gf = (const double*)&g[j].gf;
    double s = g[j].e * g[j].dinv;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
      if (k < j) s -= gf[k] * z[k];
    if (j > 3) s -= v4_dot(g[j].gn, R[0]) * z[3];
    if (j > 4) s -= v4_dot(g[j].gn, R[1]) * z[4];
    x[j * stride] = z[j] = s;
  }
  *a = v4_set(z[0], z[1], z[2]);
  *al = v4_mul33s(R, z + 3);
}

/* The recursion through z is shortened by looking one link ahead: with g, z0 of the next link,
     g.(X a + s z) = (Xᵀg).a + (g.s) z,   z_next = (z0 - (Xᵀg).a) - (g.s) z,
   so that the long sum does not wait for z. z is kept in every lane. roots: x of free roots is there. */
KN_INLINE void sweep_out(double* x, kn_data* d, int stride, int roots) {
  const kn_link_const *c = d->layout->link, *end = c + d->model->nlink;
  const kn_link_kin* l = d->kin.link;
  const kn_dof_motion* m = d->kin.dof;
  const kn_dof_factor* g = d->fac;
  kn_link_dyn *dyn = d->dyn, *y = dyn;
  kn_v4 al = v4_zero(), a = v4_zero(), z = v4_zero();
  int ahead = 0;
  for (int i = 0; c != end; i++, c++, l++, y++) {
    if (__builtin_expect(c->parent != i - 1, 0)) {
      al = a = v4_zero();
      if (c->parent >= 0) al = dyn[c->parent].al, a = dyn[c->parent].a;
    }
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      kn_v4 s = m->sa, r = l->r;
      if (!ahead) z = v4_sub(v4_splat(g->e * g->dinv), v4_sumv(v4_add(v4_mul(g->gn, al), v4_mul(g->gf, a))));
      kn_v4 now = z;
      ahead = c->next_hinge;
      g++, m++; /* dofs of a chain of hinges follow each other */
      if (ahead) {
        kn_v4 hn = v4_add(g->gn, v4_cross(r, g->gf));
        kn_v4 t = v4_sub(v4_splat(g->e * g->dinv), v4_sumv(v4_add(v4_mul(hn, al), v4_mul(g->gf, a))));
        z = v4_sub(t, v4_mul(v4_sumv(v4_mul(g->gn, s)), now));
      }
      a = v4_add(a, v4_cross(al, r));
      al = v4_add(al, v4_mul(s, now));
      *x = v4_x(now), x += stride;
    } else {
      kn_v4 tal = al, ta = a;
      if (c->type == KN_LINK_FREE && roots)
        ta = v4_load3(x), tal = v4_mul33s(l->R, x + 3);
      else if (c->type == KN_LINK_FREE)
        free_out(x, d, c, i, stride, &tal, &ta);
      else
        link_out(x, d, c, i, stride, &tal, &ta);
      al = tal, a = ta, ahead = 0;
      g += c->nv, m += c->nv, x += c->nv * stride;
    }
    y->al = al, y->a = a;
  }
}

/* accelerations() and the inertial forces in one pass, parents in registers along chains. */
KN_INLINE void loads(kn_data* d, const double* v, const double* qdd, kn_v4 a0) {
  const kn_kin* k = &d->kin;
  const kn_link_const *c = d->layout->link, *end = c + d->model->nlink;
  const kn_link_kin* l = k->link;
  const bool weighed = k->weighed;
  kn_link_dyn* y = d->dyn;
  kn_v4 w = v4_zero(), al = v4_zero(), a = a0;
  for (int i = 0; c != end; i++, c++, l++, y++) {
    if (__builtin_expect(c->parent != i - 1, 0)) {
      w = al = v4_zero(), a = a0;
      if (c->parent >= 0) w = d->dyn[c->parent].wb, al = d->dyn[c->parent].al, a = d->dyn[c->parent].a;
    }
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      kn_v4 s = k->dof[c->v].sa, sw = v4_scale(s, v[c->v]);
      a = v4_add(a, v4_cross2(al, l->r, w, v4_cross(w, l->r)));
      al = v4_add(al, v4_cross(w, sw));
      if (qdd) al = v4_add(al, v4_scale(s, qdd[c->v]));
      w = v4_add(w, sw);
    } else {
      kn_v4 wp = w, alp = al, ap = a;
      link_acceleration(&w, &al, &a, k, c, i, wp, alp, ap, v, qdd);
    }
    y->wb = w, y->al = al, y->a = a;
    kn_link_weight own;
    if (weighed)
      own = k->weight[i];
    else
      link_inertia(own.I, &own.h, c, l->R);
    kn_v4 h = own.h;
    y->n = v4_add(v4_mul33(own.I, al), v4_cross2(h, a, w, v4_mul33(own.I, w)));
    y->f = v4_add(v4_scale(a, c->mass), v4_cross2(al, h, w, v4_cross(w, h)));
  }
}

static void accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  const double* g = d->model->gravity;
  loads(d, v, NULL, v4_set(-g[0], -g[1], -g[2]));
  sweep_back(d, tau, 1, 1);
  sweep_out(qdd, d, 1, 0);
}

static void solve(double* x, kn_data* d, int stride) {
  sweep_back(d, x, stride, 0);
  sweep_out(x, d, stride, 0);
}

static void forward_half(double* x, kn_data* d) { sweep_out(x, d, 1, 0); }

/* tau = M qdd + bias by the recursive Newton-Euler algorithm, without armature: the forces that the links
   need, then their sums from the tips. */
static void inverse_loads(kn_data* d, const double* v, const double* qdd, const double* g) {
  loads(d, v, qdd, v4_set(-g[0], -g[1], -g[2]));
}

static void inverse_sum(double* tau, kn_data* d) {
  const kn_kin* k = &d->kin;
  kn_v4 n = v4_zero(), f = v4_zero();
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &d->layout->link[i];
    n = v4_add(n, d->dyn[i].n), f = v4_add(f, d->dyn[i].f);
    for (int j = c->v; j < c->v + c->nv; j++)
      tau[j] = motion_dot(d->layout->dof_kind[j], k->dof[j].sa, k->dof[j].sl, n, f);
    n = v4_add(n, v4_cross(k->link[i].r, f));
    if (__builtin_expect(c->parent == i - 1, 1)) continue;
    if (c->parent >= 0)
      d->dyn[c->parent].n = v4_add(d->dyn[c->parent].n, n),
      d->dyn[c->parent].f = v4_add(d->dyn[c->parent].f, f);
    n = f = v4_zero();
  }
}

static void inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  inverse_loads(d, v, qdd, g);
  inverse_sum(tau, d);
}

static void bias_acceleration(kn_data* d, const double* v) { accelerations(d, v, NULL, v4_zero()); }
