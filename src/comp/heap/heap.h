/* Interior point for heaps of loose bodies: its memory and kernels (heap.c says what it does). */
#pragma once

#include "base/arena.h"
#include "base/crew.h"
#include "base/isa.h"
#include "comp/cone/cone.h"

/* Heaps in the space of their bodies: factors of K = I + G^T E G for any 3 x 3 blocks E of the contacts.

   W = G G^T joins all contacts of a body with each other; K has one 6 x 6 node per body and one pair of
   entries per pair of touching bodies, and contacts with the ground add to the diagonal only.

   The columns are eliminated in groups: first the tasks, subtrees of the elimination that do not meet, then panels of the few
   columns above them. A group changes its own columns at once and the others afterwards, column by column, in the order of the
   columns that change them. So several threads may take tasks, and then columns, and every number has the same operations in
   the same order whoever does them. */
enum { KN_NODE = 48 }; /* doubles of a 6 x 6 entry: six columns of eight */

/* Column `column` changes the column of the row of its entry `entry`. */
typedef struct kn_pair_due {
  int entry, column;
} kn_pair_due;

/* What the tasks together, or one panel, change outside: columns target_at[target] … in due[]. */
typedef struct kn_pair_wave {
  int target, targets;
  int64_t products; /* of two entries */
} kn_pair_wave;

typedef struct kn_pair_nodes {
  int nodes, blocks;                      /* present ones */
  int most_nodes, most_blocks, most_fill; /* room */
  size_t most_updates;

  /* The contacts: nodes in the order of elimination. */
  int* node;           /* 2 per block: first the one that is eliminated first; -1 none */
  int* entry;          /* per block: entry of its two nodes, -1 none */
  bool* swapped;       /* per block: these are the other way round than given */
  bool* opens;         /* per block: the first one at its entry */
  bool* fills;         /* per entry: there is no block */
  int *side_at, *side; /* per node: 2 block + side of its blocks, ascending */
  double* G;           /* 48 per block: for each of the two nodes three rows of eight, scaled */

  /* Elimination. Column k has the entries column[k] … column[k+1]-1 below the diagonal, in nodes row[],
     ascending. Eliminating it changes for every two of them, (p, q), p < q, the entries at update[] in that
     order. */
  int *column, *row, *update;
  size_t* update_at;  /* per column */
  int *group, *outer; /* first column of each group; per column: its first entry outside its group */
  int groups, tasks;  /* the first groups are tasks, the others panels */
  kn_pair_wave* wave; /* of the tasks, then of each panel */
  int* target_at;
  kn_pair_due* due;
  int *parent, *place; /* per node, while planning: tree; task, then new place */
  double* work;
  int *position, *last; /* body -> node; bodies of the blocks that the order was made for */
  int last_blocks;
  uint64_t* reach; /* nodes x words: neighbours while ordering */
  int* degree;

  /* Numbers: diagonal (after elimination its inverse), below it L, right of it U, column-major. */
  double *diagonal, *lower, *upper;
  double *y, *y0; /* 8 per node */
  kn_crew* crew;  /* shares the groups and passes over the contacts, or NULL */
} kn_pair_nodes;

/* Kernels; the same bits from each. */
typedef struct kn_pair_ops {
  /* K from E, component ij of block b at [(3 i + j) stride + b], and its factors; false: singular. */
  bool (*factor)(kn_pair_nodes* h, const double* E, int stride);
  /* y = G^T f, f three vectors: component i of block b at f[i * stride + b]. */
  void (*gather)(kn_pair_nodes* h, const double* f, int stride);
  /* y = K^-1 y */
  void (*solve)(kn_pair_nodes* h);
  /* f = G y */
  void (*scatter)(double* f, int stride, const kn_pair_nodes* h);
} kn_pair_ops;

KN_KERNEL_TABLE(kn_pair_ops, kn_pair_ops);
const kn_pair_ops* kn_pair_kernels(void);

enum { KN_PAIRS_SHARE = 1500 }; /* blocks from which on a crew shares a pass over them: some 20 us */
/* The numbers 0 … count - 1 of a pass over nodes or blocks, by the crew where that pays. */
void kn_pairs_share(const kn_pair_nodes* h, int count, kn_crew_job job, void* context);

void kn_pairs_take(kn_pair_nodes* h, kn_arena* arena, int bodies, int blocks);
/* Order (unless the bodies are those of the last time) and scaled G, row i of block b times d[i * stride +
   b]. False: no room. */
bool kn_pairs_load(kn_pair_nodes* h, const kn_pairs* pairs, int blocks, const double* d, int stride);

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
