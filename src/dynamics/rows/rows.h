/* Factored constraint rows: private layout of kn_rows. See rows_kernel.h for the method.

   A row enters the tree at the links it touches ("halves": the point of link a, the point of link b with the
   opposite sign, or a coefficient of a dof) and is pushed to the root. Links between junctions that carry
   the same rows form a segment, with Y stored dof by dof over the segment's columns (padded to KN_PAD). */
#pragma once

#include "base/isa.h"
#include "dynamics/tree/data.h"
#include "dynamics/tree/dynamics.h"

enum { KN_PAD = 4 };
enum { KN_PLAN = 4 }; /* rows and two links, or the dofs, of a block */
enum {
  KN_WHOLE_LEAST = 20,
  KN_WHOLE_MOST = 192
};                            /* rows whose Λ is one product; 48 tiles of four are bits of a word */
enum { KN_PLANAR_ROWS = 24 }; /* of mechanisms in a plane; more go the general way */
enum { KN_PLANAR_SHORT = 8 }; /* links: on more of them a column costs as much as the sweeps that it saves */

typedef struct kn_row_pair { /* of a mechanism in a plane */
  int32_t a, b;              /* rows; the same: one alone */
  int32_t top;               /* largest link they act on */
} kn_row_pair;

typedef struct kn_half {
  int32_t block, row; /* first scalar row of the block */
  int32_t side;       /* 0: link a, 1: link b, 2 + i: dof i of a dof block */
  int32_t next;       /* next half at the same link, -1 */
  int32_t map;        /* columns of its rows, in map[] */
} kn_half;

typedef struct kn_segment {
  int32_t at;               /* link to be visited next; -1: finished */
  int32_t cols, pad;        /* columns, and padded */
  int32_t col0;             /* first entry in cols[] */
  int32_t dof0, dofs;       /* entries in dofs[] */
  int32_t x0, made;         /* first column of its x on the stack; where it is put together */
  int32_t child0, children; /* entries in child[]: segments that end where it starts */
  int32_t map, run;         /* where its columns went in the segment it joined, in map[]; one after another */
  int32_t half, first;      /* halves at its first link, -1; dofs of that link */
  int32_t dof_rows;         /* some of these halves are coefficients of dofs */
  int32_t plain;            /* columns are consecutive rows starting at cols[col0] */
  size_t y0;                /* first entry of Y; row j of the segment starts at y0 + j pad */
} kn_segment;

typedef struct kn_rows_index {
  int32_t nsegment, ncols, ndofs, nhalf;
  int32_t planar;    /* Y is that of rows_planar.c */
  int32_t loose;     /* Y is that of rows_loose.c */
  int32_t pairs;     /* planar */
  int32_t solved;    /* planar: X is that of the one pair */
  int32_t planned;   /* blocks whose plan the segments are, 0: none */
  int32_t* plan;     /* KN_PLAN numbers per block */
  kn_row_pair* pair; /* planar: at most one per row */
  size_t y_cap, y_used;
  int32_t* head; /* nlink: first half at a link, -1 */
  kn_half* half;
  kn_segment* segment;
  int32_t* stack; /* open segments */
  int32_t *child, nchild;
  int32_t *cols, *dofs; /* row of a column; dof of a Y row */
  int32_t *map, nmap;   /* where columns go */
  int32_t* where;       /* capacity: column of a row in the segment being built, -1 */
  double* scale;        /* 1/sqrt(D) of a Y row, beside dofs; scratch of 2 nv for rows in a plane */
  double* x;            /* forces being pushed, component-major per segment */
  double* X;            /* planar: M⁻¹Jᵀ of a pair that is alone; NULL unless there are only hinges */
  double* whole;        /* dofs x whole_cap, padded to 12: Y of all segments side by side */
  uint64_t* tiles;      /* segments: bit k for columns 4 k … 4 k + 3 */
  int32_t whole_cap;
  double* tmp; /* 6 padded rows: coefficients of dof rows */
} kn_rows_index;

/* rows_plan.c: the segments of these rows, unless they are there already. */
void kn_rows_plan(kn_rows_index* index, const kn_data* data, const kn_row_block* block, int blocks, int rows);

/* rows_planar.c; push returns false when the rows have to go the general way. */
bool kn_rows_planar_push(kn_rows* rows, kn_data* data, const kn_row_block* block, int blocks, int count);
void kn_rows_planar_lambda(double* Lambda, const kn_rows* rows, const kn_data* data);
bool kn_rows_planar_loads(kn_data* data, const kn_row_block* block, int blocks, const double* lambda,
                          double scale);
bool kn_rows_planar_velocities(double* Jv, double* Jw, kn_data* data, const kn_row_block* block, int blocks,
                               const double* v, const double* w, double dt);
bool kn_rows_planar_velocity(double* Jv, kn_data* data, const kn_row_block* block, int blocks,
                             const double* v);
void kn_rows_planar_apply(double* dv, const kn_rows* rows, kn_data* data, const double* lambda);

/* Λ of nodes with the factors in data; see compliance.c. */
void kn_dyn_compliance_recursive(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count);
kn_status kn_dyn_compliance(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count);

/* Λ by blocks: the products of one segment, private to rows_blocks.c and its kernels. */
typedef struct kn_block_segment {
  int count, dofs, pad;
  const double* Y;       /* dofs x pad, and four numbers more that may be read */
  const int32_t* first;  /* count: where the columns of the blocks begin */
  const int32_t* member; /* count: the blocks */
  const int* size;       /* of all blocks */
  const int32_t* spot;   /* block i with block j goes to entry spot[spot_at[i] + j]; ~entry: is added there */
  const int32_t* spot_at; /* count */
} kn_block_segment;

typedef void (*kn_block_pairs_fn)(double* value, const kn_block_segment* s);
KN_KERNEL(void, kn_block_pairs, (double* value, const kn_block_segment* s));

/* Rows of loose bodies: private to rows.c, rows_loose.c and its kernels. */
/* Y of the halves at a link, 6 dofs x 4 (three rows), one half after the other; scale: sqrt(1/D) of its dofs. */
KN_KERNEL(void, kn_loose_push,
          (double* Y, double* scale, const kn_data* d, int link, const kn_row_block* block,
           const kn_half* half, int first));
/* e of the link's dofs: Σ Yᵀ λ over its members (block, first row, rows), back in the units of e. */
KN_KERNEL(void, kn_loose_apply,
          (kn_dof_factor * fac, const double* scale, const double* Y, const int32_t* member, int count,
           const double* lambda));

void kn_rows_loose_apply(const kn_rows* rows, kn_data* data, const double* lambda);
