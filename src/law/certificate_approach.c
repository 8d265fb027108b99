/* Is there an approaching velocity that gains? With φ = -x, x >= 0 in the range of W:

     gain = ½ xᵀ (E Q E - Q) x > 0  for some x >= 0    <=>   C = Q - E Q E is not copositive there.

   A minimiser of xᵀCx on {x >= 0, Σx = 1, Nx = 0} (N: null vectors of W) with support T satisfies
   C_TT x - N_Tᵀ μ = v 1 with v the minimum, and one exists for which that system is regular (along a null
   vector the value does not change until another entry is zero). So all supports are tried: 2^k systems. Up
   to 12 contacts; with more, only the dominant vector is looked at. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "law/certificate.h"
#include "math/dense.h"

enum { DECIDED = 12 };

/* C (k x k) = Q - E Q E */
static void form(double* C, kn_certificate_work* w, const double* e) {
  int k = w->k;
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) {
      double q = 0.0;
      for (int c = 0; c < w->rank; c++) q += w->R[(size_t)c * k + i] * w->R[(size_t)c * k + j];
      C[i * k + j] = q * (1.0 - e[i] * e[j]);
    }
}

/* I - W W⁺ = I - R⁺R: its rows span the null vectors of W. */
static void null_rows(double* N, kn_certificate_work* w) {
  int k = w->k;
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) {
      double p = 0.0;
      for (int c = 0; c < w->rank; c++) p += w->Rp[(size_t)i * k + c] * w->R[(size_t)c * k + j];
      N[i * k + j] = (i == j) - p;
    }
}

/* x on the support; false when the system is singular or an entry is not positive. */
static bool on_support(double* x, const double* C, const double* N, int k, int rank, unsigned support) {
  double A[2 * DECIDED * 2 * DECIDED], b[2 * DECIDED], y[2 * DECIDED];
  int at[DECIDED], perm[2 * DECIDED], m = 0;
  for (int i = 0; i < k; i++)
    if (support >> i & 1) at[m++] = i;
  int n = m + (rank < k ? k : 0);
  memset(A, 0, sizeof A);
  for (int i = 0; i < m; i++) {
    b[i] = 1.0;
    for (int j = 0; j < m; j++) A[i * n + j] = C[at[i] * k + at[j]];
    for (int j = m; j < n; j++) A[i * n + j] = A[j * n + i] = N[(j - m) * k + at[i]];
  }
  for (int j = m; j < n; j++) A[j * n + j] = -1e-10, b[j] = 0.0; /* N x = 0 as a stiff penalty */
  if (kn_lu_factor(n, A, n, perm) < n) return false;
  kn_lu_solve(n, y, A, n, perm, b);
  double sum = 0.0;
  for (int i = 0; i < m; i++) {
    if (!(y[i] < 0.0) || !isfinite(y[i])) return false; /* x = v y with v < 0 */
    sum += y[i];
  }
  memset(x, 0, (size_t)k * sizeof(double));
  for (int i = 0; i < m; i++) x[at[i]] = y[i] / sum;
  return true;
}

/* ½ φᵀ(EQE - Q)φ of φ = -x after scaling to ½ φᵀQφ = 1 J; x is scaled in place. */
static double gain_of(double* x, const double* e, kn_certificate_work* w) {
  int k = w->k;
  double before = 0.0, after = 0.0;
  for (int c = 0; c < w->rank; c++) {
    double a = 0.0, b = 0.0;
    for (int i = 0; i < k; i++) {
      a += w->R[(size_t)c * k + i] * x[i];
      b += w->R[(size_t)c * k + i] * e[i] * x[i];
    }
    before += 0.5 * a * a;
    after += 0.5 * b * b;
  }
  if (!(before > 0.0)) return 0.0;
  for (int i = 0; i < k; i++) x[i] /= sqrt(before);
  return after / before - 1.0;
}

static kn_approach dominant(double* phi, double* gain, kn_certificate_work* w, const double* e) {
  double side = 0.0;
  bool same = true;
  kn_certificate_rho(w, e);
  kn_certificate_gainer(phi, w);
  for (int i = 0; i < w->k; i++) side += phi[i];
  for (int i = 0; i < w->k; i++) {
    if (side > 0.0) phi[i] = -phi[i];
    same &= phi[i] <= 0.0;
  }
  *gain = w->sigma2[w->rank - 1] - 1.0;
  return same ? KN_APPROACH_YES : KN_APPROACH_UNDECIDED;
}

kn_approach kn_certificate_approach(double* phi, double* gain, kn_certificate_work* w, const double* e) {
  int k = w->k;
  *gain = 0.0;
  if (k > DECIDED) return dominant(phi, gain, w, e);
  double C[DECIDED * DECIDED], N[DECIDED * DECIDED], x[DECIDED], best = 0.0;
  form(C, w, e);
  null_rows(N, w);
  for (unsigned support = 1; support < 1u << k; support++) {
    if (!on_support(x, C, N, k, w->rank, support)) continue;
    double g = gain_of(x, e, w);
    if (!(g > best)) continue;
    best = g;
    for (int i = 0; i < k; i++) phi[i] = -x[i];
  }
  if (!(best > 1e-10)) return KN_APPROACH_NO; /* below: rounding */
  *gain = best;
  return KN_APPROACH_YES;
}
