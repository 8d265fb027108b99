/* The scaled dense form on which the cone solvers work, and the kernels that advance it.

   Scaled: r = D r', u' = D u, W' = D W D with W'_NN = 1, mean W'_TT = 1, mu' = mu dn/dt (problem_error.c says
   why the law survives). A proximal shift turns W' into W' + shift I with the offset q in the caller's hands.
 */
#pragma once

#include "base/arena.h"
#include "base/isa.h"
#include "comp/heap/sparse.h"
#include "knuckle/comp.h"

enum { KN_DENSE_MOST = 1536 }; /* rows of the largest dense form */

typedef enum kn_cone_kind {
  KN_CONE_LINE, /* 1 row in [lo, hi] */
  KN_CONE_FLAT, /* 2 rows */
  KN_CONE_DISC, /* 3 rows */
  KN_CONE_BALL, /* more: smooth.c only */
} kn_cone_kind;

typedef struct kn_cone_block {
  kn_cone_kind kind;
  int row, rows; /* in the scaled vectors */
  int origin;    /* first row in the problem */
  double mu;     /* scaled; 0 keeps r_T = 0 */
  double lo, hi; /* scaled bounds of a line */
  double slip;   /* last a with u_T = -a r_T: guess for the next exact solve */
} kn_cone_block;

typedef struct kn_cone {
  int n, blocks;
  int ld;                        /* n rounded up to a multiple of 8; vectors have ld entries, zero beyond n */
  struct kn_cone_sparse* sparse; /* NULL: W holds the matrix */
  double* W;                     /* column-major, n columns of ld */
  double* q;                     /* ld */
  double* d;                     /* ld, r = d r', in the order of the scaled rows */
  kn_cone_block* block;          /* blocks */
  double shift;                  /* proximal shift of the diagonal */
  double* r;                     /* current point */
  double* u;                     /* W r + q + shift r */
  const double* extra;           /* 9 per block: added to the diagonal blocks in solve(), otherwise NULL */
  double* A;                     /* Newton matrix, column-major, (n + 1) columns of ld + 8 */
  double *best_r, *try_r, *try_u, *column, *spare; /* ld each */
  struct kn_cone_mode* mode;                       /* blocks */
} kn_cone;

typedef enum kn_cone_state {
  KN_MODE_OPEN,
  KN_MODE_STICK,
  KN_MODE_SLIP,
  KN_MODE_LOW,
  KN_MODE_HIGH
} kn_cone_state;

typedef struct kn_cone_mode {
  kn_cone_state state;
  int at;            /* first unknown */
  double d[2], t[2]; /* slip direction of r_T and the one across */
  double g;          /* mu h / |y| */
} kn_cone_mode;

/* Alart-Curnier residual. */
typedef struct kn_cone_residual {
  double sum;  /* sum of squares */
  double most; /* largest block */
  double size; /* max(|q|, |r|, |u|) entries */
} kn_cone_residual;

typedef struct kn_newton_settings {
  int max_steps;
  int halvings;    /* of the line search; 0 = full steps */
  int stall;       /* stop after so many steps without halving the sum of squares */
  double eps;      /* proximal term of the first step, x 0.1 per step after the second, floor 1e-12; */
  double eps_rate; /* if > 0: eps_rate times the relative residual instead, at most eps */
  double rho;      /* of the Alart-Curnier function, in scaled units */
  double tol;      /* largest block relative to size */
} kn_newton_settings;

/* One set of kernels per instruction set; the same bits from each. */
typedef struct kn_cone_ops {
  /* W' = D W D from row-major W, transposed to columns. */
  void (*load)(kn_cone* c, const double* W, int stride);
  /* u = W r + q + shift r */
  void (*velocity)(kn_cone* c);
  kn_cone_residual (*residual)(const kn_cone* c, double rho);
  /* One pass of exact block solves, u kept up to date. */
  void (*sweep)(kn_cone* c);
  /* Steps until converged, stalled or singular; c->r, c->u end at the best point. Returns the steps taken. */
  int (*newton)(kn_cone* c, const kn_newton_settings* settings, kn_cone_residual* residual);
  /* x <- (W + blockdiag D)^-1 x, D row-major 3 x 3 per block; tangential rows of frictionless contacts are
     left out. False: singular. */
  bool (*solve)(kn_cone* c, const double* D, double* x);
} kn_cone_ops;

KN_KERNEL_TABLE(kn_cone_ops, kn_cone_ops);
const kn_cone_ops* kn_cone_kernels(void);

/* Arrays of a form of up to rows, blocks. */
void kn_cone_take(kn_cone* c, kn_arena* arena, int rows, int blocks, int dense_rows);
/* Scale factors, scaled blocks and offset; diagonal of W given. Dense: the matrix follows by ops->load; with
   c->sparse set: by kn_sparse_load. */
void kn_cone_scale(kn_cone* c, const kn_problem* p, const double* diagonal);
/* Stored blocks that kn_sparse_load needs at most, and loading itself; p->W or p->sparse. False: no room. */
bool kn_sparse_load(kn_cone* c, const kn_problem* p, int capacity);
/* Start from r in the problem's units (NULL: zero), moved into the bounds of lines; u is not updated. */
void kn_cone_start(kn_cone* c, const double* r);
/* Impulses that cancel each other to a millionth: where contacts wedge there may be no answer, and whatever leads there only makes
   the residual small beside them. */
bool kn_cone_wild(const kn_cone* c);
/* Current point in the problem's units. */
void kn_cone_finish(double* r, const kn_cone* c);
