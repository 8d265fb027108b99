/* Mechanisms in a plane have kernels of their own: they give what the general ones give, and the same bits on
   every instruction set. */
#include <math.h>

#include "base/isa.h"
#include "dynamics/tree/data.h"
#include "model/state.h"
#include "trees.h"

enum { BLOCKS = 3, ROWS = 3 * BLOCKS };

/* A tree or forest of hinges about the bodies' z axes, or a chain; roots anywhere, offsets along the axes
 * too.
 */
static kn_model* planar_tree(kn_rng* rng, int bodies, bool chain) {
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < bodies; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    b.parent = i == 0 || (!chain && kn_rng_int(rng, 8) == 0) ? KN_WORLD
               : !chain && kn_rng_int(rng, 3) == 0           ? kn_rng_int(rng, i)
                                                             : i - 1;
    for (int k = 0; k < 3; k++) b.pos[k] = kn_rng_range(rng, -0.4, 0.4);
    double half = kn_rng_range(rng, -1.5, 1.5);
    b.quat[0] = cos(half), b.quat[3] = sin(half);
    if (b.parent == KN_WORLD) random_quat(rng, b.quat);
    random_inertia(rng, &b);
    j.axis[0] = j.axis[1] = 0.0, j.axis[2] = 1.0;
    j.armature = kn_rng_int(rng, 2) ? 0.0 : 0.05;
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    kn_joint id;
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

typedef struct values {
  double qdd[32], again[32], tau[32], dv[32], lambda[ROWS * ROWS], lambda_extra[ROWS * ROWS], factored[32],
      extra[32], force[32], pose[32][12], velocity[32][6], multiplied[32], solved[32], inverse[32], Jv[ROWS],
      Jv_here[ROWS], Jdv[ROWS], tau_rows[32];
  kn_energy energy, arrived, here;
} values;

typedef struct inputs {
  double v[32], tau[32], a[32], extra[32], p[ROWS];
  kn_row_block block[BLOCKS];
} inputs;

static void random_inputs(inputs* in, kn_rng* rng, const kn_model* m) {
  for (int j = 0; j < m->nv; j++) {
    in->v[j] = kn_rng_range(rng, -3, 3), in->tau[j] = kn_rng_range(rng, -2, 2);
    in->a[j] = kn_rng_range(rng, -5, 5), in->extra[j] = kn_rng_range(rng, 0, 0.1);
  }
  for (int i = 0; i < BLOCKS; i++) {
    kn_row_block* b = &in->block[i];
    *b = (kn_row_block){
        .link_a = kn_rng_int(rng, m->nlink), .link_b = kn_rng_int(rng, m->nlink + 1) - 1, .rows = 3};
    for (int k = 0; k < 3; k++) random_unit(rng, b->dir[k]), b->point[k] = kn_rng_range(rng, -1, 1);
  }
  if (kn_rng_int(rng, 2)) /* as limits have them */
    in->block[1] = (kn_row_block){.rows = 1, .ndof = 1, .dof = {kn_rng_int(rng, m->nv)}, .coef = {-1.0}};
  for (int i = 0; i < ROWS; i++) in->p[i] = kn_rng_range(rng, -1, 1);
}

typedef enum kernels { GENERAL, PLANAR, LEAN } kernels; /* lean: nothing in space that nobody asks for */

/* At the end of a step, and things that are asked for there. */
static void evaluate_end(values* out, kn_data* d, const kn_model* m, const double* q, const inputs* in) {
  double other[32];
  for (int j = 0; j < m->nq; j++) other[j] = q[j] + 0.1;
  kn_data_swap(d);
  kn_dyn_arrive(&out->arrived, d, m, other, in->v);
  for (int i = 0; i < m->nlink; i++) kn_link_velocity(out->velocity[i], d, i);
  kn_dyn_energy_here(&out->here, d, m, other, in->a);
  kn_data_swap(d);
  kn_dyn_inverse(out->inverse, d, m, in->a, in->v); /* at the poses before */
  kn_dyn_multiply(out->multiplied, d, m, in->a);
  kn_data_swap(d);
  kn_rows_velocity(out->Jv, d, m, in->block, BLOCKS, in->v);
  kn_rows_bias(out->Jdv, d, m, in->block, BLOCKS, in->v);
  kn_rows_force(out->tau_rows, d, m, in->block, BLOCKS, in->p);
  CHECK_OK(kn_dyn_factor(d, m, NULL));
  memcpy(out->solved, in->a, sizeof(double) * (size_t)m->nv);
  kn_dyn_solve(out->solved, d, m, 1);
}

/* Everything that a step asks of the kernels. */
static void evaluate(values* out, const kn_model* m, const double* q, const inputs* in, kernels which) {
  kn_data* d;
  kn_rows rows;
  memset(out, 0, sizeof *out);
  CHECK_OK(kn_data_create(&d, m));
  CHECK_INT(d->layout->planar, 1);
  ((kn_layout*)(uintptr_t)d->layout)->planar = which != GENERAL;
  d->may_be_lean = which == LEAN;
  void* memory = calloc(1, kn_rows_size(m, ROWS));
  kn_rows_init(&rows, m, ROWS, memory);
  CHECK_OK(kn_dyn_forward(out->qdd, d, m, q, in->v, in->tau));
  kn_dyn_accelerate(out->again, d, m, in->a, in->tau);
  CHECK_OK(kn_rows_push(&rows, d, m, in->block, BLOCKS));
  kn_rows_lambda(out->lambda, &rows, d, m);
  kn_rows_apply(out->dv, &rows, d, m, in->p);
  kn_rows_velocity(out->Jv_here, d, m, in->block, BLOCKS, in->v);
  kn_rows_inverse(out->force, d, m, in->v, in->a, in->block, BLOCKS, in->p, 10.0);
  evaluate_end(out, d, m, q, in);
  CHECK_OK(kn_dyn_forward_extra(out->extra, d, m, q, in->v, in->tau, in->extra));
  kn_dyn_position(d, m, q);
  CHECK_OK(kn_dyn_factor(d, m, in->extra));
  CHECK_OK(kn_rows_push(&rows, d, m, in->block, BLOCKS));
  kn_rows_lambda(out->lambda_extra, &rows, d, m);
  kn_dyn_accelerate(out->factored, d, m, in->a, in->tau);
  kn_dyn_inverse(out->tau, d, m, in->v, in->a);
  kn_dyn_energy(&out->energy, d, m, q, in->v);
  for (int i = 0; i < m->nlink; i++) kn_link_pose((kn_pose*)out->pose[i], d, i);
  kn_data_destroy(d);
  free(memory);
}

static double difference(const void* a, const void* b, size_t n) {
  const double *x = a, *y = b;
  double most = 1.0, worst = 0.0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(y[i])), worst = fmax(worst, fabs(x[i] - y[i]));
  return worst / most;
}

/* Condition of M times rounding, in two orders of operations. */
TEST(planar_kernels_agree_with_the_general_ones) {
  kn_rng rng = kn_rng_seed(61);
  double worst = 0.0;
  for (int i = 0; i < 200 * kn_test_effort(); i++) {
    kn_model* m = planar_tree(&rng, 1 + kn_rng_int(&rng, 25), i % 2);
    double q[32];
    inputs in = {0};
    static values planar, general, lean;
    for (int j = 0; j < m->nq; j++) q[j] = kn_rng_range(&rng, -4, 4);
    random_inputs(&in, &rng, m);
    evaluate(&planar, m, q, &in, PLANAR);
    evaluate(&lean, m, q, &in, LEAN);
    evaluate(&general, m, q, &in, GENERAL);
    double e = difference(&planar, &general, sizeof planar / sizeof(double));
    e = fmax(e, difference(&lean, &general, sizeof planar / sizeof(double)));
    worst = fmax(worst, e);
    CHECK(e <= 1e-10);
    kn_model_destroy(m);
  }
  printf("  worst relative difference %.2e\n", worst);
}

TEST(planar_kernels_have_the_same_bits_on_every_instruction_set) {
  kn_rng rng = kn_rng_seed(62);
  int top = kn_cpu_level();
  for (int i = 0; i < 50; i++) {
    kn_model* m = planar_tree(&rng, 1 + kn_rng_int(&rng, 25), i % 2);
    double q[32];
    inputs in = {0};
    static values first, other;
    for (int j = 0; j < m->nq; j++) q[j] = kn_rng_range(&rng, -4, 4);
    random_inputs(&in, &rng, m);
    for (int level = 0; level <= top; level++) {
      kn_cpu_limit(level);
      evaluate(level ? &other : &first, m, q, &in, i / 2 % 2 ? PLANAR : LEAN);
      if (level) CHECK(memcmp(&other, &first, sizeof first) == 0);
    }
    kn_cpu_limit(top);
    kn_model_destroy(m);
  }
}
