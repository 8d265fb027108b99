/* Block-sparse scaled form: the kn_cone of many contacts. Every block has four entries in the vectors (rows
   4b … 4b+3, the unused ones zero) and W is stored by block columns, each block as three columns of four. */
#pragma once

#include "base/arena.h"
#include "base/crew.h"
#include "knuckle/comp.h"

/* A dense step of the elimination: its pivot blocks, and the border that they are coupled with. */
typedef struct kn_front {
  int pivot_at, pivots; /* blocks, in kn_cone_sparse.list */
  int border_at, borders;
  int children;
} kn_front;

/* Where a front leaves its numbers, and its role where a crew shares the fronts. */
typedef struct kn_front_place {
  size_t U_at, update_at; /* its rows in U; role last: its update matrix in the stack */
  int role;
} kn_front_place;

/* Roles where a crew shares the fronts: within a task, the last one of a subtree that is part of one, above all
   tasks. */
enum { KN_SPARSE_SHARE = 8192 }; /* stored blocks from which on a crew shares a pass over them: some 20 us */
enum { KN_FRONT_INNER, KN_FRONT_LAST, KN_FRONT_TOP };

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
  kn_front_place* place;
  int*
      task; /* tasks + 1: first front of each; those above all tasks lie at the ends of the tasks before them */
  int tasks;
  size_t task_updates, task_stack; /* numbers: update matrices of role last; stack of a task, at most */
  size_t top_stack;                /* stack of the fronts above */
  int* front_of;                   /* per block; -1: it had no unknowns */
  int *piece_at,
      *piece; /* per block: stored blocks of its column that its front takes, mirror images apart */
  int* list;
  int list_capacity;
  unsigned char* seen; /* unknowns that the fronts were made for */
  int* scratch;        /* 80 (blocks + 2) + stored / 4 */
} kn_cone_sparse_plan;

/* What a worker needs to eliminate fronts. */
typedef struct kn_sparse_hand {
  int* offset;             /* per block: place in the present front */
  double* y;               /* unknowns of one front, 3 blocks + 24 */
  int *open, *sizes, *map; /* fronts whose updates wait, their borders; scratch */
  double** update;         /* those updates */
  int depth;
  double *stack, *top; /* of fronts and update matrices */
} kn_sparse_hand;

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
  int* mark; /* per block, while ordering */
  double* U; /* eliminated rows by panels of at most eight pivots, eight per column */
  size_t U_capacity;
  double* x;                 /* unknowns, 3 blocks + 8 */
  kn_sparse_hand own, *hand; /* the caller's, or one for every worker of the crew */
  kn_crew* crew;             /* shares the fronts, or NULL */
} kn_cone_sparse;

void kn_sparse_take(kn_cone_sparse* s, kn_arena* arena, int blocks, int stored);
/* Hands for a crew: `hand` of its size, and their arrays. */
void kn_sparse_take_hands(kn_sparse_hand* hand, int hands, kn_arena* arena, int blocks);
/* Where the fronts leave their numbers; tasks for the crew. False: no room. */
bool kn_sparse_places(kn_cone_sparse* s);
/* Places for the tasks of the present fronts in the stack; false: the caller eliminates all fronts. */
bool kn_sparse_lay_out(kn_cone_sparse* s);
/* Fronts for the unknowns s->many; sets factorable. */
void kn_sparse_plan(kn_cone_sparse* s);
/* Are the fronts still good enough, though `idle` of their blocks have no unknowns now? Counts what they
   waste. */
bool kn_sparse_fits(kn_cone_sparse* s, int idle);

/* Cliques of the pattern, then the order of the blocks that have unknowns; the others come last. False: no
   room. */
void kn_sparse_cover(kn_cone_sparse* s);
bool kn_sparse_order(kn_cone_sparse* s);

/* Ascending, by insertion: for rows of some dozen entries. */
void kn_sort_few(int* a, int n);
