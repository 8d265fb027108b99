/* The point nearest to a given one within an affine set and friction cones: against Dykstra's alternating
   projections, which share no line with the Newton method, and by what the answer must fulfil. */
#include "step/audit/nearest.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { N = 24, R = 12 };

static unsigned long long seed = 7;
static double uniform(void) { /* -1 … 1 */
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(long long)seed / 9223372036854775808.0;
}

typedef struct problem {
  int n, rank, blocks;
  kn_near_block block[N];
  double B[N * N], from[N], p[N];
} problem;

static void cone(double* x, const kn_near_block* b) {
  if (b->entries == 1) {
    x[0] = x[0] > 0 ? x[0] : 0;
    return;
  }
  double s = hypot(x[1], x[2]), m = b->mu;
  if (s <= m * x[0]) return;
  double n = fmax(0.0, (x[0] + m * s) / (1 + m * m));
  for (int k = 1; k < 3; k++) x[k] = s > 0 ? m * n * x[k] / s : 0;
  x[0] = n;
}

/* How far x is from the cones. */
static double outside(const problem* q, const double* x) {
  double most = 0;
  for (int i = 0; i < q->blocks; i++) {
    const double* f = x + q->block[i].at;
    most = fmax(most, -f[0]);
    if (q->block[i].entries == 3) most = fmax(most, hypot(f[1], f[2]) - q->block[i].mu * f[0]);
  }
  return most;
}

static double off_motion(const problem* q, const double* x) {
  double most = 0;
  for (int r = 0; r < q->rank; r++) {
    double sum = 0;
    for (int i = 0; i < q->n; i++) sum += q->B[r * q->n + i] * (x[i] - q->from[i]);
    most = fmax(most, fabs(sum));
  }
  return most;
}

/* Contacts of every kind, random rows of which some repeat, and a start on or within its cones. */
static problem make(void) {
  problem q = {0};
  int rows = 2 + (int)(5 * (1 + uniform()));
  while (q.n < 18) {
    kn_near_block* b = &q.block[q.blocks++];
    *b = (kn_near_block){.at = q.n, .entries = uniform() < 0.3 ? 3 : 1, .mu = 0.6 + 0.5 * uniform()};
    for (int k = 0; k < b->entries; k++) q.from[q.n + k] = uniform(), q.p[q.n + k] = 2 * uniform();
    cone(q.from + q.n, b);
    q.n += b->entries;
  }
  double* A = malloc((size_t)(rows * q.n) * sizeof *A);
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < q.n; i++) A[r * q.n + i] = r > 3 && r % 3 == 0 ? A[(r - 2) * q.n + i] : uniform();
  q.rank = kn_near_basis(q.B, rows, q.n, A, 1e-9);
  free(A);
  return q;
}

static void dykstra(double* x, const problem* q, int turns) {
  double a[N] = {0}, c[N] = {0}, y[N];
  memcpy(x, q->p, sizeof q->p);
  for (int turn = 0; turn < turns; turn++) {
    for (int i = 0; i < q->n; i++) y[i] = x[i] + a[i];
    for (int r = 0; r < q->rank; r++) {
      double sum = 0;
      for (int i = 0; i < q->n; i++) sum += q->B[r * q->n + i] * (y[i] - q->from[i]);
      for (int i = 0; i < q->n; i++) y[i] -= sum * q->B[r * q->n + i];
    }
    for (int i = 0; i < q->n; i++) a[i] += x[i] - y[i], x[i] = y[i] + c[i];
    for (int i = 0; i < q->blocks; i++) cone(x + q->block[i].at, &q->block[i]);
    for (int i = 0; i < q->n; i++) c[i] += y[i] - x[i];
  }
}

static double distance(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum);
}

TEST(the_nearest_point_is_that_of_alternating_projections) {
  int found = 0, tried = 200 * kn_test_effort();
  double worst = 0;
  for (int k = 0; k < tried; k++) {
    problem q = make();
    kn_near set = {q.n, q.rank, q.blocks, q.block, q.B, q.from};
    double x[N], y[N], *scratch = malloc((size_t)kn_near_room(q.n, q.rank) * sizeof *scratch);
    if (kn_near_point(x, &set, q.p, scratch)) {
      found++;
      CHECK_BELOW(outside(&q, x), 1e-12);    /* by construction, up to rounding */
      CHECK_BELOW(off_motion(&q, x), 1e-10); /* what the method promises */
      CHECK_BELOW(distance(x, q.p, q.n), distance(q.from, q.p, q.n) + 1e-9);
      dykstra(y, &q, 20000);
      if (off_motion(&q, y) < 1e-9 && outside(&q, y) < 1e-9) /* it has converged: linear, 1e-9 at best */
        worst = fmax(worst, distance(x, y, q.n));
    } else
      CHECK_BITS(x, q.from, (size_t)q.n);
    free(scratch);
  }
  printf("  %d of %d found, at most %.1e from Dykstra's\n", found, tried, worst);
  CHECK_BELOW(worst, 1e-6); /* two points with errors of 1e-9 across faces that meet at small angles */
  CHECK(found >= tried * 98 / 100);
}

TEST(what_is_nearest_already_stays) {
  problem q = make();
  kn_near set = {q.n, q.rank, q.blocks, q.block, q.B, q.from};
  double x[N], *scratch = malloc((size_t)kn_near_room(q.n, q.rank) * sizeof *scratch);
  CHECK(kn_near_point(x, &set, q.from, scratch));
  CHECK_ARRAY(x, q.from, (size_t)q.n, 1e-13);
  free(scratch);
}

TEST(a_basis_has_the_rank_of_its_rows) {
  double A[] = {1, 2, 3, 2, 4, 6, 0, 1, 1, 1, 3, 4}, B[12];
  CHECK_INT(kn_near_basis(B, 4, 3, A, 1e-9), 2);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      CHECK_NEAR(B[3 * i] * B[3 * j] + B[3 * i + 1] * B[3 * j + 1] + B[3 * i + 2] * B[3 * j + 2], i == j,
                 1e-15);
}
