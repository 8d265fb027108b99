/* Values of KN_W worlds, and how vectors and loads turn with the axes of the links (derivation in
   batch_kernel.h). */
#pragma once

#include "dynamics/batch/batch_data.h"
#include "math/elementary.h"
#include "math/sincos_block.h"
#include "spatial/v4.h"

typedef double V __attribute__((vector_size(8 * KN_W), may_alias));
typedef int64_t VI __attribute__((vector_size(8 * KN_W), may_alias));
typedef double anywhere __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p)      (*(anywhere*)((uintptr_t)(p) + 8 * (uintptr_t)lane)) /* the lanes in hand of a kn_lanes */
#define UNROLL     _Pragma("GCC unroll 9")
#define UNROLL_ALL _Pragma("GCC unroll 27")

enum { XX, YY, ZZ, XY, XZ, YZ };
static const int SYM[3][3] = {{XX, XY, XZ}, {XY, YY, YZ}, {XZ, YZ, ZZ}};
#define NEXT(k) (((k) + 1) % 3)
#define LAST(k) (((k) + 2) % 3)

KN_INLINE V zero(void) { return (V){0}; }
KN_INLINE V dot(const V a[3], const V b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Parent axes from link axes. */
KN_INLINE void spin_vector(V x[3], int k, V c, V s) {
  V l = x[NEXT(k)], m = x[LAST(k)];
  x[NEXT(k)] = c * l - s * m, x[LAST(k)] = s * l + c * m;
}
/* Link axes from parent axes. */
KN_INLINE void unspin_vector(V x[3], int k, V c, V s) {
  V l = x[NEXT(k)], m = x[LAST(k)];
  x[NEXT(k)] = c * l + s * m, x[LAST(k)] = c * m - s * l;
}

KN_INLINE void spin_pair(V* l, V* m, V c, V s) {
  V x = *l, y = *m;
  *l = c * x - s * y, *m = s * x + c * y;
}
KN_INLINE void spin_block(V* ll, V* mm, V* lm, V s2, V cs) {
  V d = *ll - *mm, p = *lm + *lm, t = s2 * d + cs * p;
  *ll -= t, *mm += t, *lm += cs * d - s2 * p;
}

typedef struct lanes_load {
  V I[6], G[9], M[6], n[3], f[3];
} lanes_load;
enum { LOAD = sizeof(lanes_load) / sizeof(V) };

/* bare: row and column k of I, column k of G and nothing else of the angular part are zero. */
KN_INLINE void spin_load(lanes_load* b, int k, V c, V s, int bare) {
  int l = NEXT(k), m = LAST(k);
  V s2 = s * s, cs = c * s, *G = b->G;
  spin_block(&b->I[l], &b->I[m], &b->I[SYM[l][m]], s2, cs);
  spin_block(&b->M[l], &b->M[m], &b->M[SYM[l][m]], s2, cs);
  V d = G[4 * l] - G[4 * m], p = G[3 * l + m] + G[3 * m + l], t = s2 * d + cs * p, u = cs * d - s2 * p;
  G[4 * l] -= t, G[4 * m] += t, G[3 * l + m] += u, G[3 * m + l] += u;
  spin_pair(&b->M[SYM[k][l]], &b->M[SYM[k][m]], c, s);
  spin_pair(&G[3 * k + l], &G[3 * k + m], c, s);
  if (!bare) {
    spin_pair(&b->I[SYM[k][l]], &b->I[SYM[k][m]], c, s);
    spin_pair(&G[3 * l + k], &G[3 * m + k], c, s);
  }
  spin_vector(b->n, k, c, s);
  spin_vector(b->f, k, c, s);
}

/* R S Rᵀ */
KN_INLINE void full_sym(V S[6], const V R[9]) {
  V B[9], T[6];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) B[3 * i + j] =
      R[3 * i] * S[SYM[0][j]] + R[3 * i + 1] * S[SYM[1][j]] + R[3 * i + 2] * S[SYM[2][j]];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = i; j < 3; j++) T[SYM[i][j]] =
      dot(B + 3 * i, R + 3 * j);
  UNROLL for (int i = 0; i < 6; i++) S[i] = T[i];
}
KN_INLINE void full_vector(V x[3], const V R[9]) {
  V y[3] = {dot(R, x), dot(R + 3, x), dot(R + 6, x)};
  UNROLL for (int i = 0; i < 3; i++) x[i] = y[i];
}
KN_INLINE void unfull_vector(V x[3], const V R[9]) {
  V y[3];
  UNROLL for (int i = 0; i < 3; i++) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
  UNROLL for (int i = 0; i < 3; i++) x[i] = y[i];
}
static __attribute__((noinline)) void full_load(lanes_load* b, const V R[9]) {
  V B[9];
  full_sym(b->I, R);
  full_sym(b->M, R);
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) B[3 * i + j] =
      R[3 * i] * b->G[j] + R[3 * i + 1] * b->G[3 + j] + R[3 * i + 2] * b->G[6 + j];
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) b->G[3 * i + j] =
      dot(B + 3 * i, R + 3 * j);
  full_vector(b->n, R);
  full_vector(b->f, R);
}

/* The constant turn R0, where it is more than new names. */
KN_INLINE void broadcast(V R[9], const kn_link_const* c) { /* rows of R0 */
  const double* x = (const double*)c->R0;
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) R[3 * i + j] = zero() + x[4 * j + i];
}

static __attribute__((noinline)) void turn_vectors(V* x, int count, const kn_link_const* c) {
  V R[9];
  broadcast(R, c);
  for (int i = 0; i < count; i++) {
    if (c->turn == 1)
      unspin_vector(x + 3 * i, 0, R[4], R[7]);
    else if (c->turn == 2)
      unspin_vector(x + 3 * i, 1, R[0], R[2]);
    else
      unfull_vector(x + 3 * i, R);
  }
}
KN_INLINE void fixed_vectors(V* x, int count, const kn_link_const* c, const kn_batch_const* f) {
  if (__builtin_expect(f->named, 1)) return;
  V t[9]; /* a copy, so that x itself never needs memory */
  UNROLL for (int i = 0; i < 3 * count; i++) t[i] = x[i];
  turn_vectors(t, count, c);
  UNROLL for (int i = 0; i < 3 * count; i++) x[i] = t[i];
}

static __attribute__((noinline)) void turn_load(lanes_load* b, const kn_link_const* c) {
  V R[9];
  broadcast(R, c);
  if (c->turn == 1)
    spin_load(b, 0, R[4], R[7], 0);
  else if (c->turn == 2)
    spin_load(b, 1, R[0], R[2], 0);
  else
    full_load(b, R);
}

/* A component of the parent's in the joint's axes. */
#define RENAMED(x, f, n) ((V)((VI)AT((x)[(f)->from[n]]) ^ (f)->flip[n]))
