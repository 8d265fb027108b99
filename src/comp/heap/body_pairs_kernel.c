/* Kernels of body_pairs.h. Every element by the same operations in the same order whatever KN_W.

   Column-major entries: C -= A B column by column, C_j -= A_0 B_0j, A_1 B_1j, … one after the other. */
#include "base/isa.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "comp/heap/heap.h"

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

typedef struct assembly {
  kn_pair_nodes* h;
  const double* E;
  size_t stride;
} assembly;

/* Nodes first … last - 1 with the entries of their columns; contacts in their order. */
static void assemble_some(int worker, int first, int last, void* context) {
  const assembly* a = context;
  kn_pair_nodes* h = a->h;
  (void)worker;
  for (int k = first; k < last; k++) {
    for (int p = h->column[k]; p < h->column[k + 1]; p++) {
      if (!h->fills[p]) continue;
      memset(h->lower + KN_NODE * (size_t)p, 0, KN_NODE * sizeof(double));
      memset(h->upper + KN_NODE * (size_t)p, 0, KN_NODE * sizeof(double));
    }
    double* diagonal = h->diagonal + KN_NODE * (size_t)k;
    memset(diagonal, 0, KN_NODE * sizeof(double));
    for (int i = 0; i < 6; i++) diagonal[9 * i] = 1.0;
    for (int e = h->side_at[k]; e < h->side_at[k + 1]; e++) {
      int b = h->side[e] >> 1, side = h->side[e] & 1, at = side ? -1 : h->entry[b];
      const double *G = h->G + 48 * (size_t)b, *own = G + 24 * side;
      double F[48] __attribute__((aligned(64)));
      turn(F, a->E + b, a->stride, own);
      put_product(diagonal, own, F, true);
      if (at < 0) continue;
      turn(F + 24, a->E + b, a->stride, G + 24);
      put_product(h->lower + KN_NODE * (size_t)at, G + 24, F, !h->opens[b]);
      put_product(h->upper + KN_NODE * (size_t)at, G, F + 24, !h->opens[b]);
    }
  }
}

/* What entry p of column k does to the column of its row: to its diagonal, and with every entry behind it to one of its
   entries. */
static inline void change(kn_pair_nodes* h, int k, int p) {
  int from = h->column[k], end = h->column[k + 1], i = p - from;
  const double *Lp = h->lower + KN_NODE * (size_t)p, *Up = h->upper + KN_NODE * (size_t)p;
  const int* update = h->update + h->update_at[k] + (size_t)i * (size_t)(2 * (end - from) - i - 1) / 2;
  multiply_subtract(h->diagonal + KN_NODE * (size_t)h->row[p], Lp, Up);
  for (int q = p + 1; q < end; q++) {
    size_t at = KN_NODE * (size_t)*update++;
    const double *Lq = h->lower + KN_NODE * (size_t)q, *Uq = h->upper + KN_NODE * (size_t)q;
    multiply_subtract(h->upper + at, Lp, Uq);
    multiply_subtract(h->lower + at, Lq, Up);
  }
}

/* The columns of a group, and what they change in each other; false: singular. */
static bool eliminate_group(kn_pair_nodes* h, int g) {
  for (int k = h->group[g]; k < h->group[g + 1]; k++) {
    double* inverse = h->diagonal + KN_NODE * (size_t)k;
    if (!invert_plainly(inverse) && !invert(inverse)) return false;
    for (int p = h->column[k]; p < h->column[k + 1]; p++) {
      double below[KN_NODE] __attribute__((aligned(64)));
      double* L = h->lower + KN_NODE * (size_t)p;
      memcpy(below, L, sizeof below);
      multiply(L, below, inverse);
    }
    for (int p = h->column[k]; p < h->outer[k]; p++) change(h, k, p);
  }
  return true;
}

typedef struct elimination {
  kn_pair_nodes* h;
  const kn_pair_wave* wave;
  atomic_int singular;
} elimination;

static void eliminate_some(int worker, int first, int last, void* context) {
  elimination* e = context;
  (void)worker;
  for (int g = first; g < last; g++)
    if (!eliminate_group(e->h, g)) atomic_store_explicit(&e->singular, 1, memory_order_relaxed);
}

static void change_some(int worker, int first, int last, void* context) {
  const elimination* e = context;
  const kn_pair_nodes* h = e->h;
  int target = e->wave->target;
  (void)worker;
  for (int d = h->target_at[target + first]; d < h->target_at[target + last]; d++)
    change(e->h, h->due[d].column, h->due[d].entry);
}

static void change_others(elimination* e, const kn_pair_wave* wave) {
  enum { SHARED = 1200 }; /* products: some 20 us */
  e->wave = wave;
  if (e->h->crew && wave->products >= SHARED)
    kn_crew_run(e->h->crew, wave->targets, wave->targets / 16 + 1, change_some, e);
  else
    change_some(0, 0, wave->targets, e);
}

/* All tasks, what they change above them, then panel by panel. */
static bool KN_NAME(factor)(kn_pair_nodes* h, const double* E, int stride) {
  elimination e = {.h = h};
  kn_pairs_share(h, h->nodes, assemble_some, &(assembly){h, E, (size_t)stride});
  if (h->crew && h->tasks > 1)
    kn_crew_run(h->crew, h->tasks, 1, eliminate_some, &e);
  else
    eliminate_some(0, 0, h->tasks, &e);
  if (atomic_load_explicit(&e.singular, memory_order_relaxed)) return false;
  change_others(&e, h->wave);
  for (int g = h->tasks; g < h->groups; g++) {
    if (!eliminate_group(h, g)) return false;
    change_others(&e, &h->wave[g - h->tasks + 1]);
  }
  return true;
}

typedef struct vectors {
  double* to;
  const double* f;
  int stride;
  const kn_pair_nodes* h;
} vectors;

static void gather_some(int worker, int first, int last, void* context) {
  const vectors* v = context;
  const kn_pair_nodes* h = v->h;
  size_t n = (size_t)v->stride;
  (void)worker;
  for (int k = first; k < last; k++) {
    kn_vec sum[PARTS] = {0};
    for (int e = h->side_at[k]; e < h->side_at[k + 1]; e++) {
      const kn_vec* g = (const kn_vec*)(h->G + 24 * (size_t)h->side[e]);
      const double* f = v->f + (h->side[e] >> 1);
      for (int part = 0; part < PARTS; part++)
        sum[part] += (g[part] * f[0] + g[PARTS + part] * f[n]) + g[2 * PARTS + part] * f[2 * n];
    }
    for (int part = 0; part < PARTS; part++) *(kn_vec*)(v->to + 8 * (size_t)k + part * KN_W) = sum[part];
  }
}

static void KN_NAME(gather)(kn_pair_nodes* h, const double* f, int stride) {
  kn_pairs_share(h, h->nodes, gather_some, &(vectors){h->y, f, stride, h});
}

static void forward(kn_pair_nodes* h, int first, int last) {
  for (int k = first; k < last; k++)
    for (int p = h->column[k]; p < (last < h->nodes ? h->outer[k] : h->column[k + 1]); p++)
      apply_subtract(h->y + 8 * (size_t)h->row[p], h->lower + KN_NODE * (size_t)p, h->y + 8 * (size_t)k);
}

static void forward_some(int worker, int first, int last, void* context) {
  kn_pair_nodes* h = context;
  (void)worker;
  for (int g = first; g < last; g++) forward(h, h->group[g], h->group[g + 1]);
}

static void backward(kn_pair_nodes* h, int first, int last) {
  for (int k = last - 1; k >= first; k--) {
    double right[8], *x = h->y + 8 * (size_t)k;
    for (int p = h->column[k]; p < h->column[k + 1]; p++)
      apply_subtract(x, h->upper + KN_NODE * (size_t)p, h->y + 8 * (size_t)h->row[p]);
    for (int i = 0; i < 8; i++) right[i] = -x[i], x[i] = 0.0;
    apply_subtract(x, h->diagonal + KN_NODE * (size_t)k, right);
  }
}

static void backward_some(int worker, int first, int last, void* context) {
  kn_pair_nodes* h = context;
  (void)worker;
  for (int g = first; g < last; g++) backward(h, h->group[g], h->group[g + 1]);
}

static void apply_some(int worker, int first, int last, void* context) {
  kn_pair_nodes* h = context;
  (void)worker;
  for (int d = h->target_at[first]; d < h->target_at[last]; d++) {
    size_t p = (size_t)h->due[d].entry;
    apply_subtract(h->y + 8 * (size_t)h->row[p], h->lower + KN_NODE * p, h->y + 8 * (size_t)h->due[d].column);
  }
}

static void KN_NAME(solve)(kn_pair_nodes* h) {
  int above = h->group[h->tasks];
  kn_pairs_share(h, h->tasks, forward_some, h);
  kn_pairs_share(h, h->wave[0].targets, apply_some, h);
  forward(h, above, h->nodes);
  backward(h, above, h->nodes);
  kn_pairs_share(h, h->tasks, backward_some, h);
}

static inline double dot6(const double* g, const double* y) {
  return ((g[0] * y[0] + g[1] * y[1]) + (g[2] * y[2] + g[3] * y[3])) + (g[4] * y[4] + g[5] * y[5]);
}

static void scatter_some(int worker, int first, int last, void* context) {
  const vectors* v = context;
  const kn_pair_nodes* h = v->h;
  (void)worker;
  for (int b = first; b < last; b++) {
    const double* G = h->G + 48 * (size_t)b;
    int i = h->node[2 * b], j = h->node[2 * b + 1];
    for (int k = 0; k < 3; k++, G += 8) {
      double sum = i < 0 ? 0.0 : dot6(G, h->y + 8 * (size_t)i);
      v->to[k * v->stride + b] = j < 0 ? sum : sum + dot6(G + 24, h->y + 8 * (size_t)j);
    }
  }
}

static void KN_NAME(scatter)(double* f, int stride, const kn_pair_nodes* h) {
  kn_pairs_share(h, h->blocks, scatter_some, &(vectors){.to = f, .stride = stride, .h = h});
}

const kn_pair_ops KN_NAME(kn_pair_ops) = {.factor = KN_NAME(factor),
                                          .gather = KN_NAME(gather),
                                          .solve = KN_NAME(solve),
                                          .scatter = KN_NAME(scatter)};
