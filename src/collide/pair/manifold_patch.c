/* The flat piece of a convex core that faces a direction. */
#include "collide/pair/manifold.h"

#define STICKY 1e-6 /* the last face stays while its alignment is this close to the best */

static v3 turn(const kn_core* c, v3 n) { return c->moved ? m3_mul(c->pose.R, n) : n; }

static void patch_box(kn_patch* out, const kn_core* c, v3 d, int last) {
  v3 l = c->moved ? m3_tmul(c->pose.R, d) : d;
  double m[3] = {fabs(l.x), fabs(l.y), fabs(l.z)};
  int axis = m[0] >= m[1] ? (m[0] >= m[2] ? 0 : 2) : (m[1] >= m[2] ? 1 : 2);
  if (last > 0 && last <= 6) {
    int k = (last - 1) / 2;
    double s = (last - 1) % 2 ? v3_at(l, k) : -v3_at(l, k);
    if (s > m[axis] - STICKY) axis = k;
  }
  bool up = v3_at(l, axis) > 0;
  int i = (axis + 1) % 3, j = (axis + 2) % 3, base = up ? 1 << axis : 0;
  /* counter-clockwise about +axis is (-,-) (+,-) (+,+) (-,+) in i, j */
  static const int ci[4] = {0, 1, 1, 0}, cj[4] = {0, 0, 1, 1};
  double s = up ? 1 : -1;
  v3 z = c->moved ? m3_col(c->pose.R, axis) : v3_axis(axis, 1),
     x = c->moved ? m3_col(c->pose.R, i) : v3_axis(i, 1);
  v3 y = c->moved ? m3_col(c->pose.R, j) : v3_axis(j, 1);
  v3 mid = v3_axpy(c->centre, s * c->size[axis], z);
  x = v3_mul(x, c->size[i]), y = v3_mul(y, c->size[j]);
  for (int k = 0; k < 4; k++) {
    int q = up ? k : 3 - k;
    out->id[k] = (uint32_t)(base | ci[q] << i | cj[q] << j);
    v3 p = ci[q] ? v3_add(mid, x) : v3_sub(mid, x);
    out->p[k] = cj[q] ? v3_add(p, y) : v3_sub(p, y);
  }
  out->n = 4;
  out->face = 2 * axis + up;
  out->normal = v3_mul(z, s);
  out->align = m[axis];
}

/* The face that looks along l most, or the last one if it does so nearly as well. */
static int hull_face(const kn_hull* h, v3 l, int last, int at) {
  if (last > 0 && last <= h->nf && v3_dot(v3_of(h->plane + 4 * (last - 1)), l) > 1 - 0.5 * STICKY)
    return last - 1; /* none does so by more than 1 */
  int vertex = (unsigned)at < (unsigned)h->nv ? at : KN_BEST(kn_hull_farthest)(h, l.x, l.y, l.z);
  int best = h->vface[h->vface_start[vertex]];
  double top = -2;
  for (int k = h->vface_start[vertex]; k < h->vface_start[vertex + 1]; k++) {
    double s = v3_dot(v3_of(h->plane + 4 * h->vface[k]), l);
    if (s > top) top = s, best = h->vface[k];
  }
  if (last > 0 && last <= h->nf && v3_dot(v3_of(h->plane + 4 * (last - 1)), l) > top - STICKY)
    best = last - 1;
  return best;
}

static void patch_hull(kn_patch* out, const kn_core* c, v3 d, int last, int at) {
  const kn_hull* h = c->hull;
  v3 l = c->moved ? m3_tmul(c->pose.R, d) : d;
  int f = hull_face(h, l, last, at);
  int begin = h->face_start[f], count = h->face_start[f + 1] - begin,
      step = (count + KN_PATCH_MAX - 1) / KN_PATCH_MAX;
  out->n = 0;
  for (int k = 0; k < count; k += step) {
    out->id[out->n] = (uint32_t)h->face_vertex[begin + k];
    out->p[out->n++] = kn_core_vertex(c, h->face_vertex[begin + k]);
  }
  out->face = f;
  out->normal = turn(c, v3_of(h->plane + 4 * f));
  out->align = v3_dot(out->normal, d);
}

static void patch_points(kn_patch* out, const kn_core* c, v3 d) {
  v3 shift = v3_mul(d, c->radius);
  if (c->count == 2) {
    v3 u = v3_sub(c->v[1], c->v[0]);
    if (fabs(v3_dot(u, d)) > 0.1 * v3_norm(u)) return;
    out->n = 2, out->align = 1;
  } else if (c->count == 3) {
    v3 n = v3_cross(v3_sub(c->v[1], c->v[0]), v3_sub(c->v[2], c->v[0]));
    if (!(v3_unit(&n) > 0)) return;
    out->align = fabs(v3_dot(n, d));
    bool up = v3_dot(n, d) > 0;
    out->n = 3, out->normal = up ? n : v3_neg(n), out->face = up;
    for (int i = 0; i < 3; i++) {
      int k = up ? i : 2 - i;
      out->p[i] = c->v[k], out->id[i] = (uint32_t)k;
    }
    return;
  }
  for (int i = 0; i < out->n; i++) out->p[i] = v3_add(c->v[i], shift), out->id[i] = (uint32_t)i;
}

/* Cap: eight rim points, the lowest one first (at a fixed place below a tilt of 1e-7). Side: the generator
 * line. */
static void patch_cylinder(kn_patch* out, const kn_core* c, v3 d) {
  v3 u = c->moved ? m3_col(c->pose.R, 2) : (v3){0, 0, 1};
  double r = c->size[0], l = c->size[1], k = v3_dot(u, d);
  v3 e = v3_axpy(d, -k, u);
  double sine = v3_unit(&e);
  if (fabs(k) > 0.9) {
    bool up = k > 0;
    if (sine < 1e-7) e = c->moved ? m3_col(c->pose.R, 0) : (v3){1, 0, 0};
    v3 f = v3_cross(up ? u : v3_neg(u), e), mid = v3_axpy(c->centre, up ? l : -l, u);
    static const double h = 0.7071067811865476;
    static const double cs[8] = {1, h, 0, -h, -1, -h, 0, h}, sn[8] = {0, h, 1, h, 0, -h, -1, -h};
    for (int i = 0; i < 8; i++) {
      out->p[i] = v3_add(mid, v3_add(v3_mul(e, r * cs[i]), v3_mul(f, r * sn[i])));
      out->id[i] = (uint32_t)(i + 8 * up);
    }
    out->n = 8, out->normal = up ? u : v3_neg(u), out->face = up, out->align = fabs(k);
  } else if (fabs(k) < 0.1) {
    v3 line = v3_axpy(c->centre, r, e);
    out->p[0] = v3_axpy(line, -l, u), out->p[1] = v3_axpy(line, l, u);
    out->id[0] = 16, out->id[1] = 17;
    out->n = 2, out->face = 2, out->align = 1;
  }
}

void kn_patch_at(kn_patch* out, const kn_core* c, v3 d, int last, int at) {
  out->n = 0, out->face = 0, out->align = 0;
  switch (c->type) {
  case KN_CORE_BOX: patch_box(out, c, d, last); break;
  case KN_CORE_HULL: patch_hull(out, c, d, last, at); break;
  case KN_CORE_CYLINDER: patch_cylinder(out, c, d); break;
  case KN_CORE_POINTS: patch_points(out, c, d); break;
  default: break;
  }
}

void kn_patch_of(kn_patch* out, const kn_core* c, v3 d, int last) { kn_patch_at(out, c, d, last, -1); }
