/* Kernels of the warm start (warm.c), written once; included by warm_base.c, warm_avx2.c and warm_avx512.c
   with KN_W = doubles per register and KN_NAME(f) = the variant's name of f. Sums run in eight interleaved
   lanes added in a fixed tree, updates touch each element in the order of k: the same bits for every KN_W.

   Unknowns of a sticking contact are the changes of r, of a slipping one (dn, s): r_N changes by dn, r_T by
   mu d dn + s t, and the row across is t.u_T. With the columns c_N = w_N + mu (d1 w_1 + d2 w_2) and
   c_t = t1 w_1 + t2 w_2 of W the matrix is that of Newton's method in the angle of slip; turning d by
   s / (mu r_N) turns u_T = -a r_T against t and adds a to the entry (t, t). */
#include <math.h>
#include <string.h>

#include "comp/warm.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));

enum { KN_LANES = 8 / KN_W };

#define AT(p, i)  (*(kn_vec*)((p) + (i)))
#define CAT(p, i) (*(const kn_vec*)((p) + (i)))

/* ---- matrix ---- */

static inline void combine(double* out, const double* w1, const double* w2, double t1, double t2, int n) {
  int j = 0;
  for (; j + KN_W <= n; j += KN_W) AT(out, j) = t1 * CAT(w1, j) + t2 * CAT(w2, j);
  for (; j < n; j++) out[j] = t1 * w1[j] + t2 * w2[j];
}

/* One row of W, or of two combined ones, over the unknowns. */
static inline void gather(double* out, const kn_warm_system* s, const double* w) {
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* k = &s->block[b];
    const double* in = w + k->row;
    double* o = out + k->at;
    if (!k->slip) {
      o[0] = in[0];
      if (k->unknowns > 1) o[1] = in[1];
      if (k->unknowns > 2) o[2] = in[2];
    } else if (k->rows == 3) {
      o[0] = in[0] + k->mu * (k->d[0] * in[1] + k->d[1] * in[2]);
      o[1] = k->t[0] * in[1] + k->t[1] * in[2];
    } else {
      o[0] = in[0] + k->mu * (k->d[0] * in[1]);
    }
  }
  for (int j = s->m; j < s->ld; j++) out[j] = 0.0;
}

static void KN_NAME(matrix)(kn_warm_system* s) {
  size_t n = (size_t)s->n, ld = (size_t)s->ld;
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* k = &s->block[b];
    const double* w = s->W + (size_t)k->row * n;
    double* out = s->A + (size_t)k->at * ld;
    gather(out, s, w);
    for (int i = 1; i < k->unknowns && !k->slip; i++) gather(out + (size_t)i * ld, s, w + (size_t)i * n);
    if (!k->slip || k->unknowns < 2) continue;
    combine(s->combined, w + n, w + 2 * n, k->t[0], k->t[1], s->n);
    gather(out + ld, s, s->combined);
    out[ld + (size_t)k->at + 1] += k->a;
  }
}

/* ---- LU by blocks of four rows ---- */

/* Rows and columns k0 … k0+3 of the diagonal block, then its rows to the right. Inverse pivots. */
static inline bool diagonal_block(double* A, size_t ld, int k0, int width, int m, const double* least) {
  for (int k = k0; k < k0 + width; k++) {
    double *rk = A + (size_t)k * ld, inv = 1.0 / rk[k];
    if (!(rk[k] > least[k] && rk[k] < INFINITY)) return false;
    rk[k] = inv;
    for (int i = k + 1; i < k0 + width; i++) {
      double *ri = A + (size_t)i * ld, l = ri[k] * inv;
      ri[k] = l;
      for (int j = k + 1; j < k0 + width; j++) ri[j] -= l * rk[j];
    }
  }
  for (int j = k0 + width; j < m; j += KN_W) {
    kn_vec u[4];
    for (int i = 0; i < width; i++) {
      double* ri = A + (size_t)(k0 + i) * ld;
      u[i] = CAT(ri, j);
      for (int k = 0; k < i; k++) u[i] -= ri[k0 + k] * u[k];
      AT(ri, j) = u[i];
    }
  }
  return true;
}

/* L of one row against the block. */
static inline void row_of_l(double l[4], const double* A, size_t ld, int k0) {
  const double *u0 = A + (size_t)k0 * ld + k0, *u1 = u0 + ld, *u2 = u1 + ld, *u3 = u2 + ld;
  l[0] = l[0] * u0[0];
  l[1] = (l[1] - l[0] * u0[1]) * u1[1];
  l[2] = ((l[2] - l[0] * u0[2]) - l[1] * u1[2]) * u2[2];
  l[3] = (((l[3] - l[0] * u0[3]) - l[1] * u1[3]) - l[2] * u2[3]) * u3[3];
}

/* ROWS rows below the block. */
#define UPDATE(ROWS)                                                                                         \
  do {                                                                                                       \
    double l[ROWS][4];                                                                                       \
    for (int t = 0; t < ROWS; t++) {                                                                         \
      double* r = a + (size_t)t * ld + k0;                                                                   \
      memcpy(l[t], r, sizeof l[t]);                                                                          \
      row_of_l(l[t], A, ld, k0);                                                                             \
      memcpy(r, l[t], sizeof l[t]);                                                                          \
    }                                                                                                        \
    for (int j = k0 + 4; j < m; j += KN_W) {                                                                 \
      kn_vec u0 = CAT(u, j), u1 = CAT(u + ld, j), u2 = CAT(u + 2 * ld, j), u3 = CAT(u + 3 * ld, j);          \
      for (int t = 0; t < ROWS; t++) {                                                                       \
        double* r = a + (size_t)t * ld;                                                                      \
        AT(r, j) = (((CAT(r, j) - l[t][0] * u0) - l[t][1] * u1) - l[t][2] * u2) - l[t][3] * u3;              \
      }                                                                                                      \
    }                                                                                                        \
  } while (0)

static bool KN_NAME(factor)(kn_warm_system* s) {
  double least[KN_WARM_ROWS], *A = s->A;
  size_t ld = (size_t)s->ld;
  int m = s->m, k0 = 0;
  for (int i = 0; i < m; i++) least[i] = 1e-13 * A[(size_t)i * ld + (size_t)i];
  for (; k0 + 4 <= m; k0 += 4) {
    if (!diagonal_block(A, ld, k0, 4, m, least)) return false;
    const double* u = A + (size_t)k0 * ld;
    int i = k0 + 4;
    for (; i + 4 <= m; i += 4) {
      double* a = A + (size_t)i * ld;
      UPDATE(4);
    }
    for (; i < m; i++) {
      double* a = A + (size_t)i * ld;
      UPDATE(1);
    }
  }
  return k0 == m || diagonal_block(A, ld, k0, m - k0, m, least);
}

/* Eight lanes to four, element-wise. */
static inline kn_vec4 four_lanes(const kn_vec* acc) {
#if KN_W == 8
  kn_vec4 lo = __builtin_shufflevector(acc[0], acc[0], 0, 1, 2, 3);
  return lo + __builtin_shufflevector(acc[0], acc[0], 4, 5, 6, 7);
#elif KN_W == 4
  return acc[0] + acc[1];
#else
  kn_vec lo = acc[0] + acc[2], hi = acc[1] + acc[3];
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3);
#endif
}

/* The sums of four rows of lanes, (s0 + s2) + (s1 + s3) each. */
static inline kn_vec4 sum4(kn_vec4 a, kn_vec4 b, kn_vec4 c, kn_vec4 d) {
  kn_vec4 ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  kn_vec4 cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

/* y_t -= row_t . x for four rows over n entries, n a multiple of 8. */
static inline void dots4(double* y, const double* a, size_t ld, const double* x, int n) {
  kn_vec acc[4][KN_LANES];
  for (int t = 0; t < 4; t++)
    for (int l = 0; l < KN_LANES; l++) acc[t][l] = (kn_vec){0};
  for (int j = 0; j < n; j += 8)
    for (int l = 0; l < KN_LANES; l++) {
      kn_vec v = CAT(x, j + l * KN_W);
      for (int t = 0; t < 4; t++) acc[t][l] += CAT(a + (size_t)t * ld, j + l * KN_W) * v;
    }
  *(kn_vec4*)y -= sum4(four_lanes(acc[0]), four_lanes(acc[1]), four_lanes(acc[2]), four_lanes(acc[3]));
}

/* Forward: before block i0 all of x[0 … i0) is final; the sum runs to the next multiple of 8, where x is
   multiplied by what is not L. So the solution is kept apart, zero from i0 on. */
static void KN_NAME(solve)(const kn_warm_system* s, double* x) {
  double y[KN_WARM_ROWS + 16];
  const double* A = s->A;
  size_t ld = (size_t)s->ld;
  int m = s->m, full = m & ~3;
  for (int i = 0; i < s->ld; i++) y[i] = 0.0;
  for (int i0 = 0; i0 < m; i0 += 4) {
    int width = m - i0 < 4 ? m - i0 : 4;
    const double* a = A + (size_t)i0 * ld;
    if (width == 4 && i0 > 0)
      dots4(x + i0, a, ld, y, (i0 + 7) & ~7);
    else
      for (int t = 0; t < width; t++)
        for (int j = 0; j < i0; j++) x[i0 + t] -= a[(size_t)t * ld + (size_t)j] * y[j];
    for (int t = 0; t < width; t++) {
      for (int k = 0; k < t; k++) x[i0 + t] -= a[(size_t)t * ld + (size_t)(i0 + k)] * y[i0 + k];
      y[i0 + t] = x[i0 + t];
    }
  }
  for (int i = m; i < s->ld; i++) x[i] = 0.0;
  for (int i = m - 1; i >= full; i--) {
    const double* a = A + (size_t)i * ld;
    double sum = x[i];
    for (int j = i + 1; j < m; j++) sum -= a[j] * x[j];
    x[i] = sum * a[i];
  }
  for (int i0 = full - 4; i0 >= 0; i0 -= 4) {
    const double* a = A + (size_t)i0 * ld;
    int rest = m - (i0 + 4);
    if (rest > 0) dots4(x + i0, a + i0 + 4, ld, x + i0 + 4, (rest + 7) & ~7);
    for (int t = 3; t >= 0; t--) {
      for (int k = t + 1; k < 4; k++) x[i0 + t] -= a[(size_t)t * ld + (size_t)(i0 + k)] * x[i0 + k];
      x[i0 + t] *= a[(size_t)t * ld + (size_t)(i0 + t)];
    }
  }
}

/* ---- velocities ---- */

/* ROWS rows of W at once. */
#define ROW_DOTS(ROWS)                                                                                       \
  do {                                                                                                       \
    kn_vec acc[ROWS][KN_LANES];                                                                              \
    for (int t = 0; t < ROWS; t++)                                                                           \
      for (int l = 0; l < KN_LANES; l++) acc[t][l] = (kn_vec){0};                                            \
    for (int j = 0; j < full; j += 8)                                                                        \
      for (int l = 0; l < KN_LANES; l++) {                                                                   \
        kn_vec v = CAT(r, j + l * KN_W);                                                                     \
        for (int t = 0; t < ROWS; t++) acc[t][l] += CAT(w + (size_t)t * n, j + l * KN_W) * v;                \
      }                                                                                                      \
    for (int t = 0; t < ROWS; t++) lanes[t] = four_lanes(acc[t]);                                            \
  } while (0)

static inline void row_dots(double* u, const double* w, const double* q, const double* r, size_t n,
                            int rows) {
  int full = (int)n & ~7;
  kn_vec4 lanes[3] = {{0}, {0}, {0}};
  if (rows == 3)
    ROW_DOTS(3);
  else if (rows == 2)
    ROW_DOTS(2);
  else
    ROW_DOTS(1);
  kn_vec4 sum = sum4(lanes[0], lanes[1], lanes[2], lanes[2]);
  for (int t = 0; t < rows; t++) {
    double rest = 0.0;
    for (size_t j = (size_t)full; j < n; j++) rest += w[(size_t)t * n + j] * r[j];
    u[t] = q[t] + (sum[t] + rest);
  }
}

static void KN_NAME(velocity)(double* u, const kn_warm_system* s, const double* r) {
  size_t n = (size_t)s->n;
  for (int b = 0; b < s->blocks; b++) {
    int row = s->block[b].row;
    row_dots(u + row, s->W + (size_t)row * n, s->q + row, r, n, s->block[b].rows);
  }
}

static void KN_NAME(velocities)(double* u, const kn_warm_system* s, const double* r) {
  size_t n = (size_t)s->n;
  int i = 0;
  for (; i + 3 <= s->n; i += 3) row_dots(u + i, s->W + (size_t)i * n, s->q + i, r, n, 3);
  if (i < s->n) row_dots(u + i, s->W + (size_t)i * n, s->q + i, r, n, s->n - i);
}

const kn_warm_ops KN_NAME(kn_warm_ops) = {KN_NAME(matrix), KN_NAME(factor), KN_NAME(solve), KN_NAME(velocity),
                                          KN_NAME(velocities)};
