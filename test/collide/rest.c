/* Resting contact: the manifold stays the same, point by point and key by key, under noise of 1e-9. */
#include <stdlib.h>
#include <string.h>

#include "knuckle/mesh.h"
#include "shapes.h"
#include "test.h"

static kn_mesh* grid(double width, int n) { /* flat square of 2 n^2 triangles at z = 0 */
  int side = n + 1, nv = side * side, nt = 2 * n * n;
  double* v = malloc(sizeof(double) * 3 * (size_t)nv);
  int32_t* t = malloc(sizeof(int32_t) * 3 * (size_t)nt);
  for (int i = 0; i < nv; i++) {
    v[3 * i] = width * (i % side - 0.5 * n) / n, v[3 * i + 1] = width * (i / side - 0.5 * n) / n,
          v[3 * i + 2] = 0;
  }
  for (int i = 0; i < n * n; i++) {
    int a = i / n * side + i % n, q[6] = {a, a + 1, a + side + 1, a, a + side + 1, a + side};
    for (int k = 0; k < 6; k++) t[6 * i + k] = q[k];
  }
  kn_mesh_data d;
  kn_mesh* m = NULL;
  if (kn_mesh_data_create(&d, v, nv, t, nt) == KN_OK) {
    kn_mesh_create(&m, &d, NULL);
    kn_mesh_data_free(&d);
  }
  free(v), free(t);
  return m;
}

typedef struct rest {
  kn_shape top, ground;
  kn_pose on, below;
  double height; /* of the top shape's origin above the contact */
} rest;

static void turn_about_z(kn_pose* P, double a) {
  double R[9] = {cos(a), -sin(a), 0, sin(a), cos(a), 0, 0, 0, 1};
  memcpy(P->R, R, sizeof R);
}

/* Frames in which count or keys differ from the frame before. */
static int changes(const rest* s, double yaw, double gap, int frames, int* count) {
  kn_rng rng = kn_rng_seed(5);
  kn_pair_cache cache;
  memset(&cache, 0, sizeof cache);
  uint64_t last[16];
  int n_last = -1, changed = 0;
  for (int f = 0; f < frames; f++) {
    kn_pose P = s->on;
    turn_about_z(&P, yaw);
    P.p[2] += s->height + gap;
    kn_test_small_rotation(P.R, &rng, 1e-9 * kn_rng_unit(&rng));
    for (int i = 0; i < 3; i++) P.p[i] += 1e-9 * kn_rng_range(&rng, -1, 1);
    kn_contact_point c[16];
    int n;
    if (!CHECK_OK(kn_manifold_query(c, &n, 16, &s->top, &P, &s->ground, &s->below, 1e-3, &cache)))
      return frames;
    bool same = n == n_last;
    for (int i = 0; same && i < n; i++) {
      bool found = false;
      for (int k = 0; k < n_last; k++) found |= last[k] == c[i].key;
      same &= found;
    }
    changed += f > 0 && !same;
    n_last = n;
    for (int i = 0; i < n; i++) last[i] = c[i].key;
  }
  *count = n_last;
  return changed;
}

TEST(resting_manifolds_do_not_flicker) {
  const kn_pose I = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  kn_mesh* mesh = grid(4, 6);
  if (!CHECK(mesh != NULL)) return;
  const char* ground_name[4] = {"plane", "box", "same box", "mesh"};
  kn_shape grounds[4] = {{.type = KN_SHAPE_PLANE},
                         {.type = KN_SHAPE_BOX, .size = {2, 2, 0.5}},
                         {.type = KN_SHAPE_BOX, .size = {0.5, 0.4, 0.3}},
                         {.type = KN_SHAPE_MESH, .mesh = mesh}};
  double p[3 * 12];
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 2; k++) {
      double* q = p + 3 * (2 * i + k);
      q[0] = 0.5 * cos(M_PI * i / 3), q[1] = 0.5 * sin(M_PI * i / 3), q[2] = k ? 0.3 : -0.3;
    }
  kn_hull* prism = NULL;
  if (!CHECK_OK(kn_hull_create(&prism, p, 12, NULL))) return;
  const char* top_name[4] = {"box", "cylinder", "hull", "lying cylinder"};
  kn_shape tops[3] = {{.type = KN_SHAPE_BOX, .size = {0.5, 0.4, 0.3}},
                      {.type = KN_SHAPE_CYLINDER, .size = {0.4, 0.3}},
                      {.type = KN_SHAPE_HULL, .hull = prism}};
  double yaws[3] = {0, 0.3, M_PI / 4}, gaps[3] = {0, 1e-5, -1e-4};
  int frames = 1000 * kn_test_effort(), total = 0, worst = 0;
  if (frames > 10000) frames = 10000;
  for (int t = 0; t < 3; t++)
    for (int g = 0; g < 4; g++)
      for (int y = 0; y < 3; y++)
        for (int h = 0; h < 3; h++) {
          rest s = {tops[t], grounds[g], I, I, 0.3};
          if (g == 1) s.below.p[2] = -0.5;
          if (g == 2) s.below.p[2] = -0.3;
          int count = 0, n = changes(&s, yaws[y], gaps[h], frames, &count);
          if (n)
            printf("%s on %s, yaw %g, gap %g: %d of %d frames change, %d points\n", top_name[t],
                   ground_name[g], yaws[y], gaps[h], n, frames, count);
          CHECK_INT(count, 4);
          total += n;
          worst = n > worst ? n : worst;
        }
  printf("%d changes in %d frames of %d configurations\n", total, frames, 108);
  CHECK_INT(worst, 0);
  kn_hull_destroy(prism);
  kn_mesh_destroy(mesh);
}

TEST(mesh_gap_equals_the_plane_it_lies_in) {
  kn_mesh* mesh = grid(20, 9);
  if (!CHECK(mesh != NULL)) return;
  const kn_pose I = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  kn_shape ground = {.type = KN_SHAPE_MESH, .mesh = mesh}, plane = {.type = KN_SHAPE_PLANE};
  kn_rng rng = kn_rng_seed(9);
  for (int i = 0; i < 600 * kn_test_effort(); i++) {
    kn_shape_type type = (kn_shape_type)(KN_SHAPE_SPHERE + i % 6);
    kn_shape s = kn_test_shape(type, &rng, 4);
    s.hull = type == KN_SHAPE_HULL ? kn_test_hull(i) : NULL;
    kn_pose P;
    kn_test_rotation(P.R, &rng);
    for (int k = 0; k < 3; k++) P.p[k] = kn_rng_range(&rng, -2, 2);
    P.p[2] = 3 + kn_rng_unit(&rng);
    kn_distance_result r, q;
    CHECK_OK(kn_distance(&r, &s, &P, &ground, &I, NULL));
    CHECK_OK(kn_distance(&q, &s, &P, &plane, &I, NULL));
    if (!(q.gap > 1e-6)) continue;
    CHECK_NEAR(r.gap, q.gap, 1e-9 * 8); /* sizes up to 4 */
    /* lowered into contact: all normals point up although inner edges are touched */
    P.p[2] -= q.gap + 1e-5;
    kn_contact_point c[32];
    int n;
    CHECK_OK(kn_manifold_query(c, &n, 32, &s, &P, &ground, &I, 0, NULL));
    CHECK(n > 0);
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
      CHECK(c[k].normal[2] > 0.999);
      least = fmin(least, c[k].gap);
    }
    CHECK_NEAR(least, -1e-5, 1e-7);
  }
  kn_mesh_destroy(mesh);
}

TEST(queries_do_not_allocate) {
  kn_rng rng = kn_rng_seed(11);
  kn_test_hull(0);
  for (int i = 0; i < KN_TEST_HULLS; i++) kn_test_hull(i);
  size_t before = kn_test_allocations();
  for (int i = 0; i < 2000; i++) {
    kn_shape_type a = (kn_shape_type)(KN_SHAPE_SPHERE + i % 6),
                  b = (kn_shape_type)(KN_SHAPE_SPHERE + i / 6 % 6);
    kn_test_pair s = kn_test_pair_make(&rng, a, b, KN_TEST_RANDOM);
    kn_contact_point c[4];
    int n;
    CHECK_OK(kn_manifold_query(c, &n, 4, &s.a, &s.A, &s.b, &s.B, 0.1, NULL));
  }
  CHECK_INT(kn_test_allocations() - before, 0);
}

/* A cache from the last frame, from another pose or from another pair altogether makes no difference to the
 * gap. */
TEST(a_cache_never_changes_the_gap) {
  kn_rng rng = kn_rng_seed(31);
  kn_pair_cache cache;
  memset(&cache, 0, sizeof cache);
  double worst = 0;
  for (int i = 0; i < 6000 * kn_test_effort(); i++) {
    kn_shape_type a = (kn_shape_type)(KN_SHAPE_SPHERE + kn_rng_int(&rng, 6)),
                  b = (kn_shape_type)(a + kn_rng_int(&rng, 7 - (int)a));
    kn_test_pair s = kn_test_pair_make(&rng, a, b, i % 3 ? KN_TEST_RANDOM : KN_TEST_PARALLEL);
    for (int frame = 0; frame < 3; frame++) { /* the first frame has the last pair's cache */
      kn_distance_result warm, cold;
      if (!CHECK_OK(kn_distance(&warm, &s.a, &s.A, &s.b, &s.B, &cache))) return;
      if (!CHECK_OK(kn_distance(&cold, &s.a, &s.A, &s.b, &s.B, NULL))) return;
      double error = fabs(warm.gap - cold.gap) / s.size;
      worst = fmax(worst, error);
      if (!CHECK(error <= 1e-9))
        printf("types %d %d: warm %.15g cold %.15g\n", (int)a, (int)b, warm.gap, cold.gap);
      kn_test_small_rotation(s.B.R, &rng, 0.01);
      for (int k = 0; k < 3; k++) s.B.p[k] += 0.005 * kn_rng_range(&rng, -1, 1);
    }
  }
  printf("warm against cold: worst %.1e of the size\n", worst);
}

/* A shallow bowl with a square floor: floor and sides are faces of their own that differ by 4e-4 rad. */
static kn_hull* bowl(void) {
  double x[12][3];
  static const double half[3] = {1.0, 1.5, 1.5}, z[3] = {0.0, 2e-4, 1.0};
  for (int i = 0; i < 12; i++) {
    x[i][0] = i & 1 ? half[i / 4] : -half[i / 4];
    x[i][1] = i & 2 ? half[i / 4] : -half[i / 4];
    x[i][2] = z[i / 4];
  }
  kn_hull_settings exact = kn_hull_default();
  kn_hull* hull = NULL;
  exact.merge = 0.0;
  CHECK_OK(kn_hull_create(&hull, x[0], 12, &exact));
  return hull;
}

/* The face that touched last stays while it looks down nearly as much as the best one, and the lowest vertex may be none of its
   four: it takes the place of the shallowest. Five points were written where there is room for four. */
TEST(hulls_on_planes_have_four_points_at_most) {
  kn_hull* hull = bowl();
  kn_shape body = {.type = KN_SHAPE_HULL, .hull = hull}, ground = {.type = KN_SHAPE_PLANE};
  kn_pose on = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, below = on;
  kn_pair_cache cache = {0};
  kn_contact_point c[8];
  int n = 0;
  for (int tilted = 0; tilted < 2; tilted++) {
    double a = tilted ? 7e-4 : 0.0; /* rad, down at +x */
    double R[9] = {cos(a), 0, sin(a), 0, 1, 0, -sin(a), 0, cos(a)};
    memcpy(on.R, R, sizeof R);
    memset(c, 0xff, sizeof c);
    CHECK_OK(kn_manifold_query(c, &n, KN_MANIFOLD_MAX, &body, &on, &ground, &below, 1e-2, &cache));
    CHECK(n <= KN_MANIFOLD_MAX);
    CHECK(c[KN_MANIFOLD_MAX].key == UINT64_MAX); /* nothing behind the last */
    double least = INFINITY, lowest = tilted ? -1.5 * sin(a) + 2e-4 * cos(a) : 0.0;
    for (int i = 0; i < n; i++) least = fmin(least, c[i].gap);
    CHECK_NEAR(least, lowest, 1e-15);
  }
  kn_hull_destroy(hull);
}

/* Two triangles that form a slight ridge, and an apex. */
static kn_hull* ridge(double rise) {
  double x[5][3] = {{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, rise}, {0, 0, 1}};
  kn_hull_settings exact = kn_hull_default();
  kn_hull* hull = NULL;
  exact.merge = 0.0;
  CHECK_OK(kn_hull_create(&hull, x[0], 5, &exact));
  return hull;
}

/* A hull of triangles stands on three points and rocks onto the next one, which is a contact before it touches: found only behind the
   step, it was lifted back in every step. Far away it is none. */
TEST(a_triangle_on_a_plane_has_the_next_vertex_beside_it) {
  static const double rises[] = {3e-6, 1e-3};
  static const int points[] = {4, 3};
  kn_shape ground = {.type = KN_SHAPE_PLANE};
  kn_pose on = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, below = on;
  for (int k = 0; k < 2; k++) {
    kn_hull* hull = ridge(rises[k]);
    kn_shape body = {.type = KN_SHAPE_HULL, .hull = hull};
    kn_contact_point c[8];
    int n = 0, found = 0;
    CHECK_OK(kn_manifold_query(c, &n, 8, &body, &on, &ground, &below, 1e-2, NULL));
    CHECK_INT(n, points[k]);
    for (int i = 0; i < n; i++) found += fabs(c[i].gap - rises[k]) < 1e-15;
    CHECK_INT(found, n - 3);
    kn_hull_destroy(hull);
  }
}

/* |signed distance| of x to the surface of a box. */
static double off_box(const kn_shape* box, const kn_pose* P, const double x[3]) {
  double outside = 0.0, inside = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double l = 0.0;
    for (int k = 0; k < 3; k++) l += P->R[3 * k + i] * (x[k] - P->p[k]);
    double beyond = fabs(l) - box->size[i];
    if (beyond > 0.0) outside += beyond * beyond;
    inside = fmax(inside, beyond);
  }
  return outside > 0.0 ? sqrt(outside) : -inside;
}

/* Every point of a manifold lies on both boxes, within the slack of 1e-7 of the size in both directions of the face. Soles of two feet
   whose lower edges ran side by side, 8e-6 rad apart and within the slack, had a point 1.1e-4 m behind the corner, 2.4e-5 m too
   deep (talos on box feet): there the lines of both edges cross. */
TEST(edges_that_run_side_by_side_cross_between_their_ends) {
  kn_rng rng = kn_rng_seed(77);
  double worst = 0.0;
  long points = 0;
  for (int k = 0; k < 20000; k++) {
    kn_shape a = {.type = KN_SHAPE_BOX, .size = {0.105, 0.065, 0.01}}, b = a;
    kn_pose A = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, B = A;
    double yaw = k % 2 ? 0.3 * kn_rng_unit(&rng) : 0.0, corner[3];
    turn_about_z(&A, -yaw);
    kn_test_small_rotation(A.R, &rng, 1e-4 * pow(10.0, -3.0 * kn_rng_unit(&rng)));
    for (int i = 0; i < 3; i++)
      corner[i] = -A.R[3 * i] * a.size[0] * (yaw > 0.0 ? -1 : 1) - A.R[3 * i + 1] * a.size[1] -
                  A.R[3 * i + 2] * a.size[2];
    /* the corner is above the face y = .065 of B, as high as its lower edge */
    A.p[0] = 0.05 * kn_rng_range(&rng, -1, 1) - corner[0];
    A.p[1] = b.size[1] + 1e-6 * kn_rng_range(&rng, -1, 1) - corner[1];
    A.p[2] = -b.size[2] + pow(10.0, -5.0 - 4.0 * kn_rng_unit(&rng)) * kn_rng_range(&rng, -1, 1) - corner[2];
    kn_contact_point c[16];
    kn_pair_cache cache = {0};
    int n = 0;
    if (!CHECK_OK(kn_manifold_query(c, &n, 16, &a, &A, &b, &B, 1e-3, &cache))) return;
    for (int i = 0; i < n; i++, points++)
      worst = fmax(worst, fmax(off_box(&a, &A, c[i].on_a), off_box(&b, &B, c[i].on_b)));
  }
  CHECK(points > 40000);
  CHECK_BELOW(worst, 2.0 * 1e-7 * 0.25);
  printf("  %ld points, off by %.1e m at most\n", points, worst);
}
