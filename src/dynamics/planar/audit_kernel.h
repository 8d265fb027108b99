/* What the ledger asks of chains in a plane (layout->chain): inverse dynamics of a step with the work and
   balance of its forces, and the energy of a tiny correction. */

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

/* The larger of a and the sizes of b. */
KN_INLINE v8 larger8(v8 a, v8 b) {
  typedef int64_t bits __attribute__((vector_size(8 * KN_W), may_alias));
  for (int j = 0; j < V8; j++) {
    chain_vec size = (chain_vec)((bits)b.v[j] & INT64_MAX);
    bits larger = (bits)(size > a.v[j]);
    a.v[j] = (chain_vec)(((bits)size & larger) | ((bits)a.v[j] & ~larger));
  }
  return a;
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
  kn_two dq0 = *(const kn_two*)dq, dq1 = *(const kn_two*)(dq + 2); /* just written in pairs (fours.h) */
  nudge_four t = sums4(__builtin_shufflevector(dq0, dq1, 0, 1, 2, 3)), p = before4(t), half = 0.5 * (p * p);
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

/* ---- one pass of inverse dynamics and what the ledger makes of it ---- */

/* Of a short chain, less the forces λ rate of the contacts that d->arrow has; as short_inverse. */
static void short_audit(kn_audit* out, const kn_data* d, const kn_audited* a) {
  const double *of = d->layout->chain_of, *v = a->v, *v_end = a->v_end, *v_bias = a->v_bias,
               *applied = a->applied, *lambda = a->lambda, rate = a->rate;
  double w = 0.0, al = 0.0, ax = -d->layout->down[0], ay = -d->layout->down[1], n = 0.0, fx = 0.0, fy = 0.0;
  double in[8][4], (*to)[4] = in, inside = 0.0, outside = 0.0,
                   worst = 0.0; /* what links need; (v + v_end)/2 */
  const kn_planar_link* y = d->planar;
  const int links = d->model->nlink;
  for (int i = 0; i < links; i++, of++, y++, to++) {
    double hx = y->hx, hy = y->hy, m = of[KN_CHAIN_MASS * SHORT_CONSTS], w2 = w * w, dv = v_end[i] - v[i];
    ax -= w2 * y->rx + al * y->ry, ay += al * y->rx - w2 * y->ry;
    w += v_bias[i], al += dv * rate, w2 = w * w;
    double mean = v[i] + 0.5 * dv;
    outside += mean * applied[i], (*to)[3] = mean;
    (*to)[0] = of[KN_CHAIN_I * SHORT_CONSTS] * al + (hx * ay - hy * ax);
    (*to)[1] = (m * ax - al * hy) - w2 * hx, (*to)[2] = (m * ay + al * hx) - w2 * hy;
  }
  const kn_planar_arrow* c = d->arrow;
  for (int g = 0; g < a->count; g++, c++, lambda += 3)
    for (int k = 0; k < c->pairs; k++) {
      int r = c->row[k][0], t = c->row[k][1];
      double p = rate * lambda[r], q = t != r ? rate * lambda[t] : 0.0;
      for (int i = 0; i < 2; i++) {
        const double* f = c->force[k][i];
        if (c->link[i] < 0) continue;
        to = in + c->link[i];
        (*to)[0] -= p * f[0] + q * f[1], (*to)[1] -= p * f[2] + q * f[3], (*to)[2] -= p * f[4] + q * f[5];
      }
    }
  for (int i = links - 1; i >= 0; i--) {
    y--;
    n += in[i][0], fx += in[i][1], fy += in[i][2];
    double off = fabs(n - a->tau[i]);
    inside += in[i][3] * n, worst = off > worst ? off : worst;
    n -= fx * y->ry - fy * y->rx;
  }
  *out = (kn_audit){.inertia = inside, .applied = outside, .worst = worst};
}

/* Of a long chain, as chain_loads and chain_inverse; the forces of contacts are in the rows KN_CHAIN_ON. */
static void chain_audit(kn_audit* out, kn_data* d, const kn_audited* a) {
  double *fx = chain_row(d, KN_CHAIN_A), *fy = chain_row(d, KN_CHAIN_B), *n = chain_row(d, KN_CHAIN_C),
         far[8];
  v8 turning = zero8(), spinning = zero8(), w = zero8(), al = zero8(), half = splat8(0.5);
  v8 ax = splat8(-d->layout->down[0]), ay = splat8(-d->layout->down[1]);
  for (int i = 0; i < d->model->nlink; i += 8) {
    chain_arm r = kept_arm(d, i);
    v8 m = load8(chain_const(d, KN_CHAIN_MASS) + i), I = load8(chain_const(d, KN_CHAIN_I) + i);
    v8 w_last = w, al_last = al;
    w = sums8(load8(a->v_bias + i), &spinning);
    al = sums8(scale8(sub8(load8(a->v_end + i), load8(a->v + i)), a->rate), &turning);
    v8 wp = up1(w_last, w), alp = up1(al_last, al), w2 = mul8(wp, wp);
    v8 x = sums8(minus8(add8(mul8(w2, r.x), mul8(alp, r.y))), &ax);
    v8 y = sums8(sub8(mul8(alp, r.x), mul8(w2, r.y)), &ay);
    w2 = mul8(w, w);
    store8(n + i, add8(mul8(I, al), sub8(mul8(r.hx, y), mul8(r.hy, x))));
    store8(fx + i, sub8(sub8(mul8(m, x), mul8(al, r.hy)), mul8(w2, r.hx)));
    store8(fy + i, sub8(add8(mul8(m, y), mul8(al, r.hx)), mul8(w2, r.hy)));
  }
  v8 inside = zero8(), outside = zero8(), worst = zero8();
  chain_return k = chain_tips();
  for (int i = (d->model->nlink - 1) & ~7; i >= 0; i -= 8) {
    v8 b = chain_torques(&k, d, i), v = load8(a->v + i);
    v8 mean = add8(v, mul8(half, sub8(load8(a->v_end + i), v)));
    inside = add8(inside, mul8(mean, b)), outside = add8(outside, mul8(mean, load8(a->applied + i)));
    worst = larger8(worst, sub8(b, load8(a->tau + i)));
  }
  d->planar_loaded = false;
  store8(far, worst);
  double most = 0.0;
  for (int i = 0; i < 8; i++) most = far[i] > most ? far[i] : most;
  *out = (kn_audit){.inertia = total8(inside), .applied = total8(outside), .worst = most};
}
