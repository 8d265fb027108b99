/* Time of impact: closed forms, thin plates at 1 km/s, proofs of no contact, and bad input. */
#include "test.h"

#include <string.h>

#include "base/rng.h"
#include "knuckle/cast.h"
#include "knuckle/mesh.h"
#include "shapes.h"

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static kn_sweep at(double x, double y, double z) {
  kn_sweep s = {.start = {.p = {x, y, z}}, .centre = {x, y, z}};
  memcpy(s.start.R, identity, sizeof identity);
  return s;
}

/* tolerance 1e-12 m and speeds of at least 0.1 m/s leave 1e-11 s */
static const kn_toi_settings fine = {.tolerance = 1e-12, .max_steps = 5000};

static void check_touch(const kn_shape* a, const kn_sweep* ma, const kn_shape* b, const kn_sweep* mb,
                        double t_max, double t) {
  for (int swap = 0; swap < 2; swap++) {
    kn_toi_result r;
    if (!CHECK_OK(swap ? kn_time_of_impact(&r, b, mb, a, ma, t_max, &fine, NULL)
                       : kn_time_of_impact(&r, a, ma, b, mb, t_max, &fine, NULL)))
      return;
    CHECK_INT(r.state, KN_TOI_TOUCH);
    CHECK_NEAR(r.t, t, 1e-10);
    CHECK(r.t <= t + 1e-14 * (1 + t)); /* never late */
    CHECK(r.distance.gap > 0 && r.distance.gap <= fine.tolerance);
  }
}

TEST(spheres_meet_when_the_quadratic_says) {
  kn_rng rng = kn_rng_seed(1);
  int touches = 0, misses = 0;
  for (int trial = 0; trial < 2000; trial++) {
    kn_shape a = {.type = KN_SHAPE_SPHERE, .size = {kn_rng_range(&rng, 0.1, 1)}};
    kn_shape b = {.type = KN_SHAPE_SPHERE, .size = {kn_rng_range(&rng, 0.1, 1)}};
    kn_sweep ma = at(0, 0, 0), mb = at(0, 0, 0);
    double d[3], v[3], dd = 0, dv = 0, vv = 0, r = a.size[0] + b.size[0];
    for (int k = 0; k < 3; k++) {
      mb.start.p[k] = mb.centre[k] = 5 * kn_rng_normal(&rng);
      ma.v[k] = kn_rng_normal(&rng), mb.v[k] = -mb.centre[k] + kn_rng_normal(&rng);
      d[k] = mb.centre[k], v[k] = mb.v[k] - ma.v[k];
      dd += d[k] * d[k], dv += d[k] * v[k], vv += v[k] * v[k];
    }
    double disc = dv * dv - vv * (dd - r * r),
           t = disc > 0 && dv < 0 ? (dd - r * r) / (-dv + sqrt(disc)) : INFINITY;
    if (dd <= r * r || fabs(disc) < 1e-3 * vv) continue; /* grazing: t is ill-conditioned, 1e-12/sqrt(disc) */
    if (t < 3) {
      check_touch(&a, &ma, &b, &mb, 3, t);
      touches++;
    } else {
      kn_toi_result res;
      CHECK_OK(kn_time_of_impact(&res, &a, &ma, &b, &mb, 3, &fine, NULL));
      CHECK_INT(res.state, KN_TOI_SEPARATE);
      misses++;
    }
  }
  CHECK(touches > 300 && misses > 300);
}

/* A rod turning about its middle at height H over a plane touches when l sin(wt) = H - r. */
TEST(turning_rod_reaches_the_plane) {
  kn_rng rng = kn_rng_seed(2);
  for (int trial = 0; trial < 500; trial++) {
    double r = kn_rng_range(&rng, 0.01, 0.1), l = kn_rng_range(&rng, 0.5, 2), w = kn_rng_range(&rng, 0.5, 20);
    double H = r + l * kn_rng_range(&rng, 0.05, 0.95); /* below 1: grazing otherwise */
    kn_shape rod = {.type = KN_SHAPE_CAPSULE, .size = {r, l}}, plane = {.type = KN_SHAPE_PLANE};
    kn_sweep ma = at(0, 0, H), mb = at(0, 0, 0);
    double lying[9] = {0, 0, 1, 0, 1, 0, -1, 0, 0}; /* axis along x */
    memcpy(ma.start.R, lying, sizeof lying);
    ma.w[1] = w;
    check_touch(&rod, &ma, &plane, &mb, 10, asin((H - r) / l) / w);
  }
}

/* An ellipsoid falling and turning about a horizontal axis: lowest point at H - vt - sqrt(a² sin² + c² cos²).
 */
TEST(turning_ellipsoid_falls_on_the_plane) {
  kn_rng rng = kn_rng_seed(3);
  for (int trial = 0; trial < 300; trial++) {
    double a = kn_rng_range(&rng, 0.2, 1), b = kn_rng_range(&rng, 0.2, 1), c = kn_rng_range(&rng, 0.2, 1);
    double w = kn_rng_range(&rng, -10, 10), v = kn_rng_range(&rng, 12, 20), H = kn_rng_range(&rng, 1.5, 4);
    kn_shape e = {.type = KN_SHAPE_ELLIPSOID, .size = {a, b, c}}, plane = {.type = KN_SHAPE_PLANE};
    kn_sweep ma = at(0, 0, H), mb = at(0, 0, 0);
    ma.w[1] = w, ma.v[2] = -v; /* |w| (largest axis) < v: the lowest point only falls, one root */
    double lo = 0, hi = H / v;
    for (int i = 0; i < 200; i++) {
      double t = 0.5 * (lo + hi), s = a * sin(w * t), k = c * cos(w * t);
      if (H - v * t - sqrt(s * s + k * k) > 0)
        lo = t;
      else
        hi = t;
    }
    check_touch(&e, &ma, &plane, &mb, 10, lo);
  }
}

TEST(sphere_meets_face_edge_and_corner_of_a_box) {
  kn_shape box = {.type = KN_SHAPE_BOX, .size = {1, 2, 3}}, ball = {.type = KN_SHAPE_SPHERE, .size = {0.5}};
  kn_sweep mb = at(0, 0, 0), ma = at(5, 0.3, 0.2);
  ma.v[0] = -2;
  check_touch(&ball, &ma, &box, &mb, 10, 3.5 / 2);
  ma = at(5, 2.3, 0.2); /* edge x = 1, y = 2: offset 0.3 of radius 0.5 leaves 0.4 */
  ma.v[0] = -2;
  check_touch(&ball, &ma, &box, &mb, 10, (4 - 0.4) / 2);
  ma = at(5, 2.3, 3.2); /* corner: offsets 0.3 and 0.2 */
  ma.v[0] = -2;
  check_touch(&ball, &ma, &box, &mb, 10, (4 - sqrt(0.25 - 0.09 - 0.04)) / 2);
  /* the box turns about z with its corner into a ball at rest: corner radius sqrt(5), ball on the x axis */
  mb.w[2] = 1;
  ma = at(2.6, 0, 0);
  /* corner (1,-2) at angle -atan 2 reaches the ball when |corner - (2.6,0)| = 0.5: cos of the angle between
   */
  double cosine = (5 + 2.6 * 2.6 - 0.25) / (2 * sqrt(5) * 2.6);
  check_touch(&ball, &ma, &box, &mb, 10, atan2(2, 1) - acos(cosine));
}

TEST(capsules_crossing) {
  kn_shape c = {.type = KN_SHAPE_CAPSULE, .size = {0.1, 1}};
  kn_sweep ma = at(0, 0, 0), mb = at(3, 0.2, 0.1);
  double lying[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}; /* axis along y: crossed with the first */
  memcpy(mb.start.R, lying, sizeof lying);
  mb.v[0] = -4;
  check_touch(&c, &ma, &c, &mb, 10, (3 - 0.2) / 4);
  memcpy(mb.start.R, identity,
         sizeof identity); /* parallel, offset 0.2 in y beyond the radii? sum of radii 0.2: grazes */
  mb = at(3, 0.1, 0.1);
  mb.v[0] = -4;
  check_touch(&c, &ma, &c, &mb, 10, (3 - sqrt(0.04 - 0.01)) / 4);
}

static bool pair_supported(const kn_shape* a, const kn_shape* b) {
  kn_pose P = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}, Q = P;
  kn_distance_result r;
  Q.p[0] = 100;
  return kn_distance(&r, a, &P, b, &Q, NULL) == KN_OK;
}

/* A projectile aimed through the interior of a 1 mm plate at 1 km/s, dt long enough to pass it entirely:
   missing it once in any trial is a failure. Plate and projectile also turn. */
TEST(nothing_passes_a_thin_plate_at_1_km_per_s) {
  kn_rng rng = kn_rng_seed(4);
  double x[24];
  enum { PLATES = 3 }; /* box, hull, mesh */
  kn_hull *shard, *plate_hull;
  for (int i = 0; i < 24; i++) x[i] = 0.004 * kn_rng_normal(&rng);
  CHECK_OK(kn_hull_create(&shard, x, 8, NULL));
  for (int i = 0; i < 8; i++)
    x[3 * i] = i & 1 ? 0.25 : -0.25, x[3 * i + 1] = i & 2 ? 0.25 : -0.25, x[3 * i + 2] = i & 4 ? 5e-4 : -5e-4;
  CHECK_OK(kn_hull_create(&plate_hull, x, 8, NULL));
  kn_mesh_data surface;
  kn_mesh* sheet;
  CHECK_OK(kn_hull_triangles(&surface, plate_hull));
  CHECK_OK(kn_mesh_create(&sheet, &surface, NULL));
  kn_shape plates[PLATES] = {{.type = KN_SHAPE_BOX, .size = {0.25, 0.25, 5e-4}},
                             {.type = KN_SHAPE_HULL, .hull = plate_hull},
                             {.type = KN_SHAPE_MESH, .mesh = sheet}};
  int missed = 0, undecided = 0, late = 0, run = 0;
  long steps = 0;
  bool supported[PLATES * KN_SHAPE_COUNT];
  for (int i = 0; i < PLATES * KN_SHAPE_COUNT; i++) {
    kn_shape p = {.type = (kn_shape_type)(i / PLATES), .size = {0.01, 0.01, 0.01}, .hull = shard};
    supported[i] =
        p.type != KN_SHAPE_PLANE && p.type != KN_SHAPE_MESH && pair_supported(&p, &plates[i % PLATES]);
  }
  for (int trial = 0; run < 100000; trial++) {
    int kind = trial % (PLATES * KN_SHAPE_COUNT);
    if (!supported[kind]) continue;
    run++;
    kn_shape p = {.type = (kn_shape_type)(kind / PLATES), .hull = shard};
    for (int k = 0; k < 3; k++) p.size[k] = kn_rng_range(&rng, 1e-4, 5e-3); /* down to 0.1 mm */
    kn_sweep ma = at(0, 0, 0), mb = at(0, 0, 0);
    kn_test_rotation(mb.start.R, &rng);
    kn_test_rotation(ma.start.R, &rng);
    if (trial % 3 == 0)
      for (int k = 0; k < 3; k++) mb.w[k] = 3 * kn_rng_normal(&rng), ma.w[k] = 50 * kn_rng_normal(&rng);
    /* aim at a point well inside the plate; it moves less than 0.25 m * 10 rad/s * 4 ms = 1 cm */
    double aim[3], dir[3], n = 0,
                           local[3] = {kn_rng_range(&rng, -0.2, 0.2), kn_rng_range(&rng, -0.2, 0.2), 0};
    for (int k = 0; k < 3; k++) dir[k] = kn_rng_normal(&rng), n += dir[k] * dir[k];
    /* steeper than 6 degrees, so that a turning plate cannot dodge */
    double steep = 0;
    for (int k = 0; k < 3; k++) steep += dir[k] / sqrt(n) * mb.start.R[3 * k + 2];
    if (fabs(steep) < 0.1) {
      double flip = steep < 0 ? -1 : 1;
      for (int k = 0; k < 3; k++) dir[k] = dir[k] / sqrt(n) + flip * 0.3 * mb.start.R[3 * k + 2];
      n = dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2];
    }
    for (int k = 0; k < 3; k++) {
      const double* R = mb.start.R + 3 * k;
      aim[k] = R[0] * local[0] + R[1] * local[1];
      ma.v[k] = 1000 * dir[k] / sqrt(n);
      ma.start.p[k] = ma.centre[k] = aim[k] - 2e-3 * ma.v[k]; /* 2 m away */
    }
    kn_toi_result r;
    if (!CHECK_OK(kn_time_of_impact(&r, &p, &ma, &plates[kind % PLATES], &mb, 4e-3, NULL, NULL))) return;
    missed += r.state == KN_TOI_SEPARATE;
    undecided += r.state == KN_TOI_UNDECIDED;
    late += r.state == KN_TOI_TOUCH && r.t > 2.1e-3;
    steps += r.steps;
  }
  CHECK_INT(missed, 0);
  CHECK_INT(undecided, 0);
  CHECK_INT(late, 0);
  printf("  %d trials, %.1f distance queries each\n", run, (double)steps / run);
  kn_hull_destroy(shard);
  kn_hull_destroy(plate_hull);
  kn_mesh_destroy(sheet);
  kn_mesh_data_free(&surface);
}

/* "Separate" and "no contact before t" are proofs: dense sampling must never find a smaller gap. */
TEST(no_contact_before_the_reported_time) {
  kn_rng rng = kn_rng_seed(5);
  double x[36];
  kn_hull* hull;
  for (int i = 0; i < 36; i++) x[i] = 0.5 * kn_rng_normal(&rng);
  CHECK_OK(kn_hull_create(&hull, x, 12, NULL));
  int early = 0, run = 0, touches = 0, undecided = 0;
  for (int trial = 0; trial < 3000 * kn_test_effort(); trial++) {
    kn_shape s[2];
    kn_sweep m[2];
    for (int i = 0; i < 2; i++) {
      s[i] = (kn_shape){.type = (kn_shape_type)(1 + kn_rng_int(&rng, 6)), .hull = hull};
      m[i] = at(i * 3, 0, 0);
      kn_test_rotation(m[i].start.R, &rng);
      for (int k = 0; k < 3; k++) {
        s[i].size[k] = kn_rng_range(&rng, 0.1, 0.7);
        m[i].centre[k] += 0.3 * kn_rng_normal(&rng); /* turns about a point off its origin */
        m[i].v[k] = kn_rng_normal(&rng), m[i].w[k] = 3 * kn_rng_normal(&rng);
      }
      m[i].v[0] += i ? -2 : 2;
    }
    if (!pair_supported(&s[0], &s[1])) continue;
    run++;
    kn_toi_result r;
    if (!CHECK_OK(kn_time_of_impact(&r, &s[0], &m[0], &s[1], &m[1], 2, NULL, NULL))) return;
    touches += r.state == KN_TOI_TOUCH;
    undecided += r.state == KN_TOI_UNDECIDED;
    if (r.state == KN_TOI_TOUCH) CHECK(r.distance.gap > 0 && r.distance.gap <= 1e-6);
    for (int i = 0; i < 60; i++) {
      kn_pose A, B;
      kn_distance_result d;
      double t = r.t * i / 60;
      kn_sweep_pose(&A, &m[0], t);
      kn_sweep_pose(&B, &m[1], t);
      CHECK_OK(kn_distance(&d, &s[0], &A, &s[1], &B, NULL));
      early += d.gap <= 0 && t > 0 && r.state != KN_TOI_OVERLAP;
    }
  }
  CHECK_INT(early, 0);
  CHECK_INT(undecided, 0);
  CHECK(run > 500 && touches > run / 10);
  kn_hull_destroy(hull);
}

TEST(sweep_poses_are_rigid_and_exact) {
  kn_rng rng = kn_rng_seed(6);
  for (int trial = 0; trial < 1000; trial++) {
    kn_sweep m = at(kn_rng_normal(&rng), kn_rng_normal(&rng), kn_rng_normal(&rng));
    kn_test_rotation(m.start.R, &rng);
    for (int k = 0; k < 3; k++)
      m.centre[k] = kn_rng_normal(&rng), m.v[k] = kn_rng_normal(&rng),
      m.w[k] = kn_rng_normal(&rng) * (trial % 2 ? 1 : 1e-9);
    kn_pose once, half, twice;
    kn_sweep_pose(&once, &m, 1.7);
    kn_sweep_pose(&half, &m, 0.85);
    kn_sweep rest = m; /* continue from the middle: must end in the same place */
    rest.start = half;
    for (int k = 0; k < 3; k++) rest.centre[k] += 0.85 * m.v[k];
    kn_sweep_pose(&twice, &rest, 0.85);
    CHECK_ARRAY(twice.R, once.R, 9, 1e-14);
    CHECK_ARRAY(twice.p, once.p, 3, 1e-13);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double s = 0;
        for (int k = 0; k < 3; k++) s += once.R[3 * i + k] * once.R[3 * j + k];
        CHECK_NEAR(s, i == j, 1e-14);
      }
  }
}

TEST(bad_motions_are_refused) {
  kn_shape a = {.type = KN_SHAPE_SPHERE, .size = {1}}, plane = {.type = KN_SHAPE_PLANE};
  kn_sweep ma = at(0, 0, 5), mb = at(0, 0, 0);
  kn_toi_result r;
  ma.v[2] = NAN;
  CHECK_STATUS(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, NULL, NULL), KN_NOT_FINITE);
  ma.v[2] = -1;
  CHECK_STATUS(kn_time_of_impact(&r, &a, &ma, &plane, &mb, -1, NULL, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_time_of_impact(&r, &a, &ma, &plane, &mb, NAN, NULL, NULL), KN_BAD_ARGUMENT);
  mb.w[0] = 1;
  CHECK_STATUS(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, NULL, NULL), KN_UNSUPPORTED);
  mb.w[0] = 0;
  kn_toi_settings bad = {.tolerance = 0, .max_steps = 10};
  CHECK_STATUS(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, &bad, NULL), KN_BAD_ARGUMENT);
  ma = at(0, 0, 0.5);
  CHECK_OK(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, NULL, NULL));
  CHECK_INT(r.state, KN_TOI_OVERLAP);
  ma = at(0, 0, 5);
  ma.v[2] = 1;
  CHECK_OK(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, NULL, NULL));
  CHECK_INT(r.state, KN_TOI_SEPARATE);
  CHECK_NEAR(r.t, 1, 0);
  kn_toi_settings few = {.tolerance = 1e-9, .max_steps = 1};
  ma.v[2] = -5;
  CHECK_OK(kn_time_of_impact(&r, &a, &ma, &plane, &mb, 1, &few, NULL));
  CHECK_INT(r.state, KN_TOI_UNDECIDED);
}
