/* Shapes for the verifier: where a geom is, how far it reaches along a direction, how far a point is from its
   surface, and the gap of two.

   For any unit n the number  min over A of n·a − max over B of n·b  is a lower bound of the signed gap, and
   the gap itself for the best n (knuckle/collide.h). So the search for n need not be trusted: kn_distance
   proposes n, the reach of the two shapes along it is computed here, and a wrong n can only make the gap look
   too small, which the checks then report. Meshes are surfaces without a reach: their gap is kn_distance's.
   Called by gaps.c and contacts.c; may include the model, base/ and public headers. */

#include "knuckle/collide.h"
#include "model/hull.h"
#include "record/verify/verify.h"

static void matrix_of(double R[9], const double p[4]) {
  double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]), w = p[0] / n, x = p[1] / n,
         y = p[2] / n, z = p[3] / n;
  double T[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  for (int i = 0; i < 9; i++) R[i] = T[i];
}

void kn_plain_frame(kn_pose* pose, const kn_plain* p, kn_body body, const double pos[3],
                    const double quat[4]) {
  double local[9];
  matrix_of(local, quat);
  for (int i = 0; i < 3; i++) pose->p[i] = pos[i];
  for (int i = 0; i < 9; i++) pose->R[i] = local[i];
  if (body == KN_WORLD) return;
  const kn_plain_body* f = &p->body[body];
  for (int i = 0; i < 3; i++) {
    const double* row = f->R + 3 * i;
    pose->p[i] = f->o[i] + kn_plain_dot(row, pos);
    for (int k = 0; k < 3; k++)
      pose->R[3 * i + k] = row[0] * local[k] + row[1] * local[3 + k] + row[2] * local[6 + k];
  }
}

void kn_plain_geom(kn_pose* pose, const kn_plain* p, kn_geom geom) {
  const kn_geom_def* g = &p->model->geom[geom];
  kn_plain_frame(pose, p, g->body, g->pos, g->quat);
}

static double box_distance(const double x[3], const double h[3]) {
  double out = 0.0, in = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double d = fabs(x[i]) - h[i];
    out += d > 0.0 ? d * d : 0.0;
    in = fmax(in, d);
  }
  return in > 0.0 ? sqrt(out) : in;
}

/* The nearest point y of the surface has x − y along its normal, x_i − y_i = t y_i/s_i², so y_i = s_i² x_i/(s_i² + t) and
   Σ (s_i x_i/(s_i² + t))² = 1: falling in t above −min s², so that halving finds it. */
static double ellipsoid_distance(const double x[3], const double s[3]) {
  double least = fmin(s[0], fmin(s[1], s[2])), most = fmax(s[0], fmax(s[1], s[2])), low = -least * least,
         high = most * kn_plain_length(x), d = 0.0;
  for (int k = 0; k < 80; k++) {
    double t = 0.5 * (low + high), f = 0.0;
    for (int i = 0; i < 3; i++) f += pow(s[i] * x[i] / (s[i] * s[i] + t), 2);
    if (f > 1.0)
      low = t;
    else
      high = t;
  }
  for (int i = 0; i < 3; i++) d += pow(high * x[i] / (s[i] * s[i] + high), 2);
  return copysign(sqrt(d), high);
}

double kn_plain_surface(const kn_plain* p, kn_geom geom, const double point[3]) {
  const kn_shape* shape = &p->model->geom[geom].shape;
  kn_pose at;
  double d[3], x[3], deep = -INFINITY;
  kn_plain_geom(&at, p, geom);
  for (int i = 0; i < 3; i++) d[i] = point[i] - at.p[i];
  for (int i = 0; i < 3; i++) x[i] = at.R[i] * d[0] + at.R[3 + i] * d[1] + at.R[6 + i] * d[2];
  const double* s = shape->size;
  double r = sqrt(x[0] * x[0] + x[1] * x[1]);
  switch (shape->type) {
  case KN_SHAPE_PLANE: return x[2];
  case KN_SHAPE_SPHERE: return kn_plain_length(x) - s[0];
  case KN_SHAPE_CAPSULE: return sqrt(r * r + pow(fmax(fabs(x[2]) - s[1], 0.0), 2)) - s[0];
  case KN_SHAPE_CYLINDER: return box_distance((double[3]){r, x[2], 0.0}, (double[3]){s[0], s[1], 1.0});
  case KN_SHAPE_BOX: return box_distance(x, s);
  case KN_SHAPE_ELLIPSOID: return ellipsoid_distance(x, s);
  case KN_SHAPE_HULL:
    for (int f = 0; f < shape->hull->nf; f++) {
      const double* plane = shape->hull->plane + 4 * f;
      deep = fmax(deep, kn_plain_dot(plane, x) - plane[3]);
    }
    return deep;
  default: return NAN;
  }
}

/* A capsule is the union of the balls along its axis, and each of its contacts is that of one of them, whose centre is r along -n from it: where
   the capsule is tilted, the contact of its upper ball is inside it. Other shapes are touched on their surface. */
double kn_plain_off(const kn_plain* p, kn_geom geom, const double point[3], const double n[3], double gap) {
  const kn_shape* shape = &p->model->geom[geom].shape;
  if (shape->type != KN_SHAPE_CAPSULE) return fabs(kn_plain_surface(p, geom, point)) - fabs(gap);
  kn_pose at;
  double d[3], z = 0.0, r = shape->size[0];
  kn_plain_geom(&at, p, geom);
  for (int i = 0; i < 3; i++) {
    d[i] = point[i] - gap * n[i] - at.p[i];
    z += at.R[3 * i + 2] * (d[i] - r * n[i]);
  }
  z = fmin(fmax(z, -shape->size[1]), shape->size[1]);
  for (int i = 0; i < 3; i++) d[i] -= z * at.R[3 * i + 2];
  return fabs(kn_plain_length(d) - r);
}

/* Largest d·x over the shape in its own frame. */
static double own_reach(const kn_shape* shape, const double d[3]) {
  const double* s = shape->size;
  double flat = sqrt(d[0] * d[0] + d[1] * d[1]), most = -INFINITY;
  switch (shape->type) {
  case KN_SHAPE_SPHERE: return s[0] * kn_plain_length(d);
  case KN_SHAPE_CAPSULE: return s[0] * kn_plain_length(d) + s[1] * fabs(d[2]);
  case KN_SHAPE_CYLINDER: return s[0] * flat + s[1] * fabs(d[2]);
  case KN_SHAPE_BOX: return s[0] * fabs(d[0]) + s[1] * fabs(d[1]) + s[2] * fabs(d[2]);
  case KN_SHAPE_ELLIPSOID:
    return sqrt(s[0] * s[0] * d[0] * d[0] + s[1] * s[1] * d[1] * d[1] + s[2] * s[2] * d[2] * d[2]);
  case KN_SHAPE_HULL:
    for (int i = 0; i < shape->hull->nv; i++)
      most = fmax(most, d[0] * shape->hull->x[i] + d[1] * shape->hull->y[i] + d[2] * shape->hull->z[i]);
    return most;
  default: return INFINITY;
  }
}

double kn_plain_reach(const kn_shape* shape, const kn_pose* pose, const double n[3]) {
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = pose->R[i] * n[0] + pose->R[3 + i] * n[1] + pose->R[6 + i] * n[2];
  return kn_plain_dot(n, pose->p) + own_reach(shape, d);
}

/* Along n from B towards A. A plane ends at its surface, whatever n is, if n is its normal. */
static double reach_of(const kn_plain* p, kn_geom g, const double n[3]) {
  const kn_shape* shape = &p->model->geom[g].shape;
  kn_pose pose;
  kn_plain_geom(&pose, p, g);
  if (shape->type != KN_SHAPE_PLANE) return kn_plain_reach(shape, &pose, n);
  double z[3] = {pose.R[2], pose.R[5], pose.R[8]};
  return kn_plain_dot(n, z) > 1.0 - 1e-9 ? kn_plain_dot(z, pose.p) : INFINITY;
}

double kn_plain_apart(const kn_plain* p, kn_geom a, kn_geom b, const double n[3]) {
  const kn_model* m = p->model;
  if (m->geom[a].shape.type == KN_SHAPE_MESH || m->geom[b].shape.type == KN_SHAPE_MESH) return NAN;
  double back[3] = {-n[0], -n[1], -n[2]};
  return -reach_of(p, a, back) - reach_of(p, b, n);
}

bool kn_plain_gap_of(kn_plain_gap* out, const kn_plain* p, kn_geom a, kn_geom b) {
  kn_pose at[2];
  kn_distance_result d;
  kn_plain_geom(&at[0], p, a);
  kn_plain_geom(&at[1], p, b);
  if (kn_distance(&d, &p->model->geom[a].shape, &at[0], &p->model->geom[b].shape, &at[1], NULL) != KN_OK)
    return false;
  double n = kn_plain_length(d.normal), own;
  for (int i = 0; i < 3; i++) {
    out->normal[i] = n > 0.0 ? d.normal[i] / n : i == 2;
    out->point[i] = 0.5 * (d.on_a[i] + d.on_b[i]);
  }
  own = kn_plain_apart(p, a, b, out->normal);
  out->gap = isnan(own) ? d.gap : own;
  return true;
}
