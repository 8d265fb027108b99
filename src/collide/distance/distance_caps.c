/* Two cylinders cap to cap, turned against each other by so little (1e-8) that the direction of n across an
   axis drowns in rounding, while it decides where on the rim the contact is.

   Seen along n the rims are circles with centres p and radii r. When the best normal lies between the axes
   the witnesses are where the circles cross, p_A + r_A q_A = p_B + r_B q_B. There A's rim supports -n and B's
   supports n: with t the (tiny) parts across n of the caps' axes, v - t_A = -alpha q_A and v - t_B = beta
   q_B, alpha, beta >= 0, so t_A - t_B = alpha q_A + beta q_B gives v, and n + v is the normal. */
#include "collide/distance/distance_piece.h"

typedef struct cap {
  v3 centre, axis; /* axis: towards n on both */
  double r;
} cap;

static cap cap_of(const kn_core* c, v3 n, double side) { /* side: 1 the upper cap along n, -1 the lower */
  v3 u = c->moved ? m3_col(c->pose.R, 2) : (v3){0, 0, 1};
  if (v3_dot(u, n) < 0) u = v3_neg(u);
  return (cap){v3_axpy(c->centre, side * c->size[1], u), u, c->size[0]};
}

/* The point of the rim in direction e. */
static v3 rim_point(const cap* c, v3 e) {
  e = v3_axpy(e, -v3_dot(e, c->axis), c->axis);
  v3_unit(&e);
  return v3_axpy(c->centre, c->r, e);
}

typedef struct view { /* across n */
  v3 x, y, qa, qb;
} view;

/* One of the two crossings seen along n; false when the rims do not cross. */
static bool crossing(view* w, const cap* a, const cap* b, v3 n, double which) {
  v3 d = v3_sub(b->centre, a->centre);
  d = v3_axpy(d, -v3_dot(d, n), n);
  double len = v3_unit(&d);
  if (!(len > 0) || len >= a->r + b->r || len <= fabs(a->r - b->r)) return false;
  w->x = d, w->y = v3_cross(n, d);
  double t = (len * len + (a->r - b->r) * (a->r + b->r)) / (2 * len),
         h = sqrt(kn_max((a->r - t) * (a->r + t), 0));
  w->qa = v3_mul(v3_axpy(v3_mul(w->y, which * h), t, w->x), 1 / a->r);
  w->qb = v3_mul(v3_axpy(v3_mul(w->y, which * h), t - len, w->x), 1 / b->r);
  return true;
}

/* Moves n to the normal that this crossing asks for; false when it is none. */
static bool turn_to(v3* n, const view* w, const cap* a, const cap* b) {
  v3 tau = v3_sub(a->axis, b->axis);
  double tx = v3_dot(tau, w->x), ty = v3_dot(tau, w->y), ax = v3_dot(w->qa, w->x), ay = v3_dot(w->qa, w->y),
         bx = v3_dot(w->qb, w->x), by = v3_dot(w->qb, w->y), det = ax * by - ay * bx;
  double alpha = (tx * by - ty * bx) / det, beta = (ax * ty - ay * tx) / det;
  if (!(alpha >= 0 && beta >= 0)) return false;
  *n = v3_axpy(a->axis, -alpha, w->qa);
  v3_unit(n);
  return true;
}

double kn_caps_cross(kn_core_gap* out, const kn_core* A, const kn_core* B, v3 n, double size) {
  if (A->type != KN_CORE_CYLINDER || B->type != KN_CORE_CYLINDER) return INFINITY;
  cap a = cap_of(A, n, -1), b = cap_of(B, n, 1);
  if (!(v3_norm(v3_cross(a.axis, b.axis)) < 1e-5)) return INFINITY;
  double best = INFINITY;
  for (double which = -1; which <= 1; which += 2) {
    kn_core_gap g = {.n = n, .fa = KN_PIECE_RIM, .fb = KN_PIECE_RIM};
    view w;
    bool ok = true;
    for (int it = 0; it < 4 && ok; it++) ok = crossing(&w, &a, &b, g.n, which) && turn_to(&g.n, &w, &a, &b);
    if (!ok || !crossing(&w, &a, &b, g.n, which)) continue;
    g.gap = v3_dot(g.n, kn_minkowski(A, B, v3_neg(g.n)).w);
    g.a = rim_point(&a, w.qa), g.b = rim_point(&b, w.qb);
    double m = v3_norm(v3_sub(v3_sub(g.a, g.b), v3_mul(g.n, g.gap)));
    if (m < best) best = m, *out = g;
  }
  return best <= 1e-6 * size ? best : INFINITY;
}
