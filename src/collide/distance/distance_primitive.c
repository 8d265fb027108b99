/* Closed-form signed distances of points and segments (the cores of spheres and capsules).

   Point-box, point-cylinder: clamp outside, nearest face inside.
   Segment-segment: for lines p0 + s u, q0 + t v with w = q0 - p0 and m = u x v,
     s* = (w x v).m / m.m,  t* = (w x u).m / m.m;
   written with cross products the error of s* is eps/sin, which moves the distance by eps only. Where sin is
   above 0.06 the products (w.u)(v.v) - (w.v)(u.v) and (w.u)(u.v) - (w.v)(u.u) do as well and are cheaper.
   Segment-box: with x(t) = p + t u, d/dt of dist^2/2 is sum_i u_i (x_i - clamp x_i): monotone and piecewise
   linear with at most six breakpoints, so bracketing them and one secant step is exact. When the segment
   meets the box the depth is the best of the three face and three edge axes e_k x u. */
#include "collide/pair/pair.h"

/* Makes n exactly perpendicular to u: when witnesses nearly coincide their difference is not. */
static void square_off(v3* n, v3 u, double uu) {
  *n = v3_axpy(*n, -v3_dot(*n, u) / uu, u);
  v3_unit(n);
}

static double segment_param(v3 p, v3 q0, v3 v, double vv) {
  return vv > 0 ? kn_clamp(v3_dot(v3_sub(p, q0), v) / vv, 0, 1) : 0;
}

/* The normal of segments u, v that all but touch, at a distance d that is rounding of `scale`; m = u x v. */
static void settle_normal(kn_core_gap* out, v3 u, v3 v, v3 m, double d, double scale, bool parallel) {
  /* square to a segment whose inside is touched, and to one whose end is when what n has along
     it is rounding */
  double uu = v3_norm2(u), vv = v3_norm2(v);
  double noise = 4e-15 * scale, along_u = v3_dot(out->n, u) * d, along_v = v3_dot(out->n, v) * d;
  bool off_u = uu > 0 && (out->fa == 2 || along_u * along_u <= noise * noise * uu);
  bool off_v = vv > 0 && (out->fb == 2 || along_v * along_v <= noise * noise * vv);
  if (off_u) square_off(&out->n, u, uu);
  if (off_v) square_off(&out->n, v, vv);
  if (d > 1e-15 * scale) return;
  if (!parallel) {
    v3_unit(&m);
    out->n = v3_dot(m, out->n) < 0 ? v3_neg(m) : m;
  } else {
    v3 e = uu >= vv ? u : v;
    out->n = v3_unit(&e) > 0 ? v3_perp(e) : (v3){0, 0, 1};
  }
}

void kn_segment_segment(kn_core_gap* out, v3 p0, v3 p1, v3 q0, v3 q1) {
  v3 u = v3_sub(p1, p0), v = v3_sub(q1, q0), w = v3_sub(q0, p0), m = v3_cross(u, v);
  double uu = v3_norm2(u), vv = v3_norm2(v), mm = v3_norm2(m);
  double s, t;
  bool parallel = !(mm > 1e-24 * uu * vv); /* sin < 1e-12: any point of the overlap serves */
  if (parallel) {
    /* middle of the common interval, so that neither end is preferred */
    double s0 = segment_param(q0, p0, u, uu), s1 = segment_param(q1, p0, u, uu);
    s = 0.5 * (s0 + s1);
    t = segment_param(v3_axpy(p0, s, u), q0, v, vv);
  } else {
    double per = 1 / mm, uv = v3_dot(u, v), wu = v3_dot(w, u), wv = v3_dot(w, v);
    bool steep = mm > KN_STEEP * uu * vv;
    s = kn_clamp((steep ? wu * vv - wv * uv : v3_dot(v3_cross(w, v), m)) * per, 0, 1);
    t = (s * uv - wv) * (1 / vv);
    if (t < 0 || t > 1) {
      t = kn_clamp(t, 0, 1);
      s = kn_clamp((t * uv + wu) * (1 / uu), 0, 1);
    } else if (s > 0 && s < 1) {
      t = kn_clamp((steep ? wu * uv - wv * uu : v3_dot(v3_cross(w, u), m)) * per, 0, 1);
    }
  }
  out->a = v3_axpy(p0, s, u), out->b = v3_axpy(q0, t, v);
  out->fa = s <= 0 ? 0 : s >= 1 ? 1 : 2;
  out->fb = t <= 0 ? 0 : t >= 1 ? 1 : 2;
  bool inner = s > 0 && s < 1 && t > 0 && t < 1 && !parallel;
  if (inner && mm > 1e-6 * uu * vv) { /* the usual crossing: the common perpendicular */
    out->n = v3_mul(m, 1 / sqrt(mm));
    out->gap = -v3_dot(out->n, w);
    if (out->gap < 0) out->n = v3_neg(out->n), out->gap = -out->gap;
    return;
  }
  out->n = v3_sub(out->a, out->b);
  double scale = v3_max_abs(w) + sqrt(uu) + sqrt(vv), d = v3_unit(&out->n);
  /* Both interior: the common perpendicular is exact even when d is rounding; its error eps/sin is a turn
     about the lines, which changes nothing after it is made perpendicular to u again. */
  if (inner && d * sqrt(uu * vv) < sqrt(mm) * scale) {
    v3 e = m;
    v3_unit(&e);
    e = v3_axpy(e, -v3_dot(e, u) / uu, u);
    v3_unit(&e);
    double g = -v3_dot(e, w);
    if (g < 0) e = v3_neg(e), g = -g;
    out->n = e, out->gap = g;
    return;
  }
  out->gap = d;
  if (d <= 1e-3 * scale) settle_normal(out, u, v, m, d, scale, parallel);
}

typedef struct slope {
  v3 p, u;
  const double* h;
} slope;

static double slope_at(const slope* f, double t) {
  v3 x = v3_axpy(f->p, t, f->u);
  return f->u.x * (x.x - kn_clamp(x.x, -f->h[0], f->h[0])) +
         f->u.y * (x.y - kn_clamp(x.y, -f->h[1], f->h[1])) +
         f->u.z * (x.z - kn_clamp(x.z, -f->h[2], f->h[2]));
}

/* Parameter of the point of the segment nearest to the box. Where a whole interval is nearest: its middle. */
static double nearest_param(const slope* f) {
  double lo = 0, hi = 1, dlo = slope_at(f, 0), dhi = slope_at(f, 1);
  if (dlo > 0) return 0;
  if (dhi < 0) return 1;
  double flat_lo = dlo == 0 ? 0 : 2, flat_hi = dhi == 0 ? 1 : -1;
  for (int i = 0; i < 3; i++) {
    double ui = v3_at(f->u, i), pi = v3_at(f->p, i);
    if (ui == 0) continue;
    for (int s = -1; s <= 1; s += 2) {
      double t = (s * f->h[i] - pi) / ui;
      if (!(t > 0 && t < 1)) continue;
      double d = slope_at(f, t);
      if (d == 0) flat_lo = kn_min(t, flat_lo), flat_hi = kn_max(t, flat_hi);
      if (d < 0 && t > lo) lo = t, dlo = d;
      if (d > 0 && t < hi) hi = t, dhi = d;
    }
  }
  if (flat_lo <= flat_hi) return 0.5 * (flat_lo + flat_hi);
  if (!(dhi - dlo > 0)) return 0.5 * (lo + hi);
  return kn_clamp(lo - dlo * (hi - lo) / (dhi - dlo), lo, hi);
}

/* Segment through the box: best of six axes. */
static void segment_inside_box(kn_core_gap* out, v3 p0, v3 p1, const double h[3]) {
  v3 u = v3_sub(p1, p0);
  double best = -INFINITY;
  int face = 0, edge = -1;
  double sign = 1;
  for (int i = 0; i < 3; i++) {
    double x0 = v3_at(p0, i), x1 = v3_at(p1, i);
    double up = kn_min(x1, x0) - h[i], down = -kn_max(x1, x0) - h[i];
    if (up > best) best = up, face = i, sign = 1;
    if (down > best) best = down, face = i, sign = -1;
  }
  v3 n = v3_axis(face, sign);
  double uu = v3_norm2(u);
  for (int k = 0; k < 3; k++) {
    v3 e = v3_cross(v3_axis(k, 1), u);
    double ee = v3_norm2(e);
    if (!(ee > 1e-20 * uu)) continue;
    e = v3_mul(e, 1 / sqrt(ee));
    double c = v3_dot(e, p0);
    double g = fabs(c) - fabs(e.x) * h[0] - fabs(e.y) * h[1] - fabs(e.z) * h[2];
    if (g > best) best = g, edge = k, n = c < 0 ? v3_neg(e) : e;
  }
  out->gap = best, out->n = n;
  static const int unit[3] = {1, 3, 9};
  if (edge < 0) {
    /* The part of the segment at the lowest level that lies over the face: one end, or an interval. */
    double d0 = sign * v3_at(p0, face), d1 = sign * v3_at(p1, face), lo = 0, hi = 1;
    double slack = 1e-11 * (fabs(d0) + fabs(d1) + h[face] + sqrt(uu));
    if (d0 < d1 - slack) hi = 0;
    if (d1 < d0 - slack) lo = 1;
    for (int i = 0; i < 3 && lo < hi; i++) {
      double ui = v3_at(u, i), pi = v3_at(p0, i);
      if (i == face || ui == 0) continue;
      double t0 = (-h[i] - pi) / ui, t1 = (h[i] - pi) / ui;
      double l = kn_max(kn_min(t1, t0), lo), r = kn_min(kn_max(t1, t0), hi);
      if (l <= r) lo = l, hi = r;
    }
    out->fa = lo == hi ? (lo > 0) : 2;
    out->a = v3_axpy(p0, 0.5 * (lo + hi), u);
    out->b = v3_axpy(out->a, -best, n);
    out->fb = 13 + (int)sign * unit[face];
    return;
  }
  v3 mid = {n.x > 0 ? h[0] : -h[0], n.y > 0 ? h[1] : -h[1], n.z > 0 ? h[2] : -h[2]},
     k = v3_axis(edge, h[edge]);
  v3 c = edge == 0 ? (v3){0, mid.y, mid.z} : edge == 1 ? (v3){mid.x, 0, mid.z} : (v3){mid.x, mid.y, 0};
  /* the box edge moved by the depth crosses the segment */
  v3 m = v3_axpy(c, best, n);
  v3 cross = v3_cross(u, k);
  double s = kn_clamp(v3_dot(v3_cross(v3_sub(m, p0), k), cross) / v3_norm2(cross), 0, 1);
  out->fa = 2;
  out->a = v3_axpy(p0, s, u);
  out->b = v3_axpy(out->a, -best, n);
  out->fb = 13;
  for (int i = 0; i < 3; i++)
    if (i != edge) out->fb += (v3_at(n, i) > 0 ? 1 : -1) * unit[i];
}

void kn_segment_box(kn_core_gap* out, v3 p0, v3 p1, const double h[3]) {
  slope f = {p0, v3_sub(p1, p0), h};
  double t = nearest_param(&f);
  v3 x = v3_axpy(p0, t, f.u);
  double far = kn_max(kn_max(fabs(x.z) - h[2], fabs(x.y) - h[1]), fabs(x.x) - h[0]);
  double size = h[0] + h[1] + h[2] + v3_max_abs(x);
  if (far > 1e-15 * size) {
    kn_point_box(out, x, h);
    out->fa = t <= 0 ? 0 : t >= 1 ? 1 : 2;
    if (out->gap > 1e-9 * size || t <= 0 || t >= 1) return;
    /* nearly touching inside the segment: the axes give the cleaner normal */
    kn_core_gap axes;
    segment_inside_box(&axes, p0, p1, h);
    if (fabs(axes.gap - out->gap) <= 1e-14 * size) *out = axes;
    return;
  }
  segment_inside_box(out, p0, p1, h);
}
