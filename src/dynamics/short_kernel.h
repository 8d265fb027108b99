/* Short chains that move in a plane (layout->chain, fewer than KN_CHAIN_LEAST links): the passes of
   planar_kernel.h link by link, without poses and factors in space; kn_data_fill makes those for who asks.
   The same operations in the same order. The other passes are those of planar_kernel.h. */

typedef struct short_consts { /* of the links, one after the other */
  const double *cos, *sin, *px, *py, *pz, *hx, *hy, *hz, *mass, *I;
} short_consts;

KN_INLINE short_consts short_of(const kn_data* d) {
  const double* of = d->layout->chain_of;
  const int n = kn_chain_stride(d->model->nlink);
  return (short_consts){of + KN_CHAIN_COS * n, of + KN_CHAIN_SIN * n, of + KN_CHAIN_PX * n,
                        of + KN_CHAIN_PY * n,  of + KN_CHAIN_PZ * n,  of + KN_CHAIN_HX * n,
                        of + KN_CHAIN_HY * n,  of + KN_CHAIN_HZ * n,  of + KN_CHAIN_MASS * n,
                        of + KN_CHAIN_I * n};
}

/* As planar_outward. */
KN_INLINE void short_outward(kn_data* d, const double* v) {
  const short_consts k = short_of(d);
  const double *kc = d->cos, *ks = d->sin;
  const int n = d->model->nlink, stride = kn_plane_stride(n);
  double c = 1.0, s = 0.0, w = 0.0, ax = -d->layout->down[0], ay = -d->layout->down[1],
         ox = d->layout->start[0], oy = d->layout->start[1], *plane = d->kin.plane;
  kn_planar_link* y = d->planar;
  for (int i = 0; i < n; i++, y++) {
    double tc = k.cos[i] * kc[i] - k.sin[i] * ks[i], ts = k.sin[i] * kc[i] + k.cos[i] * ks[i], cp = c;
    double rx = c * k.px[i] - s * k.py[i], ry = s * k.px[i] + c * k.py[i], w2 = w * w;
    ox += rx, oy += ry;
    ax -= w2 * rx, ay -= w2 * ry;
    c = cp * tc - s * ts, s = s * tc + cp * ts;
    w += v[i];
    y->w = w, y->ax = ax, y->ay = ay, y->rx = rx, y->ry = ry;
    y->hx = c * k.hx[i] - s * k.hy[i], y->hy = s * k.hx[i] + c * k.hy[i];
    put_plane(plane, stride, i, c, s, ox, oy);
  }
}

/* As planar_inward. */
KN_INLINE int short_inward(kn_data* d, const double* tau, const double* extra) {
  const double *armature = d->model->armature, *mass = d->layout->chain_of, *I;
  const int stride = kn_chain_stride(d->model->nlink);
  double* inverse = d->planar_dinv;
  planar_load b = {0};
  I = mass + KN_CHAIN_I * stride, mass += KN_CHAIN_MASS * stride;
  int i = d->model->nlink - 1;
  for (kn_planar_link* y = d->planar + i;; i--, y--) {
    double m = mass[i], w2 = y->w * y->w, hx = y->hx, hy = y->hy;
    b.J += I[i], b.gx -= hy, b.gy += hx, b.mxx += m, b.myy += m;
    b.n += hx * y->ay - hy * y->ax;
    b.fx += m * y->ax - w2 * hx, b.fy += m * y->ay - w2 * hy;
    double D = b.J + (armature[i] + extra[i]), z = (tau ? tau[i] : 0.0) - b.n, dinv = 1.0 / D;
    if (__builtin_expect(!(D > 0.0), 0)) return i;
    inverse[i] = dinv, y->z = z * dinv;
    if (i == 0) {
      y->gn = y->gfx = y->gfy = 0.0;
      return -1;
    }
    double tx = -y->ry, ty = y->rx;
    double gx = b.gx + (b.mxx * tx + b.mxy * ty), gy = b.gy + (b.mxy * tx + b.myy * ty);
    double U = b.J + (b.gx * tx + b.gy * ty), J = U + (gx * tx + gy * ty);
    double gn = U * dinv, gfx = b.gx * dinv, gfy = b.gy * dinv;
    b.n = (b.n + (b.fx * tx + b.fy * ty)) + gn * z;
    b.fx += gfx * z, b.fy += gfy * z;
    b.mxx -= gfx * b.gx, b.mxy -= gfx * b.gy, b.myy -= gfy * b.gy;
    b.J = J - gn * U, b.gx = gx - gfx * U, b.gy = gy - gfy * U;
    y->gn = gn, y->gfx = gfx, y->gfy = gfy;
  }
}

static int short_forward(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                         const double* extra) {
  angles(d, q);
  short_outward(d, v);
  int bad = short_inward(d, tau, extra ? extra : d->zero);
  if (bad < 0) chain_sweep(qdd, d);
  d->planar_kin = bad < 0 ? d->kin.link : NULL;
  d->planar_stamp++;
  d->kin.lean = d->lean_factors = true;
  return bad;
}

/* As planar_arrive. */
static void short_arrive(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v) {
  const short_consts k = short_of(d);
  const double *kc = d->cos, *ks = d->sin, *g = d->layout->down;
  const int n = d->model->nlink, stride = kn_plane_stride(n);
  double c = 1.0, s = 0.0, w = 0.0, x = 0.0, y = 0.0, height = d->layout->start[2], ox = d->layout->start[0],
         oy = d->layout->start[1], K = 0.0, V = 0.0, *plane = kin->plane;
  double *W = plane + KN_PLANE_W * stride, *VX = plane + KN_PLANE_VX * stride,
         *VY = plane + KN_PLANE_VY * stride;
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  for (int i = 0; i < n; i++) {
    double tc = k.cos[i] * kc[i] - k.sin[i] * ks[i], ts = k.sin[i] * kc[i] + k.cos[i] * ks[i], cp = c;
    double rx = c * k.px[i] - s * k.py[i], ry = s * k.px[i] + c * k.py[i];
    ox += rx, oy += ry;
    height += (g[0] * rx + g[1] * ry) + g[2] * k.pz[i];
    x -= w * ry, y += w * rx;
    c = cp * tc - s * ts, s = s * tc + cp * ts;
    w += v[i];
    double hx = c * k.hx[i] - s * k.hy[i], hy = s * k.hx[i] + c * k.hy[i], m = k.mass[i];
    K += m * (x * x + y * y) + w * (2.0 * (hx * y - hy * x) + k.I[i] * w);
    V -= m * height + ((g[0] * hx + g[1] * hy) + g[2] * k.hz[i]);
    W[i] = w, VX[i] = x, VY[i] = y;
    put_plane(plane, stride, i, c, s, ox, oy);
  }
  out->kinetic = 0.5 * K;
  out->potential = V;
  kin->lean = true;
}
