/* Interior point for heaps of loose bodies: its memory and kernels (heap.c says what it does). */
#pragma once

#include "base/isa.h"
#include "comp/heap/body_pairs.h"

/* One number per contact in every array, component i of a vector at [i * stride + contact]. */
typedef struct kn_heap_work {
  kn_pair_nodes nodes;
  int contacts, stride; /* stride: contacts rounded up to a multiple of 8; what lies between is harmless */
  double *x, *s;        /* 3: in the cone |x_T| <= x_0 */
  double *q, *u, *R;    /* 3: u = G G^T x + q,  R = s - |s_T| e - u */
  double *w, *t, *f;    /* 3: of the scaling; s_T/|s_T| in [1], [2]; right-hand sides and products G y */
  double *dx, *ds, *a;  /* 3: a = T^-1 c */
  double* g;            /* 3: a + E R */
  double *b, *reach;    /* 1: T = b (…), step length */
  bool late;            /* small products x·s: solve twice */
  double* E;            /* 9, row-major */
  double *d, *mu;       /* 3: scale of the rows of G; 1 */
} kn_heap_work;

/* The same bits from each. */
typedef struct kn_heap_ops {
  /* w, b, t, R and E at (x, s, u); a = -x. */
  void (*scale)(kn_heap_work* h);
  /* a = T^-1 (l \ (centre e - products (T dx) ∘ (T^-1 ds))) - x, dx and ds being the predictor's. */
  void (*correct)(kn_heap_work* h, double centre, double products);
  /* g = a + E R */
  void (*right)(kn_heap_work* h);
  /* f = g - E f */
  void (*rest)(kn_heap_work* h);
  /* From f = G y: dx, ds and how far all contacts let them go, at most 1e9. */
  double (*direction)(kn_heap_work* h);
  /* Mean of (x + t dx)·(s + t ds). */
  double (*gap)(const kn_heap_work* h, double t);
  /* x += t dx, s += t ds */
  void (*advance)(kn_heap_work* h, double t);
} kn_heap_ops;

KN_KERNEL_TABLE(kn_heap_ops, kn_heap_ops);
const kn_heap_ops* kn_heap_kernels(void);

void kn_heap_take(kn_heap_work* h, kn_arena* arena, int bodies, int contacts);
