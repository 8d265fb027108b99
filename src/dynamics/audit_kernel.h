/* What the ledger asks of chains in a plane (layout->chain) with one contact or a tiny correction. */

/* On the way along the chain: numbers of the eight before, and sums. */
typedef struct nudge_walk {
  v8 t, w, x, y;         /* turn, spin and origin before */
  v8 turn, ux, uy, rise; /* sums: turns, change of the origin's velocity, of its height */
  v8 K, V;
} nudge_walk;

/* Change of a vector that turns by t: t s x r - ½ t² r. */
KN_INLINE void nudged8(v8* to_x, v8* to_y, v8 t, v8 x, v8 y) {
  v8 half = scale8(mul8(t, t), 0.5);
  *to_x = minus8(add8(mul8(t, y), mul8(half, x))), *to_y = sub8(mul8(t, x), mul8(half, y));
}

KN_INLINE void nudge_eight(nudge_walk* k, const kn_kin* kin, const kn_data* d, const double* dq, int i) {
  const double* g = d->layout->down;
  v8 x = load8(plane_row(kin, d, KN_PLANE_X) + i), y = load8(plane_row(kin, d, KN_PLANE_Y) + i);
  v8 w = load8(plane_row(kin, d, KN_PLANE_W) + i), t = sums8(load8(dq + i), &k->turn);
  v8 spin = up1(k->w, w), ax, ay, bx, by, hx, hy;
  nudged8(&ax, &ay, up1(k->t, t), sub8(x, up1(k->x, x)), sub8(y, up1(k->y, y)));
  k->t = t, k->w = w, k->x = x, k->y = y;
  v8 ux = sums8(minus8(mul8(spin, ay)), &k->ux), uy = sums8(mul8(spin, ax), &k->uy);
  v8 rise = sums8(add8(scale8(ax, g[0]), scale8(ay, g[1])), &k->rise);
  turn8(&hx, &hy, load8(plane_row(kin, d, KN_PLANE_C) + i), load8(plane_row(kin, d, KN_PLANE_S) + i),
        load8(chain_const(d, KN_CHAIN_HX) + i), load8(chain_const(d, KN_CHAIN_HY) + i));
  nudged8(&bx, &by, t, hx, hy);
  v8 m = load8(chain_const(d, KN_CHAIN_MASS) + i);
  v8 vx = load8(plane_row(kin, d, KN_PLANE_VX) + i), vy = load8(plane_row(kin, d, KN_PLANE_VY) + i);
  v8 faster = add8(mul8(add8(vx, scale8(ux, 0.5)), ux), mul8(add8(vy, scale8(uy, 0.5)), uy)); /* of ½ v² */
  v8 turned = add8(sub8(mul8(hx, uy), mul8(hy, ux)), sub8(mul8(bx, add8(vy, uy)), mul8(by, add8(vx, ux))));
  k->K = add8(k->K, add8(mul8(m, faster), mul8(w, turned)));
  k->V = sub8(k->V, add8(mul8(m, rise), add8(scale8(bx, g[0]), scale8(by, g[1]))));
}

/* ---- the same of up to four links, in one vector ---- */

typedef double nudge_four __attribute__((vector_size(32), aligned(8), may_alias));

KN_INLINE nudge_four before4(nudge_four a) {
  return __builtin_shufflevector((nudge_four){0.0}, a, 3, 4, 5, 6);
}
KN_INLINE nudge_four sums4(nudge_four a) {
  a += before4(a);
  return a + __builtin_shufflevector((nudge_four){0.0}, a, 2, 3, 4, 5);
}
KN_INLINE double total4(nudge_four a) { return (a[0] + a[2]) + (a[1] + a[3]); }

static void few_nudge(kn_energy* energy, const kn_kin* kin, const kn_data* d, const double* dq) {
#define IN(name) (*(const nudge_four*)(kin->plane + KN_PLANE_##name * SHORT_PLANE))
#define OF(name) (*(const nudge_four*)(d->layout->chain_of + KN_CHAIN_##name * SHORT_CONSTS))
  const double g0 = d->layout->down[0], g1 = d->layout->down[1];
  nudge_four w = IN(W), vx = IN(VX), vy = IN(VY), c = IN(C), s = IN(S), m = OF(MASS), spin = before4(w);
  nudge_four t = sums4(*(const nudge_four*)dq), p = before4(t), half = 0.5 * (p * p);
  nudge_four rx = IN(X) - before4(IN(X)), ry = IN(Y) - before4(IN(Y));
  nudge_four ax = p * ry + half * rx, ay = p * rx - half * ry;                              /* ax: less */
  nudge_four ux = sums4(spin * ay), uy = sums4(spin * ax), rise = sums4(g1 * ay - g0 * ax); /* u: less */
  nudge_four hx = c * OF(HX) - s * OF(HY), hy = s * OF(HX) + c * OF(HY);
  half = 0.5 * (t * t);
  nudge_four bx = t * hy + half * hx, by = t * hx - half * hy; /* bx: less */
  nudge_four faster = (vx - 0.5 * ux) * ux + (vy - 0.5 * uy) * uy;
  nudge_four turned = (hy * ux - hx * uy) - (bx * (vy - uy) + by * (vx - ux));
  energy->kinetic += total4(w * turned - m * faster);
  energy->potential -= total4(m * rise + (g1 * by - g0 * bx));
#undef IN
#undef OF
}

/* Energy after tiny turns dq of the hinges, the rates as they were; poses and velocities of kin.plane stay
   where they are. What is left out is t³/6, beyond the last bit for turns of links up to 1e-6 or so. */
static void chain_nudge(kn_energy* energy, const kn_kin* kin, const kn_data* d, const double* dq) {
  if (d->model->nlink <= 4) {
    few_nudge(energy, kin, d, dq);
    return;
  }
  nudge_walk k = {.t = zero8()};
  k.w = k.x = k.y = k.turn = k.ux = k.uy = k.rise = k.K = k.V = k.t;
  nudge_eight(&k, kin, d, dq, 0);
  for (int i = 8; i < d->model->nlink; i += 8) nudge_eight(&k, kin, d, dq, i);
  energy->kinetic += total8(k.K), energy->potential += total8(k.V);
}

/* As short_inverse at (v_bias, (v_end - v) rate), less the forces λ rate of the contacts that d->arrow has.
 */
static void short_balance(double* tau, const kn_data* d, const double* v_bias, const double* v,
                          const double* v_end, double rate, const double* lambda, int count) {
  const double *of = d->layout->chain_of, *end = of + d->model->nlink;
  double w = 0.0, al = 0.0, ax = -d->layout->down[0], ay = -d->layout->down[1], n = 0.0, fx = 0.0, fy = 0.0;
  double in[8][3], (*to)[3] = in;
  const kn_planar_link* y = d->planar;
  for (; of < end; of++, y++, to++) {
    double hx = y->hx, hy = y->hy, m = of[KN_CHAIN_MASS * SHORT_CONSTS], w2 = w * w;
    ax -= w2 * y->rx + al * y->ry, ay += al * y->rx - w2 * y->ry;
    w += *v_bias++, al += (*v_end++ - *v++) * rate, w2 = w * w;
    (*to)[0] = of[KN_CHAIN_I * SHORT_CONSTS] * al + (hx * ay - hy * ax);
    (*to)[1] = (m * ax - al * hy) - w2 * hx, (*to)[2] = (m * ay + al * hx) - w2 * hy;
  }
  for (const kn_planar_arrow* a = d->arrow; count > 0; count--, a++, lambda += 3)
    for (int k = 0; k < a->pairs; k++) {
      int r = a->row[k][0], t = a->row[k][1];
      double p = rate * lambda[r], q = t != r ? rate * lambda[t] : 0.0;
      for (int i = 0; i < 2; i++) {
        const double* f = a->force[k][i];
        if (a->link[i] < 0) continue;
        to = in + a->link[i];
        (*to)[0] -= p * f[0] + q * f[1], (*to)[1] -= p * f[2] + q * f[3], (*to)[2] -= p * f[4] + q * f[5];
      }
    }
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    y--;
    n += in[i][0], fx += in[i][1], fy += in[i][2];
    tau[i] = n;
    n -= fx * y->ry - fy * y->rx;
  }
}
