/* Can these restitution coefficients create energy? The certificate of the projection impact law: for
   impacting contacts with compliance W (k x k, normal rows, after bilateral and resting rows are eliminated),
   Q = W⁺ and E = diag(e),

     ΔK = ½ φᵀ (E Q E - Q) φ  for every approach velocity φ in the range of W,   ρ(E) = max φᵀEQEφ / φᵀQφ

   E is consistent if ρ <= 1: then no impact gains energy. The consistent set is convex and holds every E =
   eI, so the nearest consistent E is unique. Derivations and pictures: docs/projection.md. */
#ifndef KNUCKLE_CERTIFY_H
#define KNUCKLE_CERTIFY_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

enum { KN_CERTIFY_CONTACTS = 64 }; /* most contacts of one certificate */

/* What an impact law does with restitution that can create energy. */
typedef enum kn_certify_mode {
  KN_CERTIFY_PROJECT, /* takes the nearest consistent E and logs it */
  KN_CERTIFY_REFUSE,  /* the step fails with INFEASIBLE, the state stays */
  KN_CERTIFY_ALLOW,   /* takes E as it is; the guard still looks at each impact */
  KN_CERTIFY_MODES
} kn_certify_mode;

/* What is done with restitution coefficients that could create energy. */
typedef enum kn_repair {
  KN_REPAIR_NEAREST, /* least Frobenius distance, by cutting planes */
  KN_REPAIR_MEAN,    /* towards the mean: e ← ē + s (e - ē), the largest s that is consistent */
  KN_REPAIR_RADIAL   /* e ← e / sqrt(ρ) */
} kn_repair;

/* Is there an approaching velocity that gains energy? */
typedef enum kn_approach {
  KN_APPROACH_UNDECIDED,
  KN_APPROACH_YES, /* a velocity with which every contact approaches gains energy */
  KN_APPROACH_NO   /* only velocities gain with which some contact moves apart: no impact would start so */
} kn_approach;

/* Can restitution with these coefficients create energy? What was found, and the nearest that cannot. */
typedef struct kn_energy_certificate {
  int contacts, rank; /* k, rank of W */
  double rho;         /* ρ of the requested E */
  bool consistent;    /* rho <= 1, up to 1e-12 */
  double distance;    /* |E_nearest - E| */
  int cuts;           /* cutting planes used */
  /* inconsistent: a velocity of the contacts that gains, scaled to ½ φᵀQφ = 1 J; its gain is rho - 1 J */
  double velocity[KN_CERTIFY_CONTACTS];
  double gain;          /* J */
  kn_approach approach; /* is there one with which all contacts approach (all entries <= 0)? */
  double approaching[KN_CERTIFY_CONTACTS]; /* if so, that velocity, to the same scale */
  double approaching_gain;
} kn_energy_certificate;

/* e_repaired (k) may be NULL. W symmetric positive semidefinite; 0 <= e <= 1. Allocates. */
KN_API kn_status kn_certify(kn_energy_certificate* out, double* e_repaired, int k, const double* W,
                            const double* e, kn_repair repair);
/* ρ alone. */
KN_API kn_status kn_certify_rho(double* rho, int k, const double* W, const double* e);
/* The nearest consistent E by semidefinite programming (DSDP), as an independent check:
     min t  s.t.  [I B; Bᵀ I] >= 0, [I e-e0; . t] >= 0, 0 <= e <= 1,   B = R E R⁺, Q = RᵀR.
   UNSUPPORTED when built without DSDP. */
KN_API kn_status kn_certify_lmi(double* e_nearest, int k, const double* W, const double* e);

/* W of a uniform rod of mass 1 and length 1 that lands flat on k contacts at the given distances from its
   middle. */
KN_API kn_status kn_certify_rod(double* W, int k, const double* position);

KN_END_DECLS
#endif
