/* Batches, first sweep: velocities, and accelerations at qdd = 0, root to tips. */
#pragma once

#include "dynamics/batch/batch_turn.h"

typedef struct lanes_motion {
  V w[3], al[3], a[3], P[6]; /* P = w wᵀ */
} lanes_motion;

KN_INLINE void products(lanes_motion* p) {
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = i; j < 3; j++) p->P[SYM[i][j]] = p->w[i] * p->w[j];
}

/* out += x (al x e_k + w x (w x e_k)) */
KN_INLINE void add_offset(V out[3], const lanes_motion* p, int k, V x) {
  int l = NEXT(k), m = LAST(k);
  out[k] -= x * (p->P[l] + p->P[m]);
  out[l] += x * (p->P[SYM[l][k]] + p->al[m]);
  out[m] += x * (p->P[SYM[m][k]] - p->al[l]);
}

/* The parent's motion at the joint, in the axes before the joint turns. */
KN_INLINE void to_joint(lanes_motion* p, const kn_batch_work* k, const kn_link_const* c, int i, int lane) {
  const kn_batch_const* f = &k->fixed[i];
  const kn_batch_link* l = f->parent < 0 ? k->world : &k->link[f->parent];
  UNROLL for (int n = 0; n < 3; n++) {
    p->w[n] = RENAMED(l->w, f, n), p->al[n] = RENAMED(l->al, f, n), p->a[n] = RENAMED(l->a, f, n);
  }
  fixed_vectors(p->w, 3, c, f); /* w, al, a lie one after the other */
  products(p);
  UNROLL for (int n = 0; n < 3; n++) if (f->p_axes & 1 << n) add_offset(p->a, p, n, zero() + f->p[n]);
}

/* Sines and cosines of all links that turn, free of the chain's order; -1 bits in the lanes of an angle
   beyond the fast range, which only the careful way gets right. */
KN_INLINE VI angles_lanes(kn_batch_work* k, const double* q, int careful, int lane) {
  const kn_layout* y = k->layout;
  VI wide = {0};
  for (int i = 0; i < y->nangle; i++) {
    double ts[KN_W], tc[KN_W];
    V x = AT(q + y->angle_q[i] * KN_LANES) - y->angle_ref[i];
    kn_sc_ivec out = ~kn_sincos_vec(ts, tc, (kn_sc_vec)x);
    wide |= (VI)out;
    for (int n = 0; careful && n < KN_W; n++)
      if (out[n]) kn_sincos(ts + n, tc + n, x[n]);
    AT(k->angle[i].s) = *(anywhere*)ts, AT(k->angle[i].c) = *(anywhere*)tc;
  }
  return wide;
}
static __attribute__((noinline)) void angles_careful(kn_batch_work* k, const double* q, int lane) {
  angles_lanes(k, q, 1, lane);
}

/* Axes turn about z, and the joint's own velocity joins. */
KN_INLINE void turn_motion(lanes_motion* p, const kn_batch_angle* t, V qd, int lane) {
  V c = AT(t->c), s = AT(t->s);
  unspin_vector(p->w, 2, c, s);
  unspin_vector(p->al, 2, c, s);
  unspin_vector(p->a, 2, c, s);
  p->al[0] += p->w[1] * qd, p->al[1] -= p->w[0] * qd;
  p->w[2] += qd;
}

/* Rows of R(quat) of lanes, R = 1 + 2/|quat|² (w [x]x + [x]x²); a zero quaternion counts as the identity. */
static __attribute__((noinline)) void quat_matrix(V m[9], const double* quat, int lane) {
  V w = AT(quat), x = AT(quat + KN_LANES), y = AT(quat + 2 * KN_LANES), z = AT(quat + 3 * KN_LANES);
  V n = (w * w + x * x) + (y * y + z * z);
  VI good = n > 0.0;
  V k = (V)((VI)(2.0 / n) & good), kx = k * x, ky = k * y, kz = k * z;
  V xx = kx * x, yy = ky * y, zz = kz * z, xy = kx * y, xz = kx * z, yz = ky * z;
  V wx = kx * w, wy = ky * w, wz = kz * w;
  m[0] = 1.0 - (yy + zz), m[1] = xy - wz, m[2] = xz + wy;
  m[3] = xy + wz, m[4] = 1.0 - (xx + zz), m[5] = yz - wx;
  m[6] = xz - wy, m[7] = yz + wx, m[8] = 1.0 - (xx + yy);
}

/* Dofs about the link's own axes. */
static __attribute__((noinline)) void outward_ball(lanes_motion* p, kn_batch_work* k, const kn_link_const* c,
                                                   int i, const double* q, const double* v, int lane) {
  kn_batch_link* l = &k->link[i];
  V R[9], qd[3];
  quat_matrix(R, q + c->q * KN_LANES, lane);
  for (int n = 0; n < 9; n++) AT(l->R[n]) = R[n];
  to_joint(p, k, c, i, lane);
  unfull_vector(p->w, R), unfull_vector(p->al, R), unfull_vector(p->a, R);
  for (int n = 0; n < 3; n++) qd[n] = AT(v + (c->v + n) * KN_LANES);
  for (int n = 0; n < 3; n++) /* al += w x qd */
    p->al[n] += p->w[NEXT(n)] * qd[LAST(n)] - p->w[LAST(n)] * qd[NEXT(n)];
  for (int n = 0; n < 3; n++) p->w[n] += qd[n];
}

/* A free root: its pose is its coordinates, and at qdd = 0 it accelerates with the base. */
static __attribute__((noinline)) void outward_free(lanes_motion* p, kn_batch_work* k, const kn_link_const* c,
                                                   int i, const double* q, const double* v, int lane) {
  kn_batch_link* l = &k->link[i];
  V R[9];
  quat_matrix(R, q + (c->q + 3) * KN_LANES, lane);
  for (int n = 0; n < 9; n++) AT(l->R[n]) = R[n];
  for (int n = 0; n < 3; n++) {
    p->w[n] = AT(v + (c->v + 3 + n) * KN_LANES), p->al[n] = zero(), p->a[n] = AT(k->world->a[n]);
  }
  unfull_vector(p->a, R);
}

/* Slide and screw: along z by x. */
static __attribute__((noinline)) void outward_slide(lanes_motion* p, kn_batch_work* k, const kn_link_const* c,
                                                    int i, const double* q, const double* v, int lane) {
  kn_batch_link* l = &k->link[i];
  V x = AT(q + c->q * KN_LANES) - k->model->link[i].ref, qd = AT(v + c->v * KN_LANES);
  double slide = c->type == KN_LINK_SLIDE ? 1.0 : c->pitch;
  V d = x * slide, speed = qd * (2.0 * slide);
  to_joint(p, k, c, i, lane);
  AT(l->slide) = d;
  V a[3] = {p->a[0] + p->w[1] * speed, p->a[1] - p->w[0] * speed, p->a[2]}; /* + 2 w x z' */
  add_offset(a, p, 2, d);
  for (int n = 0; n < 3; n++) p->a[n] = a[n];
  if (c->type == KN_LINK_SCREW) turn_motion(p, &k->angle[c->angle], qd, lane);
}

static void outward_lanes(kn_batch_work* k, const double* q, const double* v, int lane) {
  for (int i = 0; i < k->model->nlink; i++) {
    const kn_link_const* c = &k->layout->link[i];
    const kn_batch_const* f = &k->fixed[i];
    kn_batch_link* l = &k->link[i];
    lanes_motion p;
    if (__builtin_expect(f->type == KN_LINK_HINGE, 1)) {
      to_joint(&p, k, c, i, lane);
      turn_motion(&p, &k->angle[f->angle], AT(v + f->v * KN_LANES), lane);
    } else { /* a copy, so that p itself never needs memory */
      lanes_motion t;
      if (f->type == KN_LINK_FREE)
        outward_free(&t, k, c, i, q, v, lane);
      else if (f->type == KN_LINK_BALL)
        outward_ball(&t, k, c, i, q, v, lane);
      else
        outward_slide(&t, k, c, i, q, v, lane);
      p = t;
    }
    UNROLL for (int n = 0; n < 3; n++) AT(l->w[n]) = p.w[n], AT(l->al[n]) = p.al[n], AT(l->a[n]) = p.a[n];
  }
}
