/* A half-space against convex shapes: gap = n.(c - p) - h(-n) with the support function h of the shape,
   h = r (sphere), r + l|n.u| (capsule), r sin + l|cos| (cylinder), sqrt(n^T E n) (ellipsoid), sum |n.u_i| h_i
   (box). The plane is A, so the normal from B towards A is -n. */
#include "collide/pair/manifold.h"
#include "collide/pair/pair.h"

typedef struct half_space {
  v3 n;     /* outward */
  double c; /* n.(centre of B - p) */
} half_space;

static half_space plane_of(const kn_pair* q) {
  half_space s;
  s.n = m3_col(q->A->R, 2);
  s.c = v3_dot(s.n, v3_sub(v3_of(q->B->p), v3_of(q->A->p)));
  return s;
}

void kn_distance_plane_sphere(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  double r = q->b->size[0];
  kn_result_b(out, v3_neg(s.n), s.c - r, v3_axpy(v3_of(q->B->p), -r, s.n));
}

int kn_manifold_plane_sphere(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  double r = q->b->size[0], gap = s.c - r;
  if (!(gap <= q->margin)) return 0;
  kn_put_b(out, kn_key(0, 0), v3_neg(s.n), gap, v3_axpy(v3_of(q->B->p), -r, s.n));
  return 1;
}

void kn_distance_plane_capsule(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  v3 u = m3_col(q->B->R, 2);
  double r = q->b->size[0], l = q->b->size[1], d = v3_dot(s.n, u), e = d > 0 ? -l : l;
  v3 low = v3_axpy(v3_axpy(v3_of(q->B->p), e, u), -r, s.n);
  kn_result_b(out, v3_neg(s.n), s.c + e * d - r, low);
}

int kn_manifold_plane_capsule(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  v3 u = m3_col(q->B->R, 2), p = v3_of(q->B->p);
  double r = q->b->size[0], l = q->b->size[1], d = l * v3_dot(s.n, u);
  if (!(s.c - fabs(d) - r <= q->margin)) return 0;
  int n = 0;
  for (int end = 0; end < 2; end++) {
    double e = end ? 1 : -1, gap = s.c + e * d - r;
    if (gap <= q->margin)
      kn_put_b(out + n++, kn_key(0, (uint32_t)end), v3_neg(s.n), gap, v3_axpy(v3_axpy(p, e * l, u), -r, s.n));
  }
  return n;
}

/* The lower cap's centre, the radial direction to its lowest rim point, sine and cosine of the tilt. */
typedef struct cap {
  v3 u, e; /* axis towards the other cap, radial down */
  double sin_tilt, cos_tilt;
  int index; /* 0 lower end of the cylinder's own z, 1 upper */
} cap;

static inline cap lowest_cap(const kn_pair* q, v3 n) {
  cap k;
  k.u = m3_col(q->B->R, 2);
  double c = v3_dot(n, k.u);
  k.index = c < 0;
  if (c < 0) k.u = v3_neg(k.u), c = -c;
  k.cos_tilt = c;
  k.e = v3_sub(v3_mul(k.u, c), n); /* - (n - c u) */
  k.sin_tilt = v3_unit(&k.e);
  if (k.sin_tilt < 1e-15) k.e = m3_col(q->B->R, 0);
  if (k.sin_tilt < 1e-3) { /* near upright e is a difference of near equals: clean it */
    k.e = v3_axpy(k.e, -v3_dot(k.e, k.u), k.u);
    v3_unit(&k.e);
  }
  return k;
}

void kn_distance_plane_cylinder(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  cap k = lowest_cap(q, s.n);
  double r = q->b->size[0], l = q->b->size[1];
  v3 low = v3_axpy(v3_axpy(v3_of(q->B->p), -l, k.u), r, k.e);
  kn_result_b(out, v3_neg(s.n), s.c - l * k.cos_tilt - r * k.sin_tilt, low);
}

/* Upright: four rim points, the lowest one first (below a tilt of 1e-7 at fixed places of the body, so that
   noise does not move them; this costs at most 3e-8 r of gap). Lying: the lowest points of both rims. */
int kn_manifold_plane_cylinder(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  cap k = lowest_cap(q, s.n);
  double r = q->b->size[0], l = q->b->size[1], base = s.c - l * k.cos_tilt;
  if (!(base - r * k.sin_tilt <= q->margin)) return 0;
  v3 centre = v3_axpy(v3_of(q->B->p), -l, k.u);
  bool lying = l * k.cos_tilt < r * k.sin_tilt;
  if (lying) {
    v3 low = v3_axpy(centre, r, k.e);
    double gap = base - r * k.sin_tilt, other = gap + 2 * l * k.cos_tilt;
    int n = 1;
    kn_put_b(out, kn_key(0, 8 + (uint32_t)k.index), v3_neg(s.n), gap, low);
    if (other <= q->margin)
      kn_put_b(out + n++, kn_key(0, 9 - (uint32_t)k.index), v3_neg(s.n), other, v3_axpy(low, 2 * l, k.u));
    return n;
  }
  if (k.sin_tilt < 1e-7) k.e = m3_col(q->B->R, 0);
  v3 f = v3_cross(k.u, k.e), on[4] = {k.e, f, v3_neg(k.e), v3_neg(f)};
  double de = r * v3_dot(s.n, k.e), df = r * v3_dot(s.n, f), deep[4] = {de, df, -de, -df};
  int n = 0;
  for (int i = 0; i < 4; i++)
    if (base + deep[i] <= q->margin)
      kn_put_b(out + n++, kn_key(0, 4 * (uint32_t)k.index + (uint32_t)i), v3_neg(s.n), base + deep[i],
               v3_axpy(centre, r, on[i]));
  return n;
}

static double ellipsoid_low(v3* low, const kn_pair* q, v3 n) {
  const double* s = q->b->size;
  v3 m = m3_tmul(q->B->R, n), sm = {s[0] * m.x, s[1] * m.y, s[2] * m.z};
  double h = v3_norm(sm);
  v3 x = {s[0] * sm.x / h, s[1] * sm.y / h, s[2] * sm.z / h};
  *low = v3_sub(v3_of(q->B->p), m3_mul(q->B->R, x));
  return h;
}

void kn_distance_plane_ellipsoid(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  v3 low;
  double h = ellipsoid_low(&low, q, s.n);
  kn_result_b(out, v3_neg(s.n), s.c - h, low);
}

int kn_manifold_plane_ellipsoid(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  v3 low;
  double gap = s.c - ellipsoid_low(&low, q, s.n);
  if (!(gap <= q->margin)) return 0;
  kn_put_b(out, kn_key(0, 0), v3_neg(s.n), gap, low);
  return 1;
}

void kn_distance_plane_box(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  const double* h = q->b->size;
  v3 m = m3_tmul(q->B->R, s.n);
  v3 x = {m.x > 0 ? -h[0] : h[0], m.y > 0 ? -h[1] : h[1], m.z > 0 ? -h[2] : h[2]};
  kn_result_b(out, v3_neg(s.n), s.c + v3_dot(m, x), v3_placed(q->B, x));
}

/* The four lowest vertices: the lowest one moved along the two axes that rise least. Keys are vertex numbers.
 */
int kn_manifold_plane_box(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  const double* h = q->b->size;
  v3 m = m3_tmul(q->B->R, s.n);
  double rise[3] = {fabs(m.x) * h[0], fabs(m.y) * h[1], fabs(m.z) * h[2]};
  double low = s.c - rise[0] - rise[1] - rise[2];
  if (!(low <= q->margin)) return 0;
  int top = rise[0] > rise[1] ? (rise[0] > rise[2] ? 0 : 2) : (rise[1] > rise[2] ? 1 : 2);
  int i = (top + 1) % 3, j = (top + 2) % 3;
  double x[3] = {m.x > 0 ? -h[0] : h[0], m.y > 0 ? -h[1] : h[1], m.z > 0 ? -h[2] : h[2]};
  v3 ui = v3_mul(m3_col(q->B->R, i), -2 * x[i]), uj = v3_mul(m3_col(q->B->R, j), -2 * x[j]);
  v3 corner = v3_placed(q->B, v3_of(x));
  uint32_t code = (uint32_t)((x[0] > 0) | (x[1] > 0) << 1 | (x[2] > 0) << 2);
  int n = 0;
  for (int k = 0; k < 4; k++) {
    double gap = low + (k & 1 ? 2 * rise[i] : 0) + (k & 2 ? 2 * rise[j] : 0);
    if (!(gap <= q->margin)) continue;
    v3 p = corner;
    if (k & 1) p = v3_add(p, ui);
    if (k & 2) p = v3_add(p, uj);
    uint32_t flip = (uint32_t)((k & 1) << i | (k >> 1) << j);
    kn_put_b(out + n++, kn_key(0, code ^ flip), v3_neg(s.n), gap, p);
  }
  return n;
}

/* Lowest vertex; d is the upward normal in the hull's frame. */
static int lowest_vertex(v3* x, const kn_hull* h, v3 d) {
  kn_core c = {.type = KN_CORE_HULL, .hull = h};
  int id;
  *x = kn_core_support(&c, v3_neg(d), &id);
  return id;
}

void kn_distance_plane_hull(kn_distance_result* out, const kn_pair* q) {
  half_space s = plane_of(q);
  v3 x, d = m3_tmul(q->B->R, s.n);
  lowest_vertex(&x, q->b->hull, d);
  kn_result_b(out, v3_neg(s.n), s.c + v3_dot(d, x), v3_placed(q->B, x));
}

/* Of the hull's size: a vertex so close above the lowest one may touch within the step. Farther ones would only be rows that carry nothing. */
static const double SOON = 1e-5;

/* The lowest vertex next to the corners of a face: onto that one the hull rocks. d: upward normal. Returns -1: none. */
static int next_lowest(const kn_hull* h, const kn_patch* face, v3 d) {
  double lowest = INFINITY;
  int best = -1;
  for (int i = 0; i < face->n; i++)
    for (int32_t at = h->adj_start[face->id[i]], end = h->adj_start[face->id[i] + 1]; at < end; at++) {
      int v = h->adj[at];
      bool own = false;
      for (int k = 0; k < face->n; k++) own |= face->id[k] == (uint32_t)v;
      double height = d.x * h->x[v] + d.y * h->y[v] + d.z * h->z[v];
      if (!own && height < lowest) lowest = height, best = v;
    }
  return best;
}

static void put_vertex(kn_contact_point* out, const kn_hull* h, int vertex, v3 d, double gap) {
  kn_put_b(out, kn_key(kn_code_face(0), kn_code_vertex((uint32_t)vertex)), v3_neg(d), gap,
           (v3){h->x[vertex], h->y[vertex], h->z[vertex]});
}

/* The vertices of the face that looks down most, within the margin, in the hull's frame; beside a triangle, of which meshes
   are made, the next vertex to touch. d: upward normal, c: height of its origin. Returns how many, and the least gap. */
static int low_face(kn_contact_point* out, double* least, const kn_pair* q, v3 d, double c) {
  const kn_hull* h = q->b->hull;
  kn_core core = {.type = KN_CORE_HULL, .hull = h};
  kn_patch face;
  kn_candidate point[KN_PATCH_MAX];
  int vertex[KN_PATCH_MAX], pick[4], n = 0;
  v3 e1 = v3_perp(d), e2 = v3_cross(d, e1);
  *least = INFINITY;
  kn_patch_of(&face, &core, v3_neg(d), q->cache->feature[1]);
  if (face.n < 2 || !(face.align > 0.1)) return 0;
  q->cache->feature[0] = 1, q->cache->feature[1] = face.face + 1;
  for (int i = 0; i < face.n; i++) {
    v3 p = face.p[i];
    double gap = c + v3_dot(d, p);
    if (!(gap <= q->margin)) continue;
    vertex[n] = i;
    point[n++] = (kn_candidate){v3_dot(p, e1), v3_dot(p, e2), 0, gap,
                                kn_key(kn_code_face(0), kn_code_vertex(face.id[i]))};
  }
  n = kn_candidates_choose(pick, point, n, h->radius, q->cache);
  for (int i = 0; i < n; i++) {
    const kn_candidate* k = &point[pick[i]];
    kn_put_b(out + i, k->key, v3_neg(d), k->gap, face.p[vertex[pick[i]]]);
    *least = kn_min(k->gap, *least);
  }
  int next = face.n == 3 ? next_lowest(h, &face, d) : -1;
  double gap = next < 0 ? INFINITY : c + d.x * h->x[next] + d.y * h->y[next] + d.z * h->z[next];
  if (!(gap <= kn_min(q->margin, *least + SOON * h->radius))) return n;
  put_vertex(out + n, h, next, d, gap);
  *least = kn_min(gap, *least);
  return n + 1;
}

/* The place of one more point: behind the others, or that of the shallowest. */
static int place_for(const kn_contact_point* c, int* n) {
  if (*n < KN_MANIFOLD_MAX) return (*n)++;
  int at = 0;
  for (int i = 1; i < *n; i++)
    if (c[i].gap > c[at].gap) at = i;
  return at;
}

/* That face, and the lowest vertex where none of its own is as low. */
int kn_manifold_plane_hull(kn_contact_point* out, const kn_pair* q) {
  half_space s = plane_of(q);
  const kn_hull* h = q->b->hull;
  v3 x, d = m3_tmul(q->B->R, s.n);
  int id = lowest_vertex(&x, h, d);
  double gap = s.c + v3_dot(d, x), least;
  if (!(gap <= q->margin)) return 0;
  int n = low_face(out, &least, q, d, s.c);
  if (!(least <= gap + 1e-8 * h->radius))
    kn_put_b(out + place_for(out, &n), kn_key(0, (uint32_t)id), v3_neg(d), gap, x);
  kn_contacts_to_world(out, n, q->B);
  return n;
}
