/* Eigenvalues against closed forms and invariants. */
#include "math/eigen.h"

#include <math.h>

#include "base/rng.h"
#include "test.h"

static double nearest(const double* re, const double* im, int n, double a, double b) {
  double best = INFINITY;
  for (int i = 0; i < n; i++) best = fmin(best, hypot(re[i] - a, im[i] - b));
  return best;
}

TEST(rotation_and_triangular_blocks) {
  /* blocks: 0.6 ± 0.8 i, 3, -2, coupled above the diagonal */
  double A[16] = {0.6, -0.8, 2, 1, 0.8, 0.6, -1, 5, 0, 0, 3, 7, 0, 0, 0, -2}, re[4], im[4], scratch[32];
  CHECK(kn_eigenvalues(4, re, im, A, scratch));
  CHECK_BELOW(nearest(re, im, 4, 0.6, 0.8), 1e-13);
  CHECK_BELOW(nearest(re, im, 4, 0.6, -0.8), 1e-13);
  CHECK_BELOW(nearest(re, im, 4, 3, 0), 1e-13);
  CHECK_BELOW(nearest(re, im, 4, -2, 0), 1e-13);
}

/* Cyclic shift: the roots of unity (no shift of the plain kind ever converges here). */
TEST(cyclic_shift_has_the_roots_of_unity) {
  enum { N = 12 };
  double A[N * N] = {0}, re[N], im[N], scratch[2 * N * N];
  for (int i = 0; i < N; i++) A[i * N + (i + 1) % N] = 1.0;
  CHECK(kn_eigenvalues(N, re, im, A, scratch));
  for (int k = 0; k < N; k++)
    CHECK_BELOW(nearest(re, im, N, cos(2 * M_PI * k / N), sin(2 * M_PI * k / N)), 1e-12);
}

/* Similarity with a known spectrum: A = S D S^-1, S orthogonal by random reflections. */
TEST(random_known_spectra) {
  kn_rng rng = kn_rng_seed(3);
  double worst = 0.0;
  for (int trial = 0; trial < 300 * kn_test_effort(); trial++) {
    enum { N = 10 };
    double A[N * N] = {0}, re[N], im[N], scratch[2 * N * N], a[N], b[N] = {0}, v[N];
    for (int i = 0; i < N; i++) a[i] = kn_rng_range(&rng, -3, 3);
    for (int i = 0; i < 6; i += 2) a[i + 1] = a[i], b[i] = kn_rng_range(&rng, 0.1, 3), b[i + 1] = -b[i];
    for (int i = 0; i < N; i++) A[i * N + i] = a[i];
    for (int i = 0; i < 6; i += 2) A[i * N + i + 1] = -b[i], A[(i + 1) * N + i] = b[i];
    for (int turn = 0; turn < 5; turn++) {
      double norm = 0.0;
      for (int i = 0; i < N; i++) v[i] = kn_rng_range(&rng, -1, 1), norm += v[i] * v[i];
      for (int side = 0; side < 2; side++)
        for (int j = 0; j < N; j++) {
          double dot = 0.0;
          for (int i = 0; i < N; i++) dot += v[i] * (side ? A[j * N + i] : A[i * N + j]);
          for (int i = 0; i < N; i++) *(side ? &A[j * N + i] : &A[i * N + j]) -= 2 * dot / norm * v[i];
        }
    }
    if (!CHECK(kn_eigenvalues(N, re, im, A, scratch))) return;
    for (int i = 0; i < N; i++) worst = fmax(worst, nearest(re, im, N, a[i], b[i]));
  }
  CHECK_BELOW(worst, 1e-12); /* normal matrices: rounding times a few dozen steps */
  printf("  worst %.2g\n", worst);
}
