/* Kernels of heap.h. Every contact by the same operations whatever KN_W, sums over the contacts in eight parts. */
#include "base/isa.h"

#include <math.h>

#include "comp/heap/heap.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t kn_mask __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

typedef struct three {
  kn_vec x0, x1, x2;
} three;

#define LANES(i) for (int i = 0; i < h->stride; i += KN_W)

static inline kn_vec at(const double* x) { return *(const kn_vec*)x; }
static inline void put(double* x, kn_vec v) { *(kn_vec*)x = v; }
static inline three at3(const double* x, int n) { return (three){at(x), at(x + n), at(x + 2 * n)}; }
static inline void put3(double* x, int n, three v) { put(x, v.x0), put(x + n, v.x1), put(x + 2 * n, v.x2); }
static inline kn_vec all(double x) { return x - (kn_vec){0}; }
static inline kn_vec choose(kn_mask m, kn_vec a, kn_vec b) {
  return (kn_vec)((m & (kn_mask)a) | (~m & (kn_mask)b));
}
static inline kn_vec least(kn_vec a, kn_vec b) { return choose(a < b, a, b); }
static inline kn_vec most(kn_vec a, kn_vec b) { return choose(a > b, a, b); }

static inline kn_vec root(kn_vec x) {
  kn_vec y;
  for (int i = 0; i < KN_W; i++) y[i] = sqrt(x[i]);
  return y;
}

/* |x_T| */
static inline kn_vec across(three x) { return root(x.x1 * x.x1 + x.x2 * x.x2); }

static inline three minus(three x) { return (three){-x.x0, -x.x1, -x.x2}; }

/* E v, component ij of E at [(3 i + j) n]. */
static inline three turned(const double* E, int n, three v) {
  return (three){(at(E) * v.x0 + at(E + n) * v.x1) + at(E + 2 * n) * v.x2,
                 (at(E + 3 * n) * v.x0 + at(E + 4 * n) * v.x1) + at(E + 5 * n) * v.x2,
                 (at(E + 6 * n) * v.x0 + at(E + 7 * n) * v.x1) + at(E + 8 * n) * v.x2};
}

/* E = T^-2 (I + e t^T), T^-2 = k (2 w' w'^T - J), w' = (w0, -w1, -w2), k = b^-2 */
static inline void put_scaling(double* E, int n, kn_vec k, three w, kn_vec t1, kn_vec t2) {
  kn_vec w0 = w.x0, w1 = -w.x1, w2 = -w.x2;
  kn_vec e00 = k * (2.0 * w0 * w0 - 1.0), e01 = k * (2.0 * w0 * w1), e02 = k * (2.0 * w0 * w2);
  kn_vec e11 = k * (2.0 * w1 * w1 + 1.0), e12 = k * (2.0 * w1 * w2), e22 = k * (2.0 * w2 * w2 + 1.0);
  put3(E, n, (three){e00, e01 + t1 * e00, e02 + t2 * e00});
  put3(E + 3 * n, n, (three){e01, e11 + t1 * e01, e12 + t2 * e01});
  put3(E + 6 * n, n, (three){e02, e12 + t1 * e02, e22 + t2 * e02});
}

static void KN_NAME(scale)(kn_heap_work* h) {
  int n = h->stride;
  LANES(i) {
    three x = at3(h->x + i, n), s = at3(h->s + i, n), u = at3(h->u + i, n);
    kn_vec xt = across(x), st = across(s);
    kn_vec dx = root((x.x0 - xt) * (x.x0 + xt)), ds = root((s.x0 - st) * (s.x0 + st));
    kn_vec ix = 1.0 / dx, is = 1.0 / ds, dot = (x.x0 * s.x0 + (x.x1 * s.x1 + x.x2 * s.x2)) * ix * is;
    kn_vec g = 0.5 / root(0.5 * (1.0 + dot)), along = choose(st > 0.0, 1.0 / st, all(0.0));
    three w = {g * (s.x0 * is + x.x0 * ix), g * (s.x1 * is - x.x1 * ix), g * (s.x2 * is - x.x2 * ix)};
    kn_vec t1 = s.x1 * along, t2 = s.x2 * along;
    put3(h->w + i, n, w);
    put(h->b + i, root(ds * ix));
    put(h->t + n + i, t1), put(h->t + 2 * n + i, t2);
    put3(h->R + i, n, (three){(s.x0 - st) - u.x0, s.x1 - u.x1, s.x2 - u.x2});
    put3(h->a + i, n, minus(x));
    put_scaling(h->E + i, n, dx * is, w, t1, t2);
  }
}

/* T v with T = b [w0 w1^T; w1 I + w1 w1^T/(1 + w0)]; with -w1 and 1/b it is T^-1. */
static inline three scaled(kn_vec b, kn_vec w0, kn_vec w1, kn_vec w2, three v) {
  kn_vec tv = w1 * v.x1 + w2 * v.x2, along = v.x0 + tv / (1.0 + w0);
  return (three){b * (w0 * v.x0 + tv), b * (v.x1 + w1 * along), b * (v.x2 + w2 * along)};
}

static void KN_NAME(correct)(kn_heap_work* h, double centre, double products) {
  int n = h->stride;
  LANES(i) {
    three x = at3(h->x + i, n), w = at3(h->w + i, n);
    kn_vec b = at(h->b + i), ib = 1.0 / b;
    three l = scaled(b, w.x0, w.x1, w.x2, x), p = scaled(b, w.x0, w.x1, w.x2, at3(h->dx + i, n));
    three d = scaled(ib, w.x0, -w.x1, -w.x2, at3(h->ds + i, n));
    kn_vec v0 = centre - products * (p.x0 * d.x0 + (p.x1 * d.x1 + p.x2 * d.x2));
    kn_vec v1 = -products * (p.x0 * d.x1 + d.x0 * p.x1), v2 = -products * (p.x0 * d.x2 + d.x0 * p.x2);
    kn_vec lt = across(l), det = (l.x0 - lt) * (l.x0 + lt), il = 1.0 / l.x0;
    kn_vec c0 = (l.x0 * v0 - (l.x1 * v1 + l.x2 * v2)) / det;
    three c = {c0, (v1 - c0 * l.x1) * il, (v2 - c0 * l.x2) * il};
    three a = scaled(ib, w.x0, -w.x1, -w.x2, c);
    put3(h->a + i, n, (three){a.x0 - x.x0, a.x1 - x.x1, a.x2 - x.x2});
  }
}

static void KN_NAME(right)(kn_heap_work* h) {
  int n = h->stride;
  LANES(i) {
    three a = at3(h->a + i, n), z = turned(h->E + i, n, at3(h->R + i, n));
    put3(h->g + i, n, (three){a.x0 + z.x0, a.x1 + z.x1, a.x2 + z.x2});
  }
}

static void KN_NAME(rest)(kn_heap_work* h) {
  int n = h->stride;
  LANES(i) {
    three g = at3(h->g + i, n), z = turned(h->E + i, n, at3(h->f + i, n));
    put3(h->f + i, n, (three){g.x0 - z.x0, g.x1 - z.x1, g.x2 - z.x2});
  }
}

/* Least positive t with (x + t d) on the cone; det(x + t d) = A t^2 + 2 B t + C. At most 1e9. */
static inline kn_vec reach(three x, three d) {
  kn_vec dt = across(d), xt = across(x), none = all(1e9), zero = all(0.0);
  kn_vec A = (d.x0 - dt) * (d.x0 + dt), B = x.x0 * d.x0 - (x.x1 * d.x1 + x.x2 * d.x2),
         C = (x.x0 - xt) * (x.x0 + xt);
  kn_vec disc = B * B - A * C, square = root(most(disc, zero));
  kn_vec q = -(B + choose(B < zero, -square, square)), t1 = q / A, t2 = C / q;
  kn_mask real = disc >= zero;
  kn_vec step = choose(d.x0 < zero, -x.x0 / d.x0, none);
  step = least(choose(real & (t1 > zero), t1, none), step);
  return least(choose(real & (t2 > zero), t2, none), step);
}

static double KN_NAME(direction)(kn_heap_work* h) {
  int n = h->stride;
  LANES(i) {
    three a = at3(h->a + i, n), f = at3(h->f + i, n), R = at3(h->R + i, n);
    three z = {f.x0 - R.x0, f.x1 - R.x1, f.x2 - R.x2}, E = turned(h->E + i, n, z);
    three dx = {a.x0 - E.x0, a.x1 - E.x1, a.x2 - E.x2}, ds = z;
    ds.x0 = z.x0 + (at(h->t + n + i) * z.x1 + at(h->t + 2 * n + i) * z.x2);
    put3(h->dx + i, n, dx);
    put3(h->ds + i, n, ds);
    put(h->reach + i, least(reach(at3(h->x + i, n), dx), reach(at3(h->s + i, n), ds)));
  }
  double step = 1e9;
  for (int i = 0; i < h->contacts; i++) step = h->reach[i] < step ? h->reach[i] : step;
  return step;
}

static double KN_NAME(gap)(const kn_heap_work* h, double t) {
  int n = h->stride, whole = h->contacts & ~7;
  double part[8] = {0.0};
  for (int k = 0; k < 8; k += KN_W) {
    kn_vec sum = all(0.0);
    for (int i = k; i < whole; i += 8) {
      three x = at3(h->x + i, n), s = at3(h->s + i, n), dx = at3(h->dx + i, n), ds = at3(h->ds + i, n);
      sum += ((x.x0 + t * dx.x0) * (s.x0 + t * ds.x0) + (x.x1 + t * dx.x1) * (s.x1 + t * ds.x1)) +
             (x.x2 + t * dx.x2) * (s.x2 + t * ds.x2);
    }
    put(part + k, sum);
  }
  for (int i = whole; i < h->contacts; i++)
    for (int j = i; j < 3 * n; j += n) part[i & 7] += (h->x[j] + t * h->dx[j]) * (h->s[j] + t * h->ds[j]);
  double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  return sum / h->contacts;
}

static void KN_NAME(advance)(kn_heap_work* h, double t) {
  for (int k = 0; k < 3; k++)
    for (int i = k * h->stride, end = i + (h->contacts & ~7); i < end; i += KN_W) {
      put(h->x + i, at(h->x + i) + t * at(h->dx + i));
      put(h->s + i, at(h->s + i) + t * at(h->ds + i));
    }
  for (int i = h->contacts & ~7; i < h->contacts; i++)
    for (int j = i; j < 3 * h->stride; j += h->stride) h->x[j] += t * h->dx[j], h->s[j] += t * h->ds[j];
}

const kn_heap_ops KN_NAME(kn_heap_ops) = {.scale = KN_NAME(scale),
                                          .correct = KN_NAME(correct),
                                          .right = KN_NAME(right),
                                          .rest = KN_NAME(rest),
                                          .direction = KN_NAME(direction),
                                          .gap = KN_NAME(gap),
                                          .advance = KN_NAME(advance)};
