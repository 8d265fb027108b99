/* Block-sparse scaled form: the kn_cone of many contacts. Every block has four entries in the vectors (rows
   4b … 4b+3, the unused ones zero) and W is stored by block columns, each block as three columns of four. */
#ifndef KN_COMP_SPARSE_H
#define KN_COMP_SPARSE_H

#include "base/arena.h"
#include "base/crew.h"
#include "knuckle/comp.h"

/* A dense step of the elimination: its pivot blocks, and the border that they are coupled with. */
typedef struct kn_front {
  int pivot_at, pivots; /* blocks, in kn_cone_sparse.list */
  int border_at, borders;
  int children;
} kn_front;

/* Order of elimination (sparse_order.c). The pattern is covered by cliques (what meets at one body), a
   block is in cliques clique[clique_at[b]] … */
typedef struct kn_cone_sparse_order {
  bool covered, ordered; /* for the present pattern */
  bool begun;            /* the present problem has had fronts */
  int cliques;
  int *clique_at, *clique;
  int clique_capacity;
  int *sequence, *rank;       /* blocks in the order of elimination, and back */
  unsigned char* ordered_for; /* unknowns of each block then */
  double flops, lost;         /* flops of one factor then; flops that a new order would have saved since */
  int *last_start, *last_row; /* pattern that cover and order belong to */
  int last_blocks, last_stored;
} kn_cone_sparse_order;

/* Fronts (sparse_front.c), children before parents, the last child just before its parent. */
typedef struct kn_cone_sparse_plan {
  bool planned, factorable; /* for the present pattern and unknowns; room for the factors */
  double flops, idle;       /* flops of one factor; flops that new fronts would have saved since */
  int fronts;
  kn_front* front;
  int* front_of; /* per block; -1: it had no unknowns */
  int *piece_at,
      *piece; /* per block: stored blocks of its column that its front takes, mirror images apart */
  int* list;
  int list_capacity;
  int* scratch; /* 80 (blocks + 2) + stored / 4 */
} kn_cone_sparse_plan;

typedef struct kn_cone_sparse {
  int blocks, stored;
  int *start, *row; /* block columns, rows ascending; the pattern is symmetric and has the diagonal */
  int* mirror;      /* stored block (i, j) -> stored block (j, i) */
  int* diagonal;    /* stored index of (b, b) */
  double* value;    /* 12 per stored block */

  kn_cone_sparse_order order;
  kn_cone_sparse_plan plan;

  /* Numbers of one Newton step. */
  unsigned char* many; /* unknowns per block */
  double* stack;       /* of fronts and update matrices */
  size_t stack_capacity;
  double* U; /* eliminated rows by panels of at most eight pivots, eight per column */
  size_t U_capacity;
  int* offset;   /* per block: place in the present front */
  double* x;     /* unknowns, 3 blocks + 8 */
  double* y;     /* unknowns of one front */
  kn_crew* crew; /* shares large fronts, or NULL */
} kn_cone_sparse;

void kn_sparse_take(kn_cone_sparse* s, kn_arena* arena, int blocks, int stored);
/* Fronts for the unknowns s->many; sets factorable. */
void kn_sparse_plan(kn_cone_sparse* s);
/* Are the fronts still good enough, though `idle` of their blocks have no unknowns now? Counts what they
   waste. */
bool kn_sparse_fits(kn_cone_sparse* s, int idle);

/* Cliques of the pattern, then the order of the blocks that have unknowns; the others come last. False: no
   room. */
void kn_sparse_cover(kn_cone_sparse* s);
bool kn_sparse_order(kn_cone_sparse* s);

#endif
