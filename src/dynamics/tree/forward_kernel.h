/* Forward dynamics in three sweeps, everything that can stays in registers: poses and bias accelerations
   outwards, articulated inertias and forces inwards, accelerations outwards. Hinges are written out; other
   joints go through the functions of aba_kernel.h. Links are in depth-first order, so that along a chain the
   parent is the link just done ("carry") and only junctions touch memory. */
#include "dynamics/tree/kernel.h"

typedef struct motion { /* what a child needs of its parent */
  kn_v4 R[3], o, w, al, a;
} motion;

KN_INLINE void motion_load(motion* p, const kn_data* d, int i, kn_v4 a0) {
  if (i < 0) {
    p->R[0] = v4_set(1, 0, 0), p->R[1] = v4_set(0, 1, 0), p->R[2] = v4_set(0, 0, 1);
    p->o = p->w = p->al = v4_zero(), p->a = a0;
    return;
  }
  for (int k = 0; k < 3; k++) p->R[k] = d->kin.link[i].R[k];
  p->o = d->kin.link[i].o, p->w = d->dyn[i].wb, p->al = d->dyn[i].al, p->a = d->dyn[i].a;
}

/* Not inlined: keeps the hinge loop small. */
static __attribute__((noinline)) void outward_other(motion* p, kn_data* d, int i, const double* q,
                                                    const double* v) {
  kn_kin* k = &d->kin;
  const kn_link_const* c = &d->layout->link[i];
  place_other(k, d, i, p->R, p->o, q);
  kn_v4 w, al, a;
  link_acceleration(&w, &al, &a, k, c, i, p->w, p->al, p->a, v, NULL);
  for (int j = 0; j < 3; j++) p->R[j] = k->link[i].R[j];
  p->o = k->link[i].o, p->w = w, p->al = al, p->a = a;
  d->dyn[i].wb = w, d->dyn[i].al = al, d->dyn[i].a = a;
}

/* A free root: its pose is its coordinates, and at qdd = 0 it accelerates with the base. */
static __attribute__((noinline)) void outward_free(motion* p, kn_data* d, int i, const double* q,
                                                   const double* v) {
  const kn_link_const* c = &d->layout->link[i];
  kn_link_kin* l = &d->kin.link[i];
  double m[9];
  quat_matrix(m, q + c->q + 3);
  for (int j = 0; j < 3; j++) {
    l->R[j] = p->R[j] = v4_set(m[j], m[3 + j], m[6 + j]);
    d->kin.dof[c->v + j].sl = v4_set(j == 0, j == 1, j == 2);
    d->kin.dof[c->v + 3 + j].sa = p->R[j];
  }
  l->o = l->r = p->o = v4_load3(q + c->q);
  p->w = v4_mul33s(p->R, v + c->v + 3);
  d->dyn[i].wb = p->w, d->dyn[i].al = p->al, d->dyn[i].a = p->a;
}

KN_INLINE void outward_hinge(motion* p, kn_link_kin* l, kn_dof_motion* m, kn_link_dyn* y,
                             const kn_link_const* c, const kn_v4* P, double sn, double cs, double v) {
  kn_v4 T[3], r = frame_offset(P, c);
  frame_turn(T, p->R, c);
  kn_v4 s = T[2];
  kn_v4 sw = v4_scale(s, v);
  p->a = v4_add(p->a, v4_cross2(p->al, r, p->w, v4_cross(p->w, r)));
  p->al = v4_add(p->al, v4_cross(p->w, sw));
  p->w = v4_add(p->w, sw);
  p->R[0] = v4_add(v4_scale(T[0], cs), v4_scale(T[1], sn));
  p->R[1] = v4_sub(v4_scale(T[1], cs), v4_scale(T[0], sn));
  p->R[2] = s;
  p->o = v4_add(p->o, r);
  for (int j = 0; j < 3; j++) l->R[j] = p->R[j];
  m->sa = s, l->r = r, l->o = p->o;
  y->wb = p->w, y->al = p->al, y->a = p->a;
}

static __attribute__((noinline)) void outward(kn_data* d, const double* q, const double* v) {
  const kn_link_const *c = d->layout->link, *end = c + d->model->nlink;
  const double *g = d->model->gravity, *sn = d->sin, *cs = d->cos, *u = v;
  const kn_v4 a0 = v4_set(-g[0], -g[1], -g[2]);
  kn_link_kin* l = d->kin.link;
  kn_dof_motion* m = d->kin.dof;
  kn_link_dyn* y = d->dyn;
  const kn_v4 world[3] = {v4_set(1, 0, 0), v4_set(0, 1, 0), v4_set(0, 0, 1)}, *P = world; /* the parent's R */
  motion p;
  motion_load(&p, d, -1, a0);
  for (int i = 0; c != end; i++, c++, P = l->R, l++, y++) {
    if (__builtin_expect(c->parent != i - 1, 0)) {
      motion_load(&p, d, c->parent, a0);
      P = c->parent < 0 ? world : d->kin.link[c->parent].R;
    }
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      outward_hinge(&p, l, m, y, c, P, sn[c->angle], cs[c->angle], *u);
      m++, u++;
    } else { /* a copy, so that p itself never needs memory */
      motion t = p;
      if (c->type == KN_LINK_FREE)
        outward_free(&t, d, i, q, v);
      else
        outward_other(&t, d, i, q, v);
      p = t;
      m += c->nv, u += c->nv;
    }
  }
}

typedef struct load { /* articulated inertia and bias force on their way to the parent */
  kn_art A;
  kn_v4 n, f;
} load;

static __attribute__((noinline)) int inward_other(load* b, kn_data* d, int i, const double* tau,
                                                  const double* extra) {
  const kn_link_const* c = &d->layout->link[i];
  const kn_kin* k = &d->kin;
  if (!eliminate(d, c, i, &b->A, extra)) return 0;
  for (int j = c->v + c->nv - 1; j >= c->v; j--) {
    double e =
        (tau ? tau[j] : 0.0) - motion_dot(d->layout->dof_kind[j], k->dof[j].sa, k->dof[j].sl, b->n, b->f);
    d->fac[j].e = e;
    if (j == c->v) {
      if (c->parent < 0) break;
      b->n = v4_add(b->n, v4_cross(k->link[i].r, b->f));
    }
    b->n = v4_axpy(b->n, e, d->fac[j].gn), b->f = v4_axpy(b->f, e, d->fac[j].gf);
  }
  return 1;
}

/* Dofs j and j - 1 of A = Lᵀ D L, in place: with Da = 1/a and Dc = a / (a c - b²) for the block [a b; b c]
   the divisions do not wait for each other. e follows; 0 when not definite. */
KN_INLINE int eliminate_pair(double A[6][6], double D[6], double e[6], int j) {
  double a = A[j][j], b = A[j][j - 1], det = a * A[j - 1][j - 1] - b * b;
  double Da = 1.0 / a, Dc = a / det, l = b * Da;
  if (!(a > 0.0 && det > 0.0)) return 0;
  D[j] = Da, D[j - 1] = Dc;
  e[j - 1] -= l * e[j];
#pragma GCC unroll 6
  for (int k = 0; k < j - 1; k++) A[j - 1][k] -= l * A[j][k];
#pragma GCC unroll 6
  for (int k = 0; k < j - 1; k++) {
#pragma GCC unroll 6
    for (int t = 0; t <= k; t++)
      A[k][t] = (A[k][t] - (A[j][k] * A[j][t]) * Da) - (A[j - 1][k] * A[j - 1][t]) * Dc;
    e[k] = (e[k] - A[j][k] * (Da * e[j])) - A[j - 1][k] * (Dc * e[j - 1]);
  }
#pragma GCC unroll 6
  for (int k = 0; k < j - 1; k++) A[j][k] *= Da, A[j - 1][k] *= Dc;
  A[j][j - 1] = l;
  return 1;
}

/* A free root: its 6x6 matrix in the dofs' own axes (linear in the world's, angular in the body's) is
   factored in scalars, dof 5 first, M = Lᵀ D L; g of dof j is the force with s_k.g = L_jk for the dofs k < j.
   Its accelerations follow at once. */
static __attribute__((noinline)) int inward_free(double* qdd, const load* b, kn_data* d, int i,
                                                 const double* tau, const double* extra) {
  const kn_link_const* c = &d->layout->link[i];
  const kn_v4* R = d->kin.link[i].R;
  double A[6][6], e[6], D[6], *x = qdd + c->v;
  kn_v4 Rt[3];
  v4_transpose(Rt, R);
  kn_v4 n = v4_mul33(Rt, b->n);
  for (int k = 0; k < 3; k++) {
    const double* Rk = (const double*)&R[k];
    kn_v4 Gk = v4_mul33s(b->A.G, Rk), Ik = v4_mul33(Rt, v4_mul33s(b->A.I, Rk));
    v4_store3(A[3 + k], Gk), v4_store3(A[3 + k] + 3, Ik), v4_store3(A[k], b->A.M[k]);
  }
  v4_store3(e, b->f), v4_store3(e + 3, n);
  for (int j = 0; j < 6; j++) {
    A[j][j] += d->model->armature[c->v + j] + extra[c->v + j];
    e[j] = (tau ? tau[c->v + j] : 0.0) - e[j];
  }
  if (!eliminate_pair(A, D, e, 5) || !eliminate_pair(A, D, e, 3) || !eliminate_pair(A, D, e, 1)) return 0;
#pragma GCC unroll 6
  for (int j = 0; j < 6; j++) {
    double s = e[j] * D[j];
#pragma GCC unroll 6
    for (int k = 0; k < j; k++) s -= A[j][k] * x[k];
    x[j] = s;
  }
  kn_dof_factor* g = &d->fac[c->v];
#pragma GCC unroll 6
  for (int j = 0; j < 6; j++) g[j].dinv = D[j], g[j].e = e[j];
  for (int j = 1; j < 6; j++) {
    /* lane 2 apart: the zero extension of a lone scalar (vmovq) is unknown to valgrind 3.19 */
    volatile double* gf = (volatile double*)&g[j].gf;
    if (j == 1)
      gf[0] = A[1][0], gf[1] = 0.0;
    else
      *(kn_v2*)&g[j].gf = (kn_v2){A[j][0], A[j][1]};
    gf[2] = j < 3 ? 0.0 : A[j][2];
  }
  for (int j = 1; j < 4; j++) g[j].gn = v4_zero(); /* g of dof 0 is 0 for ever */
  g[4].gn = v4_scale(R[0], A[4][3]);
  g[5].gn = v4_add(v4_scale(R[0], A[5][3]), v4_scale(R[1], A[5][4]));
  return 1;
}

typedef struct hinge { /* what is read and written at one dof */
  kn_dof_factor* g;
  double own, tau; /* armature and extra; force */
} hinge;

#include "dynamics/tree/inward_vectors.h"

static int forward(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                   const double* extra) {
  angles(d, q);
  outward(d, q, v);
  int bad = inward(qdd, d, tau, extra ? extra : d->zero);
  d->kin.weighed = bad < 0;
  if (bad < 0) sweep_out(qdd, d, 1, 1);
  return bad;
}
