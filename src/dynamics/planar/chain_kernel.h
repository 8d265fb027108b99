/* Chains that move in a plane (layout->chain): the passes of planar_kernel.h with eight links side by side.

   Turns in a plane commute: the angle of a link is the sum of those up to it, R0 of all of them a constant.
   What a link adds to the one before it (an angle, an offset, a rate, w² r) is computed for eight links at a
   time, and summed along the chain in three additions of neighbours, next but one and next but three, with
   the sum of the eight before. Eight on every instruction set, in as many vectors as they take: hence the
   same bits. Nothing that is written number by number is read side by side, which would have to wait. Only
   the factors go link by link. */

typedef double chain_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
enum { V8 = 8 / KN_W };
typedef struct v8 {
  chain_vec v[V8];
} v8;

#define EACH for (int j = 0; j < V8; j++)
KN_INLINE v8 add8(v8 a, v8 b) {
  EACH a.v[j] += b.v[j];
  return a;
}
KN_INLINE v8 sub8(v8 a, v8 b) {
  EACH a.v[j] -= b.v[j];
  return a;
}
KN_INLINE v8 mul8(v8 a, v8 b) {
  EACH a.v[j] *= b.v[j];
  return a;
}
KN_INLINE v8 scale8(v8 a, double s) {
  EACH a.v[j] *= s;
  return a;
}
KN_INLINE v8 minus8(v8 a) {
  EACH a.v[j] = -a.v[j];
  return a;
}
KN_INLINE v8 zero8(void) {
  v8 a;
  EACH a.v[j] = (chain_vec){0.0};
  return a;
}
KN_INLINE v8 load8(const double* p) {
  v8 a;
  EACH a.v[j] = *(const chain_vec*)(p + KN_W * j);
  return a;
}
KN_INLINE void store8(double* p, v8 a) {
  EACH { *(chain_vec*)(p + KN_W * j) = a.v[j]; }
}

/* The numbers one, two and four places on: up from those before, down from those behind. */
#if KN_W == 8
#define TAKE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
KN_INLINE v8 up1(v8 b, v8 a) { return (v8){{TAKE(b.v[0], a.v[0], 7, 8, 9, 10, 11, 12, 13, 14)}}; }
KN_INLINE v8 up2(v8 b, v8 a) { return (v8){{TAKE(b.v[0], a.v[0], 6, 7, 8, 9, 10, 11, 12, 13)}}; }
KN_INLINE v8 up4(v8 b, v8 a) { return (v8){{TAKE(b.v[0], a.v[0], 4, 5, 6, 7, 8, 9, 10, 11)}}; }
KN_INLINE v8 down1(v8 a, v8 b) { return (v8){{TAKE(a.v[0], b.v[0], 1, 2, 3, 4, 5, 6, 7, 8)}}; }
KN_INLINE v8 down2(v8 a, v8 b) { return (v8){{TAKE(a.v[0], b.v[0], 2, 3, 4, 5, 6, 7, 8, 9)}}; }
KN_INLINE v8 down4(v8 a, v8 b) { return (v8){{TAKE(a.v[0], b.v[0], 4, 5, 6, 7, 8, 9, 10, 11)}}; }
KN_INLINE v8 last8(v8 a) { return (v8){{TAKE(a.v[0], a.v[0], 7, 7, 7, 7, 7, 7, 7, 7)}}; }
KN_INLINE v8 first8(v8 a) { return (v8){{TAKE(a.v[0], a.v[0], 0, 0, 0, 0, 0, 0, 0, 0)}}; }
#elif KN_W == 4
#define TAKE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
KN_INLINE v8 up1(v8 b, v8 a) {
  return (v8){{TAKE(b.v[1], a.v[0], 3, 4, 5, 6), TAKE(a.v[0], a.v[1], 3, 4, 5, 6)}};
}
KN_INLINE v8 up2(v8 b, v8 a) {
  return (v8){{TAKE(b.v[1], a.v[0], 2, 3, 4, 5), TAKE(a.v[0], a.v[1], 2, 3, 4, 5)}};
}
KN_INLINE v8 up4(v8 b, v8 a) { return (v8){{b.v[1], a.v[0]}}; }
KN_INLINE v8 down1(v8 a, v8 b) {
  return (v8){{TAKE(a.v[0], a.v[1], 1, 2, 3, 4), TAKE(a.v[1], b.v[0], 1, 2, 3, 4)}};
}
KN_INLINE v8 down2(v8 a, v8 b) {
  return (v8){{TAKE(a.v[0], a.v[1], 2, 3, 4, 5), TAKE(a.v[1], b.v[0], 2, 3, 4, 5)}};
}
KN_INLINE v8 down4(v8 a, v8 b) { return (v8){{a.v[1], b.v[0]}}; }
KN_INLINE v8 last8(v8 a) {
  chain_vec x = TAKE(a.v[1], a.v[1], 3, 3, 3, 3);
  return (v8){{x, x}};
}
KN_INLINE v8 first8(v8 a) {
  chain_vec x = TAKE(a.v[0], a.v[0], 0, 0, 0, 0);
  return (v8){{x, x}};
}
#else
#define TAKE(a, b) __builtin_shufflevector(a, b, 1, 2)
KN_INLINE v8 up1(v8 b, v8 a) {
  return (v8){{TAKE(b.v[3], a.v[0]), TAKE(a.v[0], a.v[1]), TAKE(a.v[1], a.v[2]), TAKE(a.v[2], a.v[3])}};
}
KN_INLINE v8 up2(v8 b, v8 a) { return (v8){{b.v[3], a.v[0], a.v[1], a.v[2]}}; }
KN_INLINE v8 up4(v8 b, v8 a) { return (v8){{b.v[2], b.v[3], a.v[0], a.v[1]}}; }
KN_INLINE v8 down1(v8 a, v8 b) {
  return (v8){{TAKE(a.v[0], a.v[1]), TAKE(a.v[1], a.v[2]), TAKE(a.v[2], a.v[3]), TAKE(a.v[3], b.v[0])}};
}
KN_INLINE v8 down2(v8 a, v8 b) { return (v8){{a.v[1], a.v[2], a.v[3], b.v[0]}}; }
KN_INLINE v8 down4(v8 a, v8 b) { return (v8){{a.v[2], a.v[3], b.v[0], b.v[1]}}; }
KN_INLINE v8 last8(v8 a) {
  chain_vec x = {a.v[3][1], a.v[3][1]};
  return (v8){{x, x, x, x}};
}
KN_INLINE v8 first8(v8 a) {
  chain_vec x = {a.v[0][0], a.v[0][0]};
  return (v8){{x, x, x, x}};
}
#endif
#undef TAKE

KN_INLINE v8 splat8(double x) {
  v8 a;
  EACH a.v[j] = x - (chain_vec){0.0};
  return a;
}

/* Sums from the first on, all with *sum, which becomes the last. */
KN_INLINE v8 sums8(v8 a, v8* sum) {
  v8 zero = zero8();
  a = add8(a, up1(zero, a));
  a = add8(a, up2(zero, a));
  a = add8(add8(a, up4(zero, a)), *sum);
  *sum = last8(a);
  return a;
}

/* Sums from the last on. */
KN_INLINE v8 sums_back8(v8 a, v8* sum) {
  v8 zero = zero8();
  a = add8(a, down1(a, zero));
  a = add8(a, down2(a, zero));
  a = add8(add8(a, down4(a, zero)), *sum);
  *sum = first8(a);
  return a;
}

/* Sum of the eight. */
KN_INLINE double total8(v8 a) {
  double x[8];
  store8(x, a);
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* (x, y) turned by c, s. */
KN_INLINE void turn8(v8* to_x, v8* to_y, v8 c, v8 s, v8 x, v8 y) {
  *to_x = sub8(mul8(c, x), mul8(s, y)), *to_y = add8(mul8(s, x), mul8(c, y));
}

/* Rows of d->chain and of the constants. */
KN_INLINE double* chain_row(const kn_data* d, int row) {
  return d->chain + row * kn_chain_stride(d->model->nlink);
}
KN_INLINE const double* chain_const(const kn_data* d, int row) {
  return d->layout->chain_of + row * kn_chain_stride(d->model->nlink);
}
KN_INLINE double* plane_row(const kn_kin* kin, const kn_data* d, int row) {
  return kin->plane + row * kn_plane_stride(d->model->nlink);
}

/* Eight numbers of the dofs from i on; of fewer the rest are others. */
KN_INLINE v8 dofs8(const kn_data* d, const double* x, int i) {
  if (i + 8 <= d->model->nlink) return load8(x + i);
  v8 a;
  EACH a.v[j] = gather(x, d->layout->angle_q + i + KN_W * j);
  return a;
}

KN_INLINE void put_dofs8(double* to, const kn_data* d, int i, v8 a) {
  double x[8];
  if (i + 8 <= d->model->nlink) {
    store8(to + i, a);
    return;
  }
  store8(x, a);
  for (int k = i; k < d->model->nlink; k++) to[k] = x[k - i];
}

/* d->cos, d->sin of the angles summed along the chain. */
KN_INLINE void chain_angles(kn_data* d, const double* q) {
  const int n = d->model->nlink;
  double* theta = chain_row(d, KN_CHAIN_D);
  v8 sum = zero8(), squares = zero8();
  for (int i = 0; i < n; i += 8) {
    v8 x = sums8(sub8(dofs8(d, q, i), load8(d->layout->angle_ref + i)), &sum);
    store8(theta + i, x);
    squares = add8(squares, mul8(x, x));
    EACH kn_sincos_vec(d->sin + i + KN_W * j, d->cos + i + KN_W * j, x.v[j]);
  }
  if (__builtin_expect(total8(squares) <= KN_SINCOS_LIMIT * KN_SINCOS_LIMIT, 1)) return;
  for (int i = 0; i < n; i++)
    if (!(theta[i] <= KN_SINCOS_LIMIT && theta[i] >= -KN_SINCOS_LIMIT))
      kn_sincos(d->sin + i, d->cos + i, theta[i]);
}

/* On the way along the chain: eight before, and sums. */
typedef struct chain_walk {
  v8 c, s, w; /* before */
  v8 x, y;    /* origin */
  v8 spin, ax, ay;
} chain_walk;

KN_INLINE chain_walk chain_start(const kn_data* d) {
  const kn_link_const* root = d->layout->link;
  chain_walk k = {.c = zero8(), .s = zero8(), .w = zero8(), .spin = zero8(), .ax = zero8(), .ay = zero8()};
  k.x = splat8(v4_dot(root->p0, root->R0[0])), k.y = splat8(v4_dot(root->p0, root->R0[1]));
  return k;
}

typedef struct chain_arm { /* origin from the parent's; mass x centre of mass */
  v8 x, y, hx, hy;
} chain_arm;

/* Arms of eight links whose angles are c, s. */
KN_INLINE chain_arm chain_arm_of(chain_walk* k, const kn_data* d, int i, v8 c, v8 s) {
  chain_arm a;
  turn8(&a.x, &a.y, up1(k->c, c), up1(k->s, s), load8(chain_const(d, KN_CHAIN_PX) + i),
        load8(chain_const(d, KN_CHAIN_PY) + i));
  turn8(&a.hx, &a.hy, c, s, load8(chain_const(d, KN_CHAIN_HX) + i), load8(chain_const(d, KN_CHAIN_HY) + i));
  k->c = c, k->s = s;
  return a;
}

/* From d->cos, d->sin: angles and origins into kin.plane, and the arms. */
KN_INLINE chain_arm chain_pose(chain_walk* k, kn_kin* kin, const kn_data* d, int i) {
  v8 c, s;
  turn8(&c, &s, load8(d->cos + i), load8(d->sin + i), load8(chain_const(d, KN_CHAIN_ALL_COS) + i),
        load8(chain_const(d, KN_CHAIN_ALL_SIN) + i));
  chain_arm a = chain_arm_of(k, d, i, c, s);
  store8(plane_row(kin, d, KN_PLANE_C) + i, c), store8(plane_row(kin, d, KN_PLANE_S) + i, s);
  store8(plane_row(kin, d, KN_PLANE_X) + i, sums8(a.x, &k->x));
  store8(plane_row(kin, d, KN_PLANE_Y) + i, sums8(a.y, &k->y));
  return a;
}

/* The arms at the poses in kin.plane. */
KN_INLINE chain_arm chain_arm_at(chain_walk* k, const kn_kin* kin, const kn_data* d, int i) {
  return chain_arm_of(k, d, i, load8(plane_row(kin, d, KN_PLANE_C) + i),
                      load8(plane_row(kin, d, KN_PLANE_S) + i));
}

KN_INLINE void keep_arm(kn_data* d, int i, const chain_arm* a) {
  store8(chain_row(d, KN_CHAIN_RX) + i, a->x), store8(chain_row(d, KN_CHAIN_RY) + i, a->y);
  store8(chain_row(d, KN_CHAIN_MX) + i, a->hx), store8(chain_row(d, KN_CHAIN_MY) + i, a->hy);
}

KN_INLINE chain_arm kept_arm(const kn_data* d, int i) {
  return (chain_arm){load8(chain_row(d, KN_CHAIN_RX) + i), load8(chain_row(d, KN_CHAIN_RY) + i),
                     load8(chain_row(d, KN_CHAIN_MX) + i), load8(chain_row(d, KN_CHAIN_MY) + i)};
}

/* The base rises against gravity. */
KN_INLINE void chain_base(chain_walk* k, const kn_data* d, const double* g) {
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]), *e = d->layout->link[0].R0;
  k->ax = splat8(v4_dot(base, e[0])), k->ay = splat8(v4_dot(base, e[1]));
}

/* Spins of the links, and those of their parents. */
KN_INLINE v8 chain_spin(v8* parent, chain_walk* k, const kn_data* d, const double* v, int i) {
  v8 w = sums8(dofs8(d, v, i), &k->spin);
  *parent = up1(k->w, w);
  k->w = w;
  return w;
}

/* m a - w² h of the links into the rows A and B, h x a into C, at qdd = 0. */
KN_INLINE void chain_forces(chain_walk* k, kn_data* d, const double* v, int i, const chain_arm* a) {
  v8 before, w = chain_spin(&before, k, d, v, i), w2 = mul8(before, before);
  v8 ax = sums8(minus8(mul8(w2, a->x)), &k->ax), ay = sums8(minus8(mul8(w2, a->y)), &k->ay);
  v8 m = load8(chain_const(d, KN_CHAIN_MASS) + i);
  w2 = mul8(w, w);
  store8(chain_row(d, KN_CHAIN_A) + i, sub8(mul8(m, ax), mul8(w2, a->hx)));
  store8(chain_row(d, KN_CHAIN_B) + i, sub8(mul8(m, ay), mul8(w2, a->hy)));
  store8(chain_row(d, KN_CHAIN_C) + i, sub8(mul8(a->hx, ay), mul8(a->hy, ax)));
}

/* As planar_inward, with the terms of b in an order in which they wait least for the division: J holds what
   the links beyond add to I. */
KN_INLINE int chain_inward(kn_data* d, const double* tau, const double* extra) {
  const double *armature = d->model->armature, *rx = chain_row(d, KN_CHAIN_RX),
               *ry = chain_row(d, KN_CHAIN_RY), *hx = chain_row(d, KN_CHAIN_MX),
               *hy = chain_row(d, KN_CHAIN_MY), *fx = chain_row(d, KN_CHAIN_A),
               *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C),
               *mass = chain_const(d, KN_CHAIN_MASS), *I = chain_const(d, KN_CHAIN_I);
  double *inverse = d->planar_dinv, J = 0.0, gx = 0.0, gy = 0.0, mxx = 0.0, mxy = 0.0, myy = 0.0, bn = 0.0,
         bx = 0.0, by = 0.0;
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    kn_planar_link* y = &d->planar[i];
    double D = J + (I[i] + (armature[i] + extra[i])), dinv = 1.0 / D, tx = -ry[i], ty = rx[i];
    if (__builtin_expect(!(D > 0.0), 0)) return i;
    J += I[i], gx -= hy[i], gy += hx[i], mxx += mass[i], myy += mass[i];
    bn += n[i], bx += fx[i], by += fy[i];
    double z = (tau ? tau[i] : 0.0) - bn, ax = gx + (mxx * tx + mxy * ty), ay = gy + (mxy * tx + myy * ty);
    double U = J + (gx * tx + gy * ty), UU = U * U, zd = z * dinv;
    double gn = U * dinv, gfx = gx * dinv, gfy = gy * dinv;
    inverse[i] = dinv, y->z = zd;
    y->gn = gn, y->gfx = gfx, y->gfy = gfy, y->rx = ty, y->ry = -tx;
    bn = (bn + (bx * tx + by * ty)) + U * zd;
    bx += gx * zd, by += gy * zd;
    mxx -= gx * gfx, mxy -= gx * gfy, myy -= gy * gfy;
    J = (U + (ax * tx + ay * ty)) - UU * dinv;
    gx = ax - U * gfx, gy = ay - U * gfy;
  }
  kn_planar_link* root = d->planar;
  root->gn = root->gfx = root->gfy = 0.0;
  return -1;
}

static int chain_forward(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                         const double* extra) {
  chain_walk k = chain_start(d);
  chain_base(&k, d, d->model->gravity);
  chain_angles(d, q);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = chain_pose(&k, &d->kin, d, i);
    keep_arm(d, i, &a);
    chain_forces(&k, d, v, i, &a);
  }
  int bad = chain_inward(d, tau, extra ? extra : d->zero);
  if (bad < 0) chain_sweep(qdd, d);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  d->kin.lean = d->lean_factors = true;
  return bad;
}

static void chain_accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  const double *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C);
  double sum = 0.0, x = 0.0, y = 0.0;
  chain_walk k = chain_start(d);
  chain_base(&k, d, d->model->gravity);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = kept_arm(d, i);
    chain_forces(&k, d, v, i, &a);
  }
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    kn_planar_link* p = &d->planar[i];
    sum += n[i], x += fx[i], y += fy[i];
    double z = (tau ? tau[i] : 0.0) - sum;
    p->z = z * d->planar_dinv[i];
    sum = (sum - (x * p->ry - y * p->rx)) + p->gn * z;
    x += p->gfx * z, y += p->gfy * z;
  }
  chain_sweep(qdd, d);
}

/* As planar_inverse; what the links need, less the outside forces, into the rows A, B and C. */
KN_INLINE void chain_loads(kn_data* d, const double* v, const double* qdd, const double* g) {
  chain_walk k = chain_start(d);
  v8 turning = zero8(), al = zero8();
  double *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C);
  chain_base(&k, d, g);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = kept_arm(d, i);
    v8 before, w = chain_spin(&before, &k, d, v, i), w2 = mul8(before, before), last = al;
    al = qdd ? sums8(dofs8(d, qdd, i), &turning) : zero8();
    v8 alp = up1(last, al), m = load8(chain_const(d, KN_CHAIN_MASS) + i),
       I = load8(chain_const(d, KN_CHAIN_I) + i);
    v8 ax = sums8(minus8(add8(mul8(w2, a.x), mul8(alp, a.y))), &k.ax);
    v8 ay = sums8(sub8(mul8(alp, a.x), mul8(w2, a.y)), &k.ay);
    w2 = mul8(w, w);
    store8(n + i, add8(mul8(I, al), sub8(mul8(a.hx, ay), mul8(a.hy, ax))));
    store8(fx + i, sub8(sub8(mul8(m, ax), mul8(al, a.hy)), mul8(w2, a.hx)));
    store8(fy + i, sub8(add8(mul8(m, ay), mul8(al, a.hx)), mul8(w2, a.hy)));
  }
}

/* Sums from the tips: forces, torques, and the moments of the forces of the eight links behind. */
typedef struct chain_return {
  v8 x, y, torque, behind;
} chain_return;

KN_INLINE chain_return chain_tips(void) { return (chain_return){zero8(), zero8(), zero8(), zero8()}; }

/* Torques of eight hinges from the forces in the rows A, B, C, less those in ON, which are cleared. */
KN_INLINE v8 chain_torques(chain_return* k, const kn_data* d, int i) {
  const int apart = kn_chain_stride(d->model->nlink);
  double* on = chain_row(d, KN_CHAIN_ON) + i;
  v8 n = load8(chain_row(d, KN_CHAIN_C) + i), f = load8(chain_row(d, KN_CHAIN_A) + i),
     h = load8(chain_row(d, KN_CHAIN_B) + i);
  if (d->planar_loaded) {
    n = sub8(n, load8(on)), f = sub8(f, load8(on + apart)), h = sub8(h, load8(on + 2 * apart));
    store8(on, zero8()), store8(on + apart, zero8()), store8(on + 2 * apart, zero8());
  }
  f = sums_back8(f, &k->x), h = sums_back8(h, &k->y);
  v8 moment =
      sub8(mul8(f, load8(chain_row(d, KN_CHAIN_RY) + i)), mul8(h, load8(chain_row(d, KN_CHAIN_RX) + i)));
  v8 torque = sums_back8(sub8(n, down1(moment, k->behind)), &k->torque);
  k->behind = moment;
  return torque;
}

static void chain_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  chain_return k = chain_tips();
  chain_loads(d, v, qdd, g);
  for (int i = (d->model->nlink - 1) & ~7; i >= 0; i -= 8) put_dofs8(tau, d, i, chain_torques(&k, d, i));
  d->planar_loaded = false;
}

/* Energy of eight links with these spins; velocities into kin.plane. */
typedef struct chain_sum {
  v8 vx, vy, height, K, V;
  double g[3];
} chain_sum;

KN_INLINE chain_sum chain_sum_start(const kn_data* d) {
  const kn_v4 gravity = v4_load3(d->model->gravity), *e = d->layout->link[0].R0;
  chain_sum s = {.vx = zero8(), .vy = zero8(), .K = zero8(), .V = zero8()};
  for (int j = 0; j < 3; j++) s.g[j] = v4_dot(gravity, e[j]);
  s.height = splat8(v4_dot(gravity, d->layout->link[0].p0));
  return s;
}

KN_INLINE void chain_speeds(v8* x, v8* y, chain_sum* s, kn_kin* kin, const kn_data* d, int i, v8 w, v8 before,
                            const chain_arm* a) {
  *x = sums8(minus8(mul8(before, a->y)), &s->vx), *y = sums8(mul8(before, a->x), &s->vy);
  store8(plane_row(kin, d, KN_PLANE_W) + i, w);
  store8(plane_row(kin, d, KN_PLANE_VX) + i, *x), store8(plane_row(kin, d, KN_PLANE_VY) + i, *y);
}

/* In the plane K of a link is ½ (m v² + 2 ω s·(h x v) + I_zz ω²). */
KN_INLINE void chain_energies(chain_sum* s, kn_kin* kin, const kn_data* d, int i, v8 w, v8 before,
                              const chain_arm* a) {
  v8 x, y, m = load8(chain_const(d, KN_CHAIN_MASS) + i), I = load8(chain_const(d, KN_CHAIN_I) + i);
  chain_speeds(&x, &y, s, kin, d, i, w, before, a);
  v8 up = add8(add8(scale8(a->x, s->g[0]), scale8(a->y, s->g[1])),
               scale8(load8(chain_const(d, KN_CHAIN_PZ) + i), s->g[2]));
  v8 height = sums8(up, &s->height);
  v8 cross = sub8(mul8(a->hx, y), mul8(a->hy, x));
  s->K =
      add8(s->K, add8(mul8(m, add8(mul8(x, x), mul8(y, y))), mul8(w, add8(scale8(cross, 2.0), mul8(I, w)))));
  v8 hanging = add8(add8(scale8(a->hx, s->g[0]), scale8(a->hy, s->g[1])),
                    scale8(load8(chain_const(d, KN_CHAIN_HZ) + i), s->g[2]));
  s->V = add8(s->V, add8(mul8(m, height), hanging));
}

KN_INLINE void chain_energy(kn_energy* out, const chain_sum* s) {
  out->kinetic = 0.5 * total8(s->K);
  out->potential = -total8(s->V);
}

/* Spins and velocities of the origins into kin.plane. */
static void chain_velocity(kn_data* d, const double* v) {
  chain_walk k = chain_start(d);
  chain_sum s = chain_sum_start(d);
  bool known = d->planar_kin == d->kin.link;
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = known ? kept_arm(d, i) : chain_arm_at(&k, &d->kin, d, i);
    v8 x, y, before, w = chain_spin(&before, &k, d, v, i);
    chain_speeds(&x, &y, &s, &d->kin, d, i, w, before, &a);
  }
}

/* kin.link from kin.plane. */
static void chain_fill(kn_kin* kin, kn_data* d) {
  const double *W = plane_row(kin, d, KN_PLANE_W), *VX = plane_row(kin, d, KN_PLANE_VX),
               *VY = plane_row(kin, d, KN_PLANE_VY);
  const kn_v4* e = d->layout->link[0].R0;
  kn_v4 before = v4_zero();
  kin->lean = false;
  for (int i = 0; i < d->model->nlink; i++) {
    kn_link_kin* k = &kin->link[i];
    kn_plane_axes(k->R, kin, d, i);
    k->o = kn_plane_origin(kin, d, i);
    k->r = v4_sub(k->o, before), before = k->o;
    k->w = v4_scale(e[2], W[i]), k->vo = in_plane(e, VX[i], VY[i]);
    kin->dof[i].sa = e[2];
  }
}

/* fac from planar. */
static void chain_fill_factors(kn_data* d) {
  const kn_v4* e = d->layout->link[0].R0;
  d->lean_factors = false;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_planar_link* y = &d->planar[i];
    kn_dof_factor* f = &d->fac[i];
    f->dinv = d->planar_dinv[i];
    f->gn = v4_scale(e[2], y->gn), f->gf = in_plane(e, y->gfx, y->gfy);
  }
}

static void chain_fill_all(kn_data* d) {
  if (d->kin.lean) chain_fill(&d->kin, d);
  if (d->lean_factors) chain_fill_factors(d);
}

static void chain_position(kn_kin* kin, kn_data* d, const double* q) {
  chain_walk k = chain_start(d);
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  chain_angles(d, q);
  for (int i = 0; i < d->model->nlink; i += 8) chain_pose(&k, kin, d, i);
  kin->lean = true;
}

static void chain_arrive(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v) {
  chain_walk k = chain_start(d);
  chain_sum s = chain_sum_start(d);
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  chain_angles(d, q);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = chain_pose(&k, kin, d, i);
    v8 before, w = chain_spin(&before, &k, d, v, i);
    chain_energies(&s, kin, d, i, w, before, &a);
  }
  chain_energy(out, &s);
  kin->lean = true;
}

/* At the poses of kin. */
static void chain_energy_here(kn_energy* out, kn_kin* kin, kn_data* d, const double* v) {
  chain_walk k = chain_start(d);
  chain_sum s = chain_sum_start(d);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = chain_arm_at(&k, kin, d, i);
    v8 before, w = chain_spin(&before, &k, d, v, i);
    chain_energies(&s, kin, d, i, w, before, &a);
  }
  chain_energy(out, &s);
  kin->lean = true; /* velocities are new */
}

/* From the poses of kin. */
static int chain_factor(kn_data* d, const double* extra) {
  chain_walk k = chain_start(d);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm a = chain_arm_at(&k, &d->kin, d, i);
    keep_arm(d, i, &a);
    for (int r = KN_CHAIN_A; r <= KN_CHAIN_C; r++) store8(chain_row(d, r) + i, zero8());
  }
  int bad = chain_inward(d, NULL, extra ? extra : d->zero);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  d->lean_factors = true;
  return bad;
}

#undef EACH
