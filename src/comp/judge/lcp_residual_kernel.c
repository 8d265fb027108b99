/* The judge of LCPs. Shares nothing with the solvers. Rows are summed in eight interleaved lanes, so every instruction set gives the same bits. */
#include "base/extreme.h"
#include "base/isa.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "comp/judge/judge.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef long long kn_mask __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

/* row z, and the sum of the terms' sizes: what its rounding is measured against. */
static inline double row_times(double* size, int n, const double* row, const double* z) {
  kn_vec acc[8 / KN_W], abs_acc[8 / KN_W];
  double s[8], a[8];
  int j = 0;
  for (int l = 0; l < 8 / KN_W; l++) acc[l] = abs_acc[l] = (kn_vec){0};
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8 / KN_W; l++) {
      kn_vec t = *(const kn_vec*)(row + j + l * KN_W) * *(const kn_vec*)(z + j + l * KN_W);
      acc[l] += t;
      abs_acc[l] += (kn_vec)((kn_mask)t & 0x7fffffffffffffffLL);
    }
  memcpy(s, acc, sizeof s);
  memcpy(a, abs_acc, sizeof a);
  for (int l = 0; j < n; j++, l++) s[l] += row[j] * z[j], a[l] += fabs(row[j] * z[j]);
  *size = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* row z + q as if in twice the precision (Ogita, Rump, Oishi 2005); products split after Dekker 1971. */
static double row_exact(int n, const double* row, const double* z, double q) {
  double s = q, c = 0.0;
  for (int j = 0; j < n; j++) {
    double a = row[j], b = z[j], p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;
    double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    double e = ((ah * bh - p) + ah * bl + al * bh) + al * bl, t = s + p, d = t - s;
    c += ((s - (t - d)) + (p - d)) + (e - e == 0.0 ? e : 0.0); /* splitting overflows beyond 1e300 */
    s = t;
  }
  return s + c;
}

/* |z - mid(lo, hi, z - w)|, infinite when not a number. */
static inline double natural(double z, double w, double lo, double hi) {
  double p = z - w, m = p < lo ? lo : p > hi ? hi : p, r = fabs(z - m);
  /* z - (z - w) loses w when |z| is much larger: inside the bounds the residual is |w| itself */
  if (p > lo && p < hi) r = fabs(w);
  return r <= INFINITY ? r : INFINITY;
}

enum { KEPT = 512 }; /* scales kept on the stack; larger problems have theirs computed again where needed */

static inline double scale_of(const kn_lcp* lcp, size_t j, double tiny) {
  double d = fabs(lcp->M[j * (size_t)lcp->n + j]);
  return d > tiny ? 1.0 / sqrt(d) : 0.0;
}

/* Scales of a row whose diagonal is zero: of z by the largest entry of its row and column of S M S, of w by the
   same, but never smaller than by its row alone or by the largest diagonal (complementarity allows two scales).
   By a large column alone a negative w that no z can mend would be taken for rounding. */
static void zero_row_scales(double* of_w, double* per_z, const kn_lcp* lcp, int i, double tiny,
                            const double* kept) {
  size_t n = (size_t)lcp->n;
  double row = 0.0, column = 0.0, common = sqrt(1e14 * tiny);
  for (size_t j = 0; j < n; j++) {
    double s = j < KEPT ? kept[j] : scale_of(lcp, j, tiny), unit = s > 0.0 ? s : 1.0;
    row = kn_max(unit * fabs(lcp->M[(size_t)i * n + j]), row);
    column = kn_max(unit * fabs(lcp->M[j * n + (size_t)i]), column);
  }
  double both = kn_max(row, column), own = kn_max(row, common > 0.0 ? common : 1.0);
  *per_z = both > 0.0 && both < INFINITY ? both : 1.0;
  *of_w = 1.0 / (own < *per_z ? own : *per_z);
}

/* Diagonal scales of the first rows, 0 where the diagonal is zero; returns what counts as zero. */
static double diagonal_scales(double* kept, const kn_lcp* lcp) {
  int n = lcp->n, few = n < KEPT ? n : KEPT;
  double most = 0.0;
  for (int i = 0; i < n; i++) most = kn_max(fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]), most);
  for (int i = 0; i < few; i++) kept[i] = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]);
  for (int i = 0; i < few; i++) {
    double root = 1.0 / sqrt(kept[i]);
    kept[i] = kept[i] > 1e-14 * most ? root : 0.0;
  }
  return 1e-14 * most;
}

typedef struct judgement {
  double original, scaled, unit, rounding;
} judgement;

/* All rows, with plain or with doubled precision. */
static inline judgement judge(const kn_lcp* lcp, const double* z, const double* kept, double tiny,
                              bool exact) {
  int n = lcp->n;
  double r0 = 0.0, r1 = 0.0, qs = 0.0, zs = 0.0, rounding = 0.0;
  bool boxed = lcp->lo || lcp->hi;
  for (int i = 0; i < n; i++) {
    const double* row = lcp->M + (size_t)i * (size_t)n;
    double size = 0.0, w = exact ? row_exact(n, row, z, lcp->q[i]) : row_times(&size, n, row, z) + lcp->q[i];
    double s = i < KEPT ? kept[i] : scale_of(lcp, (size_t)i, tiny), up = fabs(row[i]) * s; /* 1 / s */
    if (!(s > 0.0)) zero_row_scales(&s, &up, lcp, i, tiny, kept);
    if (boxed) {
      double lo = lcp->lo ? lcp->lo[i] : 0.0, hi = lcp->hi ? lcp->hi[i] : INFINITY;
      r0 = kn_max(natural(z[i], w, lo, hi), r0);
      r1 = kn_max(natural(z[i] * up, w * s, lo * up, hi * up), r1);
    } else { /* min(z, w) */
      double zi = z[i] * up, wi = w * s;
      r0 = kn_max(fabs(z[i] < w ? z[i] : w), r0);
      r1 = kn_max(fabs(zi < wi ? zi : wi), r1);
    }
    qs = kn_max(fabs(lcp->q[i]) * s, qs);
    zs = kn_max(fabs(z[i]) * up, zs);
    rounding = kn_max(size * s, rounding);
    if (!(fabs(z[i]) < INFINITY) || !(fabs(w) < INFINITY)) r0 = r1 = INFINITY;
  }
  return (judgement){r0, r1, qs + 1e-4 * zs, rounding};
}

void KN_NAME(kn_lcp_residuals)(double* original, double* scaled, const kn_lcp* lcp, const double* z) {
  double kept[KEPT], tiny = diagonal_scales(kept, lcp);
  judgement j = judge(lcp, z, kept, tiny, false);
  /* where rounding of the sums could hide or feign a residual near 1e-11, sum again more carefully */
  if (1.2e-16 * (lcp->n + 2) * j.rounding > 1e-11 * j.unit) {
    double unit = j.unit;
    j = judge(lcp, z, kept, tiny, true);
    j.unit = unit;
  }
  *original = j.original;
  *scaled = j.unit > 0.0 && j.unit < INFINITY ? j.scaled / j.unit : j.scaled;
}
