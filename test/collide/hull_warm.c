/* Two hulls that move a little: with what was remembered the distance is the one found from nothing, whatever
   the cache holds. Vertices with one and with many neighbours, small hulls and one too large for stars. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/collide.h"
#include "knuckle/mesh.h"
#include "test.h"

static kn_hull* ball(kn_rng* r, int n) {
  kn_hull* h = NULL;
  double* p = malloc(3 * sizeof *p * (size_t)n);
  for (int i = 0; i < n; i++) {
    double l = 0;
    for (int k = 0; k < 3; k++) p[3 * i + k] = kn_rng_normal(r), l += p[3 * i + k] * p[3 * i + k];
    for (int k = 0; k < 3; k++) p[3 * i + k] *= 0.5 / sqrt(l);
  }
  CHECK_OK(kn_hull_create(&h, p, n, NULL));
  free(p);
  return h;
}

/* A ring and two tips: these have n neighbours each. */
static kn_hull* spindle(int n) {
  kn_hull* h = NULL;
  double* p = malloc(3 * sizeof *p * (size_t)(n + 2));
  for (int i = 0; i < n; i++)
    p[3 * i] = 0.4 * cos(2 * M_PI * i / n), p[3 * i + 1] = 0.4 * sin(2 * M_PI * i / n), p[3 * i + 2] = 0;
  for (int i = 0; i < 2; i++) p[3 * (n + i)] = p[3 * (n + i) + 1] = 0, p[3 * (n + i) + 2] = i ? 0.5 : -0.5;
  CHECK_OK(kn_hull_create(&h, p, n + 2, NULL));
  free(p);
  return h;
}

static void turn(double R[9], kn_rng* r, double angle) {
  double a[3], l = 0, c = cos(angle), s = sin(angle), M[9];
  for (int k = 0; k < 3; k++) a[k] = kn_rng_normal(r), l += a[k] * a[k];
  for (int k = 0; k < 3; k++) a[k] /= sqrt(l);
  double Q[9] = {
      c + a[0] * a[0] * (1 - c),        a[0] * a[1] * (1 - c) - a[2] * s, a[0] * a[2] * (1 - c) + a[1] * s,
      a[0] * a[1] * (1 - c) + a[2] * s, c + a[1] * a[1] * (1 - c),        a[1] * a[2] * (1 - c) - a[0] * s,
      a[0] * a[2] * (1 - c) - a[1] * s, a[1] * a[2] * (1 - c) + a[0] * s, c + a[2] * a[2] * (1 - c)};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      M[3 * i + j] = Q[3 * i] * R[j] + Q[3 * i + 1] * R[3 + j] + Q[3 * i + 2] * R[6 + j];
  memcpy(R, M, sizeof M);
}

static double separation(const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B,
                         const double n[3]) {
  double minus[3] = {-n[0], -n[1], -n[2]}, x[3], y[3];
  kn_support(x, a, A, minus), kn_support(y, b, B, n);
  return n[0] * (x[0] - y[0]) + n[1] * (x[1] - y[1]) + n[2] * (x[2] - y[2]);
}

typedef struct worst {
  double gap, normal, fit, lost;
} worst;

/* Any numbers: the cache of another pair, of another time, or damaged. */
static void spoil(kn_pair_cache* c, kn_rng* r) {
  c->simplex_count = kn_rng_int(r, 6) - 1;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 2; k++) c->simplex[i][k] = kn_rng_int(r, 400) - 20;
}

static bool frame(worst* w, const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B,
                  kn_pair_cache* cache) {
  kn_distance_result x, cold;
  if (!CHECK_OK(kn_distance(&x, a, A, b, B, cache)) || !CHECK_OK(kn_distance(&cold, a, A, b, B, NULL)))
    return false;
  double n2 = 0, fit = 0;
  for (int k = 0; k < 3; k++) {
    n2 += x.normal[k] * x.normal[k];
    fit = fmax(fit, fabs(x.on_a[k] - x.on_b[k] - x.gap * x.normal[k]));
  }
  w->gap = fmax(w->gap, fabs(x.gap - cold.gap)), w->normal = fmax(w->normal, fabs(n2 - 1));
  w->fit = fmax(w->fit, fit), w->lost = fmax(w->lost, fabs(separation(a, A, b, B, x.normal) - x.gap));
  return true;
}

static bool drift(worst* w, kn_hull* p, kn_hull* q, kn_rng* r, int frames) {
  kn_shape a = {.type = KN_SHAPE_HULL, .hull = p}, b = {.type = KN_SHAPE_HULL, .hull = q};
  kn_pose A = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0.3, -0.2, 0.1}}, B = A;
  kn_pair_cache cache = {0};
  turn(A.R, r, kn_rng_range(r, 0, 3)), turn(B.R, r, kn_rng_range(r, 0, 3));
  B.p[0] += 1.3; /* apart: the hulls reach 0.5 from their centres; now and then they come to overlap */
  for (int i = 0; i < frames; i++) {
    turn(B.R, r, 0.02), turn(A.R, r, 0.005);
    for (int k = 0; k < 3; k++) B.p[k] += kn_rng_range(r, -0.02, 0.02);
    if (i % 50 == 49) spoil(&cache, r);
    if (!frame(w, &a, &A, &b, &B, &cache)) return false;
  }
  return true;
}

TEST(a_remembered_simplex_gives_the_distance_found_from_nothing) {
  kn_rng r = kn_rng_seed(11);
  kn_hull* h[] = {ball(&r, 8), ball(&r, 20), ball(&r, 50),  ball(&r, 130),
                  spindle(7),  spindle(41),  ball(&r, 5000)};
  enum { HULLS = sizeof h / sizeof *h };
  worst w = {0};
  bool fine = true;
  for (int i = 0; i < HULLS && fine; i++)
    for (int j = 0; j < HULLS && fine; j++)
      for (int k = 0; k < 3 * kn_test_effort() && fine; k++) fine = drift(&w, h[i], h[j], &r, 200);
  printf("  worst: gap %.2g, length of the normal %.2g, witnesses %.2g, separation %.2g\n", w.gap, w.normal,
         w.fit, w.lost);
  CHECK_BELOW(w.gap, 2e-11);    /* certificates of both: 1e-11 of the size */
  CHECK_BELOW(w.normal, 1e-14); /* rounding */
  CHECK_BELOW(w.fit, 1e-14);    /* on_b is on_a moved by the gap */
  CHECK_BELOW(w.lost, 2e-11);   /* the certificate */
  for (int i = 0; i < HULLS; i++) kn_hull_destroy(h[i]);
}
