/* The hot part of two boxes: separating axes and the contacts along a face. The same numbers
   on every instruction set. */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/pair/pair_box_clip.h"

typedef kn_box_axes axes;

static bool face_axes(axes* best, const double* R, const double* Q, const double* t, const double* ha,
                      const double* hb, double limit) {
  double side = 0;
  best->s = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double s = fabs(t[i]) - (ha[i] + Q[3 * i] * hb[0] + Q[3 * i + 1] * hb[1] + Q[3 * i + 2] * hb[2]);
    if (s > limit) return false;
    if (s > best->s) best->s = s, best->face = i, side = t[i];
  }
  for (int j = 0; j < 3; j++) {
    double c = t[0] * R[j] + t[1] * R[3 + j] + t[2] * R[6 + j];
    double s = fabs(c) - (hb[j] + Q[j] * ha[0] + Q[3 + j] * ha[1] + Q[6 + j] * ha[2]);
    if (s > limit) return false;
    if (s > best->s) best->s = s, best->face = 3 + j, side = c;
  }
  double sign = side > 0 ? -1 : 1; /* B lies along +t, so the way from B to A is against it */
  best->n = best->face < 3 ? v3_axis(best->face, sign) : v3_mul(m3_col(R, best->face - 3), sign);
  return true;
}

/* Separation along e_i x b_j with every projection taken from the axis itself; n gets the unit axis. */
static double exact_edge(v3* n, const double* R, v3 t, const double* ha, const double* hb, int i, int j) {
  int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  double e[3];
  e[i] = 0, e[i1] = -R[3 * i2 + j], e[i2] = R[3 * i1 + j];
  v3 c = v3_of(e);
  v3_unit(&c);
  double d = v3_dot(t, c), s = fabs(d);
  for (int k = 0; k < 3; k++)
    s -= fabs(v3_at(c, k)) * ha[k] + (k == j ? 0 : fabs(v3_dot(c, m3_col(R, k))) * hb[k]);
  *n = d > 0 ? v3_neg(c) : c;
  return s;
}

/* An edge axis must beat the faces by more than rounding: on faces that rest on each other some are the same
   axis. */
static bool edge_axes(axes* best, const double* R, const double* Q, const double* t, const double* ha,
                      const double* hb, double limit) {
  double tie = KN_BOX_TIE * (ha[0] + ha[1] + ha[2] + hb[0] + hb[1] + hb[2]);
  UNROLL for (int i = 0; i < 3; i++) {
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    UNROLL for (int j = 0; j < 3; j++) {
      int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      double c1 = R[3 * i1 + j], c2 = R[3 * i2 + j], L = c1 * c1 + c2 * c2;
      double S = fabs(t[i2] * c1 - t[i1] * c2) - ha[i1] * Q[3 * i2 + j] - ha[i2] * Q[3 * i1 + j] -
                 hb[j1] * Q[3 * i + j2] - hb[j2] * Q[3 * i + j1];
      bool thin = L < 1e-8;
      double b = best->s + tie, bb = b * b * L;
      bool wins = S > 0 ? b < 0 || S * S > bb : b < 0 && S * S < bb;
      if (!wins && !thin) continue;
      if (L < 1e-24) continue;
      v3 n;
      double s = exact_edge(&n, R, v3_of(t), ha, hb, i, j);
      if (!(s > b)) continue;
      if (s > limit) return false;
      *best = (axes){s, -1, i, j, n};
    }
  }
  return true;
}

static bool box_separate(kn_box_axes* best, const kn_pair* q, const kn_pose* rel, double limit) {
  double Q[9];
  for (int k = 0; k < 9; k++) Q[k] = fabs(rel->R[k]);
  const double *ha = q->a->size, *hb = q->b->size;
  return face_axes(best, rel->R, Q, rel->p, ha, hb, limit) &&
         edge_axes(best, rel->R, Q, rel->p, ha, hb, limit);
}

/* The faces that look along the axis w. */
LANES bool clip_along(clipped* o, const kn_pair* q, const kn_pose* rel, const axes* w, double size) {
  const double *ha = q->a->size, *hb = q->b->size, *R = rel->R;
  v3 n = w->n, m = m3_tmul(R, n), d = v3_neg(n);
  kn_box_view v = {ha, hb, R, rel->p, q->A, size, false};
  double T[9], t[3];
  int axis = w->face;
  if (!(w->face >= 0 ? w->face < 3 : v3_max_abs(n) >= v3_max_abs(m))) {
    for (int i = 0; i < 9; i++) T[i] = R[i % 3 * 3 + i / 3];
    v3_to(t, v3_neg(m3_tmul(R, v3_of(rel->p))));
    if (axis >= 0) axis -= 3, m = v3_axis(axis, v3_at(m, axis) > 0 ? 1 : -1);
    v = (kn_box_view){hb, ha, T, t, q->B, size, true};
    d = m;
  }
  return box_clip(o, &v, d, axis, q->margin, q->cache);
}

static int box_faces(kn_contact_point* out, const kn_pair* q, const kn_pose* rel, const axes* w,
                     double size) {
  clipped o;
  return clip_along(&o, q, rel, w, size) ? put_points(out, &o) : 0;
}

const kn_box_table KN_NAME(kn_box) = {box_separate, box_faces};
