/* Forward dynamics of KN_W worlds in the lanes of a vector: the articulated-body algorithm of aba_kernel.h in
   world axes about link origins, written out in scalars (a scalar being a vector of worlds), with symmetric
   matrices stored once. */
#include "dynamics/batch_data.h"
#include "math/sincos.h"
#include "math/sincos_block.h"
#include "spatial/v4.h"

typedef double V __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t VI __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p) (*(V*)((uintptr_t)(p) + 8 * (uintptr_t)lane)) /* the lanes in hand of a kn_lanes */

KN_INLINE V zero(void) { return (V){0}; }
KN_INLINE V root(V x) {
  V y;
  for (int k = 0; k < KN_W; k++) y[k] = __builtin_sqrt(x[k]);
  return y;
}
KN_INLINE V dot(const V a[3], const V b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
KN_INLINE void cross(V c[3], const V a[3], const V b[3]) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
KN_INLINE void add_cross(V c[3], const V a[3], const V b[3]) { /* c += a x b */
  c[0] += a[1] * b[2] - a[2] * b[1];
  c[1] += a[2] * b[0] - a[0] * b[2];
  c[2] += a[0] * b[1] - a[1] * b[0];
}
KN_INLINE void sym_mul(V y[3], const V S[6], const V x[3]) {
  y[0] = S[0] * x[0] + S[3] * x[1] + S[4] * x[2];
  y[1] = S[3] * x[0] + S[1] * x[1] + S[5] * x[2];
  y[2] = S[4] * x[0] + S[5] * x[1] + S[2] * x[2];
}

/* Rows of R(quat) of lanes; a zero quaternion counts as the identity. */
static void quat_matrix(V m[9], const double* quat, int lane) {
  V w = AT(quat), x = AT(quat + KN_LANES), y = AT(quat + 2 * KN_LANES), z = AT(quat + 3 * KN_LANES);
  V n = root(w * w + x * x + y * y + z * z);
  for (int k = 0; k < KN_W; k++)
    if (!(n[k] > 0.0)) n[k] = 1.0, w[k] = 1.0;
  w /= n, x /= n, y /= n, z /= n;
  m[0] = 1.0 - 2.0 * (y * y + z * z), m[1] = 2.0 * (x * y - w * z), m[2] = 2.0 * (x * z + w * y);
  m[3] = 2.0 * (x * y + w * z), m[4] = 1.0 - 2.0 * (x * x + z * z), m[5] = 2.0 * (y * z - w * x);
  m[6] = 2.0 * (x * z - w * y), m[7] = 2.0 * (y * z + w * x), m[8] = 1.0 - 2.0 * (x * x + y * y);
}

KN_INLINE void sine_cosine(V* s, V* c, V x) {
  double ts[KN_W], tc[KN_W];
  kn_sc_ivec wide = kn_sincos_vec(ts, tc, (kn_sc_vec)x);
  int64_t any = 0;
  for (int k = 0; k < KN_W; k++) any |= wide[k];
  if (__builtin_expect(any != 0, 0))
    for (int k = 0; k < KN_W; k++)
      if (wide[k]) kn_sincos(ts + k, tc + k, x[k]);
  *s = *(V*)ts, *c = *(V*)tc;
}

/* T = P R0, r = P p0; R0 of the layout by columns, 4 apart. */
KN_INLINE void place_frame(V T[9], V r[3], const kn_link_const* c, const kn_batch_link* p, int lane) {
  const double *R0 = (const double*)c->R0, *p0 = (const double*)&c->p0;
  for (int n = 0; n < 3; n++) {
    V x = AT(p->R[3 * n]), y = AT(p->R[3 * n + 1]), z = AT(p->R[3 * n + 2]);
    if (c->turn == 1) { /* R0 keeps x */
      T[3 * n] = x;
      T[3 * n + 1] = y * R0[5] + z * R0[6], T[3 * n + 2] = y * R0[9] + z * R0[10];
    } else if (c->turn == 2) { /* R0 keeps y */
      T[3 * n + 1] = y;
      T[3 * n] = x * R0[0] + z * R0[2], T[3 * n + 2] = x * R0[8] + z * R0[10];
    } else if (c->turn == 3) {
      T[3 * n] = z, T[3 * n + 1] = x, T[3 * n + 2] = y;
    } else if (c->turn == 4) {
      T[3 * n] = y, T[3 * n + 1] = z, T[3 * n + 2] = x;
    } else {
      for (int j = 0; j < 3; j++) T[3 * n + j] = x * R0[4 * j] + y * R0[4 * j + 1] + z * R0[4 * j + 2];
    }
    r[n] = x * p0[0] + y * p0[1] + z * p0[2];
  }
}

/* Turn about the third axis of T. */
KN_INLINE void place_turn(kn_batch_link* l, const V T[9], V x, int lane) {
  V sn, cs;
  sine_cosine(&sn, &cs, x);
  for (int n = 0; n < 3; n++) {
    AT(l->R[3 * n]) = T[3 * n] * cs + T[3 * n + 1] * sn;
    AT(l->R[3 * n + 1]) = T[3 * n + 1] * cs - T[3 * n] * sn;
    AT(l->R[3 * n + 2]) = T[3 * n + 2];
  }
}

/* Ball and free: R and the axes of the dofs. */
static void place_quat(V r[3], kn_batch_work* k, const kn_link_const* c, kn_batch_link* l, const V T[9],
                       const double* q, int lane) {
  int is_free = c->type == KN_LINK_FREE, first = c->v + (is_free ? 3 : 0);
  V m[9];
  quat_matrix(m, q + (c->q + (is_free ? 3 : 0)) * KN_LANES, lane);
  for (int n = 0; n < 3; n++) {
    for (int j = 0; j < 3; j++) {
      V x = m[3 * n + j];
      if (!is_free) x = T[3 * n] * m[j] + T[3 * n + 1] * m[3 + j] + T[3 * n + 2] * m[6 + j];
      AT(l->R[3 * n + j]) = AT(k->dof[first + j].s[n]) = x;
    }
    if (!is_free) continue;
    r[n] = AT(q + (c->q + n) * KN_LANES);
    for (int j = 0; j < 3; j++) AT(k->dof[c->v + n].s[j]) = zero() + (j == n ? 1.0 : 0.0);
  }
}

/* Accelerations at qdd = 0 from the parent's, with the joint's angular velocity sw. */
KN_INLINE void bias_lanes(kn_batch_link* l, const kn_batch_link* p, const V r[3], const V sw[3], int lane) {
  V w[3], al[3], a[3], t[3];
  for (int n = 0; n < 3; n++) w[n] = AT(p->w[n]), al[n] = AT(p->al[n]), a[n] = AT(p->a[n]);
  cross(t, w, r);
  add_cross(a, al, r);
  add_cross(a, w, t);
  add_cross(al, w, sw);
  for (int n = 0; n < 3; n++) {
    AT(l->r[n]) = r[n], AT(l->a[n]) = a[n], AT(l->al[n]) = al[n];
    AT(l->w[n]) = w[n] + sw[n];
  }
}

static void outward_other_lanes(kn_batch_work* k, const kn_link_const* c, int i, const kn_batch_link* p,
                                const double* q, const double* v, int lane) {
  kn_batch_link* l = &k->link[i];
  V T[9], r[3], sw[3] = {zero(), zero(), zero()}, sv[3] = {zero(), zero(), zero()}, t[3], w[3];
  place_frame(T, r, c, p, lane);
  if (c->type == KN_LINK_BALL || c->type == KN_LINK_FREE) {
    place_quat(r, k, c, l, T, q, lane);
  } else {
    V x = AT(q + c->q * KN_LANES) - k->model->link[i].ref;
    double slide = c->type == KN_LINK_SLIDE ? 1.0 : c->pitch;
    for (int n = 0; n < 3; n++) AT(k->dof[c->v].s[n]) = T[3 * n + 2], r[n] += T[3 * n + 2] * (slide * x);
    if (c->type == KN_LINK_SCREW) place_turn(l, T, x, lane);
    for (int n = 0; n < 9 && c->type == KN_LINK_SLIDE; n++) AT(l->R[n]) = T[n];
  }
  for (int j = c->v; j < c->v + c->nv; j++) {
    int kind = k->layout->dof_kind[j];
    V qd = AT(v + j * KN_LANES);
    for (int n = 0; n < 3; n++) {
      if (kind != KN_DOF_SLIDE) sw[n] += AT(k->dof[j].s[n]) * qd;
      if (kind != KN_DOF_ROTATE) sv[n] += AT(k->dof[j].s[n]) * (qd * (kind == KN_DOF_SCREW ? c->pitch : 1.0));
    }
  }
  bias_lanes(l, p, r, sw, lane);
  if (c->type != KN_LINK_SLIDE && c->type != KN_LINK_SCREW) return;
  for (int n = 0; n < 3; n++) w[n] = AT(p->w[n]);
  cross(t, w, sv);
  for (int n = 0; n < 3; n++) AT(l->a[n]) += 2.0 * t[n];
}

static void outward_lanes(kn_batch_work* k, const double* q, const double* v, int lane) {
  for (int i = 0; i < k->model->nlink; i++) {
    const kn_link_const* c = &k->layout->link[i];
    const kn_batch_link* p = c->parent < 0 ? k->world : &k->link[c->parent];
    if (c->type != KN_LINK_HINGE) {
      outward_other_lanes(k, c, i, p, q, v, lane);
      continue;
    }
    V T[9], r[3], sw[3], qd = AT(v + c->v * KN_LANES);
    place_frame(T, r, c, p, lane);
    place_turn(&k->link[i], T, AT(q + c->q * KN_LANES) - k->layout->angle_ref[c->angle], lane);
    for (int n = 0; n < 3; n++) AT(k->dof[c->v].s[n]) = T[3 * n + 2], sw[n] = T[3 * n + 2] * qd;
    bias_lanes(&k->link[i], p, r, sw, lane);
  }
}

typedef struct lanes_load {
  V I[6], G[9], M[6], n[3], f[3];
} lanes_load;

/* Adds a link's own inertia and inertial force. */
KN_INLINE void add_own(lanes_load* b, const kn_link_const* c, const kn_batch_link* l, int lane) {
  const double *Il = (const double*)c->I, *hl = (const double*)&c->h; /* columns, 4 apart */
  V R[9], B[9], I[6], h[3], w[3], al[3], a[3], t[3];
  for (int n = 0; n < 9; n++) R[n] = AT(l->R[n]);
  for (int n = 0; n < 3; n++) {
    w[n] = AT(l->w[n]), al[n] = AT(l->al[n]), a[n] = AT(l->a[n]);
    h[n] = R[3 * n] * hl[0] + R[3 * n + 1] * hl[1] + R[3 * n + 2] * hl[2];
    for (int j = 0; j < 3; j++) {
      if (c->diagonal)
        B[3 * n + j] = R[3 * n + j] * Il[5 * j];
      else
        B[3 * n + j] = R[3 * n] * Il[4 * j] + R[3 * n + 1] * Il[4 * j + 1] + R[3 * n + 2] * Il[4 * j + 2];
    }
  }
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int n = 0; n < 6; n++) {
    I[n] = dot(B + 3 * row[n], R + 3 * col[n]);
    b->I[n] += I[n];
  }
  /* G = -[h]x */
  b->G[1] += h[2], b->G[2] -= h[1], b->G[3] -= h[2], b->G[5] += h[0], b->G[6] += h[1], b->G[7] -= h[0];
  for (int n = 0; n < 3; n++) b->M[n] += c->mass;
  sym_mul(t, I, al);
  for (int n = 0; n < 3; n++) b->n[n] += t[n], b->f[n] += c->mass * a[n];
  add_cross(b->n, h, a);
  sym_mul(t, I, w);
  add_cross(b->n, w, t);
  add_cross(b->f, al, h);
  cross(t, w, h);
  add_cross(b->f, w, t);
}

/* G -= M[r]x, I += -Gᵀ[r]x (old G) + [r]x G (new), n += r x f */
KN_INLINE void move_lanes(lanes_load* b, const V r[3]) {
  V *G = b->G, *M = b->M, *I = b->I, H[9];
  for (int n = 0; n < 9; n++) H[n] = G[3 * (n % 3) + n / 3];
  const V Mr[9] = {M[0], M[3], M[4], M[3], M[1], M[5], M[4], M[5], M[2]};
  for (int n = 0; n < 3; n++) { /* row n of M[r]x: (m1 r2 - m2 r1, m2 r0 - m0 r2, m0 r1 - m1 r0) */
    const V* m = Mr + 3 * n;
    G[3 * n] -= m[1] * r[2] - m[2] * r[1];
    G[3 * n + 1] -= m[2] * r[0] - m[0] * r[2];
    G[3 * n + 2] -= m[0] * r[1] - m[1] * r[0];
  }
  I[0] += (r[1] * G[6] - r[2] * G[3]) - (H[1] * r[2] - H[2] * r[1]);
  I[1] += (r[2] * G[1] - r[0] * G[7]) - (H[5] * r[0] - H[3] * r[2]);
  I[2] += (r[0] * G[5] - r[1] * G[2]) - (H[6] * r[1] - H[7] * r[0]);
  I[3] += (r[1] * G[7] - r[2] * G[4]) - (H[2] * r[0] - H[0] * r[2]);
  I[4] += (r[1] * G[8] - r[2] * G[5]) - (H[0] * r[1] - H[1] * r[0]);
  I[5] += (r[2] * G[2] - r[0] * G[8]) - (H[3] * r[1] - H[4] * r[0]);
  add_cross(b->n, r, b->f);
}

/* U = A s */
KN_INLINE void times_motion(V U[6], const lanes_load* b, int kind, const V s[3], double pitch) {
  const V* G = b->G;
  for (int n = 0; n < 6; n++) U[n] = zero();
  if (kind != KN_DOF_SLIDE) {
    sym_mul(U, b->I, s);
    for (int n = 0; n < 3; n++) U[3 + n] = dot(G + 3 * n, s);
  }
  if (kind != KN_DOF_ROTATE) {
    double k = kind == KN_DOF_SCREW ? pitch : 1.0;
    V x[3] = {s[0] * k, s[1] * k, s[2] * k}, t[3];
    sym_mul(t, b->M, x);
    for (int n = 0; n < 3; n++) {
      U[n] += G[n] * x[0] + G[3 + n] * x[1] + G[6 + n] * x[2];
      U[3 + n] += t[n];
    }
  }
}
KN_INLINE V motion_dot_lanes(int kind, const V s[3], double pitch, const V n[3], const V f[3]) {
  if (kind == KN_DOF_ROTATE) return dot(s, n);
  if (kind == KN_DOF_SLIDE) return dot(s, f);
  return dot(s, n) + pitch * dot(s, f);
}

KN_INLINE void eliminate_lanes(lanes_load* b, VI* bad, kn_batch_work* k, const kn_link_const* c, int i, int j,
                               int kind, const double* tau, int lane) {
  kn_batch_dof* d = &k->dof[j];
  V s[3], U[6], g[6], r[3];
  for (int n = 0; n < 3; n++) s[n] = AT(d->s[n]);
  times_motion(U, b, kind, s, c->pitch);
  V D = motion_dot_lanes(kind, s, c->pitch, U, U + 3) + k->model->armature[j];
  V e = AT(tau + j * KN_LANES) - motion_dot_lanes(kind, s, c->pitch, b->n, b->f);
  VI good = D > 0.0;
  *bad |= ~good;
  V dinv = (V)((VI)(1.0 / D) & good);
  AT(d->dinv) = dinv, AT(d->e) = e;
  if (j == c->v) {
    if (c->parent < 0) return;
    for (int n = 0; n < 3; n++) r[n] = AT(k->link[i].r[n]);
    add_cross(U, r, U + 3);
    move_lanes(b, r);
  }
  for (int n = 0; n < 6; n++) AT(d->g[n]) = g[n] = U[n] * dinv;
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int n = 0; n < 6; n++) {
    b->I[n] -= g[row[n]] * U[col[n]];
    b->M[n] -= g[3 + row[n]] * U[3 + col[n]];
  }
  for (int n = 0; n < 9; n++) b->G[n] -= g[3 + n / 3] * U[n % 3];
  for (int n = 0; n < 3; n++) b->n[n] += g[n] * e, b->f[n] += g[3 + n] * e;
}

static void hand_over_lanes(lanes_load* b, kn_batch_work* k, const kn_link_const* c, int lane) {
  enum { COUNT = sizeof(kn_batch_load) / sizeof(kn_lanes) };
  V* from = (V*)b;
  if (c->parent >= 0) {
    kn_lanes* to = (kn_lanes*)&k->load[c->parent];
    for (int n = 0; n < COUNT; n++) {
      if (c->last_child)
        AT(to[n]) = from[n];
      else
        AT(to[n]) += from[n];
    }
  }
  for (int n = 0; n < COUNT; n++) from[n] = zero();
}

static VI inward_lanes(kn_batch_work* k, const double* tau, int lane) {
  lanes_load b;
  VI bad = {0};
  for (int n = 0; n < (int)(sizeof b / sizeof(V)); n++) ((V*)&b)[n] = zero();
  for (int i = k->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &k->layout->link[i];
    add_own(&b, c, &k->link[i], lane);
    if (c->junction) {
      kn_lanes* from = (kn_lanes*)&k->load[i];
      for (int n = 0; n < (int)(sizeof b / sizeof(V)); n++) ((V*)&b)[n] += AT(from[n]);
    }
    if (c->type == KN_LINK_HINGE)
      eliminate_lanes(&b, &bad, k, c, i, c->v, KN_DOF_ROTATE, tau, lane);
    else
      for (int j = c->v + c->nv - 1; j >= c->v; j--)
        eliminate_lanes(&b, &bad, k, c, i, j, k->layout->dof_kind[j], tau, lane);
    if (c->parent != i - 1) hand_over_lanes(&b, k, c, lane);
  }
  return bad;
}

static void accelerate_lanes(double* qdd, kn_batch_work* k, int lane) {
  V al[3] = {zero(), zero(), zero()}, a[3] = {zero(), zero(), zero()};
  for (int i = 0; i < k->model->nlink; i++) {
    const kn_link_const* c = &k->layout->link[i];
    kn_batch_link* l = &k->link[i];
    if (c->parent != i - 1 || c->parent < 0)
      for (int n = 0; n < 3; n++) {
        al[n] = a[n] = zero();
        if (c->parent >= 0) al[n] = AT(k->link[c->parent].al[n]), a[n] = AT(k->link[c->parent].a[n]);
      }
    for (int j = c->v; j < c->v + c->nv; j++) {
      kn_batch_dof* d = &k->dof[j];
      int kind = k->layout->dof_kind[j];
      V z = AT(d->e) * AT(d->dinv);
      if (j > c->v || c->parent >= 0)
        for (int n = 0; n < 3; n++) z -= AT(d->g[n]) * al[n] + AT(d->g[3 + n]) * a[n];
      if (j == c->v) {
        V r[3] = {AT(l->r[0]), AT(l->r[1]), AT(l->r[2])};
        add_cross(a, al, r);
      }
      for (int n = 0; n < 3; n++) {
        if (kind != KN_DOF_SLIDE) al[n] += AT(d->s[n]) * z;
        if (kind == KN_DOF_SLIDE) a[n] += AT(d->s[n]) * z;
        if (kind == KN_DOF_SCREW) a[n] += AT(d->s[n]) * (z * c->pitch);
      }
      AT(qdd + j * KN_LANES) = z;
    }
    for (int n = 0; n < 3; n++) AT(l->al[n]) = al[n], AT(l->a[n]) = a[n];
  }
}

static int forward_lanes(double* qdd, kn_batch_work* k, const double* q, const double* v, const double* tau) {
  int64_t any = 0;
  for (int lane = 0; lane < KN_LANES; lane += KN_W) {
    outward_lanes(k, q, v, lane);
    VI bad = inward_lanes(k, tau, lane);
    for (int n = 0; n < KN_W; n++) any |= bad[n];
    accelerate_lanes(qdd, k, lane);
  }
  return any == 0;
}

const kn_batch_fn KN_NAME(kn_batch) = forward_lanes;
