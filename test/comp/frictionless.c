/* Baraff's three formulations on random unbalanced stacks: boxes of random mass on top of each other, four
   frictionless contacts per interface, weights and random loads. Physics: the equations at the head of
   src/comp/lcp/frictionless.c. */
#include "knuckle/comp.h"

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
  double a[N], lambda[CONTACTS];
  kn_frictionless_info info;
  bool defined;
} answer;

static bool solve(answer* out, const stack* s, const double* M, const char* method) {
  kn_frictionless p = {.n = s->n, .m = s->m, .M = M, .J = s->J, .Q = s->Q};
  kn_status status = kn_frictionless_solve(out->a, out->lambda, &out->info, &p, method);
  out->defined = status == KN_OK;
  return status == KN_UNSUPPORTED ? CHECK_TEXT(method, "descent") : CHECK_OK(status);
}

static double norm_M(const stack* s, const double* x) {
  double sum = 0;
  for (int i = 0; i < s->n; i++) sum += x[i] * x[i] * s->M[i * s->n + i];
  return sqrt(sum);
}

static double apart(const stack* s, const double* a, const double* b) {
  double d[N];
  for (int k = 0; k < s->n; k++) d[k] = a[k] - b[k];
  return norm_M(s, d);
}

TEST(three_formulations_agree_on_unbalanced_stacks) {
  int count = 100 * kn_test_effort(), with_descent = 0, loose = 0;
  double worst_a = 0, worst_d = 0, worst_gap = 0, worst_barrier = 0, worst_overlap = 0;
  static stack s;
  static answer force, gauss, descent;
  for (int i = 0; i < count; i++) {
    make_stack(&s, (uint64_t)i, 1);
    if (!solve(&force, &s, s.M, "force") || !solve(&gauss, &s, s.M, "gauss") ||
        !solve(&descent, &s, s.M, "descent"))
      return;
    double size = fmax(1, force.info.norm);
    worst_a = fmax(worst_a, apart(&s, force.a, gauss.a) / size);
    worst_gap = fmax(worst_gap, fmax(fabs(force.info.gap), fabs(gauss.info.gap)));
    worst_overlap = fmax(worst_overlap, fmax(force.info.overlap, gauss.info.overlap));
    kn_frictionless_info crossed; /* the primal of one with the dual of the other */
    kn_frictionless p = {.n = s.n, .m = s.m, .M = s.M, .J = s.J, .Q = s.Q};
    if (!CHECK_OK(kn_frictionless_certify(&crossed, &p, gauss.a, force.lambda))) return;
    worst_gap = fmax(worst_gap, fabs(crossed.gap));
    for (int k = 0; k < s.m; k++) loose += fabs(force.lambda[k] - gauss.lambda[k]) > 1e-3 * size;
    if (!descent.defined) continue;
    worst_d = fmax(worst_d, apart(&s, descent.a, force.a) / fmax(force.info.norm, 1e-300));
    worst_barrier = fmax(worst_barrier, fabs(descent.info.gap));
    with_descent++;
  }
  CHECK_NEAR(worst_a, 0, 1e-9);
  CHECK_NEAR(worst_gap, 0, 1e-10);
  CHECK_NEAR(worst_overlap, 0, 1e-9);
  CHECK_NEAR(worst_d, 0,
             1e-7); /* the barrier ends at 1e-14 of the objective, flat directions double the digits lost */
  CHECK_NEAR(worst_barrier, 0, 1e-9);
  CHECK(with_descent > count / 2);
  CHECK(loose > 0); /* four contacts under one box are one too many: forces differ, the motion does not */
  printf("  %d stacks: |a1 - a2| %.2g, gap %.2g (barrier %.2g), direction %.2g (%d with a descent), %d loose "
         "forces\n",
         count, worst_a, worst_gap, worst_barrier, worst_d, with_descent, loose);
}

/* The gap sees what is wrong: an answer moved by 1e-3 of itself has a gap of ½ 1e-6 at least of its energy. */
TEST(the_gap_sees_a_wrong_answer) {
  static stack s;
  static answer force;
  for (uint64_t i = 0; i < 20; i++) {
    make_stack(&s, i, 1);
    if (!solve(&force, &s, s.M, "force")) return;
    kn_frictionless p = {.n = s.n, .m = s.m, .M = s.M, .J = s.J, .Q = s.Q};
    kn_frictionless_info info;
    double weight = 0.0;
    for (int k = 0; k < s.n; k++) weight += s.Q[k] * s.Q[k] / s.M[k * s.n + k];
    for (int k = 0; k < s.n; k++) force.a[k] *= 1.001;
    if (!CHECK_OK(kn_frictionless_certify(&info, &p, force.a, force.lambda))) return;
    CHECK_REL(info.gap, 0.5e-6 * force.info.norm * force.info.norm / weight, 1e-3);
  }
}

/* In other units of length the M-norm gives the same motion, the Euclidean norm (M = 1 in the norm) another: it is the
   wrong norm. */
TEST(the_euclidean_norm_depends_on_units) {
  double angle[2] = {0, 0};
  static stack s[2];
  static answer a[2];
  static double one[N * N];
  for (int euclidean = 0; euclidean < 2; euclidean++)
    for (int i = 0; i < 20; i++) {
      for (int u = 0; u < 2; u++) {
        make_stack(&s[u], (uint64_t)i, u ? 0.01 : 1);
        memset(one, 0, sizeof one);
        for (int k = 0; k < s[u].n; k++) one[k * s[u].n + k] = 1;
        if (!solve(&a[u], &s[u], euclidean ? one : s[u].M, "descent")) return;
      }
      if (!a[0].defined || !a[1].defined) continue;
      double metres[N];
      for (int k = 0; k < s[0].n; k++) metres[k] = a[1].a[k] * (k % 6 < 3 ? 0.01 : 1);
      double dot = 0;
      for (int k = 0; k < s[0].n; k++) dot += s[0].M[k * s[0].n + k] * a[0].a[k] * metres[k];
      angle[euclidean] = fmax(angle[euclidean], 1 - dot / (norm_M(&s[0], a[0].a) * norm_M(&s[0], metres)));
    }
  CHECK_NEAR(angle[0], 0, 1e-9);
  CHECK(angle[1] > 1e-3);
}

/* A ball on a floor that presses it down rests: no descent, gap 0, force m g. Without contacts it falls with g. */
TEST(closed_forms) {
  double M[4] = {2, 0, 0, 2}, J[2] = {0, 1}, Q[2] = {0, -2 * 9.81}, a[2], lambda[1];
  kn_frictionless p = {.n = 2, .m = 1, .M = M, .J = J, .Q = Q};
  kn_frictionless_info info;
  for (int k = 0; k < 2; k++) {
    CHECK_OK(kn_frictionless_solve(a, lambda, &info, &p, k ? "gauss" : "force"));
    CHECK_NEAR(a[1], 0, 1e-12);
    CHECK_REL(lambda[0], 2 * 9.81, 1e-9);
  }
  CHECK_INT(kn_frictionless_solve(a, lambda, &info, &p, "descent"), KN_UNSUPPORTED);
  CHECK_INT(kn_frictionless_solve(a, lambda, &info, &p, "ascent"), KN_NOT_FOUND);
  p.m = 0;
  for (const kn_frictionless_method* m = kn_frictionless_methods(); m->name; m++) {
    CHECK_OK(kn_frictionless_solve(a, NULL, &info, &p, m->name));
    CHECK_REL(a[1], -9.81, 1e-7); /* the barrier's digits */
  }
  M[0] = -1;
  CHECK_INT(kn_frictionless_solve(a, lambda, &info, &p, "force"), KN_BAD_ARGUMENT);
}
