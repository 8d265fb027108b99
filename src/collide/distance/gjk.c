/* Gilbert-Johnson-Keerthi in double.

   M = A - B; v = nearest point of the current simplex to the origin, w = support of M along -v. Then
     lower = max v.w/|v| <= dist(0, M) <= |v|,
   a certificate at every iteration. The nearest point of a simplex is found from signed volumes (Montanari,
   Petrinic, Barbieri 2017): only faces whose volume has the wrong sign are looked at, and of these the
   nearest is kept, so rounding can pick a neighbour but never a far feature. For a triangle v is taken along
   the cross product of its edges, which keeps the normal exact when the shapes nearly touch. */
#include "collide/distance/gjk.h"

#include <string.h>

typedef struct nearest {
  double d2;
  v3 v;
  int n, id[4];
  double weight[4];
} nearest;

static void keep(nearest* best, const nearest* c) {
  if (c->d2 < best->d2) *best = *c;
}

static void near_point(nearest* best, const kn_gjk_point* p, int i) {
  nearest c = {v3_norm2(p[i].w), p[i].w, 1, {i}, {1}};
  keep(best, &c);
}

static void near_edge(nearest* best, const kn_gjk_point* p, int i, int j) {
  v3 a = p[i].w, e = v3_sub(p[j].w, a);
  double ee = v3_norm2(e), t = -v3_dot(a, e);
  if (!(t > 0)) return near_point(best, p, i);
  if (!(t < ee)) return near_point(best, p, j);
  t /= ee;
  v3 v = v3_axpy(a, t, e);
  v = v3_axpy(v, -v3_dot(v, e) / ee, e); /* near touching, v is a difference of near equals: clean it */
  nearest c = {v3_norm2(v), v, 2, {i, j}, {1 - t, t}};
  keep(best, &c);
}

static void near_triangle(nearest* best, const kn_gjk_point* p, int i, int j, int k) {
  v3 a = p[i].w, e = v3_sub(p[j].w, a), f = v3_sub(p[k].w, a), n = v3_cross(e, f);
  double nn = v3_norm2(n), lj = -1, lk = -1, li = -1;
  if (nn > 1e-28 * v3_norm2(e) * v3_norm2(f)) {
    lj = -v3_dot(n, v3_cross(a, f)) / nn;
    lk = -v3_dot(n, v3_cross(e, a)) / nn;
    li = 1 - lj - lk;
    if (li > 0 && lj > 0 && lk > 0) {
      double s = v3_dot(n, a);
      v3 v = v3_mul(n, s / nn);
      nearest c = {v3_norm2(v), v, 3, {i, j, k}, {li, lj, lk}};
      return keep(best, &c);
    }
  }
  if (!(li > 0)) near_edge(best, p, j, k);
  if (!(lj > 0)) near_edge(best, p, i, k);
  if (!(lk > 0)) near_edge(best, p, i, j);
}

/* Returns true when the origin is inside. */
static bool near_tetrahedron(nearest* best, const kn_gjk_point* p) {
  v3 a = p[0].w, e = v3_sub(p[1].w, a), f = v3_sub(p[2].w, a), g = v3_sub(p[3].w, a);
  v3 fg = v3_cross(f, g);
  double det = v3_dot(e, fg), scale = sqrt(v3_norm2(e) * v3_norm2(f) * v3_norm2(g));
  double l[4] = {-1, -1, -1, -1};
  if (fabs(det) > 1e-15 * scale) {
    l[1] = -v3_dot(a, fg) / det;
    l[2] = -v3_dot(e, v3_cross(a, g)) / det;
    l[3] = -v3_dot(e, v3_cross(f, a)) / det;
    l[0] = 1 - l[1] - l[2] - l[3];
    if (l[0] >= 0 && l[1] >= 0 && l[2] >= 0 && l[3] >= 0) return true;
  }
  if (l[0] < 0) near_triangle(best, p, 1, 2, 3);
  if (l[1] < 0) near_triangle(best, p, 0, 2, 3);
  if (l[2] < 0) near_triangle(best, p, 0, 1, 3);
  if (l[3] < 0) near_triangle(best, p, 0, 1, 2);
  return false;
}

/* The part of the simplex that holds the nearest point. False when the origin is inside. */
static bool look(nearest* best, const kn_gjk* g) {
  best->d2 = INFINITY;
  switch (g->count) {
  case 1: near_point(best, g->p, 0); break;
  case 2: near_edge(best, g->p, 0, 1); break;
  case 3: near_triangle(best, g->p, 0, 1, 2); break;
  default:
    if (near_tetrahedron(best, g->p)) return false;
  }
  if (!(best->d2 < INFINITY)) { /* not a number: something must be kept, the answer is refused later */
    v3 v = g->p[0].w;
    *best = (nearest){.d2 = v3_norm2(v), .v = v, .n = 1, .id = {0}, .weight = {1}};
  }
  return true;
}

static void keep_part(kn_gjk* g, const nearest* best) {
  for (int i = 0; i < best->n; i++) { /* ids ascend, so copying down is safe */
    if (best->id[i] != i) g->p[i] = g->p[best->id[i]];
    g->weight[i] = best->weight[i];
  }
  g->count = best->n;
  g->v = best->v;
  g->dist = sqrt(best->d2);
}

static bool reduce(kn_gjk* g) {
  nearest best;
  if (!look(&best, g)) return false;
  keep_part(g, &best);
  return true;
}

static bool known(const kn_gjk* g, const kn_gjk_point* p) {
  for (int i = 0; i < g->count; i++) {
    const kn_gjk_point* s = &g->p[i];
    if (p->ia >= 0 && p->ib >= 0 ? s->ia == p->ia && s->ib == p->ib
                                 : s->w.x == p->w.x && s->w.y == p->w.y && s->w.z == p->w.z)
      return true;
  }
  return false;
}

static void note_size(kn_gjk* g, v3 w) { g->size = kn_max(v3_max_abs(w), g->size); }

/* The first point(s): last frame's simplex, else the support along the last normal or the line of centres. */
static kn_gjk_state start(kn_gjk* g, const kn_core* A, const kn_core* B, double limit,
                          const kn_pair_cache* warm) {
  g->count = 0, g->size = 0, g->lower = g->along = -INFINITY, g->iterations = 0;
  int n = warm ? warm->simplex_count : 0;
  for (int i = 0; i < n && i < 4; i++) {
    int ia = warm->simplex[i][0], ib = warm->simplex[i][1];
    if (!kn_core_has(A, ia) || !kn_core_has(B, ib)) break;
    kn_gjk_point* p = &g->p[g->count++];
    p->ia = ia, p->ib = ib;
    p->a = kn_core_vertex(A, ia), p->b = kn_core_vertex(B, ib);
    p->w = v3_sub(p->a, p->b);
    note_size(g, p->w);
  }
  if (g->count > 0) {
    if (!reduce(g)) return KN_GJK_OVERLAP;
    return KN_GJK_APART;
  }
  v3 d = v3_sub(A->centre, B->centre);
  if (warm && (warm->normal[0] != 0 || warm->normal[1] != 0 || warm->normal[2] != 0)) d = v3_of(warm->normal);
  if (v3_unit(&d) == 0) d = (v3){1, 0, 0};
  g->p[0] = kn_minkowski(A, B, v3_neg(d));
  g->count = 1;
  note_size(g, g->p[0].w);
  g->lower = v3_dot(g->p[0].w, d);
  reduce(g);
  return g->lower > limit ? KN_GJK_BEYOND : KN_GJK_APART;
}

kn_gjk_state kn_gjk_run(kn_gjk* g, const kn_core* A, const kn_core* B, double limit, double rel,
                        const kn_pair_cache* warm) {
  kn_gjk_state s = start(g, A, B, limit, warm);
  if (s != KN_GJK_APART) return s;
  const int most = 128; /* polytopes need at most 16 or so, curved cores at rel 1e-10 about 60 */
  for (g->iterations = 1; g->iterations <= most; g->iterations++) {
    if (!(g->dist > 4e-16 * g->size)) return KN_GJK_OVERLAP;
    kn_gjk_point p = kn_minkowski(A, B, v3_neg(g->v));
    note_size(g, p.w);
    g->along = v3_dot(p.w, g->v) / g->dist;
    if (g->along > g->lower) g->lower = g->along;
    if (g->lower > limit) return KN_GJK_BEYOND;
    if (g->dist - g->along <= rel * g->dist + 1e-16 * g->size || known(g, &p)) return KN_GJK_APART;
    g->p[g->count++] = p;
    nearest best;
    if (!look(&best, g)) return KN_GJK_OVERLAP;
    if (!(best.d2 < g->dist * g->dist)) { /* rounding: the old simplex is as good as it gets */
      g->count--;
      return KN_GJK_APART;
    }
    keep_part(g, &best);
    g->along = -INFINITY;
  }
  return KN_GJK_APART;
}

void kn_gjk_save(kn_pair_cache* cache, const kn_gjk* g) {
  cache->simplex_count = g->count;
  for (int i = 0; i < g->count; i++) cache->simplex[i][0] = g->p[i].ia, cache->simplex[i][1] = g->p[i].ib;
}
