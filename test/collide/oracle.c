/* Overlapping polytopes against an exhaustive separating-axis search in long double that shares nothing with
   the library: every face normal and every pair of edge directions, each with the full support. */
#include <string.h>

#include "model/hull.h"
#include "shapes.h"
#include "test.h"

typedef long double real;

typedef struct poly {
  int nv, nf, ne;
  real v[128][3], f[256][3], e[400][3];
} poly;

static void world(real out[3], const kn_pose* P, const double x[3], bool point) {
  for (int i = 0; i < 3; i++) {
    out[i] = point ? P->p[i] : 0;
    for (int j = 0; j < 3; j++) out[i] += (real)P->R[3 * i + j] * x[j];
  }
}

static void from_box(poly* p, const double h[3], const kn_pose* P) {
  p->nv = 8, p->nf = 3, p->ne = 3; /* directions: signs are tried by the search */
  for (int i = 0; i < 8; i++) {
    double x[3] = {i & 1 ? h[0] : -h[0], i & 2 ? h[1] : -h[1], i & 4 ? h[2] : -h[2]};
    world(p->v[i], P, x, true);
  }
  for (int i = 0; i < 3; i++) {
    double x[3] = {i == 0, i == 1, i == 2};
    world(p->f[i], P, x, false);
    memcpy(p->e[i], p->f[i], sizeof p->e[i]);
  }
}

static void from_hull(poly* p, const kn_hull* h, const kn_pose* P) {
  p->nv = h->nv, p->nf = h->nf, p->ne = h->ne;
  for (int i = 0; i < h->nv; i++) {
    double x[3] = {h->x[i], h->y[i], h->z[i]};
    world(p->v[i], P, x, true);
  }
  for (int i = 0; i < h->nf; i++) world(p->f[i], P, h->plane + 4 * i, false);
  for (int i = 0; i < h->ne; i++)
    for (int k = 0; k < 3; k++) p->e[i][k] = p->v[h->edge[4 * i + 1]][k] - p->v[h->edge[4 * i]][k];
}

static real dotr(const real* a, const real* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Best of the two directions +-n; n need not be unit. */
static real separation(const poly* a, const poly* b, const real n[3]) {
  real l = sqrtl(dotr(n, n)), amin = INFINITY, amax = -INFINITY, bmin = INFINITY, bmax = -INFINITY;
  for (int i = 0; i < a->nv; i++) {
    real s = dotr(a->v[i], n);
    amin = s < amin ? s : amin, amax = s > amax ? s : amax;
  }
  for (int i = 0; i < b->nv; i++) {
    real s = dotr(b->v[i], n);
    bmin = s < bmin ? s : bmin, bmax = s > bmax ? s : bmax;
  }
  real up = amin - bmax, down = bmin - amax;
  return (up > down ? up : down) / l;
}

static real oracle(const poly* a, const poly* b) {
  real best = -INFINITY, s;
  for (int i = 0; i < a->nf; i++) best = (s = separation(a, b, a->f[i])) > best ? s : best;
  for (int i = 0; i < b->nf; i++) best = (s = separation(a, b, b->f[i])) > best ? s : best;
  for (int i = 0; i < a->ne; i++)
    for (int j = 0; j < b->ne; j++) {
      const real *u = a->e[i], *v = b->e[j];
      real c[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
      if (dotr(c, c) < 1e-26L * dotr(u, u) * dotr(v, v))
        continue; /* sin < 1e-13: at most 1e-13 better than a face */
      best = (s = separation(a, b, c)) > best ? s : best;
    }
  return best;
}

static poly pa, pb;

static void load(poly* p, const kn_shape* s, const kn_pose* P) {
  if (s->type == KN_SHAPE_BOX)
    from_box(p, s->size, P);
  else
    from_hull(p, s->hull, P);
}

/* Pairs of the given types until `wanted` of them overlap; returns the worst error of the depth over the
 * size. */
static double worst_error(kn_shape_type a, kn_shape_type b, int wanted, double limit) {
  kn_rng rng = kn_rng_seed(77);
  double worst = 0;
  for (int i = 0, n = 0; n < wanted; i++) {
    kn_test_pair s = kn_test_pair_make(&rng, a, b, (kn_test_class)(i % KN_TEST_CLASSES));
    if ((a == KN_SHAPE_HULL && s.a.hull->nv > 40) || (b == KN_SHAPE_HULL && s.b.hull->nv > 40)) continue;
    kn_distance_result r;
    if (!CHECK_OK(kn_distance(&r, &s.a, &s.A, &s.b, &s.B, NULL)) || r.gap >= 0) continue;
    load(&pa, &s.a, &s.A), load(&pb, &s.b, &s.B);
    double error = fabs((double)(oracle(&pa, &pb) - (real)r.gap)) / s.size;
    if (error > limit) CHECK_NEAR(r.gap, (double)oracle(&pa, &pb), limit * s.size);
    worst = fmax(worst, error);
    n++;
  }
  return worst;
}

TEST(overlapping_boxes_equal_the_fifteen_axes) {
  double w = worst_error(KN_SHAPE_BOX, KN_SHAPE_BOX, 20000 * kn_test_effort(), 1e-10);
  printf("box-box: worst %.1e of the size\n", w);
  CHECK(w <= 1e-10);
}

TEST(overlapping_hulls_equal_all_axes) {
  double w = worst_error(KN_SHAPE_HULL, KN_SHAPE_HULL, 250 * kn_test_effort(), 1e-9);
  double v = worst_error(KN_SHAPE_BOX, KN_SHAPE_HULL, 500 * kn_test_effort(), 1e-9);
  printf("hull-hull: worst %.1e, box-hull: worst %.1e of the size\n", w, v);
  CHECK(w <= 1e-9 && v <= 1e-9);
}

/* Separated boxes: the least distance over all vertex-box and edge-edge pairs, in long double. */
static real point_box(const real p[3], const double h[3]) {
  real s = 0;
  for (int i = 0; i < 3; i++) {
    real d = fabsl(p[i]) - h[i];
    if (d > 0) s += d * d;
  }
  return sqrtl(s);
}

static real segment_segment(const real p[3], const real u[3], const real q[3], const real v[3]) {
  real w[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]}, a = dotr(u, u), b = dotr(u, v), c = dotr(v, v),
       d = dotr(u, w), e = dotr(v, w);
  real det = a * c - b * b, best = INFINITY;
  for (int k = 0; k < 5; k++) { /* interior, and the four end conditions */
    real s = 0, t = 0;
    if (k == 0) {
      if (!(det > 0)) continue;
      s = (b * e - c * d) / det, t = (a * e - b * d) / det;
      if (s < 0 || s > 1 || t < 0 || t > 1) continue;
    } else if (k < 3) {
      s = k == 1 ? 0 : 1, t = (e + s * b) / c;
    } else {
      t = k == 3 ? 0 : 1, s = (t * b - d) / a;
    }
    s = s < 0 ? 0 : s > 1 ? 1 : s, t = t < 0 ? 0 : t > 1 ? 1 : t;
    real x[3];
    for (int i = 0; i < 3; i++) x[i] = w[i] + s * u[i] - t * v[i];
    real l = sqrtl(dotr(x, x));
    best = l < best ? l : best;
  }
  return best;
}

static real box_distance(const kn_test_pair* s) {
  static const int axis[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                  {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  real best = INFINITY;
  for (int side = 0; side < 2; side++) {
    const poly* p = side ? &pb : &pa;
    const kn_pose* P = side ? &s->A : &s->B;
    for (int i = 0; i < 8; i++) {
      real x[3];
      for (int k = 0; k < 3; k++)
        x[k] = P->R[k] * (p->v[i][0] - P->p[0]) + P->R[3 + k] * (p->v[i][1] - P->p[1]) +
               P->R[6 + k] * (p->v[i][2] - P->p[2]);
      real d = point_box(x, side ? s->a.size : s->b.size);
      best = d < best ? d : best;
    }
  }
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) {
      const real *p = pa.v[axis[i][0]], *q = pb.v[axis[j][0]];
      real u[3], v[3];
      for (int k = 0; k < 3; k++) u[k] = pa.v[axis[i][1]][k] - p[k], v[k] = pb.v[axis[j][1]][k] - q[k];
      real d = segment_segment(p, u, q, v);
      best = d < best ? d : best;
    }
  return best;
}

TEST(separated_boxes_equal_all_feature_pairs) {
  kn_rng rng = kn_rng_seed(78);
  double worst = 0;
  for (int i = 0, n = 0; n < 4000 * kn_test_effort(); i++) {
    kn_test_pair s =
        kn_test_pair_make(&rng, KN_SHAPE_BOX, KN_SHAPE_BOX, (kn_test_class)(i % KN_TEST_CLASSES));
    kn_distance_result r;
    if (!CHECK_OK(kn_distance(&r, &s.a, &s.A, &s.b, &s.B, NULL)) || r.gap <= 0) continue;
    load(&pa, &s.a, &s.A), load(&pb, &s.b, &s.B);
    double exact = (double)box_distance(&s), error = fabs(exact - r.gap) / s.size;
    if (error > 1e-10) CHECK_NEAR(r.gap, exact, 1e-10 * s.size);
    worst = fmax(worst, error);
    n++;
  }
  printf("separated boxes: worst %.1e of the size\n", worst);
  CHECK(worst <= 1e-10);
}
