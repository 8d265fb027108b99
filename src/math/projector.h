/* The linear projection operator of a constrained inertia (F. Aghili): for M (n x n, positive definite) and a
   Jacobian A (m x n) of any rank,

     P  = I - A⁺A               orthogonal projector on the null space of A
     Mo = P M P,  Mc = Mo + ν (I - P) > 0
     S  = I - Mc⁻¹ P M          oblique projector: A S = A, S² = S, M S = Sᵀ M

   S and everything made of it do not depend on the units of the coordinates; P and Mc do. With `scaled` the
   operator works in coordinates scaled by sqrt(M_ii), in which every dof has inertia one: the rank decision
   and cond(Mc) are then the same in every system of units. Vectors go in and out unscaled.

   Rank. Rows are scaled to unit length and orthogonalised, the largest remainder first; rows whose remainder
   is at most rank_tol follow from the others (or contradict them: then the others win). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One tolerance for all rank decisions of the projection formulation. Rows that are parallel to a thousandth
   (planar linkages whose axes miss each other by a hair, a mechanism within a step of its singular position)
   would lock a mechanism if taken literally. The steppers' own decision, 1e-6 in J M⁻¹ Jᵀ, is this one
   squared. */
#define KN_PROJECTION_RANK_TOL 1e-3

typedef struct kn_projector_core {
  int max_n, max_m, n, m, rank;
  bool scaled;
  double nu;        /* inside [λmin, λmax] of Mo: its mean nonzero eigenvalue, trace(Mo) / (n - rank) */
  double remainder; /* largest remainder of a dropped row, of unit rows */
  double condition; /* of Mc, estimated from below by a few (inverse) power steps */
  double* d;        /* n: 1/sqrt(M_ii), or 1 */
  double* length;   /* m: row lengths in those coordinates, 0: the row moves nothing */
  double* M;        /* n x n, scaled */
  double* F;        /* m x n: unit rows, then their remainders */
  double* Q;        /* rank x n: orthonormal rows that span the rows of A */
  double* L;        /* rank x rank lower: row pivot[k] = sum_l L[k][l] Q[l], unit rows */
  double* C;        /* m x max_n: unit row i = sum_k C[i][k] Q[k] */
  double* Z;        /* rank x m: orthonormal, spans the columns of A */
  double* T;        /* rank x rank upper: A = Zᵀ T Q */
  double* U;        /* n x n: Cholesky factor of Mc */
  double* y;        /* scratch: 4 max(n, m) */
  int* pivot;       /* m: rows in the order they were taken; the first `rank` are independent */
  bool* taken;      /* m */
} kn_projector_core;

size_t kn_projector_core_size(int max_n, int max_m); /* bytes */
void kn_projector_core_init(kn_projector_core* p, int max_n, int max_m, void* memory);

/* M: n x n with leading dimension n, both triangles; A: m x n. false: Mc is not positive definite (M is not).
 */
bool kn_projector_build(kn_projector_core* p, int n, int m, const double* M, const double* A, double rank_tol,
                        bool scaled);

/* y = P x in the paper's coordinates (not scaled only). */
void kn_projector_P(double* y, kn_projector_core* p, const double* x);
/* y = Mo⁺ x, with x a force and y a velocity: independent of the scaling. y may be x. */
void kn_projector_admit(double* y, kn_projector_core* p, const double* x);
/* How much of a row (n, like those of A) the rows of A leave free: |P row| / |row| in the working
   coordinates, 0 for a row that moves nothing. */
double kn_projector_share(kn_projector_core* p, const double* row);
/* y = S x. y may be x. */
void kn_projector_S(double* y, kn_projector_core* p, const double* x);
/* y = Sᵀ x. y may be x. */
void kn_projector_St(double* y, kn_projector_core* p, const double* x);
/* x (n) = S A⁺ b, b (m): the motion with A x = b in the least squares sense that costs least momentum. */
void kn_projector_reach(double* x, kn_projector_core* p, const double* b);
/* The same with the independent rows exact and the others left to follow. */
void kn_projector_reach_basic(double* x, kn_projector_core* p, const double* b);
/* λ (m) with Aᵀ λ = f for an f in the range of Aᵀ; of least norm when the dropped rows are dependent to
   1e-12, otherwise zero on the dropped rows. */
void kn_projector_multipliers(double* lambda, kn_projector_core* p, const double* f);
/* Which entries of λ the force determines: row i is in no dependency. */
void kn_projector_determinate(bool* determinate, const kn_projector_core* p);
