/* Chains that move in a plane (layout->chain): the passes of planar_kernel.h with the links side by side.

   What a link adds to the one before it (a turn, an offset, a rate, w² r) is computed for KN_W links at a
   time; only sums along the chain go link by link. The same operations in the same order as planar_kernel.h,
   hence the same bits on every instruction set and as there. Factors remain link by link. */

typedef double chain_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
#define AT(p)                 (*(const chain_vec*)((p) + i))
#define TO(p)                 (*(chain_vec*)((p) + i))
#define LINKS_SIDE_BY_SIDE(n) for (int i = 0; i < (n); i += KN_W)

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

/* Angles of the links, and their spins if there are rates. */
KN_INLINE void chain_turn(kn_kin* kin, kn_data* d, double* spin, const double* v) {
  const int n = d->model->nlink;
  const double *t0 = chain_const(d, KN_CHAIN_COS), *t1 = chain_const(d, KN_CHAIN_SIN), *kc = d->cos,
               *ks = d->sin;
  double *C = plane_row(kin, d, KN_PLANE_C), *S = plane_row(kin, d, KN_PLANE_S),
         *tc = chain_row(d, KN_CHAIN_A), *ts = chain_row(d, KN_CHAIN_B);
  LINKS_SIDE_BY_SIDE(n) {
    chain_vec c = AT(kc), s = AT(ks), a = AT(t0), b = AT(t1);
    TO(tc) = a * c - b * s, TO(ts) = b * c + a * s;
  }
  double c = tc[0], s = ts[0], w = 0.0;
  C[0] = c, S[0] = s;
  if (v) spin[0] = w = v[0];
  for (int i = 1; i < n; i++) {
    double x = tc[i], y = ts[i], cp = c;
    c = cp * x - s * y, s = s * x + cp * y;
    C[i] = c, S[i] = s;
    if (v) spin[i] = w += v[i];
  }
}

/* y[i] = y[i - 1] + x[i] from `first` on; x may be y. */
KN_INLINE void chain_sums(double* x0, double* y0, double* x1, double* y1, double first0, double first1,
                          int n) {
  double a = first0, b = first1;
  y0[0] = a, y1[0] = b;
  for (int i = 1; i < n; i++) y0[i] = a += x0[i], y1[i] = b += x1[i];
}

/* Offsets of the origins in the plane, and h, into four rows from `to` on. */
KN_INLINE void chain_arms(const kn_kin* kin, kn_data* d, int to) {
  const int n = d->model->nlink;
  const double *C = plane_row(kin, d, KN_PLANE_C), *S = plane_row(kin, d, KN_PLANE_S),
               *px = chain_const(d, KN_CHAIN_PX), *py = chain_const(d, KN_CHAIN_PY),
               *h0 = chain_const(d, KN_CHAIN_HX), *h1 = chain_const(d, KN_CHAIN_HY);
  double *rx = chain_row(d, to), *ry = chain_row(d, to + 1), *hx = chain_row(d, to + 2),
         *hy = chain_row(d, to + 3);
  LINKS_SIDE_BY_SIDE(n) {
    chain_vec cp = AT(C - 1), sp = AT(S - 1), x = AT(px), y = AT(py), c = AT(C), s = AT(S), hx0 = AT(h0),
              hy0 = AT(h1);
    TO(rx) = cp * x - sp * y, TO(ry) = sp * x + cp * y;
    TO(hx) = c * hx0 - s * hy0, TO(hy) = s * hx0 + c * hy0;
  }
}

KN_INLINE void chain_origins(kn_kin* kin, kn_data* d, int arms) {
  const kn_link_const* root = d->layout->link;
  chain_sums(chain_row(d, arms), plane_row(kin, d, KN_PLANE_X), chain_row(d, arms + 1),
             plane_row(kin, d, KN_PLANE_Y), v4_dot(root->p0, root->R0[0]), v4_dot(root->p0, root->R0[1]),
             d->model->nlink);
}

/* Accelerations of the origins at qdd = 0 with the base rising against gravity, from the spins. */
KN_INLINE void chain_bias(kn_data* d) {
  const int n = d->model->nlink;
  const double *rx = chain_row(d, KN_CHAIN_RX), *ry = chain_row(d, KN_CHAIN_RY),
               *W = chain_row(d, KN_CHAIN_W), *g = d->model->gravity;
  double *ax = chain_row(d, KN_CHAIN_AX), *ay = chain_row(d, KN_CHAIN_AY);
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]), *e = d->layout->link[0].R0;
  LINKS_SIDE_BY_SIDE(n) {
    chain_vec w = AT(W - 1), w2 = w * w;
    TO(ax) = -(w2 * AT(rx)), TO(ay) = -(w2 * AT(ry));
  }
  chain_sums(ax, ax, ay, ay, v4_dot(base, e[0]), v4_dot(base, e[1]), n);
}

/* m a - w² h of the links into the rows A and B, h x a into C. */
KN_INLINE void chain_forces(kn_data* d) {
  const double *W = chain_row(d, KN_CHAIN_W), *ax = chain_row(d, KN_CHAIN_AX),
               *ay = chain_row(d, KN_CHAIN_AY), *hx = chain_row(d, KN_CHAIN_MX),
               *hy = chain_row(d, KN_CHAIN_MY), *mass = chain_const(d, KN_CHAIN_MASS);
  double *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C);
  LINKS_SIDE_BY_SIDE(d->model->nlink) {
    chain_vec w = AT(W), w2 = w * w, x = AT(hx), y = AT(hy), a = AT(ax), b = AT(ay), m = AT(mass);
    TO(fx) = m * a - w2 * x, TO(fy) = m * b - w2 * y, TO(n) = x * b - y * a;
  }
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
  angles(d, q);
  chain_turn(&d->kin, d, chain_row(d, KN_CHAIN_W), v);
  chain_arms(&d->kin, d, KN_CHAIN_RX);
  chain_bias(d);
  chain_origins(&d->kin, d, KN_CHAIN_RX); /* sums want some time before they are read side by side */
  chain_forces(d);
  int bad = chain_inward(d, tau, extra ? extra : d->zero);
  if (bad < 0) chain_sweep(qdd, d);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  d->kin.lean = d->lean_factors = true;
  return bad;
}

static void chain_accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  const double *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C);
  double *W = chain_row(d, KN_CHAIN_W), w = 0.0, sum = 0.0, x = 0.0, y = 0.0;
  for (int i = 0; i < d->model->nlink; i++) W[i] = w += v[i];
  chain_bias(d);
  chain_forces(d);
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

/* As planar_inverse. */
static void chain_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  const int count = d->model->nlink;
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]), *e = d->layout->link[0].R0;
  const double *rx = chain_row(d, KN_CHAIN_RX), *ry = chain_row(d, KN_CHAIN_RY),
               *hx = chain_row(d, KN_CHAIN_MX), *hy = chain_row(d, KN_CHAIN_MY),
               *mass = chain_const(d, KN_CHAIN_MASS), *I = chain_const(d, KN_CHAIN_I);
  double *W = chain_row(d, KN_CHAIN_W), *AL = chain_row(d, KN_CHAIN_D), *ax = chain_row(d, KN_CHAIN_AX),
         *ay = chain_row(d, KN_CHAIN_AY), *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B),
         *n = chain_row(d, KN_CHAIN_C), w = 0.0, al = 0.0;
  for (int i = 0; i < count; i++) {
    W[i] = w += v[i];
    if (qdd) al += qdd[i];
    AL[i] = al;
  }
  LINKS_SIDE_BY_SIDE(count) {
    chain_vec wp = AT(W - 1), w2 = wp * wp, a = AT(AL - 1), x = AT(rx), y = AT(ry);
    TO(ax) = -(w2 * x + a * y), TO(ay) = a * x - w2 * y;
  }
  chain_sums(ax, ax, ay, ay, v4_dot(base, e[0]), v4_dot(base, e[1]), count);
  LINKS_SIDE_BY_SIDE(count) {
    chain_vec wi = AT(W), w2 = wi * wi, a = AT(AL), x = AT(hx), y = AT(hy), bx = AT(ax), by = AT(ay),
              m = AT(mass);
    TO(n) = AT(I) * a + (x * by - y * bx);
    TO(fx) = (m * bx - a * y) - w2 * x, TO(fy) = (m * by + a * x) - w2 * y;
  }
  for (int i = 0; i < count && d->planar_loaded; i++) {
    double* on = d->planar[i].on;
    n[i] -= on[0], fx[i] -= on[1], fy[i] -= on[2];
    on[0] = on[1] = on[2] = 0.0;
  }
  d->planar_loaded = false;
  double sum = 0.0, x = 0.0, y = 0.0;
  for (int i = count - 1; i >= 0; i--) {
    sum += n[i], x += fx[i], y += fy[i];
    tau[i] = sum;
    sum -= x * ry[i] - y * rx[i];
  }
}

/* Energy at the poses and spins in kin->plane, whose arms are in RX2 …; velocities into kin->plane. As
   planar_arrive. */
KN_INLINE void chain_energy(kn_energy* out, kn_kin* kin, kn_data* d, bool origins) {
  const int count = d->model->nlink;
  const kn_v4 gravity = v4_load3(d->model->gravity), *e = d->layout->link[0].R0;
  const double *rx = chain_row(d, KN_CHAIN_RX2), *ry = chain_row(d, KN_CHAIN_RY2),
               *hx = chain_row(d, KN_CHAIN_MX2), *hy = chain_row(d, KN_CHAIN_MY2),
               *mass = chain_const(d, KN_CHAIN_MASS), *I = chain_const(d, KN_CHAIN_I),
               *pz = chain_const(d, KN_CHAIN_PZ), *hz = chain_const(d, KN_CHAIN_HZ),
               *W = plane_row(kin, d, KN_PLANE_W);
  double *VX = plane_row(kin, d, KN_PLANE_VX), *VY = plane_row(kin, d, KN_PLANE_VY),
         *up = chain_row(d, KN_CHAIN_A), *k = chain_row(d, KN_CHAIN_B), *p = chain_row(d, KN_CHAIN_C);
  const double g0 = v4_dot(gravity, e[0]), g1 = v4_dot(gravity, e[1]), g2 = v4_dot(gravity, e[2]);
  LINKS_SIDE_BY_SIDE(count) {
    chain_vec w = AT(W - 1), x = AT(rx), y = AT(ry);
    TO(VX) = -(w * y), TO(VY) = w * x, TO(up) = (g0 * x + g1 * y) + g2 * AT(pz);
  }
  chain_sums(VX, VX, VY, VY, 0.0, 0.0, count);
  double height = up[0] = v4_dot(gravity, d->layout->link[0].p0), K = 0.0, V = 0.0;
  for (int i = 1; i < count; i++) up[i] = height += up[i];
  if (origins)
    chain_origins(kin, d, KN_CHAIN_RX2); /* sums want some time before they are read side by side */
  LINKS_SIDE_BY_SIDE(count) {
    chain_vec w = AT(W), x = AT(VX), y = AT(VY), hx0 = AT(hx), hy0 = AT(hy), m = AT(mass);
    TO(k) = m * (x * x + y * y) + w * (2.0 * (hx0 * y - hy0 * x) + AT(I) * w);
    TO(p) = m * AT(up) + ((g0 * hx0 + g1 * hy0) + g2 * AT(hz));
  }
  for (int i = 0; i < count; i++) K += k[i], V -= p[i];
  out->kinetic = 0.5 * K;
  out->potential = V;
}

/* Spins and velocities of the origins into kin.plane; arms are those of the factors or made anew. */
static void chain_velocity(kn_data* d, const double* v) {
  const int count = d->model->nlink;
  kn_kin* kin = &d->kin;
  bool known = d->planar_kin == kin->link;
  if (!known) chain_arms(kin, d, KN_CHAIN_RX2);
  const double *rx = chain_row(d, known ? KN_CHAIN_RX : KN_CHAIN_RX2),
               *ry = chain_row(d, known ? KN_CHAIN_RY : KN_CHAIN_RY2);
  double *W = plane_row(kin, d, KN_PLANE_W), *VX = plane_row(kin, d, KN_PLANE_VX),
         *VY = plane_row(kin, d, KN_PLANE_VY), w = 0.0;
  for (int i = 0; i < count; i++) W[i] = w += v[i];
  LINKS_SIDE_BY_SIDE(count) {
    chain_vec before = AT(W - 1);
    TO(VX) = -(before * AT(ry)), TO(VY) = before * AT(rx);
  }
  chain_sums(VX, VX, VY, VY, 0.0, 0.0, count);
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
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  chain_turn(kin, d, NULL, NULL);
  chain_arms(kin, d, KN_CHAIN_RX2);
  chain_origins(kin, d, KN_CHAIN_RX2);
  kin->lean = true;
}

static void chain_arrive(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v) {
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  chain_turn(kin, d, plane_row(kin, d, KN_PLANE_W), v);
  chain_arms(kin, d, KN_CHAIN_RX2);
  chain_energy(out, kin, d, true);
  kin->lean = true;
}

/* At the poses of kin. */
static void chain_energy_here(kn_energy* out, kn_kin* kin, kn_data* d, const double* v) {
  double *W = plane_row(kin, d, KN_PLANE_W), w = 0.0;
  for (int i = 0; i < d->model->nlink; i++) W[i] = w += v[i];
  chain_arms(kin, d, KN_CHAIN_RX2);
  chain_energy(out, kin, d, false);
  kin->lean = true; /* velocities are new */
}

/* From the poses of kin. */
static int chain_factor(kn_data* d, const double* extra) {
  chain_arms(&d->kin, d, KN_CHAIN_RX);
  for (int r = KN_CHAIN_A; r <= KN_CHAIN_C; r++)
    for (int i = 0; i < d->model->nlink; i++) chain_row(d, r)[i] = 0.0;
  int bad = chain_inward(d, NULL, extra ? extra : d->zero);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  d->lean_factors = true;
  return bad;
}

#undef AT
#undef TO
#undef LINKS_SIDE_BY_SIDE
