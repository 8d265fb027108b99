/* Contact points of two boxes along a direction d that a face of one of them, the reference box, looks along
   (exactly, or nearly when two edges cross).

   In the reference box's frame its face is the rectangle |x| <= h, |y| <= k in the plane z = 0 (z outward).
   Moved along d onto that plane, the face of the other box that looks at it is the parallelogram
   c + a p + b q with |a|, |b| <= 1; x and y are where a point arrives, z is how far it moved. A contact is a
   corner of one inside the other (within a slack of 1e-7 of the size) or a crossing of two edges whose ends
   are clearly on different sides, between these ends (lines that run side by side within the slack may cross far behind one); its gap is the height of the parallelogram there. With d = p x q, a corner
   r of the rectangle has a = (r - c) x q / d and b = p x (r - c) / d. The rules and keys are those of
   manifold.c, which serves all other faces. Included once per instruction set. */
#include <string.h>

#include "collide/lanes.h"
#include "collide/pair/manifold.h"
#include "collide/pair/pair_box.h"

#define PARTS (4 / KN_W)
typedef union four { /* one number per corner */
  vec v[PARTS];
  double at[4];
} four;

/* c + x side_x + y side_y; corners go round, edge e runs from corner e to e + 1 */
static const four side_x = {.at = {-1, 1, 1, -1}}, side_y = {.at = {-1, -1, 1, 1}};
LANES four corners(double c, double x, double y) {
  four o;
  UNROLL for (int i = 0; i < PARTS; i++) o.v[i] = c + side_x.v[i] * x + side_y.v[i] * y;
  return o;
}
/* a x + b y */
LANES four combine(double a, four x, double b, four y) {
  four o;
  UNROLL for (int i = 0; i < PARTS; i++) o.v[i] = a * x.v[i] + b * y.v[i];
  return o;
}
LANES unsigned above(four a, double limit) {
  unsigned m = 0;
  UNROLL for (int i = 0; i < PARTS; i++) m |= bits_of(a.v[i] > limit) << i * KN_W;
  return m;
}
LANES unsigned below(four a, double limit) {
  unsigned m = 0;
  UNROLL for (int i = 0; i < PARTS; i++) m |= bits_of(a.v[i] < limit) << i * KN_W;
  return m;
}

typedef struct face {
  int axis, i, j, face;
} face;

static face face_of(int axis, bool up) {
  static const uint8_t next[3] = {1, 2, 0}, last[3] = {2, 0, 1};
  return (face){axis, next[axis], last[axis], 2 * axis + up};
}

/* Feature codes of a face: its corners in order, its edges in order, itself; numbered as in manifold.c. */
#define CORNER(id)   (1u << 30 | (id))
#define EDGE(lo, hi) (2u << 30 | (lo) << 15 | (hi))
#define FACE(f)      (3u << 30 | (f))
enum { WHOLE = 8 }; /* edges from 4 on */
static const uint32_t codes[6][9] = {
    {CORNER(0), CORNER(2), CORNER(6), CORNER(4), EDGE(0, 2), EDGE(2, 6), EDGE(4, 6), EDGE(0, 4), FACE(0)},
    {CORNER(1), CORNER(3), CORNER(7), CORNER(5), EDGE(1, 3), EDGE(3, 7), EDGE(5, 7), EDGE(1, 5), FACE(1)},
    {CORNER(0), CORNER(4), CORNER(5), CORNER(1), EDGE(0, 4), EDGE(4, 5), EDGE(1, 5), EDGE(0, 1), FACE(2)},
    {CORNER(2), CORNER(6), CORNER(7), CORNER(3), EDGE(2, 6), EDGE(6, 7), EDGE(3, 7), EDGE(2, 3), FACE(3)},
    {CORNER(0), CORNER(1), CORNER(3), CORNER(2), EDGE(0, 1), EDGE(1, 3), EDGE(2, 3), EDGE(0, 2), FACE(4)},
    {CORNER(4), CORNER(5), CORNER(7), CORNER(6), EDGE(4, 5), EDGE(5, 7), EDGE(6, 7), EDGE(4, 6), FACE(5)},
};

/* what: place in the codes of the reference face, times 16, plus that of the other */
LANES uint64_t key_of(unsigned what, const face* ref, const face* inc, bool swap) {
  uint32_t r = codes[ref->face][what >> 4], i = codes[inc->face][what & 15];
  return swap ? kn_key(i, r) : kn_key(r, i);
}

#define STICKY 1e-6 /* as in manifold_patch.c */

/* The face that looks most along d; last frame's stays while it is as good. */
static face facing(double* align, v3 d, int last) {
  double m[3] = {fabs(d.x), fabs(d.y), fabs(d.z)}, l[3] = {d.x, d.y, d.z};
  double top = kn_max(kn_max(m[2], m[1]), m[0]);
  int axis = m[0] == top ? 0 : m[1] == top ? 1 : 2;
  if (last > 0 && last <= 6) {
    int k = (last - 1) >> 1;
    if (((last - 1) & 1 ? l[k] : -l[k]) > top - STICKY) axis = k, top = m[k];
  }
  *align = top;
  return face_of(axis, l[axis] > 0);
}

/* Corners of A in the places 0 to 3, of B in 4 to 7, crossings behind; `order` lists the n that are contacts.
 */
typedef struct found {
  double at[2][24] __attribute__((aligned(32))), gap[24]; /* x and y */
  uint8_t what[24], order[24];
  int n;
  double margin;
} found;

/* Four corners at the places from first on; returns which of `inside` are within the margin. */
LANES unsigned put_corners(found* f, int first, four x, four y, four z, unsigned what, unsigned step,
                           unsigned inside) {
  UNROLL for (int i = 0; i < PARTS; i++) {
    memcpy(f->at[0] + first + i * KN_W, &x.v[i], sizeof x.v[i]);
    memcpy(f->at[1] + first + i * KN_W, &y.v[i], sizeof y.v[i]);
    memcpy(f->gap + first + i * KN_W, &z.v[i], sizeof z.v[i]);
  }
  uint32_t names = what * 0x01010101u + step * 0x03020100u;
  memcpy(f->what + first, &names, sizeof names);
  unsigned within = 0;
  UNROLL for (int i = 0; i < PARTS; i++) within |= bits_of(z.v[i] <= f->margin) << i * KN_W;
  return inside & within;
}

/* Which corners (x, y) are near one of the first four that are contacts? */
LANES unsigned near_first(const found* f, unsigned first, four x, four y, double r) {
  unsigned near = 0;
  for (; first; first &= first - 1) {
    int k = __builtin_ctz(first);
    UNROLL for (int i = 0; i < PARTS; i++) near |=
        bits_of((absolute(f->at[0][k] - x.v[i]) <= r) & (absolute(f->at[1][k] - y.v[i]) <= r)) << i * KN_W;
  }
  return near;
}

/* The deepest, the farthest from it, the farthest from their line on either side; of equal ones the first. */
LANES int spread_four(int pick[4], const found* f, const uint8_t* order, int n) {
  int i0 = order[0], i1 = i0, i2 = -1, i3 = -1, m = 0;
  double low = f->gap[i0];
  for (int k = 1; k < n; k++) {
    int i = order[k];
    if (f->gap[i] < low) low = f->gap[i], i0 = i;
  }
  double far = -1, most = 0, least = 0, x = f->at[0][i0], y = f->at[1][i0];
  for (int k = 0; k < n; k++) {
    int i = order[k];
    double dx = f->at[0][i] - x, dy = f->at[1][i] - y, d = dx * dx + dy * dy;
    if (d > far) far = d, i1 = i;
  }
  double ex = f->at[0][i1] - x, ey = f->at[1][i1] - y;
  for (int k = 0; k < n; k++) {
    int i = order[k];
    double a = ex * (f->at[1][i] - y) - ey * (f->at[0][i] - x);
    if (a > most) most = a, i2 = i;
    if (a < least) least = a, i3 = i;
  }
  pick[m++] = i0;
  if (i1 != i0) pick[m++] = i1;
  if (i2 >= 0) pick[m++] = i2;
  if (i3 >= 0) pick[m++] = i3;
  return m;
}

/* The choice of kn_candidates_choose; when it is last frame's there is nothing to weigh. */
LANES int choose_four(int pick[4], const found* f, const face* ref, const face* inc, bool swap, double size,
                      const kn_pair_cache* cache) {
  int n = f->n, m = 0;
  const uint8_t* order = f->order;
  if (n <= 4) {
    for (int i = 0; i < n; i++) pick[i] = order[i];
    return n;
  }
  m = spread_four(pick, f, order, n);
  bool same = cache->key_count == m;
  for (int i = 0; same && i < m; i++) same = key_of(f->what[pick[i]], ref, inc, swap) == cache->key[i];
  if (same || cache->key_count == 0) return m;
  kn_candidate c[24];
  for (int k = 0; k < n; k++) {
    int i = order[k];
    c[k] = (kn_candidate){f->at[0][i], f->at[1][i], 0, f->gap[i], key_of(f->what[i], ref, inc, swap)};
  }
  m = kn_candidates_choose(pick, c, n, size, cache);
  for (int i = 0; i < m; i++) pick[i] = order[pick[i]];
  return m;
}

#if KN_W == 2
/* Edge e of the rectangle (limits: its half sides) and edge f of the parallelogram v = x, y, z. */
LANES unsigned crossing(found* p, const four v[3], const double limits[2], int e, int f) {
  int g = (f + 1) & 3, m = ~e & 1, n = 8 + 4 * e + f;        /* m: the coordinate that is constant along e */
  double at = side_x.at[e] * limits[m], s = v[m].at[f] - at; /* edges 1 and 2 are the upper ones */
  double t = s / (s - (v[m].at[g] - at)), along = v[1 - m].at[f] + t * (v[1 - m].at[g] - v[1 - m].at[f]);
  p->at[m][n] = at, p->at[1 - m][n] = along;
  p->gap[n] = v[2].at[f] + t * (v[2].at[g] - v[2].at[f]);
  p->what[n] = (uint8_t)(16 * (4 + e) + 4 + f);
  bool between = t >= 0.0 && t <= 1.0 && fabs(along) <= limits[1 - m];
  return (unsigned)(between && p->gap[n] <= p->margin) << (4 * e + f);
}
/* Those in `cross`, at the places 8 + 4 e + f; returns which are within the margin. */
LANES unsigned cross_edges(found* p, const four v[3], const double limits[2], unsigned cross) {
  unsigned within = 0;
  for (unsigned m = cross; m; m &= m - 1) {
    int at = __builtin_ctz(m);
    within |= crossing(p, v, limits, at >> 2, at & 3);
  }
  return within;
}
#else
/* of the next corner */
LANES four turned(four a) {
  four o = {{__builtin_shufflevector(a.v[0], a.v[0], 1, 2, 3, 0)}};
  return o;
}

/* Where the lines of the edges cross, those of the rectangle (limits: its half sides) and those of the
   parallelogram v = x, y, z: edge e of the one and f of the other at the place 8 + 4 e + f. All at once,
   because that is cheaper than to choose. Returns which are within the margin. */
LANES unsigned cross_edges(found* p, const four v[3], const double limits[2], unsigned cross) {
  const four next[3] = {turned(v[0]), turned(v[1]), turned(v[2])};
  unsigned within = 0;
  UNROLL for (int e = 0; e < 4; e++) {
    int m = ~e & 1;                       /* the coordinate that is constant along e */
    double at = side_x.at[e] * limits[m]; /* edges 1 and 2 are the upper ones */
    UNROLL for (int i = 0; i < PARTS; i++) {
      int place = 8 + 4 * e + i * KN_W;
      vec s = v[m].v[i] - at, t = s / (s - (next[m].v[i] - at));
      vec z = v[2].v[i] + t * (next[2].v[i] - v[2].v[i]);
      vec along = v[1 - m].v[i] + t * (next[1 - m].v[i] - v[1 - m].v[i]);
      *(loose*)(p->at[m] + place) = splat(at), *(loose*)(p->gap + place) = z;
      *(loose*)(p->at[1 - m] + place) = along;
      within |= bits_of((z <= p->margin) & (t >= 0.0) & (t <= 1.0) & (absolute(along) <= limits[1 - m]))
                << (4 * e + i * KN_W);
    }
  }
  static const uint8_t names[16] = {0x44, 0x45, 0x46, 0x47, 0x54, 0x55, 0x56, 0x57,
                                    0x64, 0x65, 0x66, 0x67, 0x74, 0x75, 0x76, 0x77};
  memcpy(p->what + 8, names, sizeof names);
  return cross & within;
}

#endif

/* Bits 4 i + k to 4 k + i. */
LANES unsigned transposed(unsigned x) {
  unsigned t = (x ^ x >> 3) & 0x0a0a;
  x ^= t ^ t << 3;
  t = (x ^ x >> 6) & 0x00cc;
  return x ^ t ^ t << 6;
}
/* Per group of four bits: which neighbours differ. */
LANES unsigned changes(unsigned x) { return x ^ ((x >> 1 & 0x7777) | (x << 3 & 0x8888)); }

/* All points with gap <= margin; coordinates in the rectangle's frame. */
static void intersect(found* out, const double c[3], const double p[3], const double q[3],
                      const double limits[2], double slack, bool swap) {
  four v[3];
  UNROLL for (int i = 0; i < 3; i++) v[i] = corners(c[i], p[i], q[i]);
  out->n = 0;
  if (above(v[2], out->margin) == 15) return; /* every point is between the corners */
  double d = p[0] * q[1] - p[1] * q[0], sign = d < 0 ? -1 : 1, h = limits[0], k = limits[1];
  d *= sign;
  four ox = corners(-c[0], h, 0), oy = corners(-c[1], 0, k);
  four a = combine(sign * q[1], ox, -sign * q[0], oy), b = combine(sign * p[0], oy, -sign * p[1], ox);
  double da = d + slack * (fabs(q[0]) + fabs(q[1])), db = d + slack * (fabs(p[0]) + fabs(p[1]));
  /* four bits per edge: which corners of the other figure are beyond it */
  unsigned beyond_ref = below(v[1], -k - slack) | above(v[0], h + slack) << 4 | above(v[1], k + slack) << 8 |
                        below(v[0], -h - slack) << 12;
  unsigned beyond_inc = below(b, -db) | above(a, da) << 4 | above(b, db) << 8 | below(a, -da) << 12;
  unsigned in_ref = ~(beyond_ref | beyond_ref >> 4 | beyond_ref >> 8 | beyond_ref >> 12) & 15;
  unsigned in_inc = ~(beyond_inc | beyond_inc >> 4 | beyond_inc >> 8 | beyond_inc >> 12) & 15;
  double per_a = p[2] / d, per_b = q[2] / d;
  four x = corners(0, h, 0), y = corners(0, 0, k), z;
  UNROLL for (int i = 0; i < PARTS; i++) z.v[i] = c[2] + per_a * a.v[i] + per_b * b.v[i];
  /* A's corners first, then those of B that are not the same */
  int of_ref = swap ? 4 : 0, of_inc = 4 - of_ref;
  unsigned r = put_corners(out, of_ref, x, y, z, WHOLE, 16, in_inc);
  unsigned i = put_corners(out, of_inc, v[0], v[1], v[2], 16 * WHOLE, 1, in_ref);
  if (swap && r)
    r &= ~near_first(out, i, x, y, 2 * slack);
  else if (!swap && i)
    i &= ~near_first(out, r, v[0], v[1], 2 * slack);
  unsigned cross = changes(beyond_ref) & transposed(changes(beyond_inc));
  if (cross) cross = cross_edges(out, v, limits, cross);
  for (unsigned m = r << of_ref | i << of_inc | cross << 8; m; m &= m - 1)
    out->order[out->n++] = (uint8_t)__builtin_ctz(m);
}

/* What is known of the contacts, and where they are in the world. */
typedef struct clipped {
  found all;
  face ref, inc;
  bool swap;
  int n, pick[4];
  v3 origin, ex, ey, normal;
} clipped;

/* d: unit, from the reference box towards the other, in the frame of the reference. axis: of the reference
   face if it is d, else -1. False: no face of the other box looks at it. */
LANES bool box_clip(clipped* o, const kn_box_view* w, v3 d, int axis, double margin, kn_pair_cache* cache) {
  const double *R = w->R, *hr = w->ref, *hi = w->inc;
  double align, to[3] = {d.x, d.y, d.z};
  face ref = axis >= 0 ? face_of(axis, to[axis] > 0) : facing(&align, d, cache->feature[w->swap]);
  face inc = facing(&align, v3_neg(m3_tmul(R, d)), cache->feature[!w->swap]);
  if (!(align > 0.1)) return false;
  int x = ref.i, y = ref.j, z = ref.axis;
  double s = ref.face & 1 ? 1 : -1, si = (inc.face & 1 ? 1 : -1) * hi[inc.axis], a = hi[inc.i], b = hi[inc.j];
  double per = 1 / (s * to[z]), kx = to[x] * per, ky = to[y] * per;
  double cz = s * (w->t[z] + si * R[3 * z + inc.axis]) - hr[z];
  double pz = s * a * R[3 * z + inc.i], qz = s * b * R[3 * z + inc.j];
  double c[3] = {w->t[x] + si * R[3 * x + inc.axis] - cz * kx, w->t[y] + si * R[3 * y + inc.axis] - cz * ky,
                 cz * per};
  double p[3] = {a * R[3 * x + inc.i] - pz * kx, a * R[3 * y + inc.i] - pz * ky, pz * per};
  double q[3] = {b * R[3 * x + inc.j] - qz * kx, b * R[3 * y + inc.j] - qz * ky, qz * per};
  o->all.margin = margin;
  const double limits[2] = {hr[x], hr[y]};
  intersect(&o->all, c, p, q, limits, KN_PATCH_SLACK * w->size, w->swap);
  cache->feature[w->swap] = ref.face + 1, cache->feature[!w->swap] = inc.face + 1;
  o->n = choose_four(o->pick, &o->all, &ref, &inc, w->swap, w->size, cache);
  o->ref = ref, o->inc = inc, o->swap = w->swap;
  const kn_pose* P = w->pose;
  v3 away = m3_mul(P->R, d);
  o->ex = m3_col(P->R, x), o->ey = m3_col(P->R, y), o->normal = w->swap ? away : v3_neg(away);
  o->origin = v3_axpy(v3_of(P->p), s * hr[z], m3_col(P->R, z));
  return true;
}

LANES int put_points(kn_contact_point* out, const clipped* o) {
  for (int i = 0; i < o->n; i++) {
    int k = o->pick[i];
    v3 foot = v3_axpy(v3_axpy(o->origin, o->all.at[0][k], o->ex), o->all.at[1][k], o->ey);
    uint64_t key = key_of(o->all.what[k], &o->ref, &o->inc, o->swap);
    if (o->swap)
      kn_put_b(out + i, key, o->normal, o->all.gap[k], foot);
    else
      kn_put_a(out + i, key, o->normal, o->all.gap[k], foot);
  }
  return o->n;
}
