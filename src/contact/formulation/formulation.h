/* Formulations: one contact law, several ways to set it up (jain-2014). Each turns a set of rows at the
   present position into one complementarity problem, and its solution back into motion.

   Unknowns and size of the LCP with nu contacts, nf directions, nb bilateral rows, N dofs, n hinged bodies
   (d-dof joints: 6 - d hinge rows):
   - os: λ, compliance by tree recursion; nu (nf + 2) + nb
   - rmc: λ, bilateral rows eliminated, dense M⁻¹; nu (nf + 2)
   - mc: v⁺, p_b, λ with the dense mass matrix; N + nb + nu (nf + 2)
   - nmc-os: λ and hinge rows of free bodies; 5n + nb + nu (nf + 2)
   - nmc-sparse: the same with the hinge rows eliminated along the tree; nu (nf + 2) + nb
   - nmc: body velocities, hinge rows, λ; 6n + 5n + nb + nu (nf + 2)

   prepare() is called once per position; offset(), motion() and the solve may be repeated (impact phases). */
#pragma once

#include "contact/formulation/constraint.h"
#include "knuckle/comp.h"

typedef struct kn_formulation kn_formulation;
struct kn_contact_work;
struct kn_impact_problem;

/* A row of the polyhedral LCP as a combination of the problem's rows at … at+count-1; count 0: the friction
   bound of block `at`. */
typedef struct kn_combo {
  int at, count;
  double c[2];
  int sigma; /* index of the friction bound a direction row belongs to, or -1 */
} kn_combo;

/* From so many blocks on Λ is made by blocks; entries to make room for, per row (spheres in a pile touch a
   dozen neighbours); rows of a full Λ beside it. */
/* Heaps of many contacts that are solved with no smaller tolerance are for speed: no slow fallbacks of the
   solver, no dense repair of positions. */
#define KN_LOOSE 1e-7
/* Impact laws that have memory of their own. */
enum { KN_LAW_MEMORIES = 3 };
enum { KN_BLOCKS_LEAST = 48, KN_BLOCKS_OF_ONE = 200, KN_BLOCKS_PER_ROW = 10, KN_DENSE_ROWS = 3072 };

/* What a formulation with its own smooth dynamics needs; impacts have none. */
typedef struct kn_smooth {
  const double *v, *v_bias; /* velocity before, velocity at which velocity-dependent forces are taken */
  const double* tau;        /* generalised forces without gravity */
  double dt;
  bool hinge_bias;
  const double* V; /* the bodies' own velocities before the step, 6 per unit, or NULL: those of v */
} kn_smooth;

/* The problem under way: an island's rows, its matrix and scratch. Everything is carved from the simulator's
 * arena. */
/* Free velocity rows are eliminated before a cone solve. formulation/solve.c */
typedef struct kn_work_reduced {
  double *K, *Z, *W, *q, *r;
  kn_block* block;
} kn_work_reduced;

/* Λ by blocks with every contact that decompresses twice; values lie behind those of Λ. twins.c */
typedef struct kn_work_twins {
  kn_sparse sparse;
  int *start, *col, *of; /* of: per block its second contact, -1 */
  int64_t* at;
} kn_work_twins;

/* Problems of many rows: Λ by blocks instead of W. work.c, os.c */
typedef struct kn_work_large {
  int max_dense;           /* rows that fit in W */
  bool may_be_sparse;      /* the caller can do without W */
  kn_lambda_blocks blocks; /* Λ by blocks when there are many; capacity 0: never */
  int usual, entries;  /* entries up to which a problem that fits in W is sparse; that there is room for */
  int64_t wants;       /* entries a problem beyond W had no room for: the step is made again with it */
  kn_sparse sparse;    /* the same for the solver */
  kn_work_twins twins; /* the same with some contacts twice */
  kn_pairs pairs;      /* Λ = G Gᵀ in heaps of loose bodies; no bodies: it is not one */
  bool fast_heap;      /* rows_loose.c and comp/heap may be used */
  bool loose;          /* no body has a joint: there may be pairs */
  int* body;           /* their memory */
  double* G;
  bool is_sparse; /* the problem under way is */
  int blocks_least; /* blocks from which on a problem may be: KN_BLOCKS_LEAST, KN_BLOCKS_OF_ONE of a few trees */
  int *block_of_row, *block_size, *block_row;
} kn_work_large;

/* Polyhedral friction. polyhedral.c */
typedef struct kn_work_poly {
  kn_lcp_work* lcp; /* NULL with the cone */
  double *M, *q, *lo, *hi, *z;
  kn_combo* combo;
  double (*aim)[2];    /* per block: the friction direction the polyhedron is turned to */
  double friction_tol; /* > 0: refine, up to kn_polyhedral_finest directions */
  int finest;          /* directions that fit */
  int rows;            /* capacity */
} kn_work_poly;

/* Formulations with hinge rows. refine.c */
typedef struct kn_work_hinge {
  double* scratch; /* kn_refine_doubles, and rows and blocks */
  int* index;
  kn_block* block;
} kn_work_hinge;

/* refine.c: a problem with equality rows (hinges) by way of its other rows; p: the guess of these. False when the equality
   rows depend on each other or the answer misses the tolerance. */
bool kn_condensed_solve(double* p, kn_solve_info* info, const kn_problem* whole,
                        const kn_solve_settings* settings, struct kn_contact_work* w);

/* Who looks on. */
typedef struct kn_work_watcher {
  void (*problem)(const kn_problem* p, const double* r, void* context); /* every solved problem, or NULL */
  void* problem_context;
  /* every impact problem before it is solved, or NULL (kn_impact_problem is in contact/impact/impact.h) */
  void (*impact)(const struct kn_impact_problem* problem, void* context);
  void* impact_context;
} kn_work_watcher;

typedef struct kn_contact_work {
  const kn_formulation* formulation;
  const kn_model* model;
  kn_data* data;
  int max_rows, max_total; /* capacities: rows of the set, rows of the problem */
  const kn_row_block* geometry;
  int count;              /* row groups */
  int rows, extra, total; /* rows of the set, free rows in front of them, both */
  int nblock;
  kn_block* block;        /* total problem's blocks */
  double* W;              /* total x total */
  double *q, *r;          /* total */
  kn_rows factored;       /* os: Y */
  const double* known;    /* rows: J v_free of the island, or NULL: to be computed */
  const double* diagonal; /* nv values added to the mass matrix (as given to kn_dyn_factor), or NULL */
  double *M, *J,
      *X;    /* dense forms: nv², rows x nv, nv x rows; NULL when the formulation does not need them */
  void* own; /* a formulation's private data */
  void* law_memory[KN_LAW_MEMORIES]; /* impact laws' private data (kn_impact_reserve), or NULL */
  const kn_smooth* smooth;           /* NULL in impacts and projections */
  double* vector;                    /* 2 nv + total */
  int velocities;                    /* velocity rows among the extra ones; eliminated before a cone solve */
  kn_work_reduced reduced;
  kn_work_large large;
  kn_solver_work* solver;
  bool solved; /* the last problem of the solver was this matrix with another q */
  kn_work_hinge hinge;
  double* tame; /* 4 total */
  kn_work_poly poly;
  kn_work_watcher watcher;
  bool as_printed; /* the papers' decompression, which creates energy: for the test that shows it */
  kn_arena arena;
} kn_contact_work;

struct kn_formulation {
  const char *name, *doc, *citation;
  bool maximal;   /* free bodies with their own smooth dynamics: solves every step, all rows together */
  bool dense;     /* needs M, J, X */
  bool redundant; /* decides itself which bilateral rows are independent */
  bool reduced;   /* bilateral rows leave the problem before it is an LCP */
  int (*extra)(const kn_model* model);                      /* free rows in front, or NULL: none */
  int (*velocities)(const kn_model* model);                 /* how many of them are velocity rows, or NULL */
  size_t (*own_bytes)(const kn_model* model, int max_rows); /* private data, or NULL */
  kn_status (*own_init)(kn_contact_work* w, void* memory, size_t bytes);
  /* Builds W for the rows at the present poses and factors. */
  kn_status (*prepare)(kn_contact_work* w);
  /* q of the problem for a free velocity and a bias. */
  void (*offset)(kn_contact_work* w, const double* v_free, const double* bias);
  /* Improves the solution w->r by residuals that the bodies' velocities show; or NULL. Before motion(). */
  void (*refine)(kn_contact_work* w, double tolerance);
  /* v⁺ from the solution r; v may be v_free. */
  void (*motion)(double* v, kn_contact_work* w, const double* v_free, const double* r);
  /* Multipliers that the problem does not hold, into lambda and r; or NULL. Called before motion(). */
  void (*recover)(double* lambda, kn_contact_work* w, const double* v_free, double* r);
  /* Which multipliers (rows) the motion determines; or NULL. The work must be begun again afterwards. */
  void (*inspect)(bool* determinate, kn_contact_work* w, const double* lambda);
  /* Condition number of the matrix that prepare() factored, estimated; or NULL. */
  double (*condition)(const kn_contact_work* w);
};

int kn_formulation_extra(const kn_formulation* f, const kn_model* model);
/* Size of the LCP with polyhedral friction. */
int kn_contact_lcp_size(const kn_contact_work* w, int directions);

const kn_formulation* const* kn_formulation_list(int* count);
const kn_formulation* kn_formulation_find(const char* name);

/* entries: stored blocks of Λ to make room for; 0: as many as piles have. */
kn_status kn_contact_work_create(kn_contact_work** work, const kn_model* model, kn_data* data,
                                 const kn_formulation* f, int max_rows, int friction, int entries);
void kn_contact_work_destroy(kn_contact_work* work);

/* A problem of too many entries: KN_NO_ROOM, and how many in large.wants. */
kn_status kn_contact_no_entries(kn_contact_work* w, int64_t wants);
/* twins.c: the problem with Λ by blocks and a second contact for every cone with θ > 0 (solve.c says why); its rows in *rows.
   fold: the second contacts' friction joins the first's. */
kn_status kn_twins_make(int* rows, kn_contact_work* w, const double* theta);
void kn_twins_fold(kn_contact_work* w, int nblock);

/* Rows and blocks of an island (a contiguous range of a set's groups); prepares the formulation. */
kn_status kn_contact_begin(kn_contact_work* w, const kn_constraints* set, int first, int count);

/* Solves for one offset: λ (rows, warm start on entry if warm), v⁺ and the judge's word.
   theta (rows, or NULL): impulses already given to the normals in the decompression phase; the friction of a
   contact is then bounded by mu (λ_n + θ_n) and its normal row by λ_n >= 0 ⊥ u_n >= 0. λ excludes θ n but
   includes its friction. */
typedef struct kn_contact_solution {
  kn_solve_info info;
  int lcp_size, directions; /* of the polyhedron; 0: cone */
  bool wild;                /* impulses that cancel each other and could not be made small (tame.c) */
} kn_contact_solution;

kn_status kn_contact_solve(double* lambda, double* v_plus, kn_contact_solution* out, kn_contact_work* w,
                           const double* v_free, const double* bias, const double* theta, bool warm,
                           double tolerance, int friction, const char* solver);

/* Dense pieces shared by the formulations that use the mass matrix: M̂ = M + diagonal, J row by row. */
/* w->M = M at the present poses plus w->diagonal, nv x nv row-major, both triangles. */
void kn_dense_mass(kn_contact_work* w);
/* w->J = rows x nv row-major. */
void kn_dense_jacobian(kn_contact_work* w);

/* Coulomb friction with a polyhedron of nf directions as a linear complementarity problem (jain-2014 Eqs.
   10-14, 41).

   Per rough contact z = [F_n, β (nf), σ];  D = [n, d_1 … d_nf];
     [ Dᵀ Λ D   Ê ] z + [ Dᵀ(v_free) + bias ]  ⊥ z,    Ê = (0, 1 … 1)ᵀ,  Ē = (mu, -1 … -1)
     [    Ē     0 ]     [      mu θ_n       ]
   The last entry is mu θ_n in the decompression phase: the papers print 0 there (002 Eq. 57, 000 Eq. 40),
   which leaves the recovered normal impulse without friction and creates energy. Free rows stay free, others
   keep their bounds.

   Refinement (w->poly.friction_tol > 0). The cone's own solution has p_t = Proj(p_t - ρ u_t) on the disc of radius
   mu p_n. A polyhedron with a vertex in the direction of p_t - ρ u_t at every contact holds that solution, so
   each contact's polyhedron is turned there and the problem solved again, until
   max |p_t - Proj(p_t - ρ u_t)| <= tol max mu p_n; where turning alone does not bring it closer the
   directions are doubled. */
/* Finest polyhedron a refinement may reach that starts with so many directions. */
static inline int kn_polyhedral_finest(int directions) { return 2 * directions; }
int kn_polyhedral_rows(int rows, int cones, int directions);
kn_status kn_polyhedral_solve(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                              double tolerance, int directions, const char* solver);

/* Impulses that cancel each other without moving anything: found, and made small. */
/* The largest own response |r_i| W_ii of an impulse over the largest velocity in q. Above 1e4 impulses are wild. */
double kn_impulses_excess(const kn_problem* p, const double* r);

/* Whether a smaller solution is looked for: impulses are large, and larger than the guess they came from. Those of a guess
   have been looked at when they grew: a robot at rest between its limits has them in every step. */
static inline bool kn_impulses_large(double excess) { return excess > 1e2; }
static inline bool kn_impulses_grew(double excess, double guessed) {
  return kn_impulses_large(excess) && (excess > 1e4 || excess > 1.1 * guessed);
}

/* Replaces r by a solution of moderate size if one is found. W is changed meanwhile and given back as it was.
   scratch: 4 rows of p. */
void kn_impulses_tame(double* r, kn_solve_info* info, kn_problem* p, double* W, const kn_solve_settings* s,
                      kn_solver_work* work, double* scratch);
