/* Block-sparse scaled form: the kn_cone of many contacts. Every block has four entries in the vectors (rows
   4b … 4b+3, the unused ones zero) and W is stored by block columns, each block as three columns of four. */
#ifndef KN_COMP_SPARSE_H
#define KN_COMP_SPARSE_H

#include "base/arena.h"
#include "knuckle/comp.h"

typedef struct kn_cone_sparse {
  int blocks, stored;
  int *start, *row; /* block columns, rows ascending; the pattern is symmetric and has the diagonal */
  int* mirror;      /* stored block (i, j) -> stored block (j, i) */
  int* diagonal;    /* stored index of (b, b) */
  double* value;    /* 12 per stored block */

  /* Elimination (sparse_order.c). A supernode s eliminates positions first[s] … first[s+1]-1 together; its
     front has these and the border positions border[border_start[s]] …; positions are in postorder of the
     elimination tree. */
  bool ordered, factorable; /* for the present pattern; room for the factors */
  int *position, *order;    /* block -> position and back */
  int supernodes;
  int *first, *border_start, *border_count, *children;
  int* list; /* border positions */
  int list_capacity;
  int* scratch; /* 10 (blocks + 1) + 2 stored */

  /* Numbers of one Newton step. */
  double* front; /* stack of fronts and update matrices */
  size_t front_capacity;
  double* U; /* eliminated rows */
  size_t U_capacity;
  size_t* U_at;      /* per supernode */
  size_t* update_at; /* per supernode: its update matrix on the stack */
  int* offset;       /* per position: place in the present front */
  int* unknowns_at;  /* per position: first unknown in elimination order */
  double* x;         /* unknowns in elimination order, 3 blocks + 8 */

  int *last_start, *last_row; /* pattern that order belongs to */
  int last_blocks, last_stored;
} kn_cone_sparse;

void kn_sparse_take(kn_cone_sparse* s, kn_arena* arena, int blocks, int stored);
/* Chooses the elimination order unless the pattern is the last one; sets factorable. */
void kn_sparse_order(kn_cone_sparse* s);

#endif
