/* Complementarity problems and their solvers. Usable without the rest of Knuckle.

   Two problem types, each with one independent residual:
     kn_lcp       w = M z + q,  lo <= z <= hi,  z_i = lo: w_i >= 0;  z_i = hi: w_i <= 0;  inside: w_i = 0
                  (lo = 0, hi = inf: the LCP; lo = -inf, hi = inf: an equality row)
     kn_problem   u = W r + q in blocks: equalities, non-negative rows, boxed rows and friction cones
                  C*_mu ∋ u_c + (mu |u_T|, 0, 0) ⊥ r_c ∈ C_mu,  order (normal, tangent[, tangent])  */
#ifndef KNUCKLE_COMP_H
#define KNUCKLE_COMP_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

/* A linear complementarity problem with bounds: w = M z + q, lo <= z <= hi, complementary. */
typedef struct kn_lcp {
  int n;
  const double* M;  /* n x n row-major */
  const double* q;  /* n */
  const double* lo; /* n, or NULL: all 0 */
  const double* hi; /* n, or NULL: all +inf */
} kn_lcp;

/* The set that the impulses of a block belong to. */
typedef enum kn_set {
  KN_SET_FREE,     /* 1 row: u = 0 */
  KN_SET_POSITIVE, /* 1 row: 0 <= r ⊥ u >= 0 */
  KN_SET_BOX,      /* 1 row: lo <= r <= hi as in kn_lcp */
  KN_SET_CONE2,    /* 2 rows (n, t): Coulomb in the plane */
  KN_SET_CONE3,    /* 3 rows (n, t1, t2): Coulomb, circular cone */
  KN_SET_CONE4,    /* 4 to 6 rows: the same cone |r_T| <= mu r_N of more dimensions. Friction with spin and */
  KN_SET_CONE5,    /* rolling: rows scaled by (coefficient / mu) turn an elliptic cone into this one */
  KN_SET_CONE6     /* (n, t1, t2, spin, roll 1, roll 2; with 5 rows no spin) */
} kn_set;

enum { KN_SET_ROWS_MOST = 6 };

/* Rows of a problem that belong together, with their set. */
typedef struct kn_block {
  kn_set set;
  int row;       /* first row; blocks follow one another without gaps */
  double mu;     /* cones: friction coefficient, 0 … inf */
  double lo, hi; /* boxes */
} kn_block;

/* Square block-sparse matrix: block row b holds blocks start[b] … start[b+1]-1, block column col[k],
   values row-major from value[at[k]]; block sizes follow from the problem's blocks. */
typedef struct kn_sparse {
  const int* start;
  const int* col;
  const int64_t* at;
  const double* value;
} kn_sparse;

/* W of bodies that move by themselves: W = G G^T, every block on at most two of them. Beside a sparse W, for
   the solver of heaps; the judge does not look at it. */
typedef struct kn_pairs {
  int bodies;
  const int* body; /* 2 per block: -1 none */
  const double* G; /* 36 per block: 3 x 6 row-major for each of the two */
} kn_pairs;

/* A contact problem: u = W r + q in blocks, each with its set. */
typedef struct kn_problem {
  int rows;                /* total scalar rows */
  int blocks;              /* number of blocks */
  const kn_block* block;   /* blocks */
  const double* W;         /* rows x rows row-major, or NULL when sparse is given */
  const kn_sparse* sparse; /* block-sparse W, or NULL */
  const double* q;         /* rows */
  const kn_pairs* pairs;   /* where sparse comes from, or NULL */
} kn_problem;

/* ---- judging ---- */

/* Natural map max_i |z_i - mid(lo_i, hi_i, z_i - w_i)| on the original data. NaN in, +inf out. */
KN_API double kn_lcp_residual(const kn_lcp* lcp, const double* z);

/* Same for the problem scaled to unit diagonal, M' = S M S, q' = S q, z' = S^-1 z, S = diag(1/sqrt|M_ii|) (a
   row with M_ii = 0 takes the scale that makes its largest entry of S M S one; its w at least the scale that
   the larger of its row's largest entry and the root of the largest diagonal, 1 if all are 0, gives), divided
   by max|q'| + 1e-4 max|z'|: the same number in every system of units. The last term is rounding: 1e-10 then asks for 45 ulp of
   the largest z' where z' is so large that its own last bit moves w' by more than 1e-10 q'. NaN in, +inf out.
 */
KN_API double kn_lcp_residual_scaled(const kn_lcp* lcp, const double* z);

/* FCLIB / Siconos error sqrt(sum_c |r_c - P_C(r_c - (u_c + mu|u_T| n))|^2) / max(|q|, |r|, |u|), other blocks
   by their natural map; 0 for an empty problem. */
KN_API double kn_problem_error(const kn_problem* problem, const double* r);

/* Largest per-block natural-map residual of the problem scaled to W_NN = 1, mean W_TT = 1, relative to
   max(|q|, |r|, |u|) of the scaled problem (largest entries; r and u count up to 1e6 |q|, because along null
   directions of W an r can have any size); 0 for an empty problem. */
KN_API double kn_problem_error_scaled(const kn_problem* problem, const double* r);

/* Rows that a set occupies: 1 to 6. */
KN_API int kn_set_rows(kn_set set);

/* Layout, sizes and finiteness: KN_OK, or a status whose message names the entry. */
KN_API kn_status kn_problem_check(const kn_problem* problem);

/* u = W r + q. u must not overlap r. */
KN_API void kn_problem_velocity(double* u, const kn_problem* problem, const double* r);

/* ---- verdicts ---- */

/* Yes, no, or not known. */
typedef enum kn_answer { KN_ANSWER_UNDECIDED, KN_ANSWER_YES, KN_ANSWER_NO } kn_answer;

/* What is known about all solutions of a problem. */
typedef enum kn_verdict_kind {
  KN_VERDICT_UNDECIDED,
  KN_VERDICT_UNIQUE,        /* motion and forces */
  KN_VERDICT_MOTION_UNIQUE, /* motion unique, forces not */
  KN_VERDICT_SEVERAL,       /* several motions */
  KN_VERDICT_NONE,          /* no solution, with a certificate */
  KN_VERDICT_COUNT
} kn_verdict_kind;

/* Why a verdict is known to be right. */
typedef enum kn_certificate {
  KN_CERTIFICATE_NONE,
  KN_CERTIFICATE_SOLUTION,   /* a point with a small residual */
  KN_CERTIFICATE_FARKAS,     /* vector y: no feasible point */
  KN_CERTIFICATE_RAY,        /* secondary ray of a copositive-plus matrix */
  KN_CERTIFICATE_ENUMERATION /* all complementary cones visited */
} kn_certificate;

/* Classes of matrices that decide about existence and uniqueness. */
typedef enum kn_matrix_class {
  KN_CLASS_UNKNOWN = 0,
  KN_CLASS_P = 1,
  KN_CLASS_P0 = 2,
  KN_CLASS_PD = 4,
  KN_CLASS_PSD = 8,
  KN_CLASS_COPOSITIVE = 16,
  KN_CLASS_NOT_P = 32
} kn_matrix_class; /* bit set */

/* What is known about all solutions of a problem, and by what. */
typedef struct kn_verdict {
  kn_verdict_kind kind;
  kn_answer exists;
  kn_certificate certificate;
  unsigned matrix_class;  /* kn_matrix_class bits that were shown */
  uint64_t failing_minor; /* index set (bit i = row i) of a principal minor <= 0 when NOT_P; 0 otherwise */
  double minor_value;     /* its value after scaling to unit diagonal */
  int rank;               /* of the active rows, -1 if not computed */
  int solutions;          /* number found by enumeration, -1 if not enumerated */
  bool
      within_rounding; /* undecided because data within rounding of these (1e-10 of the largest scaled offset)
                             have another answer */
} kn_verdict;

/* ---- solving ---- */

/* What a solver says beside its answer; the residuals are the judge's. */
typedef struct kn_solve_info {
  kn_status status;   /* OK, NOT_CONVERGED, NO_SOLUTION, … */
  const char* solver; /* descriptor name that produced the answer (inside the driver: the finishing stage) */
  int iterations;     /* pivots, sweeps or Newton steps in total */
  double residual;    /* judged on the original data */
  double residual_scaled;
  double time; /* s */
  bool direct; /* answered from the guess or by a direct method, without the solvers */
} kn_solve_info;

/* Scratch memory for kn_problem_solve, one per thread; created once, after that solving never allocates. */
typedef struct kn_solver_work kn_solver_work;

/* Largest problem that will be solved with it: rows, blocks, and stored blocks of a block-sparse W (0: dense
 * W only). */
KN_API kn_status kn_solver_work_create(kn_solver_work** work, int rows, int blocks, int sparse_blocks);
/* Room for problems with pairs, beside the rest; without it they are solved like others. */
KN_API kn_status kn_solver_work_pairs(kn_solver_work* work, int bodies, int blocks);
/* Large enough for this problem. */
KN_API kn_status kn_solver_work_for(kn_solver_work** work, const kn_problem* problem);
KN_API void kn_solver_work_destroy(kn_solver_work* work);

/* Choices of a solver for contact problems. */
typedef struct kn_solve_settings {
  const char* solver; /* name in the solver list; "driver" (the default) picks, checks and falls back */
  double tol;         /* target for both kn_problem_error and kn_problem_error_scaled; 1e-10 */
  double enough; /* > tol: the driver's slow fallbacks stop here when the quick methods missed tol; 0: tol */
  int max_iterations; /* of a single solver: sweeps, Newton steps or splitting steps; 0: the solver's own
                         limit */
  bool warm_start;    /* r holds a guess on entry */
  bool keep; /* for sequences of problems that differ little: work keeps the factor at the answer, and a warm
                start begins with it where the modes of the contacts are the same. The last bits of r then
                depend on what was solved before with this work */
  bool
      again; /* the matrix and the blocks are those of the last solve with this work, only q is another: its factor
                 may serve once more */
  bool untimed; /* leave info.time 0: clocks cost as much as the smallest problems */
} kn_solve_settings;

/* The default choices. */
KN_API kn_solve_settings kn_solve_default(void);

/* Finds r. KN_OK: judged on the original data, both errors <= tol.
   KN_NOT_CONVERGED: r is the best point found and info its errors. KN_BAD_ARGUMENT, KN_NOT_FINITE,
   KN_NO_ROOM: r untouched. Never allocates; the same bits for the same input on every machine (with keep: for
   the same sequence). info may be NULL. */
KN_API kn_status kn_problem_solve(double* r, kn_solve_info* info, const kn_problem* problem,
                                  const kn_solve_settings* settings, kn_solver_work* work);

/* The solvers for kn_problem, ended by an entry without a name; the first is the driver. */
typedef struct kn_cone_solver {
  const char* name;
  const char* doc;
  const char* citation;
  const char* iterations; /* what max_iterations counts */
  int default_iterations;
  bool exact; /* expected to reach 1e-10 on well-posed problems (conformance) */
  bool dense_only;
  bool tall; /* knows cones of more than three rows */
  kn_status (*solve)(double* r, kn_solve_info* info, const kn_problem* problem,
                     const kn_solve_settings* settings, kn_solver_work* work);
} kn_cone_solver;

/* The list of solvers for kn_problem, ended by an entry without a name. */
KN_API const kn_cone_solver* kn_cone_solvers(void);
/* NULL when there is none of that name. */
KN_API const kn_cone_solver* kn_cone_solver_find(const char* name);

/* ---- LCP solvers ---- */

/* Everything the LCP solvers need to solve without allocating, for n <= max_n (a row with two finite bounds
   counts twice). One per thread. */
typedef struct kn_lcp_work kn_lcp_work;
KN_API kn_status kn_lcp_work_create(kn_lcp_work** work, int max_n);
KN_API void kn_lcp_work_destroy(kn_lcp_work* work); /* NULL is fine */

/* Choices of an LCP solver. */
typedef struct kn_lcp_settings {
  double tol;         /* accept a scaled residual up to this; > 0; default 1e-10 */
  int max_iterations; /* pivots, sweeps or Newton steps; 0 = the solver's own limit */
  bool warm;          /* z holds a guess on entry; default false */
  double relax;       /* psor: relaxation in (0, 2); default 1 = Gauss-Seidel */
  uint64_t seed;      /* lemke: random covering vectors of the fallbacks */
} kn_lcp_settings;
/* The default choices. */
KN_API kn_lcp_settings kn_lcp_settings_default(void);

/* What a solver can take. */
typedef enum kn_lcp_kind {
  KN_LCP_STANDARD = 1,  /* z >= 0 */
  KN_LCP_FREE = 2,      /* rows with lo = -inf, hi = inf */
  KN_LCP_BOX = 4,       /* any other bounds */
  KN_LCP_SYMMETRIC = 8, /* needs M symmetric positive semidefinite */
  KN_LCP_POSITIVE = 16  /* needs a positive diagonal */
} kn_lcp_kind;          /* bit set */

/* One LCP solver of the list. */
typedef struct kn_lcp_solver {
  const char* name;
  const char* doc;
  const char* citation;
  const char* settings; /* fields of kn_lcp_settings that matter, separated by spaces */
  unsigned kinds;       /* kn_lcp_kind bits */
  /* z: in a guess when settings->warm, out the best point found. The status is OK only when the judge found
     residual_scaled <= tol; NO_SOLUTION only with a certificate. info may not be NULL. */
  kn_status (*solve)(double* z, kn_solve_info* info, const kn_lcp* lcp, const kn_lcp_settings* settings,
                     kn_lcp_work* work);
} kn_lcp_solver;

/* The list of LCP solvers. */
KN_API const kn_lcp_solver* const* kn_lcp_solvers(int* count);
KN_API const kn_lcp_solver* kn_lcp_solver_find(const char* name); /* NULL: no such solver */

/* Checks sizes, finiteness and bounds; the message names the entry. */
KN_API kn_status kn_lcp_check(const kn_lcp* lcp);

/* Why the last solve with this workspace said NO_SOLUTION: FARKAS with its vector y (rows with a lower bound
   y >= 0, upper
   <= 0, two-sided 0, free any; max over the bounds of y^T (M z + q) < 0), RAY or ENUMERATION; NONE otherwise.
 */
KN_API kn_certificate kn_lcp_certificate(const double** y, const kn_lcp_work* work);

/* The driver: picks, judges, falls back. settings NULL: defaults; work NULL: allocates its own. */
KN_API kn_status kn_lcp_solve(double* z, kn_solve_info* info, const kn_lcp* lcp,
                              const kn_lcp_settings* settings, kn_lcp_work* work);

/* All solutions of a small problem (up to 20 rows; a row with two finite bounds counts twice). */
typedef struct kn_lcp_enumeration {
  int count;           /* distinct solutions found; a face of solutions counts once */
  bool complete;       /* every complementary cone was decided beyond rounding and stored */
  bool continuum;      /* some solution is not isolated */
  bool motions_differ; /* two solutions with different w = M z + q were seen */
  bool close;          /* incomplete because a choice could not be told from another within rounding */
} kn_lcp_enumeration;
/* solutions: capacity x n. OK; NO_SOLUTION when complete and none; UNSUPPORTED when too large. */
KN_API kn_status kn_lcp_enumerate(double* solutions, int capacity, kn_lcp_enumeration* out, const kn_lcp* lcp,
                                  const kn_lcp_settings* settings, kn_lcp_work* work);

/* Is A (n x n, leading dimension ld) a P-matrix? YES or NO only when every minor that matters is further than
   1e-12 from zero after scaling to unit diagonal; beyond 26 rows only clear cases. */
typedef struct kn_pmatrix {
  kn_answer is_p;
  uint64_t failing; /* NO: rows of a principal minor <= 0; UNDECIDED: of one too close to call, or 0 */
  double value;     /* NO: that minor, unit diagonal */
} kn_pmatrix;
KN_API kn_status kn_pmatrix_test(kn_pmatrix* out, int n, const double* A, int ld);

/* Which entries of a solution z are the same in every solution with the same w (determinate, n, or NULL); the
   one of least norm in scaled units (z_min, n, or NULL); rank of M on the rows with w = 0 (or NULL). */
KN_API kn_status kn_lcp_determinate(bool* determinate, double* z_min, int* rank, const kn_lcp* lcp,
                                    const double* z, kn_lcp_work* work);

/* Same for contacts: per block whether its r is the same in every solution with the same u; work made for
 * problem->rows. */
KN_API kn_status kn_problem_determinate(bool* determinate, double* r_min, int* rank,
                                        const kn_problem* problem, const double* r, kn_lcp_work* work);

/* Existence and uniqueness of an LCP, given a solution z (NULL: none known; a certificate in work is used).
   Motion means w = M z + q. failing_minor and matrix_class speak of M after eliminating its free rows.
   Rounding is measured against the largest scaled offset. Where offsets are small differences of large numbers,
   say so by a row of its own, M_kk = 1 and no coupling, with the size of those numbers (scaled) as its offset:
   z_k = 0 answers it, and everything else is then judged relative to it. */
KN_API kn_status kn_lcp_verdict(kn_verdict* verdict, const kn_lcp* lcp, const double* z,
                                const kn_lcp_settings* settings, kn_lcp_work* work);

/* Same for contacts with friction, given a solution r (NULL: none known). Motion means u = W r + q; what
   cannot be shown stays undecided (docs/solvers.md says what can). work: to search for a second solution, or
   NULL. Up to 360 rows; allocates. */
KN_API kn_status kn_problem_verdict(kn_verdict* verdict, const kn_problem* problem, const double* r,
                                    kn_solver_work* work);

/* ---- convex quadratic programs ---- */

/* min 1/2 x^T H x + g^T x,  lo <= A x <= hi. H symmetric positive semidefinite; lo = hi: equality; infinite
   bounds and lo or hi NULL: no bound on that side. */
typedef struct kn_qp {
  int n, m;
  const double* H;  /* n x n row-major */
  const double* g;  /* n */
  const double* A;  /* m x n row-major */
  const double* lo; /* m or NULL */
  const double* hi; /* m or NULL */
} kn_qp;

/* Memory of the solver for quadratic programs. */
typedef struct kn_qp_work kn_qp_work;
/* Memory for programs up to this size; the caller destroys it. */
KN_API kn_status kn_qp_work_create(kn_qp_work** work, int max_n, int max_m);
/* Frees it; NULL is fine. */
KN_API void kn_qp_work_destroy(kn_qp_work* work);

/* x (n) and the multipliers y (m) of H x + g = A^T y, y >= 0 at lo, <= 0 at hi. INFEASIBLE: no point
   satisfies the rows. settings, work and info may be NULL. info->residual is kn_qp_residual. */
KN_API kn_status kn_qp_solve(double* x, double* y, kn_solve_info* info, const kn_qp* qp,
                             const kn_lcp_settings* settings, kn_qp_work* work);

/* Largest violation of stationarity, bounds and complementarity, relative to the terms summed. NaN in, +inf
 * out. */
KN_API double kn_qp_residual(const kn_qp* qp, const double* x, const double* y);

/* ---- frictionless contact of bodies at rest, three ways (D. Baraff) ---- */

/* Where do bodies at rest begin to move? Mass matrix M, forces Q, rows J of the contacts' normal velocities. */
typedef struct kn_frictionless {
  int n, m;        /* coordinates, contacts */
  const double* M; /* n x n row-major, symmetric positive definite */
  const double* J; /* m x n row-major */
  const double* Q; /* n */
} kn_frictionless;

/* What an answer is worth, computed from the problem and the answer alone. */
typedef struct kn_frictionless_info {
  const char* method;
  double
      gap; /* duality gap ½|a|²_M - aᵀQ + ½|Jᵀλ + Q|²_{M⁻¹} over |Q|²_{M⁻¹}: 0 for the answer, positive for others */
  double overlap; /* largest -(J a)_i over |J_i|_{M⁻¹} |Q|_{M⁻¹}: 0 or rounding */
  double norm;    /* |a|_M */
  int iterations;
} kn_frictionless_info;

/* One way of solving it: its name and what it is. */
typedef struct kn_frictionless_method {
  const char *name, *doc;
} kn_frictionless_method;

/* "force", "gauss", "descent"; ended by an entry without a name. They share nothing but the factor of M. */
KN_API const kn_frictionless_method* kn_frictionless_methods(void);
/* a (n): accelerations; lambda (m): contact forces, where they are not unique one of them. UNSUPPORTED: "descent" is not
   defined where nothing moves or where the contacts leave no open set of directions. Allocates. */
KN_API kn_status kn_frictionless_solve(double* a, double* lambda, kn_frictionless_info* info,
                                       const kn_frictionless* problem, const char* method);
/* The certificate of any a and lambda, whoever made them. Negative lambda count as 0. Allocates. */
KN_API kn_status kn_frictionless_certify(kn_frictionless_info* info, const kn_frictionless* problem,
                                         const double* a, const double* lambda);

/* The same, or "undecided within rounding". */
KN_API const char* kn_verdict_text(const kn_verdict* verdict);
KN_API const char*
kn_verdict_name(kn_verdict_kind kind); /* "unique", "motion_unique", "several", "none", "undecided" */

KN_END_DECLS
#endif
