/* Inside kn_warm_answer: the system of one warm start and the kernels that build, factor and solve it. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "base/isa.h"
#include "knuckle/comp.h"

enum { KN_WARM_ROWS = 160, KN_WARM_GROUP = 8, KN_WARM_BORDER = 32, KN_WARM_WAYS = KN_SET_ROWS_MOST - 1 };

/* A block that carries load. */
typedef struct kn_warm_block {
  int block;        /* in the problem */
  int row, rows;    /* there */
  int own;          /* first row among the rows with load */
  int at, unknowns; /* its first unknown; rows: sticking or a line; rows - 1: slip; 1: without friction */
  bool slip;        /* with a direction */
  double mu;        /* 0: r_T = 0 */
  double d[KN_WARM_WAYS]; /* of r_T */
  double t
      [KN_WARM_WAYS]; /* up to three rows: across; more: v, and the ways across are those of I - v vᵀ, which takes d
                             to the first axis, without its first column */
  double a;           /* u_T = -a r_T */
} kn_warm_block;

/* d . x over the tangential rows of a block of so many rows. */
static inline double kn_warm_along(const double* d, const double* x, int rows) {
  double sum = d[0] * x[0];
  for (int i = 1; i + 1 < rows; i++) sum += d[i] * x[i];
  return sum;
}

/* t from d. */
static inline void kn_warm_turn_across(kn_warm_block* k) {
  if (k->rows <= 3) {
    k->t[0] = -k->d[1], k->t[1] = k->d[0];
    return;
  }
  /* v = (d - s e) sqrt(2) / |d - s e| with s = -sign d_1, |d - s e|² = 2 (1 + |d_1|) */
  double scale = 1.0 / sqrt(1.0 + fabs(k->d[0]));
  for (int i = 0; i + 1 < k->rows; i++) k->t[i] = k->d[i] * scale;
  k->t[0] += k->d[0] < 0.0 ? -scale : scale;
}

/* The part of x (tangential rows) along way i across, 1 ≤ i < unknowns. */
static inline double kn_warm_across(const kn_warm_block* k, int i, const double* x) {
  if (k->rows <= 3) return k->t[0] * x[0] + k->t[1] * x[1];
  return x[i] - k->t[i] * kn_warm_along(k->t, x, k->rows);
}

/* x += Σ s_i (way i across), s from 1 on: s[0] belongs to the normal. */
static inline void kn_warm_add_across(const kn_warm_block* k, const double* s, double* x) {
  if (k->rows <= 3) {
    for (int i = 0; i < 2 && k->unknowns == 2; i++) x[i] += s[1] * k->t[i];
    return;
  }
  double sum = 0.0;
  for (int i = 1; i < k->unknowns; i++) sum += k->t[i] * s[i], x[i] += s[i];
  for (int i = 0; i + 1 < k->rows; i++) x[i] -= k->t[i] * sum;
}

/* What has changed since the factor (warm_modes_border_kernel.c). */
typedef struct kn_warm_border {
  int count;                   /* unknowns gone and added */
  int gone[KN_WARM_BORDER];    /* an unknown of the factor, -1: added */
  int extra[KN_WARM_BORDER];   /* added: its block … */
  int unknown[KN_WARM_BORDER]; /* … and which of its unknowns */
  int extras;                  /* blocks added; those that are gone again have no unknowns */
  kn_warm_block block[KN_WARM_BORDER];
  double row[KN_WARM_BORDER][KN_WARM_ROWS], Y[KN_WARM_BORDER][KN_WARM_ROWS];
  double S[KN_WARM_BORDER][KN_WARM_BORDER];
  int factored; /* of them in S = L U: L by rows, U by columns */
  int price;    /* of the changes since kn_warm_taken */
  double L[KN_WARM_BORDER][KN_WARM_BORDER], U[KN_WARM_BORDER][KN_WARM_BORDER];
  double z[KN_WARM_BORDER]; /* right-hand side, then the unknowns added, and multipliers */
} kn_warm_border;

/* Rows and unknowns of blocks with load only; what the others contribute is in q. Matrices of unknowns lie in
   groups of eight rows, column after column: entry (i, j) is [(i / 8 m + j) 8 + i % 8], rows beyond m are
   zero. */
typedef struct kn_warm_system {
  int n;              /* rows of the problem */
  bool W_symmetric;   /* as far as one entry of each row shows */
  const double* W_in; /* n x n, row-major */
  int blocks;         /* with load */
  int rows, m;        /* of them; unknowns */
  int ld;             /* of W: rows rounded up to 8, and 8 more */
  double* W;          /* rows x ld, zero beyond rows, and 8 zeros at the end */
  double* A;          /* of the unknowns; then L below and U above the blocks of eight on the diagonal */
  bool symmetric;     /* A is, as far as W is: nothing slips */
  bool exchanged;     /* the factor is LU, with exchanges of rows */
  double* LU;         /* m x m, row-major */
  int perm[KN_WARM_ROWS];
  double diagonal[KN_WARM_ROWS + KN_WARM_GROUP];              /* A_ii; then inverse pivots */
  double low[(KN_WARM_ROWS + KN_WARM_GROUP) * KN_WARM_GROUP]; /* inverses of L and U inside */
  double up[(KN_WARM_ROWS + KN_WARM_GROUP) * KN_WARM_GROUP];  /* these blocks, both with unit diagonal */
  double r[KN_WARM_ROWS + 16], u[KN_WARM_ROWS + 16], q[KN_WARM_ROWS + 16]; /* rows; r zero beyond */
  double base[KN_WARM_ROWS + 16];                                          /* r where u is q */
  double x[KN_WARM_ROWS + KN_WARM_BORDER + 16]; /* unknowns of the factor, then those added since */
  kn_warm_block block[KN_WARM_ROWS];
  double D[KN_WARM_ROWS + 16],
      weight[KN_WARM_ROWS +
             16]; /* rows of the problem: diag W, alike for all tangential rows of a contact; 1 / D */
  /* The factor at hand: A + term D in the modes of `held`, which later changes of mode follow by the border. */
  bool has_factor;
  double term;
  int held_rows, held_blocks; /* of the problem; with load */
  kn_warm_block held[KN_WARM_ROWS];
  int place[KN_WARM_ROWS]; /* blocks of the problem: among the held, -1: no load, -2 - k: added as k */
  kn_warm_border border;
} kn_warm_system;

static inline int kn_warm_mode(const kn_warm_block* b) { return b->rows * 8 + b->unknowns * 2 + b->slip; }

/* The same bits from each set of kernels. */
typedef struct kn_warm_ops {
  /* W of the rows with load. */
  void (*compress)(kn_warm_system* s);
  /* A and its diagonal. */
  void (*matrix)(kn_warm_system* s);
  /* LU of A + diag(extra) without exchanges; false when a pivot is below 1e-13 of the diagonal entry it came
     from, or negative and below 1e-4 of it. */
  bool (*factor)(kn_warm_system* s, const double* extra);
  /* x <- A^-1 x. */
  void (*solve)(kn_warm_system* s);
  /* u = W (r - base) + q. */
  void (*velocity)(kn_warm_system* s);
  /* … of the problem: u = W_in r + q in the rows with load, all three in the problem's order. */
  void (*velocity_whole)(kn_warm_system* s);
  /* u = W_in r + q in all n rows. */
  void (*velocities)(double* u, const kn_warm_system* s, const double* r, const double* q);
  /* … in these rows, room for three more of them. */
  void (*velocities_of)(double* u, const kn_warm_system* s, const double* r, const double* q, int* row,
                        int rows);
} kn_warm_ops;

/* solve: x <- K⁻¹ x of the factor, m unknowns. */
typedef struct kn_warm_border_ops {
  /* A block of the factor goes; false: no room. */
  bool (*remove)(kn_warm_system* s, const kn_warm_ops* ops, int held);
  /* An added block goes. */
  void (*drop)(kn_warm_system* s, int extra);
  /* The block's place in border.block, -1: no room. */
  int (*add)(kn_warm_system* s, const kn_warm_ops* ops, const kn_warm_block* w);
  /* Of what was added and taken; false: singular. */
  bool (*factor)(kn_warm_border* b);
  /* x, with what was added, from its right-hand side. */
  void (*solve)(kn_warm_system* s, const kn_warm_ops* ops);
} kn_warm_border_ops;
KN_KERNEL_TABLE(kn_warm_border_ops, kn_warm_border_ops);

/* D and 1 / D of a problem. */
void kn_warm_measure(kn_warm_system* s, const kn_problem* p);
/* The factor of A + term D, of A as it is in s and of s->block. Where A is not a P-matrix pivots in this order may be near zero: then A is made anew and factored with exchanges. False: singular. */
bool kn_warm_factor(kn_warm_system* s, const kn_warm_ops* ops, double term);
/* Without what has changed since: for another W beside which the factor is kept. */
void kn_warm_renew(kn_warm_system* s);
/* x <- A⁻¹ x with the factor alone. */
void kn_warm_solve_held(kn_warm_system* s, const kn_warm_ops* ops);
/* … and with what has changed since. */
void kn_warm_solve(kn_warm_system* s, const kn_warm_ops* ops);
/* The block as the factor has it, NULL: without load. */
const kn_warm_block* kn_warm_held(const kn_warm_system* s, int block);
/* Where a new factor is due for its price only: a slipping block in the directions and at the rate that the old one has, if it
   has not left them by more. */
void kn_warm_stay(const kn_warm_system* s, kn_warm_block* w, double cosine);
/* The factor takes a block in another mode, no unknowns: without load; or one that slips in a direction farther away than the
   cosine says, or turns at another rate. False: a new factor is due. After the last of them kn_warm_taken, false: singular. */
bool kn_warm_take(kn_warm_system* s, const kn_warm_ops* ops, const kn_warm_block* w, double cosine);
bool kn_warm_taken(kn_warm_system* s);

KN_KERNEL_TABLE(kn_warm_ops, kn_warm_ops);

/* From the answer of a neighbouring problem to that of this one, one change of mode at a time (path.c). */
typedef enum kn_path_mode {
  KN_PATH_LOW,    /* a line at its lower bound, an open contact without friction */
  KN_PATH_HIGH,   /* a line at its upper bound */
  KN_PATH_INSIDE, /* a line between its bounds */
  KN_PATH_OPEN,
  KN_PATH_STICK,
  KN_PATH_SLIP
} kn_path_mode;

enum { KN_PATH_OFTEN = 8 };

/* Scratch; up to KN_WARM_ROWS rows. */
typedef struct kn_path {
  kn_path_mode mode[KN_WARM_ROWS];      /* blocks */
  double d[KN_WARM_ROWS][KN_WARM_WAYS]; /* blocks: direction of the friction of a slipping contact */
  int rows[KN_WARM_ROWS];               /* blocks: of a contact with friction, otherwise 1 */
  int changes[KN_WARM_ROWS];            /* blocks: more than KN_PATH_OFTEN of one are a cycle */
  double r[KN_WARM_ROWS], u[KN_WARM_ROWS], delta[KN_WARM_ROWS]; /* rows */
  double dr[KN_WARM_ROWS], du[KN_WARM_ROWS];                    /* rows: along the path */
  double end[KN_WARM_ROWS];                                     /* rows: where the last one ended */
} kn_path;

/* Moves r from a guess towards the answer of p; true when the end of the path was reached. s, ops: room and
   kernels for the matrix of the unknowns. push: how far unloaded rows are moved away from zero at the start,
   as a part of the largest velocity (0, or a little to get round a place where the path failed). eps: of diag W, added; the
   factor at hand serves where it has the same.
   turns: it may turn back in t on its way; what it ends at then is another answer than the one next to the guess.
   *events: changes of mode; at most `most`. */
bool kn_path_follow(double* r, kn_path* path, kn_warm_system* s, const kn_warm_ops* ops, const kn_problem* p,
                    double push, double eps, bool turns, int most, int* events);
