/* Impacts of several contacts that touch: the laws `sequential` and `stronge` against closed forms, and Stronge's
   law against a brute-force integration of its springs that shares nothing with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "contact/impact/impact.h"
#include "floor.h"
#include "law/stronge.h"
#include "spatial/spatial.h"
#include "test.h"
#include "world.h"

/* ---- rows of balls ---- */

/* Pendulums of 1 m at the bottom: gravity does no work in first order, 5e-6 m/s in the first step of 10 us. No
   impact is too slow to bounce. */
static void sequential(kn_sim_settings* s) { s->gtol = 1e-7, s->v_rest = 0.0, s->law = "sequential"; }
static void stronge(kn_sim_settings* s) { s->gtol = 1e-7, s->v_rest = 0.0, s->law = "stronge"; }
static void flagged(kn_sim_settings* s) {
  s->gtol = 1e-7, s->v_rest = 0.0, s->law = "newton", s->sequential = true;
}

static void row(const char* scene, const char* stepper, void (*change)(kn_sim_settings*), const double* want,
                int n, double tol) {
  kn_world w;
  if (kn_world_open(&w, scene, stepper, 1e-5, change) && kn_world_until(&w, 2e-5)) {
    for (int i = 0; i < n; i++) CHECK_NEAR(w.v[i], want[i], tol);
    CHECK_INT(w.report->status, KN_OK);
  }
  kn_world_close(&w);
}

/* Five touching balls of equal mass, e = 1: pairs exchange their velocities until they are sorted, so n balls
   come with 1 m/s and n leave with it. From the other side the same, mirrored. */
TEST(as_many_balls_leave_the_cradle_as_came) {
  for (const char* const* s = kn_world_steppers(); *s; s++)
    for (int moving = 1; moving <= 4; moving++) {
      char scene[80];
      double want[5];
      snprintf(scene, sizeof scene, "newton-cradle gap=0 moving=%d", moving);
      for (int i = 0; i < 5; i++) want[i] = i >= 5 - moving;
      row(scene, *s, sequential, want, 5, 1e-6);
      row(scene, *s, flagged, want, 5, 1e-6);
    }
}

/* The law in so many words: of all pairs that approach, the fastest exchanges impulses with e. */
static void one_after_the_other(double* v, int n, double e) {
  for (;;) {
    int at = -1;
    double most = 1e-12;
    for (int i = 0; i + 1 < n; i++)
      if (v[i] - v[i + 1] > most) at = i, most = v[i] - v[i + 1];
    if (at < 0) return;
    double p = 0.5 * (1 + e) * most;
    v[at] -= p, v[at + 1] += p;
  }
}

/* The last ball has ((1 + e)/2)^4, the others catch up with each other until all part. */
TEST(a_row_with_losses_passes_on_half_of_one_plus_e) {
  double want[5] = {1}, e = 0.6;
  one_after_the_other(want, 5, e);
  CHECK_NEAR(want[4], pow(0.5 * (1 + e), 4), 1e-12);
  for (const char* const* s = kn_world_steppers(); *s; s++)
    row("newton-cradle gap=0 e=0.6", *s, sequential, want, 5, 1e-6);
}

/* Three equal balls on springs of equal stiffness, k = m = 1, the first with 1 m/s: with both springs closed
   δ1 = ½ (sin t + sin(√3 t)/√3), δ2 = ½ (sin t - sin(√3 t)/√3). The first opens at t1; the second then
   returns its energy to balls 2 and 3 alone, whose relative velocity ends at √(δ̇2² + 2 δ2²). */
TEST(three_balls_on_springs_have_a_closed_form) {
  double lo = 1.0, hi = 3.1, r3 = sqrt(3.0);
  for (int i = 0; i < 200; i++) {
    double t = 0.5 * (lo + hi);
    if (sin(t) + sin(r3 * t) / r3 > 0.0)
      lo = t;
    else
      hi = t;
  }
  double t = lo, d2 = 0.5 * (sin(t) - sin(r3 * t) / r3), rate1 = 0.5 * (cos(t) + cos(r3 * t)),
         rate2 = 0.5 * (cos(t) - cos(r3 * t));
  /* v1 - v2 = rate1, v2 - v3 = rate2, v1 + v2 + v3 = 1 */
  double v2 = (1.0 - rate1 + rate2) / 3.0, v1 = v2 + rate1, mean = 0.5 * (1.0 - v1);
  double apart = sqrt(rate2 * rate2 + 2.0 * d2 * d2), want[3] = {v1, mean - 0.5 * apart, mean + 0.5 * apart};
  CHECK_NEAR(want[0] * want[0] + want[1] * want[1] + want[2] * want[2], 1.0, 1e-12); /* e = 1 */
  printf("  three balls: (%.6f, %.6f, %.6f)\n", want[0], want[1], want[2]);
  for (const char* const* s = kn_world_steppers(); *s; s++)
    row("newton-cradle balls=3 gap=0", *s, stronge, want, 3,
        1e-4); /* (h ω)²/24 of the phase: 4e-5 a radian */
}

/* Two contacts of a body that lands flat act as one: e of the approach speed, no turning. */
TEST(what_lands_flat_leaves_flat) {
  static const char* const laws[] = {"sequential", "stronge"};
  for (int k = 0; k < 2; k++)
    for (int rough = 0; rough < 2; rough++) {
      kn_floor w;
      kn_sim_settings s = kn_sim_default();
      kn_spec* spec = kn_floor_spec(0.3 * rough, 0.5, 0);
      kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1, (double[]){0, 0, 0.1 + 1e-7}, 0.3 * rough,
                   0.5);
      s.law = laws[k];
      s.dt = 1e-6;
      if (!kn_floor_open(&w, spec, &s)) return;
      double* v = kn_state_v(w.state);
      v[2] = -2;
      CHECK_OK(kn_step(w.sim, w.state));
      CHECK_NEAR(v[2], 1.0, 2e-5); /* g dt, twice */
      for (int i = 3; i < 6; i++) CHECK_NEAR(v[i], 0, 1e-9);
      kn_floor_close(&w);
    }
}

/* ---- Stronge's law on its own ---- */

enum { MOST = 5 };

typedef struct rig { /* free bodies, contacts between them, and the law's memory */
  kn_model* model;
  kn_data* data;
  kn_contact_work* work;
  kn_constraints set;
  kn_arena arena;
  double* scratch;
} rig;

static bool rig_open(rig* r, int bodies) {
  memset(r, 0, sizeof *r);
  double q[7 * MOST];
  r->model = kn_floor_bodies(bodies);
  CHECK_OK(kn_data_create(&r->data, r->model));
  CHECK_OK(kn_contact_work_create(&r->work, r->model, r->data, kn_formulation_find("os"), 16, 0, 0));
  CHECK_OK(kn_impact_reserve(r->work, kn_impact_law_find("stronge")));
  for (int k = 0; k < bodies; k++)
    memcpy(q + 7 * k, (double[]){0.7 * k, 0, 0, 1, 0, 0, 0}, sizeof(double[7]));
  kn_dyn_position(r->data, r->model, q);
  CHECK_OK(kn_dyn_factor(r->data, r->model, NULL));
  kn_arena measure = {0};
  kn_constraints_carve(&r->set, &measure, 8, 16);
  CHECK_OK(kn_arena_create(&r->arena, measure.used));
  kn_constraints_carve(&r->set, &r->arena, 8, 16);
  r->scratch = calloc(kn_impact_scratch(16, 6 * MOST), sizeof(double));
  return r->scratch != NULL;
}

static void rig_close(rig* r) {
  kn_contact_work_destroy(r->work);
  kn_data_destroy(r->data);
  kn_model_destroy(r->model);
  kn_arena_destroy(&r->arena);
  free(r->scratch);
}

static void add(rig* r, kn_rng* rng, int a, int b, int index, double mu) {
  kn_contact c = {.geom_a = a, .geom_b = b, .mu = mu, .mu2 = mu};
  for (int i = 0; i < 3; i++) {
    c.frame[i] = kn_rng_normal(rng), c.frame[3 + i] = kn_rng_normal(rng);
    c.point[i] = kn_rng_range(rng, -.5, .5);
  }
  kn_normalize3(c.frame, c.frame);
  kn_axpy3(c.frame + 3, -kn_dot3(c.frame, c.frame + 3), c.frame);
  kn_normalize3(c.frame + 3, c.frame + 3);
  kn_cross3(c.frame + 6, c.frame, c.frame + 3);
  CHECK_OK(kn_constraint_add_contact(&r->set, r->model, &c, index, 0.0));
}

/* The springs integrated by the classical fourth-order rule with steps of 1/2000 of the fastest one's time. */
static void springs(double* u, const double* W, const double* e, int n) {
  double f[MOST] = {0}, stiff = 0.0;
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int j = 0; j < n; j++) sum += fabs(W[n * i + j]);
    stiff = fmax(stiff, sum);
  }
  double h = 1.0 / (2000.0 * sqrt(stiff));
  for (int step = 0; step < 400000; step++) {
    double ku[4][MOST], kf[4][MOST];
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
    bool busy = false;
    for (int i = 0; i < n; i++) busy |= f[i] > 0.0 || u[i] < 0.0;
    if (!busy) return;
    for (int s = 0; s < 4; s++)
      for (int i = 0; i < n; i++) {
        double at = u[i] + (s ? part[s] * h * ku[s - 1][i] : 0.0), force = 0.0;
        kf[s][i] = at < 0.0 ? -at : -at / (e[i] * e[i]);
        for (int j = 0; j < n; j++)
          force += W[n * i + j] * fmax(f[j] + (s ? part[s] * h * kf[s - 1][j] : 0.0), 0.0);
        ku[s][i] = force;
      }
    for (int i = 0; i < n; i++) {
      for (int s = 0; s < 4; s++) u[i] += weight[s] * h * ku[s][i], f[i] += weight[s] * h * kf[s][i];
      if (f[i] < 0.0) f[i] = 0.0;
    }
  }
}

/* Two to four contacts without friction in random directions between two bodies and the world. */
TEST(several_springs_are_those_of_a_brute_force_integration) {
  rig r;
  if (!rig_open(&r, 2)) return;
  kn_rng rng = kn_rng_seed(23);
  double worst = 0.0;
  for (int k = 0; k < 60; k++) {
    int n = 2 + kn_rng_int(&rng, 3);
    double v[12], u[MOST], want[MOST], e[MOST], W[MOST * MOST], bias[MOST] = {0}, after[12], p[MOST], c[MOST],
                                                                used[MOST];
    kn_constraints_clear(&r.set);
    for (int i = 0; i < n; i++) {
      add(&r, &rng, kn_rng_int(&rng, 2), r.model->ngeom - 1, i, 0.0);
      e[i] = kn_rng_range(&rng, 0.3, 1.0);
    }
    for (int i = 0; i < 12; i++) v[i] = kn_rng_normal(&rng);
    kn_rows_velocity(u, r.data, r.model, r.set.geometry, r.set.count, v);
    CHECK_OK(kn_contact_begin(r.work, &r.set, 0, r.set.count));
    memcpy(W, r.work->W, sizeof(double) * (size_t)(n * n));
    kn_impact_problem problem = {.work = r.work,
                                 .set = &r.set,
                                 .count = n,
                                 .v_before = v,
                                 .u_before = u,
                                 .bias = bias,
                                 .e = e,
                                 .tolerance = 1e-12,
                                 .energy_scale = 1,
                                 .solver = "auto",
                                 .guard = true};
    kn_impact_result x = {.v_after = after, .impulse = p, .compression = c, .e_used = used};
    CHECK_OK(kn_impact_solve(&x, kn_impact_law_find("stronge"), &problem, r.scratch));
    CHECK(!x.fallback && !x.limit && x.guard == 1.0);
    memcpy(want, u, sizeof want);
    springs(want, W, e, n);
    kn_rows_velocity(u, r.data, r.model, r.set.geometry, r.set.count, after);
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(u[i] - want[i]));
  }
  printf("  largest difference %.2g m/s\n", worst);
  CHECK(worst <
        5e-4); /* speeds of 1 to 3 m/s; unloading is 1/e times faster than what the steps are made for */
  rig_close(&r);
}

/* One contact with friction: the springs' answer is that of the closed phases of law/stronge.c. */
TEST(one_contact_with_friction_is_the_law_of_one_contact) {
  rig r;
  if (!rig_open(&r, 2)) return;
  kn_rng rng = kn_rng_seed(5);
  double worst = 0.0, sum = 0.0;
  int count = 300;
  for (int k = 0; k < count; k++) {
    double v[12], u[3], e[3] = {kn_rng_range(&rng, 0.0, 1.0)}, bias[3] = {0}, after[12], p[3], c[3], used[3];
    kn_constraints_clear(&r.set);
    add(&r, &rng, 0, 1, 0, kn_rng_range(&rng, 0.05, 1.0));
    for (int i = 0; i < 12; i++) v[i] = kn_rng_normal(&rng);
    kn_rows_velocity(u, r.data, r.model, r.set.geometry, 1, v);
    if (u[0] > 0) {
      for (int i = 0; i < 12; i++) v[i] = -v[i];
      for (int i = 0; i < 3; i++) u[i] = -u[i];
    }
    CHECK_OK(kn_contact_begin(r.work, &r.set, 0, 1));
    kn_stronge one;
    kn_stronge_impact(&one, r.work->W, u, r.work->block[0].mu, e[0]);
    kn_impact_problem problem = {.work = r.work,
                                 .set = &r.set,
                                 .count = 1,
                                 .v_before = v,
                                 .u_before = u,
                                 .bias = bias,
                                 .e = e,
                                 .tolerance = 1e-12,
                                 .energy_scale = 1,
                                 .solver = "auto",
                                 .guard = true};
    memcpy(used, e, sizeof used);
    kn_impact_result x = {.v_after = after, .impulse = p, .compression = c, .e_used = used};
    CHECK_OK(kn_impact_stronge_several(&x, &problem));
    double size = sqrt(one.p[0] * one.p[0] + one.p[1] * one.p[1] + one.p[2] * one.p[2]), off = 0.0;
    for (int i = 0; i < 3; i++) off += (p[i] - one.p[i]) * (p[i] - one.p[i]);
    off = sqrt(off) / size;
    sum += off;
    worst = fmax(worst, off);
  }
  printf("  impulses differ by %.2g of their size at most, %.2g on the average\n", worst, sum / count);
  CHECK(worst < 0.02); /* first order where slip stops: h ω = 1/32 */
  CHECK(sum / count < 1e-3);
  rig_close(&r);
}
