/* Warm starts in which every contact sticks (src/comp/cone/stick.c): the answer of a cold start, the same bits on
   every instruction set, nothing allocated; what begins to slide is left to others. */
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "knuckle/comp.h"
#include "test.h"

enum { CONTACTS = 10, ROWS = 3 * CONTACTS, DOFS = 34 };

typedef struct standing {
  double J[ROWS][DOFS], W[ROWS * ROWS], q[ROWS], r[ROWS];
  kn_block block[CONTACTS];
  kn_problem p;
} standing;

/* Contacts that carry r with friction to spare: q = -W r. dofs < rows: redundant. */
static void generate(standing* g, kn_rng* rng, int contacts, int dofs, double share) {
  int n = 3 * contacts;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < dofs; k++) g->J[i][k] = kn_rng_normal(rng);
  for (int b = 0; b < contacts; b++) {
    g->block[b] = (kn_block){.set = KN_SET_CONE3, .row = 3 * b, .mu = 0.8};
    double *r = g->r + 3 * b, a = 6.28 * kn_rng_unit(rng);
    r[0] = 0.5 + kn_rng_unit(rng);
    r[1] = share * 0.8 * r[0] * cos(a), r[2] = share * 0.8 * r[0] * sin(a);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0.0;
      for (int k = 0; k < dofs; k++) sum += g->J[i][k] * g->J[j][k];
      g->W[i * n + j] = g->W[j * n + i] = sum;
    }
  for (int i = 0; i < n; i++) {
    g->q[i] = 0.0;
    for (int j = 0; j < n; j++) g->q[i] -= g->W[i * n + j] * g->r[j];
  }
  g->p = (kn_problem){.rows = n, .blocks = contacts, .block = g->block, .W = g->W, .q = g->q};
}

TEST(standing_contacts_are_answered_alike_on_every_instruction_set) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, CONTACTS, 0));
  kn_rng rng = kn_rng_seed(17);
  kn_solve_settings s = kn_solve_default();
  s.warm_start = true;
  int level = kn_cpu_level(), by_stick = 0, total = 0;
  for (int k = 0; k < 300; k++) {
    standing g;
    double guess[ROWS], first[ROWS], r[ROWS];
    kn_solve_info info;
    generate(&g, &rng, 1 + k % CONTACTS, k % 3 ? DOFS : 12, 0.7);
    for (int i = 0; i < g.p.rows; i++) guess[i] = g.r[i] * (1.0 + 1e-2 * kn_rng_normal(&rng));
    for (int l = KN_CPU_BASE; l <= level; l++) {
      kn_cpu_limit(l);
      memcpy(r, guess, sizeof r);
      size_t before = kn_test_allocations();
      CHECK_OK(kn_problem_solve(r, &info, &g.p, &s, work));
      CHECK_INT(kn_test_allocations() - before, 0);
      CHECK_BELOW(info.residual_scaled, 1e-12); /* two steps of a factor that is off by 1e-8 */
      if (l == KN_CPU_BASE) memcpy(first, r, sizeof r);
      CHECK_BITS(r, first, (size_t)g.p.rows);
    }
    kn_cpu_limit(level);
    by_stick += !strcmp(info.solver, "stick"), total++;
  }
  CHECK(by_stick * 10 >= total * 8); /* planar and tiny ones go other ways */
  kn_solver_work_destroy(work);
}

/* The same contacts with less friction than they need. */
TEST(contacts_that_begin_to_slide_are_left_to_others) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, CONTACTS, 0));
  kn_rng rng = kn_rng_seed(18);
  kn_solve_settings s = kn_solve_default();
  s.warm_start = true;
  for (int k = 0; k < 100; k++) {
    standing g;
    kn_solve_info info;
    double r[ROWS];
    generate(&g, &rng, 1 + k % CONTACTS, DOFS, 1.2); /* q asks for r outside the cones */
    for (int i = 0; i < g.p.rows; i++) r[i] = i % 3 ? 0.0 : g.r[i];
    CHECK_OK(kn_problem_solve(r, &info, &g.p, &s, work));
    CHECK(strcmp(info.solver, "stick") != 0);
    CHECK_BELOW(kn_problem_error_scaled(&g.p, r), s.tol);
  }
  kn_solver_work_destroy(work);
}
