/* Batches, second sweep: articulated inertias and bias forces, tips to root. */
#include "dynamics/batch/batch_outward.h"

/* The link's own force at qdd = 0: n = I al + w x I w + h x a, f = m a + al x h + w x (w x h).
   It waits for nothing on the way in and fills the time between two links. */
KN_INLINE void own_force(V n[3], V f[3], const kn_batch_link* l, const kn_link_const* c,
                         const kn_batch_const* k, int lane) {
  const double* I = (const double*)c->I;
  lanes_motion own, *p = &own;
  const V* P = p->P;
  UNROLL for (int i = 0; i < 3; i++) p->w[i] = AT(l->w[i]), p->al[i] = AT(l->al[i]), p->a[i] = AT(l->a[i]);
  products(p);
  UNROLL for (int i = 0; i < 3; i++) {
    int j = NEXT(i), m = LAST(i);
    f[i] = p->a[i] * k->mass;
    n[i] = p->al[i] * k->I[i] + P[SYM[j][m]] * k->twist[i];
  }
  if (!k->diagonal) {
    UNROLL for (int i = 0; i < 3; i++) {
      int j = NEXT(i), m = LAST(i);
      double ij = I[4 * i + j], im = I[4 * i + m], jm = I[4 * j + m];
      n[i] +=
          (p->al[j] * ij + p->al[m] * im) + ((P[SYM[i][j]] * im - P[SYM[i][m]] * ij) + (P[j] - P[m]) * jm);
    }
  }
  UNROLL for (int i = 0; i < 3; i++) {
    if (!(k->h_axes & 1 << i)) continue;
    add_offset(f, p, i, zero() + k->h[i]);
    n[NEXT(i)] -= p->a[LAST(i)] * k->h[i];
    n[LAST(i)] += p->a[NEXT(i)] * k->h[i];
  }
}

/* The link's own inertia, constant in its axes. */
KN_INLINE void add_inertia(lanes_load* b, const kn_link_const* c, const kn_batch_const* f) {
  const double *I = (const double*)c->I, *h = f->h;
  UNROLL for (int n = 0; n < 3; n++) b->I[n] += f->I[n], b->M[n] += f->mass;
  if (!f->diagonal) b->I[XY] += I[1], b->I[XZ] += I[2], b->I[YZ] += I[6];
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
KN_INLINE void eliminate_hinge(lanes_load* b, VI* bad, kn_batch_work* k, int v, const double* tau, int lane) {
  kn_batch_dof* d = &k->dof[v];
  V x = b->I[XZ], y = b->I[YZ], u[3] = {b->G[2], b->G[5], b->G[8]}, t = AT(tau + v * KN_LANES);
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
  add_inertia(b, c, f);
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
KN_INLINE void give_load(lanes_load* b, kn_batch_work* k, int i, int lane) {
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
  if (!f->last_child) { UNROLL_ALL for (int n = 0; n < LOAD; n++) x[n] += AT(to + f->load_to[n]); }
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
  const kn_batch_angle* t = &k->angle[k->fixed[i].angle];
  lanes_load b;
  take_load(&b, k, c, i, lane);
  eliminate_hinge(&b, bad, k, k->fixed[i].v, tau, lane);
  spin_load(&b, 2, AT(t->c), AT(t->s), 1);
  shift_axes(&b, &k->fixed[i], axes, 1);
  give_load(&b, k, i, lane);
}

/* The same for a leaf with diagonal inertia: what the hinge leaves is the same in all worlds, and half of it
   is zero. Its g (f->tip) is constant too. */
KN_INLINE void inward_leaf(kn_batch_work* k, const kn_link_const* c, int i, const double* tau, int lane,
                           int axes) {
  const kn_batch_const* f = &k->fixed[i];
  const double *I = f->I, *h = f->h;
  V cs = AT(k->angle[f->angle].c), sn = AT(k->angle[f->angle].s), s2 = sn * sn, sc = cs * sn;
  V t = AT(tau + f->v * KN_LANES);
  lanes_load b;
  own_force(b.n, b.f, &k->link[i], c, f, lane);
  V e = t - b.n[2];
  AT(k->dof[f->v].z) = e * f->tip[3];
  b.f[0] += e * f->tip[4], b.f[1] += e * f->tip[5], b.n[2] = t;
  double d = I[0] - I[1], m = f->tip[0] - f->tip[1], p = 2.0 * f->tip[2];
  V turn = s2 * m + sc * p;
  b.I[XX] = I[0] - s2 * d, b.I[YY] = I[1] + s2 * d, b.I[XY] = sc * d;
  b.M[XX] = f->tip[0] - turn, b.M[YY] = f->tip[1] + turn, b.M[XY] = f->tip[2] + (sc * m - s2 * p);
  b.M[ZZ] = zero() + f->mass;
  b.M[XZ] = b.M[YZ] = b.I[ZZ] = b.I[XZ] = b.I[YZ] = zero();
  b.G[0] = b.G[4] = b.G[2] = b.G[5] = b.G[8] = zero();
  b.G[1] = zero() + h[2], b.G[3] = zero() - h[2], b.G[6] = cs * h[1] + sn * h[0],
  b.G[7] = sn * h[1] - cs * h[0];
  spin_vector(b.n, 2, cs, sn);
  spin_vector(b.f, 2, cs, sn);
  shift_axes(&b, f, axes, 1);
  give_load(&b, k, i, lane);
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
  give_load(&b, k, i, lane);
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
