/* Cones of four to six rows (friction with spin and rolling): random problems, checked by the law itself and by an
   independent solver, damped projections written here from the definition. */
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "knuckle/comp.h"
#include "test.h"

enum { ROWS = 60, BLOCKS = 10 };

typedef struct random_problem {
  double W[ROWS * ROWS], q[ROWS], G[ROWS * ROWS];
  kn_block block[BLOCKS];
  kn_problem p;
} random_problem;

static double uniform(kn_rng* g, double lo, double hi) { return lo + (hi - lo) * kn_rng_unit(g); }

/* W = G Gᵀ of `rank` columns (fewer than rows: redundant contacts), plus `ridge`. */
static void make(random_problem* x, kn_rng* g, int blocks, int rank, double ridge) {
  int rows = 0;
  for (int b = 0; b < blocks; b++) {
    kn_set set = (kn_set)(KN_SET_CONE2 + (int)(kn_rng_unit(g) * 5));
    x->block[b] = (kn_block){.set = set, .row = rows, .mu = uniform(g, 0.05, 1.2), .hi = INFINITY};
    rows += kn_set_rows(set);
  }
  for (int i = 0; i < rows * rank; i++) x->G[i] = uniform(g, -1, 1);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < rows; j++) {
      double sum = i == j ? ridge : 0.0;
      for (int k = 0; k < rank; k++) sum += x->G[i * rank + k] * x->G[j * rank + k];
      x->W[i * rows + j] = sum;
    }
  }
  double v[ROWS];
  for (int k = 0; k < rank; k++) v[k] = uniform(g, -1, 1);
  for (int i = 0; i < rows; i++) { /* q in the range of G: some motion, as in mechanics */
    x->q[i] = 0.0;
    for (int k = 0; k < rank; k++) x->q[i] += x->G[i * rank + k] * v[k];
  }
  x->p = (kn_problem){.rows = rows, .blocks = blocks, .block = x->block, .W = x->W, .q = x->q};
}

/* The law, block by block: r in the cone, u + mu|u_T| n in its dual, orthogonal. */
static double law_error(const random_problem* x, const double* r) {
  double u[ROWS], worst = 0.0, size = 1e-300;
  kn_problem_velocity(u, &x->p, r);
  for (int i = 0; i < x->p.rows; i++) size = fmax(size, fmax(fabs(r[i]), fabs(u[i])));
  for (int b = 0; b < x->p.blocks; b++) {
    const kn_block* k = &x->block[b];
    const double *f = r + k->row, *w = u + k->row;
    double rt = 0.0, ut = 0.0, dot = f[0] * w[0];
    for (int i = 1; i < kn_set_rows(k->set); i++) rt += f[i] * f[i], ut += w[i] * w[i], dot += f[i] * w[i];
    rt = sqrt(rt), ut = sqrt(ut);
    worst = fmax(worst, (rt - k->mu * f[0]) / size);
    worst = fmax(worst, -w[0] / size);
    worst = fmax(worst, fabs(dot + k->mu * ut * f[0]) /
                            (size * size)); /* r·û = 0: friction at its most, against u_T */
  }
  return worst;
}

TEST(random_cones_of_any_dimension) {
  kn_rng g = kn_rng_seed(7);
  int bad = 0, count = 300 * (kn_test_effort() > 1 ? 10 : 1), steps = 0;
  double worst = 0.0;
  for (int k = 0; k < count; k++) {
    random_problem x;
    int blocks = 1 + (int)(kn_rng_unit(&g) * 6), rank = 3 + (int)(kn_rng_unit(&g) * 30);
    make(&x, &g, blocks, rank, 0.0);
    kn_solver_work* work = NULL;
    kn_solve_info info;
    double r[ROWS] = {0};
    if (!CHECK_OK(kn_solver_work_create(&work, ROWS, BLOCKS, 0))) return;
    kn_problem_solve(r, &info, &x.p, NULL, work);
    double e = law_error(&x, r);
    bad += info.status != KN_OK;
    steps += info.iterations;
    if (info.status == KN_OK) worst = fmax(worst, e);
    kn_solver_work_destroy(work);
  }
  printf("  %d problems, %d unsolved, law broken by %.1e, %.1f steps each\n", count, bad, worst,
         (double)steps / count);
  CHECK(bad == 0);
  CHECK(steps <= 6 * count); /* 7.5 by smoothing alone */
  CHECK_BELOW(worst, 1e-9);  /* ten times the tolerance: sizes are measured differently */
}

/* r <- P(r - rho û), P written out; contracts where W is well conditioned. */
static void by_projections(double* r, const random_problem* x, double rho, int count) {
  int n = x->p.rows;
  memset(r, 0, (size_t)n * sizeof *r);
  for (int it = 0; it < count; it++) {
    double u[ROWS];
    kn_problem_velocity(u, &x->p, r);
    for (int b = 0; b < x->p.blocks; b++) {
      const kn_block* k = &x->block[b];
      int rows = kn_set_rows(k->set);
      double *f = r + k->row, ut = 0.0, t = 0.0;
      for (int i = 1; i < rows; i++) ut += u[k->row + i] * u[k->row + i];
      f[0] -= rho * (u[k->row] + k->mu * sqrt(ut));
      for (int i = 1; i < rows; i++) f[i] -= rho * u[k->row + i], t += f[i] * f[i];
      t = sqrt(t);
      if (t <= k->mu * f[0]) continue;
      double s = fmax(0.0, (f[0] + k->mu * t) / (1.0 + k->mu * k->mu));
      for (int i = 1; i < rows; i++) f[i] *= t > 0.0 ? k->mu * s / t : 0.0;
      f[0] = s;
    }
  }
}

TEST(agrees_with_projections) {
  kn_rng g = kn_rng_seed(11);
  double worst = 0.0;
  int compared = 0;
  for (int k = 0; k < 60; k++) {
    random_problem x;
    make(&x, &g, 1 + k % 3, ROWS, 20.0); /* condition of order 10, small mu |W|: one solution */
    for (int b = 0; b < x.p.blocks; b++) x.block[b].mu *= 0.3;
    kn_solver_work* work = NULL;
    double r[ROWS] = {0}, s[ROWS], apart = 0.0, size = 0.0;
    if (!CHECK_OK(kn_solver_work_create(&work, ROWS, BLOCKS, 0))) return;
    CHECK_OK(kn_problem_solve(r, NULL, &x.p, NULL, work));
    by_projections(s, &x, 1.0 / 80.0, 20000);
    for (int i = 0; i < x.p.rows; i++) apart = fmax(apart, fabs(r[i] - s[i])), size = fmax(size, fabs(r[i]));
    if (size > 0.0) worst = fmax(worst, apart / size), compared++;
    kn_solver_work_destroy(work);
  }
  printf("  %d problems, worst difference %.1e\n", compared, worst);
  CHECK(compared > 30);
  CHECK_BELOW(worst, 1e-8); /* both solve to 1e-10 of their sizes; condition 10 */
}

TEST(other_solvers_say_that_they_do_not_know_it) {
  kn_rng g = kn_rng_seed(3);
  random_problem x;
  make(&x, &g, 4, 30, 1.0);
  x.block[0].set = KN_SET_CONE3; /* whatever came: one of them is tall below */
  int rows = 0;
  for (int b = 0; b < 4; b++) {
    x.block[b].set = b == 1 ? KN_SET_CONE6 : KN_SET_CONE3;
    x.block[b].row = rows;
    rows += kn_set_rows(x.block[b].set);
  }
  for (int i = 0; i < rows * rows; i++) x.W[i] = i % (rows + 1) == 0;
  for (int i = 0; i < rows; i++) x.q[i] = -1.0;
  x.p.rows = rows;
  kn_solver_work* work = NULL;
  double r[ROWS] = {0};
  if (!CHECK_OK(kn_solver_work_create(&work, ROWS, BLOCKS, 0))) return;
  for (const kn_cone_solver* s = kn_cone_solvers(); s->name; s++) {
    kn_solve_settings set = kn_solve_default();
    set.solver = s->name;
    kn_status status = kn_problem_solve(r, NULL, &x.p, &set, work);
    CHECK(status == (s->tall ? KN_OK : KN_UNSUPPORTED));
  }
  kn_verdict verdict;
  CHECK_OK(kn_problem_verdict(&verdict, &x.p, NULL, work));
  CHECK(verdict.kind == KN_VERDICT_UNDECIDED);
  kn_solver_work_destroy(work);
}

/* A little later: the same law with q moved by 1 %, from the old answer. Answered by modes (one factor, or a path of
   changes) instead of the general solver, the law obeyed, and the same bits from every instruction set. */
TEST(warm_starts_keep_the_modes_of_cones_of_any_dimension) {
  static const kn_solve_settings warm = {.solver = "driver", .tol = 1e-10, .warm_start = true};
  kn_rng g = kn_rng_seed(23);
  int by_modes = 0, total = 0, level = kn_cpu_level();
  double worst = 0.0;
  kn_solver_work* work = NULL;
  if (!CHECK_OK(kn_solver_work_create(&work, ROWS, BLOCKS, 0))) return;
  for (int k = 0; k < 200; k++) {
    random_problem x;
    double old[ROWS] = {0}, r[ROWS], first[ROWS];
    kn_solve_info info;
    make(&x, &g, 1 + k % 8, 3 + k % 40, 0.0);
    if (kn_problem_solve(old, NULL, &x.p, NULL, work) != KN_OK) continue;
    for (int i = 0; i < x.p.rows; i++) x.q[i] *= 1.0 + 0.01 * uniform(&g, -1, 1);
    for (int l = KN_CPU_BASE; l <= level; l++) {
      memcpy(r, old, sizeof r);
      kn_cpu_limit(l);
      if (kn_problem_solve(r, &info, &x.p, &warm, work) != KN_OK) break; /* q has left the range of W */
      if (l == KN_CPU_BASE) memcpy(first, r, sizeof first);
      CHECK(memcmp(first, r, (size_t)x.p.rows * sizeof *r) == 0);
    }
    kn_cpu_limit(level);
    if (info.status != KN_OK) continue;
    total++, by_modes += strcmp(info.solver, "smooth") != 0;
    worst = fmax(worst, law_error(&x, r));
  }
  printf("  %d of %d by modes, law broken by %.1e\n", by_modes, total, worst);
  CHECK(total > 100);
  CHECK(by_modes * 20 >= total * 19); /* 95 in 100: the shortcut is taken, not only tried */
  CHECK_BELOW(worst, 1e-9);           /* ten times the tolerance: sizes are measured differently */
  kn_solver_work_destroy(work);
}
