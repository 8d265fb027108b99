/* Bounding boxes. With rotation rows R_k, half extent along world axis k:
     box Σ_j |R_kj| s_j;  ellipsoid sqrt(Σ_j (R_kj s_j)²);  capsule |R_k2| l + r;  cylinder |R_k2| l + r
   sqrt(1 - R_k2²); hull and mesh: the box around their local bounds. Sweeping over dt adds the path dt v and,
   for the turn, at most dt |ω| radius in every direction. */
#include <math.h>

#include "base/error.h"
#include "collide/broad/broad.h"
#include "model/hull.h"
#include "model/trimesh.h"

/* Centre and half extents of the local bounds of a hull or mesh, moved to the world. */
static void turned_box(double c[3], double h[3], const double lo[3], const double hi[3], const double R[9]) {
  for (int k = 0; k < 3; k++) {
    c[k] = h[k] = 0;
    for (int j = 0; j < 3; j++) {
      c[k] += R[3 * k + j] * 0.5 * (lo[j] + hi[j]);
      h[k] += fabs(R[3 * k + j]) * 0.5 * (hi[j] - lo[j]);
    }
  }
}

/* Centre relative to the pose's origin and half extents; not for planes. */
static void shape_extent(double c[3], double h[3], const kn_shape* s, const double R[9]) {
  const double* e = s->size;
  c[0] = c[1] = c[2] = 0;
  switch (s->type) {
  case KN_SHAPE_SPHERE: h[0] = h[1] = h[2] = e[0]; break;
  case KN_SHAPE_CAPSULE:
    for (int k = 0; k < 3; k++) h[k] = fabs(R[3 * k + 2]) * e[1] + e[0];
    break;
  case KN_SHAPE_CYLINDER:
    for (int k = 0; k < 3; k++) {
      double a = R[3 * k + 2], across = 1 - a * a;
      h[k] = fabs(a) * e[1] + e[0] * sqrt(across > 0 ? across : 0);
    }
    break;
  case KN_SHAPE_ELLIPSOID:
    for (int k = 0; k < 3; k++) {
      double x = R[3 * k] * e[0], y = R[3 * k + 1] * e[1], z = R[3 * k + 2] * e[2];
      h[k] = sqrt(x * x + y * y + z * z);
    }
    break;
  case KN_SHAPE_BOX:
    for (int k = 0; k < 3; k++)
      h[k] = fabs(R[3 * k]) * e[0] + fabs(R[3 * k + 1]) * e[1] + fabs(R[3 * k + 2]) * e[2];
    break;
  case KN_SHAPE_HULL: turned_box(c, h, s->hull->lo, s->hull->hi, R); break;
  default: turned_box(c, h, s->mesh->lo, s->mesh->hi, R); break;
  }
}

static double corner_radius(const double lo[3], const double hi[3]) {
  double r = 0;
  for (int k = 0; k < 3; k++) {
    double x = fmax(fabs(lo[k]), fabs(hi[k]));
    r += x * x;
  }
  return sqrt(r);
}

double kn_shape_radius(const kn_shape* s) {
  const double* e = s->size;
  switch (s->type) {
  case KN_SHAPE_SPHERE: return e[0];
  case KN_SHAPE_CAPSULE: return e[0] + e[1];
  case KN_SHAPE_CYLINDER: return sqrt(e[0] * e[0] + e[1] * e[1]);
  case KN_SHAPE_ELLIPSOID: return fmax(e[0], fmax(e[1], e[2]));
  case KN_SHAPE_BOX: return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
  case KN_SHAPE_HULL: {
    double r = 0;
    for (int32_t i = 0; i < s->hull->nv; i++) {
      double x = s->hull->x[i], y = s->hull->y[i], z = s->hull->z[i];
      r = fmax(r, x * x + y * y + z * z);
    }
    return sqrt(r);
  }
  case KN_SHAPE_MESH: return corner_radius(s->mesh->lo, s->mesh->hi);
  default: return INFINITY;
  }
}

/* A float step is at most 2^-23 of the value; 2e-38 covers zero without subnormal numbers (as in
 * broad_kernel.h). */
static float below(double x) { return (float)(x - fabs(x) * 0x1p-23 - 2e-38); }

kn_box kn_box_outward(const double lo[3], const double hi[3]) {
  kn_box b = {{below(lo[0]), below(lo[1]), below(lo[2]), below(0)},
              {below(-hi[0]), below(-hi[1]), below(-hi[2]), below(0)}};
  return b;
}

bool kn_broad_item_box(kn_broad* b, int32_t i, const kn_pose* pose, const double* velocity, double dt) {
  double c[3], h[3], lo[3], hi[3], sum = 0, turn = b->margin[i];
  shape_extent(c, h, &b->shape[i], pose->R);
  if (velocity)
    turn += dt * sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2]) *
            b->radius[i];
  for (int k = 0; k < 3; k++) {
    double path = velocity ? dt * velocity[3 + k] : 0, x = pose->p[k] + c[k], r = h[k] + turn;
    lo[k] = x - r + (path < 0 ? path : 0);
    hi[k] = x + r + (path > 0 ? path : 0);
    sum += hi[k] - lo[k] + fabs(x);
  }
  b->box[i] = kn_box_outward(lo, hi);
  return sum < 1e30; /* also refuses NaN; single precision holds the rest */
}

/* The half-space {z <= 0} reaches to infinity except along a world axis that its normal is exactly parallel
 * to. */
static void plane_box(double lo[3], double hi[3], const kn_pose* pose) {
  for (int k = 0; k < 3; k++) {
    double n = pose->R[3 * k + 2];
    lo[k] = n == -1 ? pose->p[k] : -INFINITY;
    hi[k] = n == 1 ? pose->p[k] : INFINITY;
  }
}

kn_status kn_shape_box(double lo[3], double hi[3], const kn_shape* shape, const kn_pose* pose) {
  KN_REQUIRE(lo && hi && shape && pose && shape->type >= 0 && shape->type < KN_SHAPE_COUNT);
  KN_REQUIRE(shape->type != KN_SHAPE_HULL || shape->hull);
  KN_REQUIRE(shape->type != KN_SHAPE_MESH || shape->mesh);
  if (shape->type == KN_SHAPE_PLANE) {
    plane_box(lo, hi, pose);
    return KN_OK;
  }
  double c[3], h[3];
  shape_extent(c, h, shape, pose->R);
  for (int k = 0; k < 3; k++) {
    lo[k] = pose->p[k] + c[k] - h[k];
    hi[k] = pose->p[k] + c[k] + h[k];
    if (!isfinite(lo[k]) || !isfinite(hi[k]))
      return kn_fail(KN_NOT_FINITE, "shape box: the pose or a size is not finite");
  }
  return KN_OK;
}
