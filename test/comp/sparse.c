/* The factorisation of heaps: fronts of every pattern and set of unknowns, Newton steps against the dense
   form, linear systems against the product with W, the same bits on every instruction set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "comp/cone/driver.h"
#include "cone_problems.h"
#include "test.h"

/* ---- fronts ---- */

/* Symmetric pattern: cliques of random bodies, and loose edges that belong to none; with loose < 0 even and
   odd blocks coupled, which has so many cliques that one takes their place. */
static void random_pattern(kn_cone_sparse* s, kn_rng* rng, int n, int bodies, double loose) {
  bool* full = calloc((size_t)n * (size_t)n, sizeof *full);
  int* body = calloc((size_t)n, 2 * sizeof *body);
  for (int i = 0; i < 2 * n; i++) body[i] = kn_rng_int(rng, bodies);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      bool meet = body[2 * i] == body[2 * j] || body[2 * i] == body[2 * j + 1] ||
                  body[2 * i + 1] == body[2 * j] || body[2 * i + 1] == body[2 * j + 1];
      full[i * n + j] = full[j * n + i] =
          i == j || (loose < 0.0 ? (i ^ j) & 1 : meet || kn_rng_unit(rng) < loose);
    }
  s->blocks = n, s->stored = 0;
  for (int i = 0; i < n; i++) {
    s->start[i] = s->stored;
    for (int j = 0; j < n; j++)
      if (full[i * n + j]) s->row[s->stored++] = j;
  }
  s->start[n] = s->stored;
  s->order.covered = s->plan.planned = false;
  free(full);
  free(body);
}

static bool in_front(const kn_cone_sparse* s, const kn_front* f, int b) {
  for (int k = 0; k < f->pivots; k++)
    if (s->plan.list[f->pivot_at + k] == b) return true;
  for (int k = 0; k < f->borders; k++)
    if (s->plan.list[f->border_at + k] == b) return true;
  return false;
}

/* Each block that the fronts were made for, and so each one with unknowns, is eliminated once; what couples it with later ones is in its front; and a child's
   border is in its parent's front, parents found by the stack discipline that the numbers use. */
static int faults_of(const kn_cone_sparse* s) {
  int faults = 0, depth = 0, *open = calloc((size_t)s->blocks + 1, sizeof *open),
      *times = calloc((size_t)s->blocks, sizeof *times);
  for (int t = 0; t < s->plan.fronts; t++) {
    const kn_front* f = &s->plan.front[t];
    for (int k = 0; k < f->pivots; k++) times[s->plan.list[f->pivot_at + k]]++;
    for (int k = 0; k < f->borders; k++) faults += s->plan.front_of[s->plan.list[f->border_at + k]] <= t;
    for (int c = 0; c < f->children && depth > 0; c++) {
      const kn_front* g = &s->plan.front[open[--depth]];
      for (int k = 0; k < g->borders; k++) faults += !in_front(s, f, s->plan.list[g->border_at + k]);
    }
    if (f->borders) open[depth++] = t;
  }
  faults += depth;
  for (int b = 0; b < s->blocks; b++) {
    faults += times[b] != (s->plan.seen[b] > 0) || (s->many[b] && !s->plan.seen[b]);
    for (int k = s->start[b]; s->plan.seen[b] && k < s->start[b + 1]; k++) {
      int i = s->row[k], first = s->plan.front_of[i] < s->plan.front_of[b] ? i : b;
      if (s->plan.seen[i])
        faults += !in_front(s, &s->plan.front[s->plan.front_of[first]], first == i ? b : i);
    }
  }
  free(open);
  free(times);
  return faults;
}

TEST(fronts_of_any_pattern) {
  kn_rng rng = kn_rng_seed(7);
  enum { most = 60 };
  for (int round = 0; round < 60 * (int)kn_test_effort(); round++) {
    int n = 2 + kn_rng_int(&rng, most - 2);
    kn_cone_sparse s = {0};
    kn_arena arena = {0};
    kn_sparse_take(&s, &arena, n, n * n);
    CHECK_OK(kn_arena_create(&arena, arena.used));
    s = (kn_cone_sparse){0};
    kn_sparse_take(&s, &arena, n, n * n);
    random_pattern(&s, &rng, n, 1 + kn_rng_int(&rng, n), round % 7 == 6 ? -1.0 : round % 3 ? 0.0 : 0.1);
    for (int k = 0; k < 8; k++) { /* the order is kept while few blocks change */
      for (int b = 0; b < n; b++)
        if (k == 0 || kn_rng_unit(&rng) < 0.1) s.many[b] = (unsigned char)kn_rng_int(&rng, 4);
      kn_sparse_plan(&s);
      if (!CHECK(s.plan.factorable) || !CHECK_INT(faults_of(&s), 0)) k = 8;
    }
    kn_arena_destroy(&arena);
  }
}

/* ---- numbers ---- */

static double newton_point[4096], solve_error;
static int sparse_runs;

/* One Newton step after some sweeps: the full step, in the problem's units. */
static void one_step(kn_drive* s) {
  for (int k = 0; k < 3; k++) s->ops->sweep(s->c);
  kn_newton_settings t = {.max_steps = 1, .stall = 1, .eps = 1e-3, .rho = 1.0};
  kn_cone_residual f;
  s->ops->newton(s->c, &t, &f);
  memcpy(s->c->r, s->c->try_r, (size_t)s->c->ld * sizeof(double));
  kn_cone_finish(newton_point, s->c);
  sparse_runs += s->c->sparse != NULL;
}

static void run(const kn_problem* p, void (*method)(kn_drive*)) {
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_solve_settings settings = kn_solve_default();
  double* r = calloc((size_t)p->rows, sizeof *r);
  CHECK_OK(kn_solver_work_for(&work, p));
  kn_drive_run(r, &info, p, &settings, work, method);
  kn_solver_work_destroy(work);
  free(r);
}

static const kn_heap heaps[] = {KN_HEAP_SPHERES, KN_HEAP_PACKED, KN_HEAP_BRICKS};

/* Dense and sparse form take the same step. Its condition is 1e4 (eps 1e-3): 1e-10 of the largest entry is a
   hundred times the rounding of either. Bricks so few are dense in any case. */
TEST(newton_step_of_dense_form) {
  kn_rng rng = kn_rng_seed(11);
  for (size_t h = 0; h < 2; h++)
    for (int round = 0; round < 4; round++) {
      kn_pile p;
      kn_pile_make(&p, &rng, heaps[h], 50, 0.2 + 0.2 * round, 0.1);
      int n = p.problem.rows;
      double *W = calloc((size_t)n * (size_t)n, sizeof *W), *sparse = calloc((size_t)n, sizeof *sparse),
             size = 0.0;
      int before = sparse_runs;
      run(&p.problem, one_step);
      CHECK(p.problem.blocks < KN_SPARSE_LEAST_FROM_DENSE && sparse_runs == before + 1);
      memcpy(sparse, newton_point, (size_t)n * sizeof *sparse);
      kn_problem dense = p.problem;
      kn_problem_write_out(W, &p.problem);
      dense.W = W, dense.sparse = NULL;
      run(&dense, one_step);
      CHECK(sparse_runs == before + 1);
      for (int i = 0; i < n; i++) size = fmax(size, fabs(newton_point[i]));
      CHECK(size > 0.0);
      for (int i = 0; i < n; i++) sparse[i] /= size, newton_point[i] /= size;
      CHECK_ARRAY(sparse, newton_point, (size_t)n, 1e-10);
      free(W);
      free(sparse);
      kn_pile_free(&p);
    }
}

/* (W + D) x = b for random positive D, checked by the product with W. */
static void one_system(kn_drive* s) {
  kn_rng rng = kn_rng_seed(13);
  kn_cone* c = s->c;
  double *D = s->w->interior_d, *b = s->w->first, most = 0.0;
  memset(D, 0, 9 * (size_t)c->blocks * sizeof *D);
  memset(b, 0, (size_t)c->ld * sizeof *b);
  for (int k = 0; k < c->blocks; k++) {
    for (int i = 0; i < 3; i++) D[9 * k + 4 * i] = kn_rng_range(&rng, 0.01, 1.0);
    D[9 * k + 1] = 0.005 * kn_rng_normal(&rng); /* not symmetric */
    for (int i = 0; i < 3; i++) b[4 * k + i] = kn_rng_normal(&rng);
  }
  memcpy(c->r, b, (size_t)c->ld * sizeof *b);
  CHECK(s->ops->solve(c, D, c->r));
  memset(c->q, 0, (size_t)c->ld * sizeof *c->q);
  s->ops->velocity(c);
  for (int k = 0; k < c->blocks; k++)
    for (int i = 0; i < 3; i++) {
      double e = c->u[4 * k + i] - b[4 * k + i];
      for (int j = 0; j < 3; j++) e += D[9 * k + 3 * i + j] * c->r[4 * k + j];
      most = fmax(most, fabs(e));
    }
  solve_error = most;
  memcpy(newton_point, c->r, 3 * sizeof(double) * (size_t)c->blocks);
}

/* Entries of b are of order 1, of x up to 100: 1e-12 is 50 ulp of the products. */
TEST(systems_of_heaps) {
  kn_rng rng = kn_rng_seed(17);
  for (size_t h = 0; h < 3; h++) {
    kn_pile p;
    kn_pile_make(&p, &rng, heaps[h], 300, 0.5, 0.01);
    run(&p.problem, one_system);
    CHECK_BELOW(solve_error, 1e-12);
    kn_pile_free(&p);
  }
}

TEST(same_bits_on_every_instruction_set) {
  kn_rng rng = kn_rng_seed(19);
  int level = kn_cpu_level();
  static double base[4096];
  void (*const methods[])(kn_drive*) = {one_step, one_system};
  for (size_t h = 0; h < 6; h++) {
    kn_pile p;
    kn_pile_make(&p, &rng, heaps[h % 3], 200, 0.5, 0.01);
    for (int l = 0; l <= level; l++) {
      kn_cpu_limit(l);
      run(&p.problem, methods[h / 3]);
      if (l == 0) memcpy(base, newton_point, sizeof base);
      CHECK_BITS(newton_point, base, 3 * (size_t)p.problem.blocks);
    }
    kn_cpu_limit(level);
    kn_pile_free(&p);
  }
}
