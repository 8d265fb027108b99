/* An ellipsoid on a face of a box, in closed form (the links of the planar grasps are such faces).

   Face with outward normal n through m, ellipsoid with centre c and matrix E = R diag(s²) R^T:

     h = sqrt(n^T E n),   gap = n·(c - m) - h,   lowest point x = c - E n / h,   foot f = x - gap n on the face.

   Proof that this is the distance when f lies inside the face, at least r from its edges:

     apart        x - f = gap n: the witnesses fit, primal = dual
     overlapping  the box holds the ball of radius r (at most half the thickness) that touches the face at f,
                  and the ellipsoid that of radius r2 = min s² / max s at x; in any direction the two shapes
                  overlap at least as deep as these balls, r + r2 - |difference of centres| = -gap, as long as
                  the centres have not passed each other, -gap < r + r2. */
#include "collide/distance/distance_piece.h"

static v3 axis_of(const kn_core* c, int i) { return c->moved ? m3_col(c->pose.R, i) : v3_axis(i, 1); }

/* The face of the box that separates most, and the ellipsoid's lowest point over it. */
static double best_face(int* axis, v3* n, v3* low, const kn_core* e, const kn_core* box) {
  double best = -INFINITY;
  for (int i = 0; i < 3; i++) {
    v3 u = axis_of(box, i), d = v3_sub(e->centre, box->centre);
    if (v3_dot(u, d) < 0) u = v3_neg(u); /* the far face separates less: h is the same for ±u */
    int id;
    v3 x = kn_core_support(e, v3_neg(u), &id);
    double gap = v3_dot(u, v3_sub(x, box->centre)) - box->size[i];
    if (gap > best) best = gap, *axis = i, *n = u, *low = x;
  }
  return best;
}

/* Distance from the point to the nearest edge of that face, negative outside. */
static double inside_face(const kn_core* box, int axis, v3 x) {
  v3 d = v3_sub(x, box->centre);
  double room = INFINITY;
  for (int k = 1; k < 3; k++) {
    int i = (axis + k) % 3;
    room = kn_min(box->size[i] - fabs(v3_dot(axis_of(box, i), d)), room);
  }
  return room;
}

bool kn_face_ellipsoid(kn_core_gap* out, const kn_core* A, const kn_core* B) {
  bool first = A->type == KN_CORE_ELLIPSOID;
  const kn_core *e = first ? A : B, *box = first ? B : A;
  if (e->type != KN_CORE_ELLIPSOID || box->type != KN_CORE_BOX) return false;
  int axis = 0;
  v3 n = {0, 0, 0}, low = n;
  double gap = best_face(&axis, &n, &low, e, box), r = inside_face(box, axis, low);
  if (!(r > 1e-12 * (A->extent + B->extent))) return false;
  double small = kn_min(kn_min(e->size[2], e->size[1]), e->size[0]);
  double large = kn_max(kn_max(e->size[2], e->size[1]), e->size[0]);
  if (gap < 0 && !(-gap < kn_min(box->size[axis], r) + small * small / large)) return false;
  v3 foot = v3_axpy(low, -gap, n);
  out->gap = gap;
  out->n = first ? n : v3_neg(n); /* from B towards A */
  out->a = first ? low : foot, out->b = first ? foot : low;
  out->fa = first ? KN_PIECE_ELLIPSOID : KN_PIECE_FACE, out->fb = first ? KN_PIECE_FACE : KN_PIECE_ELLIPSOID;
  return true;
}
