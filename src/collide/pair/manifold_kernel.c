/* Intersection of two contact patches.

   In the plane perpendicular to n with coordinates (x, y) and height z = p.n, a point of the intersection is
     - a vertex of A's patch inside B's (within a slack of 1e-7 of the size),
     - a vertex of B's patch inside A's,
     - a crossing of two edges whose ends are clearly on different sides,
   and its gap is the height of A's patch over B's. The classification does not depend on which face one would
   call the reference, so keys do not change when noise tilts the normal between the two faces; the slack
   keeps vertices that lie on a boundary from turning into crossings. KN_W
   vertices or edges are looked at side by side. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/lanes.h"
#include "collide/pair/manifold.h"

#define CANDIDATE_MAX 260

enum { ROOM = KN_PATCH_MAX + KN_W }; /* whole groups of KN_W, and the first vertex again behind the last */

typedef struct flat {
  int n;
  double x[ROOM], y[ROOM], z[ROOM];
  double mx[ROOM], my[ROOM], c[ROOM]; /* on an edge mx x + my y = c, */
  double low[ROOM];                   /* inside mx x + my y >= low, a slack below c */
  double sx, sy, z0;                  /* polygons: z = z0 + sx x + sy y */
  uint64_t out[KN_PATCH_MAX];         /* edges of the other patch this vertex is outside of */
} flat;

typedef kn_candidate candidate;

typedef struct clip {
  flat a, b;
  v3 e1, e2, n;
  double slack;
  candidate c[CANDIDATE_MAX];
  int count;
} clip;

/* Loops over patches take their sizes as arguments and are inlined, so that the common cases are unrolled. */
static int edges(const flat* f) { return f->n == 2 ? 1 : f->n; }
LANES int edge_count(int n) { return n == 2 ? 1 : n; }
static int after(const flat* f, int i) { return i + 1 == f->n ? 0 : i + 1; }

/* KN_W vertices from the i-th on, coordinates side by side; behind the last the first one. */
LANES void gather(vec* x, vec* y, vec* z, const kn_patch* p, int i, int n) {
#if KN_W == 4
#define LOW(a, b)    __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define HIGH(a, b)   __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define FIRST(a, b)  __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
  row v[4]; /* the fourth number of a row is the next vertex or what follows them */
  UNROLL for (int k = 0; k < 4; k++) v[k] = row_at(&p->p[i + k < n ? i + k : 0].x);
  row a = LOW(v[0], v[1]), b = LOW(v[2], v[3]);
  *x = FIRST(a, b), *y = FIRST(HIGH(v[0], v[1]), HIGH(v[2], v[3])), *z = SECOND(a, b);
#else
  const v3 *a = &p->p[i], *b = &p->p[i + 1 < n ? i + 1 : 0];
  *x = (vec){a->x, b->x}, *y = (vec){a->y, b->y}, *z = (vec){a->z, b->z};
#endif
}
LANES vec along(vec x, vec y, vec z, v3 e) { return x * e.x + y * e.y + z * e.z; }
LANES void put(double* p, vec a) { *(loose*)p = a; }

/* orientation +1: counter-clockwise seen along -n (B's patches), -1 for A's. */
LANES void flatten(flat* f, const kn_patch* p, const clip* k, double orientation, int n) {
  f->n = n;
  for (int i = 0; i < n; i += KN_W) {
    vec x, y, z;
    gather(&x, &y, &z, p, i, n);
    put(f->x + i, along(x, y, z, k->e1)), put(f->y + i, along(x, y, z, k->e2)),
        put(f->z + i, along(x, y, z, k->n));
  }
  f->x[n] = f->x[0], f->y[n] = f->y[0];
  for (int i = 0; i < n; i += KN_W) { /* behind the last edge: not used */
    vec x = load(f->x + i), y = load(f->y + i);
    vec dx = (load(f->x + i + 1) - x) * orientation, dy = (load(f->y + i + 1) - y) * orientation;
    vec mx = -dy, my = dx,
        c = mx * x + my * y; /* not normalised: the slack is scaled instead, by |dx| + |dy| >= the length */
    put(f->mx + i, mx), put(f->my + i, my), put(f->c + i, c);
    put(f->low + i, c - k->slack * (absolute(dx) + absolute(dy)));
  }
  f->sx = f->sy = f->z0 = 0;
  if (n < 3) return;
  double nx = v3_dot(p->normal, k->e1), ny = v3_dot(p->normal, k->e2), nz = v3_dot(p->normal, k->n);
  f->sx = -nx / nz, f->sy = -ny / nz;
  f->z0 = f->z[0] - f->sx * f->x[0] - f->sy * f->y[0];
}

LANES void classify(flat* f, const flat* other, int n, int m) {
  uint64_t edges_of = UINT64_MAX >> (64 - edge_count(m));
  for (int i = 0; i < n; i++) {
    uint64_t bits = 0;
    for (int j = 0; j < edge_count(m); j += KN_W)
      bits |= (uint64_t)bits_of(load(other->mx + j) * f->x[i] + load(other->my + j) * f->y[i] <
                                load(other->low + j))
              << j;
    f->out[i] = bits & edges_of;
  }
}

static double height(const flat* f, double x, double y) { return f->z0 + f->sx * x + f->sy * y; }

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
      if (!a->out[i])
        add(k, a->x[i], a->y[i], a->z[i], height(b, a->x[i], a->y[i]),
            kn_key(kn_code_vertex(pa->id[i]), kn_code_face(pb->face)));
  int first = k->count;
  if (a->n >= 3)
    for (int i = 0; i < b->n; i++)
      if (!b->out[i] && !near_existing(k, first, b->x[i], b->y[i]))
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
  double x = a->x[i] + s * (a->x[i1] - a->x[i]), y = a->y[i] + s * (a->y[i1] - a->y[i]);
  double za = a->z[i] + s * (a->z[i1] - a->z[i]), zb = b->z[j] + t * (b->z[j1] - b->z[j]);
  add(k, x, y, za, zb, kn_key(code_edge(pa->id[i], pa->id[i1]), code_edge(pb->id[j], pb->id[j1])));
}

static void edge_crossings(clip* k, const kn_patch* pa, const kn_patch* pb) {
  const flat *a = &k->a, *b = &k->b;
  for (int i = 0; i < edges(a); i++) {
    uint64_t differ = a->out[i] ^ a->out[after(a, i)];
    while (differ) {
      int j = __builtin_ctzll(differ);
      differ &= differ - 1;
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

static bool keep_deep(clip* k, double margin) {
  int n = 0;
  for (int i = 0; i < k->count; i++)
    if (k->c[i].gap <= margin) k->c[n++] = k->c[i];
  k->count = n;
  return n > 0;
}

LANES void project(clip* k, const kn_patch* a, const kn_patch* b, int na, int nb) {
  flatten(&k->a, a, k, -1, na);
  flatten(&k->b, b, k, 1, nb);
  classify(&k->a, &k->b, na, nb);
  classify(&k->b, &k->a, nb, na);
}

static void intersect(clip* k, const kn_patch* a, const kn_patch* b, v3 n, double size, double slack) {
  k->n = n, k->e1 = v3_perp(n), k->e2 = v3_cross(n, k->e1);
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

int KN_NAME(kn_patch_clip)(kn_contact_point* out, int room, const kn_patch* a, const kn_patch* b,
                           const kn_core_gap* nearest, double size, double slack, double margin,
                           kn_pair_cache* cache) {
  int count = 0, pick[CANDIDATE_MAX];
  double least = INFINITY;
  if (flat_contact(a, b, cache)) {
    clip k;
    intersect(&k, a, b, nearest->n, size, slack);
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
