/* One contact law, five formulations: the same state gives the same motion whichever way the problem is set
 * up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "contact/formulation.h"
#include "math/dense.h"
#include "model/state.h"
#include "scene.h"
#include "spatial/spatial.h"
#include "test.h"

static const char* const names[] = {"os", "rmc", "mc", "nmc-os", "nmc"};

typedef struct scene {
  kn_model* model;
  kn_state* state;
  kn_data* data;
  kn_constraints set;
  kn_arena arena;
} scene;

static void close_scene(scene* s) {
  kn_data_destroy(s->data);
  kn_state_destroy(s->state);
  kn_model_destroy(s->model);
  kn_arena_destroy(&s->arena);
}

/* Contacts at random points between random geoms: the formulations do not ask whether surfaces touch there.
 */
static void random_contacts(scene* s, kn_rng* rng, int count, double mu) {
  for (int i = 0; i < count; i++) {
    kn_contact c = {
        .geom_a = kn_rng_int(rng, s->model->ngeom), .geom_b = kn_rng_int(rng, s->model->ngeom), .mu = mu};
    double *n = c.frame, *t = c.frame + 3;
    for (int k = 0; k < 3; k++)
      n[k] = kn_rng_normal(rng), t[k] = kn_rng_normal(rng), c.point[k] = kn_rng_range(rng, -1, 1);
    kn_normalize3(n, n);
    kn_axpy3(t, -kn_dot3(n, t), n);
    kn_normalize3(t, t);
    kn_cross3(c.frame + 6, n, t);
    if (s->model->geom_place[c.geom_a].link == s->model->geom_place[c.geom_b].link) continue;
    kn_constraint_add_contact(&s->set, s->model, &c, i, 0.0);
  }
}

static bool open_random(scene* s, uint64_t seed, int loops) {
  kn_spec* spec;
  kn_random_settings r = kn_random_default(4 + (int)(seed % 9));
  memset(s, 0, sizeof *s);
  r.geoms = true;
  r.loops = loops;
  r.armature = seed % 3 == 0;
  r.several = 0.1;
  kn_spec_create(&spec);
  bool ok = CHECK_OK(kn_random_spec(spec, seed, &r)) && CHECK_OK(kn_compile(&s->model, spec)) &&
            CHECK_OK(kn_state_create(&s->state, s->model)) && CHECK_OK(kn_data_create(&s->data, s->model));
  kn_spec_destroy(spec);
  if (!ok) return false;
  kn_random_state(s->state, s->model, seed, 0.5, 2.0);
  kn_arena measure = {0};
  kn_constraints_carve(&s->set, &measure, 64, 128);
  kn_arena_create(&s->arena, measure.used);
  kn_constraints_carve(&s->set, &s->arena, 64, 128);
  kn_dyn_position(s->data, s->model, s->state->q);
  kn_dyn_velocity(s->data, s->model, s->state->v);
  return CHECK_OK(kn_dyn_factor(s->data, s->model, NULL));
}

/* v⁺ of the impact problem by one formulation; false when it refuses the model. */
static bool impact(double* v_plus, double* residual, scene* s, const char* name, int friction) {
  kn_contact_work* w;
  double lambda[128] = {0};
  kn_contact_solution out;
  kn_status status = kn_contact_work_create(&w, s->model, s->data, kn_formulation_find(name), 128, friction);
  if (status == KN_UNSUPPORTED) return false;
  if (!CHECK_OK(status)) return false;
  bool ok = CHECK_OK(kn_contact_begin(w, &s->set, 0, s->set.count)) &&
            CHECK_OK(kn_contact_solve(lambda, v_plus, &out, w, s->state->v, s->set.bias, NULL, false, 1e-12,
                                      friction, "auto"));
  *residual = out.info.residual_scaled;
  kn_contact_work_destroy(w);
  return ok;
}

/* Smallest pivot of the loop rows' compliance at unit diagonal, dependent rows left out: how much a residual
   of the solver is magnified in the motion. */
static double loop_conditioning(scene* s) {
  static double W[128 * 128];
  int perm[128], n = s->set.rows;
  kn_rows rows;
  void* memory = calloc(1, kn_rows_size(s->model, 128));
  double least = 1.0;
  kn_rows_init(&rows, s->model, 128, memory);
  kn_rows_push(&rows, s->data, s->model, s->set.geometry, s->set.count);
  kn_rows_lambda(W, &rows, s->data, s->model);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (i != j) W[i * n + j] /= sqrt(W[i * n + i] * W[j * n + j]);
  for (int i = 0; i < n; i++) W[i * n + i] = 1.0;
  int rank = kn_cholesky_pivoted(n, W, n, perm, 1e-10);
  for (int i = 0; i < rank; i++) least = fmin(least, W[i * n + i] * W[i * n + i]);
  free(memory);
  return least;
}

/* Random trees with loops and friction: where the motion is unique all five agree to 1e-9 of the largest
   velocity. With friction uniqueness needs mu small; 0.1 keeps A_RS near the symmetric positive matrix.
   Nearly dependent loops magnify the solver's tolerance of 1e-12 by the inverse of their smallest pivot; the
   tolerance follows. */
TEST(five_formulations_agree_on_random_impacts) {
  int count = 60 * kn_test_effort(), compared = 0, refused = 0;
  double worst = 0;
  for (int i = 0; i < count; i++) {
    scene s;
    kn_rng rng = kn_rng_seed(1000 + (uint64_t)i);
    if (!open_random(&s, (uint64_t)i, i % 3)) return;
    for (int l = 0, row = 0, rows; l < s.model->nloop; l++, row += rows)
      CHECK_OK(kn_constraint_add_loop(&s.set, s.model, s.data, s.state->q, l, row, 0, &rows, NULL));
    double tol = fmax(1e-9, 1e-12 / loop_conditioning(&s));
    random_contacts(&s, &rng, 1 + i % 4, i % 2 ? 0.1 : 0.0);
    double v[5][256], scale = 1, residual;
    bool have[5];
    for (int f = 0; f < 5 && s.set.count; f++) {
      have[f] = impact(v[f], &residual, &s, names[f], 0);
      if (!have[f])
        refused++;
      else if (!CHECK(residual <= 1e-9))
        printf("  scene %d, %s: residual %g\n", i, names[f], residual);
    }
    for (int k = 0; k < s.model->nv && s.set.count; k++) scale = fmax(scale, fabs(v[0][k]));
    for (int f = 1; f < 5 && s.set.count; f++)
      for (int k = 0; k < s.model->nv && have[f]; k++) {
        double d = fabs(v[f][k] - v[0][k]) / scale;
        worst = fmax(worst, d);
        if (!(d <= tol)) {
          CHECK_NEAR(v[f][k], v[0][k], tol * scale);
          printf("  scene %d, %s, dof %d\n", i, names[f], k);
          break;
        }
        compared++;
      }
    close_scene(&s);
  }
  printf("  %d scenes, %d values compared, %d refusals, worst difference %.2g\n", count, compared, refused,
         worst);
  CHECK(compared > 100);
}

/* The papers' pendulum at its first floor impact, poly4 friction: sizes of the LCPs (jain-2014 Table 2) and
 * agreement. */
TEST(pendulum_sizes_and_agreement) {
  static const int links[] = {3, 6, 12};
  for (int k = 0; k < 3; k++) {
    char text[32];
    const char* set[] = {text};
    snprintf(text, sizeof text, "links=%d", links[k]);
    double v[5][16], q[5][16];
    for (int f = 0; f < 5; f++) {
      kn_scene_opened* o;
      kn_state* x;
      kn_sim* sim;
      if (!CHECK_OK(kn_scene_open(&o, "pendulum-2014", set, 1))) return;
      kn_sim_settings st = kn_scene_settings(o->scene);
      st.formulation = names[f];
      st.friction = 4;
      CHECK_OK(kn_state_create(&x, o->model));
      CHECK_OK(kn_scene_start(o, x));
      CHECK_OK(kn_sim_create(&sim, o->model, &st));
      int steps = 0, size = 0;
      while (steps++ < 400 && size == 0) {
        CHECK_OK(kn_step(sim, x));
        const kn_report* r = kn_sim_report(sim);
        for (int e = 0; e < r->events; e++)
          if (r->event[e].kind == KN_EVENT_IMPACT) size = r->lcp_size;
      }
      int n = links[k], contact = 6,
          want[5] = {contact, contact, n + contact, 5 * n + contact, 11 * n + contact};
      CHECK_INT(size, want[f]);
      memcpy(v[f], kn_state_v(x), sizeof(double) * (size_t)n);
      memcpy(q[f], kn_state_q(x), sizeof(double) * (size_t)n);
      kn_sim_destroy(sim);
      kn_state_destroy(x);
      kn_scene_close(o);
    }
    /* after some 120 steps of 1 ms and one impact the rounding of the formulations has grown to 1e-12 */
    for (int f = 1; f < 5; f++) {
      CHECK_ARRAY(v[f], v[0], (size_t)links[k], 1e-9);
      CHECK_ARRAY(q[f], q[0], (size_t)links[k], 1e-9);
    }
  }
}

/* |OS - NMC/OS| in the joint angles of the three-link pendulum after 0.1 s, before its first hit. */
static double trajectory_difference(double dt, bool hinge_bias) {
  double q[2][3];
  const char* set[] = {"links=3"};
  for (int f = 0; f < 2; f++) {
    kn_scene_opened* o;
    kn_state* x;
    kn_sim* sim;
    if (!CHECK_OK(kn_scene_open(&o, "pendulum-2014", set, 1))) return NAN;
    kn_sim_settings st = kn_scene_settings(o->scene);
    st.formulation = f ? "nmc-os" : "os";
    st.hinge_bias = hinge_bias;
    st.dt = dt;
    CHECK_OK(kn_state_create(&x, o->model));
    CHECK_OK(kn_scene_start(o, x));
    CHECK_OK(kn_sim_create(&sim, o->model, &st));
    for (long k = lround(0.1 / dt); k > 0; k--) CHECK_OK(kn_step(sim, x));
    memcpy(q[f], kn_state_q(x), sizeof q[f]);
    kn_sim_destroy(sim);
    kn_state_destroy(x);
    kn_scene_close(o);
  }
  double most = 0;
  for (int i = 0; i < 3; i++) most = fmax(most, fabs(q[1][i] - q[0][i]));
  return most;
}

/* Without the J̇q̇ term centripetal forces enter one step late: the trajectories differ by a first-order
   amount, which halves with the step; with it they are the same. */
TEST(hinge_bias_makes_the_difference) {
  double e[3];
  for (int k = 0; k < 3; k++) e[k] = trajectory_difference(1e-3 / (1 << k), false);
  printf("  without hinge_bias: %.3g, %.3g, %.3g: ratios %.2f, %.2f\n", e[0], e[1], e[2], e[0] / e[1],
         e[1] / e[2]);
  for (int k = 0; k < 2; k++) CHECK(e[k] / e[k + 1] > 1.6 && e[k] / e[k + 1] < 2.6);
  CHECK_NEAR(trajectory_difference(1e-3, true), 0, 1e-9);
}
