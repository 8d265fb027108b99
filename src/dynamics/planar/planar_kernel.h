/* Mechanisms that move in a plane: trees of hinges whose axes are all parallel (layout->planar).

   In the basis (e1, e2, s) of a tree's root, s along the axes, a link turns by one angle and everything that
   moves it is planar. Inertia about the link's origin: n = J α + g·a, f = g α + M a with scalar J, α, n; a
   rigid link has J = I_zz, g = s x h, M = m 1, and no α without qdd. With r = o - o_p and t = s x r the
   recursion of aba_kernel.h becomes

     g' = g + M t,   U' = J + t·g,   J' = U' + t·g',   n' = n + t·f,   D = J + armature,
     J_p = J' - U'²/D,   g_p = g' - g U'/D,   M_p = M - g gᵀ/D.

   Components out of the plane never reach a dof: forces along s and moments across it do no work, so the
   factors are kept without them. The data that is left is that of the other kernels. */
#include "dynamics/tree/kernel.h"

/* Angle and origin of a link in kin.plane. */
KN_INLINE void put_plane(double* plane, int stride, int i, double c, double s, double x, double y) {
  plane[KN_PLANE_C * stride + i] = c, plane[KN_PLANE_S * stride + i] = s;
  plane[KN_PLANE_X * stride + i] = x, plane[KN_PLANE_Y * stride + i] = y;
}

KN_INLINE kn_v4 in_plane(const kn_v4 e[3], double x, double y) {
  return v4_add(v4_scale(e[0], x), v4_scale(e[1], y));
}

/* Poses, and accelerations at qdd = 0 with the base rising against gravity. */
KN_INLINE void planar_outward(kn_data* d, const double* v) {
  const double* gravity = d->model->gravity;
  const kn_v4 base = v4_set(-gravity[0], -gravity[1], -gravity[2]);
  kn_v4 e[3] = {v4_zero(), v4_zero(), v4_zero()}, o = v4_zero();
  double c = 1.0, s = 0.0, w = 0.0, ax = 0.0, ay = 0.0, ox = 0.0, oy = 0.0, *plane = d->kin.plane;
  int root = 0, stride = kn_plane_stride(d->model->nlink);
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const double *turn = (const double*)l->R0, *p = (const double*)&l->p0, *h = (const double*)&l->h;
    double kc = d->cos[l->angle], ks = d->sin[l->angle], rx = 0.0, ry = 0.0;
    kn_planar_link* y = &d->planar[i];
    kn_link_kin* k = &d->kin.link[i];
    kn_v4 r;
    if (__builtin_expect(l->parent < 0, 0)) {
      for (int j = 0; j < 3; j++) e[j] = l->R0[j];
      root = i, r = o = l->p0;
      c = kc, s = ks, w = 0.0;
      ax = v4_dot(base, e[0]), ay = v4_dot(base, e[1]);
      ox = v4_dot(o, e[0]), oy = v4_dot(o, e[1]);
    } else {
      if (__builtin_expect(l->parent != i - 1, 0)) {
        const kn_planar_link* parent = &d->planar[l->parent];
        c = parent->c, s = parent->s, w = parent->w, ax = parent->ax, ay = parent->ay;
        o = d->kin.link[l->parent].o;
        ox = plane[KN_PLANE_X * stride + l->parent], oy = plane[KN_PLANE_Y * stride + l->parent];
      }
      double tc = turn[0] * kc - turn[1] * ks, ts = turn[1] * kc + turn[0] * ks, cp = c;
      rx = c * p[0] - s * p[1], ry = s * p[0] + c * p[1];
      r = v4_add(in_plane(e, rx, ry), v4_scale(e[2], p[2]));
      o = v4_add(o, r);
      ox += rx, oy += ry;
      ax -= (w * w) * rx, ay -= (w * w) * ry;
      c = cp * tc - s * ts, s = s * tc + cp * ts;
    }
    w += v[l->v];
    k->R[0] = in_plane(e, c, s), k->R[1] = in_plane(e, -s, c), k->R[2] = e[2];
    k->o = o, k->r = r;
    d->kin.dof[l->v].sa = e[2];
    y->c = c, y->s = s, y->w = w, y->ax = ax, y->ay = ay, y->rx = rx, y->ry = ry, y->root = root;
    y->hx = c * h[0] - s * h[1], y->hy = s * h[0] + c * h[1];
    put_plane(plane, stride, i, c, s, ox, oy);
  }
}

/* On its way to the parent. */
typedef struct planar_load {
  double J, gx, gy, mxx, mxy, myy, n, fx, fy;
} planar_load;

KN_INLINE void planar_add(planar_load* b, const double* x) {
  b->J += x[0], b->gx += x[1], b->gy += x[2], b->mxx += x[3], b->mxy += x[4], b->myy += x[5];
  b->n += x[6], b->fx += x[7], b->fy += x[8];
}

/* A link's own inertia and forces, its mass m and inertia I about its origin, join what comes from the tips.
 */
KN_INLINE void planar_join(planar_load* b, const kn_planar_link* y, double m, double I) {
  double w2 = y->w * y->w, hx = y->hx, hy = y->hy;
  b->J += I, b->gx -= hy, b->gy += hx, b->mxx += m, b->myy += m;
  b->n += hx * y->ay - hy * y->ax;
  b->fx += m * y->ax - w2 * hx, b->fy += m * y->ay - w2 * hy;
}

/* Factors of a hinge with 1/D and free force z, and what the parent gets. */
KN_INLINE void planar_pass(planar_load* b, kn_planar_link* y, double z, double dinv) {
  double tx = -y->ry, ty = y->rx;
  double gx = b->gx + (b->mxx * tx + b->mxy * ty), gy = b->gy + (b->mxy * tx + b->myy * ty);
  double U = b->J + (b->gx * tx + b->gy * ty), J = U + (gx * tx + gy * ty);
  double gn = U * dinv, gfx = b->gx * dinv, gfy = b->gy * dinv;
  b->n = (b->n + (b->fx * tx + b->fy * ty)) + gn * z;
  b->fx += gfx * z, b->fy += gfy * z;
  b->mxx -= gfx * b->gx, b->mxy -= gfx * b->gy, b->myy -= gfy * b->gy;
  b->J = J - gn * U, b->gx = gx - gfx * U, b->gy = gy - gfy * U;
  y->gn = gn, y->gfx = gfx, y->gfy = gfy;
}

/* Factors and forces from the tips; the first bad dof, or -1. */
KN_INLINE int planar_inward(kn_data* d, const double* tau, const double* extra) {
  const double* armature = d->model->armature;
  planar_load b = {0};
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* l = &d->layout->link[i];
    kn_planar_link* y = &d->planar[i];
    const kn_v4* e = d->layout->link[y->root].R0;
    int j = l->v;
    planar_join(&b, y, l->mass, ((const double*)&l->I[2])[2]);
    if (__builtin_expect(l->junction, 0)) planar_add(&b, y->sum);
    double D = b.J + (armature[j] + extra[j]), z = (tau ? tau[j] : 0.0) - b.n, dinv = 1.0 / D;
    if (__builtin_expect(!(D > 0.0), 0)) return j;
    kn_dof_factor* f = &d->fac[j];
    f->dinv = dinv, f->e = z;
    d->planar_dinv[j] = dinv, y->z = z * dinv;
    if (__builtin_expect(l->parent < 0, 0)) {
      y->gn = y->gfx = y->gfy = 0.0;
      b = (planar_load){0};
      continue;
    }
    planar_pass(&b, y, z, dinv);
    f->gn = v4_scale(e[2], y->gn), f->gf = in_plane(e, y->gfx, y->gfy);
    if (__builtin_expect(l->parent == i - 1, 1)) continue;
    double* sum = d->planar[l->parent].sum;
    const double* x = (const double*)&b;
    for (int k = 0; k < 9; k++) sum[k] = l->last_child ? x[k] : sum[k] + x[k];
    b = (planar_load){0};
  }
  return -1;
}

/* As planar_sweep, of a chain. */
KN_INLINE void chain_sweep(double* qdd, kn_data* d) {
  double al = 0.0, ax = 0.0, ay = 0.0;
  kn_planar_link* y = d->planar;
  for (int i = 0; i < d->model->nlink; i++, y++) {
    double x = y->z - (y->gn * al + (y->gfx * ax + y->gfy * ay));
    ax -= al * y->ry, ay += al * y->rx, al += x;
    y->al = al, y->bx = ax, y->by = ay;
    qdd[i] = x;
  }
}

/* Accelerations of dofs, and of links in the plane, the base at rest: L⁻¹ applied to z = D⁻¹e. */
static void planar_sweep(double* qdd, kn_data* d) {
  double al = 0.0, ax = 0.0, ay = 0.0;
  if (d->layout->chain) {
    chain_sweep(qdd, d);
    return;
  }
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    kn_planar_link* y = &d->planar[i];
    if (__builtin_expect(l->parent != i - 1, 0)) {
      al = ax = ay = 0.0;
      if (l->parent >= 0)
        al = d->planar[l->parent].al, ax = d->planar[l->parent].bx, ay = d->planar[l->parent].by;
    }
    double x = y->z - (y->gn * al + (y->gfx * ax + y->gfy * ay));
    ax -= al * y->ry, ay += al * y->rx, al += x;
    y->al = al, y->bx = ax, y->by = ay;
    qdd[l->v] = x;
  }
}

static int planar_forward(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                          const double* extra) {
  angles(d, q);
  planar_outward(d, v);
  int bad = planar_inward(d, tau, extra ? extra : d->zero);
  if (bad < 0) planar_sweep(qdd, d);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  return bad;
}

/* Once more with other velocities and forces: poses and factors are those of the last forward dynamics. */
static void planar_accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  const double* gravity = d->model->gravity;
  const kn_v4 base = v4_set(-gravity[0], -gravity[1], -gravity[2]);
  double w = 0.0, ax = 0.0, ay = 0.0, n = 0.0, fx = 0.0, fy = 0.0;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    kn_planar_link* y = &d->planar[i];
    if (__builtin_expect(l->parent < 0, 0)) {
      w = 0.0, ax = v4_dot(base, l->R0[0]), ay = v4_dot(base, l->R0[1]);
    } else if (__builtin_expect(l->parent != i - 1, 0)) {
      const kn_planar_link* parent = &d->planar[l->parent];
      w = parent->w, ax = parent->ax, ay = parent->ay;
    }
    ax -= (w * w) * y->rx, ay -= (w * w) * y->ry;
    w += v[l->v];
    y->w = w, y->ax = ax, y->ay = ay;
  }
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* l = &d->layout->link[i];
    kn_planar_link* y = &d->planar[i];
    kn_dof_factor* f = &d->fac[l->v];
    double m = l->mass, w2 = y->w * y->w;
    n += y->hx * y->ay - y->hy * y->ax;
    fx += m * y->ax - w2 * y->hx, fy += m * y->ay - w2 * y->hy;
    if (__builtin_expect(l->junction, 0)) n += y->sum[6], fx += y->sum[7], fy += y->sum[8];
    double z = (tau ? tau[l->v] : 0.0) - n;
    f->e = z, y->z = z * d->planar_dinv[l->v];
    n = (n - (fx * y->ry - fy * y->rx)) + y->gn * z;
    fx += y->gfx * z, fy += y->gfy * z;
    if (__builtin_expect(l->parent == i - 1 && i > 0, 1)) continue;
    if (l->parent >= 0) {
      double *sum = d->planar[l->parent].sum + 6, x[3] = {n, fx, fy};
      for (int k = 0; k < 3; k++) sum[k] = l->last_child ? x[k] : sum[k] + x[k];
    }
    n = fx = fy = 0.0;
  }
  planar_sweep(qdd, d);
}

/* Forces that the links need; from the poses of kin, which need not be those of the last forward dynamics. */
static void planar_loads(kn_data* d, const double* v, const double* qdd, const double* g) {
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]);
  kn_v4 a = base;
  double w = 0.0, al = 0.0;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const kn_link_kin* k = &d->kin.link[i];
    const double* h0 = (const double*)&l->h;
    kn_link_dyn* y = &d->dyn[i];
    kn_v4 s = k->R[2];
    if (__builtin_expect(l->parent != i - 1, 0)) {
      w = al = 0.0, a = base;
      if (l->parent >= 0) w = d->planar[l->parent].vw, al = d->planar[l->parent].val, a = d->dyn[l->parent].a;
    }
    a = v4_add(a, v4_sub(v4_scale(v4_cross(s, k->r), al), v4_scale(k->r, w * w)));
    w += v[l->v];
    if (qdd) al += qdd[l->v];
    d->planar[i].vw = w, d->planar[i].val = al;
    kn_v4 h = in_plane(k->R, h0[0], h0[1]);
    y->wb = v4_scale(s, w), y->al = v4_scale(s, al), y->a = a;
    y->n = v4_add(v4_scale(s, ((const double*)&l->I[2])[2] * al), v4_cross(h, a));
    y->f = v4_add(v4_scale(a, l->mass), v4_sub(v4_scale(v4_cross(s, h), al), v4_scale(h, w * w)));
  }
}

/* Inverse dynamics in the plane, at the poses of the last forward dynamics or factors; less the forces on the
   links in planar[].on, which are taken off. */
static void planar_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]);
  double w = 0.0, al = 0.0, ax = 0.0, ay = 0.0, n = 0.0, fx = 0.0, fy = 0.0;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    kn_planar_link* y = &d->planar[i];
    double hx = y->hx, hy = y->hy, m = l->mass;
    if (__builtin_expect(l->parent < 0, 0)) {
      w = al = 0.0, ax = v4_dot(base, l->R0[0]), ay = v4_dot(base, l->R0[1]);
    } else {
      if (__builtin_expect(l->parent != i - 1, 0)) {
        const kn_planar_link* parent = &d->planar[l->parent];
        w = parent->vw, al = parent->val, ax = parent->vx, ay = parent->vy;
      }
      ax -= (w * w) * y->rx + al * y->ry, ay += al * y->rx - (w * w) * y->ry;
    }
    w += v[l->v];
    if (qdd) al += qdd[l->v];
    double w2 = w * w;
    y->vw = w, y->val = al, y->vx = ax, y->vy = ay;
    y->in[0] = (((const double*)&l->I[2])[2] * al + (hx * ay - hy * ax)) - y->on[0];
    y->in[1] = ((m * ax - al * hy) - w2 * hx) - y->on[1];
    y->in[2] = ((m * ay + al * hx) - w2 * hy) - y->on[2];
    y->on[0] = y->on[1] = y->on[2] = 0.0;
  }
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* l = &d->layout->link[i];
    const kn_planar_link* y = &d->planar[i];
    n += y->in[0], fx += y->in[1], fy += y->in[2];
    tau[l->v] = n;
    n -= fx * y->ry - fy * y->rx;
    if (__builtin_expect(l->parent == i - 1 && i > 0, 1)) continue;
    if (l->parent >= 0) {
      double* to = d->planar[l->parent].in;
      to[0] += n, to[1] += fx, to[2] += fy;
    }
    n = fx = fy = 0.0;
  }
}

/* w = s ω: only I_zz counts. */
static void planar_energy(kn_energy* out, const kn_kin* kin, const kn_data* d) {
  const kn_v4 g = v4_load3(d->model->gravity);
  kn_v4 K = v4_zero(), V = v4_zero();
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const kn_link_kin* k = &kin->link[i];
    kn_v4 h = v4_mul33s(k->R, (const double*)&l->h), w = k->w, v = k->vo;
    kn_v4 p = v4_axpy(v4_scale(v4_cross(w, h), 2.0), l->mass, v);
    K = v4_add3(K, v4_mul(v, p), v4_scale(v4_mul(w, w), ((const double*)&l->I[2])[2]));
    V = v4_sub(V, v4_mul(g, v4_axpy(h, l->mass, k->o)));
  }
  out->kinetic = 0.5 * v4_sum(K);
  out->potential = v4_sum(V);
}

static void planar_position(kn_kin* kin, kn_data* d, const double* q) {
  kn_v4 e[3] = {v4_zero(), v4_zero(), v4_zero()}, o = v4_zero();
  double c = 1.0, s = 0.0, x = 0.0, y = 0.0, *plane = kin->plane;
  int stride = kn_plane_stride(d->model->nlink);
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const double *turn = (const double*)l->R0, *p = (const double*)&l->p0;
    double kc = d->cos[l->angle], ks = d->sin[l->angle];
    kn_link_kin* k = &kin->link[i];
    kn_v4 r = l->p0;
    if (__builtin_expect(l->parent < 0, 0)) {
      for (int j = 0; j < 3; j++) e[j] = l->R0[j];
      o = r, c = kc, s = ks;
      x = v4_dot(o, e[0]), y = v4_dot(o, e[1]);
    } else {
      if (__builtin_expect(l->parent != i - 1, 0)) {
        c = d->planar[l->parent].c, s = d->planar[l->parent].s, o = kin->link[l->parent].o;
        x = plane[KN_PLANE_X * stride + l->parent], y = plane[KN_PLANE_Y * stride + l->parent];
      }
      double tc = turn[0] * kc - turn[1] * ks, ts = turn[1] * kc + turn[0] * ks, cp = c;
      double rx = c * p[0] - s * p[1], ry = s * p[0] + c * p[1];
      r = v4_add(in_plane(e, rx, ry), v4_scale(e[2], p[2]));
      o = v4_add(o, r);
      x += rx, y += ry;
      c = cp * tc - s * ts, s = s * tc + cp * ts;
    }
    k->R[0] = in_plane(e, c, s), k->R[1] = in_plane(e, -s, c), k->R[2] = e[2];
    k->o = o, k->r = r;
    kin->dof[l->v].sa = e[2];
    d->planar[i].c = c, d->planar[i].s = s;
    put_plane(plane, stride, i, c, s, x, y);
  }
}

/* Poses, velocities and energy in one go. In the plane K of a link is ½ (m v² + 2 ω s·(h x v) + I_zz ω²). */
static void planar_arrive(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v) {
  const kn_v4 gravity = v4_load3(d->model->gravity);
  kn_v4 e[3] = {v4_zero(), v4_zero(), v4_zero()}, o = v4_zero();
  double c = 1.0, s = 0.0, w = 0.0, x = 0.0, y = 0.0, height = 0.0; /* velocity of the origin; g·o */
  double g[3] = {0.0, 0.0, 0.0}, K = 0.0, V = 0.0, ox = 0.0, oy = 0.0, *plane = kin->plane;
  int stride = kn_plane_stride(d->model->nlink);
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const double *turn = (const double*)l->R0, *p = (const double*)&l->p0, *h = (const double*)&l->h;
    double kc = d->cos[l->angle], ks = d->sin[l->angle];
    kn_link_kin* k = &kin->link[i];
    kn_v4 r = l->p0;
    if (__builtin_expect(l->parent < 0, 0)) {
      for (int j = 0; j < 3; j++) e[j] = l->R0[j], g[j] = v4_dot(gravity, e[j]);
      o = r, c = kc, s = ks, w = x = y = 0.0, height = v4_dot(gravity, r);
      ox = v4_dot(o, e[0]), oy = v4_dot(o, e[1]);
    } else {
      if (__builtin_expect(l->parent != i - 1, 0)) {
        const kn_planar_link* parent = &d->planar[l->parent];
        c = parent->c, s = parent->s, o = kin->link[l->parent].o;
        w = parent->u[0], x = parent->u[1], y = parent->u[2], height = parent->u[3];
        ox = plane[KN_PLANE_X * stride + l->parent], oy = plane[KN_PLANE_Y * stride + l->parent];
      }
      double tc = turn[0] * kc - turn[1] * ks, ts = turn[1] * kc + turn[0] * ks, cp = c;
      double rx = c * p[0] - s * p[1], ry = s * p[0] + c * p[1];
      r = v4_add(in_plane(e, rx, ry), v4_scale(e[2], p[2]));
      o = v4_add(o, r);
      ox += rx, oy += ry;
      height += (g[0] * rx + g[1] * ry) + g[2] * p[2];
      x -= w * ry, y += w * rx;
      c = cp * tc - s * ts, s = s * tc + cp * ts;
    }
    w += v[l->v];
    double hx = c * h[0] - s * h[1], hy = s * h[0] + c * h[1], m = l->mass;
    K += m * (x * x + y * y) + w * (2.0 * (hx * y - hy * x) + ((const double*)&l->I[2])[2] * w);
    V -= m * height + ((g[0] * hx + g[1] * hy) + g[2] * h[2]);
    k->R[0] = in_plane(e, c, s), k->R[1] = in_plane(e, -s, c), k->R[2] = e[2];
    k->o = o, k->r = r;
    k->w = v4_scale(e[2], w), k->vo = in_plane(e, x, y);
    kin->dof[l->v].sa = e[2];
    put_plane(plane, stride, i, c, s, ox, oy);
    if (__builtin_expect(!l->junction, 1)) continue;
    kn_planar_link* own = &d->planar[i];
    own->c = c, own->s = s, own->u[0] = w, own->u[1] = x, own->u[2] = y, own->u[3] = height;
  }
  out->kinetic = 0.5 * K;
  out->potential = V;
}

/* From the poses of kin. */
static int planar_factor(kn_data* d, const double* extra) {
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* l = &d->layout->link[i];
    const kn_link_kin* k = &d->kin.link[i];
    kn_planar_link* y = &d->planar[i];
    y->root = l->parent < 0 ? i : d->planar[l->parent].root;
    const kn_v4* e = d->layout->link[y->root].R0;
    const double* h = (const double*)&l->h;
    double c = v4_dot(k->R[0], e[0]), s = v4_dot(k->R[0], e[1]);
    y->c = c, y->s = s;
    y->rx = v4_dot(k->r, e[0]), y->ry = v4_dot(k->r, e[1]);
    y->hx = c * h[0] - s * h[1], y->hy = s * h[0] + c * h[1];
    y->w = y->ax = y->ay = 0.0;
  }
  int bad = planar_inward(d, NULL, extra ? extra : d->zero);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  return bad;
}

/* ---- two rows or motions side by side (rows_planar.c) ---- */

typedef double planar_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* From a link to the root; zero where it does not pass. */
static void planar_climb(double* Y, kn_data* d, int link, const double* force) {
  planar_pair *to = (planar_pair*)Y, n = *(const planar_pair*)force, x = *(const planar_pair*)(force + 2),
              y = *(const planar_pair*)(force + 4);
  if (d->layout->chain) {
    for (const kn_planar_link* p = d->planar + link; link >= 0; link--, p--) {
      planar_pair m = n;
      to[link] = m;
      n = (m - (x * p->ry - y * p->rx)) - p->gn * m;
      x -= p->gfx * m, y -= p->gfy * m;
    }
    return;
  }
  while (link >= 0) {
    const kn_planar_link* p = &d->planar[link];
    int parent = d->layout->link[link].parent;
    planar_pair m = n;
    to[link] = m;
    n = (m - (x * p->ry - y * p->rx)) - p->gn * m;
    x -= p->gfx * m, y -= p->gfy * m;
    for (int k = parent + 1; k < link; k++) to[k] = (planar_pair){0.0, 0.0};
    link = parent;
  }
}

/* Motion of a parent; that of the world is none. */
KN_INLINE void planar_parent(planar_pair* al, planar_pair* x, planar_pair* y, const kn_data* d, int parent) {
  const double* u = parent < 0 ? d->zero6 : d->planar[parent].u;
  *al = *(const planar_pair*)u, *x = *(const planar_pair*)(u + 2), *y = *(const planar_pair*)(u + 4);
}

KN_INLINE void planar_keep(kn_planar_link* p, planar_pair al, planar_pair x, planar_pair y) {
  *(planar_pair*)p->u = al, *(planar_pair*)(p->u + 2) = x, *(planar_pair*)(p->u + 4) = y;
}

/* As planar_sweep. */
static void planar_columns(double* X, const double* Y, kn_data* d, int top) {
  planar_pair al = {0.0, 0.0}, x = al, y = al;
  const kn_planar_link* at = d->planar;
  for (int i = 0, n = d->layout->chain ? d->model->nlink : 0; i < n; i++, at++) {
    planar_pair dv = -(at->gn * al + (at->gfx * x + at->gfy * y));
    if (i <= top) dv += ((const planar_pair*)Y)[i] * d->planar_dinv[i];
    x -= al * at->ry, y += al * at->rx, al += dv;
    ((planar_pair*)X)[i] = dv;
  }
  for (int i = 0; !d->layout->chain && i < d->model->nlink; i++) {
    kn_planar_link* p = &d->planar[i];
    const kn_link_const* l = &d->layout->link[i];
    if (__builtin_expect(l->parent != i - 1, 0)) planar_parent(&al, &x, &y, d, l->parent);
    planar_pair dv = -(p->gn * al + (p->gfx * x + p->gfy * y));
    if (i <= top) dv += ((const planar_pair*)Y)[i] * d->planar_dinv[i];
    x -= al * p->ry, y += al * p->rx, al += dv;
    if (__builtin_expect(l->junction, 0)) planar_keep(p, al, x, y);
    ((planar_pair*)X)[i] = dv;
  }
}

/* As planar_sweep, dv = z - (g_n al + g_f·f), of impulses: the links' accelerations stay what they were. The
   link's own al = al + dv comes from fewer operations that wait for each other on a chain; which sum is taken
   is a matter of the last bit, and of how many pairs of rows push (recordings replay bit for bit). */
static void planar_push(double* dv, kn_data* d, int pairs) {
  double al = 0.0, x = 0.0, y = 0.0;
  if (!d->layout->chain || pairs > 3) {
    planar_sweep(dv, d);
    return;
  }
  for (const kn_planar_link *p = d->planar, *end = p + d->model->nlink; p < end; p++) {
    double rest = p->z - (p->gfx * x + p->gfy * y);
    *dv++ = rest - p->gn * al;
    x -= al * p->ry, y += al * p->rx, al = (1.0 - p->gn) * al + rest;
  }
}

#include "dynamics/planar/chain_kernel.h"
#include "dynamics/planar/short_kernel.h"

/* ---- the choice ---- */

KN_INLINE bool is_chain(const kn_data* d) { return d->layout->planar && d->layout->chain; }

static void any_plane_velocity(kn_data* d, const double* v) {
  int nlink = d->model->nlink, stride = kn_plane_stride(nlink);
  double *plane = d->kin.plane, *spin = plane + KN_PLANE_W * stride, *vx = plane + KN_PLANE_VX * stride,
         *vy = plane + KN_PLANE_VY * stride;
  const double *x = plane + KN_PLANE_X * stride, *y = plane + KN_PLANE_Y * stride;
  double w = 0.0, ux = 0.0, uy = 0.0;
  if (is_chain(d)) {
    d->layout->brief ? short_velocity(d, v) : chain_velocity(d, v);
    return;
  }
  for (int i = 0; i < nlink; i++) {
    int parent = d->layout->link[i].parent;
    if (parent < 0) {
      w = ux = uy = 0.0;
    } else {
      if (parent != i - 1) w = spin[parent], ux = vx[parent], uy = vy[parent];
      ux -= w * (y[i] - y[parent]), uy += w * (x[i] - x[parent]);
    }
    w += v[d->layout->link[i].v];
    spin[i] = w, vx[i] = ux, vy[i] = uy;
  }
}

/* Of chains: all that kn_data_fill has to fill. */
static void any_fill(kn_data* d) {
  if (is_chain(d)) chain_fill_all(d);
}

static int any_factor(kn_data* d, const double* extra) {
  if (!d->layout->planar) return factor(d, extra);
  if (d->layout->chain && d->layout->brief) chain_fill_all(d);
  if (!d->layout->chain || d->layout->brief) return planar_factor(d, extra);
  int bad = chain_factor(d, extra);
  if (!d->may_be_lean) chain_fill_all(d);
  return bad;
}

static void any_position(kn_kin* kin, kn_data* d, const double* q) {
  if (!d->layout->planar) {
    position(kin, d, q);
  } else if (!d->layout->chain) {
    planar_position(kin, d, q);
  } else {
    chain_position(kin, d, q);
    if (d->layout->brief) short_tidy(kin, d);
    if (!d->may_be_lean) chain_fill(kin, d);
  }
}

static void any_accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  if (!d->layout->planar) {
    accelerate(qdd, d, v, tau);
    return;
  }
  if (d->planar_kin == d->kin.link) {
    if (d->layout->chain && !d->layout->brief)
      chain_accelerate(qdd, d, v, tau);
    else
      planar_accelerate(qdd, d, v, tau);
    return;
  }
  any_fill(d);
  planar_loads(d, v, NULL, d->model->gravity);
  sweep_back(d, tau, 1, 1);
  sweep_out(qdd, d, 1, 0);
}

static int any_forward(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                       const double* extra) {
  if (!d->layout->planar) return forward(qdd, d, q, v, tau, extra);
  if (!d->layout->chain) return planar_forward(qdd, d, q, v, tau, extra);
  int bad =
      d->layout->brief ? short_forward(qdd, d, q, v, tau, extra) : chain_forward(qdd, d, q, v, tau, extra);
  if (!d->may_be_lean) chain_fill_all(d);
  return bad;
}

static void any_inverse_loads(kn_data* d, const double* v, const double* qdd, const double* g) {
  if (d->layout->planar)
    planar_loads(d, v, qdd, g);
  else
    inverse_loads(d, v, qdd, g);
}

static void any_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  if (!d->layout->planar) {
    inverse(tau, d, v, qdd, g);
    return;
  }
  if (d->planar_kin == d->kin.link) {
    if (!d->layout->chain)
      planar_inverse(tau, d, v, qdd, g);
    else if (d->layout->brief)
      short_inverse(tau, d, v, qdd, g);
    else
      chain_inverse(tau, d, v, qdd, g);
    return;
  }
  any_fill(d);
  planar_loads(d, v, qdd, g);
  inverse_sum(tau, d);
}

static void any_energy(kn_energy* out, const kn_kin* kin, const kn_data* d) {
  if (d->layout->planar)
    planar_energy(out, kin, d);
  else
    energy(out, kin, d);
}

static void any_energy_here(kn_energy* out, kn_kin* kin, kn_data* d, const double* v) {
  if (is_chain(d)) {
    chain_energy_here(out, kin, d, v);
    if (d->layout->brief) short_tidy(kin, d);
    if (!d->may_be_lean) chain_fill(kin, d);
    return;
  }
  velocity(kin, d, v);
  any_energy(out, kin, d);
}

static void any_arrive(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v) {
  if (is_chain(d)) {
    if (d->layout->brief)
      short_arrive(out, kin, d, q, v);
    else
      chain_arrive(out, kin, d, q, v);
    if (!d->may_be_lean) chain_fill(kin, d);
  } else if (d->layout->planar) {
    planar_arrive(out, kin, d, q, v);
  } else {
    position(kin, d, q);
    velocity(kin, d, v);
    energy(out, kin, d);
  }
}
