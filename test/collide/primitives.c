/* Closed-form pairs against duality: the gap is right iff it equals the separation along the reported normal
   and no other direction separates more (apart: the witnesses alone prove it). */
#include "shapes.h"
#include "test.h"

#include <string.h>

static const kn_shape_type pairs[][2] = {
    {KN_SHAPE_PLANE, KN_SHAPE_SPHERE},   {KN_SHAPE_PLANE, KN_SHAPE_CAPSULE},
    {KN_SHAPE_PLANE, KN_SHAPE_CYLINDER}, {KN_SHAPE_PLANE, KN_SHAPE_ELLIPSOID},
    {KN_SHAPE_PLANE, KN_SHAPE_BOX},      {KN_SHAPE_SPHERE, KN_SHAPE_SPHERE},
    {KN_SHAPE_SPHERE, KN_SHAPE_CAPSULE}, {KN_SHAPE_SPHERE, KN_SHAPE_CYLINDER},
    {KN_SHAPE_SPHERE, KN_SHAPE_BOX},     {KN_SHAPE_CAPSULE, KN_SHAPE_CAPSULE},
    {KN_SHAPE_CAPSULE, KN_SHAPE_BOX},
};

typedef struct scene {
  kn_shape a, b;
  kn_pose A, B;
  double size;
} scene;

/* Every third pose shares a rotation, every third differs by a tiny one. */
static scene random_scene(kn_rng* rng, const kn_shape_type t[2], double aspect) {
  scene s = {.a = kn_test_shape(t[0], rng, aspect), .b = kn_test_shape(t[1], rng, aspect)};
  kn_test_rotation(s.A.R, rng);
  int mode = kn_rng_int(rng, 3);
  if (mode) memcpy(s.B.R, s.A.R, sizeof s.A.R);
  if (mode == 0) kn_test_rotation(s.B.R, rng);
  if (mode == 2) kn_test_small_rotation(s.B.R, rng, pow(10, kn_rng_range(rng, -14, -1)));
  s.size = kn_test_shape_radius(&s.a) + kn_test_shape_radius(&s.b);
  for (int i = 0; i < 3; i++) s.A.p[i] = kn_rng_range(rng, -1, 1);
  double reach = s.size * kn_rng_unit(rng) * (t[0] == KN_SHAPE_PLANE ? 1.5 : 1), d[3];
  kn_test_direction(d, rng);
  for (int i = 0; i < 3; i++) s.B.p[i] = s.A.p[i] + reach * d[i];
  return s;
}

static void check_scene(const scene* s, kn_rng* rng) {
  kn_distance_result r;
  if (!CHECK_OK(kn_distance(&r, &s->a, &s->A, &s->b, &s->B, NULL))) return;
  double tol = 1e-11 * s->size, nn = 0, w = 0;
  for (int i = 0; i < 3; i++)
    nn += r.normal[i] * r.normal[i], w = fmax(w, fabs(r.on_a[i] - r.on_b[i] - r.gap * r.normal[i]));
  CHECK_NEAR(nn, 1, 1e-14);
  CHECK_NEAR(w, 0, tol);
  CHECK_NEAR(kn_test_surface_error(&s->a, &s->A, r.on_a), 0, tol);
  CHECK_NEAR(kn_test_surface_error(&s->b, &s->B, r.on_b), 0, tol);
  CHECK_NEAR(kn_test_separation(&s->a, &s->A, &s->b, &s->B, r.normal), r.gap, tol);
  if (s->a.type == KN_SHAPE_PLANE || r.gap > 0) return;
  for (int k = 0; k < 20; k++) { /* overlapping: no direction near or far does better */
    double n[3], l = 0, spread = k < 10 ? 2 : pow(10, -k + 10);
    kn_test_direction(n, rng);
    for (int i = 0; i < 3; i++) n[i] = n[i] * spread + r.normal[i], l += n[i] * n[i];
    for (int i = 0; i < 3; i++) n[i] /= sqrt(l);
    CHECK(kn_test_separation(&s->a, &s->A, &s->b, &s->B, n) <= r.gap + tol);
  }
}

static void check_manifold(const scene* s) {
  kn_distance_result r;
  kn_contact_point c[4], d[4];
  int n, m;
  kn_distance(&r, &s->a, &s->A, &s->b, &s->B, NULL);
  double margin = 0.01 * s->size;
  CHECK_OK(kn_manifold_query(c, &n, 4, &s->a, &s->A, &s->b, &s->B, margin, NULL));
  CHECK((n > 0) == (r.gap <= margin));
  double least = INFINITY;
  for (int i = 0; i < n; i++) {
    least = fmin(least, c[i].gap);
    /* the deepest point lies on both surfaces; others of a capsule belong to spheres of its sweep */
    if (c[i].gap <= r.gap + 1e-9) {
      CHECK_NEAR(kn_test_surface_error(&s->a, &s->A, c[i].on_a), 0, 2e-7 * s->size);
      CHECK_NEAR(kn_test_surface_error(&s->b, &s->B, c[i].on_b), 0, 2e-7 * s->size);
    }
    CHECK(c[i].gap <= margin);
    for (int j = 0; j < i; j++) CHECK(c[i].key != c[j].key);
  }
  if (n) CHECK_NEAR(least, r.gap, 1e-7 * s->size);
  CHECK_OK(kn_manifold_query(d, &m, 4, &s->b, &s->B, &s->a, &s->A, margin, NULL));
  if (s->a.type == s->b.type) return; /* not flipped but computed anew */
  if (!CHECK_INT(m, n)) return;
  for (int i = 0; i < n; i++) CHECK(d[i].key == (c[i].key << 32 | c[i].key >> 32) && d[i].gap == c[i].gap);
}

TEST(gap_is_the_largest_separation) {
  kn_rng rng = kn_rng_seed(1);
  int count = 3000 * kn_test_effort();
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
    for (int i = 0; i < count; i++) {
      scene s = random_scene(&rng, pairs[p], i % 2 ? 4 : 1e4);
      check_scene(&s, &rng);
    }
}

TEST(manifold_holds_the_deepest_point) {
  kn_rng rng = kn_rng_seed(2);
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
    for (int i = 0; i < 3000 * kn_test_effort(); i++) {
      scene s = random_scene(&rng, pairs[p], 4);
      check_manifold(&s);
    }
}

TEST(points_of_resting_primitives) {
  kn_shape plane = {.type = KN_SHAPE_PLANE}, box = {.type = KN_SHAPE_BOX, .size = {0.5, 0.4, 0.3}};
  kn_shape capsule = {.type = KN_SHAPE_CAPSULE, .size = {0.1, 0.4}};
  kn_shape cylinder = {.type = KN_SHAPE_CYLINDER, .size = {0.2, 0.3}};
  kn_pose I = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, up = I, lying = {.R = {0, 0, 1, 1, 0, 0, 0, 1, 0}};
  kn_contact_point c[4];
  int n;
  up.p[2] = 0.3 - 1e-4;
  CHECK_OK(kn_manifold_query(c, &n, 4, &box, &up, &plane, &I, 1e-3, NULL));
  CHECK_INT(n, 4);
  CHECK_NEAR(c[0].normal[2], 1, 0); /* from the plane towards the box */
  CHECK_OK(kn_manifold_query(c, &n, 4, &cylinder, &up, &plane, &I, 1e-3, NULL));
  CHECK_INT(n, 4);
  lying.p[2] = 0.1;
  CHECK_OK(kn_manifold_query(c, &n, 4, &capsule, &lying, &plane, &I, 1e-3, NULL));
  CHECK_INT(n, 2);
  lying.p[2] = 0.2;
  CHECK_OK(kn_manifold_query(c, &n, 4, &cylinder, &lying, &plane, &I, 1e-3, NULL));
  CHECK_INT(n, 2);
  CHECK_OK(kn_manifold_query(c, &n, 4, &capsule, &lying, &capsule,
                             &(kn_pose){.R = {0, 0, 1, 1, 0, 0, 0, 1, 0}}, 1e-3, NULL));
  CHECK_INT(n, 2);
  lying.p[2] = 0.4;
  CHECK_OK(kn_manifold_query(c, &n, 4, &capsule, &lying, &box, &I, 1e-3, NULL));
  CHECK_INT(n, 2);
}

TEST(bad_arguments_get_a_status) {
  kn_shape ball = {.type = KN_SHAPE_SPHERE, .size = {1}}, bad = ball, plane = {.type = KN_SHAPE_PLANE};
  kn_pose I = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, nan = I;
  kn_distance_result r;
  kn_contact_point c[4];
  int n;
  nan.p[1] = NAN;
  bad.size[0] = 0;
  CHECK_STATUS(kn_distance(&r, &ball, &I, &bad, &I, NULL), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "sphere");
  CHECK_STATUS(kn_distance(&r, &ball, &I, &ball, &nan, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_distance(&r, &plane, &I, &plane, &I, NULL), KN_UNSUPPORTED);
  CHECK_STATUS(kn_manifold_query(c, &n, 0, &ball, &I, &ball, &I, 0, NULL), KN_NO_ROOM);
  CHECK_STATUS(kn_manifold_query(c, &n, 4, &ball, &I, &ball, &I, NAN, NULL), KN_BAD_ARGUMENT);
  I.p[0] = 1e308;
  nan.p[1] = 0, nan.p[0] = -1e308;
  CHECK_STATUS(kn_distance(&r, &ball, &I, &ball, &nan, NULL), KN_BAD_ARGUMENT);
}

TEST(line_against_ellipse) {
  /* a = 3, b = 2 turned by 30 degrees, line y = -4: compare with sampled boundary points */
  double c[2] = {1, 0.5}, axes[2] = {3, 2}, p[2] = {7, -4}, n[2] = {0, 1}, gap, x[2], low = INFINITY;
  double sn = sin(M_PI / 6), cs = cos(M_PI / 6);
  kn_line_ellipse(&gap, x, p, n, c, axes, sn, cs);
  for (int i = 0; i < 100000; i++) {
    double t = 2 * M_PI * i / 100000;
    low = fmin(low, c[1] + sn * 3 * cos(t) + cs * 2 * sin(t));
  }
  CHECK_NEAR(gap, low + 4, 1e-8); /* sampling error (2 pi / 1e5)^2 */
  double u = cs * (x[0] - c[0]) + sn * (x[1] - c[1]), v = -sn * (x[0] - c[0]) + cs * (x[1] - c[1]);
  CHECK_NEAR(u * u / 9 + v * v / 4, 1, 1e-15 * 4);
  CHECK_NEAR(x[1], gap - 4, 1e-15 * 8);
}
