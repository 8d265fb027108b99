/* Baraff's three formulations on random unbalanced stacks: boxes of random mass on top of each other, four
   frictionless contacts per interface, weights and random loads. Physics: equations F1-F3 at the head of
   test/support/frictionless.h. */
#include "frictionless.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

enum { BOXES = 4, N = 6 * BOXES, CONTACTS = 4 * BOXES };

typedef struct stack {
  int n, m;
  double M[N * N], J[CONTACTS * N], Q[N];
} stack;

/* unit: length unit of the coordinates in metres (forces and rows scale with it; the answer must not). */
static void make_stack(stack* s, uint64_t seed, double unit) {
  kn_rng rng = kn_rng_seed(seed);
  int boxes = 1 + kn_rng_int(&rng, BOXES);
  memset(s, 0, sizeof *s);
  s->n = 6 * boxes;
  s->m = 4 * boxes;
  for (int b = 0; b < boxes; b++) {
    double mass = exp(kn_rng_range(&rng, -2, 2)), w = 0.5 / unit;
    for (int k = 0; k < 3; k++) {
      s->M[(6 * b + k) * s->n + 6 * b + k] = mass * unit * unit; /* velocities in units per second */
      s->M[(6 * b + 3 + k) * s->n + 6 * b + 3 + k] = mass * 0.25 * kn_rng_range(&rng, 0.5, 1.5) / 6;
      s->Q[6 * b + 3 + k] = kn_rng_normal(&rng) * mass;
    }
    s->Q[6 * b] = mass * unit * kn_rng_normal(&rng) * 2;
    s->Q[6 * b + 1] = mass * unit * kn_rng_normal(&rng) * 2;
    s->Q[6 * b + 2] = -mass * unit * 9.81;
    for (int c = 0; c < 4; c++) {
      double* row = s->J + (4 * b + c) * s->n;
      double tilt = seed % 2 ? 0 : 0.1; /* parallel normals: one force too many per interface */
      double n[3] = {tilt * kn_rng_normal(&rng), tilt * kn_rng_normal(&rng), 1};
      double r[3] = {(c & 1 ? 1 : -1) * w * kn_rng_range(&rng, .2, 1),
                     (c & 2 ? 1 : -1) * w * kn_rng_range(&rng, .2, 1), -w};
      for (int side = 0; side < 2; side++) { /* the box, and the one below with the point on its top */
        int at = 6 * (b - side);
        double sign = side ? -1 : 1, z = side ? w : -w;
        if (at < 0) break;
        for (int k = 0; k < 3; k++) row[at + k] = sign * n[k] * unit;
        row[at + 3] = sign * (r[1] * n[2] - z * n[1]) * unit;
        row[at + 4] = sign * (z * n[0] - r[0] * n[2]) * unit;
        row[at + 5] = sign * (r[0] * n[1] - r[1] * n[0]) * unit;
      }
    }
  }
}

typedef struct answer {
  double force[N], gauss[N], descent[N], lambda[CONTACTS];
  bool determinate[CONTACTS];
  kn_frictionless f;
} answer;

static bool solve(answer* a, const stack* s, bool euclidean) {
  a->f = (kn_frictionless){.force = a->force,
                           .gauss = a->gauss,
                           .descent = a->descent,
                           .lambda = a->lambda,
                           .determinate = a->determinate};
  return CHECK_OK(kn_frictionless_solve(&a->f, s->n, s->m, s->M, s->J, s->Q, euclidean));
}

static double norm_M(const stack* s, const double* x) {
  double sum = 0;
  for (int i = 0; i < s->n; i++) sum += x[i] * x[i] * s->M[i * s->n + i];
  return sqrt(sum);
}

TEST(three_formulations_agree_on_unbalanced_stacks) {
  int count = 100 * kn_test_effort(), with_descent = 0, indeterminate = 0;
  double worst_a = 0, worst_d = 0, worst_gap = 0;
  static stack s;
  static answer a;
  for (int i = 0; i < count; i++) {
    make_stack(&s, (uint64_t)i, 1);
    if (!solve(&a, &s, false)) return;
    double size = fmax(1, norm_M(&s, a.force)), d[N];
    for (int k = 0; k < s.n; k++) d[k] = a.force[k] - a.gauss[k];
    worst_a = fmax(worst_a, norm_M(&s, d) / size);
    worst_gap = fmax(worst_gap, fabs(a.f.gap));
    for (int k = 0; k < s.m; k++) indeterminate += !a.determinate[k];
    if (!a.f.has_descent) continue;
    double scale = norm_M(&s, a.force);
    for (int k = 0; k < s.n; k++) d[k] = a.descent[k] - a.force[k] / scale;
    worst_d = fmax(worst_d, norm_M(&s, d));
    CHECK_REL(a.f.value, -scale, 1e-7);
    with_descent++;
  }
  CHECK_NEAR(worst_a, 0, 1e-9);
  CHECK_NEAR(worst_gap, 0, 1e-10);
  CHECK_NEAR(worst_d, 0,
             1e-7); /* the barrier ends at 1e-14 of the objective, flat directions double the digits lost */
  CHECK(with_descent > count / 2);
  CHECK(indeterminate > 0); /* four contacts under one box are one too many */
  printf(
      "  %d stacks: |a1 - a2| %.2g, gap %.2g, direction %.2g (%d with a descent), %d indeterminate forces\n",
      count, worst_a, worst_gap, worst_d, with_descent, indeterminate);
}

/* In other units of length the M-norm gives the same motion, the Euclidean norm another: it is the wrong
 * norm. */
TEST(the_euclidean_norm_depends_on_units) {
  double angle[2] = {0, 0};
  static stack s[2];
  static answer a[2];
  for (int euclidean = 0; euclidean < 2; euclidean++)
    for (int i = 0; i < 20; i++) {
      for (int u = 0; u < 2; u++) {
        make_stack(&s[u], (uint64_t)i, u ? 0.01 : 1);
        if (!solve(&a[u], &s[u], euclidean)) return;
      }
      if (!a[0].f.has_descent || !a[1].f.has_descent) continue;
      double dot = 0; /* cosine in the M-norm after going back to metres */
      for (int k = 0; k < s[0].n; k++)
        dot += s[0].M[k * s[0].n + k] * a[0].descent[k] * a[1].descent[k] * (k % 6 < 3 ? 0.01 : 1);
      angle[euclidean] = fmax(angle[euclidean], 1 - dot);
    }
  CHECK_NEAR(angle[0], 0, 1e-9);
  CHECK(angle[1] > 1e-3);
}
