/* Ray casts of every shape against a bisection on the signed distance to the surface, and meshes against
 * brute force. */
#include "knuckle/cast.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/mesh.h"
#include "shapes.h"

static kn_hull* cloud_hull(kn_rng* rng, kn_mesh_data* triangles) {
  double x[60];
  kn_hull* h = NULL;
  for (int i = 0; i < 60; i++) x[i] = kn_rng_normal(rng);
  CHECK_OK(kn_hull_create(&h, x, 20, NULL));
  CHECK_OK(kn_hull_triangles(triangles, h));
  return h;
}

/* Is a point (local) inside? A function <= 0 of the solid that shares no code with the ray casts. */
static long double level(const kn_shape* s, const kn_mesh_data* hull, const long double x[3]) {
  long double rho = sqrtl(x[0] * x[0] + x[1] * x[1]), z = fabsl(x[2]);
  switch (s->type) {
  case KN_SHAPE_PLANE: return x[2];
  case KN_SHAPE_SPHERE: return sqrtl(rho * rho + z * z) - s->size[0];
  case KN_SHAPE_CAPSULE: {
    long double dz = fmaxl(z - s->size[1], 0);
    return sqrtl(rho * rho + dz * dz) - s->size[0];
  }
  case KN_SHAPE_CYLINDER: return fmaxl(rho - s->size[0], z - s->size[1]);
  case KN_SHAPE_ELLIPSOID: {
    long double sum = 0;
    for (int k = 0; k < 3; k++) sum += x[k] * x[k] / ((long double)s->size[k] * s->size[k]);
    return sum - 1;
  }
  case KN_SHAPE_BOX: return fmaxl(fabsl(x[0]) - s->size[0], fmaxl(fabsl(x[1]) - s->size[1], z - s->size[2]));
  default: {
    long double worst = -INFINITY;
    for (int t = 0; t < hull->ntriangle; t++) {
      const double *a = hull->vertices + 3 * hull->triangles[3 * t],
                   *b = hull->vertices + 3 * hull->triangles[3 * t + 1],
                   *c = hull->vertices + 3 * hull->triangles[3 * t + 2];
      long double u[3], v[3], n[3], len = 0, d = 0;
      for (int k = 0; k < 3; k++) u[k] = (long double)b[k] - a[k], v[k] = (long double)c[k] - a[k];
      for (int k = 0; k < 3; k++)
        n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3], len += n[k] * n[k];
      for (int k = 0; k < 3; k++) d += n[k] * (x[k] - a[k]);
      worst = fmaxl(worst, d / sqrtl(len));
    }
    return worst;
  }
  }
}

static long double level_at(const kn_shape* s, const kn_mesh_data* h, const kn_pose* P, const double* o,
                            const double* d, long double t) {
  long double x[3], l[3];
  for (int k = 0; k < 3; k++) x[k] = (long double)o[k] + t * d[k] - P->p[k];
  for (int k = 0; k < 3; k++) l[k] = P->R[k] * x[0] + P->R[3 + k] * x[1] + P->R[6 + k] * x[2];
  return level(s, h, l);
}

/* The level is convex along a line: least point by ternary search, then the entry by bisection. */
static int reference(long double* t, const kn_shape* s, const kn_mesh_data* h, const kn_pose* P,
                     const double* o, const double* d) {
  long double lo = 0, hi = 100;
  if (level_at(s, h, P, o, d, 0) <= 0) return 2;
  for (int i = 0; i < 300; i++) {
    long double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    if (level_at(s, h, P, o, d, a) < level_at(s, h, P, o, d, b))
      hi = b;
    else
      lo = a;
  }
  long double least = level_at(s, h, P, o, d, lo);
  if (fabsl(least) < 1e-9) return -1; /* grazing: either answer */
  if (least > 0) return 0;
  hi = lo, lo = 0;
  for (int i = 0; i < 200; i++) {
    long double mid = (lo + hi) / 2;
    if (level_at(s, h, P, o, d, mid) > 0)
      lo = mid;
    else
      hi = mid;
  }
  *t = lo;
  return 1;
}

TEST(every_solid_against_bisection) {
  kn_rng rng = kn_rng_seed(1);
  kn_mesh_data triangles;
  kn_hull* hull = cloud_hull(&rng, &triangles);
  int hits[KN_SHAPE_COUNT] = {0}, misses[KN_SHAPE_COUNT] = {0}, wrong = 0;
  double worst = 0;
  for (int trial = 0; trial < 7000 * kn_test_effort(); trial++) {
    kn_shape s = {.type = (kn_shape_type)(trial % KN_SHAPE_MESH), .hull = hull};
    kn_pose P;
    double o[3], d[3];
    for (int k = 0; k < 3; k++)
      s.size[k] = pow(10, kn_rng_range(&rng, -1, 0.3)), P.p[k] = kn_rng_normal(&rng);
    kn_test_rotation(P.R, &rng);
    for (int k = 0; k < 3; k++)
      o[k] = 4 * kn_rng_normal(&rng), d[k] = P.p[k] + 0.7 * kn_rng_normal(&rng) - o[k];
    kn_ray_hit hit;
    long double t = 0;
    CHECK_OK(kn_ray_cast(&hit, &s, &P, o, d, INFINITY));
    int expected = reference(&t, &s, &triangles, &P, o, d);
    if (expected < 0 || (t > 99 && expected == 1)) continue;
    if (s.type == KN_SHAPE_PLANE && expected == 0 && hit.t > 99) continue;
    wrong += hit.hit != (expected > 0) || hit.inside != (expected == 2);
    if (!hit.hit) {
      misses[s.type]++;
      continue;
    }
    hits[s.type]++;
    double nn = 0, nd = 0;
    for (int k = 0; k < 3; k++) nn += hit.normal[k] * hit.normal[k], nd += hit.normal[k] * d[k];
    wrong += fabs(nn - 1) > 1e-12 || nd > 0;
    /* t is ill-conditioned at grazing angles: compare the level of the point found instead of t */
    if (expected == 1) worst = fmax(worst, fabs((double)level_at(&s, &triangles, &P, o, d, hit.t)));
    if (expected == 1) wrong += fabs(hit.t - (double)t) > 1e-5;
    CHECK_OK(kn_ray_cast(&hit, &s, &P, o, d, 0.999 * hit.t));
    wrong += hit.hit && !hit.inside;
  }
  CHECK_INT(wrong, 0);
  CHECK_NEAR(worst, 0,
             1e-12); /* coordinates of about 10 and levels scaled by up to 1/size² = 100: 1e-15 * 1000 */
  for (int k = 0; k < KN_SHAPE_MESH; k++) CHECK(hits[k] > 100 && (misses[k] > 100 || k == KN_SHAPE_PLANE));
  kn_mesh_data_free(&triangles);
  kn_hull_destroy(hull);
}

/* A bumpy closed surface. */
static void ball_mesh(kn_mesh_data* out, int n) {
  double* x = malloc(sizeof(double) * 3 * (size_t)(n * (n + 1)));
  int32_t* t = malloc(sizeof(int32_t) * 6 * (size_t)(n * n));
  int nv = 0, nt = 0;
  for (int i = 0; i <= n; i++)
    for (int j = 0; j < n; j++, nv++) {
      double a = M_PI * i / n, b = 2 * M_PI * j / n, r = 1 + 0.2 * sin(5 * a) * cos(3 * b);
      x[3 * nv] = r * sin(a) * cos(b), x[3 * nv + 1] = r * sin(a) * sin(b), x[3 * nv + 2] = r * cos(a);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int32_t a = i * n + j, b = i * n + (j + 1) % n, c = a + n, d = b + n, q[6] = {a, c, d, a, d, b};
      memcpy(t + 3 * nt, q, sizeof q);
      nt += 2;
    }
  CHECK_OK(kn_mesh_data_create(out, x, nv, t, nt));
  free(x);
  free(t);
}

static double moller_trumbore(const kn_mesh_data* m, int t, const double* o, const double* d) {
  const double *a = m->vertices + 3 * m->triangles[3 * t], *b = m->vertices + 3 * m->triangles[3 * t + 1],
               *c = m->vertices + 3 * m->triangles[3 * t + 2];
  double e[3], f[3], p[3], s[3], q[3], det = 0, u = 0, v = 0, w = 0;
  for (int k = 0; k < 3; k++) e[k] = b[k] - a[k], f[k] = c[k] - a[k], s[k] = o[k] - a[k];
  for (int k = 0; k < 3; k++) p[k] = d[(k + 1) % 3] * f[(k + 2) % 3] - d[(k + 2) % 3] * f[(k + 1) % 3];
  for (int k = 0; k < 3; k++) q[k] = s[(k + 1) % 3] * e[(k + 2) % 3] - s[(k + 2) % 3] * e[(k + 1) % 3];
  for (int k = 0; k < 3; k++) det += e[k] * p[k], u += s[k] * p[k], v += d[k] * q[k], w += f[k] * q[k];
  if (fabs(det) < 1e-14) return INFINITY;
  u /= det, v /= det, w /= det;
  return u >= 0 && v >= 0 && u + v <= 1 && w >= 0 ? w : INFINITY;
}

TEST(mesh_rays_as_by_brute_force) {
  kn_rng rng = kn_rng_seed(2);
  kn_mesh_data data;
  kn_mesh* mesh;
  int32_t dropped;
  ball_mesh(&data, 40);
  CHECK_OK(kn_mesh_create(&mesh, &data, &dropped));
  CHECK_INT(dropped, 80); /* the poles */
  kn_shape s = {.type = KN_SHAPE_MESH, .mesh = mesh};
  kn_pose P = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  int wrong = 0, hits = 0;
  for (int trial = 0; trial < 5000; trial++) {
    double o[3], d[3], best = INFINITY;
    for (int k = 0; k < 3; k++) o[k] = 2 * kn_rng_normal(&rng), d[k] = kn_rng_normal(&rng) - o[k];
    if (trial % 7 == 0) d[trial % 3] = 0;
    for (int t = 0; t < data.ntriangle; t++) best = fmin(best, moller_trumbore(&data, t, o, d));
    kn_ray_hit hit;
    size_t before = kn_test_allocations();
    CHECK_OK(kn_ray_cast(&hit, &s, &P, o, d, INFINITY));
    wrong += kn_test_allocations() != before;
    wrong += hit.hit != isfinite(best) || (hit.hit && fabs(hit.t - best) > 1e-9);
    hits += hit.hit;
  }
  CHECK_INT(wrong, 0);
  CHECK(hits > 1000 && hits < 4500);
  kn_mesh_destroy(mesh);
  kn_mesh_data_free(&data);
}

/* From inside a closed surface every ray must hit, also those aimed exactly at vertices and edges. */
TEST(no_ray_leaks_through_edges_and_vertices) {
  kn_rng rng = kn_rng_seed(3);
  kn_mesh_data data;
  kn_mesh* mesh;
  ball_mesh(&data, 30);
  CHECK_OK(kn_mesh_data_weld(&data, 1e-12));
  CHECK_OK(kn_mesh_create(&mesh, &data, NULL));
  kn_shape s = {.type = KN_SHAPE_MESH, .mesh = mesh};
  kn_pose P = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  int leaks = 0;
  for (int trial = 0; trial < 30000; trial++) {
    double o[3], d[3];
    int t = kn_rng_int(&rng, data.ntriangle), e = kn_rng_int(&rng, 3);
    const double *a = data.vertices + 3 * data.triangles[3 * t + e],
                 *b = data.vertices + 3 * data.triangles[3 * t + (e + 1) % 3];
    double u = trial % 2 ? 0 : kn_rng_unit(&rng);
    for (int k = 0; k < 3; k++)
      o[k] = 0.1 * kn_rng_range(&rng, -1, 1), d[k] = a[k] + u * (b[k] - a[k]) - o[k];
    kn_ray_hit hit;
    CHECK_OK(kn_ray_cast(&hit, &s, &P, o, d, INFINITY));
    leaks += !hit.hit;
  }
  CHECK_INT(leaks, 0);
  kn_mesh_destroy(mesh);
  kn_mesh_data_free(&data);
}

TEST(tree_overlap_as_by_brute_force_and_bad_meshes) {
  kn_rng rng = kn_rng_seed(4);
  kn_mesh_data data;
  kn_mesh* mesh;
  ball_mesh(&data, 40);
  CHECK_OK(kn_mesh_data_weld(&data, 1e-12));
  CHECK_OK(kn_mesh_create(&mesh, &data, NULL));
  for (int trial = 0; trial < 300; trial++) {
    double lo[3], hi[3];
    static int32_t out[8000];
    static bool in[8000];
    int32_t count, wrong = 0;
    for (int k = 0; k < 3; k++)
      lo[k] = kn_rng_range(&rng, -1.3, 1), hi[k] = lo[k] + kn_rng_range(&rng, 0, 0.5);
    CHECK_OK(kn_mesh_overlap(out, &count, 8000, mesh, lo, hi));
    memset(in, 0, sizeof in);
    for (int i = 0; i < count; i++) wrong += in[out[i]], in[out[i]] = true;
    for (int t = 0; t < data.ntriangle; t++) {
      double gap = -INFINITY;
      for (int k = 0; k < 3; k++) {
        double l = INFINITY, h = -INFINITY;
        for (int c = 0; c < 3; c++) {
          double x = data.vertices[3 * data.triangles[3 * t + c] + k];
          l = fmin(l, x), h = fmax(h, x);
        }
        gap = fmax(gap, fmax(l - hi[k], lo[k] - h));
      }
      wrong += (gap <= 0 && !in[t]) || (gap > 1e-6 && in[t]);
    }
    CHECK_INT(wrong, 0);
    if (count > 1) CHECK_STATUS(kn_mesh_overlap(out, &count, 1, mesh, lo, hi), KN_NO_ROOM);
  }
  kn_mesh_destroy(mesh);
  kn_mesh_data empty = {0};
  CHECK_STATUS(kn_mesh_create(&mesh, &empty, NULL), KN_BAD_MODEL);
  data.triangles[3] = 100000;
  CHECK_STATUS(kn_mesh_create(&mesh, &data, NULL), KN_BAD_ARGUMENT);
  data.triangles[3] = 0;
  data.vertices[7] = NAN;
  CHECK_STATUS(kn_mesh_create(&mesh, &data, NULL), KN_NOT_FINITE);
  kn_mesh_data_free(&data);
  double line[9] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  int32_t one[3] = {0, 1, 2};
  kn_mesh_data flat = {3, 1, line, one};
  CHECK_STATUS(kn_mesh_create(&mesh, &flat, NULL), KN_BAD_MODEL);
  CHECK_TEXT(kn_last_error(), "none of the 1 triangles");
}

/* All triangles in one place defeat every split; the tree must stay shallow and the build quick. */
TEST(piled_up_triangles_do_not_hang) {
  int n = 200000;
  double x[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  int32_t* t = malloc(sizeof(int32_t) * 3 * (size_t)n);
  for (int i = 0; i < 3 * n; i++) t[i] = i % 3;
  kn_mesh_data m = {3, n, x, t};
  kn_mesh* mesh;
  CHECK_OK(kn_mesh_create(&mesh, &m, NULL));
  int32_t out[1], count;
  double lo[3] = {-1, -1, -1}, hi[3] = {1, 1, 1};
  CHECK_STATUS(kn_mesh_overlap(out, &count, 1, mesh, lo, hi), KN_NO_ROOM);
  CHECK_INT(count, n);
  kn_mesh_destroy(mesh);
  /* geometric sizes: splits peel off one triangle at a time */
  double* y = malloc(sizeof(double) * 9 * 2000);
  for (int i = 0; i < 2000; i++) {
    double s = pow(0.97, i);
    double tri[9] = {s, 0, 0, 0, s, 0, 0, 0, s};
    memcpy(y + 9 * i, tri, sizeof tri);
  }
  for (int i = 0; i < 6000; i++) t[i] = i;
  kn_mesh_data peel = {6000, 2000, y, t};
  CHECK_OK(kn_mesh_create(&mesh, &peel, NULL));
  CHECK_STATUS(kn_mesh_overlap(out, &count, 1, mesh, lo, hi), KN_NO_ROOM);
  CHECK_INT(count, 2000);
  kn_mesh_destroy(mesh);
  free(t);
  free(y);
}

TEST(bad_rays_are_refused) {
  kn_shape s = {.type = KN_SHAPE_SPHERE, .size = {1}};
  kn_pose P = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  double o[3] = {0, 0, 5}, zero[3] = {0, 0, 0}, nan3[3] = {0, NAN, 0}, d[3] = {0, 0, -1};
  kn_ray_hit hit;
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, o, zero, 1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, o, nan3, 1), KN_NOT_FINITE);
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, nan3, d, 1), KN_NOT_FINITE);
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, o, d, -1), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, o, d, NAN), KN_BAD_ARGUMENT);
  s.type = KN_SHAPE_MESH;
  CHECK_STATUS(kn_ray_cast(&hit, &s, &P, o, d, 1), KN_BAD_ARGUMENT);
}
