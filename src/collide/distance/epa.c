/* Expanding polytope: the depth of the origin inside M = A - B.

   A polytope P inside M is kept with its faces; the face nearest to the origin, at distance d with normal n,
   gives d <= depth(M) <= h_M(n) = n.w,  w = support of M along n, and adding w to P closes the bracket. Only
   faces strictly in front of w are removed (1e-14 of the size), new faces must have an area (1e-13 relative),
   otherwise the run is refused and the caller searches the axes instead: a wrong answer is always detectable
   here, since h_M is a true bound. */
#include "collide/distance/gjk.h"

static const int next3[3] = {1, 2, 0};

static int new_face(kn_epa* e, int a, int b, int c) {
  if (e->free_count == 0 && e->faces == KN_EPA_FACES) return -1;
  int id = e->free_count ? e->free_list[--e->free_count] : e->faces++;
  kn_epa_face* f = &e->face[id];
  v3 p = e->p[a].w, u = v3_sub(e->p[b].w, p), v = v3_sub(e->p[c].w, p), n = v3_cross(u, v);
  double nn = v3_norm2(n);
  e->key[id] = INFINITY;
  if (!(nn > 1e-26 * v3_norm2(u) * v3_norm2(v))) return -1;
  f->v[0] = a, f->v[1] = b, f->v[2] = c;
  f->adj[0] = f->adj[1] = f->adj[2] = -1;
  f->n = v3_mul(n, 1 / sqrt(nn));
  f->d = v3_dot(f->n, p);
  e->key[id] = f->d;
  return id;
}

static void drop_face(kn_epa* e, int id) {
  e->key[id] = INFINITY;
  e->free_list[e->free_count++] = id;
}

static int edge_of(const kn_epa_face* f, int a) { return f->v[0] == a ? 0 : f->v[1] == a ? 1 : 2; }

/* Adds a vertex: removes the faces it sees and closes the hole with a fan. False when the geometry
 * degenerates. */
static bool expand(kn_epa* e, int seed, int vertex) {
  int stack[KN_EPA_FACES], top = 0, dead[KN_EPA_FACES], ndead = 0;
  struct {
    int a, b, face;
  } rim[KN_EPA_FACES];
  int nrim = 0;
  v3 w = e->p[vertex].w;
  stack[top++] = seed;
  e->key[seed] = -INFINITY; /* marks: seen and visible */
  while (top) {
    int id = stack[--top];
    dead[ndead++] = id;
    const kn_epa_face* f = &e->face[id];
    for (int i = 0; i < 3; i++) {
      int other = f->adj[i];
      if (e->key[other] == -INFINITY) continue;
      const kn_epa_face* g = &e->face[other];
      if (v3_dot(g->n, w) - g->d > e->eps) {
        e->key[other] = -INFINITY;
        stack[top++] = other;
      } else {
        rim[nrim].a = f->v[i], rim[nrim].b = f->v[next3[i]], rim[nrim].face = other, nrim++;
      }
    }
  }
  for (int i = 0; i < ndead; i++) drop_face(e, dead[i]);
  /* the rim must be one loop: each vertex starts exactly one edge */
  int made[KN_EPA_FACES], start_at[KN_EPA_VERTICES];
  for (int i = 0; i < nrim; i++) start_at[rim[i].a] = -1;
  for (int i = 0; i < nrim; i++) {
    if (start_at[rim[i].a] >= 0) return false;
    start_at[rim[i].a] = i;
    made[i] = new_face(e, rim[i].a, rim[i].b, vertex);
    if (made[i] < 0) return false;
  }
  for (int i = 0; i < nrim; i++) {
    kn_epa_face *f = &e->face[made[i]], *g = &e->face[rim[i].face];
    int j = start_at[rim[i].b];
    if (j < 0 || j >= nrim || rim[j].a != rim[i].b) return false;
    f->adj[0] = rim[i].face;
    g->adj[edge_of(g, rim[i].b)] = made[i];
    f->adj[1] = made[j];
    e->face[made[j]].adj[2] = made[i];
  }
  return nrim >= 3;
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
      kn_gjk_point p = kn_minkowski(A, B, trial(e, k));
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
  static const int v[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
  static const int adj[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  for (int i = 0; i < 4; i++) {
    if (new_face(e, v[i][0], v[i][1], v[i][2]) != i) return false;
    for (int k = 0; k < 3; k++) e->face[i].adj[k] = adj[i][k];
  }
  return true;
}

static int nearest_face(const kn_epa* e) {
  int best = 0;
  double d = e->key[0];
  for (int i = 1; i < e->faces; i++)
    if (e->key[i] < d) d = e->key[i], best = i;
  return best;
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

kn_epa_state kn_epa_run(kn_epa* e, kn_core_gap* out, double* lower, double* upper, const kn_core* A,
                        const kn_core* B, const kn_gjk* g, double tol) {
  e->vertices = e->faces = e->free_count = 0;
  e->eps = 1e-14 * g->size;
  for (int i = 0; i < g->count; i++) e->p[e->vertices++] = g->p[i];
  v3 flat;
  *lower = 0, *upper = INFINITY;
  if (!complete(e, A, B, g->size, &flat)) {
    kn_gjk_point p = kn_minkowski(A, B, flat);
    *out = (kn_core_gap){.gap = -v3_dot(flat, p.w), .n = v3_neg(flat), .a = p.a, .b = p.b};
    return KN_EPA_FLAT;
  }
  if (!tetrahedron(e)) return KN_EPA_REFUSED;
  for (;;) {
    int id = nearest_face(e);
    const kn_epa_face* f = &e->face[id];
    if (!(e->key[id] < INFINITY)) return KN_EPA_REFUSED;
    kn_gjk_point w = kn_minkowski(A, B, f->n);
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
