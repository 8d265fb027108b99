/* Spheres against boxes and cylinders in passes over a few blocks, as pair_list_capsule.h: roots and
   divisions of several blocks run side by side. A pass leaves the direction n from B to the sphere's centre,
   in B's frame and not of length 1, for the next. */

typedef struct ball { /* of one block */
  poses B;
  vec3 centre, p, n; /* centre: of the sphere, world; p: in B's frame */
  vec nn;            /* n.n */
  vec len, per;      /* root, 1 / root */
  vec core;          /* signed distance of the centre where `known` */
  ivec known, key, near, odd;
} ball;

LANES void measure_ball(ball* o) { o->len = root(o->nn), o->per = 1 / o->len; }
LANES ivec out_of_range(vec nn) { return ~((nn > 1e-200) & (nn < 1e200)); }

LANES void lay_ball(ball* o, const kn_list_run* run, int i) {
  const kn_pair_list* l = run->list;
  poses A = load_poses(run->pose, l->at_a + i);
  o->B = load_poses(run->pose, l->at_b + i);
  o->centre = A.p, o->p = turn_back(&o->B, sub3(A.p, o->B.p));
}

LANES void aim_box(ball* o, const kn_list_run* run, int i) {
  const kn_pair_list* l = run->list;
  vec b0 = load(l->b0 + i), b1 = load(l->b1 + i), b2 = load(l->b2 + i), zero = {0}, one = zero + 1;
  lay_ball(o, run, i);
  vec3 p = o->p, a = {absolute(p.x), absolute(p.y), absolute(p.z)};
  vec reach = load(l->a0 + i) + load(l->margin + i);
  o->near = (a.x <= b0 + reach) & (a.y <= b1 + reach) & (a.z <= b2 + reach);
  vec3 n = {p.x - between(p.x, negative(b0), b0), p.y - between(p.y, negative(b1), b1),
            p.z - between(p.z, negative(b2), b2)};
  ivec code = 13 + ((p.x > b0) & 1) - ((p.x < -b0) & 1) + ((p.y > b1) & 3) - ((p.y < -b1) & 3) +
              ((p.z > b2) & 9) - ((p.z < -b2) & 9);
  vec nn = dot3(n, n), core = zero;
  ivec inside = nn == 0;
  if (bits_of(inside)) {
    vec dx = b0 - a.x, dy = b1 - a.y, dz = b2 - a.z, depth = smaller(dy, dx);
    ivec y = dy < dx, z = dz < depth;
    depth = choose(z, dz, depth), y &= ~z;
    ivec x = ~(y | z), minus = choose(x, p.x, choose(y, p.y, p.z)) < 0;
    vec sign = choose(minus, -one, one);
    vec3 axis = {choose(x, sign, zero), choose(y, sign, zero), choose(z, sign, zero)};
    ivec weight = (x & 1) | (y & 3) | (z & 9);
    n = choose3(inside, axis, n), core = negative(depth);
    code = (inside & (13 + ((weight & ~minus) - (weight & minus)))) | (~inside & code);
  }
  o->n = n, o->nn = nn, o->core = core, o->known = inside, o->key = code, o->odd = out_of_range(nn) & ~inside;
}

LANES void aim_axis(ball* o, const kn_list_run* run, int i) {
  lay_ball(o, run, i);
  o->nn = o->p.x * o->p.x + o->p.y * o->p.y + (vec){0};
}

/* len and per: of the way from the cylinder's axis */
LANES void aim_cylinder(ball* o, const kn_list_run* run, int i) {
  const kn_pair_list* l = run->list;
  vec3 p = o->p;
  vec r = load(l->b0 + i), h = load(l->b1 + i), zero = {0}, one = zero + 1, rho = o->len;
  vec3 e = {p.x * o->per, p.y * o->per, zero};
  vec z = between(p.z, negative(h), h), sign = choose(p.z < 0, -one, one);
  vec side = r - rho, cap = h - absolute(p.z);
  ivec level = z == p.z, within = rho <= r, rim = ~level & ~within,
       flat = (within & ~level) | (within & level & (cap < side)), odd = out_of_range(o->nn);
  vec3 n = {(rho - r) * e.x, (rho - r) * e.y, p.z - z};
  o->nn = dot3(n, n);
  o->odd = odd | (rim & out_of_range(o->nn)), o->known = ~rim, o->near = ~(ivec){0};
  o->n = choose3(rim, n, choose3(flat, (vec3){zero, zero, sign}, e));
  o->core = negative(choose(flat, cap, side));
  o->key = (((ivec){0} + 3 - (p.z > 0)) & rim) | ((1 - (sign > 0)) & flat);
}

/* Returns the lanes that need the pair function. */
LANES ivec touch_ball(points* c, const ball* o, vec ra, vec margin) {
  vec one = (vec){0} + 1, core = choose(o->known, o->core, o->len), gap = core - ra;
  vec3 n = turn(&o->B, mul3(o->n, choose(o->known, one, o->per)));
  from_a(c, o->near & (gap <= margin), o->key, n, gap, axpy3(o->centre, negative(ra), n));
  return o->odd | ~(absolute(gap) < LARGEST);
}

LANES void fill_balls(chunk* k, const kn_list_run* run, int start, int blocks, bool flip, bool cylinder) {
  const kn_pair_list* l = run->list;
  for (int first = 0; first < blocks; first += TOGETHER) {
    int count = blocks - first < TOGETHER ? blocks - first : TOGETHER, from = start + first * KN_W;
    ball o[TOGETHER];
    if (cylinder) {
      for (int b = 0; b < count; b++) aim_axis(&o[b], run, from + b * KN_W);
      for (int b = 0; b < count; b++) measure_ball(&o[b]);
      for (int b = 0; b < count; b++) aim_cylinder(&o[b], run, from + b * KN_W);
    } else {
      for (int b = 0; b < count; b++) aim_box(&o[b], run, from + b * KN_W);
    }
    for (int b = 0; b < count; b++) measure_ball(&o[b]);
    for (int b = 0; b < count; b++) {
      int i = from + b * KN_W;
      points c;
      k->special[first + b] = bits_of(touch_ball(&c, &o[b], load(l->a0 + i), load(l->margin + i)));
      put(k, first + b, &c, 1, flip);
    }
  }
}

LANES void fill_sphere_box(chunk* k, const kn_list_run* run, int start, int blocks, bool flip) {
  fill_balls(k, run, start, blocks, flip, false);
}
LANES void fill_sphere_cylinder(chunk* k, const kn_list_run* run, int start, int blocks, bool flip) {
  fill_balls(k, run, start, blocks, flip, true);
}
