/* Kernels of heap.h: plain loops over the contacts that the compiler turns into vectors; included with
   KN_NAME(f). Every contact by the same operations whatever the width. */
#include <math.h>

#include "comp/heap.h"

#define LANES(i) for (int i = 0; i < h->stride; i++)

static void KN_NAME(scale)(kn_heap_work* restrict h) {
  int n = h->stride;
  const double* restrict x = h->x, * restrict s = h->s, * restrict u = h->u;
  double* restrict w = h->w, * restrict t = h->t, * restrict R = h->R, * restrict b = h->b, * restrict bb = h->bb, * restrict a = h->a;
  LANES(i) {
    double x0 = x[i], x1 = x[n + i], x2 = x[2 * n + i], s0 = s[i], s1 = s[n + i], s2 = s[2 * n + i];
    double xt = sqrt(x1 * x1 + x2 * x2), st = sqrt(s1 * s1 + s2 * s2);
    double dx = sqrt((x0 - xt) * (x0 + xt)), ds = sqrt((s0 - st) * (s0 + st));
    double ix = 1.0 / dx, is = 1.0 / ds, dot = (x0 * s0 + (x1 * s1 + x2 * s2)) * ix * is;
    double g = 0.5 / sqrt(0.5 * (1.0 + dot)), along = st > 0.0 ? 1.0 / st : 0.0;
    w[i] = g * (s0 * is + x0 * ix);
    w[n + i] = g * (s1 * is - x1 * ix);
    w[2 * n + i] = g * (s2 * is - x2 * ix);
    bb[i] = dx * is;
    b[i] = sqrt(ds * ix);
    t[n + i] = s1 * along;
    t[2 * n + i] = s2 * along;
    R[i] = (s0 - st) - u[i];
    R[n + i] = s1 - u[n + i];
    R[2 * n + i] = s2 - u[2 * n + i];
    a[i] = -x0, a[n + i] = -x1, a[2 * n + i] = -x2;
  }
  /* E = T^-2 (I + e t^T), T^-2 = b^-2 (2 w' w'^T - J), w' = (w0, -w1, -w2) */
  LANES(i) {
    double w0 = w[i], w1 = -w[n + i], w2 = -w[2 * n + i], k = bb[i], t1 = t[n + i], t2 = t[2 * n + i];
    double e00 = k * (2.0 * w0 * w0 - 1.0), e01 = k * (2.0 * w0 * w1), e02 = k * (2.0 * w0 * w2);
    double e11 = k * (2.0 * w1 * w1 + 1.0), e12 = k * (2.0 * w1 * w2), e22 = k * (2.0 * w2 * w2 + 1.0);
    double* e = h->E + 9 * (size_t)i;
    e[0] = e00, e[1] = e01 + t1 * e00, e[2] = e02 + t2 * e00;
    e[3] = e01, e[4] = e11 + t1 * e01, e[5] = e12 + t2 * e01;
    e[6] = e02, e[7] = e12 + t1 * e02, e[8] = e22 + t2 * e02;
  }
}

/* y = T v with T = b [w0 w1^T; w1 I + w1 w1^T/(1 + w0)]; with -w1 and 1/b it is T^-1. */
static inline void apply(double y[3], double b, double w0, double w1, double w2, const double v[3]) {
  double tv = w1 * v[1] + w2 * v[2], along = v[0] + tv / (1.0 + w0);
  y[0] = b * (w0 * v[0] + tv);
  y[1] = b * (v[1] + w1 * along);
  y[2] = b * (v[2] + w2 * along);
}

static void KN_NAME(correct)(kn_heap_work* restrict h, double centre, double products) {
  int n = h->stride;
  const double* restrict x = h->x, * restrict w = h->w, * restrict dx = h->dx, * restrict ds = h->ds, * restrict b = h->b;
  double* restrict a = h->a;
  LANES(i) {
    double w0 = w[i], w1 = w[n + i], w2 = w[2 * n + i], B = b[i], iB = 1.0 / B;
    double X[3] = {x[i], x[n + i], x[2 * n + i]}, DX[3] = {dx[i], dx[n + i], dx[2 * n + i]};
    double DS[3] = {ds[i], ds[n + i], ds[2 * n + i]}, l[3], p[3], d[3], c[3];
    apply(l, B, w0, w1, w2, X);
    apply(p, B, w0, w1, w2, DX);
    apply(d, iB, w0, -w1, -w2, DS);
    double v0 = centre - products * (p[0] * d[0] + (p[1] * d[1] + p[2] * d[2]));
    double v1 = -products * (p[0] * d[1] + d[0] * p[1]), v2 = -products * (p[0] * d[2] + d[0] * p[2]);
    double lt = sqrt(l[1] * l[1] + l[2] * l[2]), det = (l[0] - lt) * (l[0] + lt), il = 1.0 / l[0];
    c[0] = (l[0] * v0 - (l[1] * v1 + l[2] * v2)) / det;
    c[1] = (v1 - c[0] * l[1]) * il;
    c[2] = (v2 - c[0] * l[2]) * il;
    apply(d, iB, w0, -w1, -w2, c);
    a[i] = d[0] - X[0], a[n + i] = d[1] - X[1], a[2 * n + i] = d[2] - X[2];
  }
}

static void KN_NAME(right)(kn_heap_work* restrict h) {
  int n = h->stride;
  const double* restrict a = h->a, * restrict R = h->R, * restrict E = h->E;
  double* restrict g = h->g;
  LANES(i) {
    const double* e = E + 9 * (size_t)i;
    double R0 = R[i], R1 = R[n + i], R2 = R[2 * n + i];
    g[i] = a[i] + ((e[0] * R0 + e[1] * R1) + e[2] * R2);
    g[n + i] = a[n + i] + ((e[3] * R0 + e[4] * R1) + e[5] * R2);
    g[2 * n + i] = a[2 * n + i] + ((e[6] * R0 + e[7] * R1) + e[8] * R2);
  }
}

static void KN_NAME(rest)(kn_heap_work* restrict h) {
  int n = h->stride;
  const double* restrict g = h->g, * restrict E = h->E;
  double* restrict f = h->f;
  LANES(i) {
    const double* e = E + 9 * (size_t)i;
    double f0 = f[i], f1 = f[n + i], f2 = f[2 * n + i];
    f[i] = g[i] - ((e[0] * f0 + e[1] * f1) + e[2] * f2);
    f[n + i] = g[n + i] - ((e[3] * f0 + e[4] * f1) + e[5] * f2);
    f[2 * n + i] = g[2 * n + i] - ((e[6] * f0 + e[7] * f1) + e[8] * f2);
  }
}

/* Least positive t with (x + t dx) on the cone; det(x + t dx) = A t^2 + 2 B t + C. At most 1e9. */
static inline double reach(const double x[3], const double d[3]) {
  double dt = sqrt(d[1] * d[1] + d[2] * d[2]), xt = sqrt(x[1] * x[1] + x[2] * x[2]);
  double A = (d[0] - dt) * (d[0] + dt), B = x[0] * d[0] - (x[1] * d[1] + x[2] * d[2]),
         C = (x[0] - xt) * (x[0] + xt);
  double disc = B * B - A * C, root = sqrt(disc > 0.0 ? disc : 0.0);
  double q = -(B + (B < 0.0 ? -root : root)), t1 = q / A, t2 = C / q;
  double step = d[0] < 0.0 ? -x[0] / d[0] : 1e9;
  t1 = disc >= 0.0 && t1 > 0.0 ? t1 : 1e9;
  t2 = disc >= 0.0 && t2 > 0.0 ? t2 : 1e9;
  step = t1 < step ? t1 : step;
  return t2 < step ? t2 : step;
}

static void KN_NAME(direction)(kn_heap_work* restrict h) {
  int n = h->stride;
  const double* restrict x = h->x, * restrict s = h->s, * restrict t = h->t, * restrict R = h->R, * restrict f = h->f, * restrict a = h->a, * restrict E = h->E;
  double* restrict dx = h->dx, * restrict ds = h->ds, * restrict to = h->reach;
  LANES(i) {
    const double* e = E + 9 * (size_t)i;
    double z0 = f[i] - R[i], z1 = f[n + i] - R[n + i], z2 = f[2 * n + i] - R[2 * n + i];
    dx[i] = a[i] - ((e[0] * z0 + e[1] * z1) + e[2] * z2);
    dx[n + i] = a[n + i] - ((e[3] * z0 + e[4] * z1) + e[5] * z2);
    dx[2 * n + i] = a[2 * n + i] - ((e[6] * z0 + e[7] * z1) + e[8] * z2);
    ds[i] = z0 + (t[n + i] * z1 + t[2 * n + i] * z2), ds[n + i] = z1, ds[2 * n + i] = z2;
  }
  LANES(i) {
    double X[3] = {x[i], x[n + i], x[2 * n + i]}, DX[3] = {dx[i], dx[n + i], dx[2 * n + i]};
    double S[3] = {s[i], s[n + i], s[2 * n + i]}, DS[3] = {ds[i], ds[n + i], ds[2 * n + i]};
    double one = reach(X, DX), two = reach(S, DS);
    to[i] = one < two ? one : two;
  }
}

const kn_heap_ops KN_NAME(kn_heap_ops) = {.scale = KN_NAME(scale),
                                          .correct = KN_NAME(correct),
                                          .right = KN_NAME(right),
                                          .rest = KN_NAME(rest),
                                          .direction = KN_NAME(direction)};
