/* Two hulls that overlap by little. M = A - B; n points from B towards A, the depth along it is -min over M of n.w.

   1. V = a - b, the support of M along -n, for a first n (the last normal, or the line of centres); then n goes by
      as much as V lies aside, over the size, which is more than the radius of the surface: steps downhill.
   2. The edges of A at a and those of B at b, turned round, span the cone of M at V: M is inside V + cone, so that the cone's
      facets lie on faces of M. Gift wrapping finds them; the nearest to the origin is the answer, with
      depth d, if the foot of the origin is on it; where it is not, or 3 fails, V moves to the facet's corner nearest to the origin.
   3. The ends V + u of the edges on the cone's border are points of M, as is the support K along n. The facets and the
      triangles (end, next end, K) enclose the origin, and none being nearer than d, the ball of radius d is inside M:
      no other face is nearer.

   EPA proves the same with some ten searches, each with its own faces, because the origin is mostly near a vertex: then
   all faces around it are nearly as deep. What this does not prove is left to EPA. */
#include "collide/distance/gjk_hull.h"

enum { RAYS = 48, STEPS = 6 };

typedef struct cone {
  kn_gjk_point tip;
  int count, around; /* rays; of these on the border */
  v3 ray[RAYS];
  int border[RAYS]; /* in order */
  int least[2];     /* the facet nearest to the origin */
  v3 inward;        /* its normal, of any length */
  double depth2;    /* its distance, squared */
} cone;

static v3 vertex(const kn_hull* h, int i) { return (v3){h->x[i], h->y[i], h->z[i]}; }

static bool make_cone(cone* c, const kn_core* A, const kn_core* B, int ia, int ib) {
  const kn_hull *a = A->hull, *b = B->hull;
  const int *first_a = a->adj_start + ia, *first_b = b->adj_start + ib;
  int na = first_a[1] - first_a[0], nb = first_b[1] - first_b[0];
  if (na + nb > RAYS) return false;
  v3 at = vertex(a, ia), bt = vertex(b, ib);
  c->tip = (kn_gjk_point){.a = at, .b = v3_placed(&B->pose, bt), .ia = ia, .ib = ib};
  c->tip.w = v3_sub(c->tip.a, c->tip.b);
  c->count = na + nb;
  for (int i = 0; i < na; i++) c->ray[i] = v3_sub(vertex(a, a->adj[first_a[0] + i]), at);
  for (int i = 0; i < nb; i++)
    c->ray[na + i] = m3_mul(B->pose.R, v3_sub(bt, vertex(b, b->adj[first_b[0] + i])));
  return true;
}

/* The ray farthest from n is on the border. */
static int outermost(const cone* c, v3 n) {
  int best = 0;
  double low = INFINITY;
  for (int i = 0; i < c->count; i++) {
    double s = v3_dot(n, c->ray[i]), t = s * fabs(s) / v3_norm2(c->ray[i]);
    if (t < low) low = t, best = i;
  }
  return best;
}

/* The next ray of the border: the one that has all others on the inner side of the plane through both, m. */
static int next_ray(v3* m, const cone* c, int i) {
  int j = i == 0;
  *m = v3_cross(c->ray[i], c->ray[j]);
  for (int k = j + 1; k < c->count; k++) {
    if (k == i || !(v3_dot(*m, c->ray[k]) < 0)) continue;
    j = k, *m = v3_cross(c->ray[i], c->ray[k]);
  }
  return j;
}

static bool wrap(cone* c, v3 n) {
  int first = outermost(c, n), i = first;
  c->around = 0, c->depth2 = INFINITY;
  do {
    v3 m;
    int j = next_ray(&m, c, i);
    double mm = v3_norm2(m), s = -v3_dot(m, c->tip.w);
    if (c->around == c->count || !(s > 0) || !(mm > 1e-20 * v3_norm2(c->ray[i]) * v3_norm2(c->ray[j])))
      return false;
    if (s * s < c->depth2 * mm) c->depth2 = s * s / mm, c->least[0] = i, c->least[1] = j, c->inward = m;
    c->border[c->around++] = i;
    i = j;
  } while (i != first);
  return c->around >= 3 && c->depth2 < INFINITY;
}

/* Do the triangles between the ends of the border and the point w behind enclose the ball, too? */
static bool closed(const cone* c, v3 w) {
  for (int k = 0; k < c->around; k++) {
    int next = k + 1 == c->around ? 0 : k + 1;
    v3 p = v3_add(c->tip.w, c->ray[c->border[k]]), q = v3_add(c->tip.w, c->ray[c->border[next]]);
    v3 m = v3_cross(v3_sub(p, q), v3_sub(w, q));
    double s = -v3_dot(m, q);
    if (!(s > 0 && s * s >= c->depth2 * v3_norm2(m))) return false;
  }
  return true;
}

/* The end of a ray. */
static kn_gjk_point end_of(const cone* c, const kn_core* A, const kn_core* B, int ray) {
  const kn_hull *a = A->hull, *b = B->hull;
  int na = a->adj_start[c->tip.ia + 1] - a->adj_start[c->tip.ia];
  kn_gjk_point p = c->tip;
  if (ray < na)
    p.ia = a->adj[a->adj_start[p.ia] + ray], p.a = vertex(a, p.ia);
  else
    p.ib = b->adj[b->adj_start[p.ib] + ray - na], p.b = v3_placed(&B->pose, vertex(b, p.ib));
  p.w = v3_sub(p.a, p.b);
  return p;
}

/* The corner of the nearest facet closer to the origin than its tip; false when there is none. A facet of an edge of
   A and one of B has a fourth corner. */
static bool step(int* ia, int* ib, const kn_gjk_point* p) {
  double near = v3_norm2(p[0].w);
  bool moved = false;
  for (int i = 1; i < 3; i++)
    if (v3_norm2(p[i].w) < near) near = v3_norm2(p[i].w), *ia = p[i].ia, *ib = p[i].ib, moved = true;
  if ((p[1].ia == p[0].ia) == (p[2].ia == p[0].ia)) return moved;
  v3 w = v3_add(p[1].w, v3_sub(p[2].w, p[0].w));
  if (!(v3_norm2(w) < near)) return moved;
  *ia = p[p[1].ia == p[0].ia ? 2 : 1].ia, *ib = p[p[1].ia == p[0].ia ? 1 : 2].ib;
  return true;
}

/* The vertex at which to look: a support along a normal n close to that of the answer. */
static bool begin(int* ia, int* ib, v3* n, const kn_core* A, const kn_core* B, const kn_pair_cache* cache) {
  double size = A->extent + B->extent;
  bool warm = cache->simplex_count > 0;
  v3 next = warm ? v3_of(cache->normal) : v3_sub(A->centre, B->centre);
  kn_gjk_point p = {.ia = warm ? cache->simplex[0][0] : -1, .ib = warm ? cache->simplex[0][1] : -1};
  *ia = *ib = -1;
  for (int k = 0; k < 4; k++) {
    *n = next;
    v3_unit(n);
    p = kn_minkowski_near(A, B, v3_neg(*n), &p);
    double gap = v3_dot(*n, p.w);
    if (!(gap <= 0 && gap > -0.1 * size)) return false;
    if (p.ia == *ia && p.ib == *ib) return true;
    *ia = p.ia, *ib = p.ib;
    next = v3_axpy(p.w, size - gap, *n);
  }
  return true;
}

bool kn_hulls_shallow(kn_core_gap* out, const kn_core* A, const kn_core* B, kn_pair_cache* cache) {
  int ia, ib;
  v3 n;
  if (!begin(&ia, &ib, &n, A, B, cache)) return false;
  for (int k = 0; k < STEPS; k++) {
    cone c;
    if (!make_cone(&c, A, B, ia, ib) || !wrap(&c, n)) return false;
    kn_gjk_point p[4] = {c.tip, end_of(&c, A, B, c.least[0]), end_of(&c, A, B, c.least[1])};
    n = c.inward;
    bool found = kn_on_surface(out, p, A, B, n, -INFINITY);
    if (found) p[3] = kn_minkowski(A, B, out->n);
    if (!found || !closed(&c, p[3].w)) {
      if (!step(&ia, &ib, p)) return false;
      continue;
    }
    cache->simplex_count = 4;
    for (int i = 0; i < 4; i++) cache->simplex[i][0] = p[i].ia, cache->simplex[i][1] = p[i].ib;
    return true;
  }
  return false;
}
