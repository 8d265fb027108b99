/* Forward dynamics of KN_W worlds in the lanes of a vector: the articulated-body algorithm written out in
   scalars (a scalar being a vector of worlds), in the axes of the links, where constants stay constants: a
   hinge is the third axis, a link's own inertia needs no turning, and offsets that lie along an axis cost a
   third. Zeros of the model are branches, the same for all worlds.

   Turning about axis k by (c, s), with l, m the axes that follow k: a symmetric or general 2x2 block (l, m)
   keeps its trace and its skew part and needs t = s² d + c s p, u = c s d - s² p, d = X_ll - X_mm,
   p = X_lm + X_ml: X_ll - t, X_mm + t, X_lm + u, X_ml + u.
   Moving the origin by x along axis k: G' = G - M[r]x, I' = I - Gᵀ[r]x + [r]x G', n' = n + r x f.
   A hinge without armature leaves zeros: row and column z of I, column z of G. */
#include "dynamics/batch_data.h"
#include "math/sincos.h"
#include "math/sincos_block.h"
#include "spatial/v4.h"

typedef double V __attribute__((vector_size(8 * KN_W), may_alias));
typedef int64_t VI __attribute__((vector_size(8 * KN_W), may_alias));
typedef double anywhere __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p)      (*(anywhere*)((uintptr_t)(p) + 8 * (uintptr_t)lane)) /* the lanes in hand of a kn_lanes */
#define UNROLL     _Pragma("GCC unroll 9")
#define UNROLL_ALL _Pragma("GCC unroll 27")

enum { XX, YY, ZZ, XY, XZ, YZ };
static const int SYM[3][3] = {{XX, XY, XZ}, {XY, YY, YZ}, {XZ, YZ, ZZ}};
#define NEXT(k) (((k) + 1) % 3)
#define LAST(k) (((k) + 2) % 3)

KN_INLINE V zero(void) { return (V){0}; }
KN_INLINE V dot(const V a[3], const V b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* ---- turning ---- */

/* Parent axes from link axes. */
KN_INLINE void spin_vector(V x[3], int k, V c, V s) {
  V l = x[NEXT(k)], m = x[LAST(k)];
  x[NEXT(k)] = c * l - s * m, x[LAST(k)] = s * l + c * m;
}
/* Link axes from parent axes. */
KN_INLINE void unspin_vector(V x[3], int k, V c, V s) {
  V l = x[NEXT(k)], m = x[LAST(k)];
  x[NEXT(k)] = c * l + s * m, x[LAST(k)] = c * m - s * l;
}

KN_INLINE void spin_pair(V* l, V* m, V c, V s) {
  V x = *l, y = *m;
  *l = c * x - s * y, *m = s * x + c * y;
}
KN_INLINE void spin_block(V* ll, V* mm, V* lm, V s2, V cs) {
  V d = *ll - *mm, p = *lm + *lm, t = s2 * d + cs * p;
  *ll -= t, *mm += t, *lm += cs * d - s2 * p;
}

typedef struct lanes_load {
  V I[6], G[9], M[6], n[3], f[3];
} lanes_load;
enum { LOAD = sizeof(lanes_load) / sizeof(V) };

/* bare: row and column k of I, column k of G and nothing else of the angular part are zero. */
KN_INLINE void spin_load(lanes_load* b, int k, V c, V s, int bare) {
  int l = NEXT(k), m = LAST(k);
  V s2 = s * s, cs = c * s, *G = b->G;
  spin_block(&b->I[l], &b->I[m], &b->I[SYM[l][m]], s2, cs);
  spin_block(&b->M[l], &b->M[m], &b->M[SYM[l][m]], s2, cs);
  V d = G[4 * l] - G[4 * m], p = G[3 * l + m] + G[3 * m + l], t = s2 * d + cs * p, u = cs * d - s2 * p;
  G[4 * l] -= t, G[4 * m] += t, G[3 * l + m] += u, G[3 * m + l] += u;
  spin_pair(&b->M[SYM[k][l]], &b->M[SYM[k][m]], c, s);
  spin_pair(&G[3 * k + l], &G[3 * k + m], c, s);
  if (!bare) {
    spin_pair(&b->I[SYM[k][l]], &b->I[SYM[k][m]], c, s);
    spin_pair(&G[3 * l + k], &G[3 * m + k], c, s);
  }
  spin_vector(b->n, k, c, s);
  spin_vector(b->f, k, c, s);
}

/* R S Rᵀ */
KN_INLINE void full_sym(V S[6], const V R[9]) {
  V B[9], T[6];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) B[3 * i + j] =
      R[3 * i] * S[SYM[0][j]] + R[3 * i + 1] * S[SYM[1][j]] + R[3 * i + 2] * S[SYM[2][j]];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = i; j < 3; j++) T[SYM[i][j]] =
      dot(B + 3 * i, R + 3 * j);
  UNROLL for (int i = 0; i < 6; i++) S[i] = T[i];
}
KN_INLINE void full_vector(V x[3], const V R[9]) {
  V y[3] = {dot(R, x), dot(R + 3, x), dot(R + 6, x)};
  UNROLL for (int i = 0; i < 3; i++) x[i] = y[i];
}
KN_INLINE void unfull_vector(V x[3], const V R[9]) {
  V y[3];
  UNROLL for (int i = 0; i < 3; i++) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
  UNROLL for (int i = 0; i < 3; i++) x[i] = y[i];
}
static __attribute__((noinline)) void full_load(lanes_load* b, const V R[9]) {
  V B[9];
  full_sym(b->I, R);
  full_sym(b->M, R);
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) B[3 * i + j] =
      R[3 * i] * b->G[j] + R[3 * i + 1] * b->G[3 + j] + R[3 * i + 2] * b->G[6 + j];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) b->G[3 * i + j] =
      dot(B + 3 * i, R + 3 * j);
  full_vector(b->n, R);
  full_vector(b->f, R);
}

/* ---- the constant turn R0, where it is more than new names ---- */

KN_INLINE void broadcast(V R[9], const kn_link_const* c) { /* rows of R0 */
  const double* x = (const double*)c->R0;
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) R[3 * i + j] = zero() + x[4 * j + i];
}

static __attribute__((noinline)) void turn_vectors(V* x, int count, const kn_link_const* c) {
  V R[9];
  broadcast(R, c);
  for (int i = 0; i < count; i++) {
    if (c->turn == 1)
      unspin_vector(x + 3 * i, 0, R[4], R[7]);
    else if (c->turn == 2)
      unspin_vector(x + 3 * i, 1, R[0], R[2]);
    else
      unfull_vector(x + 3 * i, R);
  }
}
KN_INLINE void fixed_vectors(V* x, int count, const kn_link_const* c, const kn_batch_const* f) {
  if (__builtin_expect(f->named, 1)) return;
  V t[9]; /* a copy, so that x itself never needs memory */
  UNROLL for (int i = 0; i < 3 * count; i++) t[i] = x[i];
  turn_vectors(t, count, c);
  UNROLL for (int i = 0; i < 3 * count; i++) x[i] = t[i];
}

static __attribute__((noinline)) void turn_load(lanes_load* b, const kn_link_const* c) {
  V R[9];
  broadcast(R, c);
  if (c->turn == 1)
    spin_load(b, 0, R[4], R[7], 0);
  else if (c->turn == 2)
    spin_load(b, 1, R[0], R[2], 0);
  else
    full_load(b, R);
}

/* A component of the parent's in the joint's axes. */
#define RENAMED(x, f, n) ((V)((VI)AT((x)[(f)->from[n]]) ^ (f)->flip[n]))

/* ---- outward ---- */

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
  const kn_batch_link* l = c->parent < 0 ? k->world : &k->link[c->parent];
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
    kn_batch_link* l = &k->link[i];
    lanes_motion p;
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      to_joint(&p, k, c, i, lane);
      turn_motion(&p, &k->angle[c->angle], AT(v + c->v * KN_LANES), lane);
    } else { /* a copy, so that p itself never needs memory */
      lanes_motion t;
      if (c->type == KN_LINK_FREE)
        outward_free(&t, k, c, i, q, v, lane);
      else if (c->type == KN_LINK_BALL)
        outward_ball(&t, k, c, i, q, v, lane);
      else
        outward_slide(&t, k, c, i, q, v, lane);
      p = t;
    }
    UNROLL for (int n = 0; n < 3; n++) AT(l->w[n]) = p.w[n], AT(l->al[n]) = p.al[n], AT(l->a[n]) = p.a[n];
  }
}

/* ---- inward ---- */

/* The link's own force at qdd = 0: n = I al + w x I w + h x a, f = m a + al x h + w x (w x h).
   It waits for nothing on the way in and fills the time between two links. */
KN_INLINE void own_force(V n[3], V f[3], const kn_batch_link* l, const kn_link_const* c,
                         const kn_batch_const* k, int lane) {
  const double *I = (const double*)c->I, *h = (const double*)&c->h;
  lanes_motion own, *p = &own;
  const V* P = p->P;
  UNROLL for (int i = 0; i < 3; i++) p->w[i] = AT(l->w[i]), p->al[i] = AT(l->al[i]), p->a[i] = AT(l->a[i]);
  products(p);
  UNROLL for (int i = 0; i < 3; i++) {
    int j = NEXT(i), m = LAST(i);
    f[i] = p->a[i] * c->mass;
    n[i] = p->al[i] * I[5 * i] + P[SYM[j][m]] * k->twist[i];
  }
  if (!c->diagonal) {
    UNROLL for (int i = 0; i < 3; i++) {
      int j = NEXT(i), m = LAST(i);
      double ij = I[4 * i + j], im = I[4 * i + m], jm = I[4 * j + m];
      n[i] +=
          (p->al[j] * ij + p->al[m] * im) + ((P[SYM[i][j]] * im - P[SYM[i][m]] * ij) + (P[j] - P[m]) * jm);
    }
  }
  UNROLL for (int i = 0; i < 3; i++) {
    if (!(k->h_axes & 1 << i)) continue;
    add_offset(f, p, i, zero() + h[i]);
    n[NEXT(i)] -= p->a[LAST(i)] * h[i];
    n[LAST(i)] += p->a[NEXT(i)] * h[i];
  }
}

/* The link's own inertia, constant in its axes. */
KN_INLINE void add_inertia(lanes_load* b, const kn_link_const* c) {
  const double *I = (const double*)c->I, *h = (const double*)&c->h;
  UNROLL for (int n = 0; n < 3; n++) b->I[n] += I[5 * n], b->M[n] += c->mass;
  if (!c->diagonal) b->I[XY] += I[1], b->I[XZ] += I[2], b->I[YZ] += I[6];
  /* G = -[h]x */
  b->G[1] += h[2], b->G[2] -= h[1], b->G[3] -= h[2], b->G[5] += h[0], b->G[6] += h[1], b->G[7] -= h[0];
}

/* a + b and a - b where a may be known to be zero. */
KN_INLINE V plus(V a, V b, int none) {
  if (none) return b;
  return a + b;
}
KN_INLINE V minus(V a, V b, int none) {
  if (none) return -b;
  return a - b;
}

/* The origin moves by -x along axis k. bare: row and column z of I and column z of G are zero. */
KN_INLINE void shift_load(lanes_load* b, int k, V x, int bare) {
  int l = NEXT(k), m = LAST(k), zl = bare && l == 2, zm = bare && m == 2;
  V *G = b->G, *I = b->I, *M = b->M;
  V ml = G[3 * m + l], lm = G[3 * l + m], ll = G[4 * l];
  UNROLL for (int i = 0; i < 3; i++) {
    G[3 * i + l] = minus(G[3 * i + l], x * M[SYM[i][m]], zl);
    G[3 * i + m] = plus(G[3 * i + m], x * M[SYM[i][l]], zm);
  }
  if (!(bare && k == 2)) {
    I[SYM[k][l]] = minus(I[SYM[k][l]], x * G[3 * m + k], zl);
    I[SYM[k][m]] = plus(I[SYM[k][m]], x * G[3 * l + k], zm);
  }
  I[l] = minus(I[l], x * plus(ml, G[3 * m + l], zl), zl);
  I[m] = plus(I[m], x * plus(lm, G[3 * l + m], zm), zm);
  I[SYM[l][m]] = plus(I[SYM[l][m]], x * minus(ll, G[4 * m], zl), zl || zm);
  b->n[l] -= x * b->f[m];
  b->n[m] += x * b->f[l];
}

KN_INLINE V inverse_of(V D, VI* bad) {
  VI good = D > 0.0;
  *bad |= ~good;
  return (V)((VI)(1.0 / D) & good);
}

/* A += -g Uᵀ for a dof with U = A s; its factors are kept. */
KN_INLINE void eliminate(lanes_load* b, kn_batch_dof* d, const V U[6], V dinv, V e, int lane) {
  V g[6];
  UNROLL for (int n = 0; n < 6; n++) AT(d->g[n]) = g[n] = U[n] * dinv;
  AT(d->z) = e * dinv;
  UNROLL for (int i = 0; i < 3; i++) {
    UNROLL for (int j = i; j < 3; j++) {
      b->I[SYM[i][j]] -= g[i] * U[j];
      b->M[SYM[i][j]] -= g[3 + i] * U[3 + j];
    }
    UNROLL for (int j = 0; j < 3; j++) b->G[3 * i + j] -= g[3 + i] * U[j];
    b->n[i] += g[i] * e, b->f[i] += g[3 + i] * e;
  }
}

KN_INLINE void eliminate_rotation(lanes_load* b, VI* bad, kn_batch_work* k, int axis, int j,
                                  const double* tau, int lane) {
  const V U[6] = {b->I[SYM[axis][0]], b->I[SYM[axis][1]], b->I[SYM[axis][2]],
                  b->G[axis],         b->G[3 + axis],     b->G[6 + axis]};
  V e = AT(tau + j * KN_LANES) - b->n[axis];
  eliminate(b, &k->dof[j], U, inverse_of(U[axis] + k->model->armature[j], bad), e, lane);
}

/* A hinge without armature: what is left of row and column z is zero. */
KN_INLINE void eliminate_hinge(lanes_load* b, VI* bad, kn_batch_work* k, const kn_link_const* c,
                               const double* tau, int lane) {
  kn_batch_dof* d = &k->dof[c->v];
  V x = b->I[XZ], y = b->I[YZ], u[3] = {b->G[2], b->G[5], b->G[8]}, t = AT(tau + c->v * KN_LANES);
  V dinv = inverse_of(b->I[ZZ], bad);
  V e = t - b->n[2];
  V gx = x * dinv, gy = y * dinv, g[3] = {u[0] * dinv, u[1] * dinv, u[2] * dinv};
  AT(d->g[0]) = gx, AT(d->g[1]) = gy, AT(d->z) = e * dinv;
  b->I[XX] -= gx * x, b->I[YY] -= gy * y, b->I[XY] -= gx * y;
  UNROLL for (int n = 0; n < 3; n++) {
    AT(d->g[3 + n]) = g[n];
    b->G[3 * n] -= g[n] * x, b->G[3 * n + 1] -= g[n] * y;
    UNROLL for (int m = n; m < 3; m++) b->M[SYM[n][m]] -= g[n] * u[m];
    b->f[n] += g[n] * e;
  }
  b->n[0] += gx * e, b->n[1] += gy * e, b->n[2] = t;
  b->I[ZZ] = b->I[XZ] = b->I[YZ] = b->G[2] = b->G[5] = b->G[8] = zero();
}

/* Slide: s = (0; z); screw: s = (z; pitch z). */
static __attribute__((noinline)) VI inward_slide(lanes_load* b, kn_batch_work* k, const kn_link_const* c,
                                                 int i, const double* tau, int lane) {
  VI bad = {0};
  kn_batch_link* l = &k->link[i];
  double turns = c->type == KN_LINK_SCREW ? 1.0 : 0.0, p = c->type == KN_LINK_SCREW ? c->pitch : 1.0;
  V U[6];
  for (int n = 0; n < 3; n++) {
    U[n] = b->I[SYM[n][2]] * turns + b->G[6 + n] * p;
    U[3 + n] = b->G[3 * n + 2] * turns + b->M[SYM[n][2]] * p;
  }
  V D = (U[2] * turns + U[5] * p) + k->model->armature[c->v];
  V e = AT(tau + c->v * KN_LANES) - (b->n[2] * turns + b->f[2] * p);
  eliminate(b, &k->dof[c->v], U, inverse_of(D, &bad), e, lane);
  if (c->type == KN_LINK_SCREW) spin_load(b, 2, AT(k->angle[c->angle].c), AT(k->angle[c->angle].s), 0);
  shift_load(b, 2, AT(l->slide), 0);
  return bad;
}

static __attribute__((noinline)) VI inward_ball(lanes_load* b, kn_batch_work* k, const kn_link_const* c,
                                                int i, const double* tau, int lane) {
  VI bad = {0};
  V R[9];
  for (int n = 0; n < 9; n++) R[n] = AT(k->link[i].R[n]);
  eliminate_rotation(b, &bad, k, 2, c->v + 2, tau, lane);
  eliminate_rotation(b, &bad, k, 1, c->v + 1, tau, lane);
  eliminate_rotation(b, &bad, k, 0, c->v, tau, lane);
  if (c->parent >= 0) full_load(b, R);
  return bad;
}

/* A free root: nothing is handed on, so that only what the dofs before it need is updated. First the
   rotations, about the link's axes, then the translations along the world's, for which only M and f are left.
 */
static __attribute__((noinline)) VI inward_free(lanes_load* b, kn_batch_work* k, const kn_link_const* c,
                                                int i, const double* tau, int lane) {
  VI bad = {0};
  V R[9];
  UNROLL for (int j = 2; j >= 0; j--) {
    int v = c->v + 3 + j;
    kn_batch_dof* d = &k->dof[v];
    V dinv = inverse_of(b->I[j] + k->model->armature[v], &bad), e = AT(tau + v * KN_LANES) - b->n[j];
    V u[3] = {b->G[j], b->G[3 + j], b->G[6 + j]};
    AT(d->z) = e * dinv;
    UNROLL for (int n = 0; n < j; n++) {
      V g = b->I[SYM[n][j]] * dinv;
      AT(d->g[n]) = g;
      UNROLL for (int m = 0; m <= n; m++) b->I[SYM[n][m]] -= g * b->I[SYM[m][j]];
      UNROLL for (int m = 0; m < 3; m++) b->G[3 * m + n] -= g * u[m];
      b->n[n] += g * e;
    }
    UNROLL for (int n = 0; n < 3; n++) {
      V g = u[n] * dinv;
      AT(d->g[3 + n]) = g;
      UNROLL for (int m = n; m < 3; m++) b->M[SYM[n][m]] -= g * u[m];
      b->f[n] += g * e;
    }
  }
  for (int n = 0; n < 9; n++) R[n] = AT(k->link[i].R[n]);
  full_sym(b->M, R);
  full_vector(b->f, R);
  UNROLL for (int j = 2; j >= 0; j--) {
    int v = c->v + j;
    kn_batch_dof* d = &k->dof[v];
    V dinv = inverse_of(b->M[j] + k->model->armature[v], &bad), e = AT(tau + v * KN_LANES) - b->f[j];
    AT(d->z) = e * dinv;
    UNROLL for (int n = 0; n < j; n++) {
      V g = b->M[SYM[n][j]] * dinv;
      AT(d->g[3 + n]) = g;
      UNROLL for (int m = 0; m <= n; m++) b->M[SYM[n][m]] -= g * b->M[SYM[m][j]];
      b->f[n] += g * e;
    }
  }
  return bad;
}

/* What the children left, and the link's own share. */
KN_INLINE void take_load(lanes_load* b, kn_batch_work* k, const kn_link_const* c, int i, int lane) {
  const kn_batch_const* f = &k->fixed[i];
  const kn_batch_load* from = &k->load[f->take];
  own_force(b->n, b->f, &k->link[i], c, f, lane);
  if (f->leaf) {
    UNROLL for (int n = 0; n < 6; n++) b->I[n] = b->M[n] = zero();
    UNROLL for (int n = 0; n < 9; n++) b->G[n] = zero();
  } else {
    UNROLL for (int n = 0; n < 6; n++) b->I[n] = AT(from->I[n]), b->M[n] = AT(from->M[n]);
    UNROLL for (int n = 0; n < 9; n++) b->G[n] = AT(from->G[n]);
    UNROLL for (int n = 0; n < 3; n++) b->n[n] += AT(from->n[n]), b->f[n] += AT(from->f[n]);
  }
  add_inertia(b, c);
}

KN_INLINE void flip_load(lanes_load* b, int flips) {
  UNROLL for (int i = 0; i < 3; i++) {
    int fi = flips >> i & 1;
    UNROLL for (int j = 0; j < 3; j++) {
      if (fi == (flips >> j & 1)) continue;
      if (i < j) b->I[SYM[i][j]] = -b->I[SYM[i][j]], b->M[SYM[i][j]] = -b->M[SYM[i][j]];
      b->G[3 * i + j] = -b->G[3 * i + j];
    }
    if (fi) b->n[i] = -b->n[i], b->f[i] = -b->f[i];
  }
}

/* To the parent, in its axes; its last child comes first. */
KN_INLINE void give_load(lanes_load* b, kn_batch_work* k, const kn_link_const* c, int i, int lane) {
  const kn_batch_const* f = &k->fixed[i];
  char* to = (char*)&k->load[f->give];
  V* x = (V*)b;
  switch (f->flips) {
  case 1: flip_load(b, 1); break;
  case 2: flip_load(b, 2); break;
  case 3: flip_load(b, 3); break;
  case 4: flip_load(b, 4); break;
  case 5: flip_load(b, 5); break;
  case 6: flip_load(b, 6); break;
  case 7: flip_load(b, 7); break;
  }
  if (!c->last_child) { UNROLL_ALL for (int n = 0; n < LOAD; n++) x[n] += AT(to + f->load_to[n]); }
  UNROLL_ALL for (int n = 0; n < LOAD; n++) AT(to + f->load_to[n]) = x[n];
}

/* R0ᵀ p0 and then R0: the move is made in the joint's axes. */
KN_INLINE void shift_axes(lanes_load* b, const kn_batch_const* f, int axes, int bare) {
  if (axes & 4) shift_load(b, 2, zero() + f->p[2], bare); /* leaves the zeros as they are */
  if (axes & 2) shift_load(b, 1, zero() + f->p[1], bare);
  if (axes & 1) shift_load(b, 0, zero() + f->p[0], bare && !(axes & 2));
}

/* A hinge without armature with a parent, its axes of R0 new names at most: no branch between load and store.
 */
KN_INLINE void inward_bare(VI* bad, kn_batch_work* k, const kn_link_const* c, int i, const double* tau,
                           int lane, int axes) {
  const kn_batch_angle* t = &k->angle[c->angle];
  lanes_load b;
  take_load(&b, k, c, i, lane);
  eliminate_hinge(&b, bad, k, c, tau, lane);
  spin_load(&b, 2, AT(t->c), AT(t->s), 1);
  shift_axes(&b, &k->fixed[i], axes, 1);
  give_load(&b, k, c, i, lane);
}

/* The same for a leaf with diagonal inertia: what the hinge leaves is the same in all worlds, and half of it
   is zero. Its g (f->tip) is constant too. */
KN_INLINE void inward_leaf(kn_batch_work* k, const kn_link_const* c, int i, const double* tau, int lane,
                           int axes) {
  const kn_batch_const* f = &k->fixed[i];
  const double *I = (const double*)c->I, *h = (const double*)&c->h;
  V cs = AT(k->angle[c->angle].c), sn = AT(k->angle[c->angle].s), s2 = sn * sn, sc = cs * sn;
  V t = AT(tau + c->v * KN_LANES);
  lanes_load b;
  own_force(b.n, b.f, &k->link[i], c, f, lane);
  V e = t - b.n[2];
  AT(k->dof[c->v].z) = e * f->tip[3];
  b.f[0] += e * f->tip[4], b.f[1] += e * f->tip[5], b.n[2] = t;
  double d = I[0] - I[5], m = f->tip[0] - f->tip[1], p = 2.0 * f->tip[2];
  V turn = s2 * m + sc * p;
  b.I[XX] = I[0] - s2 * d, b.I[YY] = I[5] + s2 * d, b.I[XY] = sc * d;
  b.M[XX] = f->tip[0] - turn, b.M[YY] = f->tip[1] + turn, b.M[XY] = f->tip[2] + (sc * m - s2 * p);
  b.M[ZZ] = zero() + c->mass;
  b.M[XZ] = b.M[YZ] = b.I[ZZ] = b.I[XZ] = b.I[YZ] = zero();
  b.G[0] = b.G[4] = b.G[2] = b.G[5] = b.G[8] = zero();
  b.G[1] = zero() + h[2], b.G[3] = zero() - h[2], b.G[6] = cs * h[1] + sn * h[0],
  b.G[7] = sn * h[1] - cs * h[0];
  spin_vector(b.n, 2, cs, sn);
  spin_vector(b.f, 2, cs, sn);
  shift_axes(&b, f, axes, 1);
  give_load(&b, k, c, i, lane);
}

/* A hinge on the world: nothing is handed on, and no parent accelerates (its g stays 0). */
static __attribute__((noinline)) void inward_root(VI* bad, kn_batch_work* k, const kn_link_const* c, int i,
                                                  const double* tau, int lane) {
  lanes_load b;
  take_load(&b, k, c, i, lane);
  V dinv = inverse_of(b.I[ZZ] + k->model->armature[c->v], bad);
  AT(k->dof[c->v].z) = (AT(tau + c->v * KN_LANES) - b.n[2]) * dinv;
}

static __attribute__((noinline)) void inward_any(VI* bad, kn_batch_work* k, const kn_link_const* c, int i,
                                                 const double* tau, int lane) {
  const kn_batch_const* f = &k->fixed[i];
  lanes_load b;
  take_load(&b, k, c, i, lane);
  if (c->type == KN_LINK_HINGE) {
    eliminate_rotation(&b, bad, k, 2, c->v, tau, lane);
    spin_load(&b, 2, AT(k->angle[c->angle].c), AT(k->angle[c->angle].s), 0);
  } else if (c->type == KN_LINK_FREE) {
    *bad |= inward_free(&b, k, c, i, tau, lane);
  } else if (c->type == KN_LINK_BALL) {
    *bad |= inward_ball(&b, k, c, i, tau, lane);
  } else {
    *bad |= inward_slide(&b, k, c, i, tau, lane);
  }
  if (c->parent < 0) return;
  shift_axes(&b, f, f->p_axes, 0);
  if (!f->named) turn_load(&b, c);
  give_load(&b, k, c, i, lane);
}

/* One function for each set of axes that p has. */
#define BARE(axes)                                                                                           \
  static __attribute__((noinline)) void inward_bare_##axes(                                                  \
      VI* bad, kn_batch_work* k, const kn_link_const* c, int i, const double* tau, int lane) {               \
    inward_bare(bad, k, c, i, tau, lane, axes);                                                              \
  }                                                                                                          \
  static __attribute__((noinline)) void inward_leaf_##axes(                                                  \
      VI* bad, kn_batch_work* k, const kn_link_const* c, int i, const double* tau, int lane) {               \
    (void)bad;                                                                                               \
    inward_leaf(k, c, i, tau, lane, axes);                                                                   \
  }
BARE(0)
BARE(1)
BARE(2)
BARE(3)
BARE(4)
BARE(5)
BARE(6)
BARE(7)
#undef BARE

static VI inward_lanes(kn_batch_work* k, const double* tau, int lane) {
  static void (*const inward[])(VI*, kn_batch_work*, const kn_link_const*, int, const double*, int) = {
      inward_bare_0, inward_bare_1, inward_bare_2, inward_bare_3, inward_bare_4, inward_bare_5,
      inward_bare_6, inward_bare_7, inward_root,   inward_any,    inward_leaf_0, inward_leaf_1,
      inward_leaf_2, inward_leaf_3, inward_leaf_4, inward_leaf_5, inward_leaf_6, inward_leaf_7};
  VI bad = {0};
  for (int i = k->model->nlink - 1; i >= 0; i--)
    inward[k->fixed[i].kind](&bad, k, &k->layout->link[i], i, tau, lane);
  return bad;
}

/* ---- accelerations ---- */

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

KN_INLINE void accelerate_hinge(double* qdd, V x[6], kn_batch_work* k, const kn_link_const* c, int i,
                                int lane) {
  const kn_batch_dof* d = &k->dof[c->v];
  V cs = AT(k->angle[c->angle].c), sn = AT(k->angle[c->angle].s);
  unspin_vector(x, 2, cs, sn);
  unspin_vector(x + 3, 2, cs, sn);
  if (k->fixed[i].bare) {
    V own = (AT(d->z) - (AT(d->g[0]) * x[0] + AT(d->g[1]) * x[1])) -
            ((AT(d->g[3]) * x[3] + AT(d->g[4]) * x[4]) + AT(d->g[5]) * x[5]);
    AT(qdd + c->v * KN_LANES) = own - x[2];
    x[2] = own;
  } else {
    V y = dof_acceleration(d, x, lane);
    AT(qdd + c->v * KN_LANES) = y;
    x[2] += y;
  }
}

/* A leaf of inward_leaf: nothing is handed on, and half of g is zero. */
KN_INLINE void accelerate_leaf(double* qdd, const V x[6], const kn_batch_work* k, const kn_link_const* c,
                               const kn_batch_const* f, int lane) {
  V cs = AT(k->angle[c->angle].c), sn = AT(k->angle[c->angle].s);
  V ax = cs * x[3] + sn * x[4], ay = cs * x[4] - sn * x[3];
  AT(qdd + c->v * KN_LANES) = (AT(k->dof[c->v].z) - (ax * f->tip[4] + ay * f->tip[5])) - x[2];
}

/* Returns 0 in the lanes whose accelerations are finite. */
static V accelerate_lanes(double* qdd, kn_batch_work* k, int lane) {
  V check = zero();
  for (int i = 0; i < k->model->nlink; i++) {
    const kn_link_const* c = &k->layout->link[i];
    const kn_batch_const* f = &k->fixed[i];
    kn_batch_link* l = &k->link[i];
    const kn_batch_link* p = c->parent < 0 ? k->world : &k->link[c->parent];
    V x[6]; /* what qdd adds to al, a: in the place of w, al, which are needed no more */
    UNROLL for (int n = 0; n < 3; n++) x[n] = RENAMED(p->w, f, n), x[3 + n] = RENAMED(p->al, f, n);
    fixed_vectors(x, 2, c, f);
    UNROLL for (int n = 0; n < 3; n++) if (f->p_axes & 1 << n) carry(x + 3, x, n, zero() + f->p[n]);
    if (f->kind >= KN_BATCH_LEAF) {
      accelerate_leaf(qdd, x, k, c, f, lane);
      check += 0.0 * AT(qdd + c->v * KN_LANES);
      continue;
    }
    if (__builtin_expect(c->type == KN_LINK_HINGE, 1)) {
      accelerate_hinge(qdd, x, k, c, i, lane);
    } else {
      V t[6];
      UNROLL for (int n = 0; n < 6; n++) t[n] = x[n];
      if (c->type == KN_LINK_FREE)
        accelerate_free(qdd, t, k, c, i, lane);
      else if (c->type == KN_LINK_BALL)
        accelerate_ball(qdd, t, k, c, i, lane);
      else
        accelerate_slide(qdd, t, k, c, i, lane);
      UNROLL for (int n = 0; n < 6; n++) x[n] = t[n];
    }
    UNROLL for (int n = 0; n < 3; n++) AT(l->w[n]) = x[n], AT(l->al[n]) = x[3 + n];
    for (int j = c->v; j < c->v + c->nv; j++) check += 0.0 * AT(qdd + j * KN_LANES);
  }
  return check;
}

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
