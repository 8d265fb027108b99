/* Positions and velocities of the links, root to tips, in world axes.

   Placement of link i in its parent (model.h): R = R_p R0 Rz(q), o = o_p + R_p p0 (+ slide). Motion of a
   link's dofs at its own origin: hinge (s; 0), slide (0; s), screw (s; pitch s) with s the link's z axis,
   ball (R; 0), free (0; 1) and (R; 0). */
#include <string.h>

#include "dynamics/tree/kernel.h"
#include "math/elementary.h"
#include "math/sincos_block.h"
#if KN_W == 8
#include "math/sincos_half.h"
#endif
#include "spatial/spatial.h"

/* R(quat) row-major; quat need not be unit: R = 1 + 2 (w [x]x + [x]x²) / |quat|², no root. */
KN_INLINE void quat_matrix(double m[9], const double* q) {
  double w = q[0], x = q[1], y = q[2], z = q[3], n2 = (w * w + x * x) + (y * y + z * z), s = 2.0 / n2;
  if (__builtin_expect(!(n2 > 1e-200 && n2 < 1e200), 0)) {
    double unit[4];
    kn_quat_normalize(unit, q);
    kn_quat_to_matrix(m, unit);
    return;
  }
  m[0] = 1.0 - s * (y * y + z * z), m[1] = s * (x * y - w * z), m[2] = s * (x * z + w * y);
  m[3] = s * (x * y + w * z), m[4] = 1.0 - s * (x * x + z * z), m[5] = s * (y * z - w * x);
  m[6] = s * (x * z - w * y), m[7] = s * (y * z + w * x), m[8] = 1.0 - s * (x * x + y * y);
}

/* Columns of R_p R(quat). */
static void turn_by_quat(kn_v4 R[3], const kn_v4 P[3], const double* quat) {
  double m[9];
  quat_matrix(m, quat);
  for (int j = 0; j < 3; j++) R[j] = v4_mul33(P, v4_set(m[j], m[3 + j], m[6 + j]));
}

/* T = P R0; most joint frames give the parent's axes new names and signs, or turn about one of them. */
KN_INLINE void frame_turn(kn_v4 T[3], const kn_v4 P[3], const kn_link_const* c) {
  const double *a = (const double*)&c->R0[0], *b = (const double*)&c->R0[1], *e = (const double*)&c->R0[2];
  switch (c->frame) {
  case KN_TURN_SAME: T[0] = P[0], T[1] = P[1], T[2] = P[2]; return;
  case KN_TURN_SWAP_YZ: T[0] = P[0], T[1] = v4_scale(P[2], b[2]), T[2] = v4_scale(P[1], e[1]); return;
  case KN_TURN_SWAP_XZ: T[0] = v4_scale(P[2], a[2]), T[1] = P[1], T[2] = v4_scale(P[0], e[0]); return;
  case KN_TURN_ZXY: T[0] = P[2], T[1] = P[0], T[2] = P[1]; return;
  case KN_TURN_YZX: T[0] = P[1], T[1] = P[2], T[2] = P[0]; return;
  case KN_TURN_SIGNED_ZXY:
    T[0] = v4_scale(P[2], a[2]), T[1] = v4_scale(P[0], b[0]), T[2] = v4_scale(P[1], e[1]);
    return;
  case KN_TURN_SIGNED_YZX:
    T[0] = v4_scale(P[1], a[1]), T[1] = v4_scale(P[2], b[2]), T[2] = v4_scale(P[0], e[0]);
    return;
  case KN_TURN_KEEP_X:
    T[0] = P[0];
    T[1] = v4_add(v4_scale(P[1], b[1]), v4_scale(P[2], b[2]));
    T[2] = v4_add(v4_scale(P[1], e[1]), v4_scale(P[2], e[2]));
    return;
  case KN_TURN_KEEP_Y:
    T[0] = v4_add(v4_scale(P[0], a[0]), v4_scale(P[2], a[2]));
    T[1] = P[1];
    T[2] = v4_add(v4_scale(P[0], e[0]), v4_scale(P[2], e[2]));
    return;
  default: T[0] = v4_mul33s(P, a), T[1] = v4_mul33s(P, b), T[2] = v4_mul33s(P, e);
  }
}

/* P p0, with P in memory */
KN_INLINE kn_v4 frame_offset(const kn_v4* P, const kn_link_const* c) {
  if (__builtin_expect(c->p_axis >= 0, 1)) return v4_scale(P[c->p_axis], c->along);
  return v4_mul33s(P, (const double*)&c->p0);
}

/* A link that is not a hinge: R, o and the dof motions from the parent's frame P, op. */
/* A free body is placed in the world, whatever its parent. */
static void place_free(kn_kin* k, const kn_link_const* c, int i, kn_v4 op, const double* q) {
  kn_v4* R = k->link[i].R;
  double m[9];
  quat_matrix(m, q + c->q + 3);
  for (int j = 0; j < 3; j++) {
    R[j] = v4_set(m[j], m[3 + j], m[6 + j]);
    k->dof[c->v + j].sl = v4_set(j == 0, j == 1, j == 2);
    k->dof[c->v + 3 + j].sa = R[j];
  }
  k->link[i].r = v4_load3(q + c->q);
  k->link[i].o = v4_add(op, k->link[i].r);
}

static void place_other(kn_kin* k, const kn_data* d, int i, const kn_v4 P[3], kn_v4 op, const double* q) {
  const kn_link_const* c = &d->layout->link[i];
  kn_v4* R = k->link[i].R;
  if (c->type == KN_LINK_FREE) {
    place_free(k, c, i, op, q);
    return;
  }
  kn_v4 T[3], r = frame_offset(P, c);
  frame_turn(T, P, c);
  switch (c->type) {
  case KN_LINK_SLIDE:
    memcpy(R, T, sizeof T);
    r = v4_axpy(r, q[c->q] - d->model->link[i].ref, T[2]);
    k->dof[c->v].sl = T[2];
    break;
  case KN_LINK_SCREW: {
    double sn = d->sin[c->angle], cs = d->cos[c->angle];
    R[0] = v4_add(v4_scale(T[0], cs), v4_scale(T[1], sn));
    R[1] = v4_sub(v4_scale(T[1], cs), v4_scale(T[0], sn)), R[2] = T[2];
    r = v4_axpy(r, c->pitch * (q[c->q] - d->model->link[i].ref), T[2]);
    k->dof[c->v].sa = T[2], k->dof[c->v].sl = v4_scale(T[2], c->pitch);
    break;
  }
  default: /* ball */
    turn_by_quat(R, T, q + c->q);
    for (int j = 0; j < 3; j++) k->dof[c->v + j].sa = R[j];
  }
  k->link[i].r = r;
  k->link[i].o = v4_add(op, r);
}

/* KN_W coordinates gathered in registers: scalar stores read back as a vector would stall. */
KN_INLINE kn_sc_vec gather(const double* q, const int32_t* k) {
#if KN_W == 8
  return (kn_sc_vec){q[k[0]], q[k[1]], q[k[2]], q[k[3]], q[k[4]], q[k[5]], q[k[6]], q[k[7]]};
#elif KN_W == 4
  return (kn_sc_vec){q[k[0]], q[k[1]], q[k[2]], q[k[3]]};
#else
  return (kn_sc_vec){q[k[0]], q[k[1]]};
#endif
}

/* Sines and cosines of n angles, in arrays that are padded to whole blocks; the sum of the squares. */
KN_INLINE double turn_blocks(double* sn, double* cs, const double* q, const int32_t* from, const double* ref,
                             int n) {
  kn_sc_vec squares = {0};
  int i = 0;
#if KN_W == 2 /* two blocks at a time: one is a single chain of operations */
  for (; i + KN_W < n; i += 2 * KN_W) {
    kn_sc_vec x[2] = {gather(q, from + i) - *(const kn_sc_vec*)(ref + i),
                      gather(q, from + i + KN_W) - *(const kn_sc_vec*)(ref + i + KN_W)};
    squares += x[0] * x[0] + x[1] * x[1];
    kn_sincos_two(sn + i, cs + i, x);
  }
#elif KN_W == 8
  if (n <= 4) {
    kn_sc_half x = (kn_sc_half){q[from[0]], q[from[1]], q[from[2]], q[from[3]]} - *(const kn_sc_half*)ref;
    kn_sincos_half(sn, cs, x);
    x *= x;
    return (x[0] + x[2]) + (x[1] + x[3]);
  }
#endif
  for (; i < n; i += KN_W) {
    kn_sc_vec x = gather(q, from + i) - *(const kn_sc_vec*)(ref + i);
    squares += x * x;
    kn_sincos_vec(sn + i, cs + i, x);
  }
  double sum = 0.0;
  for (int k = 0; k < KN_W; k++) sum += squares[k];
  return sum;
}

/* Squares of all angles beyond the square of the limit, or not a number, are rare, and then each is looked
   at. */
KN_INLINE void angles(kn_data* d, const double* q) {
  const int32_t* from = d->layout->angle_q;
  const double* ref = d->layout->angle_ref;
  const int n = d->layout->nangle;
  double sum = turn_blocks(d->sin, d->cos, q, from, ref, n);
  if (__builtin_expect(sum <= KN_SINCOS_LIMIT * KN_SINCOS_LIMIT, 1)) return;
  for (int i = 0; i < n; i++) {
    double x = q[from[i]] - ref[i];
    if (!(x <= KN_SINCOS_LIMIT && x >= -KN_SINCOS_LIMIT)) kn_sincos(d->sin + i, d->cos + i, x);
  }
}

static void position(kn_kin* k, kn_data* d, const double* q) {
  const kn_layout* y = d->layout;
  const kn_v4 world[3] = {v4_set(1, 0, 0), v4_set(0, 1, 0), v4_set(0, 0, 1)};
  angles(d, q);
  k->weighed = false;
  const kn_link_const *c = y->link, *end = c + d->model->nlink;
  kn_link_kin* l = k->link;
  for (int i = 0; c != end; i++, c++, l++) {
    const kn_v4* P = c->parent < 0 ? world : k->link[c->parent].R;
    kn_v4 op = c->parent < 0 ? v4_zero() : k->link[c->parent].o;
    if (__builtin_expect(c->type != KN_LINK_HINGE, 0)) {
      place_other(k, d, i, P, op, q);
      continue;
    }
    double sn = d->sin[c->angle], cs = d->cos[c->angle];
    kn_v4 T[3], r = frame_offset(P, c);
    frame_turn(T, P, c);
    kn_v4 s = T[2];
    l->R[0] = v4_add(v4_scale(T[0], cs), v4_scale(T[1], sn));
    l->R[1] = v4_sub(v4_scale(T[1], cs), v4_scale(T[0], sn)), l->R[2] = s;
    k->dof[c->v].sa = s;
    l->r = r;
    l->o = v4_add(op, r);
  }
}

/* w of a link and the velocity of its origin relative to the parent's frame, from its dofs. */
KN_INLINE kn_v4 joint_angular(const kn_kin* k, const kn_link_const* c, int i, const double* v) {
  switch (c->type) {
  case KN_LINK_HINGE:
  case KN_LINK_SCREW: return v4_scale(k->dof[c->v].sa, v[c->v]);
  case KN_LINK_BALL: return v4_mul33s(k->link[i].R, v + c->v);
  case KN_LINK_FREE: return v4_mul33s(k->link[i].R, v + c->v + 3);
  default: return v4_zero();
  }
}
KN_INLINE kn_v4 joint_linear(const kn_kin* k, const kn_link_const* c, const double* v) {
  switch (c->type) {
  case KN_LINK_SLIDE:
  case KN_LINK_SCREW: return v4_scale(k->dof[c->v].sl, v[c->v]);
  case KN_LINK_FREE: return v4_load3(v + c->v);
  default: return v4_zero();
  }
}

/* Velocities into arrays of structs, `stride` vectors apart. */
KN_INLINE void velocities(kn_v4* w, kn_v4* vo, int stride, const kn_kin* k, const kn_data* d,
                          const double* v) {
  const kn_link_const *c = d->layout->link, *end = c + d->model->nlink;
  const kn_link_kin* l = k->link;
  const kn_v4 *first_w = w, *first_vo = vo;
  kn_v4 wp = v4_zero(), vp = v4_zero();
  for (int i = 0; c != end; i++, c++, l++, w += stride, vo += stride) {
    if (__builtin_expect(c->parent != i - 1, 0)) {
      wp = vp = v4_zero();
      if (c->parent >= 0) wp = first_w[c->parent * stride], vp = first_vo[c->parent * stride];
    }
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      vp = v4_add(vp, v4_cross(wp, l->r));
      wp = v4_add(wp, v4_scale(k->dof[c->v].sa, v[c->v]));
    } else {
      vp = v4_add3(vp, v4_cross(wp, l->r), joint_linear(k, c, v));
      wp = v4_add(wp, joint_angular(k, c, i, v));
    }
    *w = wp, *vo = vp;
  }
}

static void velocity(kn_kin* k, const kn_data* d, const double* v) {
  velocities(&k->link->w, &k->link->vo, sizeof(kn_link_kin) / sizeof(kn_v4), k, d, v);
}

/* The same into the scratch wb, a of the links. */
static void scratch_velocity(kn_data* d, const double* v) {
  velocities(&d->dyn->wb, &d->dyn->a, sizeof(kn_link_dyn) / sizeof(kn_v4), &d->kin, d, v);
}
