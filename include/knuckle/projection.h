/* Constrained dynamics by the linear projection operator (F. Aghili, Nonsmooth mechanics based on linear
   projection operator): constrained acceleration, constraint force and impact in closed form for a Jacobian
   of any rank. Plain matrices, no bodies; equations and corrections are in docs/projection.md. */
#ifndef KNUCKLE_PROJECTION_H
#define KNUCKLE_PROJECTION_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

/* Everything for up to max_n coordinates and max_m constraint rows. */
typedef struct kn_projector kn_projector;
KN_API kn_status kn_projector_create(kn_projector** projector, int max_n, int max_m);
KN_API void kn_projector_destroy(kn_projector* projector);

/* M: n x n, symmetric positive definite, row-major; A: m x n, any rank. rank_tol: rows of A, scaled to unit
   length, whose remainder after orthogonalisation is at most this follow from the others; 0: the default,
   1e-3. BAD_ARGUMENT when M is not positive definite. Allocates nothing. */
KN_API kn_status kn_projector_set(kn_projector* projector, int n, int m, const double* M, const double* A,
                                  double rank_tol);

/* What a projection found out about its constraints. */
typedef struct kn_projector_info {
  int rank;
  double nu;                     /* virtual mass of the constrained directions, inside [λmin, λmax] of Mo */
  double condition;              /* cond(Mc), exact */
  double lambda_min, lambda_max; /* nonzero eigenvalues of Mo = P M P; 0 when nothing is free */
} kn_projector_info;
/* Allocates (eigenvalues). */
KN_API kn_status kn_projector_describe(kn_projector_info* info, const kn_projector* projector);

/* The matrices themselves, n x n row-major (A⁺: n x m); any may be NULL. Allocates. */
typedef struct kn_projector_matrices {
  double *P, *Mo, *Mc, *Mo_plus, *S, *A_plus;
} kn_projector_matrices;
KN_API kn_status kn_projector_write(const kn_projector_matrices* out, kn_projector* projector);

/* qdd = Mo⁺ force - S A⁺ (Ȧ v), f = -Sᵀ force - M S A⁺ (Ȧ v), λ of least norm with Aᵀ λ = f; force = u - h.
   determinate (m): which λ the motion determines. Outputs but qdd may be NULL; Adot_v NULL: 0. */
KN_API kn_status kn_projector_accelerate(double* qdd, double* f, double* lambda, bool* determinate,
                                         kn_projector* projector, const double* force, const double* Adot_v);

/* A velocity v⁻ meets the rows at once, A v⁺ = -E A v⁻ with E = diag(e) and an external impulse i_u:

     v⁺ = v⁻ - S (I + A⁺EA) v⁻ + Mo⁺ i_u,      i_f = -M S (I + A⁺EA) v⁻ - Sᵀ i_u = Aᵀ i_λ
     ΔK = ½ v⁻ᵀ (Ẽᵀ SᵀMS Ẽ - SᵀMS) v⁻ + ½ i_uᵀ Mo⁺ i_u + v⁻ᵀ (I - Sᵀ) i_u,   Ẽ = A⁺EA

   Impulses may pull (the law is two-sided): `tensile` says so. */
typedef struct kn_projection_impact {
  double energy;            /* ΔK by the formula */
  double energy_difference; /* ½ v⁺ᵀMv⁺ - ½ v⁻ᵀMv⁻ */
  double gamma;             /* K⁺ / K⁻; 1 at rest */
  double kinetic;           /* K⁻ */
  bool tensile;             /* an impulse i_λ is negative beyond rounding */
} kn_projection_impact;

/* e: m coefficients; i_u: n or NULL; v_after: n; i_f (n), i_lambda (m, least norm) may be NULL. */
KN_API kn_status kn_projector_impact(kn_projection_impact* out, double* v_after, double* i_f,
                                     double* i_lambda, kn_projector* projector, const double* v,
                                     const double* e, const double* i_u);
/* The same on momenta: p⁺ = p⁻ - (1 + e) Sᵀ p⁻ + (I - Sᵀ) i_u with one e for all rows. */
KN_API kn_status kn_projector_momentum(double* p_after, kn_projector* projector, const double* p, double e,
                                       const double* i_u);

KN_END_DECLS
#endif
