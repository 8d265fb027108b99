/* Polishing a contact normal.

   g(n) = -h_A(-n) - h_B(n) with smooth support functions h of the pieces:
     vertex      h = d.v                  x = v                       H = 0
     ellipsoid   h = d.c + |S d|          x = c + S^2 d / |S d|       H = (S^2 - (x-c)(x-c)^T) / |S d|
     rim         h = d.c + r |d_|         x = c + r d_/|d_|           H = r/|d_| f f^T,  f = u x d_/|d_|
   (S^2 is the ellipsoid's matrix R diag(s^2) R^T, d_ the part of d perpendicular to the axis u). Edges and
   cylinder sides add the condition n.u = 0, caps and faces fix n. On the unit sphere, with P = I - n n^T,

     grad g = P w,  w = x_A - x_B;      Hess g = -(P (H_A + H_B) P + (w.n) I),

   so Newton's step solves (P H P + g I) delta = P w: positive definite apart, and at every maximum that is a
   strict local depth. A step that does not
   increase g is halved; where the matrix is not positive the gradient is taken. */
#include "collide/distance/distance_piece.h"

enum {
  BESIDE = 4
}; /* evaluations that a solve costs beside those of its ascent: its start, supports of the cores, witnesses */

typedef struct sym3 {
  double xx, yy, zz, xy, xz, yz;
} sym3;

static double quad(const sym3* H, v3 a, v3 b) {
  return a.x * (H->xx * b.x + H->xy * b.y + H->xz * b.z) + a.y * (H->xy * b.x + H->yy * b.y + H->yz * b.z) +
         a.z * (H->xz * b.x + H->yz * b.y + H->zz * b.z);
}

static void add_outer(sym3* H, v3 a, double k) {
  H->xx += k * a.x * a.x, H->yy += k * a.y * a.y, H->zz += k * a.z * a.z;
  H->xy += k * a.x * a.y, H->xz += k * a.x * a.z, H->yz += k * a.y * a.z;
}

/* Support point of a piece along d, its Hessian added to H. */
static v3 piece_support(const kn_piece* s, v3 d, sym3* H) {
  if (s->kind == KN_PIECE_ELLIPSOID) {
    const kn_core* c = s->core;
    const double* z = c->size;
    v3 l = c->moved ? m3_tmul(c->pose.R, d) : d, m = {z[0] * l.x, z[1] * l.y, z[2] * l.z};
    double h = v3_norm(m), k = 1 / h;
    v3 x = {z[0] * m.x * k, z[1] * m.y * k, z[2] * m.z * k};
    if (H) {
      for (int i = 0; i < 3; i++)
        add_outer(H, c->moved ? m3_col(c->pose.R, i) : v3_axis(i, 1), z[i] * z[i] * k);
      add_outer(H, c->moved ? m3_mul(c->pose.R, x) : x, -k);
    }
    return c->moved ? v3_placed(&c->pose, x) : x;
  }
  if (s->kind == KN_PIECE_POINT || s->r == 0) return s->p;
  v3 e = v3_axpy(d, -v3_dot(d, s->u), s->u);
  double l = v3_unit(&e);
  if (l < 1e-3) { /* a difference of near equals: clean it, or take the given direction on the axis itself */
    if (l < 1e-15) e = s->kind == KN_PIECE_RIM ? s->q : v3_perp(s->u);
    e = v3_axpy(e, -v3_dot(e, s->u), s->u);
    v3_unit(&e);
  }
  if (H) add_outer(H, v3_cross(s->u, e), s->r / kn_max(1e-12, l));
  return v3_axpy(s->p, s->r, e);
}

static double piece_gap(const kn_piece* a, const kn_piece* b, v3 n, v3* w, sym3* H) {
  v3 x = piece_support(a, v3_neg(n), H), y = piece_support(b, n, H);
  *w = v3_sub(x, y);
  return v3_dot(*w, n);
}

/* Solves m x = r for symmetric 2x2 m with its eigenvalues made positive (|lambda|, at least a tiny fraction
   of the larger one), so that x is always a direction of increase. */
static void solve_positive(double x[2], double m00, double m01, double m11, const double r[2]) {
  double mean = 0.5 * (m00 + m11), half = 0.5 * (m00 - m11), root = sqrt(half * half + m01 * m01);
  double l0 = fabs(mean + root), l1 = fabs(mean - root), top = kn_max(l1, l0);
  l0 = kn_max(1e-12 * top + 1e-300, l0), l1 = kn_max(1e-12 * top + 1e-300, l1);
  double c = 1, s = 0; /* eigenvector of mean + root */
  if (root > 0) {
    c = half >= 0 ? half + root : m01, s = half >= 0 ? m01 : root - half;
    double l = sqrt(c * c + s * s);
    c /= l, s /= l;
  }
  double p = (c * r[0] + s * r[1]) / l0, q = (c * r[1] - s * r[0]) / l1;
  x[0] = c * p - s * q, x[1] = s * p + c * q;
}

/* Newton's step in the tangent plane of n, or along the circle perpendicular to line (k = 1). */
static v3 newton_step(const sym3* H, v3 n, v3 w, double g, int k, v3 line) {
  v3 t0 = k == 1 ? v3_cross(line, n) : v3_perp(n), t1 = v3_cross(n, t0);
  double r[2] = {v3_dot(w, t0), v3_dot(w, t1)}, x[2], m00 = quad(H, t0, t0) + g;
  if (k == 1) return v3_mul(t0, r[0] / (fabs(m00) + 1e-300));
  solve_positive(x, m00, quad(H, t0, t1), quad(H, t1, t1) + g, r);
  return v3_add(v3_mul(t0, x[0]), v3_mul(t1, x[1]));
}

/* Length of the gradient: the part of w that n may still follow. */
static double slope(v3 w, v3 n, int k, v3 line) {
  if (k == 1) return fabs(v3_dot(w, v3_cross(line, n)));
  return v3_norm(v3_axpy(w, -v3_dot(w, n), n));
}

/* What the searches of this thread have cost: who asks takes the difference. */
static _Thread_local int64_t work;

int64_t kn_piece_work(void) { return work; }

static v3 ascend(const kn_piece* a, const kn_piece* b, v3 n, int k, v3 line, double size) {
  sym3 H = {0};
  v3 w;
  double g = piece_gap(a, b, n, &w, &H), r = slope(w, n, k, line);
  int budget =
      40; /* evaluations; Newton needs about ten, what needs more climbs a ridge that leads nowhere */
  for (int it = 0; it < 50 && r > 1e-15 * size && budget > 0; it++) {
    v3 delta = newton_step(&H, n, w, g, k, line);
    double len = v3_norm(delta), step = 1;
    if (!(len > 0) || !(len < 1e100)) break;
    if (len > 0.5) delta = v3_mul(delta, 0.5 / len), len = 0.5;
    bool better = false;
    for (int half = 0; half < 40 && !better && budget-- > 0; half++, step *= 0.5) {
      v3 m = v3_axpy(n, step, delta), wm;
      if (k == 1) m = v3_axpy(m, -v3_dot(m, line), line);
      v3_unit(&m);
      sym3 Hm = {0};
      work++;
      double gm = piece_gap(a, b, m, &wm, &Hm), rm = slope(wm, m, k, line);
      /* close to the top g cannot grow any more in double; there the gradient decides */
      better = gm > g || (gm >= g - 4e-15 * size && rm < 0.5 * r);
      if (better) n = m, g = gm, w = wm, H = Hm, r = rm;
    }
    if (!better || len * step < 1e-16) break;
  }
  return n;
}

static v3 on_segment(v3 p, v3 q, v3 x) {
  v3 u = v3_sub(q, p);
  double uu = v3_norm2(u);
  return uu > 0 ? v3_axpy(p, kn_clamp(v3_dot(v3_sub(x, p), u) / uu, 0, 1), u) : p;
}

/* The point of a convex polygon nearest to x. */
static v3 on_polygon(const kn_patch* f, v3 x) {
  x = v3_axpy(x, -v3_dot(f->normal, v3_sub(x, f->p[0])), f->normal);
  v3 best = x;
  double least = INFINITY;
  bool inside = true;
  for (int i = 0; i < f->n; i++) {
    v3 p = f->p[i], q = f->p[i + 1 == f->n ? 0 : i + 1], e = v3_sub(q, p);
    if (v3_dot(v3_cross(f->normal, e), v3_sub(x, p)) >= 0) continue;
    inside = false;
    v3 y = on_segment(p, q, x);
    double d = v3_norm2(v3_sub(x, y));
    if (d < least) least = d, best = y;
  }
  return inside ? x : best;
}

/* Middle of the part of a segment inside a polygon; its nearest end when there is none. */
static v3 segment_in_polygon(const kn_patch* f, v3 p, v3 q) {
  double lo = 0, hi = 1;
  v3 u = v3_sub(q, p);
  for (int i = 0; i < f->n; i++) {
    v3 o = f->p[i], e = v3_sub(f->p[i + 1 == f->n ? 0 : i + 1], o), m = v3_cross(f->normal, e);
    double s = v3_dot(m, v3_sub(p, o)), d = v3_dot(m, u);
    if (d > 0)
      lo = kn_max(-s / d, lo);
    else if (d < 0)
      hi = kn_min(-s / d, hi);
  }
  if (lo > hi) lo = hi = kn_clamp(0.5 * (lo + hi), 0, 1);
  return v3_axpy(p, 0.5 * (lo + hi), u);
}

/* The point of a piece's supporting set along d that is nearest to x. f: the polygon when the piece is a
 * face. */
static v3 nearest_on(const kn_piece* s, v3 d, v3 x, const kn_patch* f) {
  switch (s->kind) {
  case KN_PIECE_LINE: {
    v3 o = v3_mul(d, s->r);
    return on_segment(v3_add(s->p, o), v3_add(s->q, o), x);
  }
  case KN_PIECE_FACE: return on_polygon(f, x);
  case KN_PIECE_DISC: {
    v3 e = v3_sub(x, s->p);
    e = v3_axpy(e, -v3_dot(e, s->u), s->u);
    double l = v3_unit(&e);
    return v3_axpy(s->p, kn_min(s->r, l), e);
  }
  default: return piece_support(s, d, NULL);
  }
}

static bool flat(const kn_piece* s) { return s->kind == KN_PIECE_DISC || s->kind == KN_PIECE_FACE; }

static void witnesses(kn_core_gap* out, const kn_piece* a, const kn_piece* b, const kn_core* A,
                      const kn_core* B) {
  v3 n = out->n, m = v3_neg(n), shift = v3_mul(n, out->gap);
  kn_patch fa, fb;
  if (a->kind == KN_PIECE_FACE) kn_patch_of(&fa, A, m, 0);
  if (b->kind == KN_PIECE_FACE) kn_patch_of(&fb, B, n, 0);
  if (a->kind == KN_PIECE_LINE && b->kind == KN_PIECE_LINE) {
    v3 oa = v3_mul(m, a->r), ob = v3_axpy(shift, b->r, n);
    kn_core_gap x;
    kn_segment_segment(&x, v3_add(a->p, oa), v3_add(a->q, oa), v3_add(b->p, ob), v3_add(b->q, ob));
    out->a = x.a, out->b = v3_sub(x.b, shift);
  } else if (a->kind == KN_PIECE_FACE && b->kind == KN_PIECE_LINE) {
    v3 o = v3_mul(n, b->r);
    out->b = segment_in_polygon(&fa, v3_add(b->p, o), v3_add(b->q, o));
    out->a = on_polygon(&fa, v3_add(out->b, shift));
  } else if (b->kind == KN_PIECE_FACE && a->kind == KN_PIECE_LINE) {
    v3 o = v3_mul(m, a->r);
    out->a = segment_in_polygon(&fb, v3_add(a->p, o), v3_add(a->q, o));
    out->b = on_polygon(&fb, v3_sub(out->a, shift));
  } else if (a->kind == KN_PIECE_DISC) {
    out->b = nearest_on(b, n, v3_sub(a->p, shift), &fb);
    out->a = nearest_on(a, m, v3_add(out->b, shift), &fa);
  } else if (b->kind == KN_PIECE_DISC) {
    out->a = nearest_on(a, m, v3_add(b->p, shift), &fa);
    out->b = nearest_on(b, n, v3_sub(out->a, shift), &fb);
  } else if (flat(b) || b->kind == KN_PIECE_LINE) {
    out->a = nearest_on(a, m, out->a, &fa);
    out->b = nearest_on(b, n, v3_sub(out->a, shift), &fb);
  } else {
    out->b = nearest_on(b, n, out->b, &fb);
    out->a = nearest_on(a, m, v3_add(out->b, shift), &fa);
  }
}

/* The direction that the flat pieces and lines leave free: 0 none, 1 a circle (perpendicular to *line), 2
 * all. */
static int freedom(v3* n, v3* line, const kn_piece* a, const kn_piece* b) {
  if (flat(a)) return *n = v3_neg(a->u), 0;
  if (flat(b)) return *n = b->u, 0;
  bool la = a->kind == KN_PIECE_LINE, lb = b->kind == KN_PIECE_LINE;
  if (!la && !lb) return 2;
  *line = la ? a->u : b->u;
  if (la && lb) {
    v3 c = v3_cross(a->u, b->u);
    if (v3_norm2(c) > 1e-20) {
      v3_unit(&c);
      *n = v3_dot(c, *n) < 0 ? v3_neg(c) : c;
      return 0;
    }
  }
  *n = v3_axpy(*n, -v3_dot(*n, *line), *line);
  if (v3_unit(n) == 0) *n = v3_perp(*line);
  return 1;
}

/* How badly a line or flat piece supports along n: it does only if n is square to it. */
static double tilt(const kn_piece* s, v3 n, double size) {
  if (s->kind == KN_PIECE_LINE) return size * fabs(v3_dot(n, s->u));
  return flat(s) ? size * v3_norm(v3_cross(n, s->u)) : 0;
}

/* On the axis of a rim the support function has a kink and no Newton step leaves it: start a little beside
 * it. */
static v3 leave_axis(const kn_piece* s, v3 n, double towards) {
  if (s->kind != KN_PIECE_RIM || v3_norm2(v3_cross(n, s->u)) > 1e-6) return n;
  n = v3_axpy(n, 1e-2 * towards, s->q);
  v3_unit(&n);
  return n;
}

static v3 best_normal(const kn_piece* a, const kn_piece* b, v3 n, double size) {
  if (a->kind == KN_PIECE_POINT && b->kind == KN_PIECE_POINT) {
    v3 d = v3_sub(a->p, b->p);
    return v3_unit(&d) > 0 ? d : n;
  }
  v3 none = {0, 0, 0}, w, m = ascend(a, b, n, 2, none, size);
  v3 start = leave_axis(b, leave_axis(a, n, -1), 1);
  if (start.x == n.x && start.y == n.y && start.z == n.z) return m;
  v3 k = ascend(a, b, start, 2, none, size);
  return piece_gap(a, b, k, &w, NULL) > piece_gap(a, b, m, &w, NULL) ? k : m;
}

static bool straight(const kn_piece* s) { return s->kind == KN_PIECE_POINT || s->kind == KN_PIECE_LINE; }

/* Point or parallel line against a line: g = n.(p_A - p_B) - radii is largest straight across, wherever one
 * starts. */
static v3 across(const kn_piece* a, const kn_piece* b, v3 n, v3 line) {
  v3 d = v3_sub(a->p, b->p);
  d = v3_axpy(d, -v3_dot(d, line), line);
  if (!(v3_unit(&d) > 0)) return n;
  d = v3_axpy(d, -v3_dot(d, line), line);
  v3_unit(&d);
  return d;
}

double kn_piece_solve(kn_core_gap* out, const kn_piece* a, const kn_piece* b, const kn_core* A,
                      const kn_core* B, v3 n, double size, double floor) {
  v3 line = {0, 0, 0};
  work += BESIDE;
  int k = freedom(&n, &line, a, b);
  if (k == 1 && straight(a) && straight(b))
    n = across(a, b, n, line);
  else if (k == 1)
    n = ascend(a, b, n, 1, line, size);
  if (k == 2) n = best_normal(a, b, n, size);
  kn_gjk_point w = kn_minkowski(A, B, v3_neg(n));
  *out = (kn_core_gap){.gap = v3_dot(n, w.w), .n = n, .a = w.a, .b = w.b};
  if (!(out->gap >= floor)) return INFINITY;
  witnesses(out, a, b, A, B);
  return v3_norm(v3_sub(v3_sub(out->a, out->b), v3_mul(n, out->gap))) + tilt(a, n, size) + tilt(b, n, size);
}
