/* The same bits on every instruction set, and no allocation after creation. */
#include <string.h>

#include "base/isa.h"
#include "dynamics/tree/data.h"
#include "model/state.h"
#include "trees.h"

typedef struct results {
  double *qdd, *tau, *M, *X, *L, *R, *q, *v, *lambda;
  kn_energy energy;
  double momentum[9];
} results;

enum { NODES = 5, BLOCKS = 4 };

typedef struct setup {
  kn_model* m;
  kn_state *s, *t;
  kn_data* d;
  int nv, nq;
  double *tau, *a;
  kn_node node[NODES];
  kn_row_block block[BLOCKS];
  kn_rows rows;
  void* memory;
  results r;
} setup;

static double* room(size_t n) { return calloc(n + 1, sizeof(double)); }

static setup open_setup(uint64_t seed, int kind) {
  kn_rng rng = kn_rng_seed(seed);
  tree_options o = {.bodies = 1 + kn_rng_int(&rng, 25),
                    .branch = 0.4,
                    .forest = 0.1,
                    .floating = kind % 2,
                    .hinges = kind == 2,
                    .armature = 0.1,
                    .stiffness = 3.0,
                    .damping = 0.1,
                    .gravity = true,
                    .square = kind == 3};
  setup t = {.m = random_tree(&rng, &o)};
  t.nv = kn_model_nv(t.m), t.nq = kn_model_nq(t.m);
  CHECK_OK(kn_state_create(&t.s, t.m)), CHECK_OK(kn_state_create(&t.t, t.m)),
      CHECK_OK(kn_data_create(&t.d, t.m));
  random_state(&rng, t.m, t.s, 2.0);
  size_t nv = (size_t)t.nv, n = 6 * NODES;
  t.tau = room(nv), t.a = room(nv);
  for (int j = 0; j < t.nv; j++) t.tau[j] = kn_rng_range(&rng, -1, 1), t.a[j] = kn_rng_range(&rng, -1, 1);
  for (int i = 0; i < NODES; i++) {
    t.node[i].body = kn_rng_int(&rng, kn_model_bodies(t.m));
    for (int k = 0; k < 3; k++) t.node[i].point[k] = kn_rng_range(&rng, -1, 1);
  }
  for (int i = 0; i < BLOCKS; i++) {
    kn_row_block* b = &t.block[i];
    *b = (kn_row_block){
        .link_a = kn_rng_int(&rng, t.m->nlink + 1) - 1, .link_b = i - 2 < t.m->nlink ? i - 2 : -1, .rows = 3};
    for (int k = 0; k < 3; k++) random_unit(&rng, b->dir[k]), b->point[k] = kn_rng_range(&rng, -1, 1);
  }
  t.memory = calloc(1, kn_rows_size(t.m, 3 * BLOCKS));
  kn_rows_init(&t.rows, t.m, 3 * BLOCKS, t.memory);
  t.r = (results){.qdd = room(nv),
                  .tau = room(4 * nv),
                  .M = room(nv * nv),
                  .X = room(3 * nv),
                  .L = room(n * n),
                  .R = room(n * n),
                  .q = room((size_t)t.nq),
                  .v = room(3 * nv),
                  .lambda = room(144)};
  return t;
}

static void close_setup(setup* t) {
  results* r = &t->r;
  free(r->qdd), free(r->tau), free(r->M), free(r->X), free(r->L), free(r->R), free(r->q), free(r->v),
      free(r->lambda);
  free(t->tau), free(t->a), free(t->memory);
  kn_data_destroy(t->d), kn_state_destroy(t->s), kn_state_destroy(t->t), kn_model_destroy(t->m);
}

/* Every dynamics function once. */
static void everything(setup* t) {
  results* r = &t->r;
  const kn_model* m = t->m;
  int nv = t->nv;
  bool ok = kn_forward_dynamics(r->qdd, m, t->s, t->d, t->tau) == KN_OK;
  ok &= kn_inverse_dynamics(r->tau, m, t->s, t->d, t->a) == KN_OK;
  ok &= kn_bias_force(r->tau + nv, m, t->s, t->d) == KN_OK;
  ok &= kn_passive_force(r->tau + 2 * nv, m, t->s, t->d) == KN_OK;
  ok &= kn_actuator_force(r->tau + 3 * nv, m, t->s, t->d) == KN_OK;
  ok &= kn_mass_matrix(r->M, m, t->s, t->d) == KN_OK;
  for (int j = 0; j < 3 * nv; j++) r->X[j] = t->a[j % (nv ? nv : 1)];
  ok &= kn_solve_mass(r->X, m, t->d, 3) == KN_OK;
  ok &= kn_compliance(r->L, m, t->d, t->node, NODES) == KN_OK;
  ok &= kn_compliance_recursive(r->R, m, t->d, t->node, NODES) == KN_OK;
  ok &= kn_energy_of(&r->energy, m, t->s, t->d) == KN_OK;
  ok &= kn_momentum(r->momentum, r->momentum + 3, r->momentum + 6, m, t->s, t->d) == KN_OK;
  kn_pose pose;
  double six[6];
  ok &= kn_kinematics(m, t->s, t->d) == KN_OK && kn_body_pose(&pose, m, t->d, 0) == KN_OK;
  ok &= kn_body_velocity(six, m, t->d, 0, NULL) == KN_OK && kn_jacobian_bias(six, m, t->d, 0, NULL) == KN_OK;
  ok &=
      kn_integrate(r->q, m, t->s->q, t->s->v, 0.1) == KN_OK && kn_difference(r->v, m, t->s->q, r->q) == KN_OK;
  /* the stages of the step */
  kn_dyn_position(t->d, m, t->s->q), kn_dyn_velocity(t->d, m, t->s->v);
  ok &= kn_dyn_factor(t->d, m, m->damping) == KN_OK;
  kn_dyn_accelerate(r->v + nv, t->d, m, t->s->v, t->tau);
  ok &= kn_rows_push(&t->rows, t->d, m, t->block, BLOCKS) == KN_OK;
  kn_rows_lambda(r->lambda, &t->rows, t->d, m);
  kn_rows_apply(r->v + 2 * nv, &t->rows, t->d, m, &t->block[0].point[0] /* any numbers */);
  double row[3 * BLOCKS];
  kn_rows_velocity(row, t->d, m, t->block, BLOCKS, t->s->v);
  kn_rows_bias(row, t->d, m, t->block, BLOCKS, t->s->v);
  kn_rows_force(r->v + nv, t->d, m, t->block, BLOCKS, row);
  kn_integrate_settings set = kn_integrate_default();
  for (int k = 0; k < KN_INTEGRATE_ADAPTIVE; k++) {
    set.method = (kn_integrator)k;
    kn_state_copy(t->t, t->s);
    ok &= kn_integrate_smooth(t->t, m, t->d, 1e-3, &set, NULL, NULL) == KN_OK;
  }
  for (int j = 0; j < t->nq; j++) r->q[j] += t->t->q[j];
  CHECK(ok);
}

static bool same(const double* a, const double* b, int n) {
  return memcmp(a, b, sizeof(double) * (size_t)n) == 0;
}

TEST(same_bits_on_every_instruction_set) {
  int top = kn_cpu_level();
  for (int i = 0; i < 60 * kn_test_effort(); i++) {
    setup a = open_setup((uint64_t)i, i % 4);
    kn_cpu_limit(KN_CPU_BASE);
    everything(&a);
    for (int level = 1; level <= top; level++) {
      setup b = open_setup((uint64_t)i, i % 4);
      kn_cpu_limit(level);
      everything(&b);
      int nv = a.nv, n = 36 * NODES * NODES;
      CHECK(same(a.r.qdd, b.r.qdd, nv) && same(a.r.tau, b.r.tau, 4 * nv) && same(a.r.M, b.r.M, nv * nv));
      CHECK(same(a.r.X, b.r.X, 3 * nv) && same(a.r.L, b.r.L, n) && same(a.r.R, b.r.R, n));
      CHECK(same(a.r.q, b.r.q, a.nq) && same(a.r.v, b.r.v, 3 * nv) && same(a.r.lambda, b.r.lambda, 144));
      CHECK(memcmp(&a.r.energy, &b.r.energy, sizeof a.r.energy) == 0 && same(a.r.momentum, b.r.momentum, 9));
      close_setup(&b);
    }
    kn_cpu_limit(top);
    close_setup(&a);
  }
}

TEST(nothing_allocates_in_1000_calls) {
  for (int kind = 0; kind < 3; kind++) {
    setup t = open_setup(100 + (uint64_t)kind, kind);
    everything(&t);
    size_t before = kn_test_allocations();
    for (int i = 0; i < 1000; i++) everything(&t);
    CHECK_INT(kn_test_allocations() - before, 0);
    close_setup(&t);
  }
}
