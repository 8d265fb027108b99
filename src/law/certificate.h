/* The energy certificate without allocation, as the impact law uses it within a step (knuckle/certify.h). */
#pragma once

#include "knuckle/certify.h"

enum { KN_CERTIFICATE_CUTS = 240 };

typedef struct kn_certificate_work {
  int max_k, k, rank;
  double *R, *Rp;                  /* rank x k, k x rank: Q = RᵀR, R R⁺ = I */
  double *B, *S, *V;               /* k x k: R E R⁺, BᵀB, its eigenvectors */
  double* sigma2;                  /* k: eigenvalues of BᵀB, ascending */
  double *y, *z;                   /* k each, scratch */
  double* cut;                     /* KN_CERTIFICATE_CUTS x k: g·e <= 1 */
  double *x, *u, *r, *step, *gram; /* the quadratic program: point, multipliers, … */
  int* active;
  int cuts, actives;
} kn_certificate_work;

size_t kn_certificate_size(int max_k); /* bytes */
void kn_certificate_init(kn_certificate_work* w, int max_k, void* memory);

/* Takes W (k x k): factors Q = W⁺ = RᵀR. Directions below 1e-12 of the largest move nothing. */
void kn_certificate_set(kn_certificate_work* w, int k, const double* W);
/* y = Q x */
void kn_certificate_Q(double* y, kn_certificate_work* w, const double* x);
/* ρ(E); leaves the singular values and vectors of R E R⁺ in sigma2 and V. */
double kn_certificate_rho(kn_certificate_work* w, const double* e);
/* φ with ½ φᵀQφ = 1 J that gains most, for the E of the last kn_certificate_rho. */
void kn_certificate_gainer(double* phi, kn_certificate_work* w);

/* Consistent E near e. The result has ρ <= 1; e itself when it is consistent. May overwrite e. Returns ρ(e).
 */
double kn_certificate_repair(double* repaired, kn_certificate_work* w, const double* e, kn_repair repair);

/* certificate_cuts.c: the nearest E; cuts are left in w->cuts. */
void kn_certificate_nearest(double* nearest, kn_certificate_work* w, const double* e);
/* certificate_approach.c: allocates; k <= 12 is decided, larger sets only when a gainer is found at once. */
kn_approach kn_certificate_approach(double* phi, double* gain, kn_certificate_work* w, const double* e);
