/* Short chains that move in a plane (layout->chain, fewer than KN_CHAIN_LEAST links): the passes of
   planar_kernel.h link by link, without poses and factors in space; kn_data_fill makes those for who asks.
   The same operations in the same order. The other passes are those of planar_kernel.h. */

/* Rows of constants and of kin.plane are so far apart: kn_chain_stride and kn_plane_stride of few links. */
enum { SHORT_CONSTS = 16, SHORT_PLANE = 8 };
_Static_assert(KN_CHAIN_LEAST <= 8, "strides of short chains");
#define OF(name) of[KN_CHAIN_##name * SHORT_CONSTS]
#define IN(name) plane[KN_PLANE_##name * SHORT_PLANE]

/* As planar_outward. */
KN_INLINE void short_outward(kn_data* d, const double* v) {
  const double *kc = d->cos, *ks = d->sin, *of = d->layout->chain_of, *end = of + d->model->nlink;
  double c = 1.0, s = 0.0, w = 0.0, ax = -d->layout->down[0], ay = -d->layout->down[1],
         ox = d->layout->start[0], oy = d->layout->start[1], *plane = d->kin.plane;
  for (kn_planar_link* y = d->planar; of < end; y++, of++, plane++) {
    double tc = OF(COS) * *kc - OF(SIN) * *ks, ts = OF(SIN) * *kc + OF(COS) * *ks, cp = c;
    double rx = c * OF(PX) - s * OF(PY), ry = s * OF(PX) + c * OF(PY), w2 = w * w;
    ox += rx, oy += ry;
    ax -= w2 * rx, ay -= w2 * ry;
    c = cp * tc - s * ts, s = s * tc + cp * ts;
    w += *v++, kc++, ks++;
    y->w = w, y->ax = ax, y->ay = ay, y->rx = rx, y->ry = ry;
    y->hx = c * OF(HX) - s * OF(HY), y->hy = s * OF(HX) + c * OF(HY);
    IN(C) = c, IN(S) = s, IN(X) = ox, IN(Y) = oy;
  }
}

/* As planar_inward. */
KN_INLINE int short_inward(kn_data* d, const double* tau, const double* extra) {
  const double *armature = d->model->armature, *of = d->layout->chain_of + d->model->nlink - 1;
  double* inverse = d->planar_dinv;
  planar_load b = {0};
  int i = d->model->nlink - 1;
  for (kn_planar_link* y = d->planar + i;; i--, y--, of--) {
    planar_join(&b, y, OF(MASS), OF(I));
    double D = b.J + (armature[i] + extra[i]), z = (tau ? tau[i] : 0.0) - b.n, dinv = 1.0 / D;
    if (__builtin_expect(!(D > 0.0), 0)) return i;
    inverse[i] = dinv, y->z = z * dinv;
    if (i == 0) {
      y->gn = y->gfx = y->gfy = 0.0;
      return -1;
    }
    planar_pass(&b, y, z, dinv);
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
  const double *kc = d->cos, *ks = d->sin, *g = d->layout->down, *of = d->layout->chain_of,
               *end = of + d->model->nlink;
  double c = 1.0, s = 0.0, w = 0.0, x = 0.0, y = 0.0, height = d->layout->start[2], ox = d->layout->start[0],
         oy = d->layout->start[1], K = 0.0, V = 0.0, *plane = kin->plane;
  if (kin->link == d->planar_kin) d->planar_kin = NULL;
  angles(d, q);
  for (; of < end; of++, plane++) {
    double tc = OF(COS) * *kc - OF(SIN) * *ks, ts = OF(SIN) * *kc + OF(COS) * *ks, cp = c;
    double rx = c * OF(PX) - s * OF(PY), ry = s * OF(PX) + c * OF(PY);
    ox += rx, oy += ry;
    height += (g[0] * rx + g[1] * ry) + g[2] * OF(PZ);
    x -= w * ry, y += w * rx;
    c = cp * tc - s * ts, s = s * tc + cp * ts;
    w += *v++, kc++, ks++;
    double hx = c * OF(HX) - s * OF(HY), hy = s * OF(HX) + c * OF(HY), m = OF(MASS);
    K += m * (x * x + y * y) + w * (2.0 * (hx * y - hy * x) + OF(I) * w);
    V -= m * height + ((g[0] * hx + g[1] * hy) + g[2] * OF(HZ));
    IN(W) = w, IN(VX) = x, IN(VY) = y;
    IN(C) = c, IN(S) = s, IN(X) = ox, IN(Y) = oy;
  }
  out->kinetic = 0.5 * K;
  out->potential = V;
  kin->lean = true;
}

/* As planar_inverse. */
static void short_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  const kn_v4 base = v4_set(-g[0], -g[1], -g[2]), *e = d->layout->link[0].R0;
  const double *of = d->layout->chain_of, *end = of + d->model->nlink;
  double w = 0.0, al = 0.0, ax = v4_dot(base, e[0]), ay = v4_dot(base, e[1]), n = 0.0, fx = 0.0, fy = 0.0;
  kn_planar_link* y = d->planar;
  if (!qdd) qdd = d->zero;
  for (; of < end; of++, y++) {
    double hx = y->hx, hy = y->hy, m = OF(MASS), w2 = w * w;
    ax -= w2 * y->rx + al * y->ry, ay += al * y->rx - w2 * y->ry;
    w += *v++, al += *qdd++, w2 = w * w;
    y->in[0] = OF(I) * al + (hx * ay - hy * ax);
    y->in[1] = (m * ax - al * hy) - w2 * hx, y->in[2] = (m * ay + al * hx) - w2 * hy;
  }
  if (d->planar_loaded)
    for (kn_planar_link* l = d->planar; l < y; l++)
      for (int k = 0; k < 3; k++) l->in[k] -= l->on[k], l->on[k] = 0.0;
  d->planar_loaded = false;
  for (tau += d->model->nlink; y > d->planar;) {
    y--;
    n += y->in[0], fx += y->in[1], fy += y->in[2];
    *--tau = n;
    n -= fx * y->ry - fy * y->rx;
  }
}

/* Spins and velocities of the origins into kin.plane, whose poses they belong to. */
static void short_velocity(kn_data* d, const double* v) {
  double w = 0.0, x = 0.0, y = 0.0, *plane = d->kin.plane, ox = IN(X), oy = IN(Y);
  for (double* end = plane + d->model->nlink; plane < end; plane++) {
    double px = ox, py = oy;
    ox = IN(X), oy = IN(Y);
    x -= w * (oy - py), y += w * (ox - px), w += *v++;
    IN(W) = w, IN(VX) = x, IN(VY) = y;
  }
}

/* The passes of chain_kernel.h write behind the last link, where those of short chains leave zeros: what
   moves there would be seen (sight.c). */
KN_INLINE void short_tidy(kn_kin* kin, const kn_data* d) {
  for (int r = 0; r < KN_PLANE_ROWS; r++)
    for (int i = d->model->nlink; i < SHORT_PLANE; i++) kin->plane[r * SHORT_PLANE + i] = 0.0;
}

#undef OF
#undef IN
