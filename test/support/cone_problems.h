/* Generated friction problems W = J M^-1 J^T, q = J v of four families, for tests and benches. */
#ifndef KN_TEST_CONE_PROBLEMS_H
#define KN_TEST_CONE_PROBLEMS_H

#include "base/rng.h"
#include "knuckle/comp.h"

typedef enum kn_family {
  KN_FAMILY_FREE,  /* free 6-dof bodies, random pair and ground contacts */
  KN_FAMILY_STACK, /* boxes, four contacts per face, light at the bottom, heavy on top */
  KN_FAMILY_ARTIC, /* dense random J, rank 45 … 85 % of the rows */
  KN_FAMILY_DUP,   /* the same with half the contacts exact copies */
  KN_FAMILY_COUNT
} kn_family;

extern const char* const kn_family_name[KN_FAMILY_COUNT];

typedef struct kn_generated {
  kn_problem problem;
  int dofs;
  double *J, *inverse_mass, *v; /* rows x dofs; dofs x dofs block diagonal kept full; dofs */
} kn_generated;

/* mu is 0 for one contact in ten, else U(0, 1.5). Free with kn_generated_free. */
kn_generated kn_generate(kn_rng* rng, kn_family family, int contacts, double mass_ratio);
/* q = J v for the current v. */
void kn_generated_offset(kn_generated* g);
void kn_generated_free(kn_generated* g);

#endif
