/* The least-norm correction of least_norm.h for a few rows, dense: pivoted Cholesky of the active rows, release of
   rows that pull. Up to KN_FEW rows are solved in arrays of fixed size. Called by the
   repair of positions (src/step/repair) and where loops are made independent. */
#include "contact/formulation/least_norm.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/stick.h"
#include "math/dense.h"

/* Dependent rows: rounding leaves 1e-15 of a pivot, loops and manifolds that are inconsistent by 1e-7 of
   their size leave 1e-14; independent rows of mechanisms are above 1e-8. */
static const double rank_tol = 1e-10;

/* Directions in which nothing can move have a compliance of rounding only: they count as dependent. */
static double floor_of(int n, const double* W) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = kn_max(most, W[(size_t)i * n + i]);
  return 1e-12 * most;
}

typedef double pair __attribute__((vector_size(16), may_alias));

/* A few rows: upper triangle in whole pairs, what lies below it does not count. */
typedef struct small {
  double A[KN_FEW][KN_FEW] __attribute__((aligned(16)));
  double z[KN_FEW] __attribute__((aligned(16))), x[KN_FEW] __attribute__((aligned(16)));
  double inverse[KN_FEW];  /* of the pivots */
  double diagonal[KN_FEW]; /* at first; infinite: cannot move */
  int perm[KN_FEW], m, even;
} small;

static void fill_small(small* s, const int* rows, int m, int n, const double* W, double least) {
  s->m = m, s->even = (m + 1) & ~1;
  for (int i = 0; i < m; i++) {
    const double* w = W + (size_t)rows[i] * n;
    s->perm[i] = i;
    for (int j = i; j < m; j++) s->A[i][j] = w[rows[j]];
    if (m & 1) s->A[i][m] = 0.0;
    if (i & 1) s->A[i][i - 1] = 0.0;
    s->diagonal[i] = s->A[i][i] > least ? s->A[i][i] : INFINITY;
  }
}

/* Exchanges k and p > k. */
static void exchange(small* s, int k, int p) {
#define SWAP(type, x, y)                                                                                     \
  do {                                                                                                       \
    type t = (x);                                                                                            \
    (x) = (y), (y) = t;                                                                                      \
  } while (0)
  for (int i = 0; i < k; i++) SWAP(double, s->A[i][k], s->A[i][p]);
  for (int i = k + 1; i < p; i++) SWAP(double, s->A[k][i], s->A[i][p]);
  for (int i = p + 1; i < s->m; i++) SWAP(double, s->A[k][i], s->A[p][i]);
  SWAP(double, s->A[k][k], s->A[p][p]);
  SWAP(double, s->diagonal[k], s->diagonal[p]);
  SWAP(int, s->perm[k], s->perm[p]);
#undef SWAP
}

/* What is left of a diagonal entry, as a part of what it was. */
static double part_left(const small* s, int i) { return s->A[i][i] / s->diagonal[i]; }
static bool enough_left(const small* s, int i) { return s->A[i][i] > 0.01 * s->diagonal[i]; }

/* Rows are exchanged only where a pivot has become small: a hundredth of the diagonal is far above the rank
   tolerance. The next row with a good pivot comes first, so that the order says which of dependent rows are
   kept. Uᵀ D⁻¹ U with the rows U as they are; no roots to wait for. */
static int factor_small(small* s) {
  for (int k = 0; k < s->m; k++) {
    if (!enough_left(s, k)) {
      int p = k;
      for (int i = k + 1; i < s->m && !enough_left(s, p); i++)
        if (part_left(s, i) > part_left(s, p)) p = i;
      if (!(part_left(s, p) > rank_tol)) return k;
      if (p > k) exchange(s, k, p);
    }
    s->inverse[k] = 1.0 / s->A[k][k];
    KN_BEST(kn_few_eliminate)(s->A, k, s->m, s->inverse[k]);
  }
  return s->m;
}

/* λ of the rows; returns the rank. perm as factored. */
static int solve_small(double* lambda, small* s, const int* rows, int n, const double* b) {
  int rank = factor_small(s);
  for (int i = 0; i < s->even; i++) s->x[i] = s->z[i] = 0.0;
  for (int i = 0; i < rank; i++) s->z[i] = b[rows[s->perm[i]]];
  for (int k = 0; k < rank; k++) {
    double z = s->z[k] * s->inverse[k];
    for (int j = (k + 1) & ~1; j < s->even; j += 2) *(pair*)(s->z + j) -= z * *(const pair*)(s->A[k] + j);
    s->z[k] = z;
  }
  memset(lambda, 0, (size_t)n * sizeof(double));
  for (int k = rank - 1; k >= 0; k--) {
    pair sum = {0.0, 0.0};
    for (int j = (k + 1) & ~1; j < s->even; j += 2)
      sum += *(const pair*)(s->A[k] + j) * *(const pair*)(s->x + j);
    s->x[k] = s->z[k] - s->inverse[k] * (sum[0] + sum[1]);
    lambda[rows[s->perm[k]]] = s->x[k];
  }
  return rank;
}

/* (W λ)_i; λ is zero but for the active rows. */
static double response(int n, const double* W, const double* lambda, const int* active, int m, int i) {
  const double* w = W + (size_t)i * (size_t)n;
  double sum = 0.0;
  for (int k = 0; k < m; k++) sum += w[active[k]] * lambda[active[k]];
  return sum;
}

/* One-sided rows that depend on others, and were left out, must get what they ask for: 1e-10 may stand, as in
   the repair. The place in perm of the one that misses most, -1: none. */
static int missed(const double* lambda, const int* active, int m, int n, const double* W, const double* b,
                  const bool* one_sided, const int* perm, int rank) {
  double most = 0.0, worst = 0.0;
  int at = -1;
  for (int i = 0; i < m && rank < m; i++) most = kn_max(most, fabs(b[active[i]]));
  for (int k = rank; k < m && one_sided; k++) {
    int i = active[perm[k]];
    if (!one_sided[i]) continue;
    double short_of = b[i] - 1e-10 - 1e-6 * most - response(n, W, lambda, active, m, i);
    if (short_of > worst) worst = short_of, at = perm[k];
  }
  return at;
}

/* Rows held both ways first: of dependent rows a one-sided one may be left out if it then gets more than it
   asks for. */
static void in_order(int* order, const int* active, int m, const bool* one_sided) {
  int both = 0, one = m, k;
  for (int i = m - 1; i >= 0; i--)
    if (one_sided && one_sided[active[i]]) order[--one] = active[i];
  for (k = 0; both < one; k++)
    if (!(one_sided && one_sided[active[k]])) order[both++] = active[k];
}

/* order[at] becomes the first of the one-sided rows. */
static void prefer(int* order, int at, const bool* one_sided) {
  int row = order[at];
  for (; at > 0 && one_sided[order[at - 1]]; at--) order[at] = order[at - 1];
  order[at] = row;
}

/* A few rows; a one-sided row that was left out and got too little is tried before the others. -1: rows
   contradict each other. */
static int solve_few(double* lambda, const int* active, int m, int n, const double* W, const double* b,
                     const bool* one_sided, double least) {
  enum { TRIES = 4 };
  int order[KN_FEW];
  small s;
  in_order(order, active, m, one_sided);
  for (int k = 0; k < TRIES; k++) {
    fill_small(&s, order, m, n, W, least);
    int rank = solve_small(lambda, &s, order, n, b);
    int at = missed(lambda, order, m, n, W, b, one_sided, s.perm, rank);
    if (at < 0) return rank;
    prefer(order, at, one_sided);
  }
  return -1;
}

static void scale_rows(double* scale, const int* active, int m, int n, const double* W, double least) {
  for (int i = 0; i < m; i++) {
    double d = W[(size_t)active[i] * n + active[i]];
    scale[i] = d > least ? 1.0 / sqrt(d) : 0.0;
  }
}

static void scaled_upper(double* A, const int* active, int m, int n, const double* W, const double* scale) {
  for (int i = 0; i < m; i++) {
    const double* w = W + (size_t)active[i] * n;
    for (int j = i; j < m; j++) A[(size_t)i * m + j] = w[active[j]] * scale[i] * scale[j];
  }
}

/* Rows that do not depend on each other, nearly always: no pivot below a hundredth of its diagonal. A: m x m. */
static bool solve_independent(double* lambda, const int* active, int m, int n, const double* W,
                              const double* b, double* A) {
  kn_stick_system s; /* not set to zero: most of it is never used */
  double q[KN_STICK_ROWS], r[KN_STICK_ROWS] = {0.0};
  if (m == 0 || m > KN_STICK_ROWS) return false;
  for (int i = 0; i < m; i++) q[i] = -b[active[i]];
  for (int i = 0; i < m && m < n; i++)
    for (int j = i; j < m; j++) A[i * m + j] = W[(size_t)active[i] * (size_t)n + (size_t)active[j]];
  s.n = m, s.fresh = true, s.W = m < n ? A : W, s.q = q;
  if (!KN_BEST(kn_stick_factor)(&s, 0.0, 0.01)) return false;
  KN_BEST(kn_stick_step)(&s, r);
  memset(lambda, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < m; i++) lambda[active[i]] = r[i];
  return true;
}

/* Which of several rows that contradict each other is kept is left to the largest pivots. */
static int solve_active(double* lambda, const int* active, int m, int n, const double* W, const double* b,
                        const bool* one_sided, double least, double* A, double* y, int* perm) {
  double* scale = y + m;
  if (solve_independent(lambda, active, m, n, W, b, A)) return m;
  if (m <= KN_FEW) {
    int few = solve_few(lambda, active, m, n, W, b, one_sided, least);
    if (few >= 0) return few;
  }
  scale_rows(scale, active, m, n, W, least);
  scaled_upper(A, active, m, n, W, scale);
  int rank = kn_cholesky_pivoted(m, A, m, perm, rank_tol);
  for (int i = 0; i < rank; i++) { /* Uᵀ y = P b */
    y[i] = b[active[perm[i]]] * scale[perm[i]];
    for (int k = 0; k < i; k++) y[i] -= A[(size_t)k * m + i] * y[k];
    y[i] /= A[(size_t)i * m + i];
  }
  for (int i = rank - 1; i >= 0; i--) {
    for (int k = i + 1; k < rank; k++) y[i] -= A[(size_t)i * m + k] * y[k];
    y[i] /= A[(size_t)i * m + i];
  }
  memset(lambda, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < rank; i++) lambda[active[perm[i]]] = y[i] * scale[perm[i]];
  return rank;
}

/* One row to be met, which closes no other. */
static bool alone(double* lambda, int n, const double* W, const double* b, const bool* one_sided, int row) {
  const double* w = W + (size_t)row * n;
  double x = b[row] / w[row];
  for (int i = 0; i < n && one_sided; i++)
    if (i != row && one_sided[i] && w[i] * x < b[i] - 1e-15) return false;
  memset(lambda, 0, (size_t)n * sizeof(double));
  lambda[row] = x;
  return x != 0.0;
}

enum { KN_LEAST_NORM_ROUNDS = 100 }; /* then the last answer stands; the caller measures what it left */

/* Rows that contradict each other are held and released in turns for ever. A round follows from its active rows alone, so once a set
   comes again (R. P. Brent 1980: it is compared with one of the rounds 1, 2, 4, 8, …) the last round is known, and those between it
   and this one are left out. */
typedef struct turns {
  uint64_t seen;
  int since, power, end;
} turns;

static void look_for_turns(turns* t, const int* active, int m, int round) {
  uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
  for (int i = 0; i < m; i++) h = (h ^ (uint64_t)active[i]) * 0x100000001b3u;
  if (t->power && t->since && h == t->seen) {
    t->end = round + (t->end - 1 - round) % t->since + 1;
    t->power = 0; /* found */
  }
  if (!t->power) return;
  if (t->since++ % t->power == 0) t->seen = h, t->since = 1, t->power *= 2;
}

int kn_least_norm(double* lambda, int n, const double* W, const double* b, const bool* one_sided,
                  double* scratch, int* pivot) {
  int *active = pivot, *perm = pivot + n, m = 0, rank = 0;
  double *A = scratch, *y = scratch + (size_t)n * n;
  double least = floor_of(n, W);
  for (int i = 0; i < n; i++) /* what cannot move need not be asked */
    if (W[(size_t)i * n + i] > least && (!one_sided || !one_sided[i] || b[i] > 0.0)) active[m++] = i;
  if (m == 1 && alone(lambda, n, W, b, one_sided, active[0])) return 1;
  turns t = {.power = 1, .end = KN_LEAST_NORM_ROUNDS};
  for (int round = 0; round < t.end; round++) {
    look_for_turns(&t, active, m, round);
    rank = solve_active(lambda, active, m, n, W, b, one_sided, least, A, y, perm);
    if (!one_sided) return rank;
    int kept = 0;
    for (int i = 0; i < m; i++) /* release what pulls */
      if (!one_sided[active[i]] || lambda[active[i]] >= 0.0) active[kept++] = active[i];
    bool changed = kept < m;
    m = kept;
    for (int i = 0, k = 0; i < n && !changed;
         i++) { /* hold what the correction would close; active ascends */
      if (!one_sided[i] || !(b[i] > -INFINITY) || !(W[(size_t)i * n + i] > least)) continue;
      while (k < m && active[k] < i) k++;
      if ((k < m && active[k] == i) || response(n, W, lambda, active, m, i) >= b[i] - 1e-15) continue;
      memmove(active + k + 1, active + k, (size_t)(m - k) * sizeof(int));
      active[k] = i;
      m++;
      changed = true;
    }
    if (!changed) break;
  }
  return rank;
}

void kn_independent_rows(bool* keep, int n, const double* W, double tol, double* scratch, int* pivot) {
  double least = floor_of(n, W);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double di = W[(size_t)i * n + i], dj = W[(size_t)j * n + j];
      scratch[(size_t)i * n + j] = di > least && dj > least ? W[(size_t)i * n + j] / sqrt(di * dj) : 0.0;
    }
  int rank = kn_cholesky_pivoted(n, scratch, n, pivot, tol);
  for (int i = 0; i < n; i++) keep[pivot[i]] = i < rank;
}
