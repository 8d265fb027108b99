#include "build.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

#define MAKE(function, type, def_type, add)                                                                  \
  type function(kn_build* b, const def_type* def) {                                                          \
    type id = -1;                                                                                            \
    if (b->status == KN_OK) b->status = add(&id, b->spec, def);                                              \
    return id;                                                                                               \
  }
MAKE(kn_make_body, kn_body, kn_body_def, kn_spec_add_body)
MAKE(kn_make_joint, kn_joint, kn_joint_def, kn_spec_add_joint)
MAKE(kn_make_geom, kn_geom, kn_geom_def, kn_spec_add_geom)
MAKE(kn_make_actuator, kn_actuator, kn_actuator_def, kn_spec_add_actuator)
MAKE(kn_make_loop, kn_loop, kn_loop_def, kn_spec_add_loop)

kn_body kn_body_solid(kn_build* b, const char* name, kn_body parent, kn_v3 pos, double mass, kn_v3 com,
                      kn_v3 moments) {
  kn_body_def d = kn_body_default();
  d.name = name;
  d.parent = parent;
  kn_put(d.pos, pos);
  d.mass = mass;
  kn_put(d.com, com);
  kn_put(d.inertia, moments);
  return kn_make_body(b, &d);
}

kn_body kn_body_shaped(kn_build* b, const char* name, kn_body parent, kn_v3 pos) {
  kn_body_def d = kn_body_default();
  d.name = name;
  d.parent = parent;
  kn_put(d.pos, pos);
  d.inertia_from_geoms = true;
  return kn_make_body(b, &d);
}

kn_joint kn_joint_on(kn_build* b, kn_body body, kn_joint_type type, const char* name, kn_v3 axis) {
  kn_joint_def d = kn_joint_default(type);
  d.name = name;
  d.body = body;
  kn_put(d.axis, axis);
  return kn_make_joint(b, &d);
}

kn_joint kn_joint_free_on(kn_build* b, kn_body body) {
  kn_joint_def d = kn_joint_default(KN_JOINT_FREE);
  d.body = body;
  return kn_make_joint(b, &d);
}

kn_geom_def kn_sphere(kn_body body, double radius) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
  g.body = body;
  g.shape.size[0] = radius;
  return g;
}

kn_geom_def kn_box(kn_body body, double hx, double hy, double hz) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_BOX);
  g.body = body;
  kn_put(g.shape.size, kn_at(hx, hy, hz));
  return g;
}

kn_geom_def kn_capsule(kn_body body, double radius, double half) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_CAPSULE);
  g.body = body;
  g.shape.size[0] = radius;
  g.shape.size[1] = half;
  return g;
}

/* Shortest rotation from z to a unit vector: q = (1 + z·u, z × u), normalised. */
static void from_z(double quat[4], kn_v3 u) {
  if (u.z < -0.999999999) {
    quat[0] = 0.0, quat[1] = 1.0, quat[2] = 0.0, quat[3] = 0.0;
    return;
  }
  double w = 1.0 + u.z, n = sqrt(w * w + u.x * u.x + u.y * u.y);
  quat[0] = w / n, quat[1] = -u.y / n, quat[2] = u.x / n, quat[3] = 0.0;
}

kn_geom_def kn_capsule_between(kn_body body, double radius, kn_v3 from, kn_v3 to) {
  kn_v3 d = {to.x - from.x, to.y - from.y, to.z - from.z};
  double n = sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
  kn_geom_def g = kn_capsule(body, radius, n / 2);
  kn_put(g.pos, kn_at((from.x + to.x) / 2, (from.y + to.y) / 2, (from.z + to.z) / 2));
  if (n > 0.0) from_z(g.quat, kn_at(d.x / n, d.y / n, d.z / n));
  return g;
}

kn_geom_def kn_plane(kn_v3 pos, kn_v3 normal) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_PLANE);
  kn_put(g.pos, pos);
  from_z(g.quat, normal);
  kn_paint(&g, 0.80f, 0.82f, 0.84f);
  return g;
}

kn_geom_def kn_floor(double mu, double e) {
  kn_geom_def g = kn_plane(kn_at(0, 0, 0), kn_at(0, 0, 1));
  g.name = "floor";
  g.material.mu = mu;
  g.material.e = e;
  return g;
}

void kn_paint(kn_geom_def* g, float r, float green, float b) {
  g->rgba[0] = r;
  g->rgba[1] = green;
  g->rgba[2] = b;
  g->rgba[3] = 1.0f;
}

kn_body kn_ball_free(kn_build* b, const char* name, kn_v3 pos, double radius, double mass, double mu,
                     double e) {
  kn_body body = kn_body_shaped(b, name, KN_WORLD, pos);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.name = name;
  j.body = body;
  kn_make_joint(b, &j);
  kn_geom_def g = kn_sphere(body, radius);
  g.name = name;
  g.mass = mass;
  g.material.mu = mu;
  g.material.e = e;
  kn_paint(&g, 0.75f, 0.25f, 0.25f);
  kn_make_geom(b, &g);
  return body;
}

kn_v3 kn_box_moments(double m, double x, double y, double z) {
  return kn_at(m * (y * y + z * z) / 3, m * (x * x + z * z) / 3, m * (x * x + y * y) / 3);
}

kn_v3 kn_rod_moments(double m, double length, double r, int axis) {
  double along = m * r * r / 2, across = m * (3 * r * r + length * length) / 12;
  return kn_at(axis == 0 ? along : across, axis == 1 ? along : across, axis == 2 ? along : across);
}

void kn_gravity(kn_build* b, double x, double y, double z) {
  double g[3] = {x, y, z};
  if (b->status == KN_OK) b->status = kn_spec_set_gravity(b->spec, g);
}

/* x sum of (-1)^k x^2k / (2k+1)!, and the cosine's, to 1e-17 for |x| <= pi/4. */
static double sine(double x) {
  double y = x * x, s = 0.0;
  for (int k = 9; k >= 1; k--) s = (1.0 + s) * (-y / (2 * k * (2 * k + 1)));
  return x + x * s;
}

static double cosine(double x) {
  double y = x * x, s = 0.0;
  for (int k = 9; k >= 1; k--) s = (1.0 + s) * (-y / (2 * k * (2 * k - 1)));
  return 1.0 + s;
}

void kn_sincos_exact(double* s, double* c, double x) {
  double turns = floor(x / (PI / 2) + 0.5);
  double r = (x - turns * 1.5707963267948966) - turns * 6.123233995736766e-17; /* pi/2 in two parts */
  int quarter = (int)(turns - 4.0 * floor(turns / 4.0));
  double a = sine(r), b = cosine(r);
  *s = quarter == 0 ? a : quarter == 1 ? b : quarter == 2 ? -a : -b;
  *c = quarter == 0 ? b : quarter == 1 ? -a : quarter == 2 ? -b : a;
}

/* Newton on sin(a) x = cos(a) y from a start of few digits, so that libm's last bits do not matter. */
double kn_angle(double y, double x) {
  double n = sqrt(x * x + y * y), a = floor(atan2(y, x) * 4096.0 + 0.5) / 4096.0, s, c;
  for (int i = 0; i < 3 && n > 0.0; i++) {
    kn_sincos_exact(&s, &c, a);
    double e = (y * c - x * s) / n;
    a += e + e * e * e / 6.0;
  }
  return n > 0.0 ? a : 0.0;
}

void kn_quat_about(double quat[4], kn_v3 axis, double angle) {
  double s, c;
  kn_sincos_exact(&s, &c, angle / 2);
  quat[0] = c, quat[1] = s * axis.x, quat[2] = s * axis.y, quat[3] = s * axis.z;
}

double* kn_joint_q(kn_state* state, const kn_model* model, const char* joint) {
  kn_joint j;
  int q;
  if (kn_model_find_joint(&j, model, joint) != KN_OK) return NULL;
  return kn_model_joint_address(&q, NULL, NULL, NULL, model, j) == KN_OK ? kn_state_q(state) + q : NULL;
}

double* kn_joint_v(kn_state* state, const kn_model* model, const char* joint) {
  kn_joint j;
  int v;
  if (kn_model_find_joint(&j, model, joint) != KN_OK) return NULL;
  return kn_model_joint_address(NULL, NULL, &v, NULL, model, j) == KN_OK ? kn_state_v(state) + v : NULL;
}

double kn_jitter(uint64_t* seed, double lo, double hi) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return lo + (hi - lo) * ((double)(z >> 11) * 0x1p-53);
}
