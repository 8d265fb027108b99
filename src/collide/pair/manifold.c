/* Intersection of two contact patches.

   In the plane perpendicular to n with coordinates (x, y) and height z = p.n, a point of the intersection is
     - a vertex of A's patch inside B's (within a slack of 1e-7 of the size),
     - a vertex of B's patch inside A's,
     - a crossing of two edges whose ends are clearly on different sides, between these ends,
   and its gap is the height of A's patch over B's. The classification does not depend on which face one would
   call the reference, so keys do not change when noise tilts the normal between the two faces; the slack
   keeps vertices that lie on a boundary from turning into crossings. Of more than four points the deepest,
   the farthest from it and the two that span most area on either side are kept; last frame's choice stays
   while it spans 0.8 of the area and holds a point as deep. */
#include "collide/pair/manifold.h"

#define CANDIDATE_MAX 260

typedef struct flat {
  int n;
  double x[KN_PATCH_MAX], y[KN_PATCH_MAX], z[KN_PATCH_MAX];
  double mx[KN_PATCH_MAX], my[KN_PATCH_MAX], c[KN_PATCH_MAX],
      slack[KN_PATCH_MAX];    /* inside: mx x + my y >= c */
  double sx, sy, z0;          /* polygons: z = z0 + sx x + sy y */
  uint64_t out[KN_PATCH_MAX]; /* edges of the other patch this vertex is outside of */
  uint64_t near;              /* vertices within the margin of the plane of the other patch */
} flat;

typedef kn_candidate candidate;

typedef struct clip {
  flat a, b;
  v3 e1, e2, n;
  double slack, margin;
  candidate c[CANDIDATE_MAX];
  int count;
} clip;

/* Loops over patches take their sizes as arguments and are inlined, so that the common 4 x 4 case is
 * unrolled. */
#define INLINE static inline __attribute__((always_inline))

static int edges(const flat* f) { return f->n == 2 ? 1 : f->n; }
INLINE int edge_count(int n) { return n == 2 ? 1 : n; }
static int after(const flat* f, int i) { return i + 1 == f->n ? 0 : i + 1; }

/* Places of the vertices, and the plane. */
INLINE void flatten(flat* f, const kn_patch* p, const clip* k, int n) {
  f->n = n;
  for (int i = 0; i < n; i++)
    f->x[i] = v3_dot(p->p[i], k->e1), f->y[i] = v3_dot(p->p[i], k->e2), f->z[i] = v3_dot(p->p[i], k->n);
  f->sx = f->sy = f->z0 = 0;
  if (n < 3) return;
  double nx = v3_dot(p->normal, k->e1), ny = v3_dot(p->normal, k->e2), nz = v3_dot(p->normal, k->n);
  f->sx = -nx / nz, f->sy = -ny / nz;
  f->z0 = f->z[0] - f->sx * f->x[0] - f->sy * f->y[0];
}

/* orientation +1: counter-clockwise seen along -n (B's patches), -1 for A's. */
INLINE void border(flat* f, const clip* k, double orientation, int n) {
  for (int i = 0; i < edge_count(n); i++) {
    int j = i + 1 == n ? 0 : i + 1;
    double dx = (f->x[j] - f->x[i]) * orientation, dy = (f->y[j] - f->y[i]) * orientation;
    f->mx[i] = -dy,
    f->my[i] = dx; /* not normalised: the slack is scaled instead, by |dx| + |dy| >= the length */
    f->c[i] = f->mx[i] * f->x[i] + f->my[i] * f->y[i];
    f->slack[i] = k->slack * (fabs(dx) + fabs(dy));
  }
}

INLINE void classify(flat* f, const flat* other, int n, int m) {
  for (int i = 0; i < n; i++) {
    uint64_t bits = 0;
    for (int j = 0; j < edge_count(m); j++)
      bits |= (uint64_t)(other->mx[j] * f->x[i] + other->my[j] * f->y[i] < other->c[j] - other->slack[j])
              << j;
    f->out[i] = bits;
  }
}

static double height(const flat* f, double x, double y) { return f->z0 + f->sx * x + f->sy * y; }

/* A point between two vertices is no nearer than both: what is farther than the margin need not be looked at. A line
   has no plane. */
INLINE void mark_near(flat* f, const flat* other, double sign, double margin, int n, int m) {
  f->near = ~(uint64_t)0;
  if (n < 3 || m < 3) return;
  f->near = 0;
  for (int i = 0; i < n; i++)
    f->near |= (uint64_t)(sign * (f->z[i] - height(other, f->x[i], f->y[i])) <= margin) << i;
}

static uint32_t code_edge(uint32_t v, uint32_t w) {
  uint32_t lo = v < w ? v : w, hi = v < w ? w : v;
  return 2u << 30 | (lo & 0x7fff) << 15 | (hi & 0x7fff);
}

static void add(clip* k, double x, double y, double za, double zb, uint64_t key) {
  if (k->count < CANDIDATE_MAX) k->c[k->count++] = (candidate){x, y, za, za - zb, key};
}

static bool near_existing(const clip* k, int from, double x, double y) {
  double r = 2 * k->slack;
  for (int i = 0; i < from; i++)
    if (fabs(k->c[i].x - x) <= r && fabs(k->c[i].y - y) <= r) return true;
  return false;
}

static void vertices_inside(clip* k, const kn_patch* pa, const kn_patch* pb) {
  const flat *a = &k->a, *b = &k->b;
  if (b->n >= 3)
    for (int i = 0; i < a->n; i++)
      if (!a->out[i] && a->near >> i & 1)
        add(k, a->x[i], a->y[i], a->z[i], height(b, a->x[i], a->y[i]),
            kn_key(kn_code_vertex(pa->id[i]), kn_code_face(pb->face)));
  int first = k->count;
  if (a->n >= 3)
    for (int i = 0; i < b->n; i++)
      if (!b->out[i] && b->near >> i & 1 && !near_existing(k, first, b->x[i], b->y[i]))
        add(k, b->x[i], b->y[i], height(a, b->x[i], b->y[i]), b->z[i],
            kn_key(kn_code_face(pa->face), kn_code_vertex(pb->id[i])));
}

static void crossing(clip* k, const kn_patch* pa, const kn_patch* pb, int i, int j) {
  const flat *a = &k->a, *b = &k->b;
  int i1 = after(a, i), j1 = after(b, j);
  /* side of A's ends of B's line and of B's ends of A's line */
  double s0 = b->mx[j] * a->x[i] + b->my[j] * a->y[i] - b->c[j],
         s1 = b->mx[j] * a->x[i1] + b->my[j] * a->y[i1] - b->c[j];
  double t0 = a->mx[i] * b->x[j] + a->my[i] * b->y[j] - a->c[i],
         t1 = a->mx[i] * b->x[j1] + a->my[i] * b->y[j1] - a->c[i];
  if (!(fabs(s0 - s1) > 0) || !(fabs(t0 - t1) > 0)) return;
  double s = s0 / (s0 - s1), t = t0 / (t0 - t1);
  /* lines that run side by side within the slack may cross far behind an end, which then counts itself */
  if (s < 0.0 || s > 1.0 || t < 0.0 || t > 1.0) return;
  double x = a->x[i] + s * (a->x[i1] - a->x[i]), y = a->y[i] + s * (a->y[i1] - a->y[i]);
  double za = a->z[i] + s * (a->z[i1] - a->z[i]), zb = b->z[j] + t * (b->z[j1] - b->z[j]);
  add(k, x, y, za, zb, kn_key(code_edge(pa->id[i], pa->id[i1]), code_edge(pb->id[j], pb->id[j1])));
}

static void edge_crossings(clip* k, const kn_patch* pa, const kn_patch* pb) {
  const flat *a = &k->a, *b = &k->b;
  for (int i = 0; i < edges(a); i++) {
    uint64_t differ = a->out[i] ^ a->out[after(a, i)];
    if (!((a->near >> i | a->near >> after(a, i)) & 1)) continue;
    while (differ) {
      int j = __builtin_ctzll(differ);
      differ &= differ - 1;
      if (!((b->near >> j | b->near >> after(b, j)) & 1)) continue;
      if ((b->out[j] ^ b->out[after(b, j)]) >> i & 1) crossing(k, pa, pb, i, j);
    }
  }
}

/* Two lines that run alongside: ends of either within the extent of the other, where they are on top of each
 * other. */
static void line_line(clip* k, const kn_patch* pa, const kn_patch* pb, double size) {
  const flat* f[2] = {&k->a, &k->b};
  for (int side = 0; side < 2; side++) {
    const flat *p = f[side], *q = f[1 - side];
    double dx = q->x[1] - q->x[0], dy = q->y[1] - q->y[0], dd = dx * dx + dy * dy;
    if (!(dd > 0)) return;
    for (int i = 0; i < 2; i++) {
      double t = ((p->x[i] - q->x[0]) * dx + (p->y[i] - q->y[0]) * dy) / dd;
      double off = fabs((p->x[i] - q->x[0]) * dy - (p->y[i] - q->y[0]) * dx) / sqrt(dd);
      if (t < -KN_PATCH_SLACK || t > 1 + KN_PATCH_SLACK || off > 1e-3 * size) continue;
      if (side && near_existing(k, k->count, p->x[i], p->y[i])) continue;
      double zq = q->z[0] + t * (q->z[1] - q->z[0]), za = side ? zq : p->z[i], zb = side ? p->z[i] : zq;
      uint32_t v = kn_code_vertex((side ? pb : pa)->id[i]),
               e = code_edge((side ? pa : pb)->id[0], (side ? pa : pb)->id[1]);
      add(k, p->x[i], p->y[i], za, zb, side ? kn_key(e, v) : kn_key(v, e));
    }
  }
}

static double area(const candidate* o, const candidate* p, const candidate* q) {
  return (p->x - o->x) * (q->y - o->y) - (p->y - o->y) * (q->x - o->x);
}

/* Twice the area spanned by up to four points given in any order: the larger of the two pairs of diagonals.
 */
static double span(const candidate* c, const int* id, int n) {
  if (n < 3) return 0;
  if (n == 3) return fabs(area(&c[id[0]], &c[id[1]], &c[id[2]]));
  double best = 0;
  static const int pairs[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};
  for (int k = 0; k < 3; k++) {
    const candidate *p = &c[id[pairs[k][0]]], *q = &c[id[pairs[k][1]]], *r = &c[id[pairs[k][2]]],
                    *s = &c[id[pairs[k][3]]];
    double d = fabs((q->x - p->x) * (s->y - r->y) - (q->y - p->y) * (s->x - r->x));
    if (d > best) best = d;
  }
  return best;
}

static int choose_fresh(int pick[4], const candidate* c, int n) {
  int i0 = 0, i1 = 0, i2 = -1, i3 = -1;
  for (int i = 1; i < n; i++)
    if (c[i].gap < c[i0].gap) i0 = i;
  double far = -1;
  for (int i = 0; i < n; i++) {
    double dx = c[i].x - c[i0].x, dy = c[i].y - c[i0].y, d = dx * dx + dy * dy;
    if (d > far) far = d, i1 = i;
  }
  double most = 0, least = 0;
  for (int i = 0; i < n; i++) {
    double s = area(&c[i0], &c[i1], &c[i]);
    if (s > most) most = s, i2 = i;
    if (s < least) least = s, i3 = i;
  }
  int m = 0;
  pick[m++] = i0;
  if (i1 != i0) pick[m++] = i1;
  if (i2 >= 0) pick[m++] = i2;
  if (i3 >= 0) pick[m++] = i3;
  return m;
}

static int choose_last(int pick[4], const candidate* c, int n, const kn_pair_cache* cache) {
  int m = 0;
  for (int k = 0; k < cache->key_count && k < 8; k++)
    for (int i = 0; i < n && m < 4; i++)
      if (c[i].key == cache->key[k]) {
        pick[m++] = i;
        break;
      }
  return m;
}

static double deepest(const candidate* c, const int* pick, int n) {
  double g = INFINITY;
  for (int i = 0; i < n; i++) g = kn_min(c[pick[i]].gap, g);
  return g;
}

int kn_candidates_choose(int pick[4], const kn_candidate* c, int n, double size, const kn_pair_cache* cache) {
  if (n <= 4) {
    for (int i = 0; i < n; i++) pick[i] = i;
    return n;
  }
  int m = choose_fresh(pick, c, n), last[8];
  int k = choose_last(last, c, n, cache);
  if (k >= m && deepest(c, last, k) <= deepest(c, pick, m) + KN_PATCH_SLACK * size &&
      span(c, last, k) >= 0.8 * span(c, pick, m)) {
    for (int i = 0; i < k; i++) pick[i] = last[i];
    return k;
  }
  return m;
}

static bool keep_deep(clip* k, double margin) {
  int n = 0;
  for (int i = 0; i < k->count; i++)
    if (k->c[i].gap <= margin) k->c[n++] = k->c[i];
  k->count = n;
  return n > 0;
}

INLINE void project(clip* k, const kn_patch* a, const kn_patch* b, int na, int nb) {
  flatten(&k->a, a, k, na);
  flatten(&k->b, b, k, nb);
  mark_near(&k->a, &k->b, 1, k->margin, na, nb);
  mark_near(&k->b, &k->a, -1, k->margin, nb, na);
  if (!k->a.near && !k->b.near) return;
  border(&k->a, k, -1, na);
  border(&k->b, k, 1, nb);
  classify(&k->a, &k->b, na, nb);
  classify(&k->b, &k->a, nb, na);
}

static void intersect(clip* k, const kn_patch* a, const kn_patch* b, v3 n, double size, double slack,
                      double margin) {
  k->margin = margin, k->n = n, k->e1 = v3_perp(n), k->e2 = v3_cross(n, k->e1);
  k->slack = slack * size, k->count = 0;
  if (a->n == 4 && b->n == 4) {
    project(k, a, b, 4, 4);
  } else if (a->n == 3 && b->n == 3) {
    project(k, a, b, 3, 3);
  } else {
    project(k, a, b, a->n, b->n);
    if (a->n == 2 && b->n == 2) return line_line(k, a, b, size);
  }
  vertices_inside(k, a, b);
  edge_crossings(k, a, b);
}

/* A flat contact needs a face (or line) square to the normal on at least one side and a usable one on the
 * other. */
static bool flat_contact(const kn_patch* a, const kn_patch* b, const kn_pair_cache* cache) {
  double limit = cache->key_count > 1 ? 0.96 : 0.97;
  return a->n >= 2 && b->n >= 2 && a->align > 0.1 && b->align > 0.1 && kn_max(b->align, a->align) > limit;
}

int kn_patch_contacts(kn_contact_point* out, int room, const kn_patch* a, const kn_patch* b,
                      const kn_core_gap* nearest, double size, double slack, double margin,
                      kn_pair_cache* cache) {
  int count = 0, pick[CANDIDATE_MAX];
  double least = INFINITY;
  if (flat_contact(a, b, cache)) {
    clip k;
    intersect(&k, a, b, nearest->n, size, slack, margin);
    if (keep_deep(&k, margin)) {
      if (room <= KN_MANIFOLD_MAX)
        count = kn_candidates_choose(pick, k.c, k.count, size, cache);
      else
        for (; count < k.count && count < room - 1; count++) pick[count] = count;
      for (int i = 0; i < count; i++) {
        const candidate* c = &k.c[pick[i]];
        v3 p = v3_axpy(v3_axpy(v3_mul(k.e1, c->x), c->y, k.e2), c->za, k.n);
        kn_put_a(out + i, c->key, k.n, c->gap, p);
        least = kn_min(c->gap, least);
      }
    }
    cache->feature[0] = a->face + 1, cache->feature[1] = b->face + 1;
  }
  if (least <= nearest->gap + 1e-8 * size || !(nearest->gap <= margin)) return count;
  kn_contact_point* c = count < room ? out + count++ : out;
  if (c == out && count == room) /* full: the shallowest makes room */
    for (int i = 1; i < count; i++)
      if (out[i].gap > c->gap) c = out + i;
  kn_put_a(c, kn_key((uint32_t)nearest->fa, (uint32_t)nearest->fb), nearest->n, nearest->gap, nearest->a);
  return count;
}
