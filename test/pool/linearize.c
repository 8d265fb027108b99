/* kn_linearize against closed forms, and columns near a switch are said. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/pool.h"
#include "model/model.h"
#include "scene.h"
#include "test.h"

typedef struct setup {
  kn_model* model;
  kn_pool* pool;
  kn_state* state;
  kn_sim_settings settings;
  double *A, *B;
  uint8_t* near;
  int n, nu; /* 2 nv */
} setup;

static bool begin(setup* s, const char* scene, int threads) {
  *s = (setup){.settings = kn_sim_default()};
  if (!CHECK_OK(kn_scene_model(&s->model, scene, NULL, 0))) return false;
  if (!CHECK_OK(kn_pool_create(&s->pool, s->model, &s->settings, 1, threads))) return false;
  if (!CHECK_OK(kn_state_create(&s->state, s->model))) return false;
  s->n = 2 * s->model->nv, s->nu = s->model->nu;
  s->A = calloc((size_t)s->n * (size_t)s->n, sizeof *s->A);
  s->B = calloc((size_t)s->n * (size_t)s->nu + 1, sizeof *s->B);
  s->near = calloc((size_t)s->n + (size_t)s->nu, 1);
  return true;
}

static void end(setup* s) {
  free(s->A), free(s->B), free(s->near);
  kn_state_destroy(s->state);
  kn_pool_destroy(s->pool);
  kn_model_destroy(s->model);
}

/* A ball in flight without spin: x⁺ = x + n dt v - …, θ⁺ = θ + n dt ω. */
TEST(flight_is_exact) {
  setup s;
  if (!begin(&s, "bouncing-ball", 2)) return;
  kn_state_q(s.state)[2] = 5.0;
  kn_state_v(s.state)[0] = 1.0;
  kn_linearization l = {.A = s.A, .near = s.near};
  int steps = 7;
  CHECK_OK(kn_linearize(&l, s.pool, s.state, steps, 0.0));
  CHECK_INT(l.switches, 0);
  for (int i = 0; i < s.n; i++)
    for (int j = 0; j < s.n; j++) {
      double exact = i == j ? 1.0 : j == i + 6 ? steps * s.settings.dt : 0.0;
      /* rounding of positions of size 5 over 2 h = 2e-4; h² = 1e-8 in the turning */
      if (!CHECK_NEAR(s.A[i * s.n + j], exact, 2e-8)) printf("  A[%d][%d]\n", i, j);
    }
  end(&s);
}

/* A block at rest on the floor sticks: it forgets its velocity, and a push along the floor moves nothing. A
   ball that touches within h above, not below, is near a switch. */
TEST(sticking_kills_velocity_and_touching_is_a_switch) {
  setup s;
  if (!begin(&s, "sliding-block", 1)) return;
  kn_sim* sim;
  CHECK_OK(kn_sim_create(&sim, s.model, &s.settings));
  for (int i = 0; i < 300; i++) CHECK_OK(kn_step(sim, s.state));
  kn_linearization l = {.A = s.A, .near = s.near};
  CHECK_OK(kn_linearize(&l, s.pool, s.state, 1, 0.0));
  for (int i = 6; i < 9; i++)
    CHECK_NEAR(s.A[i * s.n + 6], 0.0, 1e-4); /* δv⁺ of δvx: what the solver leaves, 1e-10 … 1e-8, over h */
  CHECK_INT(s.near[6], 0);
  kn_sim_destroy(sim);
  end(&s);

  if (!begin(&s, "bouncing-ball", 1)) return;
  double* q = kn_state_q(s.state);
  double radius = s.model->geom[1].shape.size[0];
  if (s.model->geom[1].shape.type != KN_SHAPE_SPHERE) radius = s.model->geom[0].shape.size[0];
  double v = -1.0; /* it reaches the floor at the end of the step, within h */
  q[2] = radius - v * s.settings.dt + 0.5 * 9.81 * s.settings.dt * s.settings.dt;
  kn_state_v(s.state)[2] = v;
  l = (kn_linearization){.A = s.A, .near = s.near};
  CHECK_OK(kn_linearize(&l, s.pool, s.state, 1, 1e-4));
  CHECK(s.near[2] == 1);
  CHECK(l.switches >= 1);
  q[2] = 2.0;
  CHECK_OK(kn_linearize(&l, s.pool, s.state, 1, 1e-4));
  CHECK_INT(l.switches, 0);
  end(&s);
}

/* The columns predict a run that is displaced in all directions at once, controls too; the same bits on any
   number of threads. */
TEST(a_standing_quadruped_moves_as_predicted) {
  setup s, t;
  if (!begin(&s, "quadruped", 1) || !begin(&t, "quadruped", 3)) return;
  const kn_model* m = s.model;
  kn_scene_opened* scene;
  CHECK_OK(kn_scene_open(&scene, "quadruped", NULL, 0));
  CHECK_OK(kn_scene_start(scene, s.state));
  kn_sim* sim;
  CHECK_OK(kn_sim_create(&sim, m, &s.settings));
  for (int i = 0; i < 1500; i++) CHECK_OK(kn_step(sim, s.state)); /* stands */
  kn_linearization l = {.A = s.A, .B = s.B, .near = s.near};
  CHECK_OK(kn_linearize(&l, s.pool, s.state, 3, 0.0));
  CHECK(l.switches < s.n / 4); /* lifting a foot by h opens a contact */
  CHECK_OK(kn_state_copy(t.state, s.state));
  kn_linearization k = {.A = t.A, .B = t.B, .near = t.near};
  CHECK_OK(kn_linearize(&k, t.pool, t.state, 3, 0.0));
  CHECK_BITS(t.A, s.A, (size_t)s.n * (size_t)s.n);
  CHECK_BITS(t.B, s.B, (size_t)s.n * (size_t)s.nu);
  /* the run itself, displaced by d = 1e-4 in controls and velocities of the joints */
  double d = 1e-4, *sum = calloc((size_t)s.n, sizeof *sum);
  kn_state *a, *b;
  CHECK_OK(kn_state_create(&a, m));
  CHECK_OK(kn_state_create(&b, m));
  CHECK_OK(kn_state_copy(a, s.state));
  CHECK_OK(kn_state_copy(b, s.state));
  for (int c = m->nv + 6; c < s.n + s.nu; c++) {
    double by = s.near[c] ? 0.0 : d * (1 + c % 3) * (c % 2 ? 1.0 : -0.5);
    if (c < s.n)
      kn_state_v(b)[c - m->nv] += by;
    else
      kn_state_ctrl(b)[c - s.n] += by;
    for (int i = 0; i < s.n; i++) sum[i] += by * (c < s.n ? s.A[i * s.n + c] : s.B[i * s.nu + c - s.n]);
  }
  for (int i = 0; i < 3; i++) CHECK_OK(kn_step(sim, a));
  for (int i = 0; i < 3; i++) CHECK_OK(kn_step(sim, b));
  double* dq = calloc((size_t)m->nv, sizeof *dq);
  CHECK_OK(kn_difference(dq, m, kn_state_q(a), kn_state_q(b)));
  double largest = 0.0;
  for (int i = 0; i < m->nv; i++) {
    /* the solver leaves some 1e-6 in velocities of size 1e-3, whatever d is; positions: three steps of it */
    CHECK_NEAR(dq[i], sum[i], 2e-8);
    CHECK_NEAR(kn_state_v(b)[i] - kn_state_v(a)[i], sum[m->nv + i], 1e-5);
    largest = fmax(largest, fabs(sum[m->nv + i]));
  }
  CHECK(largest > 1e-3); /* there was something to predict */
  free(sum), free(dq);
  kn_state_destroy(a), kn_state_destroy(b);
  kn_sim_destroy(sim);
  kn_scene_close(scene);
  end(&s), end(&t);
}

TEST(wrong_arguments) {
  setup s;
  if (!begin(&s, "stack", 1)) return;
  kn_linearization l = {.A = s.A};
  CHECK_STATUS(kn_linearize(&l, s.pool, s.state, 0, 0.0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_linearize(&l, s.pool, s.state, 1, -1.0), KN_BAD_ARGUMENT);
  l.A = NULL;
  CHECK_STATUS(kn_linearize(&l, s.pool, s.state, 1, 0.0), KN_BAD_ARGUMENT);
  l.A = s.A;
  kn_state_q(s.state)[0] = NAN;
  CHECK_STATUS(kn_linearize(&l, s.pool, s.state, 1, 0.0), KN_NOT_FINITE);
  end(&s);
}
