/* Frictionless contact three ways (baraff), as a certificate. At rest, with mass matrix M, forces Q and
   contact rows J:

     F1  forces    0 <= λ ⊥ J M⁻¹ (Jᵀ λ + Q) >= 0,  a = M⁻¹ (Jᵀ λ + Q)      by pivoting (the LCP driver)
     F2  Gauss     min ½ aᵀ M a - aᵀ Q   s.t.  J a >= 0                      by a primal-dual interior point
     F3  descent   min -Qᵀ d   s.t.  J d >= 0,  dᵀ M d <= 1;  d = a / |a|_M  by a barrier on d alone

   F1 and F2 are each other's duals: P(a) - D(λ) = ½|a|²_M - aᵀQ + ½ |Jᵀλ + Q|²_{M⁻¹} >= 0 vanishes only at
   the answer of both. The norm must be M's: the Euclidean one gives a direction that depends on the units. F3
   with an equality |d|_M = 1 has spurious stationary points (steepest ascent): hence <= 1. */
#ifndef KN_TEST_FRICTIONLESS_H
#define KN_TEST_FRICTIONLESS_H

#include "knuckle/status.h"

typedef struct kn_frictionless {
  double *force, *gauss,
      *descent;      /* n each: a of F1, a of F2, d of F3 (unit in the M-norm; zero when a = 0) */
  double* lambda;    /* m: F1 */
  bool* determinate; /* m: is this force determined by the motion? may be NULL */
  double gap;        /* [P(a_F2) - D(λ_F1)] / max(|Q|²_{M⁻¹}, tiny) */
  double value;      /* of F3: -|a|_M at the answer */
  bool has_descent;  /* a ≠ 0 and the contacts leave an open set of directions */
} kn_frictionless;

/* M n x n, J m x n, row-major. Allocates scratch: for diagnosis, not inside a step. euclidean: use |d| <= 1
   in F3 (wrong; for the test that shows it). */
kn_status kn_frictionless_solve(kn_frictionless* out, int n, int m, const double* M, const double* J,
                                const double* Q, bool euclidean);

#endif
