#include "shapes.h"

#include <math.h>
#include <string.h>

#include "knuckle/mesh.h"
#include "model/hull.h"

void kn_test_direction(double n[3], kn_rng* rng) {
  double l = 0;
  while (!(l > 1e-3)) {
    for (int i = 0; i < 3; i++) n[i] = kn_rng_normal(rng);
    l = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  }
  for (int i = 0; i < 3; i++) n[i] /= l;
}

static void from_quaternion(double R[9], double w, double x, double y, double z) {
  double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(R, M, sizeof M);
}

void kn_test_rotation(double R[9], kn_rng* rng) {
  double q[4], l = 0;
  for (int i = 0; i < 4; i++) q[i] = kn_rng_normal(rng), l += q[i] * q[i];
  l = 1 / sqrt(l);
  from_quaternion(R, q[0] * l, q[1] * l, q[2] * l, q[3] * l);
}

void kn_test_small_rotation(double R[9], kn_rng* rng, double angle) {
  double n[3], Q[9], out[9];
  kn_test_direction(n, rng);
  double s = sin(0.5 * angle);
  from_quaternion(Q, cos(0.5 * angle), s * n[0], s * n[1], s * n[2]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = Q[3 * i] * R[j] + Q[3 * i + 1] * R[3 + j] + Q[3 * i + 2] * R[6 + j];
  memcpy(R, out, sizeof out);
}

kn_shape kn_test_shape(kn_shape_type type, kn_rng* rng, double aspect) {
  kn_shape s = {.type = type};
  double a = log(aspect);
  for (int i = 0; i < 3; i++) s.size[i] = exp(kn_rng_range(rng, -0.5 * a, 0.5 * a));
  return s;
}

double kn_test_shape_radius(const kn_shape* s) {
  switch (s->type) {
  case KN_SHAPE_SPHERE: return s->size[0];
  case KN_SHAPE_CAPSULE: return s->size[0] + s->size[1];
  case KN_SHAPE_CYLINDER: return hypot(s->size[0], s->size[1]);
  case KN_SHAPE_ELLIPSOID: return fmax(s->size[0], fmax(s->size[1], s->size[2]));
  case KN_SHAPE_BOX: return sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1] + s->size[2] * s->size[2]);
  case KN_SHAPE_HULL: {
    double r = 0;
    for (int i = 0; i < s->hull->nv; i++)
      r = fmax(r, sqrt(s->hull->x[i] * s->hull->x[i] + s->hull->y[i] * s->hull->y[i] +
                       s->hull->z[i] * s->hull->z[i]));
    return r;
  }
  default: return 0;
  }
}

double kn_test_separation(const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B,
                          const double n[3]) {
  double m[3] = {-n[0], -n[1], -n[2]}, pa[3], pb[3];
  if (a->type == KN_SHAPE_PLANE)
    for (int i = 0; i < 3; i++) pa[i] = A->p[i];
  else
    kn_support(pa, a, A, m);
  if (b->type == KN_SHAPE_PLANE)
    for (int i = 0; i < 3; i++) pb[i] = B->p[i];
  else
    kn_support(pb, b, B, n);
  return n[0] * (pa[0] - pb[0]) + n[1] * (pa[1] - pb[1]) + n[2] * (pa[2] - pb[2]);
}

static double box_error(const double x[3], const double h[3]) {
  double out = 0, in = INFINITY;
  for (int i = 0; i < 3; i++) out = fmax(out, fabs(x[i]) - h[i]), in = fmin(in, h[i] - fabs(x[i]));
  return out > 0 ? out : in;
}

static double hull_error(const double x[3], const kn_hull* h) {
  double top = -INFINITY;
  for (int f = 0; f < h->nf; f++) {
    const double* p = h->plane + 4 * f;
    top = fmax(top, p[0] * x[0] + p[1] * x[1] + p[2] * x[2] - p[3]);
  }
  return fabs(top);
}

double kn_test_surface_error(const kn_shape* s, const kn_pose* P, const double w[3]) {
  double x[3];
  for (int i = 0; i < 3; i++)
    x[i] = P->R[i] * (w[0] - P->p[0]) + P->R[3 + i] * (w[1] - P->p[1]) + P->R[6 + i] * (w[2] - P->p[2]);
  const double* z = s->size;
  double rho = hypot(x[0], x[1]);
  switch (s->type) {
  case KN_SHAPE_PLANE: return fabs(x[2]);
  case KN_SHAPE_SPHERE: return fabs(hypot(rho, x[2]) - z[0]);
  case KN_SHAPE_CAPSULE: return fabs(hypot(rho, fmax(fabs(x[2]) - z[1], 0)) - z[0]);
  case KN_SHAPE_CYLINDER: {
    double out = fmax(rho - z[0], fabs(x[2]) - z[1]);
    return out > 0 ? out : fmin(z[0] - rho, z[1] - fabs(x[2]));
  }
  case KN_SHAPE_ELLIPSOID: { /* first-order distance F/|grad F| with F = |x/s| - 1 */
    double f = 0, g = 0;
    for (int i = 0; i < 3; i++)
      f += x[i] * x[i] / (z[i] * z[i]), g += x[i] * x[i] / (z[i] * z[i] * z[i] * z[i]);
    return fabs(sqrt(f) - 1) * sqrt(f / g);
  }
  case KN_SHAPE_BOX: return box_error(x, z);
  case KN_SHAPE_HULL: return hull_error(x, s->hull);
  default: return 0;
  }
}

/* Prism with k sides, radius 1, half height h, turned by a little so that nothing is aligned by chance. */
static int prism(double* p, int k, double h) {
  for (int i = 0; i < k; i++)
    for (int s = 0; s < 2; s++) {
      double t = 2 * M_PI * i / k + 0.1;
      double* q = p + 3 * (2 * i + s);
      q[0] = cos(t), q[1] = sin(t), q[2] = s ? h : -h;
    }
  return 2 * k;
}

static int cloud(double* p, int n, kn_rng* rng, bool sphere) {
  for (int i = 0; i < n; i++) {
    kn_test_direction(p + 3 * i, rng);
    double r = sphere ? 1 : kn_rng_range(rng, 0.3, 1);
    for (int k = 0; k < 3; k++) p[3 * i + k] *= r;
  }
  return n;
}

const kn_hull* kn_test_hull(int index) {
  static kn_hull* pool[KN_TEST_HULLS];
  index %= KN_TEST_HULLS;
  if (pool[index]) return pool[index];
  kn_rng rng = kn_rng_seed(977 + (uint64_t)index);
  double p[3 * 128];
  int n, kind = index % 6;
  if (kind == 0)
    n = prism(p, 3 + index % 10, 0.6);
  else if (kind == 1)
    n = prism(p, 4, 0.9);
  else
    n = cloud(p, kind == 5 ? 60 : 4 + (index * 7) % 20, &rng, kind != 4);
  double stretch[3] = {1, 1, 1};
  if (kind == 2) stretch[0] = 0.05;
  if (kind == 3) stretch[1] = 3;
  for (int i = 0; i < 3 * n; i++) p[i] *= stretch[i % 3];
  if (kn_hull_create(&pool[index], p, n, NULL) != KN_OK) return kn_test_hull(index + 1);
  return pool[index];
}

static kn_shape random_shape(kn_rng* rng, kn_shape_type type, kn_test_class kind) {
  kn_shape s = kn_test_shape(type, rng, kind == KN_TEST_SLENDER ? 1e4 : 5);
  if (type == KN_SHAPE_HULL) s.hull = kn_test_hull(kn_rng_int(rng, KN_TEST_HULLS));
  return s;
}

static double power(kn_rng* rng, double lo, double hi) { return pow(10, kn_rng_range(rng, lo, hi)); }

static void touch(kn_test_pair* s, kn_rng* rng) {
  kn_distance_result r;
  if (kn_distance(&r, &s->a, &s->A, &s->b, &s->B, NULL) != KN_OK) return;
  double want = kn_rng_int(rng, 3) ? s->size * power(rng, -15, -6) : 0;
  if (kn_rng_int(rng, 2)) want = -want;
  for (int i = 0; i < 3; i++) s->B.p[i] += (r.gap - want) * r.normal[i];
}

kn_test_pair kn_test_pair_make(kn_rng* rng, kn_shape_type a, kn_shape_type b, kn_test_class kind) {
  kn_test_pair s = {.a = random_shape(rng, a, kind), .b = random_shape(rng, b, kind), .kind = kind};
  if (kind == KN_TEST_SAME && a == b) s.b = s.a;
  kn_test_rotation(s.A.R, rng);
  memcpy(s.B.R, s.A.R, sizeof s.A.R);
  bool level = kind == KN_TEST_PARALLEL || (kind == KN_TEST_TOUCH && kn_rng_int(rng, 2));
  if (kind == KN_TEST_NEARLY || kind == KN_TEST_SAME)
    kn_test_small_rotation(s.B.R, rng, power(rng, -14, -1));
  else if (!level)
    kn_test_rotation(s.B.R, rng);
  s.size = kn_test_shape_radius(&s.a) + kn_test_shape_radius(&s.b);
  double d[3], reach = s.size * kn_rng_range(rng, 0, 1.1);
  if (kn_rng_int(rng, 2)) reach *= 0.5; /* more overlaps */
  if (kind == KN_TEST_SAME) reach = kn_rng_int(rng, 4) ? s.size * power(rng, -14, 0) : 0;
  kn_test_direction(d, rng);
  for (int i = 0; i < 3; i++) s.A.p[i] = kn_rng_range(rng, -1, 1), s.B.p[i] = s.A.p[i] + reach * d[i];
  if (kind == KN_TEST_TOUCH) touch(&s, rng);
  return s;
}
