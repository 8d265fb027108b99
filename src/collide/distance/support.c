/* Support mappings h(d) = max d.x of the convex cores and their farthest points (support.h): the only way in
   which GJK, EPA and time of impact see a shape. */
#include "collide/distance/support.h"

#include "base/error.h"
#include "knuckle/collide.h"

static v3 to_frame(const kn_core* c, v3 x) { return c->moved ? v3_placed(&c->pose, x) : x; }
static v3 to_core(const kn_core* c, v3 d) { return c->moved ? m3_tmul(c->pose.R, d) : d; }

static v3 box_corner(const double* h, int id) {
  return (v3){id & 1 ? h[0] : -h[0], id & 2 ? h[1] : -h[1], id & 4 ? h[2] : -h[2]};
}

v3 kn_core_corner(const kn_core* c, int id) {
  return c->type == KN_CORE_POINTS ? c->v[id] : to_frame(c, box_corner(c->size, id));
}

static v3 support_points(const kn_core* c, v3 d, int* id) {
  int best = 0;
  double top = v3_dot(c->v[0], d);
  for (int i = 1; i < c->count; i++) {
    double s = v3_dot(c->v[i], d);
    if (s > top) top = s, best = i;
  }
  *id = best;
  return c->v[best];
}

static v3 support_cylinder(const double* s, v3 d) {
  double rho2 = d.x * d.x + d.y * d.y, z = d.z < 0 ? -s[1] : s[1];
  if (!(rho2 > 0)) return (v3){0, 0, z};
  double k = s[0] / sqrt(rho2);
  return (v3){k * d.x, k * d.y, z};
}

static v3 support_ellipsoid(const double* s, v3 d) {
  v3 m = {s[0] * d.x, s[1] * d.y, s[2] * d.z};
  if (!(v3_unit(&m) > 0)) return (v3){0, 0, s[2]};
  return (v3){s[0] * m.x, s[1] * m.y, s[2] * m.z};
}

v3 kn_core_support(const kn_core* c, v3 d, int* id) {
  if (c->type == KN_CORE_POINTS) return support_points(c, d, id);
  v3 l = to_core(c, d);
  *id = -1;
  switch (c->type) {
  case KN_CORE_BOX:
    *id = (l.x > 0) | (l.y > 0) << 1 | (l.z > 0) << 2;
    return to_frame(c, box_corner(c->size, *id));
  case KN_CORE_HULL: {
    const kn_hull* h = c->hull;
    *id = KN_BEST(kn_hull_farthest)(h, l.x, l.y, l.z);
    return to_frame(c, (v3){h->x[*id], h->y[*id], h->z[*id]});
  }
  case KN_CORE_CYLINDER: return to_frame(c, support_cylinder(c->size, l));
  default: return to_frame(c, support_ellipsoid(c->size, l));
  }
}

v3 kn_core_support_near(const kn_core* c, v3 d, int* id, int near) {
  if (c->type != KN_CORE_HULL || !kn_core_has(c, near)) return kn_core_support(c, d, id);
  v3 l = to_core(c, d);
  *id = KN_BEST(kn_hull_climb)(c->hull, l.x, l.y, l.z, near);
  return kn_core_vertex(c, *id);
}

void kn_core_triangle(kn_core* out, const v3 v[3]) {
  *out = (kn_core){.type = KN_CORE_POINTS, .count = 3, .v = {v[0], v[1], v[2]}};
  out->centre = v3_mul(v3_add(v3_add(v[0], v[1]), v[2]), 1.0 / 3);
  for (int i = 0; i < 3; i++) out->extent = kn_max(v3_norm(v3_sub(v[i], out->centre)), out->extent);
}

static void core_segment(kn_core* c, const kn_pose* pose, double l) {
  v3 u = pose ? v3_mul(m3_col(pose->R, 2), l) : (v3){0, 0, l};
  c->v[0] = v3_sub(c->centre, u), c->v[1] = v3_add(c->centre, u);
  c->count = l > 0 ? 2 : 1;
  if (l == 0) c->v[0] = c->centre;
  c->extent = l;
}

void kn_core_of(kn_core* c, const kn_shape* s, const kn_pose* pose) {
  c->moved = pose != NULL;
  if (pose) c->pose = *pose;
  c->count = 0, c->radius = 0, c->size = s->size, c->hull = s->hull;
  c->centre = pose ? v3_of(pose->p) : (v3){0, 0, 0};
  switch (s->type) {
  case KN_SHAPE_SPHERE:
  case KN_SHAPE_CAPSULE:
    c->type = KN_CORE_POINTS, c->radius = s->size[0];
    core_segment(c, pose, s->type == KN_SHAPE_CAPSULE ? s->size[1] : 0);
    return;
  case KN_SHAPE_CYLINDER:
    c->type = KN_CORE_CYLINDER;
    c->extent = sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1]);
    return;
  case KN_SHAPE_ELLIPSOID:
    c->type = KN_CORE_ELLIPSOID;
    c->extent = kn_max(kn_max(s->size[2], s->size[1]), s->size[0]);
    return;
  case KN_SHAPE_BOX:
    c->type = KN_CORE_BOX;
    c->extent = v3_norm(v3_of(s->size));
    return;
  default:
    c->type = KN_CORE_HULL;
    c->centre = v3_of(s->hull->centroid);
    if (pose) c->centre = v3_placed(pose, c->centre);
    c->extent = s->hull->radius;
  }
}

kn_status kn_support(double out[3], const kn_shape* shape, const kn_pose* pose, const double d[3]) {
  KN_REQUIRE(out && shape && pose && d);
  if (shape->type == KN_SHAPE_PLANE || shape->type == KN_SHAPE_MESH ||
      (unsigned)shape->type >= KN_SHAPE_COUNT)
    return kn_fail(KN_UNSUPPORTED, "kn_support: shape type %d has no support point", (int)shape->type);
  KN_REQUIRE(shape->type != KN_SHAPE_HULL || shape->hull != NULL);
  kn_core c;
  int id;
  v3 n = v3_of(d);
  kn_core_of(&c, shape, pose);
  v3 x = kn_core_support(&c, n, &id);
  v3_unit(&n);
  v3_to(out, v3_axpy(x, c.radius, n));
  return KN_OK;
}
