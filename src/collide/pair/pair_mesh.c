/* A convex shape against a static triangle mesh, in the mesh's frame.

   The gap is the least over the triangles, each a flat convex set; the bounding tree is walked nearest first.
   A manifold takes the triangles within the margin one by one. A triangle knows nothing of its neighbours, so
   a shape that slides over an inner edge would be pushed sideways by it; a normal that leaves the range
   between the normals of the two triangles at an edge is therefore replaced by the triangle's own. Points
   with one normal are then thinned out together, as if the triangles were one face. */
#include "collide/distance/gjk.h"
#include "collide/pair/manifold.h"
#include "model/trimesh.h"

typedef struct walker {
  const kn_mesh* mesh;
  kn_core a; /* in the mesh's frame */
  double lo[3], hi[3], size;
} walker;

static void set_up(walker* w, const kn_pair* q, double margin) {
  kn_pose rel = kn_pose_between(q->B, q->A);
  w->mesh = q->b->mesh;
  kn_core_of(&w->a, q->a, &rel);
  for (int i = 0; i < 3; i++) {
    int id;
    v3 up = kn_core_support(&w->a, v3_axis(i, 1), &id), down = kn_core_support(&w->a, v3_axis(i, -1), &id);
    double pad = w->a.radius + margin;
    w->lo[i] = v3_at(down, i) - pad, w->hi[i] = v3_at(up, i) + pad;
  }
  w->size = w->a.extent + w->a.radius;
}

static void corners(v3 v[3], const kn_mesh* m, int t) {
  for (int k = 0; k < 3; k++) v[k] = v3_of(m->vertices + 3 * m->triangles[3 * t + k]);
}

/* Squared distance of a node's box from the shape's box. */
static double node_distance2(const walker* w, const kn_mesh_node* n) {
  double s = 0;
  for (int i = 0; i < 3; i++) {
    double d = kn_max(kn_max(w->lo[i] - (double)n->hi[i], (double)n->lo[i] - w->hi[i]), 0);
    s += d * d;
  }
  return s;
}

static void try_triangle(kn_core_gap* best, const walker* w, int t) {
  v3 v[3];
  kn_core tri;
  kn_core_gap g;
  kn_pair_cache none = {.key_count = 0};
  corners(v, w->mesh, t);
  kn_core_triangle(&tri, v);
  if (!kn_core_distance(&g, &w->a, &tri, best->gap, &none)) return;
  if (g.gap < best->gap) *best = g, best->fb = t;
}

/* Least core gap over all triangles; the nearer child first. */
static void nearest_triangle(kn_core_gap* best, const walker* w) {
  int32_t stack[KN_MESH_STACK], top = 0;
  const kn_mesh* m = w->mesh;
  stack[top++] = 0;
  while (top > 0) {
    const kn_mesh_node* n = &m->nodes[stack[--top]];
    double reach = kn_max(0, best->gap - w->a.radius); /* boxes include the radius */
    if (best->gap < INFINITY && node_distance2(w, n) > reach * reach) continue;
    if (n->count > 0) {
      for (int i = 0; i < n->count; i++) try_triangle(best, w, m->order[n->first + i]);
      continue;
    }
    int a = n->first, b = n->first + 1;
    bool swap = node_distance2(w, &m->nodes[a]) < node_distance2(w, &m->nodes[b]);
    if (top + 2 > KN_MESH_STACK) continue;
    stack[top++] = swap ? b : a;
    stack[top++] = swap ? a : b;
  }
}

void kn_distance_mesh(kn_distance_result* out, const kn_pair* q) {
  walker w;
  kn_core_gap g = {.gap = INFINITY};
  set_up(&w, q, 0);
  nearest_triangle(&g, &w);
  out->gap = g.gap - w.a.radius;
  v3_to(out->normal, m3_mul(q->B->R, g.n));
  v3_to(out->on_a, v3_placed(q->B, v3_axpy(g.a, -w.a.radius, g.n)));
  v3_to(out->on_b, v3_placed(q->B, g.b));
}

/* Should n stay, at a point b of triangle t with unit normal N (turned to n's side)? Looks at the edges b
 * lies on. */
static bool admissible(const kn_mesh* m, int t, const v3 v[3], v3 N, double turned, v3 n, v3 b) {
  for (int k = 0; k < 3; k++) {
    v3 p = v[k], e = v3_sub(v[(k + 1) % 3], p),
       out = v3_cross(e, v3_mul(N, turned)); /* out of the triangle, in its plane */
    double len = v3_unit(&out);
    if (!(len > 0) || v3_dot(v3_sub(b, p), out) < -1e-6 * v3_norm(e)) continue;
    int u = m->neighbour[3 * t + k];
    if (u < 0) continue; /* a free edge may push any way */
    v3 Nu = v3_mul(v3_of(m->normal + 3 * u), turned);
    if (!(v3_dot(Nu, out) > 1e-6)) return false;           /* flat or hollow: the faces carry it */
    if (v3_dot(n, N) < v3_dot(Nu, N) - 1e-9) return false; /* beyond the neighbour's normal */
  }
  return true;
}

#define POOL            256
#define TRIANGLE_POINTS 16 /* all points of one triangle; the choice is made among all triangles */

typedef struct pool {
  kn_contact_point c[POOL];
  int n;
} pool;

static bool known_point(const pool* p, const kn_contact_point* c, double eps) {
  for (int i = 0; i < p->n; i++) {
    const kn_contact_point* q = &p->c[i];
    double d = fabs(q->on_a[0] - c->on_a[0]) + fabs(q->on_a[1] - c->on_a[1]) + fabs(q->on_a[2] - c->on_a[2]);
    if (d <= eps && v3_dot(v3_of(q->normal), v3_of(c->normal)) > 0.999) return true;
  }
  return false;
}

/* The contacts of one triangle. */
static void triangle_contacts(pool* out, const walker* w, int t, double margin, const kn_pair_cache* cache) {
  v3 v[3], N = v3_of(w->mesh->normal + 3 * t);
  kn_core tri;
  kn_core_gap g;
  kn_pair_cache scratch = {.key_count = cache->key_count > 1 ? 2 : 0};
  corners(v, w->mesh, t);
  kn_core_triangle(&tri, v);
  if (!kn_core_distance(&g, &w->a, &tri, margin + w->a.radius, &scratch)) return;
  double r = w->a.radius, turned = v3_dot(g.n, N) < 0 ? -1 : 1;
  N = v3_mul(N, turned);
  bool own = admissible(w->mesh, t, v, N, turned, g.n, g.b);
  if (!own) {
    kn_gjk_point p = kn_minkowski(&w->a, &tri, v3_neg(N));
    g = (kn_core_gap){.gap = v3_dot(N, p.w), .n = N, .a = p.a, .b = p.b};
  }
  g.gap -= r, g.a = v3_axpy(g.a, -r, g.n);
  if (!(g.gap <= margin)) return;
  kn_patch pa, pb;
  kn_contact_point c[TRIANGLE_POINTS];
  kn_core_gap nearest = g;
  if (!own) nearest.gap = INFINITY; /* only what lies over the triangle counts */
  kn_patch_of(&pa, &w->a, v3_neg(g.n), 0);
  kn_patch_of(&pb, &tri, g.n, 0);
  if (!own && pa.n < 2) { /* a round shape: its lowest point, if over the triangle */
    pa.n = 0;
    v3 b = v3_axpy(g.a, -g.gap, g.n);
    for (int k = 0; k < 3; k++)
      if (v3_dot(v3_cross(pb.normal, v3_sub(pb.p[(k + 1) % 3], pb.p[k])), v3_sub(b, pb.p[k])) < 0) return;
    nearest.gap = g.gap, nearest.b = b;
  }
  scratch.key_count = 0;
  int n = kn_patch_contacts(c, TRIANGLE_POINTS, &pa, &pb, &nearest, w->size + tri.extent, KN_PATCH_SLACK,
                            margin, &scratch);
  for (int i = 0; i < n && out->n < POOL; i++) {
    if (known_point(out, &c[i], 4 * KN_PATCH_SLACK * w->size)) continue;
    c[i].key = (c[i].key & 0xffffffff00000000u) |
               (uint32_t)((uint32_t)c[i].key * 0x9e3779b1u + (uint32_t)t * 8u + 1u);
    out->c[out->n++] = c[i];
  }
}

/* Thins out the points that share the deepest unused one's normal; returns how many were written. */
static int take_group(kn_contact_point* out, int room, pool* p, double size, const kn_pair_cache* cache) {
  int lead = 0, n = 0, id[POOL], pick[4];
  kn_candidate cand[POOL];
  for (int i = 1; i < p->n; i++)
    if (p->c[i].gap < p->c[lead].gap) lead = i;
  v3 m = v3_of(p->c[lead].normal), e1 = v3_perp(m), e2 = v3_cross(m, e1);
  for (int i = 0; i < p->n; i++) {
    if (i != lead && !(v3_dot(v3_of(p->c[i].normal), m) >= 0.999))
      continue; /* the lead whatever its length */
    v3 x = v3_of(p->c[i].on_a);
    cand[n] = (kn_candidate){v3_dot(x, e1), v3_dot(x, e2), 0, p->c[i].gap, p->c[i].key};
    id[n++] = i;
  }
  int k = kn_candidates_choose(pick, cand, n, size, cache);
  if (k > room) k = room;
  for (int i = 0; i < k; i++) out[i] = p->c[id[pick[i]]];
  int left = 0, next = 0;
  for (int i = 0; i < p->n; i++) {
    if (next < n && id[next] == i) {
      next++;
      continue;
    }
    p->c[left++] = p->c[i];
  }
  p->n = left;
  return k;
}

static void plane_points(pool* out, const kn_pair* q) {
  v3 n = m3_tmul(q->B->R, m3_col(q->A->R, 2)), o = v3_local(q->B, v3_of(q->A->p));
  const kn_mesh* m = q->b->mesh;
  for (int i = 0; i < m->nvertex; i++) {
    v3 x = v3_of(m->vertices + 3 * i);
    double gap = v3_dot(n, v3_sub(x, o));
    if (!(gap <= q->margin)) continue;
    int at = out->n;
    if (at == POOL) { /* full: the shallowest makes room */
      at = 0;
      for (int k = 1; k < POOL; k++)
        if (out->c[k].gap > out->c[at].gap) at = k;
      if (out->c[at].gap <= gap) continue;
    } else {
      out->n++;
    }
    kn_put_b(&out->c[at], kn_key(0, (uint32_t)i), v3_neg(n), gap, x);
  }
}

int kn_manifold_mesh(kn_contact_point* out, int capacity, const kn_pair* q) {
  pool p;
  p.n = 0;
  double size;
  if (q->a->type == KN_SHAPE_PLANE) {
    plane_points(&p, q);
    const kn_mesh* m = q->b->mesh;
    size = v3_norm(v3_sub(v3_of(m->hi), v3_of(m->lo)));
  } else {
    walker w;
    kn_mesh_cursor cursor;
    set_up(&w, q, kn_max(0, q->margin));
    size = w.size;
    kn_mesh_first(&cursor, w.mesh, w.lo, w.hi);
    for (int32_t t; (t = kn_mesh_next(&cursor)) >= 0 && p.n < POOL;)
      triangle_contacts(&p, &w, t, q->margin, q->cache);
  }
  int count = 0;
  while (p.n > 0 && count < capacity) count += take_group(out + count, capacity - count, &p, size, q->cache);
  kn_contacts_to_world(out, count, q->B);
  return count;
}

void kn_distance_plane_mesh(kn_distance_result* out, const kn_pair* q) {
  v3 n = m3_tmul(q->B->R, m3_col(q->A->R, 2)), o = v3_local(q->B, v3_of(q->A->p)), low = {0, 0, 0};
  double gap = INFINITY;
  const kn_mesh* m = q->b->mesh;
  for (int i = 0; i < m->nvertex; i++) {
    v3 x = v3_of(m->vertices + 3 * i);
    double g = v3_dot(n, v3_sub(x, o));
    if (g < gap) gap = g, low = x;
  }
  kn_result_b(out, v3_neg(m3_mul(q->B->R, n)), gap, v3_placed(q->B, low));
}
