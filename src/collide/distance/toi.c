/* Time of impact by conservative advancement (Mirtich 1996; Zhang, Lee and Kim 2006), with steps from support
   functions.

   At time t convex shapes have gap g and normal n. Let n(s) = exp(s [Ω]) n turn at any rate Ω we like. For a
   point of A at r from its centre c_a, n(s).x(t + s) has at s = 0 the first derivative

     n.v_a + (Ω x n).(c_a + r) + n.(w_a x r).

   Collecting the terms in r, and likewise for B, the shapes are apart along n(s), s later, by at least

     L(s) = n.c + s (n.v + (Ω x n).c) - h_a(-d_a) - h_b(d_b) - k s²/2,   c = c_a - c_b,  v = v_a - v_b,
     d_i  = n + s n x (w_i - Ω),   h_i the support function about the centre,
     k    = |Ω|² D + 2 |Ω| V + |w_a|² r_a + |w_b|² r_b >= |second derivative|,
            D >= |x_a - x_b|,  V >= |x_a' - x_b'|.

   L(0) = g, and L is concave (least of linear functions minus a square), so L(s) >= 0 at one s proves that
   nothing touches in [t, t + s]; the root is approached from the left by chords. Ω = 0 serves far away; near contact Ω is the
   rate at which the normal turned since the last query, which makes the convergence superlinear (a face that
   turns, crossed edges). The plain bound L >= g - s mu, mu = -n.v + |n x w_a| r_a + |n x w_b| r_b, starts
   each step; a mesh is not convex, there every point is at least g away and mu = |v| + |w_a| r_a + |w_b| r_b
   is all we have. A quarter of the tolerance is kept in hand against the rounding of the distance. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "collide/broad/broad.h"
#include "collide/distance/support.h"
#include "knuckle/cast.h"
#include "math/elementary.h"
#include "spatial/v3.h"

kn_toi_settings kn_toi_default(void) { return (kn_toi_settings){.tolerance = 1e-6, .max_steps = 1000}; }

/* exp(t [w]) by Rodrigues' formula. */
static void rotation(double R[9], v3 w, double t) {
  double rate = v3_norm(w), s, c;
  kn_sincos(&s, &c, rate * t);
  v3 u = w;
  if (!(v3_unit(&u) > 0)) u = (v3){0, 0, 0}, s = 0, c = 1;
  double k = 1 - c;
  if (fabs(s) < 0.1 && c > 0) k = s * s / (1 + c); /* no cancellation */
  double M[9] = {
      1 - k * (u.y * u.y + u.z * u.z), k * u.x * u.y - s * u.z,         k * u.x * u.z + s * u.y,
      k * u.x * u.y + s * u.z,         1 - k * (u.x * u.x + u.z * u.z), k * u.y * u.z - s * u.x,
      k * u.x * u.z - s * u.y,         k * u.y * u.z + s * u.x,         1 - k * (u.x * u.x + u.y * u.y)};
  memcpy(R, M, sizeof M);
}

void kn_sweep_pose(kn_pose* out, const kn_sweep* s, double t) {
  if (!out || !s) return;
  v3 c = v3_of(s->centre), r = v3_sub(v3_of(s->start.p), c), w = v3_of(s->w);
  c = v3_axpy(c, t, v3_of(s->v));
  if (w.x == 0 && w.y == 0 && w.z == 0) {
    *out = s->start;
    v3_to(out->p, v3_add(c, r));
    return;
  }
  double E[9];
  rotation(E, w, t);
  for (int j = 0; j < 3; j++) {
    v3 col = m3_mul(E, m3_col(s->start.R, j));
    out->R[j] = col.x, out->R[3 + j] = col.y, out->R[6 + j] = col.z;
  }
  v3_to(out->p, v3_add(c, m3_mul(E, r)));
}

/* Radius about the centre of rotation, slightly enlarged for rounding; 0 when it does not turn. */
static double turning_radius(const kn_shape* s, const kn_sweep* m) {
  if (m->w[0] == 0 && m->w[1] == 0 && m->w[2] == 0) return 0;
  v3 middle = s->type == KN_SHAPE_HULL ? v3_placed(&m->start, v3_of(s->hull->centroid)) : v3_of(m->start.p);
  double r = s->type == KN_SHAPE_HULL ? s->hull->radius : kn_shape_radius(s);
  return (r + v3_norm(v3_sub(middle, v3_of(m->centre)))) * (1 + 1e-12);
}

static bool finite_sweep(const kn_sweep* m) {
  double s = 0;
  for (int k = 0; k < 3; k++) s += fabs(m->centre[k]) + fabs(m->w[k]) + fabs(m->v[k]);
  return isfinite(s);
}

static kn_status check(const kn_shape* a, const kn_sweep* ma, const kn_shape* b, const kn_sweep* mb,
                       double t_max, const kn_toi_settings* s) {
  if (!finite_sweep(ma) || !finite_sweep(mb))
    return kn_fail(KN_NOT_FINITE, "time of impact: a motion is not finite");
  if (!(t_max >= 0) || !isfinite(t_max)) return kn_fail(KN_BAD_ARGUMENT, "time of impact: t_max %g", t_max);
  if (!(s->tolerance > 0) || s->max_steps < 1)
    return kn_fail(KN_BAD_ARGUMENT, "time of impact: tolerance %g, max_steps %d", s->tolerance, s->max_steps);
  for (int i = 0; i < 2; i++) {
    const kn_shape* shape = i ? b : a;
    const double* w = i ? mb->w : ma->w;
    if (shape->type == KN_SHAPE_PLANE && (w[0] != 0 || w[1] != 0 || w[2] != 0))
      return kn_fail(KN_UNSUPPORTED, "time of impact: a plane that turns sweeps everything");
    if ((shape->type == KN_SHAPE_HULL && !shape->hull) || (shape->type == KN_SHAPE_MESH && !shape->mesh))
      return kn_fail(KN_BAD_ARGUMENT, "time of impact: shape without its hull or mesh");
  }
  return KN_OK;
}

/* One of the two bodies in motion. */
typedef struct mover {
  const kn_shape* shape;
  const kn_sweep* sweep;
  v3 v, w;
  double radius; /* about the centre of rotation */
  kn_pose pose;  /* now */
  v3 centre;     /* now */
  kn_core core;  /* now; not for planes and meshes */
} mover;

static mover make_mover(const kn_shape* shape, const kn_sweep* sweep) {
  mover m = {.shape = shape, .sweep = sweep, .v = v3_of(sweep->v), .w = v3_of(sweep->w)};
  m.radius = turning_radius(shape, sweep);
  return m;
}

static void move_to(mover* m, double t) {
  kn_sweep_pose(&m->pose, m->sweep, t);
  m->centre = v3_axpy(v3_of(m->sweep->centre), t, m->v);
}

static bool is_round(const mover* m) {
  return m->shape->type != KN_SHAPE_PLANE && m->shape->type != KN_SHAPE_MESH;
}

/* Upper bound on how fast the gap closes from now on, slightly enlarged for rounding. */
static double closing_rate(v3 n, const mover* a, const mover* b) {
  v3 v = v3_sub(b->v, a->v);
  double slack = 1e-14 * (v3_norm(a->v) + v3_norm(b->v));
  if (a->shape->type == KN_SHAPE_MESH || b->shape->type == KN_SHAPE_MESH)
    return v3_norm(v) + v3_norm(a->w) * a->radius + v3_norm(b->w) * b->radius + slack;
  return v3_dot(n, v) + v3_norm(v3_cross(n, a->w)) * a->radius + v3_norm(v3_cross(n, b->w)) * b->radius +
         slack;
}

/* Support function about the centre of rotation. */
static double reach(const mover* m, v3 d) {
  int id;
  if (m->shape->type == KN_SHAPE_PLANE)
    return v3_dot(d, v3_sub(v3_of(m->pose.p), m->centre)); /* d is its normal */
  return v3_dot(d, v3_sub(kn_core_support(&m->core, d, &id), m->centre)) + m->core.radius * v3_norm(d);
}

/* What L(s) needs for one normal and one Ω. */
typedef struct bound {
  const mover *a, *b;
  v3 n, ta, tb;       /* n x (w_i - Ω) */
  double at, rate, k; /* n.c, n.v + (Ω x n).c, curvature */
  double keep;
} bound;

static bound make_bound(v3 n, v3 omega, double keep, double horizon, const mover* a, const mover* b) {
  v3 c = v3_sub(a->centre, b->centre), v = v3_sub(a->v, b->v);
  double turn = v3_norm(omega), wa = v3_norm(a->w), wb = v3_norm(b->w), speed = v3_norm(v);
  double D = v3_norm(c) + horizon * speed + a->radius + b->radius,
         V = speed + wa * a->radius + wb * b->radius;
  bound L = {.a = a, .b = b, .n = n, .keep = keep};
  L.ta = v3_cross(n, v3_sub(a->w, omega)), L.tb = v3_cross(n, v3_sub(b->w, omega));
  L.at = v3_dot(n, c), L.rate = v3_dot(n, v) + v3_dot(v3_cross(omega, n), c);
  L.k = turn * turn * D + 2 * turn * V + wa * wa * a->radius + wb * wb * b->radius;
  return L;
}

static double apart(const bound* L, double s) {
  v3 da = v3_axpy(L->n, s, L->ta), db = v3_axpy(L->n, s, L->tb);
  return L->at + s * L->rate - reach(L->a, v3_neg(da)) - reach(L->b, db) - 0.5 * L->k * s * s - L->keep;
}

/* An s with L(s) >= keep, as a rule less than `enough` above it, by chords between a point where it holds
   (left) and one where it does not. */
static double chord_step(const bound* L, double f_left, double right, double room, double enough) {
  double left = 0, f_right = apart(L, right);
  for (int i = 0; i < 4; i++) {
    if (f_right >= 0) { /* holds there too: look farther */
      left = right, f_left = f_right;
      if (right >= room) return room;
      right = kn_min(4 * right, room);
      f_right = apart(L, right);
      continue;
    }
    double s = left + (right - left) * f_left / (f_left - f_right), f = apart(L, s);
    if (!(f >= 0)) break; /* rounding */
    left = s, f_left = f;
    if (f < enough) break;
    /* a point to the right of the root, near it: by the slope just seen */
    double next = kn_min(s + 2 * f * (right - s) / (f - f_right), right);
    double f_next = apart(L, next);
    if (f_next >= 0)
      left = next, f_left = f_next;
    else
      right = next, f_right = f_next;
  }
  return left;
}

static v3 velocity_at(const mover* m, const double x[3]) {
  return v3_add(m->v, v3_cross(m->w, v3_sub(v3_of(x), m->centre)));
}

/* A step after which, and before which, the shapes are more than `keep` apart. `room` is the time left. */
static double safe_step(const kn_distance_result* d, double keep, double room, v3 omega, mover* a, mover* b) {
  v3 n = v3_of(d->normal);
  double rate = closing_rate(n, a, b), f = d->gap - keep, plain = f / rate;
  if (!(rate > 0) || plain >= room) return room;
  if (a->shape->type == KN_SHAPE_MESH || b->shape->type == KN_SHAPE_MESH) return plain;
  if (is_round(a)) kn_core_of(&a->core, a->shape, &a->pose);
  if (is_round(b)) kn_core_of(&b->core, b->shape, &b->pose);
  double horizon = kn_min(64 * plain, room);
  bound L = make_bound(n, omega, keep, horizon, a, b);
  /* with Ω = 0 the normal will be off by more than this anyway */
  double enough = omega.x == 0 && omega.y == 0 && omega.z == 0 ? 0.05 * f : 1e-3 * f;
  /* the tangent at the witness points lies above the concave L: its root is the first point to the right */
  double slope = v3_dot(n, v3_sub(velocity_at(a, d->on_a), velocity_at(b, d->on_b)));
  double right = slope < 0 ? kn_min(f / -slope, horizon) : horizon;
  double step = chord_step(&L, f, right, horizon, enough > keep ? enough : keep);
  return step > plain ? step : plain;
}

/* Angular velocity that turned the unit vector `last` into n. */
static v3 turning_rate(v3 last, v3 n, double dt) { return v3_mul(v3_cross(last, n), 1 / dt); }

kn_status kn_time_of_impact(kn_toi_result* out, const kn_shape* a, const kn_sweep* sweep_a, const kn_shape* b,
                            const kn_sweep* sweep_b, double t_max, const kn_toi_settings* settings,
                            kn_pair_cache* cache) {
  kn_toi_settings s = settings ? *settings : kn_toi_default();
  KN_REQUIRE(out && a && sweep_a && b && sweep_b);
  memset(out, 0, sizeof *out);
  KN_TRY(check(a, sweep_a, b, sweep_b, t_max, &s));
  kn_pair_cache own;
  if (!cache) {
    memset(&own, 0, sizeof own);
    cache = &own;
  }
  mover A = make_mover(a, sweep_a), B = make_mover(b, sweep_b);
  v3 last = {0, 0, 0}, omega = {0, 0, 0};
  bool plane = a->type == KN_SHAPE_PLANE || b->type == KN_SHAPE_PLANE;
  double step = 0;
  for (out->steps = 1;; out->steps++) {
    move_to(&A, out->t);
    move_to(&B, out->t);
    KN_TRY(kn_distance(&out->distance, a, &A.pose, b, &B.pose, cache));
    double gap = out->distance.gap, room = t_max - out->t;
    out->state = gap <= s.tolerance ? (out->t == 0 ? KN_TOI_OVERLAP : KN_TOI_TOUCH)
                 : room <= 0        ? KN_TOI_SEPARATE
                                    : KN_TOI_UNDECIDED;
    if (out->state != KN_TOI_UNDECIDED || out->steps >= s.max_steps) return KN_OK;
    v3 n = v3_of(out->distance.normal);
    if (step > 0 && !plane) omega = turning_rate(last, n, step);
    step = safe_step(&out->distance, 0.25 * s.tolerance, room, omega, &A, &B);
    last = n;
    out->t = step >= room ? t_max : out->t + step; /* at the end the distance is still reported */
  }
}
