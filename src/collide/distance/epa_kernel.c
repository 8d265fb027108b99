/* Expanding polytope: the depth of the origin inside M = A - B.

   A polytope P inside M is kept with its faces; the face nearest to the origin, at distance d with normal n,
   gives d <= depth(M) <= h_M(n) = n.w,  w = support of M along n, and adding w to P closes the bracket. Only
   faces strictly in front of w are removed (1e-14 of the size), new faces must have an area (1e-13 relative),
   otherwise the run is refused and the caller searches the axes instead: a wrong answer is always detectable
   here, since h_M is a true bound. Planes of new faces are computed KN_W at a time. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/distance/epa.h"
#include "collide/distance/support_hull.h"

static const int next3[3] = {1, 2, 0};

static kn_gjk_point support(const kn_core* A, const kn_core* B, v3 d) {
  return two_hulls(A, B) ? support_of(A, B, d, NULL, true) : support_of(A, B, d, NULL, false);
}

/* An edge a b over which there will be a new face. */
typedef struct side {
  int a, b;
  int back; /* the face beyond, and which of its edges it is */
  int made; /* the new face */
} side;
enum { SIDE = sizeof(side) / sizeof(int) };

/* Where a face is across an edge, in one number; edges are 0 to 2. */
static int joint(int face, int edge) { return face << 2 | edge; }

/* x, y, z of KN_W points, and the other way round; step: between their numbers. */
typedef struct trio {
  vec x, y, z;
} trio;

#if KN_W == 4
#define LOW(a, b)    __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define HIGH(a, b)   __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define FIRST(a, b)  __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
LANES trio gathered(const kn_epa* e, const int* id, int step) {
  row p = row_at(&e->p[id[0]].w.x), q = row_at(&e->p[id[step]].w.x), r = row_at(&e->p[id[2 * step]].w.x),
      s = row_at(&e->p[id[3 * step]].w.x);
  row pq = LOW(p, q), rs = LOW(r, s);
  return (trio){FIRST(pq, rs), FIRST(HIGH(p, q), HIGH(r, s)), SECOND(pq, rs)};
}
LANES void scatter(kn_epa* e, const int* face, int step, trio n, vec d, int count) {
  row pq = LOW(n.x, n.y), rs = HIGH(n.x, n.y), tu = LOW(n.z, d), vw = HIGH(n.z, d);
  row out[4] = {FIRST(pq, tu), FIRST(rs, vw), SECOND(pq, tu), SECOND(rs, vw)};
  UNROLL for (int i = 0; i < 4; i++) if (i < count) * (loose4*)&e->face[face[i * step]].n.x = out[i],
                                                                                 e->key[face[i * step]] =
                                                                                     d[i];
}
#else
LANES trio gathered(const kn_epa* e, const int* id, int step) {
  v3 p = e->p[id[0]].w, q = e->p[id[step]].w;
  return (trio){{p.x, q.x}, {p.y, q.y}, {p.z, q.z}};
}
LANES void scatter(kn_epa* e, const int* face, int step, trio n, vec d, int count) {
  for (int i = 0; i < count; i++) {
    kn_epa_face* f = &e->face[face[i * step]];
    f->n = (v3){n.x[i], n.y[i], n.z[i]};
    f->d = e->key[face[i * step]] = d[i];
  }
}
#endif
LANES trio minus(trio a, trio b) { return (trio){a.x - b.x, a.y - b.y, a.z - b.z}; }
LANES vec dot(trio a, trio b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/* Planes of count <= KN_W faces p, p + u, p + v; false when one has no area. */
LANES bool planes(kn_epa* e, const int* face, int step, trio p, trio u, trio v, int count) {
  trio n = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
  vec nn = dot(n, n), per = splat(1) / root(nn);
  unsigned all = (1u << count) - 1;
  if ((bits_of(nn > splat(1e-26) * dot(u, u) * dot(v, v)) & all) != all) return false;
  n = (trio){n.x * per, n.y * per, n.z * per};
  scatter(e, face, step, n, dot(n, p), count);
  return true;
}

/* Number of a new face, a dropped one's first. There is room. */
LANES int take_face(kn_epa* e) {
  if (e->free_count) return e->free_list[--e->free_count];
  if (e->faces % KN_EPA_GROUP == 0) /* nearest_face looks at whole groups */
    for (int k = 0; k < KN_EPA_GROUP; k++) e->key[e->faces + k] = INFINITY;
  return e->faces++;
}

/* The faces that the point w sees, from one of them on, are dropped. Returns how many sides the hole has. */
LANES int open_hole(kn_epa* e, side* rim, int seed, v3 w) {
  int stack[KN_EPA_FACES], dead[KN_EPA_FACES], top = 0, ndead = 0;
  side* s = rim;
  stack[top++] = seed;
  e->key[seed] = -INFINITY; /* marks: seen and visible */
  while (top) {
    int id = stack[--top];
    dead[ndead++] = id;
    const kn_epa_face* f = &e->face[id];
    UNROLL for (int i = 0; i < 3; i++) {
      int back = f->adj[i], other = back >> 2;
      if (e->key[other] == -INFINITY) continue;
      const kn_epa_face* g = &e->face[other];
      if (v3_dot(g->n, w) - g->d > e->eps) {
        e->key[other] = -INFINITY;
        stack[top++] = other;
      } else {
        s->a = f->v[i], s->b = f->v[next3[i]], s->back = back, s++;
      }
    }
  }
  for (int i = 0; i < ndead; i++) e->key[dead[i]] = INFINITY, e->free_list[e->free_count++] = dead[i];
  return (int)(s - rim);
}

/* Adds a vertex: removes the faces it sees and closes the hole with a fan. False when the geometry
 * degenerates. */
static bool expand(kn_epa* e, int seed, int vertex) {
  side rim[KN_EPA_FACES + KN_W];
  int start_at[KN_EPA_VERTICES];
  v3 w = e->p[vertex].w;
  int n = open_hole(e, rim, seed, w);
  if (KN_EPA_FACES - e->faces + e->free_count < n) return false;
  for (int i = 0; i < n; i++) {
    side* s = &rim[i];
    kn_epa_face* f = &e->face[s->made = take_face(e)];
    f->v[0] = s->a, f->v[1] = s->b, f->v[2] = vertex;
    f->adj[0] = s->back, f->adj[2] = -1;
    e->face[s->back >> 2].adj[s->back & 3] = joint(s->made, 0);
    start_at[s->a] = s->made;
  }
  trio tip = {splat(w.x), splat(w.y), splat(w.z)};
  UNROLL for (int k = 0; k < KN_W; k++) rim[n + k] = rim[0]; /* planes are made in groups */
  for (int i = 0; i < n; i += KN_W) {
    trio p = gathered(e, &rim[i].a, SIDE), q = gathered(e, &rim[i].b, SIDE);
    if (!planes(e, &rim[i].made, SIDE, p, minus(q, p), minus(tip, p), n - i < KN_W ? n - i : KN_W))
      return false;
  }
  /* the rim must be one loop: each vertex starts exactly one edge, as each ends one */
  for (int i = 0; i < n; i++) {
    int made = rim[i].made, next = start_at[rim[i].b];
    if (e->face[next].adj[2] >= 0) return false;
    e->face[made].adj[1] = joint(next, 2);
    e->face[next].adj[2] = joint(made, 1);
  }
  return n >= 3;
}

/* A direction in which the points so far have no extent, tried in turn. */
static v3 trial(const kn_epa* e, int k) {
  if (e->vertices == 1) return v3_axis(k / 2, k % 2 ? -1 : 1);
  v3 u = v3_sub(e->p[1].w, e->p[0].w);
  if (e->vertices == 2) {
    v3_unit(&u);
    v3 a = v3_perp(u), b = v3_cross(u, a);
    static const double c[6] = {1, 0.5, -0.5, -1, -0.5, 0.5},
                        s[6] = {0, 0.8660254037844386,  0.8660254037844386,
                                0, -0.8660254037844386, -0.8660254037844386};
    return v3_add(v3_mul(a, c[k]), v3_mul(b, s[k]));
  }
  v3 n = v3_cross(u, v3_sub(e->p[2].w, e->p[0].w));
  v3_unit(&n);
  return k ? v3_neg(n) : n;
}

/* How much a point adds to the extent: distance from the point, line or plane of the points so far. */
static double gain(const kn_epa* e, v3 w) {
  v3 d = v3_sub(w, e->p[0].w);
  if (e->vertices == 1) return v3_norm(d);
  v3 u = v3_sub(e->p[1].w, e->p[0].w);
  v3_unit(&u);
  if (e->vertices == 2) return v3_norm(v3_cross(u, d));
  v3 n = v3_cross(u, v3_sub(e->p[2].w, e->p[0].w));
  v3_unit(&n);
  return fabs(v3_dot(n, d));
}

/* Completes a simplex that has the origin on it to a tetrahedron. Returns false when M is flat: *flat is its
 * normal. */
static bool complete(kn_epa* e, const kn_core* A, const kn_core* B, double size, v3* flat) {
  while (e->vertices < 4) {
    int tries = e->vertices == 3 ? 2 : 6;
    kn_gjk_point best = e->p[0];
    double most = 0;
    for (int k = 0; k < tries; k++) {
      kn_gjk_point p = support(A, B, trial(e, k));
      double g = gain(e, p.w);
      if (g > most) most = g, best = p;
    }
    if (!(most > 1e-13 * size)) {
      *flat = trial(e, 0);
      return false;
    }
    e->p[e->vertices++] = best;
  }
  return true;
}

static bool tetrahedron(kn_epa* e) {
  v3 a = e->p[0].w, n = v3_cross(v3_sub(e->p[1].w, a), v3_sub(e->p[2].w, a));
  if (v3_dot(n, v3_sub(e->p[3].w, a)) > 0) { /* the fourth point must be behind face 0 1 2 */
    kn_gjk_point t = e->p[0];
    e->p[0] = e->p[1], e->p[1] = t;
  }
  static const int v[3][4] = {{0, 0, 1, 2}, {1, 3, 3, 3}, {2, 1, 2, 0}};
  static const int adj[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  static const int edge[4][3] = {{2, 2, 2}, {1, 0, 0}, {1, 0, 1}, {1, 0, 2}};
  static const int face[4] = {0, 1, 2, 3};
  for (int i = 0; i < 4; i++) take_face(e); /* 0 to 3: there are none yet */
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) e->face[i].v[k] = v[k][i], e->face[i].adj[k] = joint(adj[i][k], edge[i][k]);
  for (int i = 0; i < 4; i += KN_W) {
    trio p = gathered(e, v[0] + i, 1), q = gathered(e, v[1] + i, 1), r = gathered(e, v[2] + i, 1);
    if (!planes(e, face + i, 1, p, minus(q, p), minus(r, p), KN_W)) return false;
  }
  return true;
}

/* The first of the smallest keys. */
static int nearest_face(const kn_epa* e) {
  enum { HALF = KN_EPA_GROUP / 2 };
  _Static_assert(HALF % KN_W == 0, "two running minima");
  vec best[2] = {load(e->key), load(e->key + KN_W)};
  ivec at[2] = {{0}, {0}}, block = {0};
  for (int i = 2 * KN_W; i < e->faces; i += 2 * KN_W) {
    block += 2 * KN_W;
    UNROLL for (int k = 0; k < 2; k++) {
      vec s = load(e->key + i + k * KN_W);
      ivec m = s < best[k];
      best[k] = choose(m, s, best[k]), at[k] = (ivec)choose(m, (vec)block, (vec)at[k]);
    }
  }
  vec low = smaller(best[0], best[1]);
  low = smaller(low, FOLD_A(low));
  low = smaller(low, FOLD_B(low));
  unsigned mask = bits_of(best[0] == low) | bits_of(best[1] == low) << KN_W;
  const int64_t* of = (const int64_t*)at;
  int id = 0;
  for (bool first = true; mask; mask &= mask - 1, first = false) {
    int lane = __builtin_ctz(mask), k = (int)of[lane] + lane;
    id = first || k < id ? k : id;
  }
  return id;
}

/* Barycentric coordinates of the point of a face plane nearest to the origin; returns the smallest one. */
static double foot(double l[3], const kn_epa* e, const kn_epa_face* f) {
  v3 p = e->p[f->v[0]].w, u = v3_sub(e->p[f->v[1]].w, p), v = v3_sub(e->p[f->v[2]].w, p), n = v3_cross(u, v);
  v3 o = v3_sub(v3_mul(f->n, f->d), p);
  double nn = v3_norm2(n);
  l[1] = v3_dot(n, v3_cross(o, v)) / nn, l[2] = v3_dot(n, v3_cross(u, o)) / nn, l[0] = 1 - l[1] - l[2];
  return kn_min(kn_min(l[2], l[1]), l[0]);
}

/* The ball of radius d is inside P, so its touching point lies on one of the faces of this plane: flat faces
   of M come as several triangles, and the foot may be on another one than the first found. */
static void answer(kn_core_gap* out, const kn_epa* e, const kn_epa_face* f) {
  double l[3], k[3], inside = foot(l, e, f), level = f->d + 1e3 * e->eps;
  const kn_epa_face* at = f;
  for (int i = 0; i < e->faces && inside < 0; i++) {
    if (!(e->key[i] <= level) || v3_dot(e->face[i].n, f->n) < 0.999999) continue;
    double t = foot(k, e, &e->face[i]);
    if (t > inside) inside = t, at = &e->face[i], l[0] = k[0], l[1] = k[1], l[2] = k[2];
  }
  double sum = 0;
  for (int i = 0; i < 3; i++) l[i] = l[i] < 0 ? 0 : l[i], sum += l[i];
  const kn_gjk_point *p = &e->p[at->v[0]], *q = &e->p[at->v[1]], *r = &e->p[at->v[2]];
  for (int i = 0; i < 3; i++) l[i] /= sum;
  out->n = v3_neg(f->n);
  out->gap = -f->d;
  out->a = v3_add(v3_axpy(v3_mul(p->a, l[0]), l[1], q->a), v3_mul(r->a, l[2]));
  out->b = v3_add(v3_axpy(v3_mul(p->b, l[0]), l[1], q->b), v3_mul(r->b, l[2]));
  out->fa = out->fb = 0;
}

static bool on_face(const kn_epa* e, const kn_epa_face* f, const kn_gjk_point* w) {
  if (w->ia < 0 || w->ib < 0) return false;
  for (int i = 0; i < 3; i++)
    if (e->p[f->v[i]].ia == w->ia && e->p[f->v[i]].ib == w->ib) return true;
  return false;
}

kn_epa_state KN_NAME(kn_epa_expand)(kn_epa* e, kn_core_gap* out, double* lower, double* upper,
                                    const kn_core* A, const kn_core* B, const kn_gjk* g, double tol) {
  e->vertices = e->faces = e->free_count = 0;
  e->eps = 1e-14 * g->size;
  for (int i = 0; i < g->count; i++) e->p[e->vertices++] = g->p[i];
  v3 flat;
  *lower = 0, *upper = INFINITY;
  if (!complete(e, A, B, g->size, &flat)) {
    kn_gjk_point p = support(A, B, flat);
    *out = (kn_core_gap){.gap = -v3_dot(flat, p.w), .n = v3_neg(flat), .a = p.a, .b = p.b};
    return KN_EPA_FLAT;
  }
  if (!tetrahedron(e)) return KN_EPA_REFUSED;
  for (;;) {
    int id = nearest_face(e);
    const kn_epa_face* f = &e->face[id];
    if (!(e->key[id] < INFINITY)) return KN_EPA_REFUSED;
    kn_gjk_point w = support(A, B, f->n);
    double h = v3_dot(f->n, w.w);
    *lower = f->d;
    *upper = kn_min(h, *upper);
    double enough = tol < 0 ? -tol * h + 1e-9 * g->size : tol;
    if (h - f->d <= enough || on_face(e, f, &w)) {
      answer(out, e, f);
      return h - f->d <= 10 * enough ? KN_EPA_DONE : KN_EPA_REFUSED;
    }
    if (e->vertices == KN_EPA_VERTICES || e->faces - e->free_count + 2 > KN_EPA_FACES - 8) {
      answer(out, e, f);
      return KN_EPA_FULL;
    }
    e->p[e->vertices] = w;
    if (!expand(e, id, e->vertices++)) return KN_EPA_REFUSED;
  }
}
