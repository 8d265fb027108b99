/* Convex hulls: the surface is closed, contains every point, touches its planes, and bad input is refused or
 * repaired. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/timer.h"
#include "knuckle/massprops.h"
#include "model/hull.h"
#include "model/hull_build.h"
#include "shapes.h"

static double size_of(const kn_hull* h) {
  return fmax(h->hi[0] - h->lo[0], fmax(h->hi[1] - h->lo[1], h->hi[2] - h->lo[2]));
}

static double height(const kn_hull* h, int f, double x, double y, double z) {
  const double* p = h->plane + 4 * f;
  return p[0] * x + p[1] * y + p[2] * z - p[3];
}

static void check_topology(const kn_hull* h) {
  CHECK_INT(h->nv - h->ne + h->nf, 2);
  CHECK_INT(h->face_start[h->nf], 2 * h->ne);
  CHECK_INT(h->adj_start[h->nv], 2 * h->ne);
  CHECK_INT(h->nv_padded % KN_HULL_LANES, 0);
  int bad = 0;
  for (int e = 0; e < h->ne; e++) {
    const int32_t* q = h->edge + 4 * e;
    bad += !(q[0] < q[1]) || q[2] == q[3];
    for (int side = 0; side < 2; side++) { /* each face's loop runs the edge in its own sense */
      int f = q[2 + side], from = q[side], to = q[1 - side], found = 0;
      for (int i = h->face_start[f]; i < h->face_start[f + 1]; i++) {
        int next = i + 1 < h->face_start[f + 1] ? i + 1 : h->face_start[f];
        if (h->face_vertex[i] == from && h->face_vertex[next] == to) found += h->face_next[i] == q[3 - side];
      }
      bad += found != 1;
    }
  }
  for (int v = 0; v < h->nv; v++) {
    bad += h->adj_start[v + 1] - h->adj_start[v] < 3 || h->vface_start[v + 1] - h->vface_start[v] < 3;
    for (int i = h->adj_start[v] + 1; i < h->adj_start[v + 1]; i++) bad += h->adj[i] <= h->adj[i - 1];
    for (int i = h->vface_start[v] + 1; i < h->vface_start[v + 1]; i++) bad += h->vface[i] <= h->vface[i - 1];
  }
  CHECK_INT(bad, 0);
}

/* Loops turn left about their normals (convex polygons up to `tol`). */
static void check_faces(const kn_hull* h, double tol) {
  int bad = 0;
  double s = size_of(h), worst = 0;
  for (int f = 0; f < h->nf; f++) {
    int n = h->face_start[f + 1] - h->face_start[f];
    const int32_t* v = h->face_vertex + h->face_start[f];
    for (int i = 0; i < n; i++) {
      worst = fmax(worst, fabs(height(h, f, h->x[v[i]], h->y[v[i]], h->z[v[i]])));
      double e[2][3];
      for (int k = 0; k < 2; k++) {
        int a = v[(i + k) % n], b = v[(i + k + 1) % n];
        e[k][0] = h->x[b] - h->x[a], e[k][1] = h->y[b] - h->y[a], e[k][2] = h->z[b] - h->z[a];
      }
      const double* p = h->plane + 4 * f;
      double turn = p[0] * (e[0][1] * e[1][2] - e[0][2] * e[1][1]) +
                    p[1] * (e[0][2] * e[1][0] - e[0][0] * e[1][2]) +
                    p[2] * (e[0][0] * e[1][1] - e[0][1] * e[1][0]);
      bad += turn < -tol * s * s;
    }
  }
  CHECK_INT(bad, 0);
  CHECK_NEAR(worst / s, 0, tol); /* corners on their plane */
}

static void check_contains(const kn_hull* h, const double* x, int n, double tol) {
  double worst = 0;
  for (int i = 0; i < n; i++)
    for (int f = 0; f < h->nf; f++) worst = fmax(worst, height(h, f, x[3 * i], x[3 * i + 1], x[3 * i + 2]));
  CHECK_NEAR(worst / size_of(h), 0, tol);
}

/* Volumes of needles cancel by up to (aspect 1e4)^1.5 roundings of 1e-16. */
static void check_moments(const kn_hull* h) {
  kn_mesh_data m;
  kn_massprops p;
  if (!CHECK_OK(kn_hull_triangles(&m, h))) return;
  CHECK_OK(kn_mesh_data_massprops(&p, &m, KN_MESH_INERTIA_EXACT, 1));
  double r = size_of(h);
  CHECK_NEAR(p.mass / h->volume, 1, 1e-10);
  for (int k = 0; k < 3; k++) CHECK_NEAR((p.com[k] - h->centroid[k]) / r, 0, 1e-10);
  for (int k = 0; k < 6; k++) CHECK_NEAR((p.inertia[k] - h->inertia[k]) / (h->volume * r * r), 0, 1e-10);
  kn_mesh_data_free(&m);
}

static void check_hull(const kn_hull* h, const double* x, int n, double tol) {
  check_topology(h);
  check_faces(h, tol);
  check_contains(h, x, n, tol);
  check_moments(h);
}

static void rotate(double* x, int n, kn_rng* rng) {
  double R[9];
  kn_test_rotation(R, rng);
  for (int i = 0; i < n; i++) {
    double y[3];
    for (int k = 0; k < 3; k++)
      y[k] = R[3 * k] * x[3 * i] + R[3 * k + 1] * x[3 * i + 1] + R[3 * k + 2] * x[3 * i + 2];
    memcpy(x + 3 * i, y, sizeof y);
  }
}

static int box_points(double* x, double a, double b, double c) {
  for (int i = 0; i < 8; i++)
    x[3 * i] = i & 1 ? a : -a, x[3 * i + 1] = i & 2 ? b : -b, x[3 * i + 2] = i & 4 ? c : -c;
  return 8;
}

TEST(box_with_duplicates_and_inner_points_has_six_quads) {
  kn_rng rng = kn_rng_seed(1);
  for (int trial = 0; trial < 200; trial++) {
    double x[300], s[3];
    for (int k = 0; k < 3; k++) s[k] = pow(10, kn_rng_range(&rng, -2, 2)); /* aspect to 1e4 */
    int n = box_points(x, s[0], s[1], s[2]);
    memcpy(x + 24, x, 24 * sizeof *x), n += 8;
    for (int i = 0; i < 80; i++, n++) /* inner points, points on faces and on edges */
      for (int k = 0; k < 3; k++) x[3 * n + k] = s[k] * (kn_rng_int(&rng, 3) ? kn_rng_range(&rng, -1, 1) : 1);
    rotate(x, n, &rng);
    kn_hull* h;
    if (!CHECK_OK(kn_hull_create(&h, x, n, NULL))) continue;
    CHECK_INT(h->nv, 8);
    CHECK_INT(h->nf, 6);
    CHECK_INT(h->ne, 12);
    check_hull(h, x, n, 1e-12); /* rounding of the rotation, 1e-16 of size, times the aspect 1e4 */
    CHECK_NEAR(h->volume / (8 * s[0] * s[1] * s[2]), 1, 1e-11);
    kn_hull_destroy(h);
  }
}

TEST(single_precision_box_needs_the_looser_merge) {
  kn_rng rng = kn_rng_seed(2);
  for (int trial = 0; trial < 100; trial++) {
    double x[24];
    box_points(x, 0.3, 0.2, 0.1);
    rotate(x, 8, &rng);
    for (int i = 0; i < 24; i++) x[i] = (double)(float)x[i];
    kn_hull_settings s = kn_hull_default();
    s.merge = 1e-6;
    kn_hull* h;
    if (!CHECK_OK(kn_hull_create(&h, x, 8, &s))) continue;
    CHECK_INT(h->nf, 6);
    check_hull(h, x, 8, 1e-6);
    kn_hull_destroy(h);
  }
}

TEST(random_points_on_spheres_prisms_and_grids) {
  kn_rng rng = kn_rng_seed(3);
  enum { MAX = 400 };
  static double x[3 * MAX];
  for (int trial = 0; trial < 300; trial++) {
    int n = 0;
    switch (trial % 4) {
    case 0: /* sphere */
      for (n = 4 + kn_rng_int(&rng, MAX - 4); n && 0;) {}
      for (int i = 0; i < n; i++) {
        double v[3] = {kn_rng_normal(&rng), kn_rng_normal(&rng), kn_rng_normal(&rng)};
        double l = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int k = 0; k < 3; k++) x[3 * i + k] = v[k] / l;
      }
      break;
    case 1: { /* prism */
      int sides = 3 + kn_rng_int(&rng, 100);
      for (int i = 0; i < 2 * sides; i++, n++)
        x[3 * n] = cos(2 * M_PI * i / sides), x[3 * n + 1] = sin(2 * M_PI * i / sides),
              x[3 * n + 2] = i < sides ? 0.4 : -0.4;
      break;
    }
    case 2: /* cubic grid: most points on faces or inside */
      for (int i = 0; i < 343; i++, n++) x[3 * n] = i % 7, x[3 * n + 1] = i / 7 % 7, x[3 * n + 2] = i / 49;
      break;
    default: /* ball */
      for (n = 0; n < 100; n++)
        for (int k = 0; k < 3; k++) x[3 * n + k] = kn_rng_normal(&rng);
    }
    rotate(x, n, &rng);
    kn_hull* h;
    if (!CHECK_OK(kn_hull_create(&h, x, n, NULL))) continue;
    check_hull(h, x, n, 1e-9); /* the default merge */
    if (trial % 4 == 0) CHECK_INT(h->nv, n);
    if (trial % 4 == 1) CHECK_INT(h->nv, n), CHECK_INT(h->nf, n / 2 + 2);
    if (trial % 4 == 2) CHECK_INT(h->nv, 8), CHECK_INT(h->nf, 6);
    kn_hull_destroy(h);
  }
}

TEST(hull_is_the_same_twice) {
  kn_rng rng = kn_rng_seed(4);
  double x[300];
  for (int i = 0; i < 300; i++) x[i] = kn_rng_normal(&rng);
  kn_hull *a, *b;
  CHECK_OK(kn_hull_create(&a, x, 100, NULL));
  CHECK_OK(kn_hull_create(&b, x, 100, NULL));
  CHECK(a->arena.used == b->arena.used && !memcmp(a->x, b->x, (size_t)a->nv * sizeof *a->x));
  CHECK(!memcmp(a->face_vertex, b->face_vertex, (size_t)(2 * a->ne) * sizeof *a->face_vertex));
  kn_hull_destroy(a);
  kn_hull_destroy(b);
}

TEST(flat_straight_single_and_bad_input) {
  kn_rng rng = kn_rng_seed(5);
  double x[90];
  kn_hull* h;
  kn_hull_settings s = kn_hull_default();
  for (int dimension = 0; dimension < 3; dimension++) {
    double u[2][3];
    for (int i = 0; i < 6; i++) u[i / 3][i % 3] = kn_rng_normal(&rng);
    for (int i = 0; i < 30; i++)
      for (int k = 0; k < 3; k++) x[3 * i + k] = k;
    for (int i = 0; i < 30; i++)
      for (int d = 0; d < dimension; d++) {
        double t = kn_rng_range(&rng, -1, 1);
        for (int k = 0; k < 3; k++) x[3 * i + k] += t * u[d][k];
      }
    CHECK_STATUS(kn_hull_create(&h, x, 30, NULL), KN_BAD_MODEL);
    CHECK_TEXT(kn_last_error(), dimension == 0   ? "one point"
                                : dimension == 1 ? "straight line"
                                                 : "one plane");
    CHECK(!h);
    s.thicken = 0.01;
    if (!CHECK_OK(kn_hull_create(&h, x, 30, &s))) continue;
    check_hull(h, x, 30, 1e-9);
    if (dimension == 0) CHECK_NEAR(h->volume, 1e-6, 1e-15);
    kn_hull_destroy(h);
  }
  CHECK_STATUS(kn_hull_create(&h, x, 3, NULL), KN_BAD_MODEL);
  x[4] = NAN;
  CHECK_STATUS(kn_hull_create(&h, x, 30, NULL), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "point 1");
  x[4] = INFINITY;
  CHECK_STATUS(kn_hull_create(&h, x, 30, NULL), KN_NOT_FINITE);
  CHECK_STATUS(kn_hull_create(&h, NULL, 30, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_hull_create(&h, x, 0, NULL), KN_BAD_ARGUMENT);
  s.merge = 2;
  CHECK_STATUS(kn_hull_create(&h, x, 30, &s), KN_BAD_ARGUMENT);
}

/* Nearly flat clouds of every thickness: a hull that holds its points or a refusal, nothing in between. */
TEST(nearly_flat_clouds) {
  kn_rng rng = kn_rng_seed(6);
  int built = 0;
  for (int trial = 0; trial < 600; trial++) {
    double x[150], thin = pow(10, kn_rng_range(&rng, -17, 0)), shift = trial % 3 ? 0 : 100;
    for (int i = 0; i < 50; i++) {
      x[3 * i] = kn_rng_range(&rng, -1, 1), x[3 * i + 1] = kn_rng_range(&rng, -1, 1);
      x[3 * i + 2] = thin * kn_rng_range(&rng, -1, 1);
    }
    rotate(x, 50, &rng);
    for (int i = 0; i < 150; i++) x[i] += shift;
    kn_hull* h;
    kn_status status = kn_hull_create(&h, x, 50, NULL);
    if (status == KN_OK) {
      built++;
      check_topology(h);
      check_contains(h, x, 50, 1e-9);
      CHECK(h->volume > 0);
      kn_hull_destroy(h);
    } else {
      CHECK_INT(status, KN_BAD_MODEL);
      CHECK(thin < 1e-9);
    }
  }
  CHECK(built > 250);
}

TEST(vertex_limit) {
  kn_rng rng = kn_rng_seed(7);
  enum { N = 5000 };
  static double x[3 * N];
  for (int i = 0; i < N; i++) {
    double v[3] = {kn_rng_normal(&rng), kn_rng_normal(&rng), kn_rng_normal(&rng)};
    double l = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++) x[3 * i + k] = v[k] / l;
  }
  for (int limit = 4; limit <= 256; limit *= 4) {
    kn_hull_settings s = kn_hull_default();
    s.max_vertices = limit;
    kn_hull* h;
    if (!CHECK_OK(kn_hull_create(&h, x, N, &s))) continue;
    CHECK(h->nv <= limit + 1 && h->nv >= 4);
    check_topology(h);
    kn_hull_destroy(h);
  }
}

TEST(a_million_points) {
  kn_rng rng = kn_rng_seed(8);
  int n = 1000000;
  double *x = malloc(3 * sizeof *x * (size_t)n), start = kn_cpu_seconds();
  for (int i = 0; i < 3 * n; i++) x[i] = kn_rng_range(&rng, -1, 1);
  kn_hull* h;
  CHECK_OK(kn_hull_create(&h, x, n, NULL));
  CHECK(h && h->nv > 8);
  CHECK(kn_cpu_seconds() - start < 60);
  check_topology(h);
  kn_hull_destroy(h);
  free(x);
}

/* A pyramid's faces in two orders, each from another corner: the same list. The library that finds faces lists them as its rounding
   has it, which is not the same on every machine. */
TEST(faces_are_listed_in_one_order) {
  static const int32_t lists[2][16] = {{0, 3, 2, 1, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4},
                                       {4, 2, 3, 4, 1, 2, 2, 1, 0, 3, 0, 4, 3, 1, 4, 0}};
  static const int32_t starts[2][6] = {{0, 4, 7, 10, 13, 16}, {0, 3, 6, 10, 13, 16}};
  kn_polygons p[2];
  for (int i = 0; i < 2; i++) {
    CHECK_OK(kn_polygons_begin(&p[i]));
    for (int f = 0; f < 5; f++) {
      for (int k = starts[i][f]; k < starts[i][f + 1]; k++) CHECK_OK(kn_polygons_corner(&p[i], lists[i][k]));
      CHECK_OK(kn_polygons_end_face(&p[i]));
    }
    CHECK_OK(kn_polygons_sort(&p[i]));
  }
  CHECK(memcmp(p[0].start, p[1].start, sizeof starts[0]) == 0);
  CHECK(memcmp(p[0].loop, p[1].loop, sizeof lists[0]) == 0);
  for (int i = 0; i < 2; i++) kn_polygons_free(&p[i]);
}
