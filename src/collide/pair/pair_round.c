/* Spheres and capsules against spheres, capsules, cylinders and boxes: the core's exact signed distance less
   the radii. Capsules get two points where they lie along a line or a face. */
#include "collide/pair/pair.h"

void kn_distance_sphere_sphere(kn_distance_result* out, const kn_pair* q) {
  v3 a = v3_of(q->A->p), n = v3_sub(a, v3_of(q->B->p));
  double ra = q->a->size[0], rb = q->b->size[0], d = v3_unit(&n);
  if (d == 0) n = (v3){0, 0, 1};
  kn_result_a(out, n, d - ra - rb, v3_axpy(a, -ra, n));
}

int kn_manifold_sphere_sphere(kn_contact_point* out, const kn_pair* q) {
  v3 a = v3_of(q->A->p), n = v3_sub(a, v3_of(q->B->p));
  double ra = q->a->size[0], rb = q->b->size[0], reach = ra + rb + q->margin;
  if (!(v3_norm2(n) <= reach * reach) || reach < 0) return 0;
  double d = v3_unit(&n);
  if (d == 0) n = (v3){0, 0, 1};
  kn_put_a(out, kn_key(0, 0), n, d - ra - rb, v3_axpy(a, -ra, n));
  return 1;
}

/* Sphere centre against the capsule's core, world axes: with a unit axis the foot needs no division. */
static inline void point_capsule(kn_core_gap* g, const kn_pair* q) {
  v3 u = m3_col(q->B->R, 2), d = v3_sub(v3_of(q->A->p), v3_of(q->B->p));
  double l = q->b->size[1], t = v3_dot(d, u);
  g->fb = t <= -l ? 0 : t >= l ? 1 : 2;
  t = t <= -l ? -l : t >= l ? l : t;
  g->n = v3_axpy(d, -t, u);
  g->gap = v3_unit(&g->n);
  if (g->fb == 2 && g->gap < 1e-3 * l) { /* near the axis the difference is not quite square to it */
    g->n = v3_axpy(g->n, -v3_dot(g->n, u), u);
    if (!(v3_unit(&g->n) > 0)) g->n = v3_perp(u);
  } else if (g->gap == 0) {
    g->n = v3_perp(u);
  }
}

static int emit_sphere(kn_contact_point* out, const kn_core_gap* g, v3 n, double rb, const kn_pair* q) {
  double ra = q->a->size[0], gap = g->gap - ra - rb;
  if (!(gap <= q->margin)) return 0;
  kn_put_a(out, kn_key(0, (uint32_t)g->fb), n, gap, v3_axpy(v3_of(q->A->p), -ra, n));
  return 1;
}

static void result_sphere(kn_distance_result* out, const kn_core_gap* g, v3 n, double rb, const kn_pair* q) {
  double ra = q->a->size[0];
  kn_result_a(out, n, g->gap - ra - rb, v3_axpy(v3_of(q->A->p), -ra, n));
}

void kn_distance_sphere_capsule(kn_distance_result* out, const kn_pair* q) {
  kn_core_gap g;
  point_capsule(&g, q);
  result_sphere(out, &g, g.n, q->b->size[0], q);
}

int kn_manifold_sphere_capsule(kn_contact_point* out, const kn_pair* q) {
  v3 d = v3_sub(v3_of(q->A->p), v3_of(q->B->p));
  double reach = q->a->size[0] + q->b->size[0] + q->b->size[1] + q->margin;
  if (!(v3_norm2(d) <= reach * reach)) return 0;
  kn_core_gap g;
  point_capsule(&g, q);
  return emit_sphere(out, &g, g.n, q->b->size[0], q);
}

/* Sphere centre against a cylinder, world axes; features: 0 side, 1/2 lower/upper cap, 3/4 rims. Beyond reach the gap
   may be called infinite. */
static inline void point_cylinder(kn_core_gap* g, const kn_pair* q, double reach) {
  v3 u = m3_col(q->B->R, 2), d = v3_sub(v3_of(q->A->p), v3_of(q->B->p));
  double r = q->b->size[0], z = v3_dot(d, u), over = fabs(z) - q->b->size[1], wide = r + reach;
  v3 e = v3_axpy(d, -z, u), cap = v3_mul(u, z < 0 ? -1 : 1);
  double ee = v3_norm2(e);
  g->fb = 1 + (z > 0), g->n = cap, g->gap = INFINITY;
  if (!(over <= reach && ee <= wide * wide)) return;
  g->gap = over;
  if (over > 0 && ee <= r * r) return;                     /* above or below */
  if (ee < 1e-6 * z * z) e = v3_axpy(e, -v3_dot(e, u), u); /* near the axis e is not quite square to it */
  double side = v3_unit(&e) - r;
  if (side == -r) e = m3_col(q->B->R, 0);
  if (ee <= r * r && over > side) return;
  g->fb = 0, g->n = e, g->gap = side;
  if (over <= 0) return;
  g->fb = 3 + (z > 0), g->n = v3_axpy(v3_mul(cap, over), side, e);
  g->gap = v3_unit(&g->n);
}

void kn_distance_sphere_cylinder(kn_distance_result* out, const kn_pair* q) {
  kn_core_gap g;
  point_cylinder(&g, q, INFINITY);
  result_sphere(out, &g, g.n, 0, q);
}

int kn_manifold_sphere_cylinder(kn_contact_point* out, const kn_pair* q) {
  kn_core_gap g;
  point_cylinder(&g, q, q->a->size[0] + q->margin);
  return emit_sphere(out, &g, g.n, 0, q);
}

void kn_distance_sphere_box(kn_distance_result* out, const kn_pair* q) {
  kn_core_gap g;
  kn_point_box(&g, v3_local(q->B, v3_of(q->A->p)), q->b->size);
  result_sphere(out, &g, m3_mul(q->B->R, g.n), 0, q);
}

int kn_manifold_sphere_box(kn_contact_point* out, const kn_pair* q) {
  v3 p = v3_local(q->B, v3_of(q->A->p));
  const double* h = q->b->size;
  double reach = q->a->size[0] + q->margin;
  if (!(fabs(p.x) <= h[0] + reach && fabs(p.y) <= h[1] + reach && fabs(p.z) <= h[2] + reach)) return 0;
  kn_core_gap g;
  kn_point_box(&g, p, h);
  return emit_sphere(out, &g, m3_mul(q->B->R, g.n), 0, q);
}

/* A segment with radius. */
typedef struct rod {
  v3 p0, p1;
  double r;
} rod;

/* The cores of two capsules: w from A's centre to B's, u and v to their upper ends; frame: A's centre. Cores that are
   nearly parallel or all but touch are left to kn_segment_segment. Returns whether they are far from parallel. */
static inline bool segments(kn_core_gap* g, v3 w, v3 u, v3 v) {
  v3 m = v3_cross(u, v);
  double uu = v3_norm2(u), vv = v3_norm2(v), mm = v3_norm2(m), uv = v3_dot(u, v), wu = v3_dot(w, u),
         wv = v3_dot(w, v);
  bool steep = mm > KN_STEEP * uu * vv;
  if (steep) {
    double per_u = 1 / uu, per_v = 1 / vv, s = kn_clamp((wu * vv - wv * uv) * (1 / mm), -1, 1);
    double t = kn_clamp((s * uv - wv) * per_v, -1, 1);
    s = kn_clamp((t * uv + wu) * per_u, -1, 1);
    g->a = v3_mul(u, s), g->b = v3_axpy(w, t, v), g->n = v3_sub(g->a, g->b);
    g->fa = s <= -1 ? 0 : s >= 1 ? 1 : 2, g->fb = t <= -1 ? 0 : t >= 1 ? 1 : 2;
    double dd = v3_norm2(g->n);
    if (dd > 1e-6 * (uu + vv + v3_norm2(w))) {
      g->gap = sqrt(dd), g->n = v3_mul(g->n, 1 / g->gap);
      return true;
    }
  }
  kn_segment_segment(g, v3_neg(u), u, v3_sub(w, v), v3_add(w, v));
  return steep;
}

void kn_distance_capsule_capsule(kn_distance_result* out, const kn_pair* q) {
  v3 w = v3_sub(v3_of(q->B->p), v3_of(q->A->p)), u = v3_mul(m3_col(q->A->R, 2), q->a->size[1]);
  kn_core_gap g;
  segments(&g, w, u, v3_mul(m3_col(q->B->R, 2), q->b->size[1]));
  kn_result_a(out, g.n, g.gap - q->a->size[0] - q->b->size[0],
              v3_add(v3_axpy(g.a, -q->a->size[0], g.n), v3_of(q->A->p)));
}

/* Feature of a place on a segment: its ends 0 and 1, or 2 + what cut it. */
static uint32_t place(double t, uint32_t cut) { return t <= 0 ? 0 : t >= 1 ? 1 : 2 + cut; }

/* Two nearly parallel segments (p from A, q from B): contacts at both ends of the stretch they share, each
   with its own exact distance. Returns the number of points; frame of the inputs. */
static int shared_stretch(kn_contact_point* out, rod a, rod b, v3 n, double margin, uint32_t fb) {
  v3 u = v3_sub(a.p1, a.p0), v = v3_sub(b.p1, b.p0);
  double uu = v3_norm2(u), vv = v3_norm2(v);
  double s0 = v3_dot(v3_sub(b.p0, a.p0), u) / uu, s1 = v3_dot(v3_sub(b.p1, a.p0), u) / uu;
  double lo = kn_min(s1, s0), hi = kn_max(s1, s0);
  const double slack = 1e-7;
  bool cut[2] = {lo > slack, hi < 1 - slack}; /* the stretch ends at an end of B, not of A */
  double at[2] = {cut[0] ? lo : 0, cut[1] ? hi : 1};
  if (!(at[1] - at[0] > 1e-6)) return 0;
  int count = 0;
  for (int i = 0; i < 2; i++) {
    uint32_t end = (uint32_t)((s0 <= s1) == i), pa = cut[i] ? 2 : (uint32_t)i, pb = cut[i] ? end : 2;
    v3 x = v3_axpy(a.p0, at[i], u);
    double t = v3_dot(v3_sub(x, b.p0), v) / vv;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    v3 y = v3_axpy(b.p0, t, v), m = v3_sub(x, y);
    double d = v3_unit(&m);
    if (d <= 1e-9 * (a.r + b.r)) m = n, d = 0; /* cores touch: no direction of its own */
    double gap = d - a.r - b.r;
    if (gap <= margin && v3_dot(m, n) > 0.9)
      kn_put_a(out + count++, kn_key(pa, fb + pb), m, gap, v3_axpy(x, -a.r, m));
  }
  return count;
}

static void shift(kn_contact_point* c, int n, const double p[3]) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) c[i].on_a[k] += p[k], c[i].on_b[k] += p[k];
}

/* sin of the angle below which two lines count as parallel; wider while they already did. */
static bool parallel(v3 u, v3 v, const kn_pair_cache* cache) {
  double limit = cache->key_count >= 2 ? 0.06 : 0.05;
  return v3_norm2(v3_cross(u, v)) < limit * limit * v3_norm2(u) * v3_norm2(v);
}

/* The nearest pair itself, added when the ends of the stretch are farther away (crossing at a small angle).
 */
static int with_nearest(kn_contact_point* out, int n, const kn_core_gap* g, double ra, double rb,
                        double margin, uint32_t fb) {
  double gap = g->gap - ra - rb, least = INFINITY;
  for (int i = 0; i < n; i++) least = kn_min(out[i].gap, least);
  if (!(gap <= margin) || least <= gap + 1e-9 * (ra + rb)) return n;
  kn_put_a(out + n, kn_key((uint32_t)g->fa + 8, fb + (uint32_t)g->fb + 8), g->n, gap,
           v3_axpy(g->a, -ra, g->n));
  return n + 1;
}

int kn_manifold_capsule_capsule(kn_contact_point* out, const kn_pair* q) {
  double ra = q->a->size[0], la = q->a->size[1], rb = q->b->size[0], lb = q->b->size[1];
  double touch = ra + rb + q->margin, reach = touch + la + lb;
  v3 w = v3_sub(v3_of(q->B->p), v3_of(q->A->p));
  if (!(v3_norm2(w) <= reach * reach)) return 0;
  v3 u = v3_mul(m3_col(q->A->R, 2), la), v = v3_mul(m3_col(q->B->R, 2), lb);
  kn_core_gap g;
  bool steep = segments(&g, w, u, v);
  if (!(g.gap - ra - rb <= q->margin)) return 0;
  int n = 0;
  if (!steep && la > 0 && lb > 0 && parallel(u, v, q->cache))
    n = shared_stretch(out, (rod){v3_neg(u), u, ra}, (rod){v3_sub(w, v), v3_add(w, v), rb}, g.n, q->margin,
                       0);
  n = with_nearest(out, n, &g, ra, rb, q->margin, 0);
  shift(out, n, q->A->p);
  return n;
}

static rod capsule_in_box(const kn_pair* q) {
  v3 d = v3_local(q->B, v3_of(q->A->p)), u = m3_tmul(q->B->R, v3_mul(m3_col(q->A->R, 2), q->a->size[1]));
  return (rod){v3_sub(d, u), v3_add(d, u), q->a->size[0]};
}

void kn_distance_capsule_box(kn_distance_result* out, const kn_pair* q) {
  rod a = capsule_in_box(q);
  kn_core_gap g;
  kn_segment_box(&g, a.p0, a.p1, q->b->size);
  kn_result_a(out, m3_mul(q->B->R, g.n), g.gap - a.r, v3_placed(q->B, v3_axpy(g.a, -a.r, g.n)));
}

/* The face whose normal is n up to 1e-6, or -1. */
static int face_of(v3 n) {
  for (int i = 0; i < 3; i++)
    if (fabs(v3_at(n, i)) > 1 - 5e-13) return i;
  return -1;
}

/* Both ends of the part of the segment over a face of the box. */
static int over_face(kn_contact_point* out, rod a, const double h[3], int face, double sign, double margin) {
  v3 u = v3_sub(a.p1, a.p0), n = v3_axis(face, sign);
  double lo = 0, hi = 1;
  uint32_t cut_lo = 0, cut_hi = 0;
  for (int k = 1; k <= 2; k++) {
    int i = (face + k) % 3;
    double ui = v3_at(u, i), pi = v3_at(a.p0, i), w = h[i] * (1 + 1e-7);
    if (fabs(ui) <= 1e-9 * w) continue;
    double t0 = ((ui > 0 ? -w : w) - pi) / ui, t1 = ((ui > 0 ? w : -w) - pi) / ui;
    if (t0 > lo) lo = t0, cut_lo = (uint32_t)(2 * i + (ui > 0) + 1);
    if (t1 < hi) hi = t1, cut_hi = (uint32_t)(2 * i + (ui < 0) + 1);
  }
  if (!(hi - lo > 1e-6)) return 0;
  int count = 0;
  for (int e = 0; e < 2; e++) {
    double t = e ? hi : lo;
    v3 x = v3_axpy(a.p0, t, u);
    double gap = sign * v3_at(x, face) - h[face] - a.r;
    uint32_t fb = (uint32_t)(2 * face + (sign > 0));
    if (gap <= margin)
      kn_put_a(out + count++, kn_key(place(t, e ? cut_hi : cut_lo), fb), n, gap, v3_axpy(x, -a.r, n));
  }
  return count;
}

int kn_manifold_capsule_box(kn_contact_point* out, const kn_pair* q) {
  const double* h = q->b->size;
  rod a = capsule_in_box(q);
  v3 lo = {kn_min(a.p1.x, a.p0.x), kn_min(a.p1.y, a.p0.y), kn_min(a.p1.z, a.p0.z)};
  v3 hi = {kn_max(a.p1.x, a.p0.x), kn_max(a.p1.y, a.p0.y), kn_max(a.p1.z, a.p0.z)};
  double reach = a.r + q->margin;
  if (!(lo.x <= h[0] + reach && hi.x >= -h[0] - reach && lo.y <= h[1] + reach && hi.y >= -h[1] - reach &&
        lo.z <= h[2] + reach && hi.z >= -h[2] - reach))
    return 0;
  kn_core_gap g;
  kn_segment_box(&g, a.p0, a.p1, h);
  if (!(g.gap - a.r <= q->margin)) return 0;
  v3 u = v3_sub(a.p1, a.p0);
  int n = 0, face = face_of(g.n), axis = -1;
  if (q->a->size[1] > 0) {
    for (int i = 0; i < 3; i++)
      if (parallel(u, v3_axis(i, 1), q->cache)) axis = i;
    bool level =
        face >= 0 && fabs(v3_at(u, face)) <= 0.1 * 2 * q->a->size[1]; /* steeper: only the low end counts */
    if (level) {
      n = over_face(out, a, h, face, v3_at(g.n, face) > 0 ? 1 : -1, q->margin);
    } else if (face < 0 && axis >= 0 && g.gap > 0 && fabs(v3_at(g.n, axis)) < 0.1) {
      v3 c = {g.n.x > 0 ? h[0] : -h[0], g.n.y > 0 ? h[1] : -h[1], g.n.z > 0 ? h[2] : -h[2]};
      v3 e = v3_axis(axis, h[axis]), c0 = v3_sub(c, v3_mul(v3_axis(axis, 1), v3_at(c, axis)));
      uint32_t fb = 64 + 16 * (uint32_t)(axis + 3 * (g.n.x > 0) + 6 * (g.n.y > 0) + 12 * (g.n.z > 0));
      n = shared_stretch(out, a, (rod){v3_sub(c0, e), v3_add(c0, e), 0}, g.n, q->margin, fb);
    }
  }
  n = with_nearest(out, n, &g, a.r, 0, q->margin, 1024);
  kn_contacts_to_world(out, n, q->B);
  return n;
}
