/* Friction polyhedra against the true cone on random plastic impacts of a free body at one contact, where the
   impulse is unique: the difference falls as directions double, and turning the polyhedron onto the slip
   removes it. */
#include "contact/formulation/formulation.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "spatial/spatial.h"
#include "test.h"

enum { CASES = 300, FINEST = 64 };

typedef struct bench {
  kn_model* model;
  kn_data* data;
  kn_contact_work* work;
  kn_arena arena;
  kn_constraints set;
} bench;

static bool open_bench(bench* b) {
  kn_spec* spec;
  kn_body body;
  kn_joint joint;
  kn_geom geom;
  memset(b, 0, sizeof *b);
  kn_spec_create(&spec);
  kn_body_def d = kn_body_default();
  d.mass = 1;
  d.inertia[0] = 0.1, d.inertia[1] = 0.2, d.inertia[2] = 0.15;
  kn_spec_add_body(&body, spec, &d);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.body = body;
  kn_spec_add_joint(&joint, spec, &j);
  kn_geom_def ball = kn_geom_default(KN_SHAPE_SPHERE), floor = kn_geom_default(KN_SHAPE_PLANE);
  ball.body = body;
  ball.shape.size[0] = 0.1;
  floor.body = KN_WORLD;
  kn_spec_add_geom(&geom, spec, &ball);
  kn_spec_add_geom(&geom, spec, &floor);
  bool ok =
      CHECK_OK(kn_compile(&b->model, spec)) && CHECK_OK(kn_data_create(&b->data, b->model)) &&
      CHECK_OK(kn_contact_work_create(&b->work, b->model, b->data, kn_formulation_find("os"), 9, FINEST, 0));
  kn_spec_destroy(spec);
  kn_arena measure = {0};
  kn_constraints_carve(&b->set, &measure, 3, 9);
  ok = ok && CHECK_OK(kn_arena_create(&b->arena, measure.used));
  kn_constraints_carve(&b->set, &b->arena, 3, 9);
  return ok;
}

static void close_bench(bench* b) {
  kn_contact_work_destroy(b->work);
  kn_data_destroy(b->data);
  kn_model_destroy(b->model);
  kn_arena_destroy(&b->arena);
}

static void scene(bench* b, double v[6], uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  kn_contact k = {.geom_a = 0, .geom_b = 1, .mu = kn_rng_range(&rng, 0.1, 1.0), .frame = {0, 0, 1}};
  k.mu2 = k.mu;
  double angle = kn_rng_range(&rng, 0, 6.28), u[3];
  k.frame[3] = cos(angle), k.frame[4] = sin(angle);
  kn_cross3(k.frame + 6, k.frame, k.frame + 3);
  for (int i = 0; i < 3; i++) k.point[i] = kn_rng_range(&rng, -.3, .3);
  for (int i = 0; i < 6; i++) v[i] = kn_rng_normal(&rng);
  v[2] -= 1;
  kn_constraints_clear(&b->set);
  kn_dyn_position(b->data, b->model, (double[]){0, 0, 0, 1, 0, 0, 0});
  CHECK_OK(kn_dyn_factor(b->data, b->model, NULL));
  CHECK_OK(kn_constraint_add_contact(&b->set, b->model, &k, 0, 0.0));
  kn_rows_velocity(u, b->data, b->model, b->set.geometry, 1, v);
  if (u[0] > 0)
    for (int i = 0; i < 6; i++) v[i] = -v[i];
  CHECK_OK(kn_contact_begin(b->work, &b->set, 0, 1));
}

static int solve(double p[3], bench* b, const double v[6], int friction, double tol) {
  double after[6];
  kn_contact_solution out;
  b->work->poly.friction_tol = tol;
  CHECK_OK(
      kn_contact_solve(p, after, &out, b->work, v, (double[3]){0}, NULL, false, 1e-12, friction, "auto"));
  CHECK_INT(out.info.status, KN_OK);
  return out.directions;
}

static double difference(const double p[3], const double q[3]) {
  double d = 0;
  for (int i = 0; i < 3; i++) d = fmax(d, fabs(p[i] - q[i]));
  return d / q[0];
}

TEST(difference_falls_as_directions_double) {
  bench b;
  double mean[5] = {0};
  if (!open_bench(&b)) return;
  for (int i = 0; i < CASES; i++) {
    double v[6], cone[3], p[3];
    scene(&b, v, (uint64_t)i);
    CHECK_INT(solve(cone, &b, v, 0, 0), 0);
    for (int k = 0; k < 5; k++) {
      CHECK_INT(solve(p, &b, v, 4 << k, 0), 4 << k);
      mean[k] += difference(p, cone) / CASES;
    }
  }
  for (int k = 0; k < 5; k++) printf("  %2d directions: mean difference %.2g of p_n\n", 4 << k, mean[k]);
  for (int k = 1; k < 5; k++) CHECK_BELOW(mean[k] / mean[k - 1], 0.7); /* first order: 0.5 */
  close_bench(&b);
}

TEST(turned_polyhedron_reaches_the_cone) {
  static const double tols[2] = {1e-4, 1e-8};
  bench b;
  if (!open_bench(&b)) return;
  for (int t = 0; t < 2; t++) {
    double worst = 0;
    int most = 0;
    for (int i = 0; i < CASES; i++) {
      double v[6], cone[3], p[3];
      scene(&b, v, (uint64_t)i);
      solve(cone, &b, v, 0, 0);
      int used = solve(p, &b, v, 4, tols[t]);
      worst = fmax(worst, difference(p, cone));
      most = used > most ? used : most;
    }
    printf("  tolerance %.0e: largest difference %.2g of p_n, at most %d directions\n", tols[t], worst, most);
    CHECK_BELOW(worst, 30 * tols[t]); /* the tolerance is on the law; the impulse follows by its condition */
  }
  close_bench(&b);
}

/* Three contacts under a body that lands askew: impulses may be indeterminate, the velocity after is
   compared. With mu <= 0.3 it is unique here. Turning one polyhedron moves the others' best direction. */
TEST(three_contacts_reach_the_cone_too) {
  static const double at[3][2] = {{0.3, 0}, {-0.2, 0.25}, {-0.2, -0.25}};
  bench b;
  double worst = 0, coarse = 0;
  int most = 0;
  if (!open_bench(&b)) return;
  kn_dyn_position(b.data, b.model, (double[]){0, 0, 0, 1, 0, 0, 0});
  CHECK_OK(kn_dyn_factor(b.data, b.model, NULL));
  for (int i = 0; i < CASES; i++) {
    kn_rng rng = kn_rng_seed((uint64_t)i);
    double v[6], p[9], cone[6], poly[6], bias[9] = {0};
    kn_constraints_clear(&b.set);
    for (int c = 0; c < 3; c++) {
      kn_contact k = {.geom_a = 0, .geom_b = 1, .mu = kn_rng_range(&rng, 0.05, 0.3)};
      k.mu2 = k.mu;
      k.frame[2] = k.frame[3] = k.frame[7] = 1;
      k.point[0] = at[c][0], k.point[1] = at[c][1], k.point[2] = -0.1;
      CHECK_OK(kn_constraint_add_contact(&b.set, b.model, &k, c, 0.0));
    }
    for (int k = 0; k < 6; k++) v[k] = kn_rng_normal(&rng);
    v[2] -= 2;
    CHECK_OK(kn_contact_begin(b.work, &b.set, 0, 3));
    for (int how = 0; how < 3; how++) {
      kn_contact_solution out;
      b.work->poly.friction_tol = how == 2 ? 1e-8 : 0;
      CHECK_OK(kn_contact_solve(p, how ? poly : cone, &out, b.work, v, bias, NULL, false, 1e-12, how ? 4 : 0,
                                "auto"));
      CHECK_INT(out.info.status, KN_OK);
      double d = 0;
      for (int k = 0; k < 6 && how; k++) d = fmax(d, fabs(poly[k] - cone[k]));
      if (how == 1) coarse = fmax(coarse, d);
      if (how == 2) worst = fmax(worst, d);
      if (how == 2 && out.directions > most) most = out.directions;
    }
  }
  printf("  velocity off the cone's: 4 directions %.2g m/s, refined %.2g, at most %d directions\n", coarse,
         worst, most);
  CHECK(coarse > 1e-2);
  CHECK_BELOW(worst, 1e-6); /* 1e-8 of the friction impulse, times its condition */
  close_bench(&b);
}
