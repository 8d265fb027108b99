/* Heaps in the space of their bodies: K = I + G^T E G against the same matrix written out, the same bits from
   every kernel, and the interior point that uses it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/cone/driver.h"
#include "cone_problems.h"
#include "test.h"

typedef struct heap {
  kn_pile pile;
  kn_arena arena;
  kn_pair_nodes nodes;
  int stride;
  double *d, *E; /* 3 and 9 per block */
} heap;

static void make(heap* h, kn_heap kind, int contacts, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  kn_arena measure = {0};
  *h = (heap){0};
  kn_pile_make(&h->pile, &rng, kind, contacts, 0.5, 0.01);
  int n = h->pile.contacts;
  h->stride = n + 3;
  kn_pairs_take(&h->nodes, &measure, h->pile.bodies, n);
  CHECK_OK(kn_arena_create(&h->arena, measure.used));
  kn_pairs_take(&h->nodes, &h->arena, h->pile.bodies, n);
  h->d = calloc(3 * (size_t)h->stride, sizeof *h->d);
  h->E = calloc(9 * (size_t)h->stride, sizeof *h->E);
  for (int i = 0; i < 3 * h->stride; i++) h->d[i] = kn_rng_range(&rng, 0.5, 2.0);
  for (int b = 0; b < n; b++) /* not symmetric, its symmetric part positive: K is regular */
    for (int k = 0; k < 9; k++)
      h->E[k * h->stride + b] =
          (k % 4 ? 0.0 : 1.0) * exp(kn_rng_range(&rng, -5.0, 5.0)) + kn_rng_range(&rng, -1e-3, 1e-3);
  CHECK(kn_pairs_load(&h->nodes, &h->pile.pairs, n, h->d, h->stride));
}

static void drop(heap* h) {
  kn_pile_free(&h->pile);
  kn_arena_destroy(&h->arena);
  free(h->d);
  free(h->E);
}

/* out = G^T f and f = G y straight from the pairs, bodies in their own order. */
static void gathered(double* out, const heap* h, const double* f) {
  memset(out, 0, 6 * (size_t)h->pile.bodies * sizeof *out);
  for (int b = 0; b < h->pile.contacts; b++)
    for (int side = 0; side < 2; side++)
      for (int i = 0, k = h->pile.pairs.body[2 * b + side]; i < 18 && k >= 0; i++)
        out[6 * k + i % 6] +=
            h->pile.pairs.G[36 * b + 18 * side + i] * h->d[i / 6 * h->stride + b] * f[3 * b + i / 6];
}

static void scattered(double* f, const heap* h, const double* y) {
  memset(f, 0, 3 * (size_t)h->pile.contacts * sizeof *f);
  for (int b = 0; b < h->pile.contacts; b++)
    for (int side = 0; side < 2; side++)
      for (int i = 0, k = h->pile.pairs.body[2 * b + side]; i < 18 && k >= 0; i++)
        f[3 * b + i / 6] +=
            h->pile.pairs.G[36 * b + 18 * side + i] * h->d[i / 6 * h->stride + b] * y[6 * k + i % 6];
}

/* y + G^T E G y = x to 1e-11 of the largest term: E spans e^10, the factors lose that much of 1e-16 and the
   heap's own condition of some hundreds. */
static void solves(kn_heap kind, int contacts) {
  heap h;
  make(&h, kind, contacts, 7);
  int n = 6 * h.pile.bodies, m = 3 * h.pile.contacts;
  double *x = calloc((size_t)n, 8), *y = calloc((size_t)n, 8), *z = calloc((size_t)n, 8),
         *f = calloc((size_t)m, 8), *e = calloc((size_t)m, 8), most = 0.0, off = 0.0;
  kn_rng rng = kn_rng_seed(11);
  const kn_pair_ops* ops = kn_pair_kernels();
  CHECK(ops->factor(&h.nodes, h.E, h.stride));
  for (int i = 0; i < n; i++) {
    x[i] = kn_rng_normal(&rng);
    h.nodes.y[8 * h.nodes.position[i / 6] + i % 6] = x[i];
  }
  for (int k = 0; k < h.pile.bodies; k++) h.nodes.y[8 * k + 6] = h.nodes.y[8 * k + 7] = 0.0;
  ops->solve(&h.nodes);
  for (int i = 0; i < n; i++) y[i] = h.nodes.y[8 * h.nodes.position[i / 6] + i % 6];
  scattered(f, &h, y);
  for (int b = 0; b < h.pile.contacts; b++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) e[3 * b + i] += h.E[(3 * i + j) * h.stride + b] * f[3 * b + j];
  gathered(z, &h, e);
  for (int i = 0; i < n; i++) {
    most = fmax(most, fmax(fabs(z[i]), fabs(x[i])));
    off = fmax(off, fabs(y[i] + z[i] - x[i]));
  }
  printf("%d contacts of %d bodies, %d entries: off by %.1e\n", h.pile.contacts, h.pile.bodies,
         h.nodes.column[h.nodes.nodes], off / most);
  CHECK(off <= 1e-11 * most);
  free(x), free(y), free(z), free(f), free(e);
  drop(&h);
}

TEST(factors_of_spheres) { solves(KN_HEAP_SPHERES, 300); }
TEST(factors_of_many_bricks) { solves(KN_HEAP_BRICKS, 8000); }
TEST(factors_of_bricks) { solves(KN_HEAP_BRICKS, 300); }

/* gather and scatter are G^T and G: compared with the sums written out, to rounding of some dozen terms. */
TEST(products) {
  heap h;
  make(&h, KN_HEAP_BRICKS, 200, 3);
  int n = h.pile.contacts;
  double *f = calloc(3 * (size_t)h.stride, 8), *flat = calloc(3 * (size_t)n, 8),
         *y = calloc(6 * (size_t)h.pile.bodies, 8);
  kn_rng rng = kn_rng_seed(5);
  for (int b = 0; b < n; b++)
    for (int i = 0; i < 3; i++) f[i * h.stride + b] = flat[3 * b + i] = kn_rng_normal(&rng);
  const kn_pair_ops* ops = kn_pair_kernels();
  ops->gather(&h.nodes, f, h.stride);
  gathered(y, &h, flat);
  for (int i = 0; i < 6 * h.pile.bodies; i++)
    CHECK_NEAR(h.nodes.y[8 * h.nodes.position[i / 6] + i % 6], y[i], 1e-12);
  ops->scatter(f, h.stride, &h.nodes);
  scattered(flat, &h, y);
  for (int b = 0; b < n; b++)
    for (int i = 0; i < 3; i++) CHECK_NEAR(f[i * h.stride + b], flat[3 * b + i], 1e-11);
  free(f), free(flat), free(y);
  drop(&h);
}

TEST(same_bits_from_every_kernel) {
  heap one, two;
  make(&one, KN_HEAP_SPHERES, 200, 9);
  make(&two, KN_HEAP_SPHERES, 200, 9);
  size_t n = 8 * (size_t)one.pile.bodies;
  for (size_t i = 0; i < n; i++) one.nodes.y[i] = two.nodes.y[i] = i % 8 < 6 ? sin((double)i) : 0.0;
  CHECK(kn_pair_ops_base.factor(&one.nodes, one.E, one.stride));
  CHECK(kn_pair_kernels()->factor(&two.nodes, two.E, two.stride));
  kn_pair_ops_base.solve(&one.nodes);
  kn_pair_kernels()->solve(&two.nodes);
  CHECK(memcmp(one.nodes.y, two.nodes.y, n * sizeof(double)) == 0);
  drop(&one);
  drop(&two);
}

/* Everything that a crew shares, one after the other: loads, factors, solves, multiplies by G, G^T. */
static void all_passes(double* f, heap* h, kn_crew* crew) {
  const kn_pair_ops* ops = kn_pair_kernels();
  h->nodes.crew = crew;
  CHECK(kn_pairs_load(&h->nodes, &h->pile.pairs, h->pile.contacts, h->d, h->stride));
  for (int i = 0; i < 3 * h->stride; i++) f[i] = sin((double)i);
  CHECK(ops->factor(&h->nodes, h->E, h->stride));
  ops->gather(&h->nodes, f, h->stride);
  ops->solve(&h->nodes);
  ops->scatter(f, h->stride, &h->nodes);
}

/* A heap of several tasks and many panels, by crews of any size. */
TEST(same_bits_for_any_threads) {
  static const int threads[] = {2, 3, 8};
  heap h;
  make(&h, KN_HEAP_BRICKS, 8000, 5);
  size_t n = 3 * (size_t)h.stride;
  double *one = calloc(n, 8), *many = calloc(n, 8);
  all_passes(one, &h, NULL);
  printf("%d contacts, %d tasks, %d panels\n", h.pile.contacts, h.nodes.tasks,
         h.nodes.groups - h.nodes.tasks);
  CHECK(h.nodes.tasks > 1 && h.nodes.groups - h.nodes.tasks > 8 && h.pile.contacts >= KN_PAIRS_SHARE);
  for (int k = 0; k < 3; k++) {
    kn_crew* crew;
    if (!CHECK_OK(kn_crew_create(&crew, threads[k]))) continue;
    all_passes(many, &h, crew);
    CHECK(memcmp(one, many, n * sizeof *one) == 0);
    kn_crew_destroy(crew);
  }
  free(one), free(many);
  drop(&h);
}

/* The same order and factors again for the same bodies, others for others. */
TEST(order_follows_the_bodies) {
  heap h;
  make(&h, KN_HEAP_SPHERES, 150, 21);
  int last = h.nodes.column[h.nodes.nodes], *body = calloc(2 * (size_t)h.pile.contacts, sizeof *body);
  CHECK(kn_pairs_load(&h.nodes, &h.pile.pairs, h.pile.contacts, h.d, h.stride));
  CHECK_INT(h.nodes.column[h.nodes.nodes], last);
  for (int b = 0; b < h.pile.contacts; b++) /* everything on the ground: no pairs are left */
    body[2 * b] = h.pile.pairs.body[2 * b], body[2 * b + 1] = -1;
  kn_pairs alone = {h.pile.bodies, body, h.pile.pairs.G};
  CHECK(kn_pairs_load(&h.nodes, &alone, h.pile.contacts, h.d, h.stride));
  CHECK_INT(h.nodes.column[h.nodes.nodes], 0);
  CHECK(kn_pair_kernels()->factor(&h.nodes, h.E, h.stride));
  free(body);
  drop(&h);
}

static void along_the_path(kn_drive* s) { kn_drive_heap(s, 40); }

/* Bodies that do not exist, a block between a body and itself: refused. G that is not that of W, or not
   finite: the judge knows only W, so the answer is still one, found by other methods. */
TEST(wrong_pairs) {
  kn_rng rng = kn_rng_seed(13);
  kn_pile p;
  kn_solver_work* work = NULL;
  kn_pile_make(&p, &rng, KN_HEAP_BRICKS, 60, 0.5, 0.0);
  CHECK_OK(kn_solver_work_for(&work, &p.problem));
  kn_solve_settings settings = kn_solve_default();
  settings.tol = 1e-6;
  double* r = calloc((size_t)p.problem.rows, 8);
  int *body = (int*)(uintptr_t)p.pairs.body, last = body[7];
  body[7] = p.bodies;
  CHECK_INT(kn_problem_solve(r, NULL, &p.problem, &settings, work), KN_BAD_ARGUMENT);
  body[7] = body[6];
  CHECK_INT(kn_problem_solve(r, NULL, &p.problem, &settings, work), KN_BAD_ARGUMENT);
  body[7] = last;
  for (int k = 0; k < 2; k++) {
    ((double*)(uintptr_t)p.pairs.G)[5] = k ? NAN : 1e3;
    memset(r, 0, (size_t)p.problem.rows * sizeof *r);
    settings.warm_start = true;
    CHECK_OK(kn_problem_solve(r, NULL, &p.problem, &settings, work));
    CHECK(kn_problem_error(&p.problem, r) <= 1e-6 && kn_problem_error_scaled(&p.problem, r) <= 1e-6);
    kn_solve_info info; /* the path alone: it may fail, but says so, and leaves numbers */
    memset(r, 0, (size_t)p.problem.rows * sizeof *r);
    kn_status status = kn_drive_run(r, &info, &p.problem, &settings, work, along_the_path);
    CHECK(status == KN_OK ? kn_problem_error(&p.problem, r) <= 1e-6 : status == KN_NOT_CONVERGED);
    for (int i = 0; i < p.problem.rows; i++) CHECK(isfinite(r[i]));
  }
  free(r);
  kn_solver_work_destroy(work);
  kn_pile_free(&p);
}

/* From nothing along the central path: Coulomb's law to 1e-6 on the original data, and the motion of the
   other methods. v⁺ is not unique with friction in general, but these heaps come to rest: u = 0 wherever a
   contact is closed, to 1e-5 of the velocity of fall of a step. */
TEST(path_from_nothing) {
  kn_rng rng = kn_rng_seed(13);
  kn_pile p;
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_pile_make(&p, &rng, KN_HEAP_BRICKS, 200, 0.5, 0.0);
  CHECK_OK(kn_solver_work_for(&work, &p.problem));
  kn_solve_settings settings = kn_solve_default();
  settings.tol = 1e-6;
  double *r = calloc((size_t)p.problem.rows, 8), *u = calloc((size_t)p.problem.rows, 8), most = 0.0;
  CHECK_OK(kn_drive_run(r, &info, &p.problem, &settings, work, along_the_path));
  CHECK(kn_problem_error(&p.problem, r) <= 1e-6 && kn_problem_error_scaled(&p.problem, r) <= 1e-6);
  kn_problem_velocity(u, &p.problem, r);
  for (int i = 0; i < p.problem.rows; i++) most = fmax(most, fabs(u[i]));
  printf("%d contacts: %d steps, residual %.1e, velocity %.1e\n", p.contacts, info.iterations, info.residual,
         most);
  CHECK(most <= 1e-6 * 9.81e-3 * p.bodies);
  free(r), free(u);
  kn_solver_work_destroy(work);
  kn_pile_free(&p);
}

static void points(kn_heap_work* h, kn_arena* arena) {
  kn_arena measure = {0};
  kn_rng rng = kn_rng_seed(17);
  kn_heap_take(h, &measure, 64, 64);
  CHECK_OK(kn_arena_create(arena, measure.used));
  kn_heap_take(h, arena, 64, 64);
  h->contacts = 61, h->stride = 64;
  for (int i = 64; i < 192; i++) h->x[i] = kn_rng_normal(&rng), h->s[i] = 1e-3 * kn_rng_normal(&rng);
  for (int i = 0; i < 64; i++) {
    h->x[i] = hypot(h->x[64 + i], h->x[128 + i]) + exp(kn_rng_range(&rng, -9.0, 0.0));
    h->s[i] = hypot(h->s[64 + i], h->s[128 + i]) + exp(kn_rng_range(&rng, -9.0, 0.0));
  }
  for (int i = 0; i < 192; i++) h->u[i] = kn_rng_normal(&rng), h->f[i] = kn_rng_normal(&rng);
}

static double one_step(kn_heap_work* h, const kn_heap_ops* k) {
  k->scale(h);
  k->right(h);
  k->rest(h);
  k->direction(h);
  k->correct(h, 0.01, 1.0);
  k->right(h);
  return k->direction(h);
}

/* The same bits from every kernel; B ds = f - R, dx = a - E B ds, and the longest step ends on a cone. */
TEST(steps_of_contacts) {
  kn_heap_work one = {0}, two = {0};
  kn_arena a = {0}, b = {0};
  points(&one, &a);
  points(&two, &b);
  double far = one_step(&one, &kn_heap_ops_base), gap = kn_heap_ops_base.gap(&one, 0.3 * far), total = 0.0;
  CHECK(far == one_step(&two, kn_heap_kernels()));
  CHECK(gap == kn_heap_kernels()->gap(&two, 0.3 * far));
  CHECK(memcmp(one.dx, two.dx, 192 * sizeof(double)) == 0 &&
        memcmp(one.ds, two.ds, 192 * sizeof(double)) == 0);
  CHECK(memcmp(one.reach, two.reach, 64 * sizeof(double)) == 0);
  for (int i = 0; i < 61; i++) CHECK(far <= one.reach[i]);
  for (int i = 0; i < 64; i++) {
    double t1 = one.t[64 + i], t2 = one.t[128 + i], *ds = one.ds;
    double B[3] = {ds[i] - (t1 * ds[64 + i] + t2 * ds[128 + i]), ds[64 + i], ds[128 + i]};
    for (int k = 0; k < 3; k++) CHECK_NEAR(B[k], one.f[64 * k + i] - one.R[64 * k + i], 1e-12);
    for (int k = 0; k < 3; k++) { /* dx = a - E B ds */
      double sum = one.a[64 * k + i], size = fabs(sum);
      for (int j = 0; j < 3; j++)
        sum -= one.E[64 * (3 * k + j) + i] * B[j], size += fabs(one.E[64 * (3 * k + j) + i] * B[j]);
      CHECK_NEAR(one.dx[64 * k + i], sum, 1e-14 * size + 1e-300);
    }
    double X[3], S[3], w = fmin(one.reach[i], 1e6), least;
    for (int k = 0; k < 3; k++)
      X[k] = one.x[64 * k + i] + w * one.dx[64 * k + i], S[k] = one.s[64 * k + i] + w * one.ds[64 * k + i];
    least = fmin(X[0] - hypot(X[1], X[2]), S[0] - hypot(S[1], S[2])); /* the step ends on a cone */
    if (one.reach[i] < 1e6) CHECK(fabs(least) <= 1e-6 * (fabs(X[0]) + fabs(S[0])));
  }
  kn_heap_ops_base.advance(&one, 0.3 * far);
  kn_heap_kernels()->advance(&two, 0.3 * far);
  CHECK(memcmp(one.x, two.x, 192 * sizeof(double)) == 0 && memcmp(one.s, two.s, 192 * sizeof(double)) == 0);
  for (int i = 0; i < 192; i++) total += i % 64 < 61 ? one.x[i] * one.s[i] : 0.0;
  CHECK_NEAR(gap, total / 61, 1e-13 * fabs(total)); /* 183 terms of one sign but for the sliding parts */
  kn_arena_destroy(&a);
  kn_arena_destroy(&b);
}
