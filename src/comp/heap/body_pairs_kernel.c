/* Kernels of body_pairs.h. Every element by the same operations in the same order whatever KN_W.

   Column-major entries: C -= A B column by column, C_j -= A_0 B_0j, A_1 B_1j, … one after the other. */
#include "base/isa.h"

#include <math.h>
#include <string.h>

#include "comp/heap/body_pairs.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

enum { PARTS = 8 / KN_W };

/* C -= A B */
static inline void multiply_subtract(double* C, const double* A, const double* B) {
  for (int part = 0; part < PARTS; part++) {
    const kn_vec* a = (const kn_vec*)(A + part * KN_W);
    kn_vec a0 = a[0], a1 = a[PARTS], a2 = a[2 * PARTS], a3 = a[3 * PARTS], a4 = a[4 * PARTS],
           a5 = a[5 * PARTS];
    if (part * KN_W >= 6) break; /* padding */
    for (int j = 0; j < 6; j++) {
      kn_vec* c = (kn_vec*)(C + 8 * j + part * KN_W);
      const double* b = B + 8 * j;
      *c -= ((a0 * b[0] + a1 * b[1]) + (a2 * b[2] + a3 * b[3])) + (a4 * b[4] + a5 * b[5]);
    }
  }
}

/* C = A B */
static inline void multiply(double* C, const double* A, const double* B) {
  for (int part = 0; part < PARTS; part++) {
    const kn_vec* a = (const kn_vec*)(A + part * KN_W);
    kn_vec a0 = a[0], a1 = a[PARTS], a2 = a[2 * PARTS], a3 = a[3 * PARTS], a4 = a[4 * PARTS],
           a5 = a[5 * PARTS];
    for (int j = 0; j < 6; j++) {
      const double* b = B + 8 * j;
      *(kn_vec*)(C + 8 * j + part * KN_W) =
          ((a0 * b[0] + a1 * b[1]) + (a2 * b[2] + a3 * b[3])) + (a4 * b[4] + a5 * b[5]);
    }
  }
}

/* y -= A x */
static inline void apply_subtract(double* y, const double* A, const double* x) {
  for (int part = 0; part < PARTS; part++) {
    const kn_vec* a = (const kn_vec*)(A + part * KN_W);
    *(kn_vec*)(y + part * KN_W) -=
        ((a[0] * x[0] + a[PARTS] * x[1]) + (a[2 * PARTS] * x[2] + a[3 * PARTS] * x[3])) +
        (a[4 * PARTS] * x[4] + a[5 * PARTS] * x[5]);
  }
}

/* A <- A^-1 in registers, without exchanges; false, and A as it was, where a pivot has lost four digits of
   its diagonal. */
static inline bool invert_plainly(double* A) {
  kn_vec a[6][PARTS];
  double least[6];
  for (int j = 0; j < 6; j++) {
    least[j] = 1e-4 * A[9 * j];
    for (int part = 0; part < PARTS; part++) a[j][part] = ((const kn_vec*)(A + 8 * j))[part];
  }
#pragma GCC unroll 6
  for (int k = 0; k < 6; k++) {
    double pivot = a[k][k / KN_W][k % KN_W], inverse = 1.0 / pivot;
    if (!(pivot > least[k] && pivot < INFINITY)) return false;
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
      if (j == k) continue;
      double f = a[j][k / KN_W][k % KN_W] * inverse;
      for (int part = 0; part < PARTS; part++) a[j][part] -= f * a[k][part];
      a[j][k / KN_W][k % KN_W] = f;
    }
    for (int part = 0; part < PARTS; part++) a[k][part] *= -inverse;
    a[k][k / KN_W][k % KN_W] = inverse;
  }
  for (int j = 0; j < 6; j++)
    for (int part = 0; part < PARTS; part++) ((kn_vec*)(A + 8 * j))[part] = a[j][part];
  return true;
}

/* The same by Gauss-Jordan with row exchanges, on the transpose (stored columns are its rows). */
static bool invert(double* A) {
  double X[KN_NODE] __attribute__((aligned(64)));
  memset(X, 0, sizeof X);
  for (int i = 0; i < 6; i++) X[9 * i] = 1.0;
  for (int k = 0; k < 6; k++) {
    int p = k;
    for (int i = k + 1; i < 6; i++)
      if (fabs(A[8 * i + k]) > fabs(A[8 * p + k])) p = i;
    double pivot = A[8 * p + k];
    if (!(fabs(pivot) > 0.0) || !(fabs(pivot) < INFINITY)) return false;
    for (int part = 0; part < PARTS; part++) {
      kn_vec *ak = (kn_vec*)(A + 8 * k) + part, *ap = (kn_vec*)(A + 8 * p) + part;
      kn_vec *xk = (kn_vec*)(X + 8 * k) + part, *xp = (kn_vec*)(X + 8 * p) + part;
      kn_vec a = *ap, x = *xp;
      *ap = *ak, *xp = *xk;
      *ak = a / pivot, *xk = x / pivot;
    }
    for (int i = 0; i < 6; i++) {
      if (i == k) continue;
      double f = A[8 * i + k];
      for (int part = 0; part < PARTS; part++) {
        ((kn_vec*)(A + 8 * i))[part] -= f * ((const kn_vec*)(A + 8 * k))[part];
        ((kn_vec*)(X + 8 * i))[part] -= f * ((const kn_vec*)(X + 8 * k))[part];
      }
    }
  }
  memcpy(A, X, sizeof X);
  return true;
}

/* C = G^T F, both three rows of eight, or C += G^T F. */
static inline void put_product(double* C, const double* G, const double* F, bool add) {
  for (int part = 0; part < PARTS; part++) {
    const kn_vec* g = (const kn_vec*)(G + part * KN_W);
    kn_vec g0 = g[0], g1 = g[PARTS], g2 = g[2 * PARTS];
    for (int j = 0; j < 6; j++) {
      kn_vec* c = (kn_vec*)(C + 8 * j + part * KN_W);
      kn_vec x = (g0 * F[j] + g1 * F[8 + j]) + g2 * F[16 + j];
      if (add) x += *c;
      *c = x;
    }
  }
}

/* F = E G */
static inline void turn(double* F, const double* E, size_t n, const double* G) {
  for (int part = 0; part < PARTS; part++) {
    const kn_vec* g = (const kn_vec*)(G + part * KN_W);
    kn_vec g0 = g[0], g1 = g[PARTS], g2 = g[2 * PARTS];
    for (size_t i = 0; i < 3; i++)
      *(kn_vec*)(F + 8 * i + part * KN_W) =
          (E[3 * i * n] * g0 + E[(3 * i + 1) * n] * g1) + E[(3 * i + 2) * n] * g2;
  }
}

static void assemble(kn_pair_nodes* h, const double* E, size_t stride) {
  for (int p = 0; p < h->column[h->nodes]; p++) {
    if (!h->fills[p]) continue;
    memset(h->lower + KN_NODE * (size_t)p, 0, KN_NODE * sizeof(double));
    memset(h->upper + KN_NODE * (size_t)p, 0, KN_NODE * sizeof(double));
  }
  memset(h->diagonal, 0, KN_NODE * (size_t)h->nodes * sizeof(double));
  for (int k = 0; k < h->nodes; k++)
    for (int i = 0; i < 6; i++) h->diagonal[KN_NODE * (size_t)k + 9 * (size_t)i] = 1.0;
  for (int b = 0; b < h->blocks; b++) {
    const double *G = h->G + 48 * (size_t)b, *e = E + b;
    int i = h->node[2 * b], j = h->node[2 * b + 1], at = h->entry[b];
    double F[48] __attribute__((aligned(64)));
    if (i >= 0) {
      turn(F, e, stride, G);
      put_product(h->diagonal + KN_NODE * (size_t)i, G, F, true);
    }
    if (j >= 0) {
      turn(F + 24, e, stride, G + 24);
      put_product(h->diagonal + KN_NODE * (size_t)j, G + 24, F + 24, true);
    }
    if (at < 0) continue;
    double *lower = h->lower + KN_NODE * (size_t)at, *upper = h->upper + KN_NODE * (size_t)at;
    if (h->opens[b]) {
      put_product(lower, G + 24, F, false);
      put_product(upper, G, F + 24, false);
    } else {
      put_product(lower, G + 24, F, true);
      put_product(upper, G, F + 24, true);
    }
  }
}

/* Elimination of node k: what its entries do to others. Entry p changes the diagonal of its row; every two of them, (p, q), change one
   entry of their own, so that several threads may share them and every number has the same operations in the same order. */
typedef struct elimination {
  kn_pair_nodes* h;
  int k, from, end;
  const int* update;
} elimination;

static inline void scale_entries(kn_pair_nodes* h, int k, int from, int end) {
  const double* inverse = h->diagonal + KN_NODE * (size_t)k;
  for (int p = from; p < end; p++) {
    double below[KN_NODE] __attribute__((aligned(64)));
    double *L = h->lower + KN_NODE * (size_t)p, *U = h->upper + KN_NODE * (size_t)p;
    memcpy(below, L, sizeof below);
    multiply(L, below, inverse);
    multiply_subtract(h->diagonal + KN_NODE * (size_t)h->row[p], L, U);
  }
}

/* Pairs (p, q), from <= p < to, p < q < end; returns where the updates of the next p are. */
static inline const int* update_entries(kn_pair_nodes* h, int from, int to, int end, const int* update) {
  for (int p = from; p < to; p++)
    for (int q = p + 1; q < end; q++) {
      size_t at = KN_NODE * (size_t)*update++;
      const double *Lp = h->lower + KN_NODE * (size_t)p, *Up = h->upper + KN_NODE * (size_t)p;
      const double *Lq = h->lower + KN_NODE * (size_t)q, *Uq = h->upper + KN_NODE * (size_t)q;
      multiply_subtract(h->upper + at, Lp, Uq);
      multiply_subtract(h->lower + at, Lq, Up);
    }
  return update;
}

static void scale_some(int worker, int first, int last, void* context) {
  const elimination* e = context;
  (void)worker;
  scale_entries(e->h, e->k, e->from + first, e->from + last);
}

static void update_some(int worker, int first, int last, void* context) {
  const elimination* e = context;
  int n = e->end - e->from;
  (void)worker;
  update_entries(e->h, e->from + first, e->from + last, e->end,
                 e->update + (size_t)first * (size_t)(2 * n - first - 1) / 2);
}

static bool KN_NAME(factor)(kn_pair_nodes* h, const double* E, int stride) {
  enum { SHARED = 24 }; /* entries of a column from which on threads share it: some 10 us */
  assemble(h, E, (size_t)stride);
  const int* update = h->update;
  for (int k = 0; k < h->nodes; k++) {
    double* inverse = h->diagonal + KN_NODE * (size_t)k;
    if (!invert_plainly(inverse) && !invert(inverse)) return false;
    int from = h->column[k], end = h->column[k + 1], n = end - from;
    if (__builtin_expect(h->crew && n >= SHARED, 0)) {
      elimination e = {h, k, from, end, update};
      kn_crew_run(h->crew, n, n / 8, scale_some, &e);
      kn_crew_run(h->crew, n, 2, update_some, &e);
      update += (size_t)n * (size_t)(n - 1) / 2;
    } else {
      scale_entries(h, k, from, end);
      update = update_entries(h, from, end, end, update);
    }
  }
  return true;
}

static void KN_NAME(gather)(kn_pair_nodes* h, const double* f, int stride) {
  memset(h->y, 0, 8 * (size_t)h->nodes * sizeof(double));
  for (int b = 0; b < h->blocks; b++)
    for (int side = 0; side < 2; side++) {
      int k = h->node[2 * b + side];
      if (k < 0) continue;
      const kn_vec* g = (const kn_vec*)(h->G + 48 * (size_t)b + 24 * side);
      kn_vec* y = (kn_vec*)(h->y + 8 * (size_t)k);
      for (int part = 0; part < PARTS; part++)
        y[part] +=
            (g[part] * f[b] + g[PARTS + part] * f[stride + b]) + g[2 * PARTS + part] * f[2 * stride + b];
    }
}

static void KN_NAME(solve)(kn_pair_nodes* h) {
  for (int k = 0; k < h->nodes; k++) {
    const double* x = h->y + 8 * (size_t)k;
    for (int p = h->column[k]; p < h->column[k + 1]; p++)
      apply_subtract(h->y + 8 * (size_t)h->row[p], h->lower + KN_NODE * (size_t)p, x);
  }
  for (int k = h->nodes - 1; k >= 0; k--) {
    double right[8], *x = h->y + 8 * (size_t)k;
    for (int p = h->column[k]; p < h->column[k + 1]; p++)
      apply_subtract(x, h->upper + KN_NODE * (size_t)p, h->y + 8 * (size_t)h->row[p]);
    for (int i = 0; i < 8; i++) right[i] = -x[i], x[i] = 0.0;
    apply_subtract(x, h->diagonal + KN_NODE * (size_t)k, right);
  }
}

static inline double dot6(const double* g, const double* y) {
  return ((g[0] * y[0] + g[1] * y[1]) + (g[2] * y[2] + g[3] * y[3])) + (g[4] * y[4] + g[5] * y[5]);
}

static void KN_NAME(scatter)(double* f, int stride, const kn_pair_nodes* h) {
  for (int b = 0; b < h->blocks; b++) {
    const double* G = h->G + 48 * (size_t)b;
    int i = h->node[2 * b], j = h->node[2 * b + 1];
    for (int k = 0; k < 3; k++, G += 8) {
      double sum = i < 0 ? 0.0 : dot6(G, h->y + 8 * (size_t)i);
      f[k * stride + b] = j < 0 ? sum : sum + dot6(G + 24, h->y + 8 * (size_t)j);
    }
  }
}

const kn_pair_ops KN_NAME(kn_pair_ops) = {.factor = KN_NAME(factor),
                                          .gather = KN_NAME(gather),
                                          .solve = KN_NAME(solve),
                                          .scatter = KN_NAME(scatter)};
