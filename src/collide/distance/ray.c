/* Rays against solids. All solids are convex, so a ray meets each in one interval [t0, t1]:
     half-space, slab   one or two linear inequalities
     ball               with the foot q of the centre on the line: t = t_q -+ sqrt((r - |q|)(r + |q|))/|d|
     ellipsoid          the unit ball after dividing by the semi-axes
     cylinder           round side and slab;  capsule  hull of cylinder and two balls;  hull  all face planes.
   The ray hits when the interval meets [0, t_max]; a start inside counts as a hit at t = 0. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "collide/distance/mesh_ray.h"
#include "knuckle/cast.h"
#include "model/hull.h"
#include "spatial/v3.h"

typedef struct interval {
  double t0, t1;
  v3 n; /* outward normal at t0 */
  int32_t feature;
} interval;

static const interval EMPTY = {INFINITY, -INFINITY, {0, 0, 0}, -1};
static const interval ALL = {-INFINITY, INFINITY, {0, 0, 0}, -1};

/* Cuts with n.x <= d. */
static void cut(interval* r, v3 n, double d, v3 o, v3 dir, int32_t feature) {
  double rate = v3_dot(n, dir), room = d - v3_dot(n, o);
  if (rate == 0) {
    if (room < 0) *r = EMPTY;
    return;
  }
  double t = room / rate;
  if (rate > 0) {
    r->t1 = fmin(r->t1, t);
  } else if (t > r->t0) {
    r->t0 = t;
    r->n = n;
    r->feature = feature;
  }
}

static interval ray_box(v3 o, v3 d, const double h[3]) {
  interval r = ALL;
  for (int k = 0; k < 3; k++) {
    cut(&r, v3_axis(k, 1), h[k], o, d, -1);
    cut(&r, v3_axis(k, -1), h[k], o, d, -1);
  }
  return r;
}

/* The ball of radius r about the origin; the normal at entry is x/r. */
static interval ray_ball(v3 o, v3 d, double radius) {
  double dd = v3_norm2(d), tq = -v3_dot(o, d) / dd;
  v3 q = v3_axpy(o, tq, d);
  double far = v3_norm(q);
  if (!(far <= radius)) return EMPTY;
  double half = sqrt((radius - far) * (radius + far) / dd);
  interval r = {tq - half, tq + half, {0, 0, 0}, -1};
  r.n = v3_axpy(q, -half, d);
  v3_unit(&r.n);
  return r;
}

static interval ray_ellipsoid(v3 o, v3 d, const double s[3]) {
  v3 scaled_o = {o.x / s[0], o.y / s[1], o.z / s[2]}, scaled_d = {d.x / s[0], d.y / s[1], d.z / s[2]};
  interval r = ray_ball(scaled_o, scaled_d, 1);
  r.n = (v3){r.n.x / s[0], r.n.y / s[1], r.n.z / s[2]};
  v3_unit(&r.n);
  return r;
}

static interval ray_cylinder(v3 o, v3 d, double radius, double half) {
  v3 flat_o = {o.x, o.y, 0}, flat_d = {d.x, d.y, 0};
  interval r = ALL;
  if (d.x != 0 || d.y != 0)
    r = ray_ball(flat_o, flat_d, radius);
  else if (v3_norm(flat_o) > radius)
    return EMPTY;
  cut(&r, v3_axis(2, 1), half, o, d, -1);
  cut(&r, v3_axis(2, -1), half, o, d, -1);
  return r;
}

static void join(interval* r, interval s) {
  if (!(s.t0 <= s.t1)) return;
  if (s.t0 < r->t0) r->t0 = s.t0, r->n = s.n;
  r->t1 = fmax(r->t1, s.t1);
}

static interval ray_capsule(v3 o, v3 d, double radius, double half) {
  interval r = EMPTY;
  v3 low = {o.x, o.y, o.z + half}, high = {o.x, o.y, o.z - half};
  join(&r, ray_ball(low, d, radius));
  join(&r, ray_ball(high, d, radius));
  join(&r, ray_cylinder(o, d, radius, half));
  return r;
}

static interval ray_hull(v3 o, v3 d, const kn_hull* h) {
  interval r = ALL;
  for (int32_t f = 0; f < h->nf && r.t0 <= r.t1; f++) {
    const double* p = h->plane + 4 * (size_t)f;
    cut(&r, v3_of(p), p[3], o, d, f);
  }
  return r;
}

static interval ray_plane(v3 o, v3 d) {
  interval r = ALL;
  cut(&r, v3_axis(2, 1), 0, o, d, -1);
  return r;
}

static interval ray_solid(const kn_shape* s, v3 o, v3 d) {
  switch (s->type) {
  case KN_SHAPE_PLANE: return ray_plane(o, d);
  case KN_SHAPE_SPHERE: return ray_ball(o, d, s->size[0]);
  case KN_SHAPE_CAPSULE: return ray_capsule(o, d, s->size[0], s->size[1]);
  case KN_SHAPE_CYLINDER: return ray_cylinder(o, d, s->size[0], s->size[1]);
  case KN_SHAPE_ELLIPSOID: return ray_ellipsoid(o, d, s->size);
  case KN_SHAPE_BOX: return ray_box(o, d, s->size);
  default: return ray_hull(o, d, s->hull);
  }
}

static void put_solid(kn_ray_hit* out, const interval* r, v3 d, double t_max) {
  if (!(r->t0 <= r->t1) || r->t1 < 0 || r->t0 > t_max) return;
  out->hit = true;
  out->inside = r->t0 < 0;
  out->t = out->inside ? 0 : r->t0;
  out->feature = out->inside ? -1 : r->feature;
  v3 n = r->n;
  if (out->inside) {
    n = v3_neg(d);
    v3_unit(&n);
  }
  v3_to(out->normal, n);
}

static bool finite3(const double* x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

static kn_status check(const kn_shape* s, const kn_pose* pose, const double* o, const double* d,
                       double t_max) {
  if (!finite3(o) || !finite3(d) || !finite3(pose->p))
    return kn_fail(KN_NOT_FINITE, "ray: origin, direction or pose is not finite");
  double longest = fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2])));
  if (!(longest > 1e-150 && longest < 1e150))
    return kn_fail(KN_BAD_ARGUMENT, "ray: direction (%g, %g, %g)", d[0], d[1], d[2]);
  if (!(t_max >= 0)) return kn_fail(KN_BAD_ARGUMENT, "ray: t_max %g", t_max);
  if ((s->type == KN_SHAPE_HULL && !s->hull) || (s->type == KN_SHAPE_MESH && !s->mesh))
    return kn_fail(KN_BAD_ARGUMENT, "ray: shape without its hull or mesh");
  return KN_OK;
}

kn_status kn_ray_cast(kn_ray_hit* out, const kn_shape* shape, const kn_pose* pose, const double origin[3],
                      const double direction[3], double t_max) {
  KN_REQUIRE(out && shape && pose && origin && direction && shape->type >= 0 && shape->type < KN_SHAPE_COUNT);
  memset(out, 0, sizeof *out);
  out->feature = -1;
  KN_TRY(check(shape, pose, origin, direction, t_max));
  v3 o = v3_local(pose, v3_of(origin)), d = m3_tmul(pose->R, v3_of(direction));
  if (shape->type == KN_SHAPE_MESH) {
    double lo[3], ld[3];
    v3_to(lo, o), v3_to(ld, d);
    out->t = t_max;
    out->feature = kn_mesh_ray(shape->mesh, &out->t, lo, ld);
    out->hit = out->feature >= 0;
    if (out->hit) {
      v3 n = v3_of(shape->mesh->normal + 3 * (size_t)out->feature);
      v3_to(out->normal, v3_dot(n, d) > 0 ? v3_neg(n) : n);
    }
  } else {
    interval r = ray_solid(shape, o, d);
    put_solid(out, &r, d, t_max);
  }
  if (!out->hit) {
    out->t = 0;
    return KN_OK;
  }
  v3_to(out->normal, m3_mul(pose->R, v3_of(out->normal)));
  v3_to(out->point, v3_axpy(v3_of(origin), out->t, v3_of(direction)));
  return KN_OK;
}
