/* Generated contact problems with physical structure, for tests and benches: W = J M^-1 J^T, q = J v of real
   bodies. Families: free rigid bodies with random contacts; stacks of boxes, four contacts per face, light
   below heavy; random kinematic chains of hinges with contacts along the links; the same with half the
   contacts exact copies. */
#ifndef KN_TEST_CONTACT_GEN_H
#define KN_TEST_CONTACT_GEN_H

#include "base/rng.h"

typedef enum kn_gen_family {
  KN_GEN_FREE,
  KN_GEN_STACK,
  KN_GEN_CHAIN,
  KN_GEN_COPIES,
  KN_GEN_FAMILIES
} kn_gen_family;

const char* kn_gen_name(kn_gen_family family);

/* Contacts in cone form: W 3nc x 3nc, q 3nc, order (normal, tangent, tangent) per contact; mu: nc, a tenth
   zero, else up to 1.5. Masses spread over a factor of ratio. Exactly symmetric W. nc <= 64. */
void kn_gen_contacts(double* W, double* q, double* mu, int nc, kn_gen_family family, double ratio,
                     kn_rng* rng);

/* Pyramid LCP with four directions: per contact (F_n, four beta, sigma), n = 6 nc, rows as in physics.md 2.2.
 */
void kn_gen_pyramid(double* M, double* b, int nc, const double* W, const double* q, const double* mu);

/* Normal rows only (frictionless): n = nc. */
void kn_gen_normal(double* M, double* b, int nc, const double* W, const double* q);

#endif
