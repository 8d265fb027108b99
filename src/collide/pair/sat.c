/* Exhaustive separating-axis search for polytopes: every face normal of both, and every pair of edges whose
   arcs on the Gauss map may cross (Gregorius, GDC 2013). Used where EPA refuses, and by the tests as an
   oracle. Also the faces and edges of polytope cores. */
#include "collide/distance/gjk.h"

static v3 turn(const kn_core* c, v3 n) { return c->moved ? m3_mul(c->pose.R, n) : n; }

int kn_core_face_count(const kn_core* c) {
  if (c->type == KN_CORE_BOX) return 6;
  if (c->type == KN_CORE_HULL) return c->hull->nf;
  return c->count == 3 ? 2 : 0;
}

static int edge_count(const kn_core* c) {
  if (c->type == KN_CORE_BOX) return 12;
  if (c->type == KN_CORE_HULL) return c->hull->ne;
  return c->count == 3 ? 3 : c->count == 2 ? 1 : 0;
}

static v3 triangle_normal(const kn_core* c) {
  v3 n = v3_cross(v3_sub(c->v[1], c->v[0]), v3_sub(c->v[2], c->v[0]));
  v3_unit(&n);
  return n;
}

v3 kn_core_face_normal(const kn_core* c, int face) {
  if (c->type == KN_CORE_BOX) return turn(c, v3_axis(face / 2, face % 2 ? 1 : -1));
  if (c->type == KN_CORE_HULL) return turn(c, v3_of(c->hull->plane + 4 * face));
  v3 n = triangle_normal(c);
  return face ? n : v3_neg(n);
}

/* Box edge 4 k + s: along axis k, signs of the other two axes in the bits of s. */
static void box_edge(const kn_core* c, int edge, v3 end[2], v3 normal[2]) {
  int k = edge / 4, i = (k + 1) % 3, j = (k + 2) % 3, si = edge & 1, sj = edge >> 1 & 1;
  int base = si << i | sj << j;
  end[0] = kn_core_vertex(c, base), end[1] = kn_core_vertex(c, base | 1 << k);
  normal[0] = turn(c, v3_axis(i, si ? 1 : -1)), normal[1] = turn(c, v3_axis(j, sj ? 1 : -1));
}

static void edge_of(const kn_core* c, int edge, v3 end[2], v3 normal[2]) {
  if (c->type == KN_CORE_BOX) return box_edge(c, edge, end, normal);
  if (c->type == KN_CORE_HULL) {
    const int32_t* e = c->hull->edge + 4 * edge;
    end[0] = kn_core_vertex(c, e[0]), end[1] = kn_core_vertex(c, e[1]);
    normal[0] = kn_core_face_normal(c, e[2]), normal[1] = kn_core_face_normal(c, e[3]);
    return;
  }
  end[0] = c->v[edge], end[1] = c->v[(edge + 1) % c->count];
  normal[0] = normal[1] = (v3){0, 0, 0}; /* all directions perpendicular to it may support a thin piece */
}

static double separation(const kn_core* A, const kn_core* B, v3 n, kn_gjk_point* p) {
  *p = kn_minkowski(A, B, v3_neg(n));
  return v3_dot(n, p->w);
}

/* May a direction perpendicular to edge u with face normals m0, m1 have both its sides there: the arc m0 m1
   and the great circle perpendicular to v cross (or the piece is thin). */
static bool arc_meets(const v3 m[2], v3 v) {
  double s = v3_dot(m[0], v), t = v3_dot(m[1], v), slack = 1e-9 * v3_norm(v);
  return !((s > slack && t > slack) || (s < -slack && t < -slack));
}

static void witness_edges(kn_core_gap* out, const v3 a[2], const v3 b[2]) {
  v3 u = v3_sub(a[1], a[0]), v = v3_sub(b[1], b[0]), m = v3_cross(u, v);
  v3 w = v3_sub(v3_axpy(b[0], out->gap, out->n), a[0]); /* B's edge moved onto A's */
  double s = v3_dot(v3_cross(w, v), m) / v3_norm2(m);
  s = s < 0 ? 0 : s > 1 ? 1 : s;
  out->a = v3_axpy(a[0], s, u);
  out->b = v3_axpy(out->a, -out->gap, out->n);
}

/* A face normal won: some supporting vertex of the other shape; the caller refines it where faces are
 * parallel. */
static void witness_face(kn_core_gap* out, const kn_gjk_point* p, bool face_of_a) {
  if (face_of_a)
    out->b = p->b, out->a = v3_axpy(p->b, out->gap, out->n);
  else
    out->a = p->a, out->b = v3_axpy(p->a, -out->gap, out->n);
}

static void faces(kn_core_gap* out, const kn_core* A, const kn_core* B, bool of_a, kn_gjk_point* at,
                  bool* won_a) {
  const kn_core* c = of_a ? A : B;
  for (int i = 0; i < kn_core_face_count(c); i++) {
    v3 n = kn_core_face_normal(c, i);
    if (of_a) n = v3_neg(n); /* from B towards A, out of A's face */
    kn_gjk_point p;
    double s = separation(A, B, n, &p);
    if (s > out->gap) out->gap = s, out->n = n, *at = p, *won_a = of_a;
  }
}

void kn_sat_run(kn_core_gap* out, const kn_core* A, const kn_core* B) {
  kn_gjk_point at = {0}, p;
  bool won_a = true, by_edges = false;
  v3 best_a[2] = {{0}}, best_b[2] = {{0}};
  *out = (kn_core_gap){.gap = -INFINITY, .n = {0, 0, 1}};
  faces(out, A, B, true, &at, &won_a);
  faces(out, A, B, false, &at, &won_a);
  int na = edge_count(A), nb = edge_count(B);
  for (int i = 0; i < na; i++) {
    v3 a[2], ma[2];
    edge_of(A, i, a, ma);
    v3 u = v3_sub(a[1], a[0]);
    for (int j = 0; j < nb; j++) {
      v3 b[2], mb[2];
      edge_of(B, j, b, mb);
      v3 v = v3_sub(b[1], b[0]);
      if (!arc_meets(ma, v) || !arc_meets(mb, u)) continue;
      v3 n = v3_cross(u, v);
      if (!(v3_norm2(n) > 1e-20 * v3_norm2(u) * v3_norm2(v))) continue;
      v3_unit(&n);
      for (int side = 0; side < 2; side++, n = v3_neg(n)) {
        /* both edges must support; only then can the axis be the best one */
        if (v3_dot(n, v3_sub(a[0], b[0])) <= out->gap) continue;
        double s = separation(A, B, n, &p);
        if (!(s > out->gap)) continue;
        out->gap = s, out->n = n, by_edges = true, at = p;
        best_a[0] = a[0], best_a[1] = a[1], best_b[0] = b[0], best_b[1] = b[1];
      }
    }
  }
  if (!(out->gap > -INFINITY)) { /* points and segments without a common perpendicular */
    out->gap = separation(A, B, out->n, &at);
  }
  if (by_edges)
    witness_edges(out, best_a, best_b);
  else
    witness_face(out, &at, won_a);
}
