/* Which of many contact points are kept, and the way to the kernel that finds them (manifold_kernel.c). Of more than four points the
   deepest, the farthest from it and the two that span most area on either side are kept; last frame's choice stays
   while it spans 0.8 of the area and holds a point as deep. */
#include "collide/pair/manifold.h"

#include "base/isa.h"

typedef kn_candidate candidate;

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

int kn_patch_contacts(kn_contact_point* out, int room, const kn_patch* a, const kn_patch* b,
                      const kn_core_gap* nearest, double size, double slack, double margin,
                      kn_pair_cache* cache) {
  return KN_BEST(kn_patch_clip)(out, room, a, b, nearest, size, slack, margin, cache);
}

void kn_patch_of(kn_patch* out, const kn_core* c, v3 d, int last) { KN_BEST(kn_patch_face)(out, c, d, last); }
