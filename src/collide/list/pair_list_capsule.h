/* Two capsules in five passes over a few blocks, so that the divisions and roots of one block run beside
   those of the others: a block has more operations than the processor looks ahead, a pass has fewer. The
   numbers are those of kn_segment_segment and kn_manifold_capsule_capsule; lines that are near parallel and
   cores that nearly touch are left to the pair function. */

typedef struct rods {     /* of one block */
  vec3 p0, u, v, m, base; /* A's line p0 + s u, B's q0 + t v relative to B's centre, m = u x v, the centre */
  vec uu, vv, uv, wu, wv, mm; /* products; w = q0 - p0 */
  vec s, t, half;             /* half: of both lengths */
  ivec near, odd;
  vec3 a, n, w; /* nearest point of A's line; direction, not yet of length 1 */
  vec dd, nn;   /* square of the distance where it is not square to both lines; n.n */
  vec len, per; /* |n|, 1 / |n| */
  ivec inner, key;
} rods;

LANES vec3 first_end(vec3 v) { return mul3(v, splat(-0.5)); } /* of B; v is twice its half, exactly */

LANES void lay_rods(rods* o, const block* q) {
  vec ra = q->a0, rb = q->b0, l = q->b1;
  vec3 d = sub3(q->A.p, q->B.p), half = mul3(column(&q->A, 2), q->a1), p0 = sub3(d, half), p1 = add3(d, half);
  vec3 ub = mul3(column(&q->B, 2), l), q0 = neg3(ub);
  vec reach = q->a1 + l + ra + rb + q->margin;
  vec3 u = sub3(p1, p0), v = sub3(ub, q0), w = sub3(q0, p0), m = cross3(u, v);
  vec uu = dot3(u, u), vv = dot3(v, v), mm = dot3(m, m);
  o->near = dot3(d, d) <= reach * reach;
  o->odd = ~(mm > KN_STEEP * uu * vv) | ~(mm < 1e120);
  o->p0 = p0, o->u = u, o->v = v, o->m = m, o->base = q->B.p, o->uu = uu, o->vv = vv, o->mm = mm;
  o->uv = dot3(u, v), o->wu = dot3(w, u), o->wv = dot3(w, v), o->half = q->a1 + l;
}

LANES void meet_rods(rods* o) {
  vec zero = {0}, one = zero + 1, uv = o->uv, wu = o->wu, wv = o->wv;
  vec per = 1 / o->mm, per_u = 1 / o->uu, per_v = 1 / o->vv;
  vec s = between((wu * o->vv - wv * uv) * per, zero, one);
  vec t = (s * uv - wv) * per_v;
  ivec beyond = (t < 0) | (t > 1);
  vec t_end = between(t, zero, one);
  vec s_end = between((t_end * uv + wu) * per_u, zero, one);
  vec t_in = between((wu * uv - wv * o->uu) * per, zero, one);
  o->t = choose(beyond, t_end, choose((s > 0) & (s < 1), t_in, t));
  o->s = choose(beyond, s_end, s);
}

LANES void aim_rods(rods* o) {
  vec s = o->s, t = o->t;
  vec3 q0 = first_end(o->v), a = axpy3(o->p0, s, o->u), b = axpy3(q0, t, o->v), n = sub3(a, b);
  ivec s_lo = s <= 0, s_hi = ~s_lo & (s >= 1), t_lo = t <= 0, t_hi = ~t_lo & (t >= 1);
  ivec fa = (s_hi & 1) | (~(s_lo | s_hi) & 2), fb = (t_hi & 1) | (~(t_lo | t_hi) & 2);
  ivec inner = ~(s_lo | s_hi | t_lo | t_hi);
  o->a = a, o->w = sub3(q0, o->p0), o->dd = dot3(n, n), o->nn = choose(inner, o->mm, o->dd);
  o->n = choose3(inner, o->m, n), o->inner = inner, o->key = (fa + 8) << 32 | (fb + 8);
}

LANES void measure_rods(rods* o) { o->len = root(o->nn), o->per = 1 / o->len; }

/* Returns the lanes that need the pair function. */
LANES ivec touch_rods(points* c, const rods* o, vec ra, vec rb, vec margin) {
  vec3 n = mul3(o->n, o->per), w = o->w;
  ivec inner = o->inner;
  vec len = o->len, across = negative(dot3(n, w));
  ivec turned = inner & (across < 0);
  n = choose3(turned, neg3(n), n);
  vec core = choose(inner, choose(turned, negative(across), across), len), gap = core - ra - rb;
  vec scale = larger(absolute(w.x), larger(absolute(w.y), absolute(w.z))) + 2.002 * o->half;
  ivec odd = o->odd | (~inner & ~((o->dd > 1e-200) & (len > 1.001e-3 * scale))) | ~(core < LARGEST);
  from_a(c, o->near & (gap <= margin), o->key, n, gap, axpy3(o->a, negative(ra), n));
  c->a = add3(c->a, o->base), c->b = add3(c->b, o->base);
  return odd & o->near;
}

enum { TOGETHER = 16 / KN_W }; /* blocks; what is kept of them must leave room in the first cache */

LANES void fill_together(chunk* k, const kn_list_run* run, int first, int start, int blocks, bool flip) {
  const kn_pair_list* l = run->list;
  rods r[TOGETHER];
  for (int b = 0; b < blocks; b++) {
    int i = start + b * KN_W;
    block q = {.A = load_poses(run->pose, l->at_a + i),
               .B = load_poses(run->pose, l->at_b + i),
               .a0 = load(l->a0 + i),
               .a1 = load(l->a1 + i),
               .b0 = load(l->b0 + i),
               .b1 = load(l->b1 + i),
               .margin = load(l->margin + i)};
    lay_rods(&r[b], &q);
  }
  for (int b = 0; b < blocks; b++) meet_rods(&r[b]);
  for (int b = 0; b < blocks; b++) aim_rods(&r[b]);
  for (int b = 0; b < blocks; b++) measure_rods(&r[b]);
  for (int b = 0; b < blocks; b++) {
    int i = start + b * KN_W;
    points c;
    vec ra = load(l->a0 + i), rb = load(l->b0 + i), margin = load(l->margin + i);
    k->special[first + b] = bits_of(touch_rods(&c, &r[b], ra, rb, margin));
    put(k, first + b, &c, 1, flip);
  }
}

LANES void fill_capsule_capsule(chunk* k, const kn_list_run* run, int start, int blocks, bool flip) {
  for (int b = 0; b < blocks; b += TOGETHER)
    fill_together(k, run, b, start + b * KN_W, blocks - b < TOGETHER ? blocks - b : TOGETHER, flip);
}
