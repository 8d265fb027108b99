/* Two algorithms must agree: forward and inverse dynamics, mass matrix and inverse dynamics columns, factors
   of both kinds, compliance in three forms. */
#include "dynamics/tree/dynamics.h"

#include "dynamics/rows/rows.h"
#include "dynamics/tree/data.h"
#include "trees.h"

typedef struct bench { /* a model with its state, data and arrays of nv, nv² */
  kn_model* m;
  kn_state* s;
  kn_data* d;
  int nv;
  double *a, *b, *c, *M, *X;
} bench;

static bench open_bench(kn_model* m) {
  bench t = {.m = m, .nv = kn_model_nv(m)};
  CHECK_OK(kn_state_create(&t.s, m));
  CHECK_OK(kn_data_create(&t.d, m));
  size_t n = (size_t)t.nv + 1;
  t.a = calloc(n, 8), t.b = calloc(n, 8), t.c = calloc(n, 8);
  t.M = calloc(n * n, 8), t.X = calloc(n * n, 8);
  return t;
}
static void close_bench(bench* t) {
  free(t->a), free(t->b), free(t->c), free(t->M), free(t->X);
  kn_data_destroy(t->d), kn_state_destroy(t->s), kn_model_destroy(t->m);
}

static tree_options random_options(kn_rng* rng, int i) {
  static const int sizes[] = {1, 2, 3, 5, 8, 13, 30, 60, 120, 200};
  int size = sizes[i % 10];
  return (tree_options){.bodies = size > 1 ? 1 + kn_rng_int(rng, size) : 1,
                        .branch = i % 3 == 0 ? 0.0 : kn_rng_unit(rng),
                        .forest = i % 4 == 0 ? 0.2 : 0.0,
                        .floating = i % 2 == 0,
                        .hinges = i % 5 == 1,
                        .armature = i % 3 ? 0.0 : 0.3,
                        .gravity = true,
                        .square = i / 10 % 3 == 2};
}

/* Joint acceleration that the torques would give if each acted alone: the scale at which ABA's sums cancel.
   Rounding tau to double alone changes qdd by 1e-16 of it. */
static double acceleration_scale(const bench* t, const double* tau) {
  double scale = 1.0;
  for (int j = 0; j < t->nv; j++) scale = fmax(scale, fabs(tau[j]) * t->d->fac[j].dinv);
  return scale;
}

TEST(forward_and_inverse_dynamics_undo_each_other) {
  kn_rng rng = kn_rng_seed(11);
  double worst = 0, residual = 0, plain = 0;
  for (int i = 0; i < 600 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    bench t = open_bench(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 3.0);
    for (int j = 0; j < t.nv; j++) t.a[j] = kn_rng_range(&rng, -20, 20);
    CHECK_OK(kn_inverse_dynamics(t.b, t.m, t.s, t.d, t.a));
    CHECK_OK(kn_forward_dynamics(t.c, t.m, t.s, t.d, t.b));
    double e = max_diff(t.a, t.c, t.nv) / acceleration_scale(&t, t.b);
    plain = fmax(plain, max_diff(t.a, t.c, t.nv) / 20.0);
    if (!CHECK(e <= 1e-11)) printf("  tree %d: %d dofs, error %g\n", i, t.nv, e);
    CHECK_OK(kn_inverse_dynamics(t.a, t.m, t.s, t.d, t.c));
    double r = max_diff(t.a, t.b, t.nv) / fmax(1.0, max_abs(t.b, t.nv));
    if (!CHECK(r <= 1e-11)) printf("  tree %d: %d dofs, residual %g\n", i, t.nv, r);
    worst = fmax(worst, e), residual = fmax(residual, r);
    close_bench(&t);
  }
  printf("  worst error of the acceleration %.2e (of the largest qdd %.2e), of the force %.2e\n", worst,
         plain, residual);
}

TEST(mass_matrix_columns_are_inverse_dynamics) {
  kn_rng rng = kn_rng_seed(12);
  for (int i = 0; i < 150 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    if (o.bodies > 60) o.bodies = 60;
    bench t = open_bench(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 2.0);
    CHECK_OK(kn_mass_matrix(t.M, t.m, t.s, t.d));
    CHECK_OK(kn_bias_force(t.b, t.m, t.s, t.d));
    double scale = fmax(1.0, max_abs(t.M, t.nv * t.nv));
    for (int j = 0; j < t.nv; j++) {
      memset(t.a, 0, sizeof(double) * (size_t)t.nv);
      t.a[j] = 1.0;
      CHECK_OK(kn_inverse_dynamics(t.c, t.m, t.s, t.d, t.a));
      for (int k = 0; k < t.nv; k++) {
        /* c - b cancels the bias */
        CHECK_NEAR(t.c[k] - t.b[k], t.M[j * t.nv + k], 1e-12 * scale * (1.0 + max_abs(t.b, t.nv)));
        CHECK(t.M[j * t.nv + k] == t.M[k * t.nv + j]);
      }
      kn_dyn_multiply(t.c, t.d, t.m, t.a);
      CHECK_ARRAY(t.c, t.M + j * t.nv, (size_t)t.nv, 1e-13 * scale);
    }
    close_bench(&t);
  }
}

/* The least share of a dof's inertia that the others leave it. What is left is known to some 1e-14 of the
   whole (sums over dozens of bodies), and the relative error of 1/D is that divided by the share. */
static double least_left(const bench* t) {
  double left = 1.0;
  kn_crba(t->M, t->d, t->m);
  for (int k = 0; k < t->nv; k++) t->a[k] = t->M[k * t->nv + k];
  kn_ltdl_factor(t->M, t->d, t->m);
  for (int k = 0; k < t->nv; k++) left = fmin(left, t->M[k * t->nv + k] / t->a[k]);
  return left;
}

TEST(articulated_and_sparse_factors_solve_alike) {
  kn_rng rng = kn_rng_seed(13);
  for (int i = 0; i < 150 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    bench t = open_bench(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 2.0);
    CHECK_OK(kn_mass_matrix(t.M, t.m, t.s, t.d));
    CHECK_INT(kn_ltdl_factor(t.M, t.d, t.m), -1);
    double left = least_left(&t); /* leaves the same factors */
    enum { COLS = 3 };
    for (int k = 0; k < t.nv * COLS; k++) t.X[k] = kn_rng_range(&rng, -1, 1);
    for (int j = 0; j < t.nv; j++) t.a[j] = t.b[j] = t.X[j * COLS + 1];
    kn_ltdl_solve(t.a, t.M, t.d, t.m);
    CHECK_OK(kn_solve_mass(t.X, t.m, t.d, COLS));
    for (int j = 0; j < t.nv; j++) t.c[j] = t.X[j * COLS + 1];
    /* condition numbers reach 1e8 in chains of 200 bodies; one tree in two thousand is closer to singular */
    CHECK_ARRAY(t.c, t.a, (size_t)t.nv, fmax(1e-8, 1e-13 / left));
    kn_dyn_multiply(t.a, t.d, t.m, t.c);
    for (int j = 0; j < t.nv; j++) /* residual of the articulated solution, in units of what cancels */
      CHECK_NEAR(t.a[j], t.b[j], 1e-11 * fmax(1.0, max_abs(t.c, t.nv)));
    close_bench(&t);
  }
}

/* M_jj by composite bodies against the whole M, and D of M = Lᵀ D L by articulated bodies against its factors. */
TEST(pivots_without_the_matrix) {
  kn_rng rng = kn_rng_seed(141);
  for (int i = 0; i < 30; i++) {
    tree_options o = random_options(&rng, i);
    bench t = open_bench(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 2.0);
    CHECK_OK(kn_mass_matrix(t.M, t.m, t.s, t.d));
    CHECK_OK(kn_mass_pivots(t.a, t.b, t.m, t.s, t.d));
    for (int j = 0; j < t.nv; j++)
      CHECK_NEAR(t.a[j], t.M[j * t.nv + j], 1e-14 * fabs(t.a[j])); /* the same sums */
    double left = least_left(&t);                                  /* leaves L and D in M */
    for (int j = 0; j < t.nv; j++) CHECK_NEAR(t.b[j] / t.M[j * t.nv + j], 1.0, fmax(1e-10, 1e-13 / left));
    CHECK_OK(kn_mass_pivots(NULL, NULL, t.m, t.s, t.d));
    close_bench(&t);
  }
}

TEST(extra_diagonal_enters_the_factors) {
  kn_rng rng = kn_rng_seed(14);
  tree_options o = {.bodies = 12, .branch = 0.4, .floating = true, .gravity = true};
  bench t = open_bench(random_tree(&rng, &o));
  random_state(&rng, t.m, t.s, 2.0);
  double* extra = t.b;
  for (int j = 0; j < t.nv; j++) extra[j] = kn_rng_unit(&rng), t.a[j] = kn_rng_range(&rng, -1, 1);
  CHECK_OK(kn_kinematics(t.m, t.s, t.d));
  CHECK_OK(kn_dyn_factor(t.d, t.m, extra));
  memcpy(t.X, t.a, sizeof(double) * (size_t)t.nv);
  kn_dyn_solve(t.X, t.d, t.m, 1);
  kn_dyn_multiply(t.c, t.d, t.m, t.X);
  for (int j = 0; j < t.nv; j++) CHECK_NEAR(t.c[j] + extra[j] * t.X[j], t.a[j], 1e-11);
  /* the public solve does not see it */
  memcpy(t.X, t.a, sizeof(double) * (size_t)t.nv);
  CHECK_OK(kn_solve_mass(t.X, t.m, t.d, 1));
  kn_dyn_multiply(t.c, t.d, t.m, t.X);
  CHECK_ARRAY(t.c, t.a, (size_t)t.nv, 1e-11);
  close_bench(&t);
}

/* Dense J M⁻¹ Jᵀ with the sparse factors of the composite-body mass matrix: shares nothing with ABA. */
static void dense_compliance(double* L, bench* t, const kn_node* node, int count) {
  int nv = t->nv, n = 6 * count;
  double* J = calloc((size_t)(n * nv) + 1, 8);
  double* Z = calloc((size_t)(n * nv) + 1, 8);
  for (int i = 0; i < count; i++)
    CHECK_OK(kn_jacobian(J + 6 * i * nv, t->m, t->d, node[i].body, node[i].point));
  kn_crba(t->M, t->d, t->m);
  kn_ltdl_factor(t->M, t->d, t->m);
  memcpy(Z, J, sizeof(double) * (size_t)(n * nv));
  for (int i = 0; i < n; i++) kn_ltdl_solve(Z + i * nv, t->M, t->d, t->m);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < nv; k++) s += J[i * nv + k] * Z[j * nv + k];
      L[i * n + j] = s;
    }
  free(J), free(Z);
}

TEST(compliance_by_recursion_by_push_and_dense_agree) {
  kn_rng rng = kn_rng_seed(15);
  double worst[2] = {0, 0};
  int loose = 0;
  for (int i = 0; i < 500 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    if (o.bodies > 60 && i % 50) o.bodies = 20;
    bench t = open_bench(random_tree(&rng, &o));
    random_state(&rng, t.m, t.s, 1.0);
    CHECK_OK(kn_kinematics(t.m, t.s, t.d));
    int count = i % 40 == 0 ? 37 : 1 + kn_rng_int(&rng, 6), n = 6 * count;
    kn_node node[40];
    for (int k = 0; k < count; k++) {
      node[k].body = kn_rng_int(&rng, 12) ? kn_rng_int(&rng, kn_model_bodies(t.m)) : KN_WORLD;
      for (int c = 0; c < 3; c++) node[k].point[c] = kn_rng_range(&rng, -1, 1);
    }
    double *L = calloc((size_t)(n * n), 8), *R = calloc((size_t)(n * n), 8), *P = calloc((size_t)(n * n), 8);
    dense_compliance(L, &t, node, count);
    CHECK_OK(kn_compliance_recursive(R, t.m, t.d, node, count));
    CHECK_OK(kn_compliance(P, t.m, t.d, node, count));
    double scale = fmax(1e-300, max_abs(L, n * n));
    double er = max_diff(L, R, n * n) / scale, ep = max_diff(L, P, n * n) / scale;
    double tol = 1e-10 * fmax(1.0, 1e-3 / least_left(&t));
    if (!CHECK(er <= tol) | !CHECK(ep <= tol))
      printf("  tree %d: recursion %g push %g left %g\n", i, er, ep, least_left(&t));
    loose += tol > 1e-10;
    worst[0] = fmax(worst[0], er), worst[1] = fmax(worst[1], ep);
    for (int a = 0; a < n; a++)
      for (int b = 0; b < a; b++) CHECK(P[a * n + b] == P[b * n + a] && R[a * n + b] == R[b * n + a]);
    free(L), free(R), free(P);
    close_bench(&t);
  }
  printf("  worst relative error: recursion %.2e, push %.2e; %d trees nearly singular\n", worst[0], worst[1],
         loose);
}

/* Row blocks of every kind against the dense product with J from the definition. */
static int random_blocks(kn_rng* rng, kn_row_block* block, int blocks, int nlink, int nv) {
  int rows = 0;
  for (int i = 0; i < blocks; i++) {
    kn_row_block* b = &block[i];
    *b = (kn_row_block){.link_a = kn_rng_int(rng, nlink + 1) - 1,
                        .link_b = kn_rng_int(rng, 2) ? -1 : kn_rng_int(rng, nlink + 1) - 1,
                        .rows = 1 + kn_rng_int(rng, 3),
                        .angular = kn_rng_int(rng, 4) == 0};
    for (int k = 0; k < 3; k++) b->point[k] = kn_rng_range(rng, -1, 1), random_unit(rng, b->dir[k]);
    if (kn_rng_int(rng, 4) == 0) {
      b->ndof = 1 + kn_rng_int(rng, 3);
      for (int k = 0; k < 3; k++) b->coef[k] = kn_rng_range(rng, -1, 1);
      for (int k = 0; k < 3; k++)
        b->dof[k] = (k ? b->dof[k - 1] + 1 + kn_rng_int(rng, 3) : kn_rng_int(rng, nv));
      while (b->ndof > 1 && b->dof[b->ndof - 1] >= nv) b->ndof--;
    }
    rows += b->ndof > 0 ? 1 : b->rows;
  }
  return rows;
}

TEST(row_blocks_against_dense_products) {
  kn_rng rng = kn_rng_seed(16);
  for (int i = 0; i < 300 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    if (o.bodies > 40) o.bodies = 40;
    bench t = open_bench(random_tree(&rng, &o));
    if (t.nv == 0) {
      close_bench(&t);
      continue;
    }
    random_state(&rng, t.m, t.s, 1.0);
    CHECK_OK(kn_kinematics(t.m, t.s, t.d));
    CHECK_OK(kn_dyn_factor(t.d, t.m, NULL));
    enum { BLOCKS = 12, CAP = 36 };
    kn_row_block block[BLOCKS];
    int blocks = 1 + kn_rng_int(&rng, BLOCKS), nv = t.nv;
    int rows = random_blocks(&rng, block, blocks, t.m->nlink, nv);
    double *J = calloc((size_t)(CAP * nv), 8), *Z = calloc((size_t)(CAP * nv), 8);
    double L[CAP * CAP], lambda[CAP], Jv[CAP];
    kn_rows R;
    void* memory = calloc(1, kn_rows_size(t.m, CAP));
    kn_rows_init(&R, t.m, CAP, memory);
    for (int k = 0; k < rows; k++) { /* J by rows: tau = Jᵀ e_k */
      memset(lambda, 0, sizeof lambda), lambda[k] = 1.0;
      kn_rows_force(J + k * nv, t.d, t.m, block, blocks, lambda);
    }
    for (int k = 0; k < nv; k++) { /* and by columns: J e_k */
      memset(t.a, 0, sizeof(double) * (size_t)nv), t.a[k] = 1.0;
      kn_rows_velocity(Jv, t.d, t.m, block, blocks, t.a);
      for (int r = 0; r < rows; r++) CHECK_NEAR(Jv[r], J[r * nv + k], 1e-12);
    }
    for (int pass = 0; pass < 2; pass++) { /* twice: nothing may be left over */
      CHECK_OK(kn_rows_push(&R, t.d, t.m, block, blocks));
      kn_rows_lambda(L, &R, t.d, t.m);
    }
    double left = least_left(&t);
    memcpy(Z, J, sizeof(double) * (size_t)(rows * nv));
    double scale = 1.0, tol = 1e-10 * fmax(1.0, 1e-3 / left);
    for (int r = 0; r < rows; r++) kn_ltdl_solve(Z + r * nv, t.M, t.d, t.m);
    for (int r = 0; r < rows; r++) scale = fmax(scale, fabs(L[r * rows + r]));
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < rows; c++) {
        double s = 0;
        for (int k = 0; k < nv; k++) s += J[r * nv + k] * Z[c * nv + k];
        CHECK_NEAR(L[r * rows + c], s, tol * scale);
        CHECK(L[r * rows + c] == L[c * rows + r]);
      }
    for (int r = 0; r < rows; r++) lambda[r] = kn_rng_range(&rng, -1, 1);
    kn_rows_apply(t.b, &R, t.d, t.m, lambda);
    for (int k = 0; k < nv; k++) {
      double s = 0;
      for (int r = 0; r < rows; r++) s += Z[r * nv + k] * lambda[r];
      CHECK_NEAR(t.b[k], s, tol * fmax(scale, 1.0 / left) * rows);
    }
    free(J), free(Z), free(memory);
    close_bench(&t);
  }
}

static void random_points(kn_rng* rng, kn_row_block* block, int blocks, const int* link) {
  for (int i = 0; i < blocks; i++) {
    kn_row_block* b = &block[i];
    *b = (kn_row_block){.link_a = link[i], .link_b = -1, .rows = 1 + i % 3};
    for (int k = 0; k < 3; k++) random_unit(rng, b->dir[k]), b->point[k] = kn_rng_range(rng, -1, 1);
  }
}

/* Rows at the links of the last time, elsewhere on them and in another state: to the last bit what rows
   without a past are. */
TEST(rows_at_the_same_links_again) {
  enum { BLOCKS = 6, CAP = 18 };
  kn_rng rng = kn_rng_seed(61);
  int planned = 0;
  for (int i = 0; i < 200 * kn_test_effort(); i++) {
    tree_options o = random_options(&rng, i);
    if (o.bodies > 30) o.bodies = 30;
    bench t = open_bench(random_tree(&rng, &o));
    if (t.nv > 0) {
      kn_row_block block[BLOCKS];
      int link[BLOCKS], blocks = 1 + kn_rng_int(&rng, BLOCKS);
      double L[2][CAP * CAP], lambda[CAP];
      kn_rows R[2];
      void* memory[2] = {calloc(1, kn_rows_size(t.m, CAP)), calloc(1, kn_rows_size(t.m, CAP))};
      for (int k = 0; k < blocks; k++) link[k] = kn_rng_int(&rng, t.m->nlink);
      for (int k = 0; k < CAP; k++) lambda[k] = kn_rng_range(&rng, -1, 1);
      for (int pass = 0; pass < 2; pass++) {
        random_state(&rng, t.m, t.s, 1.0);
        CHECK_OK(kn_kinematics(t.m, t.s, t.d));
        CHECK_OK(kn_dyn_factor(t.d, t.m, NULL));
        random_points(&rng, block, blocks, link);
        kn_rows_init(&R[pass], t.m, CAP, memory[pass]);
        if (pass) planned += ((const kn_rows_index*)R[0].index)->planned > 0;
        CHECK_OK(kn_rows_push(&R[0], t.d, t.m, block, blocks));
        kn_rows_lambda(L[0], &R[0], t.d, t.m);
      }
      CHECK_OK(kn_rows_push(&R[1], t.d, t.m, block, blocks));
      kn_rows_lambda(L[1], &R[1], t.d, t.m);
      CHECK(memcmp(L[0], L[1], sizeof(double) * (size_t)(R[1].rows * R[1].rows)) == 0);
      kn_rows_apply(t.a, &R[0], t.d, t.m, lambda);
      kn_rows_apply(t.b, &R[1], t.d, t.m, lambda);
      CHECK(memcmp(t.a, t.b, sizeof(double) * (size_t)t.nv) == 0);
      free(memory[0]), free(memory[1]);
    }
    close_bench(&t);
  }
  CHECK(planned > 30 * kn_test_effort()); /* otherwise nothing was tested */
}

TEST(too_many_rows_are_refused) {
  bench t = open_bench(chain(4, false));
  CHECK_OK(kn_kinematics(t.m, t.s, t.d));
  CHECK_OK(kn_dyn_factor(t.d, t.m, NULL));
  kn_rows R;
  void* memory = calloc(1, kn_rows_size(t.m, 2));
  kn_rows_init(&R, t.m, 2, memory);
  kn_row_block b = {.link_a = 3, .link_b = -1, .rows = 3, .dir = {{1}, {0, 1}, {0, 0, 1}}};
  CHECK_STATUS(kn_rows_push(&R, t.d, t.m, &b, 1), KN_NO_ROOM);
  CHECK_INT(R.rows, 0);
  free(memory);
  close_bench(&t);
}

TEST(long_chains_keep_accuracy) {
  const int sizes[] = {100, 300, 1000};
  kn_rng rng = kn_rng_seed(17);
  for (int i = 0; i < 6; i++) {
    bench t = open_bench(chain(sizes[i / 2], i % 2));
    random_state(&rng, t.m, t.s, 1.0);
    for (int j = 0; j < t.nv; j++) t.a[j] = kn_rng_range(&rng, -20, 20);
    CHECK_OK(kn_inverse_dynamics(t.b, t.m, t.s, t.d, t.a));
    CHECK_OK(kn_forward_dynamics(t.c, t.m, t.s, t.d, t.b));
    double e = max_diff(t.a, t.c, t.nv) / acceleration_scale(&t, t.b);
    CHECK_OK(kn_inverse_dynamics(t.a, t.m, t.s, t.d, t.c));
    double r = max_diff(t.a, t.b, t.nv) / max_abs(t.b, t.nv);
    printf("  n = %d, %s axes: acceleration %.2e, force %.2e\n", t.nv, i % 2 ? "parallel" : "alternating", e,
           r);
    CHECK(e <= 1e-11);
    CHECK(r <= 1e-11);
    close_bench(&t);
  }
}

TEST(models_without_dofs_work) {
  kn_spec* spec;
  kn_model* m;
  for (int bodies = 0; bodies < 2; bodies++) {
    CHECK_OK(kn_spec_create(&spec));
    kn_body_def b = kn_body_default();
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.1;
    kn_body id;
    if (bodies) CHECK_OK(kn_spec_add_body(&id, spec, &b));
    CHECK_OK(kn_compile(&m, spec));
    kn_spec_destroy(spec);
    bench t = open_bench(m);
    CHECK_INT(t.nv, 0);
    kn_energy e;
    double P[3], L[3], c[3];
    CHECK_OK(kn_kinematics(m, t.s, t.d));
    CHECK_OK(kn_forward_dynamics(t.a, m, t.s, t.d, NULL));
    CHECK_OK(kn_inverse_dynamics(t.a, m, t.s, t.d, t.b));
    CHECK_OK(kn_mass_matrix(t.M, m, t.s, t.d));
    CHECK_OK(kn_solve_mass(t.X, m, t.d, 2));
    CHECK_OK(kn_energy_of(&e, m, t.s, t.d));
    CHECK_OK(kn_momentum(P, L, c, m, t.s, t.d));
    kn_integrate_settings set = kn_integrate_default();
    for (int k = 0; k < KN_INTEGRATOR_COUNT; k++) {
      set.method = (kn_integrator)k;
      CHECK_OK(kn_integrate_smooth(t.s, m, t.d, 0.01, &set, NULL, NULL));
    }
    kn_node node = {.body = bodies - 1};
    double L6[36];
    CHECK_OK(kn_compliance(L6, m, t.d, &node, 1));
    CHECK_OK(kn_compliance_recursive(L6, m, t.d, &node, 1));
    CHECK_NEAR(max_abs(L6, 36), 0.0, 0.0);
    close_bench(&t);
  }
}
