/* Inside the LCP solvers: the workspace and the scaled problem every solver works on. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/extreme.h"
#include "comp/judge/judge.h"
#include "comp/verdict/enumerate.h"
#include "knuckle/comp.h"

/* Rows are padded to a multiple of eight doubles, so that kernels run without tails; the padding is zero. */
static inline int kn_pad8(int n) { return (n + 7) & ~7; }

/* M' = S M S stored by columns (column j at M + j ld), q' = S q / qscale; z = S z' qscale. */
typedef struct kn_lcp_scaled {
  int n, ld;
  double* M;
  double* q;
  double* s;
  double qscale;
} kn_lcp_scaled;

void kn_lcp_scale(kn_lcp_scaled* out, const kn_lcp* lcp);
void kn_lcp_unscale(double* z, const kn_lcp_scaled* p, const double* zs);
void kn_lcp_guess(double* zs, const kn_lcp_scaled* p, const double* z);

/* A boxed or mixed LCP as a standard one with free rows (lcp_standard.c):
   z_i = sign_i (x_i + shift_i); an upper bound adds the row 0 <= y ⊥ width - x >= 0 and the column + y. */
typedef struct kn_lcp_standard {
  int n;     /* rows of the standard problem, >= rows of the origin */
  double* M; /* n x n row-major */
  double* q; /* n */
  double* sign;
  double* shift;
  int* upper; /* origin row of each added row */
  unsigned char* free_row;
  bool has_free;
} kn_lcp_standard;

kn_status kn_lcp_standardise(kn_lcp_standard* out, const kn_lcp* lcp, int max_n);
void kn_lcp_from_standard(double* z, const kn_lcp_standard* p, const kn_lcp* lcp, const double* x);

/* The scaled problem with its bounds and a running point (lcp_boxed.c). */
typedef struct kn_lcp_boxed {
  const kn_lcp_scaled* s;
  int n, ld;
  double *lo, *hi, *z, *w; /* w = M' z + q' */
  double* out;             /* scratch: z in the original units */
} kn_lcp_boxed;

/* Scales, and starts at z; uses work->v[0 … 4]. */
void kn_lcp_boxed_begin(kn_lcp_boxed* p, const kn_lcp* lcp, kn_lcp_work* work, const double* z);
/* w = M' z + q' afresh. */
void kn_lcp_boxed_w(kn_lcp_boxed* p);
/* Natural map by the running w: steers a solver, never certifies. */
double kn_lcp_boxed_residual(const kn_lcp_boxed* p);
/* Original units, clamped, judged; true when accepted. */
bool kn_lcp_boxed_offer(kn_lcp_boxed* p, double* z, kn_solve_info* info, const kn_lcp* lcp, double tol);

struct kn_lemke;
enum { KN_LCP_VECTORS = 16, KN_LCP_INDICES = 6, KN_LCP_FARKAS = 64 };

struct kn_lcp_work {
  kn_arena arena;
  int max_n; /* rows of the problems accepted */
  kn_lcp_scaled scaled;
  kn_lcp_standard standard;
  struct kn_lemke* lemke;
  kn_enumerate_work enumerate;
  double* v[KN_LCP_VECTORS]; /* vectors of kn_pad8(max_n) */
  int* iv[KN_LCP_INDICES];   /* index vectors of kn_pad8(max_n) */
  double* A;                 /* kn_pad8(max_n)^2 */
  double* B;                 /* kn_pad8(max_n)^2 */
  double* C;                 /* kn_pad8(max_n)^2 */
  double* farkas;            /* room for kn_nnls on the Farkas system of up to KN_LCP_FARKAS rows */
  double* w2;                /* 2 kn_pad8(max_n) */
  int* iv2;                  /* 2 kn_pad8(max_n) indices */
  double* certificate;       /* Farkas vector or ray of the last NO_SOLUTION, max_n */
  kn_certificate certificate_kind;
  bool close;  /* the last solve met a certificate without a margin: within rounding of the data it is none */
  double left; /* multiplications that solves may cost yet; INFINITY: as many as their methods ask for */
  long
      patience; /* minors, and choices of an enumeration, that a verdict looks at before it stays undecided; 0: all.
                    There are 2^rows of them: within a step that must end */
};

/* kn_lcp_enumerate with a limit on the choices visited; beyond it the answer is incomplete. */
kn_status kn_lcp_enumerate_within(long most_nodes, double* solutions, int capacity, kn_lcp_enumeration* out,
                                  const kn_lcp* lcp, const kn_lcp_settings* settings, kn_lcp_work* work);

/* What the solves from now on may cost, 18 multiplications to a nanosecond: a pivot is one for each entry of M. What is found by then
   counts. */
void kn_lcp_work_allow(kn_lcp_work* work, double multiplications);

/* Checks a "no solution" vector on the original data (lcp_certificate.c); entries of the wrong sign are zeroed.
   close: set when only the margin is missing. */
bool kn_lcp_is_farkas(const kn_lcp* lcp, double* y, bool* close);

/* Rows of the standard form: n plus the rows with two finite bounds. */
int kn_lcp_rows(const kn_lcp* lcp);
/* z_i put into its bounds. */
double kn_lcp_clamp(const kn_lcp* lcp, int i, double z);

/* Start of every solver: checks arguments, zeroes info, puts z (0 unless warm) into the bounds. */
kn_status kn_lcp_begin(const kn_lcp_solver* solver, double* z, kn_solve_info* info, const kn_lcp* lcp,
                       const kn_lcp_settings* settings, kn_lcp_work* work);
/* Judges a candidate; when it is the best so far it goes to z and its residuals to info. */
bool kn_lcp_offer(double* z, kn_solve_info* info, const kn_lcp* lcp, const double* candidate);
/* End of every solver: time, and OK or NOT_CONVERGED by the judged residual. */
kn_status kn_lcp_finish(double* z, kn_solve_info* info, const kn_lcp* lcp, const kn_lcp_settings* settings);

extern const kn_lcp_solver kn_lcp_lemke, kn_lcp_auto, kn_lcp_pivot, kn_lcp_keller, kn_lcp_nnls, kn_lcp_pgs;

/* One sweep; returns the largest change of a scaled multiplier. */
double kn_pgs_sweep(kn_lcp_boxed* p, double relax);

/* min |A x - b|, x >= 0, A m x n row-major (ld = n). Returns the residual norm; r (m) = b - A x satisfies A^T
   r <= 0 up to rounding, and r^T b > 0 unless it is zero: a Farkas vector for "b not in the cone of A's
   columns". scratch: 3 n + 2 m + m * n doubles; passive: n ints. Returns -1 when it does not settle within
   its limit. */
double kn_nnls(double* x, double* r, int m, int n, const double* A, const double* b, double* scratch,
               int* passive);

/* Cholesky factor of a growing and shrinking principal block M_CC of a symmetric positive semidefinite
   matrix: L L^T in row-major, one row per index in C, updated in O(k^2). */
typedef struct kn_factor {
  int count, ld;
  double* L;     /* lower triangle */
  int* index;    /* C in order of the rows of L */
  int* position; /* per matrix row: its place in C, or -1 */
} kn_factor;

void kn_factor_clear(kn_factor* f, int n);
/* Adds j with column M_•j (symmetric: row and column are the same). False, and nothing changes, when its
   Schur complement is <= tol * M_jj: the row depends on those in C. */
bool kn_factor_add(kn_factor* f, int j, const double* column, double tol);
void kn_factor_remove(kn_factor* f, int j);
/* x_C = M_CC^-1 b_C, both indexed by position in C. */
void kn_factor_solve(const kn_factor* f, double* x, const double* b);

/* Frictionless contact three ways, inside: the problem in coordinates x = Lᵀ a, M = L Lᵀ, in which the M-norm is the
   Euclidean one (frictionless.c). The ways themselves share nothing beyond this. */
/* |a|_M = |x|, rows G = J L⁻ᵀ, c = L⁻¹ Q. */
typedef struct kn_white {
  int n, m;
  double* U; /* Uᵀ U = M */
  double* G; /* m x n */
  double* c; /* n */
  double* H; /* n x n scratch */
  double* t; /* 8 n + 6 m scratch */
} kn_white;

/* frictionless_convex.c: x (n) and multipliers (m), the steps it took. */
int kn_gauss_interior(double* x, double* lambda, kn_white* w);
/* 0: the contacts leave no open set of directions, or no direction leads down. */
int kn_descent_barrier(double* x, double* lambda, kn_white* w);
