/* Inside kn_problem_solve: the work object and the running solve that its stages share. */
#pragma once

#include "base/arena.h"
#include "comp/cone/cone.h"
#include "comp/cone/flat.h"
#include "comp/heap/heap.h"
#include "comp/problem/problem.h"

/* From so many blocks on the block-sparse form is used if the matrix has zeros. */
enum { KN_SPARSE_LEAST = 32, KN_SPARSE_LEAST_FROM_DENSE = 64 };

/* Up to so many contacts of loose bodies a central path costs less than fifteen Newton steps. */
enum { KN_HEAP_PATH_MOST = 400 };

/* The live part of a problem (fewer.c); most: rows there is room for. */
typedef struct kn_fewer {
  int most, even, ld;
  int* row;           /* rows of the problem, even ones first, then live ones */
  double *A, *change; /* of both, ld to a row, their offsets in the column behind; most */
  kn_problem problem; /* of the arrays below */
  kn_block* block;
  double *S, *q, *r, *diagonal;
  double* guess; /* of the whole problem */
} kn_fewer;

struct kn_solver_work {
  kn_arena arena;
  int rows, blocks, sparse_blocks; /* capacities */
  bool no_modes;                   /* kn_flat_answer answers nothing */
  double
      patience; /* the solves of a step may cost as much as so many factors; 0: as much as their methods ask for */
  double used;    /* multiplications of that by the solves before */
  double work;    /* … of this one so far, by count: the same on every machine (kn_drive_count) */
  double dearest; /* multiplications of its dearest step that factors */
  int dense_rows; /* largest dense form */
  kn_cone cone;
  int stored; /* capacity of sparse, blocks; 0: none */
  kn_cone_sparse sparse;
  struct kn_warm_system* warm;                   /* warm_modes.c */
  struct kn_path* path;                          /* path.c */
  double* dense;                                 /* dense_rows^2, row-major: a block-sparse W written out */
  double* diagonal;                              /* rows; later scratch */
  double *interior_s, *interior_ds, *interior_d; /* 4, 4 and 9 per block */
  kn_heap_work heap;                             /* heap.c; none without kn_solver_work_pairs */
  kn_arena heap_arena, crew_arena;
  int* perm;                                  /* dense_rows: smooth.c */
  kn_fewer fewer;                             /* fewer.c */
  double* start;                              /* where kn_drive_heap or kn_drive_fewer began */
  double *best, *point, *first, *center, *q0; /* 4 blocks + rows + 16 each */
};

/* One solve under way. Stages move cone.r and ask accept(). */
typedef struct kn_drive {
  const kn_problem* p;
  const kn_solve_settings* settings;
  kn_solver_work* w;
  kn_cone* c;
  const kn_cone_ops* ops;
  double tol;        /* asked for; what is enough once the quick methods have failed */
  double inner;      /* what the stages aim at */
  kn_judgement best; /* of w->best */
  int iterations;
  const char* stage; /* that found w->best */
} kn_drive;

/* Adds the events of a path to the work of the solve under way. */
void kn_solver_work_walk(kn_solver_work* w, int events, int rows);
/* So many of those that a path wants it may take. */
int kn_solver_work_events(const kn_solver_work* w, int wanted, int rows);

/* Adds steps that factor a matrix (Newton, interior point), and sweeps or pivots, to iterations and work. */
void kn_drive_count(kn_drive* s, int steps, int sweeps);
/* Is the work beyond what may be spent? Then the best point so far is the answer, and its residual says so. */
bool kn_drive_spent(const kn_drive* s);

/* Judges the current point on the original data and keeps it if it is the best; true when it is good enough.
 */
bool kn_drive_accept(kn_drive* s, const char* stage);
/* Sweeps until good enough; true then. */
bool kn_drive_sweeps(kn_drive* s, int count, const char* stage);
/* Newton from the current point. */
bool kn_drive_newton(kn_drive* s, const kn_newton_settings* settings, const char* stage);
kn_newton_settings kn_newton_default(const kn_drive* s);

/* A method on the blocks that matter beside the best point so far, then the path to an answer of all (fewer.c). Otherwise
   s->c holds another problem. */
bool kn_drive_fewer(kn_drive* s, bool (*method)(kn_drive*));

/* Smoothing Newton (smooth.c) from the current point with kinks rounded by `from` of the problem's size at first. */
bool kn_drive_smooth(kn_drive* s, double from, int steps);
/* Newton's steps for sets of any dimension (smooth.c), from the current point. */
bool kn_drive_plain(kn_drive* s);
/* The same from the best point so far, then from zero. */
bool kn_drive_smoothed(kn_drive* s);
bool kn_drive_proximal(kn_drive* s, double eps, int sweeps, int rounds);
bool kn_drive_settle(kn_drive* s, double eps, int rounds);
/* Interior point for heaps of loose bodies (p->pairs), from the current point. */
bool kn_drive_heap(kn_drive* s, int steps);
/* Interior point until Newton takes over. */
bool kn_drive_interior(kn_drive* s, int steps);
/* Interior point to the end. */
bool kn_drive_central(kn_drive* s, int steps);

/* Warm start near the old answer (warm_modes.c): true when r was moved to an answer within settings->tol; info
   then. The entries of W need no check: one that is not finite is never answered. */
bool kn_warm_answer(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings,
                    kn_solver_work* w);

/* The path from r to an answer (path.c), r and info as above; pushed: also from starts that are moved away. */
bool kn_path_answer(double* r, kn_solve_info* info, const kn_problem* p, double tol, bool pushed,
                    kn_solver_work* w);
/* The same from the best point so far, then from zero. */
bool kn_drive_path(kn_drive* s);

/* The same if all contacts stick and go on sticking (stick.c). */
bool kn_stick_answer(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings);

/* Keeps the factor at an answer r for warm starts to come. */
void kn_warm_keep(const double* r, const kn_problem* p, kn_solver_work* work);
/* The problem is another one: no factor of before serves it. */
void kn_warm_forget(kn_solver_work* work);

/* Loads the problem, runs one method on it and returns the best point it offered. */
kn_status kn_drive_run(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings,
                       kn_solver_work* w, void (*method)(kn_drive*));
/* The driver's own order of methods. */
void kn_drive_default(kn_drive* s);
