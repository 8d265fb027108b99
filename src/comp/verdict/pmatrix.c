/* Is A a P-matrix (all principal minors positive)? Then and only then the LCP has exactly one solution for
   every q.

   Tsatsomeros and Li (2000): A is P iff a_11 > 0, A without row and column 1 is P, and A/a_11 = A_22 - a_21
   a_12 / a_11 is P. A pivot of this recursion is a quotient of principal minors, minor(S + i) / minor(S).
   Three levels done one by one give eight matrices of equal size, then one lane each (pmatrix_kernel.h). A is
   first scaled to unit diagonal, which keeps the signs of all minors, and split into strongly connected
   blocks (a minor is the product of its blocks' minors). Sufficient tests come first: positive definite
   symmetric part; comparison matrix an M-matrix (H-matrix with positive diagonal). A pivot or scaled minor
   within 1e-12 of zero is not called: "undecided", unless another minor is clearly <= 0. */
#include "comp/verdict/pmatrix.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/comp.h"
#include "math/dense.h"

typedef struct scan {
  long left; /* minors that may still be looked at; negative: all */
  bool undecided;
  bool negative;
  uint64_t set;
  double value;
} scan;

/* One recursion without lanes; skips what lies behind a pivot too small to call. index: original rows of A.
 */
static bool recurse(scan* s, int m, const double* A, int ld, const int* index, uint64_t set, double minor) {
  double S[KN_PMATRIX_MAX * KN_PMATRIX_MAX];
  for (int k = 0; k < m; k++) {
    const double* B = A + k * ld + k; /* rows before k are left out of the minor */
    double a = B[0], value = a * minor;
    uint64_t now = set | 1ull << index[k];
    if (s->left == 0) {
      s->undecided = true;
      return false;
    }
    s->left--;
    if (a < -KN_PMATRIX_TOL && value < -KN_PMATRIX_TOL) {
      *s = (scan){s->left, s->undecided, true, now, value};
      return false;
    }
    if (!(a > KN_PMATRIX_TOL && value > KN_PMATRIX_TOL)) {
      s->undecided = true;
      s->set = s->set ? s->set : now;
      continue;
    }
    int n = m - k - 1;
    for (int i = 0; i < n; i++) {
      double f = B[(i + 1) * ld] / a;
      for (int j = 0; j < n; j++) S[i * n + j] = B[(i + 1) * ld + j + 1] - f * B[j + 1];
    }
    if (n > 0 && !recurse(s, n, S, n, index + k + 1, now, value)) return false;
  }
  return true;
}

/* Schur complement of A in the first three rows of the pattern, onto the rest; false when a pivot is too
 * small. */
static bool reduce(double* out, double* minor, int n, const double* A, int pattern) {
  double T[KN_PMATRIX_MAX * KN_PMATRIX_MAX];
  memcpy(T, A, sizeof(double) * (size_t)n * (size_t)n);
  *minor = 1.0;
  for (int k = 0; k < 3; k++) {
    if (!(pattern & 1 << k)) continue;
    double a = T[k * n + k];
    *minor *= a;
    if (!(a > KN_PMATRIX_TOL && *minor > KN_PMATRIX_TOL)) return false;
    for (int i = k + 1; i < n; i++) {
      double f = T[i * n + k] / a;
      for (int j = k + 1; j < n; j++) T[i * n + j] -= f * T[k * n + j];
    }
  }
  for (int i = 3; i < n; i++)
    for (int j = 3; j < n; j++) out[((i - 3) * (n - 3) + j - 3) * 8 + pattern] = T[i * n + j];
  return true;
}

static bool lanes(kn_pmatrix_lanes* p) { return KN_BEST(kn_pmatrix_lanes)(p); }

/* Minor of the rows in set by elimination in ascending order, all pivots before the last being positive. */
static double minor_of(int n, const double* A, unsigned set) {
  double T[KN_PMATRIX_MAX * KN_PMATRIX_MAX], value = 1.0;
  int rows[KN_PMATRIX_MAX], m = 0;
  for (int i = 0; i < n; i++)
    if (set >> i & 1) rows[m++] = i;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) T[i * m + j] = A[rows[i] * n + rows[j]];
  for (int k = 0; k < m; k++) {
    value *= T[k * m + k];
    for (int i = k + 1; i < m; i++)
      for (int j = k + 1; j < m; j++) T[i * m + j] -= T[i * m + k] / T[k * m + k] * T[k * m + j];
  }
  return value;
}

/* All minors of an n x n block with the lanes; true: all clearly positive. Otherwise *set is one that is not.
 */
static bool all_positive(unsigned* set, int n, const double* A, double* room) {
  double minor[8] __attribute__((aligned(64)));
  int m = n - 3;
  *set = 0;
  for (int pattern = 0; pattern < 8; pattern++)
    if (!reduce(room, &minor[pattern], n, A, pattern)) return false;
  kn_pmatrix_lanes p = {m, room, minor, room + (size_t)(m * m) * 8, 0, 0};
  bool ok = lanes(&p);
  *set = ok ? 0 : p.failing << 3 | (unsigned)p.lane;
  return ok;
}

static void scan_block(scan* s, int n, const double* A, const int* index) {
  double room[8 * 4400]
      __attribute__((aligned(64))); /* sum of k^2, k <= KN_PMATRIX_MAX - 3, times eight lanes */
  unsigned set = 0;
  bool eights = n >= 7 && (s->left < 0 || 1l << (n - 3) <= s->left); /* eight minors at a time */
  if (eights && all_positive(&set, n, A, room)) return;
  double value = set ? minor_of(n, A, set) : 0.0;
  if (!(value < -KN_PMATRIX_TOL)) {
    recurse(s, n, A, n, index, 0, 1.0);
    return;
  }
  *s = (scan){s->left, s->undecided, true, 0, value};
  for (int i = 0; i < n; i++)
    if (set >> i & 1) s->set |= 1ull << index[i];
}

/* Cheap proofs: symmetric part positive definite. Any principal minor is then at least its symmetric part's.
 */
static bool definite(int n, const double* A) {
  double H[KN_PMATRIX_ROWS * KN_PMATRIX_ROWS];
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) H[i * n + j] = 0.5 * (A[i * n + j] + A[j * n + i]);
  return kn_cholesky_factor(n, H, n, KN_PMATRIX_TOL) == n;
}

/* Comparison matrix strictly diagonally dominant after a few steps of x <- |off-diagonal| x: then an
 * H-matrix. */
static bool dominant(int n, const double* A) {
  double x[KN_PMATRIX_ROWS], y[KN_PMATRIX_ROWS];
  for (int i = 0; i < n; i++) x[i] = 1.0;
  for (int round = 0; round < 3; round++) {
    bool ok = true;
    for (int i = 0; i < n; i++) {
      double s = 0.0;
      for (int j = 0; j < n; j++) s += j == i ? 0.0 : fabs(A[i * n + j]) * x[j];
      ok = ok && s < x[i] * (1.0 - 1e-9);
      y[i] = 0.5 * (s + x[i]);
    }
    if (ok) return true;
    memcpy(x, y, sizeof(double) * (size_t)n);
  }
  return false;
}

/* reach[i]: rows reachable from i along non-zero entries. */
static void reachable(uint64_t* reach, int n, const double* A) {
  for (int i = 0; i < n; i++) {
    reach[i] = 1ull << i;
    for (int j = 0; j < n; j++)
      if (A[i * n + j] != 0.0) reach[i] |= 1ull << j;
  }
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      if (reach[i] >> k & 1) reach[i] |= reach[k];
}

static bool scan_blocks(scan* s, int n, const double* A) {
  uint64_t reach[KN_PMATRIX_ROWS], done = 0;
  reachable(reach, n, A);
  for (int i = 0; i < n; i++) {
    int index[KN_PMATRIX_ROWS], m = 0;
    double B[KN_PMATRIX_ROWS * KN_PMATRIX_ROWS];
    if (done >> i & 1) continue;
    for (int j = i; j < n; j++)
      if (reach[i] >> j & 1 && reach[j] >> i & 1) index[m++] = j;
    for (int a = 0; a < m; a++) {
      done |= 1ull << index[a];
      for (int b = 0; b < m; b++) B[a * m + b] = A[index[a] * n + index[b]];
    }
    if (definite(m, B) || dominant(m, B)) continue;
    if (m > KN_PMATRIX_MAX)
      s->undecided = true;
    else
      scan_block(s, m, B, index);
    if (s->negative) return false;
  }
  return true;
}

/* Too large for the recursion: a clearly bad minor of two rows, or rows that dominate after scaling. */
static void large(kn_pmatrix* out, int n, const double* A, int ld) {
  bool dominated = true;
  for (int i = 0; i < n; i++) {
    double ai = A[(size_t)i * (size_t)ld + (size_t)i], sum = 0.0;
    for (int j = 0; j < n; j++) {
      double aj = A[(size_t)j * (size_t)ld + (size_t)j], aij = A[(size_t)i * (size_t)ld + (size_t)j];
      double value = 1.0 - aij * A[(size_t)j * (size_t)ld + (size_t)i] / (ai * aj);
      sum += j == i ? 0.0 : fabs(aij) / sqrt(ai * aj);
      if (j >= i || value > -KN_PMATRIX_TOL) continue;
      *out = (kn_pmatrix){KN_ANSWER_NO, i < 64 ? 1ull << i | 1ull << j : 0, value};
      return;
    }
    dominated = dominated && sum < 1.0 - 1e-9;
  }
  if (dominated) out->is_p = KN_ANSWER_YES;
}

static bool diagonal(kn_pmatrix* out, int n, const double* A, int ld) {
  double most = 0.0;
  bool positive = true;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(A[(size_t)i * (size_t)ld + (size_t)i]));
  for (int i = 0; i < n; i++) {
    double a = A[(size_t)i * (size_t)ld + (size_t)i];
    if (a < -KN_PMATRIX_TOL * most) {
      *out = (kn_pmatrix){KN_ANSWER_NO, i < 64 ? 1ull << i : 0, -1.0};
      return false;
    }
    positive = positive && a > 0.0;
  }
  return positive;
}

kn_status kn_pmatrix_test(kn_pmatrix* out, int n, const double* A, int ld) {
  return kn_pmatrix_test_within(0, out, n, A, ld);
}

kn_status kn_pmatrix_test_within(long most, kn_pmatrix* out, int n, const double* A, int ld) {
  KN_REQUIRE(out != NULL);
  *out = (kn_pmatrix){KN_ANSWER_UNDECIDED, 0, 0.0};
  KN_REQUIRE(n >= 0 && ld >= n && (n == 0 || A != NULL));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (!isfinite(A[(size_t)i * (size_t)ld + (size_t)j]))
        return kn_fail(KN_NOT_FINITE, "A[%d][%d] is %g", i, j, A[(size_t)i * (size_t)ld + (size_t)j]);
  if (!diagonal(out, n, A, ld)) return KN_OK;
  if (n > KN_PMATRIX_MAX) large(out, n, A, ld);
  if (n > KN_PMATRIX_ROWS || out->is_p == KN_ANSWER_NO) return KN_OK;
  double scaled[KN_PMATRIX_ROWS * KN_PMATRIX_ROWS], s[KN_PMATRIX_ROWS];
  for (int i = 0; i < n; i++) s[i] = 1.0 / sqrt(A[(size_t)i * (size_t)ld + (size_t)i]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      scaled[i * n + j] = i == j ? 1.0 : A[(size_t)i * (size_t)ld + (size_t)j] * s[i] * s[j];
  scan found = {.left = most > 0 ? most : -1};
  scan_blocks(&found, n, scaled);
  out->is_p = found.negative ? KN_ANSWER_NO : found.undecided ? KN_ANSWER_UNDECIDED : KN_ANSWER_YES;
  out->failing = found.set;
  out->value = found.value;
  return KN_OK;
}
